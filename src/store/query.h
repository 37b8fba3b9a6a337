// What every implementation of Store shares: how values compare, which documents a condition holds for, what a cursor holds,
// and the checks a query or a change passes before a backend looks at it. Pure functions.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace ferry::store {

// The declared tables by name.
class Schema {
 public:
  // Aborts on a spec that names a table or column badly, twice, or an index over an unknown column.
  explicit Schema(std::vector<TableSpec> specs);

  const std::vector<TableSpec>& tables() const { return tables_; }
  // The table, or kInvalid "store.unknown_table".
  Result<const TableSpec*> Find(std::string_view table) const;

 private:
  std::vector<TableSpec> tables_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

// The field that is the key.
inline bool IsKey(const Field& field) { return field.kind.empty() && field.name == "key"; }
inline bool IsAbsent(const Value& value) { return value.index() == 0; }
inline bool IsText(const Value& value) { return value.index() == 3; }
inline bool IsNumber(const Value& value) { return value.index() == 1 || value.index() == 2; }

// Absent before numbers before texts; numbers by their exact value, texts bytewise.
std::weak_ordering Compare(const Value& a, const Value& b);
// A number that is no number cannot be ordered: NaN becomes absent.
Value Normalize(Value value);
// The value as a column of `type` keeps it, or kInvalid "store.bad_value": kReal takes whole numbers too.
Result<Value> NormalizeFor(const Column& column, Value value);

// Whether the condition holds for a document whose field has this value.
bool Holds(const Condition& condition, const Value& value);

// The column's place in the spec, or nothing for "key" and unknown names.
std::optional<size_t> ColumnIndex(const TableSpec& table, std::string_view name);

// kInvalid "query.unknown_field" or "query.bad_condition".
Result<void> CheckQuery(const TableSpec& table, const Query& query);
Result<void> CheckChange(const Schema& schema, const Change& change);

// Where a page ended.
struct Cursor {
  Value value;  // absent: among the documents without the order's value (or the order is by key)
  std::string key;
};
std::string EncodeCursor(const Order& order, const Cursor& cursor);
// kInvalid "query.bad_cursor" when it is damaged or of another order.
Result<Cursor> DecodeCursor(const TableSpec& table, const Order& order, std::string_view text);

// The smallest text greater than every text that begins with `prefix`; empty: there is none.
std::string PrefixEnd(std::string_view prefix);

}  // namespace ferry::store
