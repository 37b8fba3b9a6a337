#include "agent/supervisor.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <list>
#include <mutex>
#include <thread>

#include "agent/sampler.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/time.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/poll.h"
#include "os/process.h"
#include "os/socket.h"

namespace ferry::agent {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

std::map<std::string, std::string> InheritedEnvironment() {
  std::map<std::string, std::string> out = os::Environment();
  std::erase_if(out, [](const auto& item) { return item.first.compare(0, 6, "FERRY_") == 0; });
  return out;
}

bool DiedOfMemory(int signal, bool killed, const MemoryKills& kills) {
  return signal == SIGKILL && !killed && (kills.group ? *kills.group > 0 : kills.after > kills.before);
}

Json ToJson(const Launch& launch) {
  Json gpus = Json::MakeArray();
  for (int gpu : launch.gpus) gpus.Push(gpu);
  return Json::MakeObject({{"name", launch.name},
                           {"argv", launch.argv},
                           {"environment", launch.environment},
                           {"folder", launch.folder},
                           {"token", launch.token},
                           {"end_container", launch.end_container},
                           {"first_line", launch.first_line},
                           {"max_duration_seconds", launch.max_duration_seconds},
                           {"stop_grace_seconds", launch.stop_grace_seconds},
                           {"sample_seconds", launch.sample_seconds},
                           {"gpus", std::move(gpus)}});
}

Launch LaunchFromJson(const Json& json) {
  Launch launch;
  launch.name = json.GetString("name");
  launch.argv = json.GetStrings("argv");
  launch.environment = json.GetStringMap("environment");
  launch.folder = json.GetString("folder");
  launch.token = json.GetString("token");
  launch.end_container = json.GetStrings("end_container");
  launch.first_line = json.GetString("first_line");
  launch.max_duration_seconds = json.GetInt("max_duration_seconds");
  launch.stop_grace_seconds = json.GetInt("stop_grace_seconds", 10);
  launch.sample_seconds = json.GetInt("sample_seconds", 10);
  if (const Json* gpus = json.Find("gpus"); gpus && gpus->is_array())
    for (const Json& gpu : gpus->as_array())
      if (gpu.is_int()) launch.gpus.push_back(static_cast<int>(gpu.as_int()));
  return launch;
}

namespace {

constexpr size_t kMaxLine = 4u << 20;
constexpr size_t kMaxGreeting = 4096;
constexpr size_t kMaxClients = 512;

// What one read of a connection brought: records for the spool, and their senders' counts before them.
struct Batch {
  struct Taken {
    size_t end = 0;     // of the record, in `text`
    size_t answer = 0;  // where its answer begins
    std::string sender;
    int64_t before = 0;
  };
  std::string text;
  std::vector<Taken> taken;
};

// One connection of the script: "FERRY1 token", then a record a line, each answered by a line.
struct Client {
  os::Fd fd;
  std::string in;
  std::string out;
  bool greeted = false;
  bool closing = false;
};

class Supervisor {
 public:
  Supervisor(std::string folder, Launch launch) : folder_(std::move(folder)), launch_(std::move(launch)) {}

  Result<void> Start() {
    TRY(log_, os::Open(Path("std_log.txt"), os::OpenMode::kAppend));
    TRY(listener_, os::ListenTcp("127.0.0.1", 0));
    if (!launch_.first_line.empty()) TRY_VOID(os::WriteAll(log_, launch_.first_line + "\n"));
    os::BecomeSubreaper();
    os::SpawnOptions options;
    options.argv = launch_.argv;
    options.environment = InheritedEnvironment();
    for (const auto& [name, value] : launch_.environment) (*options.environment)[name] = value;
    (*options.environment)["FERRY_RUN_SOCKET"] = StrCat("127.0.0.1:", os::LocalPort(listener_));
    options.folder = launch_.folder;
    options.stdout_fd = options.stderr_fd = log_.get();
    options.new_group = true;
    options.die_with_parent = true;
    // A container gets a group from its engine.
    if (!InContainer()) group_ = os::Cgroup::Make(launch_.name);
    if (group_) options.join_fd = group_->join().get();
    // First the record, then the script: whoever finds no record may start it without fear that it runs already.
    os::ProcessId self = os::Self();
    TRY_VOID(os::WriteFile(Path("supervisor.json"), Json::MakeObject({{"pid", self.pid}, {"started", self.started}}).Dump()));
    auto script = os::Spawn(options);
    if (!script.ok()) {
      (void)os::RemoveFile(Path("supervisor.json"));
      return script.error();
    }
    script_ = *script;
    started_ = Steady::now();
    return {};
  }

