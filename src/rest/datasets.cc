// The registry of datasets.
#include "base/text.h"
#include "engine/tables.h"
#include "model/datastore.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

using model::Dataset;

constexpr size_t kLongestText = 255, kLongestDescription = 64u << 10;

struct Asked {
  std::string workspace;
  model::AssetReference reference;
};

Result<Asked> AskedFor(const Call& call) {
  TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
  TRY(auto reference, model::ParseAssetReference(call.params.at("name"), call.head.Query("version")));
  TRY_VOID(model::CheckDatasetName(reference.name));
  return Asked{std::move(workspace), std::move(reference)};
}

Result<model::AssetName> NameOf(const Parts& parts, const Asked& asked) {
  TRY(auto json, Stored(parts, "dataset_name", engine::AssetNameKey(asked.workspace, asked.reference.name)));
  model::AssetName name;
  if (json) name = model::AssetNameFromJson(*json);
  if (!name.latest)
    return MakeError(Code::kNotFound, "dataset.not_found", StrCat("there is no dataset '", asked.reference.name, "' in workspace '", asked.workspace, "'"),
                     "name");
  return name;
}

Result<Dataset> Find(const Parts& parts, const Asked& asked) {
  TRY(model::AssetName name, NameOf(parts, asked));
  int64_t version = asked.reference.version ? asked.reference.version : name.latest;
  std::optional<Json> json;
  if (version >= name.first) {
    TRY(json, Stored(parts, "dataset", engine::DatasetKey(asked.workspace, model::DatasetId(asked.workspace, name.name, version))));
  }
  if (!json)
    return MakeError(
        Code::kNotFound, "dataset.not_found",
        StrCat("there is no dataset '", name.name, "' with version ", version, " in workspace '", asked.workspace, "'; the latest is ", name.latest),
        "version");
  return model::DatasetFromJson(*json);
}

Result<void> CheckDatastores(const Parts& parts, const std::string& workspace, const std::map<std::string, std::string>& named) {
  for (const auto& [name, field] : named) {
    if (model::OwnDatastores().count(name)) continue;
    TRY(auto there, Stored(parts, "datastore", engine::AssetNameKey(workspace, name)));
    if (!there) return MakeError(Code::kNotFound, "datastore.not_found", StrCat("there is no datastore '", name, "' in workspace '", workspace, "'"), field);
  }
  return {};
}

Result<engine::SaveDataset> DatasetFromRequest(const Parts& parts, const Call& call) {
  TRY(Json body, BodyObject(call));
  TRY_VOID(CheckKnown(body, "a dataset", {"name", "workspace", "type", "definition", "description", "tags", "create_new_version"}));
  engine::SaveDataset save;
  Dataset& made = save.dataset;
  TRY(std::string given, TextOf(body, "workspace", kLongestText));
  TRY(made.workspace, WorkspaceOf(call, given));
  TRY(made.name, TextOf(body, "name", 10 * kLongestText));
  if (!made.name.empty()) TRY_VOID(model::CheckDatasetName(made.name));
  TRY(made.type, TextOf(body, "type", kLongestText));
  if (made.type != "File" && made.type != "Tabular")
    return MakeError(Code::kInvalid, "dataset.type", StrCat("type is '", made.type.substr(0, 40), "'; expected File or Tabular"), "type");
  const Json* definition = body.Find("definition");
  if (!definition) return MakeError(Code::kInvalid, "field.missing", "definition must be given", "definition");
  TRY(auto datastores, model::CheckDatasetDefinition(*definition));
  TRY_VOID(CheckDatastores(parts, made.workspace, datastores));
  made.definition = *definition;
  made.hash = model::DatasetHash(made.type, made.definition);
  TRY(made.description, TextOf(body, "description", kLongestDescription));
  TRY(made.tags, StringMap(body, "tags", 500, 64u << 10));
  TRY(save.create_new_version, FlagOf(body, "create_new_version"));
  made.user = call.identity.user;
  return save;
}

// What is there already as it is takes no commit.
Result<std::optional<Dataset>> Unchanged(const Parts& parts, const Dataset& made) {
  std::string id = model::DatasetId(made.workspace, made.hash);
  if (!made.name.empty()) {
    if (!made.description.empty() || !made.tags.empty()) return std::optional<Dataset>();
    TRY(auto json, Stored(parts, "dataset_name", engine::AssetNameKey(made.workspace, made.name)));
    if (!json) return std::optional<Dataset>();
    id = model::DatasetId(made.workspace, made.name, model::AssetNameFromJson(*json).latest);
  }
  TRY(auto json, Stored(parts, "dataset", engine::DatasetKey(made.workspace, id)));
  if (!json || json->GetString("hash") != made.hash) return std::optional<Dataset>();
  return std::optional(model::DatasetFromJson(*json));
}

