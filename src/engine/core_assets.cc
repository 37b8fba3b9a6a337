// Inputs that concern the registries of models and datasets.
#include <algorithm>

#include "base/text.h"
#include "engine/core.h"

namespace ferry::engine {

using model::AssetName;
using model::Dataset;
using model::RegisteredModel;

namespace {

constexpr size_t kMostTags = 500, kMostProperties = 1000, kMostDatasets = 1000;

Error NotFound(const char* what, const std::string& workspace, const std::string& name, int64_t version) {
  return MakeError(Code::kNotFound, StrCat(what, ".not_found"),
                   StrCat("there is no ", what, " '", name.substr(0, 300), "'", version ? StrCat(" with version ", version) : std::string(), " in workspace '",
                          workspace, "'"),
                   "name");
}

Result<void> ChangeTags(std::map<std::string, std::string>& tags, const std::map<std::string, std::string>& set, const std::vector<std::string>& remove) {
  for (const auto& [key, value] : set) tags[key] = value;
  for (const std::string& key : remove) tags.erase(key);
  if (tags.size() > kMostTags) return MakeError(Code::kTooLarge, "field.too_many", StrCat("it would have more than ", kMostTags, " tags"), "set_tags");
  return {};
}

}  // namespace

Result<void> Core::CheckWorkspace(const std::string& workspace) const {
  TRY(auto there, Document("workspace", workspace));
  if (there) return {};
  return MakeError(Code::kNotFound, "workspace.not_found", StrCat("there is no workspace '", workspace, "'"), "workspace");
}

Result<AssetName> Core::AssetNameOf(const char* table, const std::string& workspace, const std::string& name) const {
  TRY(auto json, Document(table, AssetNameKey(workspace, name)));
  if (json) return model::AssetNameFromJson(*json);
  AssetName fresh;
  fresh.workspace = workspace;
  fresh.name = name;
  return fresh;
}

Result<RegisteredModel> Core::FindModel(const std::string& workspace, const std::string& name, int64_t version) const {
  TRY(AssetName known, AssetNameOf("model_name", workspace, name));
  TRY(auto json, Document("model", ModelKey(workspace, name, version ? version : known.latest)));
  if (!json) return NotFound("model", workspace, name, version);
  return model::ModelFromJson(*json);
}

Result<Json> Core::On(const RegisterModel& input, Time now) {
  TRY_VOID(CheckWorkspace(input.model.workspace));
  TRY(AssetName name, AssetNameOf("model_name", input.model.workspace, input.model.name));
  if (name.latest) {
    TRY(RegisteredModel before, FindModel(name.workspace, name.name, name.latest));
    before.latest = false;
    Stage(PutModel(before, false));
  }
  RegisteredModel model = input.model;
  model.version = name.latest = ++name.last;
  model.latest = true;
  model.created = model.modified = now;
  Stage(PutModel(model, true));
  Stage(PutModelName(name));
  return model::ModelView(model);
}

Result<Json> Core::On(const UpdateModel& input, Time now) {
  TRY(RegisteredModel model, FindModel(input.workspace, input.name, input.version));
  for (const auto& [key, value] : input.add_properties)
    if (auto it = model.properties.find(key); it != model.properties.end() && it->second != value)
      return MakeError(
          Code::kConflict, "property.immutable",
          StrCat("property '", key, "' of model '", model.name, ":", model.version, "' is '", it->second, "' already; properties cannot be changed"),
          StrCat("add_properties.", key));
  TRY_VOID(ChangeTags(model.tags, input.set_tags, input.remove_tags));
  for (const auto& [key, value] : input.add_properties) model.properties[key] = value;
  for (const auto& pair : input.add_datasets)
    if (std::find(model.datasets.begin(), model.datasets.end(), pair) == model.datasets.end()) model.datasets.push_back(pair);
  if (model.properties.size() > kMostProperties || model.datasets.size() > kMostDatasets)
    return MakeError(Code::kTooLarge, "field.too_many", StrCat("it would have more than ", kMostProperties, " properties or ", kMostDatasets, " datasets"),
                     model.properties.size() > kMostProperties ? "add_properties" : "add_datasets");
  if (input.description) model.description = *input.description;
  if (input.framework) model.framework = *input.framework;
  if (input.framework_version) model.framework_version = *input.framework_version;
  if (input.sample_input_dataset) model.sample_input_dataset = *input.sample_input_dataset;
  if (input.sample_output_dataset) model.sample_output_dataset = *input.sample_output_dataset;
  if (input.resources) model.resources = input.resources;
  model.modified = now;
  Stage(PutModel(model, true));
  return model::ModelView(model);
}

Result<Json> Core::On(const DeleteModel& input, Time) {
  TRY(RegisteredModel model, FindModel(input.workspace, input.name, input.version));
  TRY(AssetName name, AssetNameOf("model_name", input.workspace, input.name));
  if (model.latest) {
    name.latest = 0;
    for (int64_t version = model.version - 1; version >= 1 && !name.latest; --version) {
      TRY(auto json, Document("model", ModelKey(input.workspace, input.name, version)));
      if (!json) continue;
      RegisteredModel before = model::ModelFromJson(*json);
      before.latest = true;
      name.latest = version;
      Stage(PutModel(before, false));
    }
    Stage(PutModelName(name));
  }
  StageErase("model", ModelKey(model.workspace, model.name, model.version));
  return Json::MakeObject({{"id", StrCat(model.name, ":", model.version)}, {"name", model.name}, {"version", model.version}});
}

Result<Dataset> Core::FindDataset(const std::string& workspace, const std::string& name, int64_t version) const {
  TRY(AssetName known, AssetNameOf("dataset_name", workspace, name));
  int64_t wanted = version ? version : known.latest;
  TRY(auto json, Document("dataset", DatasetKey(workspace, model::DatasetId(workspace, name, wanted))));
  if (!json || wanted < known.first) return NotFound("dataset", workspace, name, version);
  return model::DatasetFromJson(*json);
}

Result<Json> Core::On(const SaveDataset& input, Time now) {
  TRY_VOID(CheckWorkspace(input.dataset.workspace));
  Dataset dataset = input.dataset;
  dataset.created = dataset.modified = now;
  auto view = [](const Dataset& saved, bool created) { return model::DatasetView(saved).Set("new", created); };
  if (dataset.name.empty()) {
    dataset.id = model::DatasetId(dataset.workspace, dataset.hash);
    TRY(auto there, Document("dataset", DatasetKey(dataset.workspace, dataset.id)));
    if (there) return view(model::DatasetFromJson(*there), false);
    Stage(PutDataset(dataset, true));
    return view(dataset, true);
  }
  TRY(AssetName name, AssetNameOf("dataset_name", dataset.workspace, dataset.name));
  if (name.latest) {
    TRY(Dataset before, FindDataset(name.workspace, name.name, name.latest));
    if (before.hash == dataset.hash) {
      Dataset changed = before;
      if (!dataset.description.empty()) changed.description = dataset.description;
      TRY_VOID(ChangeTags(changed.tags, dataset.tags, {}));
      if (changed == before) return view(before, false);
      changed.modified = now;
      Stage(PutDataset(changed, true));
      return view(changed, false);
    }
    if (!input.create_new_version)
      return MakeError(Code::kConflict, "dataset.exists",
                       StrCat("dataset '", dataset.name, "' exists with another definition, as version ", name.latest,
                              "; give create_new_version to add this one as the next"),
                       "name");
    before.latest = false;
    Stage(PutDataset(before, false));
  }
  dataset.version = name.latest = ++name.last;
  dataset.id = model::DatasetId(dataset.workspace, dataset.name, dataset.version);
  dataset.latest = true;
  Stage(PutDataset(dataset, true));
  Stage(PutDatasetName(name));
  return view(dataset, true);
}

std::string Core::DatasetOfOutput(const model::Run& run, const std::string& name, Time now) {
  auto output = run.spec.outputs.find(name);
  if (output == run.spec.outputs.end()) return {};
  std::string path = StrCat(model::FilledPath(output->second, name, run.id), "/**");
  SaveDataset save;
  save.create_new_version = true;
  save.dataset.workspace = run.workspace;
  save.dataset.user = run.user;
  save.dataset.type = "File";
  Json paths = Json::MakeArray();
  paths.Push(Json::MakeObject({{"datastore", output->second.datastore}, {"path", std::move(path)}}));
  save.dataset.definition = Json::MakeObject({{"paths", std::move(paths)}});
  const auto* finalizing = std::get_if<model::Finalizing>(&run.attempt().phase);
  if (const auto& wanted = output->second.registration; wanted && finalizing && model::ReasonOf(finalizing->exit) == model::EndReason::kSucceeded) {
    save.dataset.name = wanted->name;
    save.dataset.description = wanted->description;
    save.dataset.tags = wanted->tags;
    save.dataset.type = wanted->type;
    if (!wanted->read.empty()) save.dataset.definition.Set("read", ParseJson(wanted->read).value());
    if (!wanted->steps.empty()) save.dataset.definition.Set("steps", ParseJson(wanted->steps).value());
  }
  save.dataset.hash = model::DatasetHash(save.dataset.type, save.dataset.definition);
  auto saved = On(save, now);
  return saved.ok() ? saved->GetString("id") : std::string();
}

Result<Json> Core::On(const UpdateDataset& input, Time now) {
  TRY(Dataset dataset, FindDataset(input.workspace, input.name, input.version));
  TRY_VOID(ChangeTags(dataset.tags, input.set_tags, input.remove_tags));
  if (input.description) dataset.description = *input.description;
  if (input.archived) dataset.archived = *input.archived;
  if (input.deprecated_by) dataset.deprecated_by = *input.deprecated_by;
  dataset.modified = now;
  Stage(PutDataset(dataset, true));
  return model::DatasetView(dataset);
}

Result<Json> Core::On(const UnregisterDataset& input, Time) {
  TRY(AssetName name, AssetNameOf("dataset_name", input.workspace, input.name));
  TRY(Dataset latest, FindDataset(input.workspace, input.name, 0));
  latest.latest = false;
  Stage(PutDataset(latest, false));
  int64_t versions = name.last - name.first + 1;
  name.first = name.last + 1;
  name.latest = 0;
  Stage(PutDatasetName(name));
  return Json::MakeObject({{"name", name.name}, {"versions", versions}});
}

}  // namespace ferry::engine
