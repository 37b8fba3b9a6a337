#include "logs/log_store.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "os/file.h"

namespace ferry::logs {

namespace {

// Streams kept open; more only while more are being appended to at once.
constexpr size_t kOpenStreams = 128;
// Runs remembered as flushed; forgetting one costs a flush that finds nothing.
constexpr size_t kFlushedRuns = 10'000;
// Where erased runs wait to be removed. No run can have this name.
constexpr char kTrash[] = ".erased";

// One stream that is being appended to.
struct Stream {
  std::mutex mutex;
  os::Fd fd;          // opened by the first append
  uint64_t size = 0;  // of the file
};

// Open streams by path: a stream in use is shared, so that there is one size and one lock for each file.
class StreamCache {
 public:
  std::shared_ptr<Stream> Take(const std::string& path) {
    std::lock_guard lock(mutex_);
    auto [entry, added] = by_path_.try_emplace(path);
    if (added) {
      entry->second.stream = std::make_shared<Stream>();
      recent_.push_front(path);
      entry->second.place = recent_.begin();
      Shrink();
    } else {
      recent_.splice(recent_.begin(), recent_, entry->second.place);
    }
    return entry->second.stream;
  }

  // Forgets every stream below a folder.
  void Drop(const std::string& folder) {
    std::lock_guard lock(mutex_);
    for (auto place = recent_.begin(); place != recent_.end();) {
      if (place->starts_with(folder) && place->size() > folder.size() && (*place)[folder.size()] == '/') {
        by_path_.erase(*place);
        place = recent_.erase(place);
      } else {
        ++place;
      }
    }
  }

 private:
  struct Entry {
    std::shared_ptr<Stream> stream;
    std::list<std::string>::iterator place;
  };

  void Shrink() {
    auto place = recent_.end();
    while (by_path_.size() > kOpenStreams && place != recent_.begin()) {
      --place;
      auto entry = by_path_.find(*place);
      if (entry->second.stream.use_count() > 1) continue;
      by_path_.erase(entry);
      place = recent_.erase(place);
    }
  }

  std::mutex mutex_;
  std::unordered_map<std::string, Entry> by_path_;
  std::list<std::string> recent_;  // latest used first
};

// The followers of every run. A callback runs under its run's lock, so that a subscription that has ended is never called.
class Followers {
 public:
  struct Topic {
    std::mutex mutex;
    std::map<uint64_t, std::function<void()>> callbacks;
  };

  std::pair<std::shared_ptr<Topic>, uint64_t> Add(const std::string& run, std::function<void()> callback) {
    std::unique_lock lock(mutex_);
    auto& topic = topics_[run];
    if (!topic) topic = std::make_shared<Topic>();
    std::lock_guard topic_lock(topic->mutex);
    topic->callbacks.emplace(++latest_, std::move(callback));
    return {topic, latest_};
  }

  void Remove(const std::string& run, const std::shared_ptr<Topic>& topic, uint64_t id) {
    std::unique_lock lock(mutex_);
    std::lock_guard topic_lock(topic->mutex);
    topic->callbacks.erase(id);
    if (topic->callbacks.empty()) topics_.erase(run);
  }

  void Wake(const std::string& run) {
    std::shared_ptr<Topic> topic;
    {
      std::shared_lock lock(mutex_);
      auto found = topics_.find(run);
      if (found == topics_.end()) return;
      topic = found->second;
    }
    std::lock_guard lock(topic->mutex);
    for (auto& [id, callback] : topic->callbacks) callback();
  }

 private:
  std::shared_mutex mutex_;  // taken before a topic's
  std::unordered_map<std::string, std::shared_ptr<Topic>> topics_;
  uint64_t latest_ = 0;
};

class FollowerSubscription final : public Subscription {
 public:
  FollowerSubscription(std::shared_ptr<Followers> followers, std::string run, std::function<void()> callback)
      : followers_(std::move(followers)), run_(std::move(run)) {
    std::tie(topic_, id_) = followers_->Add(run_, std::move(callback));
  }
  ~FollowerSubscription() override { followers_->Remove(run_, topic_, id_); }

