#include "agent/prepare.h"

#include <algorithm>
#include <chrono>

#include "agent/archive.h"
#include "agent/supervisor.h"
#include "base/hash.h"
#include "base/text.h"
#include "environment/choose.h"
#include "environment/conda/conda_builder.h"
#include "environment/existing/inspect.h"
#include "environment/image/builder.h"
#include "environment/image/run.h"
#include "environment/interpreter.h"
#include "environment/venv/venv_builder.h"
#include "os/file.h"
#include "os/log.h"
#include "os/process.h"
#include "os/program.h"
#include "snapshot/snapshot.h"
#include "transfer/fetch.h"
#include "transfer/upload.h"

namespace ferry::agent {

using model::EndReason;
using model::PrepareFailed;

namespace {

// A working copy this large is kept for the next run of its snapshot.
constexpr size_t kSpareFiles = 200;
constexpr uint64_t kSpareBytes = 16u << 20;
constexpr size_t kMostSpares = 32;  // while the node is never idle

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

Preparer::Preparer(Settings settings)
    : settings_(std::move(settings)),
      stager_(settings_.home, settings_.server),
      venv_(environment::MakeVenvBuilder(settings_.environment)),
      conda_(environment::MakeCondaBuilder(settings_.environment)),
      image_(std::make_unique<environment::ImageBuilder>(settings_.environment)),
      environments_({settings_.home, settings_.environment_bytes, settings_.environment_age, [this](const environment::Job& job) { return Build(job); },
                     [this](const std::string& key, const environment::Job& job) { return Fetch(key, job); },
                     [this](const std::string& key, const environment::Ready& ready) {
                       if (ready.image.empty()) return;
                       if (auto engine = environment::FindEngine(settings_.environment); engine.ok())
                         (void)environment::RemoveImage(*engine, environment::ImageName(key));
                     },
                     [this](const std::string& key, const environment::Ready& ready, Duration took) { Publish(key, ready, took); }}) {}

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

Result<void> Preparer::WorkingCopy(const std::string& id, const std::string& folder, CopyMark& mark) {
  if (id.empty()) return os::MakeFolders(folder);
  if (!TakeSpare(id, folder)) {
    TRY(std::string cached, CachedCopy(id));
    TRY_VOID(snapshot::CopyTree(cached, folder));
  }
  // Whatever is written to the copy from now on is not older than this file.
  std::string file = folder + ".made";
  TRY_VOID(os::WriteFile(file, ""));
  TRY(os::Stat made, os::StatPath(file));
  TRY(os::Stat root, os::StatPath(folder, false));
  mark = {made.ctime_ns, root.inode, Now(), std::chrono::steady_clock::now()};
  return {};
}

bool Preparer::TakeSpare(const std::string& id, const std::string& folder) {
  std::lock_guard lock(spare_mutex_);
  auto it = std::find_if(spares_.begin(), spares_.end(), [&](const auto& spare) { return spare.first == id; });
  if (it == spares_.end()) return false;
  bool taken = os::Rename(it->second, folder).ok();
  spares_.erase(it);
  return taken;
}

void Preparer::GiveBack(const std::string& id, const std::string& folder, const CopyMark& mark) {
  std::string cached = StrCat(settings_.home, "/snapshots/", id);
  if (id.empty() || mark.ctime_ns == 0 || !IsLarge(cached)) return;
  // A clock that was set back would make what was written look older than the copy.
  auto by_clock = std::chrono::microseconds(Now() - mark.real),
       by_steady = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - mark.steady);
  if (by_clock < by_steady - by_steady / 1000 - std::chrono::milliseconds(2)) return;
  // Nor may another folder stand in its place.
  if (auto root = os::StatPath(folder, false); !root.ok() || root->inode != mark.inode) return;
  if (auto recycled = snapshot::Recycle(cached, folder, mark.ctime_ns); !recycled.ok()) return;
  std::string oldest;
  {
    std::lock_guard lock(spare_mutex_);
    std::string spare = StrCat(settings_.home, "/spares/", ++spare_count_);
    (void)os::MakeFolders(os::JoinPath(settings_.home, "spares"));
    if (!os::Rename(folder, spare).ok()) return;
    spares_.insert(spares_.begin(), {id, spare});
    if (spares_.size() > kMostSpares) {
      oldest = spares_.back().second;
      spares_.pop_back();
    }
  }
  if (!oldest.empty()) (void)os::RemoveAll(oldest);
}

std::vector<std::string> Preparer::TakeOldSpares(size_t kept) {
  std::lock_guard lock(spare_mutex_);
  std::vector<std::string> old;
  // Of the snapshot that was used last only.
  for (size_t i = 0; i < spares_.size();) {
    if (i < kept && spares_[i].first == spares_[0].first) {
      ++i;
      continue;
    }
    old.push_back(spares_[i].second);
    spares_.erase(spares_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return old;
}

bool Preparer::IsLarge(const std::string& cached) {
  std::lock_guard lock(spare_mutex_);
  if (auto it = large_.find(cached); it != large_.end()) return it->second;
  size_t files = 0;
  uint64_t bytes = 0;
  std::vector<std::string> todo = {cached};
  while (!todo.empty() && files < kSpareFiles && bytes < kSpareBytes) {
    std::string folder = todo.back();
    todo.pop_back();
    auto entries = os::ListFolder(folder);
    if (!entries.ok()) return false;
    for (const os::DirEntry& entry : *entries) {
      std::string path = os::JoinPath(folder, entry.name);
      if (entry.type == os::FileType::kFolder) todo.push_back(path);
      if (entry.type != os::FileType::kFile) continue;
      ++files;
      if (auto stat = os::StatPath(path, false); stat.ok()) bytes += stat->size;
    }
  }
  if (large_.size() > 1000) large_.clear();
  return large_[cached] = files >= kSpareFiles || bytes >= kSpareBytes;
}

void Preparer::DropOld() {
  constexpr size_t kKept = 64;
  (void)environments_.Prune(false);
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
  if (auto known = interpreters_.find(key); known != interpreters_.end() && os::Exists(known->second.path)) {
    TRY(known->second.lock, environment::Inspect(known->second.path, settings_.environment.cache));
    return known->second;
  }
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
  Interpreter interpreter{*found, "", how, {}};
  // A version manager's shim is asked once what it stands for. A virtual environment's python must be called by its own name, so only what is a
  // script is replaced.
  if (auto head = os::Open(*found, os::OpenMode::kRead); head.ok())
    if (auto bytes = os::ReadAt(*head, 0, 2); bytes.ok() && *bytes == "#!") {
      auto said = os::OutputOf({*found, "-c", "import sys; print(sys.executable)"}, std::chrono::seconds(30));
      if (!said.ok()) return MakeError(Code::kInvalid, "interpreter.broken", StrCat("'", *found, "' is no working Python: ", said.error().message));
      interpreter.path = std::string(Trim(*said));
    }
  TRY(interpreter.lock, environment::Inspect(interpreter.path, settings_.environment.cache));
  interpreter.version = interpreter.lock.python;
  interpreters_[key] = interpreter;
  return interpreter;
}

std::map<std::string, std::string> Preparer::EnvironmentFor(const model::Assign& assign, const AttemptFolder& folder, const environment::Ready& ready) const {
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
  env["FERRY_URL"] = url;
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
  for (const auto& [name, value] : ready.variables) env[name] = value;
  if (!ready.path.empty()) env["PATH"] = StrCat(Join(ready.path, ":"), env["PATH"].empty() ? "" : ":", env["PATH"]);
  if (assign.spec.needs)
    for (const auto& [name, value] : assign.spec.needs->variables) env[name] = value;
  for (const auto& [name, value] : assign.spec.environment) env[name] = value;
  return env;
}

Preparation Preparer::Prepare(const model::Assign& assign, const Watch& watch) {
  Preparation made;
  auto fail = [&](const Error& error, EndReason reason = EndReason::kPreparationFailed) -> Preparation& {
    if (error.code == Code::kExhausted) reason = EndReason::kDiskFull;
    if (error.code == Code::kCanceled) reason = EndReason::kCanceled;
    made.failed = PrepareFailed{reason, error.message};
    return made;
  };
  auto begin = [&](const char* name) { made.clocks.push_back({name, Now(), {}}); };
  auto end = [&] { made.clocks.back().end = Now(); };
  const Error stopped = MakeError(Code::kCanceled, "prepare.stopped", "it was stopped while it was prepared");
  AttemptFolder folder(settings_.home, assign.key);
  const model::RunSpec& spec = assign.spec;
  std::string work = folder.Path("work");
  // What an earlier agent began to prepare.
  if (os::Exists(work)) (void)os::RemoveAll(work);
  begin("snapshot");
  if (auto copied = WorkingCopy(spec.snapshot, work, made.copy); !copied.ok()) return fail(copied.error());
  end();
  if (watch.stopping()) return fail(stopped);
  if (!spec.script.empty()) {
    auto stat = os::StatPath(os::JoinPath(work, spec.script));
    if (!stat.ok() || stat->type != os::FileType::kFile)
      return fail(MakeError(Code::kNotFound, "script.not_found", StrCat("script '", spec.script, "' is not in the snapshot")));
  }

  Place place;
  bool image = spec.needs && spec.needs->docker.enabled;
  if (!spec.script.empty() || spec.needs) {
    begin(image ? "image" : "environment");
    if (auto found = FindEnvironment(assign, watch, place, made); !found.ok()) return fail(found.error());
    end();
    made.environment.seconds = static_cast<double>((made.clocks.back().end - made.clocks.back().start).count()) / 1e6;
  }
  if (watch.stopping()) return fail(stopped);

  Staged staged;
  if (!spec.data.empty() || !spec.outputs.empty()) {
    begin("data");
    auto done = stager_.Stage(assign, {watch.stopping, [&] { watch.building(made); }, watch.wait});
    if (!done.ok()) return fail(done.error());
    staged = std::move(*done);
    made.data = staged.uses;
    end();
  }

  begin("start");
  Launch launch;
  launch.name = assign.key.Name();
  std::map<std::string, std::string> environment = EnvironmentFor(assign, folder, place.ready);
  for (const auto& [name, value] : spec.environment) environment[name] = model::SubstituteData(value, staged.values);
  for (const auto& [name, value] : staged.variables) environment[name] = value;
  launch.folder = work;
  launch.token = assign.token;
  launch.max_duration_seconds = spec.max_duration_seconds;
  launch.gpus = assign.gpus;
  launch.first_line = place.told;
  // Two definitions that differ in the interpreter alone share one image.
  bool own = image && spec.needs->user_managed && !spec.needs->interpreter.empty();
  if (!spec.script.empty()) launch.argv = {own ? spec.needs->interpreter : place.ready.interpreter, spec.script};
  for (const std::string& word : spec.script.empty() ? spec.command : spec.arguments)
    launch.argv.push_back(model::SubstituteData(ExpandVariables(word, environment), staged.values));
  // The supervisor inherits the same; only what differs travels.
  std::map<std::string, std::string> inherited = InheritedEnvironment();
  for (const auto& [name, value] : environment)
    if (auto it = inherited.find(name); it == inherited.end() || it->second != value) launch.environment[name] = value;
  if (image) {
    if (auto put = PutInContainer(assign, folder, place.ready, staged, launch); !put.ok()) return fail(put.error(), EndReason::kLaunchFailed);
  }
  if (auto launched = settings_.launch(folder.path(), launch); !launched.ok()) return fail(launched.error(), EndReason::kLaunchFailed);
  end();
  return made;
}

Result<void> Preparer::FindEnvironment(const model::Assign& assign, const Watch& watch, Place& place, Preparation& made) {
  const model::RunSpec& spec = assign.spec;
  if (spec.environment_key.empty()) {
    std::string wanted = spec.needs && !spec.needs->interpreter.empty() ? spec.needs->interpreter : spec.interpreter;
    TRY(Interpreter interpreter, FindInterpreter(wanted, EnvironmentFor(assign, AttemptFolder(settings_.home, assign.key), {})));
    place.ready.interpreter = interpreter.path;
    place.told = StrCat("ferry: Python ", interpreter.version, " at ", interpreter.path, " (", interpreter.found, ")");
    made.environment.how = "existing";
    TRY(made.environment.lock, KeepLock(interpreter.lock));
    return {};
  }
  std::string context;
  if (!spec.needs->docker.context.empty()) {
    TRY(context, CachedCopy(spec.needs->docker.context));
  }
  AttemptFolder folder(settings_.home, assign.key);
  Environments::Request request{spec.environment_key,          *spec.needs,   assign.key.Name(), folder.Path("build_log.txt"), spec.auto_prepare, context,
                                [&] { watch.building(made); }, watch.stopping};
  TRY(Environments::Use use, environments_.Get(request));
  place.ready = std::move(use.ready);
  const char* hows[] = {"found", "built", "waited", "fetched"};
  made.environment.how = hows[static_cast<size_t>(use.how)];
  made.environment.key = spec.environment_key;
  TRY(made.environment.lock, KeepLock(place.ready.lock));
  std::string name = spec.needs->name.empty() ? spec.environment_key.substr(0, 12)
                                              : StrCat(spec.needs->name, spec.needs->version.empty() ? "" : StrCat(":", spec.needs->version));
  place.told = StrCat("ferry: ", place.ready.lock.python.empty() ? "" : StrCat("Python ", place.ready.lock.python, " in "), "the environment ", name, " (",
                      place.ready.lock.kind, ", ", made.environment.how, ")");
  if (!spec.environment_note.empty()) place.told += StrCat("\nferry: ", spec.environment_note);
  for (const std::string& note : place.ready.lock.notes) place.told += StrCat("\nferry: ", note);
  return {};
}

environment::Builder& Preparer::BuilderOf(std::string_view kind) { return kind == "image" ? *image_ : kind == "conda" ? *conda_ : *venv_; }

Result<environment::Ready> Preparer::Build(const environment::Job& job) {
  if (job.definition.docker.enabled) return image_->Build(job);
  std::vector<std::string> pythons;
  for (const environment::Interpreter& python : environment::FindInterpreters(settings_.environment)) pythons.push_back(python.version);
  environment::Choice choice = environment::Choose(job.definition, pythons);
  job.log(StrCat("ferry: ", choice.why));
  return (choice.kind == environment::Choice::Kind::kConda ? *conda_ : *venv_).Build(job);
}

Result<environment::Ready> Preparer::Fetch(const std::string& key, const environment::Job& job) {
  http::Client client(settings_.server());
  http::Call ask;
  ask.path = StrCat("/api/v1/agent/environments/", key);
  TRY(http::Reply reply, client.Do(ask));
  if (reply.status != 200) return http::ErrorFromReply(reply);
  TRY(Json record, ParseJson(reply.body, "the server's answer"));
  std::string archive = record.GetString("archive");
  if (archive.empty()) return MakeError(Code::kNotFound, "environment.no_archive", "the server does not have it as it was built");
  job.log(StrCat("ferry: fetching it as it was built on ", record.GetString("node", "another node"), ", ",
                 FormatBytes(static_cast<uint64_t>(record.GetInt("size")))));
  ArchiveReader reader(job.folder);
  http::Call get;
  get.path = StrCat("/api/v1/agent/blobs/", archive);
  get.body_sink = [&](std::string_view bytes) -> Result<void> {
    if (job.stopping()) return MakeError(Code::kCanceled, "environment.stopped", "it was stopped while its environment was fetched");
    return reader.Write(bytes);
  };
  TRY(http::Reply got, client.Do(get));
  if (got.status != 200) return http::ErrorFromReply(got);
  TRY(environment::Ready ready, reader.Finish());
  TRY_VOID(BuilderOf(ready.lock.kind).Relocate(ready, reader.before()));
  return ready;
}

void Preparer::Publish(const std::string& key, const environment::Ready& ready, Duration took) {
  std::string file = StrCat(settings_.environment.cache, "/", key, ".archive");
  auto publish = [&]() -> Result<void> {
    http::Client client(settings_.server());
    Json note = Json::MakeObject({{"lock", model::ToJson(ready.lock)}, {"seconds", static_cast<double>(took.count()) / 1e6}, {"path", ready.folder}});
    if (ready.image.empty()) {
      os::YieldToOthers();
      TRY_VOID(os::MakeFolders(settings_.environment.cache));
      TRY(Digest digest, WriteArchive(ready, file));
      TRY(os::Stat stat, os::StatPath(file));
      transfer::Link link = transfer::LinkOver(client, "/api/v1/agent/blobs");
      TRY_VOID(transfer::Upload(link, {{digest, stat.size, file, "environment"}}, {}));
      note.Set("archive", digest.Hex());
    }
    http::Call call;
    call.method = "POST";
    call.path = StrCat("/api/v1/agent/environments/", key, "/build");
    call.body = note.Dump();
    TRY(http::Reply reply, client.Do(call));
    return reply.status < 300 ? Result<void>() : Result<void>(http::ErrorFromReply(reply));
  };
  if (auto published = publish(); !published.ok())
    os::Log(os::Level::kWarning, "an environment could not be given to the server; other nodes build it themselves", {{"error", published.error().message}});
  (void)os::RemoveFile(file);
}

Result<void> Preparer::PutInContainer(const model::Assign& assign, const AttemptFolder& folder, const environment::Ready& ready, const Staged& staged,
                                      Launch& launch) const {
  environment::RunPlan plan;
  TRY(plan.engine, environment::FindEngine(settings_.environment));
  plan.name = environment::ContainerName(launch.name);
  plan.work = launch.folder;
  plan.argv = std::move(launch.argv);
  plan.variables = std::move(launch.environment);
  // The node's PATH means nothing inside.
  if (!assign.spec.environment.count("PATH") && !assign.spec.needs->variables.count("PATH")) plan.variables.erase("PATH");
  plan.later = {"FERRY_RUN_SOCKET"};
  plan.folders = {folder.Path("artifacts")};
  TRY_VOID(os::MakeFolders(plan.folders[0]));
  for (const std::string& below : assign.spec.watch) plan.collected.push_back(os::JoinPath(plan.work, below));
  plan.collected.push_back(os::JoinPath(plan.work, "outputs"));
  plan.collected.insert(plan.collected.end(), staged.collected.begin(), staged.collected.end());
  plan.folders.insert(plan.folders.end(), staged.folders.begin(), staged.folders.end());
  if (!assign.spec.needs->docker.shared_volumes)
    for (const std::string& collected : plan.collected) TRY_VOID(os::MakeFolders(collected));
  plan.sdk = settings_.sdk;
  plan.gpus = assign.gpus;
  plan.uid = os::UserId();
  plan.gid = os::GroupId();
  TRY(environment::ContainerStart start, environment::ContainerCommand(ready, assign.spec.needs->docker, plan));
  launch.argv = std::move(start.argv);
  launch.environment = std::move(start.environment);
  launch.end_container = environment::EndCommand(plan.engine, plan.name);
  return {};
}

Result<std::string> Preparer::KeepLock(const model::Lock& lock) {
  std::string text = model::ToJson(lock).Dump();
  std::lock_guard guard(lock_mutex_);
  if (auto it = kept_locks_.find(text); it != kept_locks_.end()) return it->second;
  Digest digest = HashBytes(text);
  http::Client client(settings_.server());
  transfer::UploadOptions options;
  options.last = &text;
  TRY_VOID(transfer::Upload(transfer::LinkOver(client, "/api/v1/agent/blobs"), {}, options));
  if (kept_locks_.size() >= 256) kept_locks_.clear();
  return kept_locks_[std::move(text)] = digest.Hex();
}

}  // namespace ferry::agent
