#include "rest/documents.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::rest {

Json TimesAsText(Json json, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const Json* v = json.Find(key); v && v->is_int()) json.Set(key, v->as_int() ? Json(FormatTime(Time{v->as_int()})) : Json());
  return json;
}

Result<Json> ListTable(const Parts& parts, const Call& call, const char* table, const char* name, std::vector<store::Condition> where,
                       const std::function<Json(const Json&)>& shape) {
  TRY(int64_t limit, IntParameter(call, "limit", 1000, 1, 10000));
  TRY(store::Page page, parts.store.Find({table, std::move(where), {{"", "key"}, false}, call.head.Query("cursor"), static_cast<size_t>(limit)}));
  Json list = Json::MakeArray();
  for (const store::Document& document : page.documents) {
    TRY(Json json, ParseJson(document.body, "a document of the store"));
    list.Push(shape(json));
  }
  return Json::MakeObject({{name, std::move(list)}, {"next", page.next.empty() ? Json() : Json(page.next)}});
}

Result<Json> ShowOne(const Parts& parts, const char* table, const std::string& key, const std::string& what) {
  TRY(auto document, parts.store.Get(table, key));
  if (!document) return MakeError(Code::kNotFound, StrCat(table, ".not_found"), StrCat("there is no ", table, " '", what.substr(0, 255), "'"), "name");
  return ParseJson(document->body, "a document of the store");
}

Result<void> CheckFields(const Json& body, std::initializer_list<const char*> known) {
  for (const auto& [key, value] : body.as_object())
    if (std::none_of(known.begin(), known.end(), [&key = key](const char* name) { return key == name; }))
      return MakeError(Code::kInvalid, "field.unknown",
                       StrCat("'", key.substr(0, 80), "' is not known here; expected ", Join(std::vector<std::string>(known.begin(), known.end()), ", ")),
                       key.substr(0, 80));
  return {};
}

Result<std::optional<std::string>> OptionalText(const Json& body, const char* field, size_t longest) {
  const Json* value = body.Find(field);
  if (!value || value->is_null()) return std::optional<std::string>();
  if (!value->is_string()) return MakeError(Code::kInvalid, "field.type", StrCat(field, " must be a text, not ", value->TypeName()), field);
  if (value->as_string().size() > longest) return MakeError(Code::kTooLarge, "field.too_long", StrCat(field, " has more than ", longest, " bytes"), field);
  return std::optional(value->as_string());
}

}  // namespace ferry::rest
