#include "data/folder/folder_store.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "os/folder.h"

namespace ferry::data {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::string_view kPartial = ".ferry-partial-";

Time ModifiedAt(const os::Stat& stat) { return Time{stat.mtime_ns / 1000}; }

// A failure of the file system, told without the folder's own path.
Error Told(const Error& error, const std::string& path) {
  if (error.code == Code::kNotFound) return NoSuchFile(path);
  return error;
}

class FileReader final : public Reader {
 public:
  FileReader(os::Fd fd, const os::Stat& stat, std::string path) : fd_(std::move(fd)), stat_(stat), path_(std::move(path)) {}
  uint64_t size() const override { return stat_.size; }
  Result<std::string> Read(uint64_t offset, size_t limit) override {
    if (offset >= stat_.size) return std::string();
    return os::ReadAt(fd_, offset, static_cast<size_t>(std::min<uint64_t>(limit, stat_.size - offset)), path_);
  }

 private:
  os::Fd fd_;
  os::Stat stat_;
  std::string path_;
};

// The folder of a new file, made where it is not there.
Result<os::Folder> MakeParent(const os::Folder& root, const std::string& path) {
  std::string below;
  TRY(os::Folder folder, root.OpenFolderInside(""));
  auto parts = Split(path, '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    std::string name(parts[i]);
    below += (below.empty() ? "" : "/") + name;
    // From the root each time: a link may lead to a place beside this folder.
    auto next = root.OpenFolderInside(below);
    if (!next.ok() && next.error().code == Code::kNotFound) {
      if (auto made = folder.MakeFolder(name.c_str()); !made.ok() && made.error().code != Code::kConflict) return made.error();
      next = root.OpenFolderInside(below);
    }
    if (!next.ok() && next.error().code == Code::kNotFound)
      return MakeError(Code::kConflict, "file.exists", StrCat("'", below, "' is a file, so that there can be no '", path, "'"), "path");
    if (!next.ok()) return next.error();
    folder = std::move(*next);
  }
  return folder;
}

class FileWriter final : public Writer {
 public:
  FileWriter(os::Folder parent, os::Fd fd, std::string partial, std::string path)
      : parent_(std::move(parent)), fd_(std::move(fd)), partial_(std::move(partial)), path_(std::move(path)) {}
  ~FileWriter() override {
    if (!partial_.empty()) (void)parent_.Remove(partial_.c_str());
  }
  Result<void> Write(std::string_view bytes) override { return os::WriteAll(fd_, bytes, path_); }
  Result<FileInfo> Finish(bool overwrite) override {
    std::string name = path_.substr(path_.rfind('/') + 1);
    TRY_VOID(os::SyncData(fd_, path_));
    if (auto there = parent_.Look(name.c_str()); there.ok() && there->type == os::FileType::kFolder)
      return MakeError(Code::kConflict, "file.exists", StrCat("'", path_, "' is a folder"), "path");
    if (auto renamed = parent_.Rename(partial_.c_str(), name.c_str(), overwrite); !renamed.ok())
      return renamed.error().code == Code::kConflict ? FileExists(path_) : renamed.error();
    partial_.clear();
    TRY_VOID(parent_.Sync());
    TRY(os::Stat stat, os::StatFd(fd_, path_));
    return FileInfo{path_, stat.size, ModifiedAt(stat), {}};
  }

 private:
  os::Folder parent_;
  os::Fd fd_;
  std::string partial_;
  std::string path_;
};

class FolderStore final : public FileStore, public LocalFiles {
 public:
  FolderStore(std::string folder, os::Folder root) : folder_(std::move(folder)), root_(std::move(root)) {}

  Result<std::vector<FileInfo>> List(const std::string& prefix, const std::string& after, size_t limit) override {
    std::vector<FileInfo> out;
    size_t slash = prefix.rfind('/');
    std::string base = slash == std::string::npos ? "" : prefix.substr(0, slash);
    if (!base.empty() && !CheckFilePath(base, "prefix").ok()) return out;
    auto folder = root_.OpenFolderInside(base);
    if (!folder.ok()) {
      // Not there, or a file: nothing begins so.
      if (folder.error().code == Code::kNotFound) return out;
      return folder.error();
    }
    TRY_VOID(Walk(*folder, base.empty() ? "" : base + "/", prefix, after, limit, 0, out));
    return out;
  }

  Result<FileInfo> Stat(const std::string& path) override {
    TRY(auto opened, OpenChecked(path));
    return FileInfo{path, opened.second.size, ModifiedAt(opened.second), {}};
  }

