#include "agent/prepare.h"

#include <algorithm>
#include <chrono>

#include "agent/supervisor.h"
#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"
#include "os/program.h"
#include "snapshot/snapshot.h"
#include "transfer/fetch.h"

namespace ferry::agent {

using model::EndReason;
using model::PrepareFailed;

namespace {

// A snapshot this large gets a spare copy when the node is idle.
constexpr size_t kSpareFiles = 200;
constexpr uint64_t kSpareBytes = 16u << 20;

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

std::string ExpandVariables(const std::string& text, const std::map<std::string, std::string>& variables) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 >= text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      ++i;
      continue;
    }
    bool braces = text[i + 1] == '{';
    size_t start = i + 1 + braces, end = start;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    bool closed = !braces || (end < text.size() && text[end] == '}');
    auto it = variables.find(text.substr(start, end - start));
    if (end == start || !closed || it == variables.end()) {
      out += '$';
      continue;
    }
    out += it->second;
    i = end - 1 + braces;
  }
  return out;
}

Result<std::string> Preparer::CachedCopy(const std::string& id) {
  std::string cached = StrCat(settings_.home, "/snapshots/", id);
  if (os::Exists(cached)) return cached;
  std::lock_guard lock(snapshot_mutex_);
  if (os::Exists(cached)) return cached;
  auto digest = Digest::FromHex(id);
  if (!digest) return MakeError(Code::kInvalid, "snapshot.id", StrCat("'", id, "' is no snapshot"));
  http::ClientSettings server = settings_.server();
  http::Client client(server);
  transfer::Link link = transfer::LinkOver(client, "/api/v1/agent/blobs");
  link.near = server.base.find("//127.0.0.1") != std::string::npos || server.base.find("//localhost") != std::string::npos;
  TRY(snapshot::Manifest manifest, transfer::FetchManifest(link, *digest));
  std::string partial = StrCat(cached, ".partial");
  TRY_VOID(os::RemoveAll(partial));
  TRY_VOID(os::MakeFolders(partial));
  transfer::BatchFetch fetch(link, manifest);
  // One writer: a second one waits for the same connection, and takes a core from the scripts.
  TRY_VOID(snapshot::Restore(
      manifest, partial, [&](const Digest& blob, const auto& write) { return fetch.Get(blob, write); }, 1));
  TRY_VOID(os::Rename(partial, cached));
  return cached;
}

Result<void> Preparer::WorkingCopy(const std::string& id, const std::string& folder) {
  if (id.empty()) return os::MakeFolders(folder);
  // A spare is a copy that was made before; taking it is one rename.
  if (os::Rename(StrCat(settings_.home, "/spares/", id), folder).ok()) return {};
  TRY(std::string cached, CachedCopy(id));
  return snapshot::CopyTree(cached, folder);
}

void Preparer::MakeSpare(const std::string& id) {
  if (id.empty()) return;
  std::string cached = StrCat(settings_.home, "/snapshots/", id), spare = StrCat(settings_.home, "/spares/", id);
  if (os::Exists(spare) || !os::Exists(cached)) return;
  size_t files = 0;
  uint64_t bytes = 0;
  std::vector<std::string> todo = {cached};
  while (!todo.empty() && files < kSpareFiles) {
    std::string folder = todo.back();
    todo.pop_back();
    auto entries = os::ListFolder(folder);
    if (!entries.ok()) return;
    for (const os::DirEntry& entry : *entries) {
      std::string path = os::JoinPath(folder, entry.name);
      if (entry.type == os::FileType::kFolder) todo.push_back(path);
      if (entry.type != os::FileType::kFile) continue;
      ++files;
      if (auto stat = os::StatPath(path, false); stat.ok()) bytes += stat->size;
    }
  }
  if (files < kSpareFiles && bytes < kSpareBytes) return;
  if (os::FreeBytes(settings_.home) < (4ull << 30)) return;
  // One spare at a time: of the snapshot that was used last.
  if (auto others = os::ListFolder(os::JoinPath(settings_.home, "spares")); others.ok())
    for (const os::DirEntry& other : *others) (void)os::RemoveAll(StrCat(settings_.home, "/spares/", other.name));
  std::string partial = StrCat(spare, ".partial");
  (void)os::RemoveAll(partial);
  (void)os::MakeFolders(os::JoinPath(settings_.home, "spares"));
  if (snapshot::CopyTree(cached, partial, 1).ok()) (void)os::Rename(partial, spare);
}

