#include "agent/stage.h"

#include <algorithm>

#include "agent/data_input.h"
#include "agent/data_output.h"
#include "base/text.h"
#include "os/file.h"

namespace ferry::agent {

using model::DataInput;
using model::DataMode;
using model::DataOutput;
using model::DataUse;

namespace {

constexpr int kTries = 5;  // of what lies behind the server, or on the web

std::string ParentOf(std::string_view path) {
  size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

// Does it until it works or never will: while the server is away it waits, what lies behind the server is tried a few times.
template <typename T>
Result<T> Patiently(const StageWatch& watch, DataLog& log, const std::function<Result<T>()>& work) {
  std::chrono::milliseconds backoff(100);
  int tries = 0;
  for (;;) {
    if (watch.stopping()) return StagingStopped();
    auto result = work();
    if (result.ok()) return result;
    const Error& error = result.error();
    const bool later = error.code == Code::kUnavailable || error.code == Code::kTimeout;
    // It may also be ending, or have too much to do.
    const bool away = (later && error.slug.starts_with("http.")) || error.slug == "http.unanswered" || error.slug == "server.busy";
    if (!away && (!later || ++tries >= kTries)) return result;
    log.Say(StrCat("trying again: ", error.message));
    watch.wait(backoff);
    backoff = std::min(std::chrono::milliseconds(2000), backoff * 2);
  }
}

Error Named(const Error& error, const std::string& what) {
  if (error.code == Code::kCanceled) return error;
  return MakeError(error.code, error.slug, StrCat(what, ": ", error.message), error.field);
}

// --- links outside of the attempt's folder
std::vector<std::string> ReadTexts(const std::string& file, std::string_view key) {
  auto text = os::ReadFile(file, 16u << 20);
  auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  return json.ok() ? json->GetStrings(key) : std::vector<std::string>();
}

// Makes `to` what is at `path`. Nothing of anybody else's is removed: below the working folder what the snapshot has gives way to `overwrite`, elsewhere
// only a link that an attempt which is gone has left.
Result<void> LinkAt(const std::string& home, const std::string& path, bool working, const std::string& to, bool overwrite) {
  TRY_VOID(os::MakeFolders(ParentOf(path)));
  if (auto stat = os::StatPath(path, false); stat.ok()) {
    bool ours = false;
    if (stat->type == os::FileType::kLink)
      if (auto target = os::ReadLink(path); target.ok()) ours = *target == to || (target->starts_with(home + "/attempts/") && !os::Exists(path));
    if (!ours && !(working && overwrite))
      return MakeError(Code::kConflict, "data.path_taken",
                       working ? StrCat("the snapshot has '", path, "' already; choose another path_on_compute, or set overwrite")
                               : StrCat("'", path, "' is there already on this node; choose another path_on_compute, or remove it"));
    TRY_VOID(os::RemoveAll(path));
  }
  return os::MakeLink(to, path);
}

// --- outputs
std::string OutputFolder(const AttemptFolder& folder, const std::string& name, const DataOutput& output) {
  const std::string& path = output.path_on_compute;
  if (path.empty() || path.starts_with('/')) return folder.Path(StrCat("data/", name));
  return folder.Path(StrCat("work/", path));
}

std::map<std::string, DataUse> ReadUploaded(const AttemptFolder& folder) {
  std::map<std::string, DataUse> done;
  auto text = os::ReadFile(folder.Path("uploaded.json"), 1u << 20);
  auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  if (json.ok() && json->is_object())
    for (const auto& [name, use] : json->as_object()) done[name] = model::DataUseFromJson(use);
  return done;
}

}  // namespace

Result<Staged> Stager::Stage(const model::Assign& assign, const StageWatch& watch) const {
  Staged staged;
  const model::RunSpec& spec = assign.spec;
  if (spec.data.empty() && spec.outputs.empty()) return staged;
  AttemptFolder folder(home_, assign.key);
  Unstage(folder);
  std::string data = folder.Path("data");
  TRY_VOID(os::RemoveAll(data));
  TRY_VOID(os::MakeFolders(data, 0700));
  staged.folders = {data};
  // Written before the first is made, so that none is forgotten.
  Json links = Json::MakeArray();
  for (const auto& [name, input] : spec.data)
    if (input.path_on_compute.starts_with('/')) links.Push(input.path_on_compute);
  for (const auto& [name, output] : spec.outputs)
    if (output.path_on_compute.starts_with('/')) links.Push(output.path_on_compute);
  if (!links.as_array().empty()) TRY_VOID(os::WriteFileAtomic(folder.Path("links.json"), Json::MakeObject({{"links", std::move(links)}}).Dump(), 0600, false));
  // Where the script finds what lies at `path`, a part of `root`.
  auto place = [&](const std::string& wanted, const std::string& root, const std::string& path, bool overwrite) -> Result<std::string> {
    if (wanted.empty()) return path;
    const bool working = !wanted.starts_with('/');
    std::string at = working ? folder.Path(StrCat("work/", wanted)) : wanted;
    TRY_VOID(LinkAt(home_, at, working, root, overwrite));
    if (!working) staged.folders.push_back(at);
    return at + path.substr(root.size());
  };
  auto show = [&](const std::string& name, const std::string& value) {
    staged.values[name] = value;
    staged.variables[StrCat("AZUREML_DATAREFERENCE_", name)] = value;
  };

  DataLog log(folder.Path("data_log.txt"), watch.progress);
  Json roots = Json::MakeArray();
  for (const auto& [name, input] : spec.data) {
    DataUse use{name, "direct", {}, 0, 0, {}};
    std::string value = input.dataset;
    if (input.mode != DataMode::kDirect) {
      std::string root = folder.Path(StrCat("data/", name));
      std::vector<std::string> linked;
      auto stage = [&]() -> Result<DataUse> { return StageInput({assign, server_(), log, watch}, name, input, root, linked); };
      auto done = Patiently<DataUse>(watch, log, stage);
      std::string what = StrCat("input '", name, "'", input.paths.size() == 1 ? StrCat(" (", WhatOf(input.paths[0]), ")") : std::string());
      if (!done.ok()) {
        log.Say(StrCat(what, ": ", done.error().message));
        return Named(done.error(), what);
      }
      use = std::move(*done);
      // What a link leads to must be seen in a container too.
      staged.folders.insert(staged.folders.end(), linked.begin(), linked.end());
      for (const std::string& one : linked) roots.Push(one);
      auto placed = place(input.path_on_compute, root, use.path, input.overwrite);
      if (!placed.ok()) return Named(placed.error(), what);
      value = use.path = *placed;
    }
    show(name, value);
    if (!input.environment_variable.empty()) staged.variables[input.environment_variable] = value;
    staged.uses.push_back(std::move(use));
  }
  for (const auto& [name, output] : spec.outputs) {
    std::string root = OutputFolder(folder, name, output);
    TRY_VOID(os::MakeFolders(root));
    std::string value = root;
    if (output.path_on_compute.starts_with('/')) {
      auto placed = place(output.path_on_compute, root, root, false);
      if (!placed.ok()) return Named(placed.error(), StrCat("output '", name, "'"));
      value = *placed;
    } else if (!output.path_on_compute.empty()) {
      staged.collected.push_back(root);
    }
    show(name, value);
  }
  if (!roots.as_array().empty()) TRY_VOID(os::WriteFileAtomic(folder.Path("linked.json"), Json::MakeObject({{"roots", std::move(roots)}}).Dump(), 0600, false));
  // Two inputs may be linked to one folder.
  std::sort(staged.folders.begin(), staged.folders.end());
  staged.folders.erase(std::unique(staged.folders.begin(), staged.folders.end()), staged.folders.end());
  return staged;
}

Result<std::vector<DataUse>> Stager::Upload(const model::Assign& assign, const StageWatch& watch) const {
  std::vector<DataUse> uses;
  AttemptFolder folder(home_, assign.key);
  std::map<std::string, DataUse> done = ReadUploaded(folder);
  DataLog log(folder.Path("data_log.txt"), watch.progress);
  for (const auto& [name, output] : assign.spec.outputs) {
    if (auto before = done.find(name); before != done.end()) {
      uses.push_back(before->second);
      continue;
    }
    std::string root = OutputFolder(folder, name, output);
    std::vector<std::string> roots = ReadTexts(folder.Path("linked.json"), "roots");
    for (const char* own : {"data", "work"})
      if (auto real = os::RealPath(folder.Path(own)); real.ok()) roots.push_back(*real);
    auto upload = [&]() -> Result<DataUse> { return UploadOutput({assign, server_(), log, watch}, name, output, root, roots); };
    auto uploaded = Patiently<DataUse>(watch, log, upload);
    if (!uploaded.ok()) {
      std::string what = StrCat("output '", name, "' (datastore '", output.datastore, "', path '", model::FilledPath(output, name, assign.key.run), "')");
      log.Say(StrCat(what, ": ", uploaded.error().message));
      return Named(uploaded.error(), what);
    }
    done[name] = *uploaded;
    uses.push_back(std::move(*uploaded));
    Json record = Json::MakeObject();
    for (const auto& [one, use] : done) record.Add(one, model::ToJson(use));
    (void)os::WriteFileAtomic(folder.Path("uploaded.json"), record.Dump(), 0600, false);
  }
  return uses;
}

void Stager::Unstage(const AttemptFolder& folder) {
  for (const std::string& link : ReadTexts(folder.Path("links.json"), "links")) {
    auto stat = os::StatPath(link, false);
    if (!stat.ok() || stat->type != os::FileType::kLink) continue;
    if (auto target = os::ReadLink(link); target.ok() && target->starts_with(folder.path() + "/")) (void)os::RemoveFile(link);
  }
}

}  // namespace ferry::agent
