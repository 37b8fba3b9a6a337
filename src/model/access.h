// Who may do what: users, roles, tokens, workspaces and experiments as values. The table of route x role is rest/access.cc's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace ferry::model {

// In rising order: each may do what those before it may.
enum class Role { kReader, kContributor, kOwner };
const char* RoleName(Role role);
std::optional<Role> RoleFromName(std::string_view name);

struct User {
  std::string name;
  Role role = Role::kReader;
  Time created;
};

// A token as it is kept: only its digest. The token itself is shown once, when it is made.
struct Token {
  std::string id;      // public, names it in lists
  std::string digest;  // SHA-256 of the token, hex
  std::string user;
  std::string label;
  Time created;
  Time expires;  // zero: never
  Time revoked;  // zero: not
};

struct Workspace {
  std::string name;
  std::string id;
  std::string description;
  Time created;
  std::map<std::string, std::string> tags;
  std::string default_datastore = {};  // empty: kDefaultDatastore
  std::string friendly_name = {};
  std::map<std::string, std::string> properties = {};  // location, sku, subscription_id and others: recorded, not enforced
};

struct Experiment {
  std::string workspace;
  std::string name;
  std::string id;
  Time created;
  int64_t runs = 0;  // the number given last
  bool archived = false;
  std::map<std::string, std::string> tags;
  std::string description = {};
  Time archived_time = {};
};

Json ToJson(const User& user);
User UserFromJson(const Json& json);
Json ToJson(const Token& token);
Token TokenFromJson(const Json& json);
Json ToJson(const Workspace& workspace);
Workspace WorkspaceFromJson(const Json& json);
Json ToJson(const Experiment& experiment);
Experiment ExperimentFromJson(const Json& json);

}  // namespace ferry::model
