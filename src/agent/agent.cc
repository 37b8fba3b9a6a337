#include "agent/agent.h"

#include <csignal>

#include "base/text.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/log.h"

namespace ferry::agent {

using model::AttemptKey;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

namespace {
constexpr auto kHeartbeat = seconds(10);
constexpr int kPoolThreads = 4;  // beside those that may wait for an environment
}  // namespace

Agent::Agent(AgentSettings settings)
    : settings_(std::move(settings)),
      preparer_({settings_.home, [this](const std::string& folder, const Launch& launch) { return StartSupervisor(folder, launch); }, settings_.sdk,
                 [this] { return Server(); },
                 [this] {
                   environment::Settings environment = settings_.environment;
                   environment.tools = os::JoinPath(settings_.home, "tools");
                   environment.cache = os::JoinPath(settings_.home, "cache");
                   environment.sdk = settings_.sdk;
                   environment.path = os::GetEnv("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
                   return environment;
                 }(),
                 settings_.environment_bytes, settings_.environment_age}) {}

Agent::~Agent() = default;

http::ClientSettings Agent::Server() const {
  http::ClientSettings client;
  client.base = settings_.url;
  if (!settings_.url_file.empty())
    if (auto text = os::ReadFile(settings_.url_file, 1u << 20); text.ok())
      if (auto json = ParseJson(*text); json.ok()) client.base = json->GetString("local_url", json->GetString("url", client.base));
  client.token = settings_.token;
  client.user_agent = "ferry-agent";
  return client;
}

Result<void> Agent::Run(std::stop_token stop) {
  TRY_VOID(os::MakeFolders(os::JoinPath(settings_.home, "attempts"), 0700));
  TRY_VOID(os::MakeFolders(os::JoinPath(settings_.home, "snapshots"), 0700));
  (void)os::RemoveAll(os::JoinPath(settings_.home, "trash"));
  (void)os::RemoveAll(os::JoinPath(settings_.home, "spares"));
  TRY_VOID(os::MakeFolders(os::JoinPath(settings_.home, "trash"), 0700));
  session_ = Now().micros;
  TRY(std::unique_ptr<Nursery> nursery, Nursery::Start(settings_.program, os::JoinPath(settings_.home, "nursery.lock")));
  nursery_ = std::move(nursery);
  for (int i = 0; i < kPoolThreads + settings_.slots; ++i) pool_.emplace_back([this] { PoolLoop(); });
  {
    std::lock_guard lock(mutex_);
    std::vector<Remains> remains = ReadRemains(settings_.home);
    for (const Remains& r : remains) {
      Work& work = works_[r.assign.key];
      work.assign = r.assign;
      work.launched = r.launched;
      AttemptFolder folder(settings_.home, r.assign.key);
      work.supervisor = folder.Supervisor();
      if (auto text = os::ReadFile(folder.Path("sent.json")); text.ok())
        if (auto json = ParseJson(*text); json.ok() && json->is_object())
          for (const auto& [stream, offset] : json->as_object()) {
            if (!offset.is_int()) continue;
            (stream.empty() ? work.spool_sent : work.sent[stream]) = static_cast<uint64_t>(offset.as_int());
          }
      if (work.launched) BeginWatching(work);
    }
    std::vector<std::pair<std::string, std::string>> users;
    for (const Remains& r : remains)
      if (!r.assign.spec.environment_key.empty()) users.emplace_back(r.assign.key.Name(), r.assign.spec.environment_key);
    preparer_.Begin(users);
    builds_watch_ = watch_.Add(os::JoinPath(settings_.home, "environments"));
    if (!remains.empty()) os::Log(os::Level::kInfo, "took up attempts that an earlier agent left", {{"attempts", StrCat(remains.size())}});
    Do(core_.Adopt(remains, ReadGeneration(settings_.home)));
  }
  std::jthread link([this](std::stop_token s) { LinkLoop(s); });
  std::jthread watch([this](std::stop_token s) { WatchLoop(s); });
  std::stop_callback on_stop(stop, [this] {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  });

  http::Client client(Server());
  std::string base;
  auto heartbeat = Steady::now();
  milliseconds backoff(0);
  for (;;) {
    bool hello = false;
    {
      std::unique_lock lock(mutex_);
      auto ready = [&] { return stop_ || (linked_ && (!welcomed_ || dirty_)); };
      if (backoff.count() > 0) changed_.wait_for(lock, backoff, [&] { return stop_; });
      changed_.wait_until(lock, heartbeat, ready);
      if (stop_) break;
      if (!linked_) {
        heartbeat = Steady::now() + kHeartbeat;
        continue;
      }
      hello = !welcomed_ || Steady::now() >= heartbeat;
    }
    if (auto server = Server(); server.base != base) {
      base = server.base;
      client = http::Client(server);
    }
    bool ok;
    if (hello) {
      heartbeat = Steady::now() + kHeartbeat;
      ok = SendHello(client, stop);
    } else {
      ok = SendReport(client, stop);
    }
    backoff = ok ? milliseconds(0) : std::min(milliseconds(1000), std::max(milliseconds(20), backoff * 2));
  }
  link.request_stop();
  watch.request_stop();
  waker_.Wake();
  {
    std::lock_guard lock(pool_mutex_);
    pool_stop_ = true;
  }
  pool_changed_.notify_all();
  for (std::thread& thread : pool_) thread.join();
  nursery_.reset();
  return {};
}

Result<void> Agent::StartSupervisor(const std::string& folder, const Launch& launch) {
  for (int attempt = 0;; ++attempt) {
    std::shared_ptr<Nursery> nursery;
    {
      std::lock_guard lock(nursery_mutex_);
      nursery = nursery_;
    }
    auto started = nursery->Launch(folder, launch);
    if (started.ok() || started.error().slug != "nursery.gone" || attempt == 3) return started;
    // It was killed; a new one takes its place. What it had forked already goes on.
    std::lock_guard lock(nursery_mutex_);
    if (nursery_ == nursery) {
      TRY(std::unique_ptr<Nursery> fresh, Nursery::Start(settings_.program, os::JoinPath(settings_.home, "nursery.lock")));
      nursery_ = std::move(fresh);
    }
    if (os::Exists(os::JoinPath(folder, "supervisor.json"))) return {};
  }
}

void Agent::Dirty() {
  dirty_ = true;
  changed_.notify_all();
}

void Agent::Post(std::function<void()> job) {
  {
    std::lock_guard lock(pool_mutex_);
    jobs_.push_back(std::move(job));
  }
  pool_changed_.notify_one();
}

void Agent::PoolLoop() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(pool_mutex_);
      pool_changed_.wait(lock, [this] { return pool_stop_ || !jobs_.empty(); });
      if (pool_stop_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

// --- the command stream
void Agent::LinkLoop(std::stop_token stop) {
  milliseconds backoff(20);
  while (!stop.stop_requested()) {
    http::ClientSettings server = Server();
    server.io_timeout = seconds(60);
    http::Client client(server);
    auto ended = client.Events(
        StrCat("/api/v1/agent/commands?node=", EncodePercent(settings_.node), "&protocol=", model::kProtocol), "",
        [&](const http::Event& event) {
          std::lock_guard lock(mutex_);
          if (event.event == "open") {
            linked_ = true;
            welcomed_ = false;
            backoff = milliseconds(20);
            changed_.notify_all();
          } else if (event.event == "message") {
            auto json = ParseJson(event.data, "a message of the server");
            auto message = json.ok() ? model::MessageFromJson(*json) : Result<model::AgentMessage>(json.error());
            if (message.ok())
              Do(core_.OnMessage(*message));
            else
              os::Log(os::Level::kWarning, "a message of the server could not be read", {{"error", message.error().message}});
          }
          return !stop_;
        },
        stop);
    {
      std::lock_guard lock(mutex_);
      linked_ = welcomed_ = false;
    }
    if (!ended.ok() && ended.error().slug == "agent.protocol") {
      // An older agent finishes what it has: it asks again, rarely, in case the server changes back.
      os::Log(os::Level::kError, ended.error().message, {});
      backoff = seconds(30);
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, backoff, [this] { return stop_; });
    backoff = std::min(milliseconds(1000), backoff * 2);
  }
}

// --- what the core wants
void Agent::Do(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (auto* keep = std::get_if<Keep>(&action)) {
      const AttemptKey key = keep->assign.key;
      AttemptFolder folder(settings_.home, key);
      if (auto kept = folder.Keep(keep->assign); !kept.ok()) {
        // Not kept, so not accepted: the server says it again at the next hello, when there may be room.
        os::Log(os::Level::kError, "an assignment could not be kept", {{"attempt", key.Name()}, {"error", kept.error().message}});
        continue;
      }
      works_[key].assign = keep->assign;
      Do(core_.OnKept(key));
      Dirty();
    } else if (auto* prepare = std::get_if<Prepare>(&action)) {
      AttemptKey key = prepare->key;
      Post([this, key] { PrepareJob(key); });
    } else if (auto* kill = std::get_if<Kill>(&action)) {
      AttemptFolder folder(settings_.home, kill->key);
      folder.NoteStop();
      if (auto supervisor = folder.Supervisor(); supervisor && os::IsAlive(*supervisor)) os::SendSignal(supervisor->pid, SIGTERM);
    } else if (auto* collect = std::get_if<Collect>(&action)) {
      AttemptKey key = collect->key;
      auto it = works_.find(key);
      if (it == works_.end()) continue;
      it->second.collecting = true;
      AttemptFolder folder(settings_.home, key);
      bool nothing = !it->second.assign.spec.collect_outputs || !os::Exists(folder.Path("work/outputs"));
      if (auto staged = os::ListFolder(folder.Path("artifacts")); nothing && staged.ok()) nothing = staged->empty();
      if (nothing && (it->second.assign.spec.outputs.empty() || !it->second.launched || collect->stopped))
        it->second.outputs_done = true;
      else if (!it->second.syncing) {
        it->second.syncing = true;
        Post([this, key] { SyncJob(key, true); });
      }
      Dirty();
    } else if (auto* remove = std::get_if<Remove>(&action)) {
      AttemptKey key = remove->key;
      std::string snapshot;
      CopyMark copy;
      bool ended = false;  // the script's own end was seen: nothing of it lives
      if (auto it = works_.find(key); it != works_.end()) {
        if (it->second.watch >= 0) {
          watch_.Remove(it->second.watch);
          watched_.erase(it->second.watch);
        }
        snapshot = it->second.assign.spec.snapshot;
        if (it->second.facts) copy = it->second.facts->copy;
        ended = it->second.collecting && it->second.launched;
        works_.erase(it);
      }
      Post([this, key, ended, snapshot, copy] {
        AttemptFolder folder(settings_.home, key);
        if (ended) preparer_.GiveBack(snapshot, folder.Path("work"), copy);
        if (!ended) folder.KillAll();
        Stager::Unstage(folder);
        os::Cgroup::Discard(key.Name());
        preparer_.Release(key);
        // Out of the way now; emptied when nothing else is to do.
        std::string trash = StrCat(settings_.home, "/trash/", key.Name(), ".", session_, ".", ++trashed_);
        if (!os::Rename(folder.path(), trash).ok()) (void)os::RemoveAll(folder.path());
        Tidy();
      });
    }
  }
}

// Empties the trash while nothing runs; a full trash does not wait for that.
void Agent::Tidy() {
  auto busy = [this] {
    std::lock_guard lock(mutex_);
    return !works_.empty() || stop_;
  };
  if (busy() && trashed_ - emptied_ < 5000) return;
  std::unique_lock tidying(tidy_mutex_, std::try_to_lock);
  if (!tidying.owns_lock()) return;
  for (const std::string& spare : preparer_.TakeOldSpares(static_cast<size_t>(settings_.slots))) (void)os::RemoveAll(spare);
  auto entries = os::ListFolder(os::JoinPath(settings_.home, "trash"));
  if (!entries.ok()) return;
  for (const os::DirEntry& entry : *entries) {
    if (busy() && trashed_ - emptied_ < 5000) return;
    (void)os::RemoveAll(StrCat(settings_.home, "/trash/", entry.name));
    ++emptied_;
  }
  if (!busy()) preparer_.DropOld();
}

void Agent::PrepareJob(AttemptKey key) {
  model::Assign assign;
  {
    std::lock_guard lock(mutex_);
    auto it = works_.find(key);
    if (it == works_.end()) return;
    assign = it->second.assign;
  }
  auto stopping = [&] {
    std::lock_guard lock(mutex_);
    return stop_ || !core_.Holds(key) || core_.Stopping(key);
  };
  auto building = [&](const Preparation& so_far) {
    std::lock_guard lock(mutex_);
    auto it = works_.find(key);
    if (it == works_.end()) return;
    it->second.building = true;
    it->second.facts = so_far;
    ++it->second.facts_told;
    Dirty();
  };
  auto wait = [&](milliseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [&] { return stop_ || !core_.Holds(key) || core_.Stopping(key); });
  };
  Preparation made = preparer_.Prepare(assign, {stopping, building, wait});
  std::lock_guard lock(mutex_);
  auto it = works_.find(key);
  AttemptFolder folder(settings_.home, key);
  if (it == works_.end()) {
    // Forgotten while it was prepared.
    folder.KillAll();
    (void)os::RemoveAll(folder.path());
    return;
  }
  // This agent ends, and the attempt with it nowhere: the next one prepares it.
  if (stop_ && made.failed) return;
  it->second.facts = std::move(made);
  ++it->second.facts_told;
  if (it->second.facts->failed) {
    folder.NoteFailed(*it->second.facts->failed);
  } else {
    it->second.launched = true;
    it->second.supervisor = folder.Supervisor();
    Do(core_.OnStarted(key));
    BeginWatching(it->second);
  }
  Dirty();
}

void Agent::SyncJob(AttemptKey key, bool final) {
  CollectedBefore before;
  bool outputs = true;
  {
    std::lock_guard lock(mutex_);
    auto it = works_.find(key);
    if (it == works_.end()) return;
    before = it->second.before;
    outputs = it->second.assign.spec.collect_outputs;
  }
  AttemptFolder folder(settings_.home, key);
  milliseconds backoff(50);
  for (;;) {
    http::Client client(Server());
    auto collected = CollectOutputs(folder, transfer::LinkOver(client, "/api/v1/agent/blobs"), before, !final, outputs);
    std::unique_lock lock(mutex_);
    auto it = works_.find(key);
    if (stop_ || it == works_.end()) return;
    if (collected.ok()) {
      Work& work = it->second;
      work.before = std::move(before);
      for (Collected& file : *collected) work.artifacts.push_back(std::move(file));
      if (final || !work.collecting) {
        if (final) {
          lock.unlock();
          UploadOutputs(key);
          lock.lock();
          if (stop_ || !works_.count(key)) return;
        }
        work.syncing = false;
        if (final) work.outputs_done = true;
        Dirty();
        return;
      }
      // The script ended meanwhile: once more, for good.
      before = work.before;
      final = true;
      continue;
    }
    if (!final) {
      it->second.syncing = false;
      return;
    }
    // The server is away or full. Nothing is given up: the files are here.
    changed_.wait_for(lock, backoff, [this] { return stop_; });
    backoff = std::min(milliseconds(2000), backoff * 2);
  }
}

void Agent::UploadOutputs(const AttemptKey& key) {
  model::Assign assign;
  {
    std::lock_guard lock(mutex_);
    auto it = works_.find(key);
    if (it == works_.end() || it->second.assign.spec.outputs.empty() || !it->second.launched) return;
    assign = it->second.assign;
  }
  // Somebody who cancels does not wait for it.
  auto ends = [&] { return stop_ || !core_.Holds(key) || core_.Stopping(key); };
  StageWatch watch;
  watch.stopping = [&] {
    std::lock_guard lock(mutex_);
    return ends();
  };
  watch.progress = [&] {
    std::lock_guard lock(mutex_);
    Dirty();
  };
  watch.wait = [&](milliseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, ends);
  };
  auto uploaded = preparer_.Upload(assign, watch);
  std::lock_guard lock(mutex_);
  auto it = works_.find(key);
  if (it == works_.end() || stop_) return;
  if (!uploaded.ok()) {
    if (uploaded.error().code != Code::kCanceled) it->second.problem = uploaded.error().message;
    return;
  }
  if (!it->second.facts) it->second.facts.emplace();
  for (model::DataUse& use : *uploaded) it->second.facts->data.push_back(std::move(use));
  ++it->second.facts_told;
}

