#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "os/file.h"
#include "os/folder.h"
#include "snapshot/parallel.h"
#include "snapshot/snapshot.h"
#include "snapshot/stat_cache.h"
#include "snapshot/walk.h"

namespace ferry::snapshot {

namespace {

constexpr uint64_t kLargeBytes = 300'000'000;
constexpr size_t kLargeFiles = 2000;
constexpr size_t kMostNamed = 10;
constexpr size_t kBuffer = 256u << 10;
// Files that one thread takes at a time.
constexpr size_t kChunk = 16;
// A file that keeps changing is taken as it was read at last.
constexpr int kTries = 3;

// What became of one file.
struct Hashed {
  enum class State : uint8_t { kKnown, kRead, kUnsettled, kVanished, kUnreadable };
  State state = State::kKnown;
  Digest digest;
};

Result<Hashed::State> HashOnce(const os::Fd& file, std::string& buffer, Sha256& hash, os::Stat& stat, Digest& digest) {
  TRY(os::Stat before, os::StatFd(file));
  uint64_t size = 0;
  for (;;) {
    auto n = os::ReadSome(file, buffer.data(), buffer.size());
    if (!n.ok()) {
      hash.Finish();
      return n.error();
    }
    if (*n == 0) break;
    hash.Update(std::string_view(buffer.data(), *n));
    size += *n;
    if (*n < buffer.size() && size == before.size) break;
  }
  digest = hash.Finish();
  TRY(os::Stat after, os::StatFd(file));
  const bool settled = size == after.size && before.size == after.size && before.mtime_ns == after.mtime_ns && before.ctime_ns == after.ctime_ns;
  stat = after;
  stat.size = size;
  return settled ? Hashed::State::kRead : Hashed::State::kUnsettled;
}

// Reads the content of `found` and brings its stat up to date with what was read.
void HashFile(const os::Folder& root, Found& found, std::string& buffer, Sha256& hash, Hashed& out) {
  for (int i = 0; i < kTries; ++i) {
    auto file = root.OpenFile(found.path.c_str(), found.followed);
    if (!file.ok()) {
      out.state = file.error().code == Code::kNotFound ? Hashed::State::kVanished : Hashed::State::kUnreadable;
      return;
    }
    auto state = HashOnce(*file, buffer, hash, found.stat, out.digest);
    out.state = state.ok() ? *state : Hashed::State::kUnreadable;
    if (out.state != Hashed::State::kUnsettled) return;
  }
}

void HashAll(const os::Folder& root, const std::vector<size_t>& which, std::vector<Found>& found, std::vector<Hashed>& hashed, unsigned threads) {
  std::atomic<size_t> next{0};
  const auto useful = static_cast<unsigned>(std::min<size_t>(threads, (which.size() + kChunk - 1) / kChunk));
  if (useful == 0) return;
  RunOnThreads(useful, [&](unsigned) {
    std::string buffer(kBuffer, '\0');
    Sha256 hash;
    for (size_t begin; (begin = next.fetch_add(kChunk)) < which.size();)
      for (size_t i = begin; i < std::min(begin + kChunk, which.size()); ++i) HashFile(root, found[which[i]], buffer, hash, hashed[which[i]]);
  });
}

Result<void> CheckReadable(std::vector<std::string> unreadable) {
  if (unreadable.empty()) return {};
  const size_t count = unreadable.size();
  if (count > kMostNamed) unreadable.resize(kMostNamed);
  for (std::string& path : unreadable)
    if (path.empty()) path = ".";
  return MakeError(Code::kInvalid, "snapshot.unreadable",
                   StrCat("cannot read ", Join(unreadable, ", "), count > kMostNamed ? StrCat(" and ", count - kMostNamed, " more") : "",
                          "; list them in .amlignore to leave them out"));
}

// The first of the two ignore files that is there; its name is put into `used`.
Result<IgnoreRules> ReadRules(const std::string& folder, std::string& used) {
  for (const char* name : {".amlignore", ".gitignore"}) {
    const std::string path = os::JoinPath(folder, name);
    auto stat = os::StatPath(path);
    if (!stat.ok() || stat->type != os::FileType::kFile) continue;
    auto text = os::ReadFile(path, 16u << 20);
    if (!text.ok()) return MakeError(Code::kInvalid, "snapshot.unreadable", StrCat("cannot read ", name, ": ", text.error().message));
    used = name;
    return IgnoreRules(*text);
  }
  return IgnoreRules("");
}

// What to say about a snapshot that will be slow to send.
std::optional<std::string> LargeNote(const Manifest& manifest) {
  size_t files = 0;
  uint64_t bytes = 0;
  struct Sum {
    uint64_t bytes = 0;
    size_t files = 0;
  };
  std::map<std::string_view, Sum> folders;
  for (const Entry& entry : manifest.entries) {
    if (entry.type != Entry::Type::kFile) continue;
    ++files;
    bytes += entry.size;
  }
  if (files <= kLargeFiles && bytes <= kLargeBytes) return std::nullopt;
  for (const Entry& entry : manifest.entries) {
    const size_t slash = entry.path.find('/');
    if (slash == std::string::npos) continue;
    Sum& sum = folders[std::string_view(entry.path).substr(0, slash)];
    sum.bytes += entry.size;
    sum.files += entry.type == Entry::Type::kFile;
  }
  std::vector<std::pair<std::string_view, Sum>> largest(folders.begin(), folders.end());
  const bool by_bytes = bytes > kLargeBytes;
  std::stable_sort(largest.begin(), largest.end(),
                   [&](const auto& a, const auto& b) { return by_bytes ? a.second.bytes > b.second.bytes : a.second.files > b.second.files; });
  std::string note = StrCat("the snapshot is large: ", files, " files, ", FormatBytes(bytes));
  for (size_t i = 0; i < std::min<size_t>(3, largest.size()); ++i)
    note +=
        StrCat(i == 0 ? "; largest folders: " : ", ", largest[i].first, "/ (", largest[i].second.files, " files, ", FormatBytes(largest[i].second.bytes), ")");
  return note + "; list what runs do not need in .amlignore";
}

}  // namespace

Result<ScanResult> Scan(const ScanOptions& options) {
  const int64_t began_ns = Now().micros * 1000;
  auto folder_stat = os::StatPath(options.folder);
  if (!folder_stat.ok() && folder_stat.error().code == Code::kNotFound)
    return MakeError(Code::kNotFound, "snapshot.no_folder", StrCat("there is no folder ", options.folder));
  if (folder_stat.ok() && folder_stat->type != os::FileType::kFolder)
    return MakeError(Code::kInvalid, "snapshot.not_a_folder", StrCat(options.folder, " is not a folder"));
  auto root = os::Folder::Open(options.folder);
  if (!root.ok()) return MakeError(Code::kInvalid, "snapshot.unreadable", StrCat("cannot read ", options.folder, ": ", root.error().message));

  const unsigned threads = ThreadCount(options.threads);
  ScanResult result;
  IgnoreRules rules("");
  if (!options.everything) {
    TRY(rules, ReadRules(options.folder, result.ignore_file));
  }
  TRY(WalkResult walked, Walk(*root, options.folder, rules, threads));
  std::vector<Found>& found = walked.found;
  result.notes = std::move(walked.notes);

  std::vector<Hashed> hashed(found.size());
  std::vector<size_t> unknown;
  StatCacheReader cache(options.cache_file);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].type() != Entry::Type::kFile) continue;
    if (const Digest* digest = cache.Find(found[i].path, found[i].stat))
      hashed[i].digest = *digest;
    else
      unknown.push_back(i);
  }
  HashAll(*root, unknown, found, hashed, threads);
  for (size_t i : unknown)
    if (hashed[i].state == Hashed::State::kUnreadable) walked.unreadable.push_back(found[i].path);
  TRY_VOID(CheckReadable(std::move(walked.unreadable)));

  StatCacheWriter writer(began_ns);
  const bool read_some = !unknown.empty();
  result.manifest.entries.reserve(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (hashed[i].state == Hashed::State::kVanished) continue;
    Entry entry;
    entry.type = found[i].type();
    if (entry.type == Entry::Type::kFile) {
      entry.executable = (found[i].stat.mode & 0100) != 0;
      entry.size = found[i].stat.size;
      entry.digest = hashed[i].digest;
      if (hashed[i].state != Hashed::State::kKnown) ++result.hashed;
      if (read_some && hashed[i].state != Hashed::State::kUnsettled) {
        writer.Add(found[i].path, found[i].stat, entry.digest);
      }
    }
    entry.target = std::move(found[i].target);
    entry.path = std::move(found[i].path);
    result.manifest.entries.push_back(std::move(entry));
  }
  // Entries of files that are gone do no harm; they are dropped with the next change.
  if (!options.cache_file.empty() && read_some) {
    if (auto written = writer.Write(options.cache_file); !written.ok()) result.notes.push_back(StrCat("the next scan will be slow: ", written.error().message));
  }
  if (auto note = LargeNote(result.manifest)) result.notes.push_back(std::move(*note));
  return result;
}

}  // namespace ferry::snapshot
