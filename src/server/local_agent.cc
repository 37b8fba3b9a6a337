#include "server/local_agent.h"

#include <chrono>
#include <csignal>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "os/file.h"
#include "os/log.h"
#include "os/process.h"

namespace ferry::server {

using std::chrono::milliseconds;

LocalAgent::LocalAgent(std::string home, std::string_view program, std::string token, std::vector<std::string> options)
    : home_(std::move(home)), program_(program), token_(std::move(token)), options_(std::move(options)), thread_([this] { Run(); }) {}

LocalAgent::~LocalAgent() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Result<std::string> PutAgent(const std::string& home, std::string_view program) {
  std::string folder = os::JoinPath(home, "agent/bin");
  TRY_VOID(os::MakeFolders(folder, 0700));
  std::string file = StrCat(folder, "/ferry-agent-", HashBytes(program).Hex().substr(0, 12));
  if (!os::Exists(file)) TRY_VOID(os::WriteFileAtomic(file, program, 0755, false));
  return file;
}

Result<int> LocalAgent::Launch() {
  std::string folder = os::JoinPath(home_, "agent");
  TRY(std::string file, PutAgent(home_, program_));
  TRY_VOID(os::WriteFileAtomic(os::JoinPath(folder, "token"), token_, 0600, false));
  TRY(os::Fd log, os::Open(os::JoinPath(folder, "agent.log"), os::OpenMode::kAppend, 0600));
  os::SpawnOptions options;
  options.argv = {file,     "run",   "--home",   folder, "--url-file", os::JoinPath(home_, "server.json"), "--token-file", os::JoinPath(folder, "token"),
                  "--node", "local", "--target", "local"};
  options.argv.insert(options.argv.end(), options_.begin(), options_.end());
  options.stdout_fd = options.stderr_fd = log.get();
  options.new_session = true;
  return os::Spawn(options);
}

void LocalAgent::Run() {
  auto wait = [this](milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return stop_; });
  };
  // An agent of an earlier server goes on; it is not our child, so it is watched by its number.
  auto earlier = [this]() -> std::optional<os::ProcessId> {
    auto text = os::ReadFile(os::JoinPath(home_, "agent/agent.json"), 4096);
    auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
    if (!json.ok()) return std::nullopt;
    os::ProcessId id{static_cast<int>(json->GetInt("pid")), static_cast<uint64_t>(json->GetInt("started"))};
    return os::IsAlive(id) ? std::optional(id) : std::nullopt;
  };
  auto end = [](const os::ProcessId& id, bool child) {
    os::SendSignal(id.pid, SIGTERM);
    for (int i = 0; i < 100 && os::IsAlive(id); ++i) std::this_thread::sleep_for(milliseconds(20));
    if (os::IsAlive(id)) os::SendSignal(id.pid, SIGKILL);
    if (child) (void)os::Wait(id.pid);
  };
  milliseconds backoff(50);
  for (;;) {
    if (auto id = earlier()) {
      while (os::IsAlive(*id))
        if (wait(milliseconds(200))) return end(*id, false);
    }
    auto pid = Launch();
    if (!pid.ok()) {
      os::Log(os::Level::kError, "the local agent could not be started", {{"error", pid.error().message}});
    } else {
      auto id = os::Identify(*pid);
      auto started = std::chrono::steady_clock::now();
      while (id && os::IsAlive(*id))
        if (wait(milliseconds(200))) return end(*id, true);
      (void)os::Wait(*pid);
      if (std::chrono::steady_clock::now() - started > std::chrono::seconds(10)) backoff = milliseconds(50);
      os::Log(os::Level::kWarning, "the local agent ended and is started again", {});
    }
    if (wait(backoff)) return;
    backoff = std::min(milliseconds(5000), backoff * 2);
  }
}

}  // namespace ferry::server
