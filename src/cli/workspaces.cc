// Workspaces and experiments. What means something on Azure alone is recorded with a workspace and changes nothing.
#include <map>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"

namespace ferry::cli {
namespace {

const Columns& ExperimentColumns() {
  static const Columns columns = {{"EXPERIMENT", "name", Style::kPlain, Align::kLeft, true},
                                  {"WORKSPACE", "workspace"},
                                  {"RUNS", "runs", Style::kPlain, Align::kRight},
                                  {"CREATED", "created", Style::kAgo}};
  return columns;
}

const Columns& WorkspaceColumns() {
  static const Columns columns = {
      {"WORKSPACE", "name", Style::kPlain, Align::kLeft, true}, {"CREATED", "created", Style::kAgo}, {"DESCRIPTION", "description"}};
  return columns;
}

// What a workspace records for those who ask: option -> property.
constexpr std::pair<const char*, const char*> kRecorded[] = {
    {"location", "location"},
    {"sku", "sku"},
    {"resource-group", "resource_group"},
    {"subscription-id", "subscription_id"},
    {"storage-account", "storage_account"},
    {"keyvault", "key_vault"},
    {"application-insights", "application_insights"},
    {"container-registry", "container_registry"},
    {"image-build-compute", "image_build_compute"},
    {"primary-user-assigned-identity", "primary_user_assigned_identity"},
    {"hbi-workspace", "hbi_workspace"},
    {"cmk-keyvault", "cmk_keyvault"},
    {"resource-cmk-uri", "resource_cmk_uri"},
};

// Reads what is only recorded, and says so.
std::map<std::string, std::string> Recorded(const Context& context) {
  std::map<std::string, std::string> properties;
  std::vector<std::string> said;
  for (const auto& [option, property] : kRecorded) {
    if (!context.arguments.Has(option)) continue;
    const std::string value = context.arguments.Get(option);
    properties[property] = value.empty() ? "true" : value;
    said.push_back(StrCat("--", option));
  }
  if (!said.empty()) context.Note(StrCat("recorded and not enforced: ", Join(said, ", ")));
  return properties;
}

Result<int> ChangeWorkspace(Context& context, const char* missing) {
  const Arguments& given = context.arguments;
  TRY(auto tags, KeyValues(given.All("tags"), "--tags", true));
  TRY(std::string name, context.Workspace());
  Json change = Json::MakeObject();
  for (const auto& [option, key] :
       {std::pair("description", "description"), std::pair("friendly-name", "friendly_name"), std::pair("default-datastore", "default_datastore")})
    if (given.Has(option)) change.Set(key, given.Get(option));
  if (!tags.empty()) change.Set("set_tags", tags);
  if (given.Has("remove-tag")) change.Set("remove_tags", given.All("remove-tag"));
  if (auto properties = Recorded(context); !properties.empty()) change.Set("properties", properties);
  if (change.as_object().empty()) return MakeError(Code::kInvalid, "args.missing", missing, given.group);
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("PATCH", ApiPath({"workspaces", name}), change));
  return context.Show(answer, &WorkspaceColumns());
}

}  // namespace

Result<int> CreateExperiment(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("POST", "/api/v1/experiments", Json::MakeObject({{"name", context.arguments.Get("name")}, {"workspace", workspace}})));
  return context.Show(answer, &ExperimentColumns());
}

Result<int> ListExperiments(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json rows, session->GetAll("/api/v1/experiments", {{"workspace", workspace}}, "experiments"));
  if (context.ForPeople() && rows.as_array().empty()) context.Note("no experiments");
  return context.Show(rows, &ExperimentColumns());
}

Result<int> ShowExperiment(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Get(ApiPath({"experiments", context.arguments.Get("name")}) + QueryText({{"workspace", workspace}})));
  return context.Show(answer, &ExperimentColumns());
}

