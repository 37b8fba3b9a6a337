#include "store/sqlite/plan.h"

#include <algorithm>

#include "base/text.h"
#include "store/sqlite/schema.h"

namespace ferry::store {

using sqlite::QuoteIdentifier;

namespace {

std::optional<ColumnType> TypeOf(const TableSpec& table, const Field& field) {
  if (!field.kind.empty()) return std::nullopt;
  if (IsKey(field)) return ColumnType::kText;
  return table.columns[*ColumnIndex(table, field.name)].type;
}

bool Comparable(std::optional<ColumnType> type, const Value& value) {
  if (IsAbsent(Normalize(value))) return false;
  return !type || (*type == ColumnType::kText) == IsText(value);
}

// A statement under construction.
class Writer {
 public:
  explicit Writer(const TableSpec& table) : table_(table) {}

  Writer& operator<<(std::string_view text) {
    sql_.text += text;
    return *this;
  }
  std::string Bind(Value value, bool blob = false) {
    sql_.parameters.push_back({std::move(value), blob});
    return StrCat("?", sql_.parameters.size());
  }
  Sql Take() { return std::move(sql_); }

  std::string Documents(const std::string& index) const {
    return StrCat(QuoteIdentifier(table_.name), " r", index.empty() ? "" : " INDEXED BY ", index.empty() ? "" : QuoteIdentifier(index));
  }
  std::string Attributes(const char* alias) const {
    return StrCat(QuoteIdentifier(AttributeTable(table_)), " ", alias, " INDEXED BY ", QuoteIdentifier(AttributeIndexName(table_)));
  }
  // "alias.kind = ? AND alias.name = ?".
  std::string Named(const char* alias, const Field& field) {
    std::string kind = Bind(field.kind);
    return StrCat(alias, ".kind = ", kind, " AND ", alias, ".name = ", Bind(field.name));
  }
  // The comparison of `x`, a column of `type` or a value of any type (which is never null).
  std::string Comparison(const std::string& x, std::optional<ColumnType> type, const Condition& condition);
  // The condition on the document whose key is `key`; its columns are r's.
  std::string Test(const std::string& key, const Condition& condition);
  std::string Present(const std::string& x, ColumnType type) const { return x + (type == ColumnType::kText ? " >= ''" : " >= -9e999"); }

