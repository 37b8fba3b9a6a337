// JSON as a plain value, with a strict bounded parser and a writer. Objects keep the order in which keys were set.
// Strings are byte strings: bytes over 0x7F pass through untouched, so that log bytes survive a round trip.
// Numbers that JSON has no word for are written as "NaN", "Infinity" and "-Infinity" and read back by as_double().
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace ferry {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}                                          // NOLINT(google-explicit-constructor)
  Json(bool v) : value_(v) {}                                      // NOLINT
  Json(int v) : value_(static_cast<int64_t>(v)) {}                 // NOLINT
  Json(unsigned v) : value_(static_cast<int64_t>(v)) {}            // NOLINT
  Json(long v) : value_(static_cast<int64_t>(v)) {}                // NOLINT
  Json(long long v) : value_(static_cast<int64_t>(v)) {}           // NOLINT
  Json(unsigned long v) : value_(static_cast<int64_t>(v)) {}       // NOLINT
  Json(unsigned long long v) : value_(static_cast<int64_t>(v)) {}  // NOLINT
  Json(double v) : value_(v) {}                                    // NOLINT
  Json(const char* v) : value_(std::string(v)) {}                  // NOLINT
  Json(std::string v) : value_(std::move(v)) {}                    // NOLINT
  Json(std::string_view v) : value_(std::string(v)) {}             // NOLINT
  Json(Array v) : value_(std::move(v)) {}                          // NOLINT
  Json(Object v) : value_(std::move(v)) {}                         // NOLINT
  Json(const std::vector<std::string>& v);                         // NOLINT
  Json(const std::map<std::string, std::string>& v);               // NOLINT

  static Json MakeArray() { return Json(Array{}); }
  static Json MakeObject(std::initializer_list<Member> members = {}) { return Json(Object(members)); }

  bool is_null() const { return value_.index() == 0; }
  bool is_bool() const { return value_.index() == 1; }
  bool is_int() const { return value_.index() == 2; }
  bool is_double() const { return value_.index() == 3; }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return value_.index() == 4; }
  bool is_array() const { return value_.index() == 5; }
  bool is_object() const { return value_.index() == 6; }
  // "null", "a boolean", "a number", "a string", "a list", "an object": for error messages.
  const char* TypeName() const;

  // REQUIRES: the matching is_...().
  bool as_bool() const { return std::get<bool>(value_); }
  int64_t as_int() const;  // a double is truncated
  double as_double() const;
  const std::string& as_string() const { return std::get<std::string>(value_); }
  std::string& as_string() { return std::get<std::string>(value_); }
  const Array& as_array() const { return std::get<Array>(value_); }
  Array& as_array() { return std::get<Array>(value_); }
  const Object& as_object() const { return std::get<Object>(value_); }
  Object& as_object() { return std::get<Object>(value_); }

  // The member, or null when this is no object or has no such key.
  const Json* Find(std::string_view key) const;
  Json* Find(std::string_view key);
  // Member access with a default for "absent, null or of another type".
  std::string GetString(std::string_view key, std::string_view other = {}) const;
  int64_t GetInt(std::string_view key, int64_t other = 0) const;
  double GetDouble(std::string_view key, double other = 0) const;
  bool GetBool(std::string_view key, bool other = false) const;
  std::vector<std::string> GetStrings(std::string_view key) const;
  std::map<std::string, std::string> GetStringMap(std::string_view key) const;
  // Replaces or adds. A null becomes an object first. REQUIRES: an object or null. Returns *this.
  Json& Set(std::string_view key, Json value);
  // Adds at the end without looking for an equal key: for building large objects.
  Json& Add(std::string_view key, Json value);
  // Sets only when the value is not empty, so that documents stay small.
  Json& SetIf(std::string_view key, const std::string& value);
  void Erase(std::string_view key);
  // Appends. A null becomes an array first.
  void Push(Json value);

  // One line, no spaces. `DumpTo` appends.
  std::string Dump() const;
  void DumpTo(std::string& out) const;
  // Two spaces a level, for people.
  std::string DumpPretty() const;

  bool operator==(const Json&) const = default;

 private:
  void PrettyTo(std::string& out, int depth) const;
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// Appends `text` as a JSON string literal.
void AppendJsonString(std::string& out, std::string_view text);

// Reads one JSON document. Nesting over `max_depth` and anything after the document are errors; the message names line
// and column, `what` names the document ("the request body", "config.json"). Also reads NaN and Infinity as Python writes them.
Result<Json> ParseJson(std::string_view text, std::string_view what = "the JSON document", int max_depth = 64);

}  // namespace ferry