Result<int> CreateWorkspace(Context& context) {
  const Arguments& given = context.arguments;
  TRY(auto tags, KeyValues(given.All("tags"), "--tags", true));
  Json request = Json::MakeObject({{"name", given.Get("workspace-name")}});
  request.SetIf("description", given.Get("description")).SetIf("friendly_name", given.Get("friendly-name"));
  if (!tags.empty()) request.Set("tags", tags);
  if (auto properties = Recorded(context); !properties.empty()) request.Set("properties", properties);
  if (given.Has("exist-ok")) request.Set("exist_ok", true);
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("POST", "/api/v1/workspaces", request));
  return context.Show(answer, &WorkspaceColumns());
}

Result<int> ListWorkspaces(Context& context) {
  TRY(Session * session, context.Server());
  TRY(Json rows, session->GetAll("/api/v1/workspaces", {}, "workspaces"));
  return context.Show(rows, &WorkspaceColumns());
}

Result<int> ShowWorkspace(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Get(ApiPath({"workspaces", workspace})));
  return context.Show(answer, &WorkspaceColumns());
}

Result<int> DeleteWorkspace(Context& context) {
  const std::string name = context.arguments.Get("workspace-name");
  if (!context.arguments.Has("yes"))
    return MakeError(Code::kInvalid, "args.missing", StrCat("workspace delete needs -y/--yes: it removes workspace '", name, "' for good"),
                     context.arguments.group);
  if (context.arguments.Has("all-resources")) context.Note("--all-resources: a workspace has no resources beside its own");
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("DELETE", ApiPath({"workspaces", name})));
  return context.Tell(answer, StrCat("deleted ", name, "\n"));
}

Result<int> ShareWorkspace(Context& context) {
  const std::string name = context.arguments.Get("user"), role = ToLower(context.arguments.Get("role"));
  static constexpr std::string_view kRoles[] = {"reader", "contributor", "owner"};
  auto rank = [](std::string_view text) {
    for (int i = 0; i < 3; ++i)
      if (text == kRoles[i]) return i;
    return -1;
  };
  if (rank(role) < 0)
    return MakeError(Code::kInvalid, "args.value", StrCat("--role is '", context.arguments.Get("role"), "'; expected reader, contributor or owner"),
                     context.arguments.group);
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json view, session->Get(ApiPath({"workspaces", workspace})));
  TRY(Json users, session->GetAll("/api/v1/users", {}, "users"));
  for (const Json& user : users.as_array())
    if (user.GetString("name") == name && rank(user.GetString("role")) >= rank(role))
      return context.Tell(user, StrCat(name, " may use every workspace as ", user.GetString("role"), "\n"));
  return MakeError(Code::kConflict, "workspace.share",
                   StrCat("a role holds for every workspace of this server, so that sharing one cannot give it; to give user '", name,
                          "' that role everywhere: ferry user add ", name, " --role ", role),
                   "--user");
}

Result<int> ListKeys(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json view, session->Get(ApiPath({"workspaces", workspace})));
  context.Note("a workspace has no keys; tokens are made with: ferry token create");
  return context.Tell(Json::MakeObject({{"user_storage_key", Json()},
                                        {"user_storage_resource_id", Json()},
                                        {"app_insights_instrumentation_key", Json()},
                                        {"container_registry_credentials", Json()},
                                        {"notebook_access_keys", Json()}}),
                      "");
}

Result<int> SyncKeys(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json view, session->Get(ApiPath({"workspaces", workspace})));
  context.Note("a workspace has no keys: there is nothing to bring up to date");
  return context.Tell(Json(), "");
}

Result<int> UpdateWorkspace(Context& context) {
  return ChangeWorkspace(context, "workspace update needs something to change: --description, --friendly-name, --tags, --default-datastore, ...");
}

Result<int> UpdateDependencies(Context& context) {
  return ChangeWorkspace(
      context, "workspace update-dependencies needs something to record: --storage-account, --keyvault, --application-insights or --container-registry");
}

}  // namespace ferry::cli
