// Workspaces and experiments.
#include "base/text.h"
#include "engine/tables.h"
#include "model/datastore.h"
#include "rest/documents.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

constexpr size_t kLongText = 64u << 10;

Json WorkspaceView(const Json& document) {
  Json view = TimesAsText(document, {"created"});
  if (!view.Find("friendly_name")) view.Set("friendly_name", view.GetString("name"));
  if (!view.Find("default_datastore")) view.Set("default_datastore", model::kDefaultDatastore);
  if (!view.Find("properties")) view.Set("properties", Json::MakeObject());
  return view;
}

Json ExperimentView(const Json& document) {
  // Those of an older server have less.
  return TimesAsText(model::ToJson(model::ExperimentFromJson(document)), {"created", "archived_time"});
}

auto Later(http::Responder responder, Json (*shape)(const Json&), int status = 200) {
  return [responder, shape, status](Result<Json> result) { Answer(responder, result.ok() ? Result<Json>(shape(*result)) : result, status); };
}
auto Later(http::Responder responder) {
  return [responder](Result<Json> result) { Answer(responder, result); };
}

Result<std::optional<bool>> OptionalFlag(const Json& body, const char* field) {
  const Json* value = body.Find(field);
  if (!value || value->is_null()) return std::optional<bool>();
  if (!value->is_bool()) return MakeError(Code::kInvalid, "field.type", StrCat(field, " must be true or false, not ", value->TypeName()), field);
  return std::optional(value->as_bool());
}

}  // namespace

void ListWorkspaces(const Parts& parts, Call call, http::Responder responder) {
  std::vector<store::Condition> where;
  if (const std::string& bound = call.identity.workspace; !bound.empty()) where.push_back({{"", "key"}, store::Op::kEq, {bound}});
  Answer(responder, ListTable(parts, call, "workspace", "workspaces", std::move(where), WorkspaceView));
}

void AddWorkspace(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::CreateWorkspace> {
    TRY(Json body, BodyObject(call));
    TRY_VOID(CheckFields(body, {"name", "description", "friendly_name", "properties", "tags", "exist_ok"}));
    engine::CreateWorkspace input;
    TRY(auto name, OptionalText(body, "name", kLongText));
    TRY(auto description, OptionalText(body, "description", kLongText));
    TRY(auto friendly_name, OptionalText(body, "friendly_name", 255));
    TRY(auto exist_ok, OptionalFlag(body, "exist_ok"));
    input.workspace.name = name.value_or("");
    input.workspace.description = description.value_or("");
    input.workspace.friendly_name = friendly_name.value_or("");
    TRY(input.workspace.tags, StringMap(body, "tags", 500, kLongText));
    TRY(input.workspace.properties, StringMap(body, "properties", 500, kLongText));
    input.exist_ok = exist_ok.value_or(false);
    return input;
  };
  auto input = build();
  if (!input.ok()) return Answer(responder, input.error());
  parts.engine.Do(std::move(*input), Later(responder, WorkspaceView, 201));
}

void ShowWorkspace(const Parts& parts, Call call, http::Responder responder) {
  auto show = [&]() -> Result<Json> {
    TRY(std::string name, WorkspaceOf(call, call.params["name"]));
    TRY(Json document, ShowOne(parts, "workspace", name, name));
    return WorkspaceView(document);
  };
  Answer(responder, show());
}

void UpdateWorkspace(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::UpdateWorkspace> {
    TRY(Json body, BodyObject(call));
    TRY_VOID(CheckFields(body, {"set_tags", "remove_tags", "description", "friendly_name", "default_datastore", "properties"}));
    engine::UpdateWorkspace input;
    input.name = call.params["name"];
    TRY(input.set_tags, StringMap(body, "set_tags", 500, kLongText));
    TRY(input.remove_tags, Texts(body, "remove_tags"));
    TRY(input.set_properties, StringMap(body, "properties", 500, kLongText));
    TRY(input.description, OptionalText(body, "description", kLongText));
    TRY(input.friendly_name, OptionalText(body, "friendly_name", 255));
    TRY(input.default_datastore, OptionalText(body, "default_datastore", 255));
    return input;
  };
  auto input = build();
  if (!input.ok()) return Answer(responder, input.error());
  parts.engine.Do(std::move(*input), Later(responder, WorkspaceView));
}

void DeleteWorkspace(const Parts& parts, Call call, http::Responder responder) {
  parts.engine.Do(engine::DeleteWorkspace{call.params["name"]}, Later(responder));
}

void ListExperiments(const Parts& parts, Call call, http::Responder responder) {
  std::vector<store::Condition> where;
  if (std::string given = call.head.Query("workspace"); !given.empty() || !call.identity.workspace.empty()) {
    auto workspace = WorkspaceOf(call, given);
    if (!workspace.ok()) return Answer(responder, workspace.error());
    where.push_back({{"", "workspace"}, store::Op::kEq, {*workspace}});
  }
  Answer(responder, ListTable(parts, call, "experiment", "experiments", std::move(where), ExperimentView));
}

void AddExperiment(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::CreateExperiment> {
    TRY(Json body, BodyObject(call));
    TRY_VOID(CheckFields(body, {"name", "workspace", "description", "tags"}));
    engine::CreateExperiment input;
    TRY(auto name, OptionalText(body, "name", kLongText));
    TRY(auto workspace, OptionalText(body, "workspace", kLongText));
    TRY(auto description, OptionalText(body, "description", kLongText));
    TRY(input.experiment.workspace, WorkspaceOf(call, workspace.value_or("")));
    TRY(input.experiment.tags, StringMap(body, "tags", 500, kLongText));
    input.experiment.name = name.value_or("");
    input.experiment.description = description.value_or("");
    return input;
  };
  auto input = build();
  if (!input.ok()) return Answer(responder, input.error());
  parts.engine.Do(std::move(*input), Later(responder, ExperimentView, 201));
}

void ShowExperiment(const Parts& parts, Call call, http::Responder responder) {
  auto show = [&]() -> Result<Json> {
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    TRY(Json document, ShowOne(parts, "experiment", engine::ExperimentKey(workspace, call.params["name"]), call.params["name"]));
    return ExperimentView(document);
  };
  Answer(responder, show());
}

void UpdateExperiment(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::UpdateExperiment> {
    TRY(Json body, BodyObject(call));
    TRY_VOID(CheckFields(body, {"workspace", "set_tags", "remove_tags", "archived", "description", "new_name"}));
    engine::UpdateExperiment input;
    TRY(auto workspace, OptionalText(body, "workspace", kLongText));
    TRY(input.workspace, WorkspaceOf(call, workspace ? *workspace : call.head.Query("workspace")));
    input.name = call.params["name"];
    TRY(input.set_tags, StringMap(body, "set_tags", 500, kLongText));
    TRY(input.remove_tags, Texts(body, "remove_tags"));
    TRY(input.archived, OptionalFlag(body, "archived"));
    TRY(input.description, OptionalText(body, "description", kLongText));
    TRY(input.new_name, OptionalText(body, "new_name", kLongText));
    return input;
  };
  auto input = build();
  if (!input.ok()) return Answer(responder, input.error());
  parts.engine.Do(std::move(*input), Later(responder, ExperimentView));
}

void DeleteExperiment(const Parts& parts, Call call, http::Responder responder) {
  auto workspace = WorkspaceOf(call, call.head.Query("workspace"));
  if (!workspace.ok()) return Answer(responder, workspace.error());
  parts.engine.Do(engine::DeleteExperiment{*workspace, call.params["name"]}, Later(responder));
}

}  // namespace ferry::rest