Result<engine::UpdateDataset> UpdateFromRequest(const Parts& parts, const Call& call) {
  TRY(Json body, BodyObject(call));
  TRY_VOID(CheckKnown(body, "a change to a dataset", {"workspace", "description", "set_tags", "remove_tags", "archived", "deprecated_by"}));
  TRY(std::string given, TextOf(body, "workspace", kLongestText));
  TRY(Asked asked, AskedFor(call));
  engine::UpdateDataset update;
  TRY(update.workspace, WorkspaceOf(call, given.empty() ? asked.workspace : given));
  update.name = asked.reference.name;
  update.version = asked.reference.version;
  TRY(update.description, MaybeText(body, "description", kLongestDescription));
  TRY(update.set_tags, StringMap(body, "set_tags", 500, 64u << 10));
  TRY(update.remove_tags, Texts(body, "remove_tags"));
  if (body.Find("archived")) {
    TRY(update.archived, FlagOf(body, "archived"));
  }
  TRY(update.deprecated_by, MaybeText(body, "deprecated_by", kLongestText));
  if (update.deprecated_by && !update.deprecated_by->empty()) TRY_VOID(CheckDatasetThere(parts, update.workspace, *update.deprecated_by, "deprecated_by"));
  return update;
}

Json ViewOf(const Json& stored) { return model::DatasetView(model::DatasetFromJson(stored)); }

}  // namespace

Result<void> CheckDatasetThere(const Parts& parts, const std::string& workspace, const std::string& id, const std::string& field) {
  if (!model::IsDatasetId(id))
    return MakeError(Code::kInvalid, "dataset.id", StrCat(field, ": '", id.substr(0, 80), "' is no id of a dataset; expected the form of a uuid"), field);
  TRY(auto there, Stored(parts, "dataset", engine::DatasetKey(workspace, id)));
  if (!there) return MakeError(Code::kNotFound, "dataset.not_found", StrCat(field, ": there is no dataset ", id, " in workspace '", workspace, "'"), field);
  return {};
}

void ListDatasets(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    store::Query query{"dataset", {}, {{"", "name"}, false}, {}, 0};
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    query.where.push_back({{"", "workspace"}, store::Op::kEq, {workspace}});
    query.where.push_back({{"", "latest"}, store::Op::kEq, {int64_t{1}}});
    if (std::string name = call.head.Query("name"); !name.empty()) query.where.push_back({{"", "name"}, store::Op::kEq, {name}});
    std::string archived = call.head.Query("archived", "false");
    if (archived == "false" || archived == "true")
      query.where.push_back({{"", "archived"}, store::Op::kEq, {int64_t{archived == "true"}}});
    else if (archived != "any")
      return MakeError(Code::kInvalid, "parameter.invalid", StrCat("archived is '", archived.substr(0, 40), "'; expected true, false or any"), "archived");
    for (auto& condition : AttributeConditions(call, "tag", "tag")) query.where.push_back(std::move(condition));
    return ListAssets(parts, call, "datasets", std::move(query), ViewOf);
  };
  Answer(responder, list());
}

void SaveDataset(const Parts& parts, Call call, http::Responder responder) {
  auto save = DatasetFromRequest(parts, call);
  if (!save.ok()) return Answer(responder, save.error());
  auto there = Unchanged(parts, save->dataset);
  if (!there.ok()) return Answer(responder, there.error());
  if (*there) return Answer(responder, model::DatasetView(**there));
  parts.engine.Do(std::move(*save), [responder](Result<Json> result) {
    bool created = result.ok() && result->GetBool("new");
    if (result.ok()) result->Erase("new");
    Answer(responder, result, created ? 201 : 200);
  });
}

void ShowDataset(const Parts& parts, Call call, http::Responder responder) {
  auto show = [&]() -> Result<Json> {
    TRY(Asked asked, AskedFor(call));
    TRY(Dataset found, Find(parts, asked));
    return model::DatasetView(found);
  };
  Answer(responder, show());
}

void ShowDatasetById(const Parts& parts, Call call, http::Responder responder) {
  auto show = [&]() -> Result<Json> {
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    TRY_VOID(CheckDatasetThere(parts, workspace, call.params["dataset"], "id"));
    TRY(auto json, Stored(parts, "dataset", engine::DatasetKey(workspace, call.params["dataset"])));
    return ViewOf(*json);
  };
  Answer(responder, show());
}

void ListDatasetVersions(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(Asked asked, AskedFor(call));
    TRY(model::AssetName name, NameOf(parts, asked));
    store::Query query{"dataset", {}, {{"", "version"}, true}, {}, 0};
    query.where = {
        {{"", "workspace"}, store::Op::kEq, {asked.workspace}}, {{"", "name"}, store::Op::kEq, {name.name}}, {{"", "version"}, store::Op::kGe, {name.first}}};
    return ListAssets(parts, call, "versions", std::move(query), ViewOf);
  };
  Answer(responder, list());
}

void UpdateDataset(const Parts& parts, Call call, http::Responder responder) {
  auto update = UpdateFromRequest(parts, call);
  if (!update.ok()) return Answer(responder, update.error());
  parts.engine.Do(std::move(*update), [responder](Result<Json> result) { Answer(responder, result); });
}

void UnregisterDataset(const Parts& parts, Call call, http::Responder responder) {
  auto asked = AskedFor(call);
  if (!asked.ok()) return Answer(responder, asked.error());
  if (asked->reference.version || !call.head.Query("version").empty())
    return Answer(responder, MakeError(Code::kInvalid, "dataset.version", "a dataset is unregistered with all its versions; leave version out", "version"));
  parts.engine.Do(engine::UnregisterDataset{asked->workspace, asked->reference.name}, [responder](Result<Json> result) { Answer(responder, result); });
}

}  // namespace ferry::rest