// --- watching
void Agent::BeginWatching(Work& work) {
  AttemptFolder folder(settings_.home, work.assign.key);
  work.watch = watch_.Add(folder.path());
  if (work.watch >= 0) watched_[work.watch] = work.assign.key;
  work.next_sync = Steady::now() + seconds(10);
  // It may have ended before the watch began.
  if (auto exit = folder.ReadExit()) Do(core_.OnExited(work.assign.key, *exit));
  waker_.Wake();
}

void Agent::WatchLoop(std::stop_token stop) {
  auto next_check = Steady::now() + seconds(1);
  while (!stop.stop_requested()) {
    std::vector<os::PollItem> items = {{watch_.fd()}, {waker_.fd()}};
    os::Poll(items, std::max(milliseconds(0), std::chrono::ceil<milliseconds>(next_check - Steady::now())));
    waker_.Clear();
    std::lock_guard lock(mutex_);
    if (stop_) return;
    bool any = false;
    for (const os::FolderWatch::Change& change : watch_.Take()) {
      if (change.id != -1 && change.id == builds_watch_) {
        any |= change.name.ends_with(".log");
        continue;
      }
      // What the agent writes there itself is no news.
      if (change.id != -1 && change.name != "std_log.txt" && change.name != "spool" && change.name != "exit.json") continue;
      any = true;
      auto it = watched_.find(change.id);
      if (it == watched_.end() || change.name != "exit.json") continue;
      AttemptKey key = it->second;
      if (auto exit = AttemptFolder(settings_.home, key).ReadExit()) Do(core_.OnExited(key, *exit));
    }
    if (any) Dirty();
    if (Steady::now() >= next_check) {
      next_check = Steady::now() + seconds(1);
      CheckSupervisors();
    }
  }
}

// Once a second: what no event tells.
void Agent::CheckSupervisors() {
  bool any = false;
  for (auto& [key, work] : works_) {
    if (!work.launched || work.collecting) continue;
    any = true;
    AttemptFolder folder(settings_.home, key);
    if (!work.supervisor) work.supervisor = folder.Supervisor();
    if (!work.supervisor || !os::IsAlive(*work.supervisor)) {
      auto exit = folder.ReadExit();
      if (!exit) {
        // Killed with nobody left to say how the script ended.
        folder.KillAll();
        exit = model::Exit{0, SIGKILL, false, false, "the supervisor of the script was killed"};
        (void)os::WriteFileAtomic(folder.Path("exit.json"), model::ToJson(*exit).Dump(), 0644, false);
      }
      Do(core_.OnExited(key, *exit));
      continue;
    }
    if (!work.syncing && Steady::now() >= work.next_sync) {
      work.next_sync = Steady::now() + seconds(30);
      work.syncing = true;
      AttemptKey k = key;
      Post([this, k] { SyncJob(k, false); });
    }
  }
  if (any) Dirty();
}

}  // namespace ferry::agent
