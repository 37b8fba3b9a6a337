// Inputs that concern workspaces, experiments and secrets.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "engine/core.h"
#include "model/datastore.h"

namespace ferry::engine {
namespace {

bool HasTable(std::string_view name) {
  return std::any_of(Tables().begin(), Tables().end(), [&](const store::TableSpec& table) { return table.name == name; });
}

Result<void> CheckCount(size_t count, const char* field) {
  if (count <= 500) return {};
  return MakeError(Code::kTooLarge, "field.too_many", StrCat("there would be more than 500 ", field), field);
}

Error NotEmpty(const model::Experiment& experiment, const char* what, const char* field) {
  return MakeError(Code::kConflict, "experiment.not_empty",
                   StrCat("experiment '", experiment.name, "' has ", experiment.runs, experiment.runs == 1 ? " run" : " runs", " and cannot be ", what,
                          "; archive it instead"),
                   field);
}

}  // namespace

Result<model::Workspace> Core::FindWorkspace(const std::string& name) const {
  TRY(auto json, Document("workspace", name));
  if (!json) return MakeError(Code::kNotFound, "workspace.not_found", StrCat("there is no workspace '", name, "'"), "workspace");
  return model::WorkspaceFromJson(*json);
}

Result<model::Experiment> Core::FindExperiment(const std::string& workspace, const std::string& name) const {
  TRY(auto json, Document("experiment", ExperimentKey(workspace, name)));
  if (!json)
    return MakeError(Code::kNotFound, "experiment.not_found", StrCat("there is no experiment '", name.substr(0, 255), "' in workspace '", workspace, "'"),
                     "name");
  return model::ExperimentFromJson(*json);
}

Result<Json> Core::On(const CreateWorkspace& input, Time now) {
  TRY_VOID(model::CheckName("workspace", input.workspace.name, 32));
  TRY(auto there, Document("workspace", input.workspace.name));
  if (there) {
    if (input.exist_ok) return *there;
    return MakeError(Code::kConflict, "workspace.exists", StrCat("workspace '", input.workspace.name, "' exists already"), "name");
  }
  model::Workspace workspace = input.workspace;
  workspace.created = now;
  workspace.id = HashBytes(StrCat("workspace/", workspace.name)).Hex().substr(0, 32);
  Stage(PutWorkspace(workspace));
  return model::ToJson(workspace);
}

Result<Json> Core::On(const UpdateWorkspace& input, Time) {
  TRY(model::Workspace workspace, FindWorkspace(input.name));
  for (const auto& [key, value] : input.set_tags) workspace.tags[key] = value;
  for (const std::string& key : input.remove_tags) workspace.tags.erase(key);
  for (const auto& [key, value] : input.set_properties) workspace.properties[key] = value;
  TRY_VOID(CheckCount(workspace.tags.size(), "tags"));
  TRY_VOID(CheckCount(workspace.properties.size(), "properties"));
  if (input.description) workspace.description = *input.description;
  if (input.friendly_name) workspace.friendly_name = *input.friendly_name;
  if (input.default_datastore) {
    const std::string& name = *input.default_datastore;
    TRY_VOID(model::CheckDatastoreName(name, "default_datastore"));
    bool there = model::OwnDatastores().count(name) > 0;
    if (!there && HasTable("datastore")) {
      TRY(auto document, Document("datastore", StrCat(input.name, "/", name)));
      there = document.has_value();
    }
    if (!there)
      return MakeError(Code::kNotFound, "datastore.not_found", StrCat("there is no datastore '", name, "' in workspace '", input.name, "'"),
                       "default_datastore");
    workspace.default_datastore = name;
  }
  Stage(PutWorkspace(workspace));
  return model::ToJson(workspace);
}

Result<Json> Core::On(const DeleteWorkspace& input, Time) {
  TRY([[maybe_unused]] auto workspace, FindWorkspace(input.name));
  if (input.name == "default") return MakeError(Code::kConflict, "workspace.default", "workspace 'default' cannot be deleted", "name");
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  std::string prefix = StrCat(input.name, "/");
  int64_t runs = 0;
  TRY(auto experiments, KeysBelow("experiment", prefix, kAll));
  for (const std::string& key : experiments) {
    TRY(auto json, Document("experiment", key));
    if (json) runs += model::ExperimentFromJson(*json).runs;
  }
  std::string held = runs ? StrCat(runs, runs == 1 ? " run" : " runs") : "";
  for (const char* table : {"model", "dataset"}) {
    if (!HasTable(table)) continue;
    TRY(auto keys, KeysBelow(table, prefix, kAll));
    if (!keys.empty()) held += StrCat(held.empty() ? "" : ", ", keys.size(), " ", table, keys.size() == 1 ? "" : "s");
  }
  if (!held.empty())
    return MakeError(Code::kConflict, "workspace.not_empty", StrCat("workspace '", input.name, "' cannot be deleted while it has ", held), "name");
  for (const char* table : {"experiment", "environment", "environment_name", "secret", "datastore", "file", "model_name", "dataset_name"}) {
    if (!HasTable(table)) continue;
    TRY(auto keys, KeysBelow(table, prefix, kAll));
    for (const std::string& key : keys) StageErase(table, key);
  }
  StageErase("workspace", input.name);
  return Json::MakeObject({{"name", input.name}, {"deleted", true}});
}

Result<Json> Core::On(const CreateExperiment& input, Time now) {
  TRY_VOID(model::CheckName("experiment", input.experiment.name));
  TRY([[maybe_unused]] auto workspace, FindWorkspace(input.experiment.workspace));
  std::string key = ExperimentKey(input.experiment.workspace, input.experiment.name);
  TRY(auto there, Document("experiment", key));
  if (there) return *there;
  model::Experiment experiment = input.experiment;
  experiment.created = now;
  experiment.id = HashBytes(key).Hex().substr(0, 32);
  Stage(PutExperiment(experiment));
  return model::ToJson(experiment);
}

Result<Json> Core::On(const UpdateExperiment& input, Time now) {
  TRY(model::Experiment experiment, FindExperiment(input.workspace, input.name));
  for (const auto& [key, value] : input.set_tags) experiment.tags[key] = value;
  for (const std::string& key : input.remove_tags) experiment.tags.erase(key);
  TRY_VOID(CheckCount(experiment.tags.size(), "tags"));
  if (input.description) experiment.description = *input.description;
  if (input.archived && *input.archived != experiment.archived) {
    experiment.archived = *input.archived;
    experiment.archived_time = experiment.archived ? now : Time{};
  }
  if (input.new_name && *input.new_name != input.name) {
    TRY_VOID(model::CheckName("new_name", *input.new_name));
    if (experiment.runs) return NotEmpty(experiment, "renamed", "new_name");
    std::string key = ExperimentKey(input.workspace, *input.new_name);
    TRY(auto there, Document("experiment", key));
    if (there) return MakeError(Code::kConflict, "experiment.exists", StrCat("experiment '", *input.new_name, "' exists already"), "new_name");
    StageErase("experiment", ExperimentKey(input.workspace, input.name));
    experiment.name = *input.new_name;
    experiment.id = HashBytes(key).Hex().substr(0, 32);
  }
  Stage(PutExperiment(experiment));
  return model::ToJson(experiment);
}

Result<Json> Core::On(const DeleteExperiment& input, Time) {
  TRY(model::Experiment experiment, FindExperiment(input.workspace, input.name));
  if (experiment.runs) return NotEmpty(experiment, "deleted", "name");
  StageErase("experiment", ExperimentKey(input.workspace, input.name));
  return Json::MakeObject({{"name", input.name}, {"workspace", input.workspace}, {"deleted", true}});
}

Result<Json> Core::On(const SetSecret& input, Time now) {
  constexpr size_t kMostSecrets = 1000;
  TRY([[maybe_unused]] auto workspace, FindWorkspace(input.secret.workspace));
  std::string key = SecretKey(input.secret.workspace, input.secret.name);
  TRY(auto there, Document("secret", key));
  model::Secret secret = input.secret;
  secret.created = there ? model::SecretFromJson(*there).created : now;
  secret.changed = now;
  if (!there) {
    TRY(auto keys, KeysBelow("secret", StrCat(secret.workspace, "/"), kMostSecrets));
    if (keys.size() >= kMostSecrets)
      return MakeError(Code::kTooLarge, "secret.too_many", StrCat("workspace '", secret.workspace, "' has ", kMostSecrets, " secrets, the most it can have"),
                       "name");
  }
  Stage(PutSecret(secret));
  return model::SecretView(secret).Set("made", !there);
}

Result<Json> Core::On(const DeleteSecret& input, Time) {
  std::string key = SecretKey(input.workspace, input.name);
  TRY(auto there, Document("secret", key));
  if (!there)
    return MakeError(Code::kNotFound, "secret.not_found", StrCat("there is no secret '", input.name.substr(0, 127), "' in workspace '", input.workspace, "'"),
                     "name");
  StageErase("secret", key);
  return Json::MakeObject({{"name", input.name}, {"workspace", input.workspace}, {"deleted", true}});
}

}  // namespace ferry::engine