 private:
  const TableSpec& table_;
  Sql sql_;
};

std::string Writer::Comparison(const std::string& x, std::optional<ColumnType> type, const Condition& condition) {
  switch (condition.op) {
    case Op::kExists: return type ? Present(x, *type) : "1";
    case Op::kAbsent: return x + " IS NULL";
    case Op::kIn: {
      std::string list;
      for (const Value& value : condition.values)
        if (Comparable(type, value)) list += StrCat(list.empty() ? "" : ", ", Bind(value));
      return list.empty() ? "0" : StrCat(x, " IN (", list, ")");
    }
    default: break;
  }
  const Value& wanted = condition.values[0];
  if (!Comparable(type, wanted)) return condition.op == Op::kNe ? "1" : "0";
  bool text = IsText(wanted);
  switch (condition.op) {
    case Op::kEq: return StrCat(x, " = ", Bind(wanted));
    case Op::kNe: return StrCat(x, " IS NOT ", Bind(wanted));
    case Op::kLt:
    case Op::kLe: {
      std::string compared = StrCat(x, condition.op == Op::kLt ? " < " : " <= ", Bind(wanted));
      return !type && text ? StrCat("(", x, " >= '' AND ", compared, ")") : compared;
    }
    case Op::kGt:
    case Op::kGe: {
      std::string compared = StrCat(x, condition.op == Op::kGt ? " > " : " >= ", Bind(wanted));
      return !type && !text ? StrCat("(", x, " < '' AND ", compared, ")") : compared;
    }
    case Op::kPrefix: {
      if (!text) return "0";
      std::string end = PrefixEnd(std::get<std::string>(wanted));
      std::string from = StrCat(x, " >= ", Bind(wanted));
      return end.empty() ? from : StrCat("(", from, " AND ", x, " < ", Bind(end), ")");
    }
    case Op::kContains: {
      if (!text) return "0";
      std::string found = StrCat("instr(CAST(", x, " AS BLOB), ", Bind(wanted, true), ") > 0");
      return type ? found : StrCat("(", x, " >= '' AND ", found, ")");
    }
    default: return "0";
  }
}

std::string Writer::Test(const std::string& key, const Condition& condition) {
  const Field& field = condition.field;
  if (field.kind.empty()) {
    std::string x = IsKey(field) ? key : "r." + QuoteIdentifier(field.name);
    return Comparison(x, TypeOf(table_, field), condition);
  }
  bool negated = condition.op == Op::kAbsent || condition.op == Op::kNe;
  Condition inner = condition;
  if (condition.op == Op::kAbsent) inner.op = Op::kExists;
  if (condition.op == Op::kNe) inner.op = Op::kEq;
  std::string named = Named("a", field);
  return StrCat(negated ? "NOT EXISTS" : "EXISTS", " (SELECT 1 FROM ", QuoteIdentifier(AttributeTable(table_)), " a WHERE a.key = ", key, " AND ", named,
                " AND ", Comparison("a.value", std::nullopt, inner), ")");
}

bool HasEqual(const TableSpec& table, const Query& query, const std::string& column) {
  return std::any_of(query.where.begin(), query.where.end(), [&](const Condition& condition) {
    return condition.op == Op::kEq && condition.field == Field{"", column} && Comparable(TypeOf(table, condition.field), condition.values[0]);
  });
}

// How many leading columns of the index are fixed by equality when the rest of it is `order` (a column, or the key); nothing
// when the index does not have that order.
std::optional<size_t> FixedPrefix(const TableSpec& table, const Query& query, const std::vector<std::string>& index, const Field& order) {
  size_t fixed = 0;
  while (fixed < index.size() && HasEqual(table, query, index[fixed])) {
    if (!IsKey(order) && index[fixed] == order.name) break;
    ++fixed;
  }
  size_t left = index.size() - fixed;
  if (IsKey(order) ? left == 0 : left == 1 && index[fixed] == order.name) return fixed;
  return std::nullopt;
}

struct WalkPath {
  std::string index;               // empty: none has the order
  std::vector<std::string> fixed;  // its leading columns that conditions fix
};

// The index with the order of `order` (a column or the key) and the longest fixed prefix.
WalkPath FindWalk(const TableSpec& table, const Query& query, const Field& order) {
  WalkPath best;
  if (IsKey(order)) best.index = KeyIndexName(table);
  for (const auto& index : IndexesOf(table)) {
    auto fixed = FixedPrefix(table, query, index, order);
    if (!fixed || (!best.index.empty() && *fixed <= best.fixed.size())) continue;
    best.index = IndexName(table, index);
    best.fixed.assign(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(*fixed));
  }
  return best;
}

// The shortest index that begins with the column; empty: none.
std::string LeadingIndex(const TableSpec& table, const Field& field) {
  if (IsKey(field)) return KeyIndexName(table);
  std::string best;
  size_t size = 0;
  for (const auto& index : IndexesOf(table)) {
    if (index[0] != field.name || (!best.empty() && index.size() >= size)) continue;
    best = IndexName(table, index);
    size = index.size();
  }
  return best;
}

bool NeedsDocument(const Query& query, const Condition* drive) {
  if (drive && drive->field.kind.empty()) return true;
  return std::any_of(query.where.begin(), query.where.end(),
                     [](const Condition& condition) { return condition.field.kind.empty() && !IsKey(condition.field); });
}

}  // namespace

void Sql::BindTo(sqlite::Statement& statement) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    int at = static_cast<int>(i) + 1;
    const Value& value = parameters[i].value;
    if (const auto* whole = std::get_if<int64_t>(&value))
      statement.BindInt(at, *whole);
    else if (const auto* real = std::get_if<double>(&value))
      statement.BindReal(at, *real);
    else if (const auto* text = std::get_if<std::string>(&value); text && parameters[i].blob)
      statement.BindBlob(at, *text);
    else if (text)
      statement.BindText(at, *text);
    else
      statement.BindNull(at);
  }
}