  // Until the script and everything it started are gone and the record is written.
  void Run(os::Signals& signals) {
    // Beside the script's own start, which it would delay: reading the kernel's counters costs as much as a fork.
    if (!group_ || !group_->OutOfMemoryKills()) memory_kills_ = os::OutOfMemoryKills();
    Sampler sampler(launch_.sample_seconds, launch_.gpus, [this](const std::string& lines) { (void)Spool(lines); });
    while (!Over()) {
      std::vector<os::PollItem> items = {{signals.fd()}, {listener_.get()}};
      for (const Client& client : clients_) items.push_back({client.fd.get(), !client.out.empty()});
      os::Poll(items, Patience());
      while (int signal = signals.Take())
        if (signal == SIGTERM || signal == SIGINT) Stop();
      Reap();
      if (items[1].readable) AcceptAll();
      size_t i = 2;
      for (auto it = clients_.begin(); it != clients_.end() && i < items.size(); ++i) {
        bool keep = !items[i].readable || Read(*it);
        keep = keep && Flush(*it);
        it = keep ? std::next(it) : clients_.erase(it);
      }
      Clock();
    }
    // What the script sent without waiting for an answer is still in the sockets.
    for (Client& client : clients_) Read(client);
    Record();
  }

 private:
  std::string Path(std::string_view name) const { return os::JoinPath(folder_, name); }

  // The engine removes what is left of a container by itself, and nothing of the script can outlive it there.
  bool Over() const { return ended_ && (InContainer() ? !ending_ : !os::HasChildren()); }
  bool InContainer() const { return !launch_.end_container.empty(); }

  std::optional<milliseconds> Patience() const {
    auto until = [](Steady::time_point t) { return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(t - Steady::now())); };
    if (ended_ || kill_at_) return milliseconds(20);
    if (launch_.max_duration_seconds > 0) return until(started_ + std::chrono::seconds(launch_.max_duration_seconds));
    return std::nullopt;
  }

  void Reap() {
    while (auto reaped = os::ReapOne()) {
      if (reaped->first == ending_) ending_ = 0;
      if (reaped->first != script_ || ended_) continue;
      ended_ = reaped->second;
      // Stragglers get a moment, then they go.
      if (!InContainer() && os::HasChildren()) Signal(SIGTERM, milliseconds(2000));
      // Somebody killed the engine's process; the container is still there.
      if (InContainer() && ended_->signal && !ending_) EndContainer();
    }
  }

  void Stop() {
    stopped_ = true;
    Signal(SIGTERM, std::chrono::seconds(launch_.stop_grace_seconds));
  }

  void Signal(int signal, milliseconds grace) {
    // The engine's process hands it on: once.
    if (InContainer())
      os::SendSignal(script_, signal);
    else
      for (int pid : os::Descendants()) os::SendSignal(pid, signal);
    if (!kill_at_) kill_at_ = Steady::now() + grace;
  }

  void Clock() {
    auto now = Steady::now();
    if (!ended_ && !timed_out_ && !stopped_ && launch_.max_duration_seconds > 0 && now >= started_ + std::chrono::seconds(launch_.max_duration_seconds)) {
      timed_out_ = true;
      Signal(SIGTERM, std::chrono::seconds(launch_.stop_grace_seconds));
    }
    if (kill_at_ && now >= *kill_at_) {
      if (InContainer() && !killed_) {
        killed_ = true;
        EndContainer();
        return;
      }
      killed_ = true;
      if (group_) group_->Kill();
      for (int pid : os::Descendants()) os::SendSignal(pid, SIGKILL);
    }
  }