  Result<std::unique_ptr<Reader>> Open(const std::string& path) override {
    TRY(auto opened, OpenChecked(path));
    return std::unique_ptr<Reader>(std::make_unique<FileReader>(std::move(opened.first), opened.second, path));
  }

  Result<std::unique_ptr<Writer>> Create(const std::string& path) override {
    TRY_VOID(CheckFilePath(path, "path"));
    if (std::string_view(path).substr(path.rfind('/') + 1).starts_with(kPartial))
      return MakeError(Code::kInvalid, "file.path", StrCat("names that begin with '", kPartial, "' are Ferry's own"), "path");
    TRY(os::Folder parent, MakeParent(root_, path));
    std::string partial = StrCat(kPartial, RandomHex(8));
    TRY(os::Fd fd, parent.CreateFile(partial.c_str(), 0644));
    return std::unique_ptr<Writer>(std::make_unique<FileWriter>(std::move(parent), std::move(fd), std::move(partial), path));
  }

  LocalFiles* local() override { return this; }

  Result<LocalPlace> PlaceOf(const std::string& path) override {
    if (!path.empty()) TRY_VOID(CheckFilePath(path, "path"));
    auto opened = root_.OpenInside(path);
    if (!opened.ok()) return Told(opened.error(), path);
    TRY(os::Stat stat, os::StatFd(*opened, path));
    TRY(std::string real, os::PathOf(*opened));
    return LocalPlace{real, os::MachineId(), stat.device, stat.inode, stat.type == os::FileType::kFolder};
  }

 private:
  Result<std::pair<os::Fd, os::Stat>> OpenChecked(const std::string& path) {
    TRY_VOID(CheckFilePath(path, "path"));
    auto fd = root_.OpenInside(path);
    if (!fd.ok()) return Told(fd.error(), path);
    TRY(os::Stat stat, os::StatFd(*fd, path));
    if (stat.type != os::FileType::kFile) return NoSuchFile(path);
    return std::pair(std::move(*fd), stat);
  }

  // Whole paths in their bytewise order: a folder stands where its name with a '/' stands.
  Result<void> Walk(const os::Folder& folder, const std::string& base, const std::string& prefix, const std::string& after, size_t limit, int depth,
                    std::vector<FileInfo>& out) {
    if (depth > kMaxDepth) return MakeError(Code::kTooLarge, "datastore.depth", StrCat("'", base.substr(0, 200), "' lies more than 64 folders deep"), "path");
    struct Entry {
      std::string sort;
      os::FileType type;
    };
    std::vector<Entry> entries;
    TRY_VOID(folder.List([&](const char* name, os::FileType type) {
      std::string path = StrCat(base, name);
      if (std::string_view(name).starts_with(kPartial) || !IsUtf8(path)) return;
      bool below = type == os::FileType::kFolder;
      if (below) path += '/';
      // Neither before what is asked for, nor beside it.
      if (path.compare(0, prefix.size(), prefix) != 0 && !(below && prefix.compare(0, path.size(), path) == 0)) return;
      if (path <= after && !(below && after.compare(0, path.size(), path) == 0)) return;
      entries.push_back({std::move(path), type});
    }));
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.sort < b.sort; });
    for (Entry& entry : entries) {
      if (out.size() >= limit) return {};
      if (entry.type == os::FileType::kFolder) {
        std::string path = entry.sort.substr(0, entry.sort.size() - 1);
        auto inner = folder.OpenFolder(path.substr(base.size()));
        // Removed meanwhile, or not ours to read.
        if (!inner.ok()) continue;
        TRY_VOID(Walk(*inner, entry.sort, prefix, after, limit, depth + 1, out));
        continue;
      }
      os::Stat stat;
      if (entry.type == os::FileType::kLink) {
        auto file = root_.OpenInside(entry.sort);
        if (!file.ok()) continue;
        TRY(stat, os::StatFd(*file, entry.sort));
      } else {
        auto look = folder.Look(entry.sort.c_str() + base.size());
        if (!look.ok()) continue;
        stat = *look;
      }
      if (stat.type == os::FileType::kFile) out.push_back({std::move(entry.sort), stat.size, ModifiedAt(stat), {}});
    }
    return {};
  }

  const std::string folder_;
  const os::Folder root_;
};

}  // namespace

Result<std::unique_ptr<FileStore>> OpenFolderStore(const std::string& folder) {
  auto root = os::Folder::Open(folder);
  if (!root.ok())
    return MakeError(Code::kNotFound, "datastore.folder", StrCat("the folder '", folder, "' cannot be used on the server's machine: ", root.error().message),
                     "folder");
  return std::unique_ptr<FileStore>(std::make_unique<FolderStore>(folder, std::move(*root)));
}

}  // namespace ferry::data