bool IsNever(const TableSpec& table, const Condition& condition) {
  auto type = TypeOf(table, condition.field);
  switch (condition.op) {
    case Op::kExists:
    case Op::kNe: return false;
    case Op::kAbsent: return IsKey(condition.field);
    case Op::kIn: return std::none_of(condition.values.begin(), condition.values.end(), [&](const Value& value) { return Comparable(type, value); });
    case Op::kPrefix:
    case Op::kContains: return !Comparable(type, condition.values[0]) || !IsText(condition.values[0]);
    default: return !Comparable(type, condition.values[0]);
  }
}

bool CanDrive(const TableSpec& table, const Condition& condition) {
  if (condition.op == Op::kNe || condition.op == Op::kAbsent) return false;
  if (!condition.field.kind.empty()) return true;
  return condition.op != Op::kContains && !LeadingIndex(table, condition.field).empty();
}

bool CanWalk(const TableSpec& table, const Query& query) { return !query.order.field.kind.empty() || !FindWalk(table, query, query.order.field).index.empty(); }

bool WalkIsExact(const TableSpec& table, const Query& query) {
  const Field& order = query.order.field;
  WalkPath walk;
  if (order.kind.empty()) {
    walk = FindWalk(table, query, order);
    if (walk.index.empty()) return false;
  }
  return std::all_of(query.where.begin(), query.where.end(), [&](const Condition& condition) {
    if (condition.field == order) return CanDrive(table, condition) && condition.op != Op::kContains;
    return condition.op == Op::kEq && condition.field.kind.empty() && std::find(walk.fixed.begin(), walk.fixed.end(), condition.field.name) != walk.fixed.end();
  });
}

Sql CompileProbe(const TableSpec& table, const Condition& condition, int64_t most) {
  Writer out(table);
  out << "SELECT count(*) FROM (SELECT 1 FROM ";
  if (condition.field.kind.empty()) {
    out << out.Documents(LeadingIndex(table, condition.field)) << " WHERE " << out.Test("r.key", condition);
  } else {
    out << out.Attributes("d") << " WHERE " << out.Named("d", condition.field);
    out << " AND " << out.Comparison("d.value", std::nullopt, condition);
  }
  out << " LIMIT " << out.Bind(most) << ")";
  return out.Take();
}

