#include <algorithm>
#include <atomic>
#include <memory>
#include <unordered_set>

#include "base/text.h"
#include "os/file.h"
#include "os/folder.h"
#include "snapshot/new_file.h"
#include "snapshot/parallel.h"
#include "snapshot/snapshot.h"

namespace ferry::snapshot {

namespace {

// Files that one thread takes at a time.
constexpr size_t kChunk = 16;

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// Creates every folder of the manifest, those above first.
Result<void> MakeAllFolders(const os::Folder& root, const Manifest& manifest) {
  std::unordered_set<std::string_view> made = {std::string_view()};
  std::string_view last;
  std::string name;
  std::vector<std::string_view> missing;
  for (const Entry& entry : manifest.entries) {
    std::string_view folder = entry.type == Entry::Type::kFolder ? std::string_view(entry.path) : FolderOf(entry.path);
    if (folder == last) continue;
    last = folder;
    for (; !made.contains(folder); folder = FolderOf(folder)) missing.push_back(folder);
    for (; !missing.empty(); missing.pop_back()) {
      name = missing.back();
      TRY_VOID(root.MakeFolder(name.c_str()));
      made.insert(missing.back());
    }
  }
  return {};
}

// Writes files one after the other, keeping the folder of the last one open.
class Writer {
 public:
  Writer(const os::Folder& root, const Fetch& fetch) : root_(root), fetch_(fetch) {}

  Result<void> Write(const Entry& entry) {
    const std::string_view parent = FolderOf(entry.path);
    if (!folder_ || parent != open_) {
      TRY(folder_, root_.OpenFolder(std::string(parent)));
      open_ = parent;
    }
    const char* name = entry.path.c_str() + (parent.empty() ? 0 : parent.size() + 1);
    TRY(os::Fd file, maker_.Create(folder_, name, entry.executable));
    uint64_t size = 0;
    if (entry.size > 0) {
      auto fetched = fetch_(entry.digest, [&](std::string_view bytes) -> Result<void> {
        size += bytes.size();
        if (size > entry.size) return Mismatch(entry);
        hash_.Update(bytes);
        return os::WriteAll(file, bytes, entry.path);
      });
      if (!fetched.ok()) {
        hash_.Finish();
        return fetched;
      }
    }
    if (hash_.Finish() != entry.digest || size != entry.size) return Mismatch(entry);
    return {};
  }

 private:
  static Error Mismatch(const Entry& entry) {
    return MakeError(Code::kInvalid, "snapshot.content", StrCat("the content of ", entry.path, " is not what the snapshot says"));
  }

  const os::Folder& root_;
  const Fetch& fetch_;
  FileMaker maker_;
  Sha256 hash_;
  os::Folder folder_;
  std::string_view open_;  // the path of folder_
};

// Gives each thread a stretch of its own, so that they create files in different folders, and what is left of the
// others' stretches at the end.
class Shares {
 public:
  Shares(size_t count, unsigned threads) : shares_(threads) {
    for (size_t i = 0; i < threads; ++i) {
      shares_[i].next = count * i / threads;
      shares_[i].end = count * (i + 1) / threads;
    }
  }
  // The next stretch [begin, end) for the thread; false when nothing is left.
  bool Take(unsigned worker, size_t& begin, size_t& end) {
    for (size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(worker + i) % shares_.size()];
      begin = share.next.fetch_add(kChunk);
      if (begin >= share.end) continue;
      end = std::min(begin + kChunk, share.end);
      return true;
    }
    return false;
  }

 private:
  struct alignas(64) Share {
    std::atomic<size_t> next{0};
    size_t end = 0;
  };
  std::vector<Share> shares_;
};

}  // namespace

Result<void> Restore(const Manifest& manifest, const std::string& folder, const Fetch& fetch, unsigned threads) {
  TRY_VOID(manifest.Check());
  TRY(os::Folder root, OpenNewFolder(folder));
  TRY_VOID(MakeAllFolders(root, manifest));
  std::vector<const Entry*> files;
  files.reserve(manifest.entries.size());
  for (const Entry& entry : manifest.entries)
    if (entry.type == Entry::Type::kFile) files.push_back(&entry);
  if (!files.empty()) {
    const auto useful = static_cast<unsigned>(std::min<size_t>(ThreadCount(threads), (files.size() + kChunk - 1) / kChunk));
    Shares shares(files.size(), useful);
    FirstError error;
    RunOnThreads(useful, [&](unsigned worker) {
      Writer writer(root, fetch);
      for (size_t begin, end; !error.failed() && shares.Take(worker, begin, end);) {
        for (size_t i = begin; i < end && !error.failed(); ++i)
          if (auto written = writer.Write(*files[i]); !written.ok()) error.Report(written.error());
      }
    });
    TRY_VOID(error.Take());
  }
  // Links last: while files are written, no name in the folder leads elsewhere.
  for (const Entry& entry : manifest.entries)
    if (entry.type == Entry::Type::kLink) TRY_VOID(root.MakeLink(entry.target, entry.path.c_str()));
  return {};
}

}  // namespace ferry::snapshot
