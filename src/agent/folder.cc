#include "agent/folder.h"

#include <csignal>

#include "base/text.h"
#include "os/file.h"

namespace ferry::agent {

AttemptFolder::AttemptFolder(const std::string& home, const model::AttemptKey& key) : name_(key.Name()), path_(StrCat(home, "/attempts/", key.Name())) {}

std::string AttemptFolder::Path(std::string_view name) const { return os::JoinPath(path_, name); }

Result<void> AttemptFolder::Keep(const model::Assign& assign) const {
  TRY_VOID(os::MakeFolders(path_, 0700));
  return os::WriteFile(Path("assign.json"), model::ToJson(model::AgentMessage(assign)).Dump(), 0600);
}

void AttemptFolder::NoteFailed(const model::PrepareFailed& failure) const {
  (void)os::WriteFileAtomic(Path("failed.json"), Json::MakeObject({{"reason", model::Describe(failure.reason).name}, {"detail", failure.detail}}).Dump(), 0600,
                            false);
}

void AttemptFolder::NoteStop() const { (void)os::WriteFileAtomic(Path("stop"), "", 0600, false); }

namespace {
std::optional<Json> ReadJson(const std::string& path) {
  auto text = os::ReadFile(path, 64u << 20);
  if (!text.ok()) return std::nullopt;
  auto json = ParseJson(*text, path);
  return json.ok() ? std::optional<Json>(std::move(*json)) : std::nullopt;
}
}  // namespace

std::optional<model::Exit> AttemptFolder::ReadExit() const {
  auto json = ReadJson(Path("exit.json"));
  return json ? std::optional(model::ExitFromJson(*json)) : std::nullopt;
}

std::optional<os::ProcessId> AttemptFolder::Supervisor() const {
  auto json = ReadJson(Path("supervisor.json"));
  if (!json) return std::nullopt;
  return os::ProcessId{static_cast<int>(json->GetInt("pid")), static_cast<uint64_t>(json->GetInt("started"))};
}

void AttemptFolder::KillAll() const {
  auto supervisor = Supervisor();
  bool alive = supervisor && os::IsAlive(*supervisor);
  // Nothing was started, or everything has ended: nothing to look for.
  if (!alive && (!supervisor || os::Exists(Path("exit.json")))) return;
  // The supervisor last: while it lives, orphans stay below it.
  for (int round = 0; round < 3; ++round) {
    auto pids = os::ProcessesWith("FERRY_ATTEMPT", name_);
    for (int pid : pids) os::SendSignal(pid, SIGKILL);
    if (pids.empty()) break;
  }
  if (alive) os::SendSignal(supervisor->pid, SIGKILL);
}

std::vector<Remains> ReadRemains(const std::string& home) {
  std::vector<Remains> all;
  std::string folder = os::JoinPath(home, "attempts");
  auto entries = os::ListFolder(folder);
  if (!entries.ok()) return all;
  for (const os::DirEntry& entry : *entries) {
    std::string path = os::JoinPath(folder, entry.name);
    auto json = ReadJson(os::JoinPath(path, "assign.json"));
    auto message = json ? model::MessageFromJson(*json) : Result<model::AgentMessage>(MakeError(Code::kNotFound, "", ""));
    if (!message.ok() || !std::holds_alternative<model::Assign>(*message)) {
      (void)os::RemoveAll(path);
      continue;
    }
    Remains remains;
    remains.assign = std::get<model::Assign>(*message);
    AttemptFolder attempt(home, remains.assign.key);
    remains.launched = os::Exists(attempt.Path("supervisor.json"));
    remains.exit = attempt.ReadExit();
    remains.stop = os::Exists(attempt.Path("stop"));
    if (auto failed = ReadJson(attempt.Path("failed.json")))
      remains.failed =
          model::PrepareFailed{model::ReasonFromName(failed->GetString("reason")).value_or(model::EndReason::kPreparationFailed), failed->GetString("detail")};
    all.push_back(std::move(remains));
  }
  return all;
}

int64_t ReadGeneration(const std::string& home) {
  auto json = ReadJson(os::JoinPath(home, "node.json"));
  return json ? json->GetInt("generation") : 0;
}

Result<void> WriteGeneration(const std::string& home, int64_t generation) {
  return os::WriteFileAtomic(os::JoinPath(home, "node.json"), Json::MakeObject({{"generation", generation}}).Dump(), 0600);
}

}  // namespace ferry::agent
