#include "model/access.h"

#include <vector>

namespace ferry::model {
namespace {
constexpr const char* kRoles[] = {"reader", "contributor", "owner"};
Time TimeOf(const Json& json, std::string_view key) { return Time{json.GetInt(key)}; }
}  // namespace

const char* RoleName(Role role) { return kRoles[static_cast<int>(role)]; }

std::optional<Role> RoleFromName(std::string_view name) {
  for (int i = 0; i < 3; ++i)
    if (name == kRoles[i]) return static_cast<Role>(i);
  return std::nullopt;
}

Json ToJson(const User& user) { return Json::MakeObject({{"name", user.name}, {"role", RoleName(user.role)}, {"created", user.created.micros}}); }
User UserFromJson(const Json& json) { return {json.GetString("name"), RoleFromName(json.GetString("role")).value_or(Role::kReader), TimeOf(json, "created")}; }

Json ToJson(const Token& token) {
  return Json::MakeObject({{"id", token.id},
                           {"digest", token.digest},
                           {"user", token.user},
                           {"label", token.label},
                           {"created", token.created.micros},
                           {"expires", token.expires.micros},
                           {"revoked", token.revoked.micros}});
}
Token TokenFromJson(const Json& json) {
  return {json.GetString("id"),    json.GetString("digest"), json.GetString("user"), json.GetString("label"),
          TimeOf(json, "created"), TimeOf(json, "expires"),  TimeOf(json, "revoked")};
}

Json ToJson(const Workspace& workspace) {
  Json json = Json::MakeObject({{"name", workspace.name},
                                {"id", workspace.id},
                                {"description", workspace.description},
                                {"created", workspace.created.micros},
                                {"tags", workspace.tags},
                                {"properties", workspace.properties}});
  return json.SetIf("default_datastore", workspace.default_datastore).SetIf("friendly_name", workspace.friendly_name);
}
Workspace WorkspaceFromJson(const Json& json) {
  return {json.GetString("name"),          json.GetString("id"),           json.GetString("description"),
          TimeOf(json, "created"),         json.GetStringMap("tags"),      json.GetString("default_datastore"),
          json.GetString("friendly_name"), json.GetStringMap("properties")};
}

Json ToJson(const Experiment& experiment) {
  return Json::MakeObject({{"workspace", experiment.workspace},
                           {"name", experiment.name},
                           {"id", experiment.id},
                           {"description", experiment.description},
                           {"created", experiment.created.micros},
                           {"runs", experiment.runs},
                           {"archived", experiment.archived},
                           {"archived_time", experiment.archived_time.micros},
                           {"tags", experiment.tags}});
}
Experiment ExperimentFromJson(const Json& json) {
  return {json.GetString("workspace"), json.GetString("name"),    json.GetString("id"),          TimeOf(json, "created"),      json.GetInt("runs"),
          json.GetBool("archived"),    json.GetStringMap("tags"), json.GetString("description"), TimeOf(json, "archived_time")};
}

}  // namespace ferry::model
