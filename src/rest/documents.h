// Documents of the store as answers.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "rest/service.h"

namespace ferry::rest {

// Times that are kept as numbers, for people; zero is null.
Json TimesAsText(Json json, std::initializer_list<const char*> keys);

// A page of a table, ordered by key: {NAME: [...], "next"}.
Result<Json> ListTable(const Parts& parts, const Call& call, const char* table, const char* name, std::vector<store::Condition> where,
                       const std::function<Json(const Json&)>& shape);

// One document. kNotFound "TABLE.not_found" names it as `what`.
Result<Json> ShowOne(const Parts& parts, const char* table, const std::string& key, const std::string& what);

// kInvalid "field.unknown" for a member that is none of these.
Result<void> CheckFields(const Json& body, std::initializer_list<const char*> known);
// A text of at most so many bytes, if it is there and not null. kInvalid "field.type", kTooLarge "field.too_long".
Result<std::optional<std::string>> OptionalText(const Json& body, const char* field, size_t longest);

}  // namespace ferry::rest