void Preparer::DropOldSnapshots() {
  constexpr size_t kKept = 64;
  std::lock_guard lock(snapshot_mutex_);
  std::string folder = os::JoinPath(settings_.home, "snapshots");
  auto entries = os::ListFolder(folder);
  if (!entries.ok() || entries->size() <= kKept) return;
  std::vector<std::pair<int64_t, std::string>> by_age;
  for (const os::DirEntry& entry : *entries)
    if (auto stat = os::StatPath(os::JoinPath(folder, entry.name), false); stat.ok()) by_age.emplace_back(stat->ctime_ns, entry.name);
  std::sort(by_age.begin(), by_age.end());
  for (size_t i = 0; i + kKept < by_age.size(); ++i) (void)os::RemoveAll(os::JoinPath(folder, by_age[i].second));
}

Result<Interpreter> Preparer::FindInterpreter(const std::string& wanted, const std::map<std::string, std::string>& environment) {
  auto it = environment.find("PATH");
  std::string path = it == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : it->second;
  std::string name = wanted.empty() ? "python" : wanted;
  std::string key = StrCat(name, "\n", path);
  std::lock_guard lock(interpreter_mutex_);
  if (auto known = interpreters_.find(key); known != interpreters_.end() && os::Exists(known->second.path)) return known->second;
  auto found = os::FindProgram(name, path);
  std::string how = name.find('/') == std::string::npos ? StrCat("'", name, "' on the PATH") : "as given";
  if (!found && wanted.empty()) {
    found = os::FindProgram("python3", path);
    how = "'python3' on the PATH; there is no 'python'";
  }
  if (!found)
    return MakeError(Code::kNotFound, "interpreter.not_found",
                     wanted.empty() ? StrCat("there is neither 'python' nor 'python3' on the node's PATH (", path, ")")
                                    : StrCat("the interpreter '", wanted, "' is not there or cannot be executed on this node"));
  // A version manager's shim is asked once what it stands for.
  auto said = os::OutputOf({*found, "-c", "import sys; print(sys.executable); print('%d.%d.%d' % sys.version_info[:3])"}, std::chrono::seconds(30));
  if (!said.ok()) return MakeError(Code::kInvalid, "interpreter.broken", StrCat("'", *found, "' is no working Python: ", said.error().message));
  auto lines = Split(*said, '\n');
  if (lines.size() < 2 || lines[0].empty()) return MakeError(Code::kInvalid, "interpreter.broken", StrCat("'", *found, "' is no working Python"));
  Interpreter interpreter{*found, std::string(lines[1]), how};
  // A virtual environment's python must be called by its own name, so only what is a script (a shim) is replaced.
  if (auto head = os::Open(*found, os::OpenMode::kRead); head.ok())
    if (auto bytes = os::ReadAt(*head, 0, 2); bytes.ok() && *bytes == "#!") interpreter.path = std::string(lines[0]);
  interpreters_[key] = interpreter;
  return interpreter;
}

