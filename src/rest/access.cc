#include "rest/access.h"

#include <mutex>

#include "base/hash.h"
#include "base/json.h"
#include "base/seal.h"
#include "base/text.h"

namespace ferry::rest {

const char* NeedName(Need need) {
  static constexpr const char* kNames[] = {"open", "reader", "contributor", "owner", "node"};
  return kNames[static_cast<int>(need)];
}

const char* RunTokenName(RunToken reach) {
  static constexpr const char* kNames[] = {"never", "own", "workspace"};
  return kNames[static_cast<int>(reach)];
}

namespace {

bool RoleSuffices(model::Role role, Need need) {
  switch (need) {
    case Need::kOpen:
    case Need::kReader: return true;
    case Need::kContributor: return role >= model::Role::kContributor;
    case Need::kOwner: return role >= model::Role::kOwner;
    case Need::kNode: return false;
  }
  return false;
}

}  // namespace

bool Allowed(const Identity& identity, Need need, RunToken reach, bool own_run) {
  switch (identity.kind) {
    case Identity::Kind::kNobody: return need == Need::kOpen;
    case Identity::Kind::kNode: return need == Need::kOpen || need == Need::kNode;
    case Identity::Kind::kRun:
      return need == Need::kOpen || ((reach == RunToken::kWorkspace || (reach == RunToken::kOwnRun && own_run)) && RoleSuffices(identity.role, need));
    case Identity::Kind::kUser: return RoleSuffices(identity.role, need);
  }
  return false;
}

Result<void> Access::Reload() {
  std::map<std::string, model::Role> roles;
  std::map<std::string, Known> known;
  for (const char* table : {"user", "token"}) {
    store::Query query{table, {}, {{"", "key"}, false}, {}, 1000};
    for (;;) {
      TRY(store::Page page, store_.Find(query));
      for (const store::Document& document : page.documents) {
        TRY(Json json, ParseJson(document.body, "a document of the store"));
        if (std::string_view(table) == "user") {
          model::User user = model::UserFromJson(json);
          roles[user.name] = user.role;
        } else {
          model::Token token = model::TokenFromJson(json);
          if (auto role = roles.find(token.user); role != roles.end()) known[token.digest] = {token, role->second};
        }
      }
      if (page.next.empty()) break;
      query.cursor = page.next;
    }
  }
  std::unique_lock lock(mutex_);
  by_digest_ = std::move(known);
  roles_ = std::move(roles);
  return {};
}

std::optional<model::Role> Access::RoleOf(const std::string& user) const {
  std::shared_lock lock(mutex_);
  auto it = roles_.find(user);
  return it == roles_.end() ? std::nullopt : std::optional(it->second);
}

std::string Access::NewToken() { return StrCat("ferry_", RandomHex(24)); }
std::string Access::DigestOf(std::string_view token) { return HashBytes(token).Hex(); }

std::string Access::NodeToken(const std::string& node) const { return StrCat("node/", node, "/", HmacHex(secret_, StrCat("node/", node))); }

std::string Access::RunToken(const model::AttemptKey& key) const {
  std::string name = StrCat("run/", key.run, "/", key.attempt);
  return StrCat(name, "/", HmacHex(secret_, name));
}

std::string Access::Sealed(std::string_view text) const { return Seal(secret_, text); }

Result<std::string> Access::Opened(std::string_view sealed) const { return Unseal(secret_, sealed); }

model::Assign Access::Completed(model::Assign assign) const {
  assign.token = RunToken(assign.key);
  if (assign.spec.needs) {
    std::string& password = assign.spec.needs->docker.registry_password;
    password = Unseal(secret_, password).ValueOr("");
  }
  return assign;
}

Result<Identity> Access::Identify(std::string_view authorization, Time now) const {
  if (authorization.empty()) return MakeError(Code::kUnauthorized, "auth.missing", "a token is needed: send 'Authorization: Bearer TOKEN', or set FERRY_TOKEN");
  Error unknown = MakeError(Code::kUnauthorized, "auth.unknown", "the token is not known to this server");
  if (ToLower(authorization.substr(0, 7)) != "bearer ") return unknown;
  std::string_view token = Trim(authorization.substr(7));
  Identity identity;
  if (token.substr(0, 5) == "node/") {
    auto parts = Split(token, '/');
    if (parts.size() != 3) return unknown;
    std::string node(parts[1]);
    if (!EqualConstantTime(token, NodeToken(node))) return unknown;
    identity.kind = Identity::Kind::kNode;
    identity.node = std::move(node);
    return identity;
  }
  if (token.substr(0, 4) == "run/") {
    auto parts = Split(token, '/');
    auto attempt = parts.size() == 4 ? ParseInt(parts[2]) : std::nullopt;
    if (!attempt) return unknown;
    identity.attempt = {std::string(parts[1]), static_cast<int>(*attempt)};
    if (!EqualConstantTime(token, RunToken(identity.attempt))) return unknown;
    identity.kind = Identity::Kind::kRun;
    return identity;
  }
  std::shared_lock lock(mutex_);
  auto it = by_digest_.find(DigestOf(token));
  if (it == by_digest_.end()) return unknown;
  const model::Token& record = it->second.token;
  if (record.revoked) return MakeError(Code::kUnauthorized, "auth.revoked", StrCat("the token was revoked at ", FormatTime(record.revoked)));
  if (record.expires && record.expires <= now)
    return MakeError(Code::kUnauthorized, "auth.expired", StrCat("the token expired at ", FormatTime(record.expires)));
  identity.kind = Identity::Kind::kUser;
  identity.user = record.user;
  identity.role = it->second.role;
  return identity;
}

}  // namespace ferry::rest
