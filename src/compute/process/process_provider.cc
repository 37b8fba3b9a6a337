#include "compute/process/process_provider.h"

#include "base/json.h"
#include "base/text.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::compute {
namespace {

bool Runs(const std::string& folder) {
  auto text = os::ReadFile(os::JoinPath(folder, "agent.json"), 4096);
  auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  if (!json.ok()) return false;
  return os::IsAlive({static_cast<int>(json->GetInt("pid")), static_cast<uint64_t>(json->GetInt("started"))});
}

}  // namespace

Result<void> ProcessProvider::Create(const std::string& node, const CallContext&) {
  const std::string folder = os::JoinPath(settings_.folder, node);
  if (Runs(folder)) return {};
  TRY_VOID(os::MakeFolders(folder, 0700));
  TRY_VOID(os::WriteFileAtomic(os::JoinPath(folder, "token"), settings_.token(node), 0600, false));
  TRY(os::Fd log, os::Open(os::JoinPath(folder, "agent.log"), os::OpenMode::kAppend, 0600));
  os::SpawnOptions options;
  options.argv = {settings_.program, "run", "--home",   folder,           "--url-file", settings_.url_file,     "--token-file", os::JoinPath(folder, "token"),
                  "--node",          node,  "--target", settings_.target, "--slots",    StrCat(settings_.slots)};
  options.argv.insert(options.argv.end(), settings_.options.begin(), settings_.options.end());
  options.stdout_fd = options.stderr_fd = log.get();
  options.new_session = true;
  TRY(int pid, os::Spawn(options));
  std::lock_guard lock(mutex_);
  if (auto [it, fresh] = children_.try_emplace(node, pid); !fresh) {
    (void)os::Wait(it->second, std::chrono::milliseconds(0));
    it->second = pid;
  }
  return {};
}

Result<void> ProcessProvider::Destroy(const std::string& node, const CallContext& call) {
  const std::string folder = os::JoinPath(settings_.folder, node);
  if (!os::Exists(folder)) return {};
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(call.deadline - std::chrono::steady_clock::now());
  TRY(os::Ran ran, os::RunProgram({settings_.program, "end", "--home", folder}, std::max(left, std::chrono::milliseconds(1000))));
  if (ran.status != 0) return MakeError(Code::kInternal, "node.not_ended", StrCat("node '", node, "' could not be ended: ", Trim(ran.errors)));
  {
    std::lock_guard lock(mutex_);
    if (auto it = children_.find(node); it != children_.end()) {
      (void)os::Wait(it->second, std::chrono::milliseconds(1000));
      children_.erase(it);
    }
  }
  return os::RemoveAll(folder);
}

Result<std::vector<std::string>> ProcessProvider::List(const CallContext&) {
  std::vector<std::string> nodes;
  if (!os::Exists(settings_.folder)) return nodes;
  TRY(auto entries, os::ListFolder(settings_.folder));
  for (const os::DirEntry& entry : entries)
    if (entry.name.starts_with(settings_.target + "-")) nodes.push_back(entry.name);
  return nodes;
}

}  // namespace ferry::compute
