#include "store/query.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "base/text.h"

namespace ferry::store {

namespace {

bool IsIdentifier(std::string_view name) {
  if (name.empty() || name.size() > 60 || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

std::weak_ordering CompareIntReal(int64_t a, double b) {
  if (b >= 9223372036854775808.0) return std::weak_ordering::less;
  if (b < -9223372036854775808.0) return std::weak_ordering::greater;
  auto whole = static_cast<int64_t>(b);
  if (a != whole) return a < whole ? std::weak_ordering::less : std::weak_ordering::greater;
  double rest = b - static_cast<double>(whole);
  if (rest > 0) return std::weak_ordering::less;
  if (rest < 0) return std::weak_ordering::greater;
  return std::weak_ordering::equivalent;
}

int Rank(const Value& value) { return IsAbsent(value) ? 0 : IsNumber(value) ? 1 : 2; }

void PutText(std::string& out, std::string_view text) {
  out += StrCat(text.size(), ":");
  out += text;
}

std::optional<std::string> TakeText(std::string_view& in) {
  size_t colon = in.find(':');
  if (colon == std::string_view::npos || colon > 9) return std::nullopt;
  auto size = ParseInt(in.substr(0, colon));
  if (!size || *size < 0 || static_cast<size_t>(*size) > in.size() - colon - 1) return std::nullopt;
  std::string out(in.substr(colon + 1, static_cast<size_t>(*size)));
  in.remove_prefix(colon + 1 + static_cast<size_t>(*size));
  return out;
}

}  // namespace

Schema::Schema(std::vector<TableSpec> specs) : tables_(std::move(specs)) {
  for (size_t i = 0; i < tables_.size(); ++i) {
    const TableSpec& table = tables_[i];
    FERRY_CHECK(IsIdentifier(table.name) && !table.name.ends_with("_attribute") && !table.name.starts_with("sqlite_"));
    FERRY_CHECK(by_name_.emplace(table.name, i).second);
    std::set<std::string> names{"key", "body", "rowid", "oid", "_rowid_"};
    for (const Column& column : table.columns) FERRY_CHECK(IsIdentifier(column.name) && names.insert(column.name).second);
    for (const auto& index : table.indexes) {
      FERRY_CHECK(!index.empty());
      for (const std::string& name : index) FERRY_CHECK(ColumnIndex(table, name).has_value());
    }
  }
}

Result<const TableSpec*> Schema::Find(std::string_view table) const {
  auto found = by_name_.find(table);
  if (found == by_name_.end()) return MakeError(Code::kInvalid, "store.unknown_table", StrCat("there is no table \"", table, "\""));
  return &tables_[found->second];
}

std::weak_ordering Compare(const Value& a, const Value& b) {
  if (Rank(a) != Rank(b)) return Rank(a) <=> Rank(b);
  if (IsAbsent(a)) return std::weak_ordering::equivalent;
  if (IsText(a)) return std::get<std::string>(a).compare(std::get<std::string>(b)) <=> 0;
  const auto* ai = std::get_if<int64_t>(&a);
  const auto* bi = std::get_if<int64_t>(&b);
  if (ai && bi) return *ai <=> *bi;
  if (ai) return CompareIntReal(*ai, std::get<double>(b));
  if (bi) {
    auto reversed = CompareIntReal(*bi, std::get<double>(a));
    return reversed == 0 ? std::weak_ordering::equivalent : reversed < 0 ? std::weak_ordering::greater : std::weak_ordering::less;
  }
  double x = std::get<double>(a), y = std::get<double>(b);
  return x < y ? std::weak_ordering::less : x > y ? std::weak_ordering::greater : std::weak_ordering::equivalent;
}

Value Normalize(Value value) {
  if (const auto* real = std::get_if<double>(&value); real && std::isnan(*real)) return {};
  return value;
}

Result<Value> NormalizeFor(const Column& column, Value value) {
  value = Normalize(std::move(value));
  if (IsAbsent(value)) return value;
  switch (column.type) {
    case ColumnType::kInt:
      if (value.index() == 1) return value;
      break;
    case ColumnType::kReal:
      if (value.index() == 1) return Value(static_cast<double>(std::get<int64_t>(value)));
      if (value.index() == 2) return value;
      break;
    case ColumnType::kText:
      if (IsText(value)) return value;
      break;
  }
  return MakeError(Code::kInvalid, "store.bad_value", StrCat("a value of the wrong type for the column \"", column.name, "\""), column.name);
}

bool Holds(const Condition& condition, const Value& value) {
  switch (condition.op) {
    case Op::kExists: return !IsAbsent(value);
    case Op::kAbsent: return IsAbsent(value);
    case Op::kIn:
      for (const Value& wanted : condition.values)
        if (!IsAbsent(value) && !IsAbsent(Normalize(wanted)) && Compare(value, wanted) == 0) return true;
      return false;
    default: break;
  }
  Value wanted = Normalize(condition.values[0]);
  bool comparable = !IsAbsent(value) && Rank(value) == Rank(wanted);
  if (condition.op == Op::kNe) return !comparable || Compare(value, wanted) != 0;
  if (!comparable) return false;
  switch (condition.op) {
    case Op::kEq: return Compare(value, wanted) == 0;
    case Op::kLt: return Compare(value, wanted) < 0;
    case Op::kLe: return Compare(value, wanted) <= 0;
    case Op::kGt: return Compare(value, wanted) > 0;
    case Op::kGe: return Compare(value, wanted) >= 0;
    case Op::kPrefix: return IsText(value) && std::get<std::string>(value).starts_with(std::get<std::string>(wanted));
    case Op::kContains: return IsText(value) && std::get<std::string>(value).find(std::get<std::string>(wanted)) != std::string::npos;
    default: return false;
  }
}

std::optional<size_t> ColumnIndex(const TableSpec& table, std::string_view name) {
  for (size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == name) return i;
  return std::nullopt;
}

namespace {

Result<void> CheckField(const TableSpec& table, const Field& field) {
  if (!field.kind.empty() || IsKey(field) || ColumnIndex(table, field.name)) return {};
  return MakeError(Code::kInvalid, "query.unknown_field", StrCat("\"", table.name, "\" has no field \"", field.name, "\""), field.name);
}

}  // namespace

Result<void> CheckQuery(const TableSpec& table, const Query& query) {
  TRY_VOID(CheckField(table, query.order.field));
  for (const Condition& condition : query.where) {
    TRY_VOID(CheckField(table, condition.field));
    bool needs_value = condition.op != Op::kIn && condition.op != Op::kExists && condition.op != Op::kAbsent;
    if (needs_value && condition.values.empty())
      return MakeError(Code::kInvalid, "query.bad_condition", StrCat("the condition on \"", condition.field.name, "\" has no value"), condition.field.name);
    if (condition.values.size() > 1000)
      return MakeError(Code::kInvalid, "query.bad_condition", StrCat("the condition on \"", condition.field.name, "\" has more than 1,000 values"),
                       condition.field.name);
  }
  if (query.where.size() > 50) return MakeError(Code::kInvalid, "query.bad_condition", "the query has more than 50 conditions");
  return {};
}

Result<void> CheckChange(const Schema& schema, const Change& change) {
  if (const auto* put = std::get_if<Put>(&change)) {
    TRY(const TableSpec* table, schema.Find(put->table));
    if (put->document.columns.size() > table->columns.size())
      return MakeError(Code::kInvalid, "store.bad_value", StrCat("more values than \"", table->name, "\" has columns"));
    for (size_t i = 0; i < put->document.columns.size(); ++i)
      TRY_VOID([&]() -> Result<void> {
        auto value = NormalizeFor(table->columns[i], put->document.columns[i]);
        if (!value.ok()) return value.error();
        return {};
      }());
    return {};
  }
  const std::string& name = std::holds_alternative<Erase>(change) ? std::get<Erase>(change).table : std::get<PutAttributes>(change).table;
  TRY([[maybe_unused]] const TableSpec* table, schema.Find(name));
  return {};
}

std::string EncodeCursor(const Order& order, const Cursor& cursor) {
  std::string out = order.descending ? "1d" : "1a";
  PutText(out, order.field.kind);
  PutText(out, order.field.name);
  out += static_cast<char>('0' + cursor.value.index());
  if (const auto* whole = std::get_if<int64_t>(&cursor.value)) PutText(out, StrCat(*whole));
  if (const auto* real = std::get_if<double>(&cursor.value)) PutText(out, {reinterpret_cast<const char*>(real), sizeof *real});
  if (const auto* text = std::get_if<std::string>(&cursor.value)) PutText(out, *text);
  PutText(out, cursor.key);
  return ToHex(out);
}

Result<Cursor> DecodeCursor(const TableSpec& table, const Order& order, std::string_view text) {
  Error bad = MakeError(Code::kInvalid, "query.bad_cursor", "the cursor is not one of this query", "cursor");
  auto bytes = FromHex(text);
  if (!bytes || bytes->size() < 3) return bad;
  std::string_view in = *bytes;
  if (in.substr(0, 2) != (order.descending ? "1d" : "1a")) return bad;
  in.remove_prefix(2);
  auto kind = TakeText(in);
  auto name = TakeText(in);
  if (!kind || !name || *kind != order.field.kind || *name != order.field.name || in.empty()) return bad;
  int type = in[0] - '0';
  in.remove_prefix(1);
  Cursor cursor;
  if (type < 0 || type > 3) return bad;
  if (type != 0) {
    auto value = TakeText(in);
    if (!value) return bad;
    if (type == 1) {
      auto whole = ParseInt(*value);
      if (!whole) return bad;
      cursor.value = *whole;
    } else if (type == 2) {
      double real;
      if (value->size() != sizeof real) return bad;
      std::memcpy(&real, value->data(), sizeof real);
      if (std::isnan(real)) return bad;
      cursor.value = real;
    } else {
      cursor.value = *value;
    }
  }
  auto key = TakeText(in);
  if (!key || !in.empty()) return bad;
  cursor.key = *key;
  if (IsKey(order.field) && type != 0) return bad;
  if (auto column = order.field.kind.empty() ? ColumnIndex(table, order.field.name) : std::nullopt)
    if (!NormalizeFor(table.columns[*column], cursor.value).ok()) return bad;
  return cursor;
}

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xFF) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace ferry::store