 private:
  std::shared_ptr<Followers> followers_;
  std::string run_;
  std::shared_ptr<Followers::Topic> topic_;
  uint64_t id_ = 0;
};

bool IsSafeRun(std::string_view run) { return IsSafePath(run) && run.find('/') == std::string_view::npos && run != kTrash; }

Error BadName(std::string_view name) {
  return MakeError(Code::kInvalid, "log.bad_name", StrCat("\"", EncodePercent(name.substr(0, 100)), "\" cannot name a run or a log stream"));
}

class FileLogStore final : public LogStore {
 public:
  explicit FileLogStore(std::string folder) : folder_(std::move(folder)) {}

  Result<uint64_t> Append(const std::string& run, const std::string& stream, uint64_t offset, std::string_view bytes) override {
    if (!IsSafeRun(run)) return BadName(run);
    if (!IsSafePath(stream)) return BadName(stream);
    uint64_t size = 0;
    bool grew = false;
    {
      std::shared_lock erase_lock(erase_mutex_);
      std::string path = PathOf(run, stream);
      auto open = cache_.Take(path);
      std::lock_guard lock(open->mutex);
      if (!open->fd) TRY_VOID(OpenStream(*open, path));
      erase_lock.unlock();
      if (offset > open->size)
        return MakeError(Code::kConflict, "log.gap", StrCat("the stream ", stream, " of ", run, " has ", open->size, " bytes, the append begins at ", offset));
      bytes.remove_prefix(std::min<uint64_t>(bytes.size(), open->size - offset));
      if (!bytes.empty()) {
        if (auto written = os::WriteAllAt(open->fd, bytes, open->size, path); !written.ok()) {
          (void)os::Truncate(open->fd, open->size, path);
          return written.error();
        }
        open->size += bytes.size();
        grew = true;
        MarkWritten(run);
      }
      size = open->size;
    }
    if (grew) followers_->Wake(run);
    return size;
  }

  Result<void> Sync(const std::vector<std::string>& runs) override {
    std::lock_guard sync_lock(sync_mutex_);
    bool flushed_any = false;
    for (const std::string& run : runs) {
      if (!IsSafeRun(run)) return BadName(run);
      {
        // Marked before it is flushed: an append that comes meanwhile takes the mark away again.
        std::lock_guard lock(flushed_mutex_);
        if (flushed_.contains(run)) continue;
        if (flushed_.size() >= kFlushedRuns) flushed_.clear();
        flushed_.insert(run);
      }
      std::shared_lock erase_lock(erase_mutex_);
      if (auto result = SyncBelow(os::JoinPath(folder_, run)); !result.ok()) {
        MarkWritten(run);
        return result.error();
      }
      flushed_any = true;
    }
    return flushed_any ? os::SyncFolder(folder_) : Result<void>();
  }

  Result<std::string> Read(const std::string& run, const std::string& stream, uint64_t offset, size_t limit) override {
    if (!IsSafeRun(run)) return BadName(run);
    if (!IsSafePath(stream)) return BadName(stream);
    std::string path = PathOf(run, stream);
    auto missing = [&] { return MakeError(Code::kNotFound, "log.not_found", StrCat("the run ", run, " has no log stream ", stream)); };
    auto fd = os::Open(path, os::OpenMode::kRead);
    if (!fd.ok()) return fd.error().code == Code::kNotFound ? missing() : fd.error();
    TRY(os::Stat stat, os::StatFd(*fd, path));
    if (stat.type != os::FileType::kFile) return missing();
    if (offset >= stat.size) return std::string();
    return os::ReadAt(*fd, offset, static_cast<size_t>(std::min<uint64_t>(limit, stat.size - offset)), path);
  }

  Result<std::vector<StreamInfo>> Streams(const std::string& run) override {
    if (!IsSafeRun(run)) return BadName(run);
    std::vector<StreamInfo> streams;
    TRY_VOID(ListBelow(os::JoinPath(folder_, run), "", streams));
    std::sort(streams.begin(), streams.end(), [](const StreamInfo& a, const StreamInfo& b) { return a.name < b.name; });
    return streams;
  }

  std::unique_ptr<Subscription> Follow(const std::string& run, std::function<void()> callback) override {
    return std::make_unique<FollowerSubscription>(followers_, run, std::move(callback));
  }

