#include "engine/tables.h"

#include "base/text.h"

namespace ferry::engine {

using model::Run;
using store::Column;
using store::ColumnType;
using store::Value;

Json ToJson(const Artifact& artifact) {
  return Json::MakeObject(
      {{"run", artifact.run}, {"path", artifact.path}, {"digest", artifact.digest.Hex()}, {"size", artifact.size}, {"time", artifact.time.micros}});
}

Result<Artifact> ArtifactFromJson(const Json& json) {
  auto digest = Digest::FromHex(json.GetString("digest"));
  if (!digest) return MakeError(Code::kInvalid, "artifact.digest", "an artifact's digest must be 64 hex digits", "digest");
  return Artifact{json.GetString("run"), json.GetString("path"), *digest, static_cast<uint64_t>(json.GetInt("size")), Time{json.GetInt("time")}};
}

const std::vector<store::TableSpec>& Tables() {
  static const std::vector<store::TableSpec> tables = {
      {"run",
       {{"created", ColumnType::kInt, false},
        {"workspace", ColumnType::kText, false},
        {"experiment", ColumnType::kText, false},
        {"status", ColumnType::kText, false},
        {"target", ColumnType::kText, false},
        {"parent", ColumnType::kText, false},
        {"archived", ColumnType::kInt, false},
        {"user", ColumnType::kText, false},
        {"number", ColumnType::kInt, false},
        {"started", ColumnType::kInt, false},
        {"ended", ColumnType::kInt, false},
        {"name", ColumnType::kText, false},
        {"type", ColumnType::kText, false},
        {"live", ColumnType::kInt, false}},
       {{"archived", "created"},
        {"experiment", "created"},
        {"status", "created"},
        {"target", "created"},
        {"parent", "created"},
        {"archived", "status"},
        {"live"}}},
      {"experiment", {{"workspace", ColumnType::kText, true}, {"name", ColumnType::kText, false}, {"archived", ColumnType::kInt, false}}, {}},
      {"workspace", {}, {}},
      {"target", {{"workspace", ColumnType::kText, true}}, {}},
      {"user", {}, {}},
      {"token", {{"user", ColumnType::kText, true}}, {}},
      {"node", {{"target", ColumnType::kText, true}}, {}},
      {"usage", {{"target", ColumnType::kText, true}, {"gone", ColumnType::kInt, true}}, {}},
      {"artifact", {{"run", ColumnType::kText, true}}, {}},
      {"environment", {}, {}},
      {"environment_name", {{"workspace", ColumnType::kText, true}, {"latest", ColumnType::kInt, false}}, {}},
      {"build", {{"used", ColumnType::kInt, true}}, {}},
      {"model",
       {{"workspace", ColumnType::kText, false},
        {"name", ColumnType::kText, false},
        {"created", ColumnType::kInt, false},
        {"latest", ColumnType::kInt, false},
        {"run", ColumnType::kText, false},
        {"framework", ColumnType::kText, false}},
       {{"workspace", "created"},
        {"workspace", "latest", "created"},
        {"workspace", "name", "created"},
        {"workspace", "run", "created"},
        {"workspace", "framework", "created"}}},
      {"model_name", {}, {}},
      {"dataset",
       {{"workspace", ColumnType::kText, false},
        {"name", ColumnType::kText, false},
        {"version", ColumnType::kInt, false},
        {"latest", ColumnType::kInt, false},
        {"archived", ColumnType::kInt, false}},
       {{"workspace", "latest", "name"}, {"workspace", "name", "version"}}},
      {"dataset_name", {}, {}},
      {"datastore", {{"workspace", ColumnType::kText, true}}, {}},
      {"secret", {{"workspace", ColumnType::kText, true}}, {}},
      {"file", {}, {}},
  };
  return tables;
}

store::Put PutRun(const Run& run, bool everything) {
  auto time = [](std::optional<Time> t) { return t ? Value(t->micros) : Value(); };
  store::Put put;
  put.table = "run";
  put.document.key = run.id;
  put.document.body = model::ToJson(run).Dump();
  put.document.columns = {run.created.micros,
                          run.workspace,
                          run.experiment,
                          std::string(model::StatusName(model::StatusOf(run))),
                          run.target,
                          run.parent.empty() ? Value() : Value(run.parent),
                          int64_t{run.archived},
                          run.user,
                          run.number,
                          time(model::StartedAt(run)),
                          time(model::EndedAt(run)),
                          run.name.empty() ? run.id : run.name,
                          run.type,
                          model::IsTerminal(run) ? Value() : Value(int64_t{1})};
  if (everything) {
    put.attribute_kinds = {"tag", "property", "parameter"};
    for (const auto& [key, value] : run.tags) put.attributes.push_back({"tag", key, value});
    for (const auto& [key, value] : run.properties) put.attributes.push_back({"property", key, value});
    for (const auto& [key, value] : model::ParametersOf(run.spec)) {
      put.attributes.push_back({"parameter", key, value});
      if (auto number = ParseDouble(value)) put.attributes.back().value = *number;
    }
  }
  return put;
}

store::Put PutArtifact(const Artifact& artifact) {
  return {"artifact", {StrCat(artifact.run, "/", artifact.path), ToJson(artifact).Dump(), {artifact.run}}, {}, {}};
}
store::Put PutUser(const model::User& user) { return {"user", {user.name, model::ToJson(user).Dump(), {}}, {}, {}}; }
store::Put PutToken(const model::Token& token) { return {"token", {token.id, model::ToJson(token).Dump(), {token.user}}, {}, {}}; }
store::Put PutWorkspace(const model::Workspace& workspace) { return {"workspace", {workspace.name, model::ToJson(workspace).Dump(), {}}, {}, {}}; }
store::Put PutExperiment(const model::Experiment& experiment) {
  return {"experiment",
          {ExperimentKey(experiment.workspace, experiment.name),
           model::ToJson(experiment).Dump(),
           {experiment.workspace, experiment.name, int64_t{experiment.archived}}},
          {},
          {}};
}
store::Put PutTarget(const model::TargetRecord& target) { return {"target", {target.Key(), model::ToJson(target).Dump(), {target.workspace}}, {}, {}}; }
store::Put PutUsage(const model::NodeUsage& usage) {
  return {"usage", {StrCat(usage.node, "@", usage.gone.micros), model::ToJson(usage).Dump(), {usage.target, usage.gone.micros}}, {}, {}};
}
store::Put PutNode(const model::NodeRecord& node) { return {"node", {node.name, model::ToJson(node).Dump(), {node.target}}, {}, {}}; }

store::Put PutEnvironment(const model::EnvironmentRecord& environment) {
  return {"environment", {EnvironmentKey(environment.workspace, environment.name, environment.version), model::ToJson(environment).Dump(), {}}, {}, {}};
}
store::Put PutEnvironmentName(const model::EnvironmentName& name) {
  return {"environment_name", {EnvironmentNameKey(name.workspace, name.name), model::ToJson(name).Dump(), {name.workspace, name.latest}}, {}, {}};
}
store::Put PutBuild(const model::BuildRecord& build) {
  return {"build", {PlatformKey(build.key, build.platform), model::ToJson(build).Dump(), {build.used.micros}}, {}, {}};
}

store::Put PutModel(const model::RegisteredModel& model, bool everything) {
  store::Put put;
  put.table = "model";
  put.document = {ModelKey(model.workspace, model.name, model.version),
                  model::ToJson(model).Dump(),
                  {model.workspace, model.name, model.created.micros, model.latest ? Value(int64_t{1}) : Value(),
                   model.run.empty() ? Value() : Value(model.run), model.framework.empty() ? Value() : Value(model.framework)}};
  if (!everything) return put;
  put.attribute_kinds = {"tag", "property", "dataset"};
  for (const auto& [key, value] : model.tags) put.attributes.push_back({"tag", key, value});
  for (const auto& [key, value] : model.properties) put.attributes.push_back({"property", key, value});
  for (const auto& [scenario, id] : model.datasets) put.attributes.push_back({"dataset", id, scenario});
  return put;
}
store::Put PutModelName(const model::AssetName& name) {
  return {"model_name", {AssetNameKey(name.workspace, name.name), model::ToJson(name).Dump(), {}}, {}, {}};
}

store::Put PutDataset(const model::Dataset& dataset, bool everything) {
  store::Put put;
  put.table = "dataset";
  put.document = {DatasetKey(dataset.workspace, dataset.id),
                  model::ToJson(dataset).Dump(),
                  {dataset.workspace, dataset.name.empty() ? Value() : Value(dataset.name), dataset.version, dataset.latest ? Value(int64_t{1}) : Value(),
                   int64_t{dataset.archived}}};
  if (!everything) return put;
  put.attribute_kinds = {"tag"};
  for (const auto& [key, value] : dataset.tags) put.attributes.push_back({"tag", key, value});
  return put;
}
store::Put PutDatasetName(const model::AssetName& name) {
  return {"dataset_name", {AssetNameKey(name.workspace, name.name), model::ToJson(name).Dump(), {}}, {}, {}};
}
store::Put PutSecret(const model::Secret& secret) {
  return {"secret", {SecretKey(secret.workspace, secret.name), model::ToJson(secret).Dump(), {secret.workspace}}, {}, {}};
}
store::Put PutDatastore(const model::Datastore& datastore) {
  return {"datastore", {DatastoreKey(datastore.workspace, datastore.name), model::ToJson(datastore).Dump(), {datastore.workspace}}, {}, {}};
}
store::Put PutFile(const model::FileRecord& file) {
  return {"file", {FileKey(file.workspace, file.datastore, file.path), model::ToJson(file).Dump(), {}}, {}, {}};
}
std::string DatastoreKey(const std::string& workspace, const std::string& name) { return StrCat(workspace, "/", name); }
std::string FileKey(const std::string& workspace, const std::string& datastore, const std::string& path) {
  return StrCat(workspace, "/", datastore, "/", path);
}

std::string EnvironmentKey(const std::string& workspace, const std::string& name, int64_t version) {
  std::string digits = std::to_string(version);
  return StrCat(workspace, "/", name, "/", std::string(digits.size() < 9 ? 9 - digits.size() : 0, '0'), digits);
}
std::string EnvironmentNameKey(const std::string& workspace, const std::string& name) { return StrCat(workspace, "/", name); }
std::string ModelKey(const std::string& workspace, const std::string& name, int64_t version) { return EnvironmentKey(workspace, name, version); }
std::string DatasetKey(const std::string& workspace, const std::string& id) { return StrCat(workspace, "/", id); }
std::string AssetNameKey(const std::string& workspace, const std::string& name) { return ExperimentKey(workspace, name); }
std::string PlatformKey(const std::string& key, const std::string& platform) { return StrCat(key, "/", platform); }

std::string SecretKey(const std::string& workspace, const std::string& name) { return StrCat(workspace, "/", name); }

std::string ExperimentKey(const std::string& workspace, const std::string& name) { return StrCat(workspace, "/", name); }

Result<Run> RunFromDocument(const store::Document& document) {
  TRY(Json json, ParseJson(document.body, "a run in the store"));
  return model::RunFromJson(json);
}

}  // namespace ferry::engine
