#include "agent/environments.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <tuple>

#include "base/text.h"
#include "os/file.h"
#include "os/log.h"
#include "os/process.h"

namespace ferry::agent {

using environment::Ready;

namespace {

constexpr auto kLook = std::chrono::milliseconds(200);

std::string Mark(const std::string& key) { return StrCat("environment-", key); }

uint64_t BytesBelow(const std::string& folder) {
  uint64_t bytes = 0;
  std::vector<std::string> todo = {folder};
  while (!todo.empty()) {
    std::string at = std::move(todo.back());
    todo.pop_back();
    auto entries = os::ListFolder(at);
    if (!entries.ok()) continue;
    for (const os::DirEntry& entry : *entries) {
      std::string path = os::JoinPath(at, entry.name);
      if (entry.type == os::FileType::kFolder)
        todo.push_back(std::move(path));
      else if (auto stat = os::StatPath(path, false); stat.ok())
        bytes += stat->size;
    }
  }
  return bytes;
}

void EndProcesses(const std::string& mark) {
  // Twice: what was forked while the first list was made is in the second.
  for (int round = 0; round < 2; ++round)
    for (int pid : os::ProcessesWith("FERRY_ATTEMPT", mark)) os::SendSignal(pid, SIGKILL);
}

}  // namespace

std::vector<std::string> EnvironmentsToRemove(std::vector<KeptEnvironment> kept, uint64_t max_bytes, Duration max_age, Time now) {
  std::sort(kept.begin(), kept.end(), [](const KeptEnvironment& a, const KeptEnvironment& b) { return std::tie(a.used, a.key) < std::tie(b.used, b.key); });
  uint64_t bytes = 0;
  for (const KeptEnvironment& one : kept) bytes += one.bytes;
  std::vector<std::string> remove;
  for (const KeptEnvironment& one : kept) {
    if (one.in_use) continue;
    bool old = max_age.count() > 0 && now - one.used > max_age;
    bool too_much = max_bytes > 0 && bytes > max_bytes;
    if (!old && !too_much) continue;
    remove.push_back(one.key);
    bytes -= one.bytes;
  }
  return remove;
}

Environments::Environments(Settings settings) : settings_(std::move(settings)) {}

Environments::~Environments() {
  std::map<uint64_t, std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    for (auto& [key, build] : builds_) build->stop = true;
    threads.swap(threads_);
  }
  for (auto& [id, thread] : threads) thread.join();
}

std::string Environments::Folder(const std::string& key) const { return StrCat(settings_.home, "/environments/", key); }
std::string Environments::Log(const std::string& key) const { return StrCat(Folder(key), ".log"); }

void Environments::Begin(const std::vector<std::pair<std::string, std::string>>& users) {
  std::string folder = os::JoinPath(settings_.home, "environments");
  (void)os::MakeFolders(folder, 0700);
  if (auto entries = os::ListFolder(folder); entries.ok())
    for (const os::DirEntry& entry : *entries) {
      if (entry.type != os::FileType::kFolder || os::Exists(StrCat(folder, "/", entry.name, "/ready.json"))) continue;
      EndProcesses(Mark(entry.name));
      (void)os::RemoveAll(os::JoinPath(folder, entry.name));
    }
  std::lock_guard lock(mutex_);
  for (const auto& [user, key] : users) users_[user] = key;
}

std::shared_ptr<const Ready> Environments::Find(const std::string& key) {
  if (auto it = ready_.find(key); it != ready_.end()) return it->second;
  auto text = os::ReadFile(StrCat(Folder(key), "/ready.json"));
  auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  auto ready = json.ok() ? environment::ReadyFromJson(*json) : Result<Ready>(json.error());
  if (!ready.ok()) return nullptr;
  return ready_[key] = std::make_shared<const Ready>(std::move(*ready));
}

Result<Environments::Use> Environments::Get(const Request& request) {
  std::unique_lock lock(mutex_);
  users_[request.user] = request.key;
  auto give_up = [&](Error error) {
    users_.erase(request.user);
    return error;
  };
  if (auto ready = Find(request.key)) {
    lock.unlock();
    (void)os::WriteFile(StrCat(Folder(request.key), "/used"), "");
    return Use{*ready, How::kFound};
  }
  if (!request.may_build)
    return give_up(MakeError(Code::kNotFound, "environment.not_prepared",
                             StrCat("the environment ", request.key.substr(0, 12),
                                    " is not prepared on this node, and autoPrepareEnvironment is false; prepare it once with: ferry environment build")));
  auto& slot = builds_[request.key];
  bool first = !slot;
  if (first) slot = std::make_shared<Build>();
  std::shared_ptr<Build> build = slot;
  ++build->waiting;
  if (first) {
    // An interrupted build's log goes on, so that what was sent of it stays true.
    auto log = os::Open(Log(request.key), os::OpenMode::kAppend);
    if (!log.ok()) {
      builds_.erase(request.key);
      return give_up(log.error());
    }
    uint64_t id = ++begun_;
    threads_[id] = std::thread([this, key = request.key, definition = request.definition, context = request.context, build, id] {
      Make(key, definition, context, build, id);
    });
  }
  if (auto linked = os::MakeHardLink(Log(request.key), request.log_file); !linked.ok() && linked.error().code != Code::kConflict)
    os::Log(os::Level::kWarning, "the build's log could not be linked", {{"error", linked.error().message}});
  if (request.waiting) request.waiting();
  for (;;) {
    build->changed.wait_for(lock, kLook, [&] { return build->done; });
    if (build->done) break;
    lock.unlock();
    bool stopping = request.stopping();
    lock.lock();
    if (!stopping || build->done) continue;
    if (--build->waiting == 0) build->stop = true;
    return give_up(MakeError(Code::kCanceled, "environment.stopped", "it was stopped while its environment was prepared"));
  }
  --build->waiting;
  if (!build->result.ok()) return give_up(build->result.error());
  How how = !first ? How::kWaited : build->fetched ? How::kFetched : How::kBuilt;
  return Use{*build->result, how};
}

