#include "cli/folder.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "model/run.h"
#include "os/file.h"
#include "os/folder.h"
#include "runconfig/template.h"

namespace ferry::cli {
namespace {

// The word behind "/NAME/" in an Azure resource's path.
std::string PartOfScope(const std::string& scope, std::string_view name) {
  auto parts = Split(scope, '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i)
    if (ToLower(parts[i]) == name) return std::string(parts[i + 1]);
  return {};
}

FolderSettings SettingsFrom(const Json& json) {
  const std::string scope = json.GetString("Scope");
  return {json.GetString("workspace_name", PartOfScope(scope, "workspaces")), json.GetString("experiment_name", PartOfScope(scope, "projects"))};
}

// Whether it was made; false: there is something of that name.
Result<bool> WriteNew(const std::string& folder, const std::string& name, std::string_view text) {
  TRY(os::Folder open, os::Folder::Open(folder));
  auto fd = open.CreateFile(name.c_str(), 0644);
  if (!fd.ok() && fd.error().code == Code::kConflict) return false;
  if (!fd.ok()) return fd.error();
  if (auto written = os::WriteAll(*fd, text, name); !written.ok()) {
    (void)os::RemoveFile(os::JoinPath(folder, name));
    return written.error();
  }
  return true;
}

}  // namespace

Result<FolderSettings> SettingsOfFolder(const std::string& folder) {
  auto real = os::RealPath(folder);
  if (!real.ok()) return FolderSettings{};
  for (std::string at = *real;;) {
    for (const char* name : {".azureml/config.json", "aml_config/config.json", "aml_config/project.json"}) {
      std::string file = os::JoinPath(at, name);
      auto text = os::ReadFile(file, 1u << 20);
      if (!text.ok()) continue;
      TRY(Json json, ParseJson(*text, file));
      return SettingsFrom(json);
    }
    if (at.empty() || at == "/") return FolderSettings{};
    const size_t slash = at.rfind('/');
    at.resize(slash == 0 ? 1 : slash);
  }
}

std::string AttachedFolder(const std::string& folder) {
  auto real = os::RealPath(folder);
  if (!real.ok()) return {};
  for (std::string at = *real;;) {
    if (os::Exists(os::JoinPath(at, ".azureml/config.json"))) return at;
    if (at.empty() || at == "/") return {};
    const size_t slash = at.rfind('/');
    at.resize(slash == 0 ? 1 : slash);
  }
}

std::string ExperimentFrom(const std::string& folder) {
  std::string name;
  for (char c : folder.substr(folder.rfind('/') + 1)) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (!plain) c = '-';
    if ((c == '-' || c == '.') && (name.empty() || name.back() == c)) continue;
    if (c == '_' && name.empty()) continue;
    name += c;
    if (name.size() == 100) break;
  }
  return name.empty() ? "default" : name;
}

Result<bool> WriteTargetTemplate(const std::string& folder, const std::string& target, std::string_view type) {
  // On Kubernetes there is nothing but containers.
  return WriteNew(os::JoinPath(folder, ".azureml"), StrCat(target, ".runconfig"), runconfig::TemplateFor(target, type == "Kubernetes"));
}

Result<int> AttachFolder(Context& context) {
  const Arguments& given = context.arguments;
  auto real = os::RealPath(given.Get("path"));
  if (!real.ok() && real.error().code == Code::kNotFound)
    return MakeError(Code::kNotFound, "folder.not_found", StrCat("there is no folder '", given.Get("path"), "'"), "PATH");
  if (!real.ok()) return real.error();
  std::string workspace = given.Get("workspace-name"), experiment = given.Get("experiment-name");
  if (!workspace.empty()) TRY_VOID(model::CheckName("workspace", workspace, 32));
  if (!experiment.empty()) TRY_VOID(model::CheckName("experiment", experiment));

  const std::string inside = os::JoinPath(*real, ".azureml");
  TRY_VOID(os::MakeFolders(inside));
  Json made = Json::MakeArray(), kept = Json::MakeArray();
  auto note = [&](bool is_new, const std::string& name) { (is_new ? made : kept).Push(StrCat(".azureml/", name)); };

  Json settings = Json::MakeObject({{"subscription_id", "ferry"},
                                    {"resource_group", "ferry"},
                                    {"workspace_name", workspace.empty() ? "default" : workspace},
                                    {"experiment_name", experiment.empty() ? ExperimentFrom(*real) : experiment}});
  TRY(bool fresh, WriteNew(inside, "config.json", settings.DumpPretty() + "\n"));
  note(fresh, "config.json");
  TRY(FolderSettings now, SettingsOfFolder(*real));
  if (now.workspace.empty()) now.workspace = "default";
  if (!workspace.empty() && workspace != now.workspace)
    context.Note(StrCat(".azureml/config.json names the workspace '", now.workspace, "', not '", workspace, "'; edit it to change that"));
  if (!experiment.empty() && experiment != now.experiment)
    context.Note(StrCat(".azureml/config.json names the experiment '", now.experiment, "', not '", experiment, "'; edit it to change that"));
  TRY(fresh, WriteNew(inside, "conda_dependencies.yml", runconfig::CondaTemplate()));
  note(fresh, "conda_dependencies.yml");
  TRY(fresh, WriteNew(inside, "docker.runconfig", runconfig::TemplateFor("local", true)));
  note(fresh, "docker.runconfig");
  TRY(fresh, WriteTargetTemplate(*real, "local", "local"));
  note(fresh, "local.runconfig");
  // Other compute targets have theirs from here on, those that are there now get them too. A server is not started for it.
  if (auto session = Session::OpenRunning({}); session.ok()) {
    auto targets = (*session)->Get(StrCat("/api/v1/computetargets?workspace=", EncodePercent(now.workspace)));
    const Json* list = targets.ok() ? targets->Find("computetargets") : nullptr;
    for (const Json& target : list && list->is_array() ? list->as_array() : Json::Array()) {
      std::string name = target.GetString("name");
      if (name == "local" || !target.GetString("run").empty()) continue;
      TRY(fresh, WriteTargetTemplate(*real, name, target.GetString("type")));
      note(fresh, name + ".runconfig");
    }
  }

  std::string out;
  for (const Json& name : made.as_array()) out += StrCat("made ", name.as_string(), "\n");
  for (const Json& name : kept.as_array()) out += StrCat("kept ", name.as_string(), "\n");
  TRY(int told,
      context.Tell(Json::MakeObject({{"folder", *real}, {"workspace", now.workspace}, {"experiment", now.experiment}, {"made", made}, {"kept", kept}}), out));
  if (context.ForPeople())
    context.Note(StrCat("attached ", *real, " to workspace '", now.workspace, "'",
                        now.experiment.empty() ? std::string() : StrCat(", experiment '", now.experiment, "'")));
  return told;
}

}  // namespace ferry::cli