Sql CompileKeys(const TableSpec& table, const Query& query, Part part, const std::optional<Cursor>& after, const Condition* drive, int64_t limit) {
  const Field& order = query.order.field;
  bool by_key = IsKey(order), by_attribute = !order.kind.empty(), present = part == Part::kPresent;
  // The part without the order's value is ordered by key alone.
  bool sorted_by_value = !by_key && present;
  bool by_value_attribute = by_attribute && sorted_by_value;
  Field walked = by_attribute || by_key ? Field{"", "key"} : order;

  Writer out(table);
  std::string value = !sorted_by_value ? "NULL" : by_attribute ? "o.value" : "r." + QuoteIdentifier(order.name);
  std::string key, from;
  std::vector<std::string> tests;
  if (drive && !drive->field.kind.empty()) {
    key = "d.key";
    from = out.Attributes("d");
    tests.push_back(out.Named("d", drive->field));
    tests.push_back(out.Comparison("d.value", std::nullopt, *drive));
    if (NeedsDocument(query, drive) || (!by_attribute && !by_key)) {
      from += " CROSS JOIN " + out.Documents({});
      tests.push_back("r.key = d.key");
    }
  } else if (drive) {
    key = "r.key";
    from = out.Documents(LeadingIndex(table, drive->field));
  } else if (by_value_attribute) {
    key = "o.key";
    from = out.Attributes("o");
    tests.push_back(out.Named("o", order));
    if (NeedsDocument(query, nullptr)) {
      from += " CROSS JOIN " + out.Documents({});
      tests.push_back("r.key = o.key");
    }
  } else {
    key = "r.key";
    from = out.Documents(FindWalk(table, query, walked).index);
  }
  if (drive && by_value_attribute) {
    from += StrCat(" CROSS JOIN ", QuoteIdentifier(AttributeTable(table)), " o");
    tests.push_back(StrCat("o.key = ", key, " AND ", out.Named("o", order)));
  }

  for (const Condition& condition : query.where) {
    if (&condition == drive && !drive->field.kind.empty()) continue;
    bool on_order = by_value_attribute && condition.field == order && condition.op != Op::kAbsent && condition.op != Op::kNe;
    tests.push_back(on_order ? out.Comparison("o.value", std::nullopt, condition) : out.Test(key, condition));
  }
  if (!by_key && !by_attribute) {
    ColumnType type = *TypeOf(table, order);
    tests.push_back(present ? out.Present(value, type) : StrCat("r.", QuoteIdentifier(order.name), " IS NULL"));
  }
  if (by_attribute && !present) tests.push_back(out.Test(key, {order, Op::kAbsent, {}}));
  const char* beyond = query.order.descending ? " < " : " > ";
  const char* direction = query.order.descending ? " DESC" : "";
  if (after) {
    if (sorted_by_value) {
      std::string last = out.Bind(after->value);
      tests.push_back(StrCat("(", value, ", ", key, ")", beyond, "(", last, ", ", out.Bind(after->key), ")"));
    } else {
      tests.push_back(StrCat(key, beyond, out.Bind(after->key)));
    }
  }
  out << "SELECT " << value << ", " << key << " FROM " << from;
  if (!tests.empty()) out << " WHERE " << Join(tests, " AND ");
  out << " ORDER BY ";
  if (sorted_by_value) out << value << direction << ", ";
  out << key << direction << " LIMIT " << out.Bind(limit);
  return out.Take();
}

Sql CompileCount(const TableSpec& table, const Query& query, const std::string& group, const Condition* drive) {
  Writer out(table);
  std::string from, key = "r.key";
  std::vector<std::string> tests;
  bool by_attribute = drive && !drive->field.kind.empty();
  std::string value = group.empty() ? "NULL" : group == "key" ? key : "r." + QuoteIdentifier(group);
  if (by_attribute) {
    key = "d.key";
    from = out.Attributes("d");
    tests.push_back(out.Named("d", drive->field));
    tests.push_back(out.Comparison("d.value", std::nullopt, *drive));
    if (NeedsDocument(query, drive) || !group.empty()) {
      from += " CROSS JOIN " + out.Documents({});
      tests.push_back("r.key = d.key");
    }
  } else {
    // An index that holds every column asked for is counted without reading a document.
    Query grouped = query;
    grouped.order.field = {"", group.empty() ? "key" : group};
    bool exact = !group.empty() && WalkIsExact(table, grouped);
    from = out.Documents(exact ? FindWalk(table, grouped, grouped.order.field).index : drive ? LeadingIndex(table, drive->field) : std::string());
  }
  for (const Condition& condition : query.where)
    if (&condition != drive || !by_attribute) tests.push_back(out.Test(key, condition));
  out << "SELECT " << value << ", count(*) FROM " << from;
  if (!tests.empty()) out << " WHERE " << Join(tests, " AND ");
  if (!group.empty()) out << " GROUP BY 1 ORDER BY 1";
  return out.Take();
}

}  // namespace ferry::store