void Environments::Make(const std::string& key, model::Environment definition, std::string context, std::shared_ptr<Build> build, uint64_t thread) {
  std::string folder = Folder(key);
  auto began = std::chrono::steady_clock::now();
  auto log_fd = os::Open(Log(key), os::OpenMode::kAppend);
  auto say = [&](std::string_view line) {
    if (log_fd.ok()) (void)os::WriteAll(*log_fd, StrCat(line, "\n"));
  };
  environment::Job job{definition,
                       folder,
                       Mark(key),
                       say,
                       [&] {
                         std::lock_guard lock(mutex_);
                         return build->stop;
                       },
                       context};
  auto make = [&]() -> Result<Ready> {
    TRY_VOID(os::RemoveAll(folder));
    if (settings_.fetch) {
      auto fetched = settings_.fetch(key, job);
      if (fetched.ok()) {
        std::lock_guard lock(mutex_);
        build->fetched = true;
        return fetched;
      }
      if (fetched.error().code != Code::kNotFound)
        say(StrCat("ferry: it could not be fetched as it was built elsewhere (", fetched.error().message, "); it is built here"));
      TRY_VOID(os::RemoveAll(folder));
    }
    return settings_.build(job);
  };
  auto result = make();
  auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began);
  if (result.ok()) {
    say(StrCat("ferry: the environment is ready after ", FormatDuration(took)));
    auto keep = [&]() -> Result<void> {
      TRY_VOID(os::MakeFolders(folder));
      TRY_VOID(os::WriteFile(StrCat(folder, "/used"), ""));
      // The log is part of it from now on; those who read it have their own links.
      TRY_VOID(os::MakeHardLink(Log(key), StrCat(folder, "/build.log")));
      return os::WriteFileAtomic(StrCat(folder, "/ready.json"), environment::ToJson(*result).Dump());
    };
    if (auto kept = keep(); !kept.ok()) result = kept.error();
  }
  if (!result.ok()) {
    say(StrCat("ferry: ", result.error().message));
    EndProcesses(job.mark);
    (void)os::RemoveAll(folder);
  }
  bool publish = false;
  {
    std::lock_guard lock(mutex_);
    (void)os::RemoveFile(Log(key));
    build->result = result;
    build->done = true;
    publish = result.ok() && !build->fetched;
    if (result.ok()) ready_[key] = std::make_shared<const Ready>(*result);
    builds_.erase(key);
    build->changed.notify_all();
  }
  if (publish && settings_.publish) settings_.publish(key, *result, took);
  std::lock_guard lock(mutex_);
  ended_.push_back(thread);
}

void Environments::Release(const std::string& user) {
  std::vector<std::thread> ended;
  {
    std::lock_guard lock(mutex_);
    users_.erase(user);
    for (uint64_t id : ended_)
      if (auto it = threads_.find(id); it != threads_.end()) {
        ended.push_back(std::move(it->second));
        threads_.erase(it);
      }
    ended_.clear();
  }
  for (std::thread& thread : ended) thread.join();
}

std::vector<KeptEnvironment> Environments::Prune(bool dry) {
  std::vector<KeptEnvironment> kept;
  auto entries = os::ListFolder(os::JoinPath(settings_.home, "environments"));
  if (!entries.ok()) return {};
  for (const os::DirEntry& entry : *entries) {
    if (entry.type != os::FileType::kFolder || !os::Exists(StrCat(Folder(entry.name), "/ready.json"))) continue;
    KeptEnvironment one{entry.name, 0, {}, false};
    if (auto used = os::StatPath(StrCat(Folder(entry.name), "/used")); used.ok()) one.used = Time{used->mtime_ns / 1000};
    one.bytes = BytesBelow(Folder(entry.name));
    kept.push_back(std::move(one));
  }
  std::lock_guard lock(mutex_);
  for (KeptEnvironment& one : kept)
    one.in_use = builds_.count(one.key) > 0 || std::any_of(users_.begin(), users_.end(), [&](const auto& user) { return user.second == one.key; });
  std::vector<KeptEnvironment> removed;
  for (const std::string& key : EnvironmentsToRemove(kept, settings_.max_bytes, settings_.max_age, Now())) {
    removed.push_back(*std::find_if(kept.begin(), kept.end(), [&](const KeptEnvironment& one) { return one.key == key; }));
    if (dry) continue;
    if (auto ready = Find(key); ready && settings_.remove) settings_.remove(key, *ready);
    ready_.erase(key);
    // Without its mark it is no environment any more, however far the removal comes.
    (void)os::RemoveFile(StrCat(Folder(key), "/ready.json"));
    (void)os::RemoveAll(Folder(key));
  }
  return removed;
}

}  // namespace ferry::agent
