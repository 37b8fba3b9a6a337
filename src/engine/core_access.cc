// Inputs that concern users and tokens.
#include "base/text.h"
#include "engine/core.h"

namespace ferry::engine {
// The last owner stays one: nobody could let anybody in again. What this batch adds and removes counts.
Result<void> Core::CheckOtherOwner(const std::string& name, const char* what) const {
  TRY(store::Page page, store_.Find({"user", {}, {{"", "key"}, false}, {}, 10000}));
  std::set<std::string> names;
  for (const store::Document& document : page.documents) names.insert(document.key);
  for (const auto& [key, at] : staged_puts_)
    if (key.first == "user") names.insert(key.second);
  names.erase(name);
  for (const std::string& other : names) {
    TRY(auto json, Document("user", other));
    if (json && model::UserFromJson(*json).role == model::Role::kOwner) return {};
  }
  return MakeError(Code::kConflict, "user.last_owner", StrCat("'", name, "' is the last owner and cannot be ", what), "name");
}

Result<Json> Core::On(const AddUser& input, Time now) {
  TRY_VOID(model::CheckName("user", input.user.name, 64));
  TRY(auto there, Document("user", input.user.name));
  model::User user = input.user;
  user.created = now;
  if (there) {
    model::User before = model::UserFromJson(*there);
    user.created = before.created;
    if (before.role == model::Role::kOwner && user.role != model::Role::kOwner) TRY_VOID(CheckOtherOwner(user.name, "made less"));
  }
  Stage(PutUser(user));
  staged_effects_.push_back(AccessChanged{});
  return model::ToJson(user);
}

Result<Json> Core::On(const RemoveUser& input, Time) {
  TRY(auto there, Document("user", input.name));
  if (!there) return MakeError(Code::kNotFound, "user.not_found", StrCat("there is no user '", input.name, "'"), "name");
  if (model::UserFromJson(*there).role == model::Role::kOwner) TRY_VOID(CheckOtherOwner(input.name, "removed"));
  StageErase("user", input.name);
  TRY(store::Page tokens, store_.Find({"token", {{{"", "user"}, store::Op::kEq, {input.name}}}, {{"", "key"}, false}, {}, 10000}));
  for (const store::Document& document : tokens.documents) StageErase("token", document.key);
  staged_effects_.push_back(AccessChanged{});
  return Json::MakeObject({{"name", input.name}, {"tokens", tokens.documents.size()}});
}

Result<Json> Core::On(const AddToken& input, Time now) {
  TRY(auto user, Document("user", input.token.user));
  if (!user) return MakeError(Code::kNotFound, "user.not_found", StrCat("there is no user '", input.token.user, "'"), "user");
  model::Token token = input.token;
  token.created = now;
  Stage(PutToken(token));
  staged_effects_.push_back(AccessChanged{});
  return Json::MakeObject(
      {{"id", token.id}, {"user", token.user}, {"label", token.label}, {"expires", token.expires ? Json(FormatTime(token.expires)) : Json()}});
}

Result<Json> Core::On(const RevokeToken& input, Time now) {
  TRY(auto json, Document("token", input.id));
  if (!json) return MakeError(Code::kNotFound, "token.not_found", StrCat("there is no token '", input.id, "'"), "id");
  model::Token token = model::TokenFromJson(*json);
  if (!token.revoked) {
    token.revoked = now;
    Stage(PutToken(token));
    staged_effects_.push_back(AccessChanged{});
  }
  return Json::MakeObject({{"id", token.id}, {"user", token.user}, {"revoked", FormatTime(token.revoked)}});
}

}  // namespace ferry::engine
