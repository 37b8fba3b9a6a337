#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/query_node.h"

namespace ferry::cli {
namespace {

using Arguments = std::vector<QueryArgument>;

Error TypeError(const QueryNode& node, std::string_view wants, std::string_view got) {
  return MakeError(Code::kInvalid, "query.type", StrCat("the query fails at column ", node.position + 1, ": ", node.text, "() takes ", wants, ", not ", got),
                   "--query");
}

Error TypeError(const QueryNode& node, std::string_view wants, const QueryArgument& got) { return TypeError(node, wants, got.value.TypeName()); }

enum class Elements { kNumbers, kStrings, kMixed };

// What a list holds; an empty one counts as numbers.
Elements ElementsOf(const Json::Array& list) {
  if (std::all_of(list.begin(), list.end(), [](const Json& v) { return v.is_number(); })) return Elements::kNumbers;
  if (std::all_of(list.begin(), list.end(), [](const Json& v) { return v.is_string(); })) return Elements::kStrings;
  return Elements::kMixed;
}

// REQUIRES: both numbers or both strings.
bool Less(const Json& a, const Json& b) {
  if (a.is_string()) return a.as_string() < b.as_string();
  if (a.is_int() && b.is_int()) return a.as_int() < b.as_int();
  return a.as_double() < b.as_double();
}

// The UTF-8 sequences of a text, so that length and reverse count characters.
std::vector<std::string_view> Characters(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

Result<Json> Length(const QueryNode& node, Arguments& a) {
  const Json& v = a[0].value;
  if (v.is_string()) return Json(Characters(v.as_string()).size());
  if (v.is_array()) return Json(v.as_array().size());
  if (v.is_object()) return Json(v.as_object().size());
  return TypeError(node, "a string, a list or an object", a[0]);
}

Result<Json> KeysOrValues(const QueryNode& node, Arguments& a) {
  if (!a[0].value.is_object()) return TypeError(node, "an object", a[0]);
  Json out = Json::MakeArray();
  for (const auto& [key, value] : a[0].value.as_object()) out.Push(node.text == "keys" ? Json(key) : value);
  return out;
}

Result<Json> Sort(const QueryNode& node, Arguments& a) {
  if (!a[0].value.is_array()) return TypeError(node, "a list", a[0]);
  Json::Array& list = a[0].value.as_array();
  if (ElementsOf(list) == Elements::kMixed) return TypeError(node, "a list of numbers or a list of strings", "another list");
  std::stable_sort(list.begin(), list.end(), Less);
  return std::move(a[0].value);
}

Result<Json> Extreme(const QueryNode& node, Arguments& a) {
  if (!a[0].value.is_array()) return TypeError(node, "a list", a[0]);
  const Json::Array& list = a[0].value.as_array();
  if (list.empty()) return Json();
  if (ElementsOf(list) == Elements::kMixed) return TypeError(node, "a list of numbers or a list of strings", "another list");
  return node.text == "max" ? *std::max_element(list.begin(), list.end(), Less) : *std::min_element(list.begin(), list.end(), Less);
}

// The keys that the expression in the second argument gives for the elements of the first: all numbers or all strings.
Result<Json::Array> SortKeys(const QueryNode& node, Arguments& a) {
  if (!a[0].value.is_array()) return TypeError(node, "a list", a[0]);
  Json::Array keys;
  for (const Json& item : a[0].value.as_array()) {
    TRY(Json key, Evaluate(*a[1].reference, item));
    if (!key.is_number() && !key.is_string()) return TypeError(node, "keys that are numbers or strings", key.TypeName());
    keys.push_back(std::move(key));
  }
  if (ElementsOf(keys) == Elements::kMixed) return TypeError(node, "keys of one type", "numbers and strings");
  return keys;
}

Result<Json> SortBy(const QueryNode& node, Arguments& a) {
  TRY(Json::Array keys, SortKeys(node, a));
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return Less(keys[x], keys[y]); });
  Json out = Json::MakeArray();
  for (size_t i : order) out.Push(std::move(a[0].value.as_array()[i]));
  return out;
}

Result<Json> ExtremeBy(const QueryNode& node, Arguments& a) {
  TRY(Json::Array keys, SortKeys(node, a));
  if (keys.empty()) return Json();
  auto best = node.text == "max_by" ? std::max_element(keys.begin(), keys.end(), Less) : std::min_element(keys.begin(), keys.end(), Less);
  return a[0].value.as_array()[static_cast<size_t>(best - keys.begin())];
}

Result<Json> Reverse(const QueryNode& node, Arguments& a) {
  Json& v = a[0].value;
  if (v.is_array()) {
    std::reverse(v.as_array().begin(), v.as_array().end());
    return std::move(v);
  }
  if (!v.is_string()) return TypeError(node, "a string or a list", a[0]);
  std::vector<std::string_view> characters = Characters(v.as_string());
  std::string out;
  for (auto it = characters.rbegin(); it != characters.rend(); ++it) out += *it;
  return Json(out);
}

Result<Json> Contains(const QueryNode& node, Arguments& a) {
  const Json& in = a[0].value;
  const Json& what = a[1].value;
  if (in.is_array()) return Json(std::any_of(in.as_array().begin(), in.as_array().end(), [&](const Json& v) { return QueryEqual(v, what); }));
  if (!in.is_string()) return TypeError(node, "a string or a list", a[0]);
  return Json(what.is_string() && in.as_string().find(what.as_string()) != std::string::npos);
}

Result<Json> StartsOrEndsWith(const QueryNode& node, Arguments& a) {
  for (const QueryArgument& argument : a)
    if (!argument.value.is_string()) return TypeError(node, "two strings", argument);
  const std::string& text = a[0].value.as_string();
  const std::string& part = a[1].value.as_string();
  return Json(node.text == "starts_with" ? text.starts_with(part) : text.ends_with(part));
}

Result<Json> JoinTexts(const QueryNode& node, Arguments& a) {
  if (!a[0].value.is_string()) return TypeError(node, "a string first", a[0]);
  if (!a[1].value.is_array()) return TypeError(node, "a list of strings second", a[1]);
  std::vector<std::string> parts;
  for (const Json& item : a[1].value.as_array()) {
    if (!item.is_string()) return TypeError(node, "a list of strings second", StrCat("one with ", item.TypeName()));
    parts.push_back(item.as_string());
  }
  return Json(Join(parts, a[0].value.as_string()));
}

Result<Json> SumOrAverage(const QueryNode& node, Arguments& a) {
  if (!a[0].value.is_array()) return TypeError(node, "a list of numbers", a[0]);
  int64_t whole = 0;
  double sum = 0;
  bool exact = true;
  for (const Json& item : a[0].value.as_array()) {
    if (!item.is_number()) return TypeError(node, "a list of numbers", StrCat("one with ", item.TypeName()));
    sum += item.as_double();
    exact = exact && item.is_int() && !__builtin_add_overflow(whole, item.as_int(), &whole);
  }
  if (node.text == "sum") return exact ? Json(whole) : Json(sum);
  size_t count = a[0].value.as_array().size();
  return count ? Json(sum / static_cast<double>(count)) : Json();
}

Result<Json> Rounded(const QueryNode& node, Arguments& a) {
  const Json& v = a[0].value;
  if (!v.is_number()) return TypeError(node, "a number", a[0]);
  if (node.text == "abs") {
    if (v.is_int()) return v.as_int() == INT64_MIN ? Json(-v.as_double()) : Json(std::abs(v.as_int()));
    return Json(std::fabs(v.as_double()));
  }
  if (v.is_int()) return v;
  double whole = node.text == "ceil" ? std::ceil(v.as_double()) : std::floor(v.as_double());
  return std::fabs(whole) < 9e18 ? Json(static_cast<int64_t>(whole)) : Json(whole);
}

Result<Json> ToString(const QueryNode&, Arguments& a) { return a[0].value.is_string() ? std::move(a[0].value) : Json(a[0].value.Dump()); }

Result<Json> ToNumber(const QueryNode&, Arguments& a) {
  Json& v = a[0].value;
  if (v.is_number()) return std::move(v);
  if (v.is_string())
    if (auto number = ParseJson(v.as_string()); number.ok() && number->is_number()) return std::move(*number);
  return Json();
}

Result<Json> ToArray(const QueryNode&, Arguments& a) {
  if (a[0].value.is_array()) return std::move(a[0].value);
  return Json(Json::Array{std::move(a[0].value)});
}

Result<Json> Type(const QueryNode&, Arguments& a) {
  const Json& v = a[0].value;
  return Json(v.is_null() ? "null" : v.is_bool() ? "boolean" : v.is_number() ? "number" : v.is_string() ? "string" : v.is_array() ? "array" : "object");
}

Result<Json> NotNull(const QueryNode&, Arguments& a) {
  for (QueryArgument& argument : a)
    if (!argument.value.is_null()) return std::move(argument.value);
  return Json();
}

Result<Json> Map(const QueryNode& node, Arguments& a) {
  if (!a[1].value.is_array()) return TypeError(node, "a list second", a[1]);
  Json out = Json::MakeArray();
  for (const Json& item : a[1].value.as_array()) {
    TRY(Json value, Evaluate(*a[0].reference, item));
    out.Push(std::move(value));
  }
  return out;
}

Result<Json> Merge(const QueryNode& node, Arguments& a) {
  Json out = Json::MakeObject();
  for (const QueryArgument& argument : a) {
    if (!argument.value.is_object()) return TypeError(node, "objects", argument);
    for (const auto& [key, value] : argument.value.as_object()) out.Set(key, value);
  }
  return out;
}

constexpr QueryFunction kFunctions[] = {
    {"abs", 1, 1, -1, Rounded},
    {"avg", 1, 1, -1, SumOrAverage},
    {"ceil", 1, 1, -1, Rounded},
    {"contains", 2, 2, -1, Contains},
    {"ends_with", 2, 2, -1, StartsOrEndsWith},
    {"floor", 1, 1, -1, Rounded},
    {"join", 2, 2, -1, JoinTexts},
    {"keys", 1, 1, -1, KeysOrValues},
    {"length", 1, 1, -1, Length},
    {"map", 2, 2, 0, Map},
    {"max", 1, 1, -1, Extreme},
    {"max_by", 2, 2, 1, ExtremeBy},
    {"merge", 1, -1, -1, Merge},
    {"min", 1, 1, -1, Extreme},
    {"min_by", 2, 2, 1, ExtremeBy},
    {"not_null", 1, -1, -1, NotNull},
    {"reverse", 1, 1, -1, Reverse},
    {"sort", 1, 1, -1, Sort},
    {"sort_by", 2, 2, 1, SortBy},
    {"starts_with", 2, 2, -1, StartsOrEndsWith},
    {"sum", 1, 1, -1, SumOrAverage},
    {"to_array", 1, 1, -1, ToArray},
    {"to_number", 1, 1, -1, ToNumber},
    {"to_string", 1, 1, -1, ToString},
    {"type", 1, 1, -1, Type},
    {"values", 1, 1, -1, KeysOrValues},
};

}  // namespace

const QueryFunction* FindQueryFunction(std::string_view name) {
  for (const QueryFunction& function : kFunctions)
    if (function.name == name) return &function;
  return nullptr;
}

std::vector<std::string> QueryFunctionNames() {
  std::vector<std::string> names;
  for (const QueryFunction& function : kFunctions) names.emplace_back(function.name);
  return names;
}

}  // namespace ferry::cli