  // Everything is killed a while later, should the engine not manage.
  void EndContainer() {
    os::SpawnOptions options;
    options.argv = launch_.end_container;
    options.stdout_fd = options.stderr_fd = log_.get();
    options.die_with_parent = true;
    if (auto pid = os::Spawn(options); pid.ok()) ending_ = *pid;
    kill_at_ = Steady::now() + std::chrono::seconds(10);
  }

  void AcceptAll() {
    for (;;) {
      auto fd = os::Accept(listener_, Steady::now(), os::StopSignal());
      if (!fd.ok()) return;
      if (clients_.size() >= kMaxClients) continue;
      clients_.push_back({std::move(*fd), {}, {}, false, false});
    }
  }

  bool Read(Client& client) {
    char buffer[65536];
    for (;;) {
      os::Transfer got = os::Receive(client.fd, buffer, sizeof buffer);
      if (got.kind == os::Transfer::Kind::kBytes) {
        client.in.append(buffer, got.bytes);
        if (!Lines(client)) return false;
        if (got.bytes < sizeof buffer) return true;
        continue;
      }
      return got.kind == os::Transfer::Kind::kWait;
    }
  }

  // Takes every whole line; one write to the spool for all of them, then their answers.
  bool Lines(Client& client) {
    if (client.closing) {
      client.in.clear();
      return true;
    }
    Batch batch;
    size_t start = 0;
    for (;;) {
      size_t end = client.in.find('\n', start);
      if (end == std::string::npos) break;
      std::string_view line = std::string_view(client.in).substr(start, end - start);
      start = end + 1;
      if (!client.greeted) {
        if (line.substr(0, 7) != "FERRY1 " || !EqualConstantTime(line.substr(7), launch_.token)) {
          client.out += "error the token is wrong\n";
          client.closing = true;
          break;
        }
        client.greeted = true;
        client.out += "ok\n";
        continue;
      }
      Take(line, batch, client.out);
    }
    client.in.erase(0, start);
    // Who has not shown the token gets no memory to fill.
    if (client.in.size() > (client.greeted ? kMaxLine : kMaxGreeting) && !client.closing) {
      client.out += client.greeted ? "error a record is larger than 4 MB\n" : "error the token is wrong\n";
      client.closing = true;
    }
    if (!batch.text.empty()) {
      size_t kept = 0;
      if (auto written = Spool(batch.text, &kept); !written.ok()) Untake(batch, kept, written.error(), client);
    }
    return true;
  }

  // Appends whole lines, from this thread or the sampler's; `kept` says how much of them when it fails. Never a part of a line:
  // one that a full disk cut short would spoil the next one.
  Result<void> Spool(std::string_view lines, size_t* kept = nullptr) {
    std::lock_guard lock(spool_mutex_);
    if (!spool_) {
      TRY(spool_, os::Open(Path("spool"), os::OpenMode::kAppend, 0600));
      if (auto stat = os::StatPath(Path("spool")); stat.ok()) spooled_ = stat->size;
    }
    auto written = os::WriteAll(spool_, lines, "spool");
    size_t whole = lines.size();
    if (!written.ok()) {
      // Lines that are there already may have been read: they stay.
      auto stat = os::StatPath(Path("spool"));
      whole = stat.ok() && stat->size > spooled_ ? lines.substr(0, stat->size - spooled_).rfind('\n') + 1 : 0;
      (void)os::Truncate(spool_, spooled_ + whole);
    }
    spooled_ += whole;
    if (kept) *kept = whole;
    return written;
  }

  // What did not reach the spool is answered by an error instead of "ok", and may be sent again.
  void Untake(const Batch& batch, size_t kept, const Error& error, Client& client) {
    size_t first = 0;
    while (first < batch.taken.size() && batch.taken[first].end <= kept) ++first;
    if (first == batch.taken.size()) return;
    for (size_t i = batch.taken.size(); i-- > first;)
      if (!batch.taken[i].sender.empty()) taken_[batch.taken[i].sender] = batch.taken[i].before;
    client.out.resize(batch.taken[first].answer);
    client.out += StrCat("error ", error.message, "\n");
    client.closing = true;
  }