std::map<std::string, std::string> Preparer::EnvironmentFor(const model::Assign& assign, const AttemptFolder& folder) const {
  std::map<std::string, std::string> env = InheritedEnvironment();
  std::string url = settings_.server().base;
  auto scope = [&](std::string_view kind) {
    return StrCat("/subscriptions/ferry/resourceGroups/ferry/providers/Microsoft.MachineLearningServices/workspaces/", assign.workspace, kind);
  };
  env["AZUREML_RUN_ID"] = assign.key.run;
  env["AZUREML_RUN_TOKEN"] = assign.token;
  env["AZUREML_RUN_TOKEN_EXPIRY"] = StrCat(Now().micros / 1'000'000 + 30LL * 86400);
  env["AZUREML_ARM_SUBSCRIPTION"] = "ferry";
  env["AZUREML_ARM_RESOURCEGROUP"] = "ferry";
  env["AZUREML_ARM_WORKSPACE_NAME"] = assign.workspace;
  env["AZUREML_ARM_PROJECT_NAME"] = assign.experiment;
  env["AZUREML_SERVICE_ENDPOINT"] = url;
  env["AZUREML_DISCOVERY_SERVICE_ENDPOINT"] = StrCat(url, "/discovery");
  env["AZUREML_WORKSPACE_ID"] = HashBytes(StrCat("workspace/", assign.workspace)).Hex().substr(0, 32);
  env["AZUREML_EXPERIMENT_ID"] = HashBytes(StrCat(assign.workspace, "/", assign.experiment)).Hex().substr(0, 32);
  env["AZUREML_WORKSPACE_SCOPE"] = scope("");
  env["AZUREML_EXPERIMENT_SCOPE"] = scope(StrCat("/experiments/", assign.experiment));
  env["AZUREML_SCRIPT_DIRECTORY_NAME"] = assign.spec.source;
  env["PYTHONUNBUFFERED"] = "1";
  env["FERRY_ATTEMPT"] = assign.key.Name();
  env["FERRY_ARTIFACTS"] = folder.Path("artifacts");
  if (!settings_.sdk.empty()) {
    std::string& path = env["PYTHONPATH"];
    path = path.empty() ? settings_.sdk : StrCat(settings_.sdk, ":", path);
  }
  if (!assign.gpus.empty()) {
    std::string devices;
    for (int gpu : assign.gpus) devices += StrCat(devices.empty() ? "" : ",", gpu);
    env["CUDA_VISIBLE_DEVICES"] = devices;
  }
  for (const auto& [name, value] : assign.spec.environment) env[name] = value;
  return env;
}

std::optional<PrepareFailed> Preparer::Prepare(const model::Assign& assign, const std::function<bool()>& stopping) {
  auto failed = [](const Error& error, EndReason reason = EndReason::kPreparationFailed) {
    if (error.code == Code::kExhausted) reason = EndReason::kDiskFull;
    return PrepareFailed{reason, error.message};
  };
  auto stopped = [&]() -> std::optional<PrepareFailed> {
    if (stopping()) return PrepareFailed{EndReason::kCanceled, "it was stopped while it was prepared"};
    return std::nullopt;
  };
  AttemptFolder folder(settings_.home, assign.key);
  const model::RunSpec& spec = assign.spec;
  std::string work = folder.Path("work");
  // What an earlier agent began to prepare.
  if (os::Exists(work)) (void)os::RemoveAll(work);
  if (auto copied = WorkingCopy(spec.snapshot, work); !copied.ok()) return failed(copied.error());
  if (auto s = stopped()) return s;

  Launch launch;
  launch.name = assign.key.Name();
  std::map<std::string, std::string> environment = EnvironmentFor(assign, folder);
  // The supervisor inherits the same; only what differs travels.
  std::map<std::string, std::string> inherited = InheritedEnvironment();
  for (const auto& [name, value] : environment)
    if (auto it = inherited.find(name); it == inherited.end() || it->second != value) launch.environment[name] = value;
  launch.folder = work;
  launch.token = assign.token;
  launch.max_duration_seconds = spec.max_duration_seconds;
  launch.gpus = assign.gpus;
  if (!spec.script.empty()) {
    auto stat = os::StatPath(os::JoinPath(work, spec.script));
    if (!stat.ok() || stat->type != os::FileType::kFile)
      return PrepareFailed{EndReason::kPreparationFailed, StrCat("script '", spec.script, "' is not in the snapshot")};
    auto interpreter = FindInterpreter(spec.interpreter, environment);
    if (!interpreter.ok()) return failed(interpreter.error());
    launch.argv = {interpreter->path, spec.script};
    for (const std::string& argument : spec.arguments) launch.argv.push_back(ExpandVariables(argument, environment));
    launch.first_line = StrCat("ferry: Python ", interpreter->version, " at ", interpreter->path, " (", interpreter->found, ")");
  } else {
    for (const std::string& word : spec.command) launch.argv.push_back(ExpandVariables(word, environment));
  }
  if (auto s = stopped()) return s;
  if (auto launched = settings_.launch(folder.path(), launch); !launched.ok()) return PrepareFailed{EndReason::kLaunchFailed, launched.error().message};
  return std::nullopt;
}

}  // namespace ferry::agent
