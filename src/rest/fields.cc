// What handlers ask of a request and of the store in the same words.
#include <algorithm>

#include "base/text.h"
#include "rest/handlers.h"

namespace ferry::rest {

Result<void> CheckKnown(const Json& body, std::string_view what, const std::vector<std::string>& known) {
  for (const auto& [key, value] : body.as_object())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      auto close = ClosestWord(key, known);
      return MakeError(Code::kInvalid, "field.unknown",
                       StrCat("'", key.substr(0, 80), "' is not a field of ", what,
                              close ? StrCat("; did you mean '", *close, "'?") : StrCat("; expected ", Join(known, ", "))),
                       key.substr(0, 80));
    }
  return {};
}

Result<std::optional<std::string>> MaybeText(const Json& body, std::string_view key, size_t longest) {
  const Json* value = body.Find(key);
  if (!value) return std::optional<std::string>();
  if (value->is_null()) return std::optional(std::string());
  if (!value->is_string()) return MakeError(Code::kInvalid, "field.type", StrCat(key, " must be a text, not ", value->TypeName()), std::string(key));
  if (value->as_string().size() > longest)
    return MakeError(Code::kTooLarge, "field.too_long", StrCat(key, " is longer than ", longest, " bytes"), std::string(key));
  return std::optional(value->as_string());
}

Result<std::string> TextOf(const Json& body, std::string_view key, size_t longest) {
  TRY(auto text, MaybeText(body, key, longest));
  return text.value_or(std::string());
}

Result<bool> FlagOf(const Json& body, std::string_view key) {
  const Json* value = body.Find(key);
  if (!value || value->is_null()) return false;
  if (!value->is_bool()) return MakeError(Code::kInvalid, "field.type", StrCat(key, " must be true or false, not ", value->TypeName()), std::string(key));
  return value->as_bool();
}

Result<std::optional<Json>> Stored(const Parts& parts, const char* table, const std::string& key) {
  TRY(auto document, parts.store.Get(table, key));
  if (!document) return std::optional<Json>();
  TRY(Json json, ParseJson(document->body, "a document of the store"));
  return std::optional<Json>(std::move(json));
}

std::vector<store::Condition> AttributeConditions(const Call& call, std::string_view parameter, const char* kind) {
  std::vector<store::Condition> conditions;
  for (const std::string& one : call.head.QueryAll(parameter)) {
    if (one.empty()) continue;
    size_t equals = one.find('=');
    if (equals == std::string::npos)
      conditions.push_back({{kind, one}, store::Op::kExists, {}});
    else
      conditions.push_back({{kind, one.substr(0, equals)}, store::Op::kEq, {one.substr(equals + 1)}});
  }
  return conditions;
}

Result<Json> ListAssets(const Parts& parts, const Call& call, const char* name, store::Query query, Json (*view)(const Json& stored)) {
  constexpr size_t kStep = 100, kEnough = 8u << 20;
  TRY(int64_t limit, IntParameter(call, "limit", 100, 1, 1000));
  auto left = static_cast<size_t>(limit);
  size_t bytes = 0;
  Json list = Json::MakeArray();
  query.cursor = call.head.Query("cursor");
  do {
    query.limit = std::min(left, kStep);
    TRY(store::Page page, parts.store.Find(query));
    for (const store::Document& document : page.documents) {
      TRY(Json json, ParseJson(document.body, "a document of the store"));
      bytes += document.body.size();
      list.Push(view(json));
    }
    left -= page.documents.size();
    query.cursor = page.next;
  } while (left && !query.cursor.empty() && bytes < kEnough);
  return Json::MakeObject({{name, std::move(list)}, {"next", query.cursor.empty() ? Json() : Json(query.cursor)}});
}

}  // namespace ferry::rest