  void Take(std::string_view line, Batch& batch, std::string& out) {
    auto parsed = ParseJson(line, "a record");
    if (!parsed.ok() || !parsed->is_object()) {
      out += StrCat("error ", parsed.ok() ? std::string("a record must be an object") : parsed.error().message, "\n");
      return;
    }
    Batch::Taken taken;
    if (std::string id = parsed->GetString("id"); !id.empty()) {
      size_t colon = id.rfind(':');
      int64_t number = colon == std::string::npos ? 0 : ParseInt(std::string_view(id).substr(colon + 1)).value_or(0);
      int64_t& last = taken_[id.substr(0, colon)];
      if (number <= last) {
        out += "ok\n";
        return;
      }
      taken.sender = id.substr(0, colon);
      taken.before = last;
      last = number;
    }
    if (const Json* fail = parsed->Find("fail")) {
      failure_ = fail->is_object() ? fail->GetString("message", "the script called run.fail()") : "the script called run.fail()";
      if (failure_.empty()) failure_ = "the script called run.fail()";
    }
    batch.text.append(line);
    batch.text += '\n';
    taken.end = batch.text.size();
    taken.answer = out.size();
    batch.taken.push_back(std::move(taken));
    out += "ok\n";
  }

  bool Flush(Client& client) {
    while (!client.out.empty()) {
      os::Transfer sent = os::Send(client.fd, client.out);
      if (sent.kind == os::Transfer::Kind::kWait) return true;
      if (sent.kind != os::Transfer::Kind::kBytes) return false;
      client.out.erase(0, sent.bytes);
    }
    return !client.closing;
  }

  void Record() {
    model::Exit exit;
    exit.code = ended_->code;
    exit.signal = ended_->signal;
    exit.timed_out = timed_out_;
    exit.message = failure_;
    // A container tells of a kill by its status.
    const int signal = InContainer() && exit.code == 128 + SIGKILL ? SIGKILL : exit.signal;
    if (signal == SIGKILL)
      exit.out_of_memory = DiedOfMemory(signal, killed_, {group_ ? group_->OutOfMemoryKills() : std::nullopt, memory_kills_, os::OutOfMemoryKills()});
    group_.reset();
    std::string text = model::ToJson(exit).Dump();
    // A full disk must not turn an ended script into one that never ends: space may come back. A folder that is gone was forgotten.
    while (!os::WriteFileAtomic(Path("exit.json"), text, 0644, false).ok() && os::Exists(folder_)) std::this_thread::sleep_for(std::chrono::seconds(1));
  }

  std::string folder_;
  Launch launch_;
  os::Fd log_, listener_;
  std::mutex spool_mutex_;  // guards the spool and its size: the sampler writes, too
  uint64_t spooled_ = 0;
  os::Fd spool_;
  int script_ = 0;
  int ending_ = 0;  // what ends the container, while it runs
  Steady::time_point started_;
  uint64_t memory_kills_ = 0;
  std::optional<os::Cgroup> group_;
  std::optional<os::WaitStatus> ended_;
  std::optional<Steady::time_point> kill_at_;
  bool stopped_ = false, timed_out_ = false, killed_ = false;
  std::string failure_;
  std::map<std::string, int64_t> taken_;
  std::list<Client> clients_;
};

}  // namespace

int SuperviseHere(const std::string& folder, const Launch& launch, const std::function<void(const std::string&)>& answer) {
  os::Signals signals({SIGTERM, SIGINT, SIGCHLD, SIGPIPE, SIGHUP});
  Supervisor supervisor(folder, launch);
  if (auto started = supervisor.Start(); !started.ok()) {
    answer(started.error().message);
    return 1;
  }
  answer("");
  os::SilenceStandardStreams();
  supervisor.Run(signals);
  return 0;
}

}  // namespace ferry::agent