  Result<void> Erase(const std::string& run) override {
    if (!IsSafeRun(run)) return BadName(run);
    std::string trash = os::JoinPath(folder_, kTrash), moved;
    {
      std::unique_lock lock(erase_mutex_);
      std::string path = os::JoinPath(folder_, run);
      cache_.Drop(path);
      if (!os::Exists(path)) return {};
      TRY_VOID(os::MakeFolders(trash));
      moved = os::JoinPath(trash, StrCat(++erased_));
      TRY_VOID(os::Rename(path, moved));
    }
    {
      std::lock_guard lock(flushed_mutex_);
      flushed_.erase(run);
    }
    return os::RemoveAll(moved);
  }

 private:
  std::string PathOf(const std::string& run, const std::string& stream) const { return StrCat(folder_, "/", run, "/", stream); }

  Result<void> OpenStream(Stream& stream, const std::string& path) {
    auto fd = os::Open(path, os::OpenMode::kReadWrite);
    if (!fd.ok() && fd.error().code == Code::kNotFound) {
      TRY_VOID(os::MakeFolders(path.substr(0, path.rfind('/'))));
      fd = os::Open(path, os::OpenMode::kReadWrite);
    }
    if (!fd.ok()) {
      auto stat = os::StatPath(path);
      if (stat.ok() && stat->type == os::FileType::kFolder) return MakeError(Code::kConflict, "file.exists", StrCat(path, " is a folder of other streams"));
      return fd.error();
    }
    TRY(os::Stat stat, os::StatFd(*fd, path));
    stream.size = stat.size;
    stream.fd = std::move(*fd);
    return {};
  }

  void MarkWritten(const std::string& run) {
    std::lock_guard lock(flushed_mutex_);
    flushed_.erase(run);
  }

  static Result<void> SyncBelow(const std::string& path) {
    auto entries = os::ListFolder(path);
    if (!entries.ok()) {
      if (entries.error().code == Code::kNotFound) return {};
      return entries.error();
    }
    for (const os::DirEntry& entry : *entries) {
      std::string child = os::JoinPath(path, entry.name);
      if (entry.type == os::FileType::kFolder) TRY_VOID(SyncBelow(child));
      if (entry.type != os::FileType::kFile) continue;
      TRY(os::Fd fd, os::Open(child, os::OpenMode::kRead));
      TRY_VOID(os::SyncData(fd, child));
    }
    return os::SyncFolder(path);
  }

  static Result<void> ListBelow(const std::string& path, const std::string& prefix, std::vector<StreamInfo>& streams) {
    auto entries = os::ListFolder(path);
    if (!entries.ok()) {
      if (entries.error().code == Code::kNotFound) return {};
      return entries.error();
    }
    for (const os::DirEntry& entry : *entries) {
      std::string child = os::JoinPath(path, entry.name);
      if (entry.type == os::FileType::kFolder) TRY_VOID(ListBelow(child, StrCat(prefix, entry.name, "/"), streams));
      if (entry.type != os::FileType::kFile) continue;
      auto stat = os::StatPath(child, false);
      if (stat.ok()) streams.push_back({StrCat(prefix, entry.name), stat->size});
    }
    return {};
  }

  const std::string folder_;
  StreamCache cache_;
  std::shared_ptr<Followers> followers_ = std::make_shared<Followers>();
  // Held shared while a run's files are found, made or flushed, alone while a run is moved away.
  std::shared_mutex erase_mutex_;
  uint64_t erased_ = 0;
  std::mutex sync_mutex_;          // one Sync at a time, taken first
  std::mutex flushed_mutex_;       // taken last
  std::set<std::string> flushed_;  // runs with nothing to flush
};

}  // namespace

Result<std::unique_ptr<LogStore>> LogStore::Open(std::string folder) {
  TRY_VOID(os::MakeFolders(folder));
  TRY_VOID(os::RemoveAll(os::JoinPath(folder, kTrash)));
  return std::unique_ptr<LogStore>(std::make_unique<FileLogStore>(std::move(folder)));
}

bool IsSafePath(std::string_view path) {
  if (path.empty() || path.size() > 1024) return false;
  for (std::string_view part : Split(path, '/'))
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
  return std::none_of(path.begin(), path.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace ferry::logs
