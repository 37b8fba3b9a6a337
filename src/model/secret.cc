#include "model/secret.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::model {

Json ToJson(const Secret& secret) {
  Json json = Json::MakeObject({{"workspace", secret.workspace},
                                {"name", secret.name},
                                {"value", secret.value},
                                {"created", secret.created.micros},
                                {"changed", secret.changed.micros}});
  return json.SetIf("content_type", secret.content_type).SetIf("user", secret.user);
}

Secret SecretFromJson(const Json& json) {
  return {json.GetString("workspace"), json.GetString("name"),       json.GetString("value"),     json.GetString("content_type"),
          json.GetString("user"),      Time{json.GetInt("created")}, Time{json.GetInt("changed")}};
}

Json SecretView(const Secret& secret) {
  return Json::MakeObject({{"name", secret.name},
                           {"content_type", secret.content_type},
                           {"user", secret.user},
                           {"created", FormatTime(secret.created)},
                           {"changed", FormatTime(secret.changed)}});
}

Result<void> CheckSecretName(std::string_view name) {
  auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  if (!name.empty() && name.size() <= 127 && std::all_of(name.begin(), name.end(), good)) return {};
  return MakeError(Code::kInvalid, "secret.name",
                   StrCat("'", name.substr(0, 60), "' cannot name a secret; expected letters, digits, '-' and '_', at most 127 characters"), "name");
}

}  // namespace ferry::model
