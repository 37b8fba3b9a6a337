#include "store/memory/memory_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "store/query.h"

namespace ferry::store {

namespace {

struct Row {
  std::string body;
  std::vector<Value> columns;
  std::map<std::pair<std::string, std::string>, Value> attributes;  // by kind and name
};

using Table = std::map<std::string, Row, std::less<>>;
using Entry = Table::value_type;

Value FieldValue(const TableSpec& spec, const Field& field, const Entry& entry) {
  if (!field.kind.empty()) {
    auto found = entry.second.attributes.find({field.kind, field.name});
    return found == entry.second.attributes.end() ? Value() : found->second;
  }
  if (field.name == "key") return entry.first;
  return entry.second.columns[*ColumnIndex(spec, field.name)];
}

bool Matches(const TableSpec& spec, const Query& query, const Entry& entry) {
  return std::all_of(query.where.begin(), query.where.end(),
                     [&](const Condition& condition) { return Holds(condition, FieldValue(spec, condition.field, entry)); });
}

// Whether `a` stands before `b`: absent values last in both directions, ties by key.
bool Before(bool descending, const Value& a, std::string_view a_key, const Value& b, std::string_view b_key) {
  if (IsAbsent(a) != IsAbsent(b)) return IsAbsent(b);
  auto order = Compare(a, b);
  if (order == 0) return descending ? a_key > b_key : a_key < b_key;
  return descending ? order > 0 : order < 0;
}

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::vector<TableSpec> specs) : schema_(std::move(specs)) {
    for (const TableSpec& spec : schema_.tables()) tables_[spec.name];
  }

  Result<void> Commit(std::span<const Change> changes) override {
    for (const Change& change : changes) TRY_VOID(CheckChange(schema_, change));
    std::lock_guard lock(mutex_);
    for (const Change& change : changes) std::visit([&](const auto& one) { Apply(one); }, change);
    return {};
  }

  Result<std::optional<Document>> Get(std::string_view table, std::string_view key) override {
    TRY(const TableSpec* spec, schema_.Find(table));
    std::lock_guard lock(mutex_);
    const Table& rows = tables_.at(spec->name);
    auto found = rows.find(key);
    if (found == rows.end()) return std::optional<Document>();
    return std::optional(ToDocument(*found));
  }

  Result<Page> Find(const Query& query) override {
    TRY(const TableSpec* spec, schema_.Find(query.table));
    TRY_VOID(CheckQuery(*spec, query));
    std::optional<Cursor> after;
    if (!query.cursor.empty()) {
      TRY(after, DecodeCursor(*spec, query.order, query.cursor));
    }
    bool by_key = IsKey(query.order.field);
    bool descending = query.order.descending;
    std::lock_guard lock(mutex_);
    struct Found {
      Value value;
      const Entry* entry;
    };
    std::vector<Found> found;
    for (const Entry& entry : tables_.at(spec->name)) {
      if (!Matches(*spec, query, entry)) continue;
      Value value = by_key ? Value() : FieldValue(*spec, query.order.field, entry);
      if (after && !Before(descending, after->value, after->key, value, entry.first)) continue;
      found.push_back({std::move(value), &entry});
    }
    std::sort(found.begin(), found.end(), [&](const Found& a, const Found& b) { return Before(descending, a.value, a.entry->first, b.value, b.entry->first); });
    Page page;
    for (size_t i = 0; i < found.size() && i < query.limit; ++i) page.documents.push_back(ToDocument(*found[i].entry));
    if (query.limit > 0 && found.size() > query.limit) {
      Found& last = found[query.limit - 1];
      page.next = EncodeCursor(query.order, {std::move(last.value), last.entry->first});
    }
    return page;
  }

  Result<std::vector<std::pair<Value, int64_t>>> Count(const Query& query, const std::string& group) override {
    TRY(const TableSpec* spec, schema_.Find(query.table));
    Query counted = query;
    counted.order = {{"", group.empty() ? "key" : group}, false};
    TRY_VOID(CheckQuery(*spec, counted));
    auto less = [](const Value& a, const Value& b) {
      if (IsAbsent(a) != IsAbsent(b)) return IsAbsent(b);
      return Compare(a, b) < 0;
    };
    std::map<Value, int64_t, decltype(less)> counts(less);
    if (group.empty()) counts[Value()] = 0;
    std::lock_guard lock(mutex_);
    for (const Entry& entry : tables_.at(spec->name))
      if (Matches(*spec, query, entry)) ++counts[group.empty() ? Value() : FieldValue(*spec, {"", group}, entry)];
    return std::vector<std::pair<Value, int64_t>>(counts.begin(), counts.end());
  }

  Result<std::vector<Attribute>> Attributes(std::string_view table, std::string_view key, std::string_view kind) override {
    TRY(const TableSpec* spec, schema_.Find(table));
    std::lock_guard lock(mutex_);
    std::vector<Attribute> attributes;
    const Table& rows = tables_.at(spec->name);
    if (auto found = rows.find(key); found != rows.end())
      for (const auto& [name, value] : found->second.attributes)
        if (name.first == kind) attributes.push_back({name.first, name.second, value});
    return attributes;
  }

 private:
  static Document ToDocument(const Entry& entry) { return {entry.first, entry.second.body, entry.second.columns}; }

  static void SetAttributes(Row& row, const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      Value value = Normalize(attribute.value);
      if (IsAbsent(value))
        row.attributes.erase({attribute.kind, attribute.name});
      else
        row.attributes[{attribute.kind, attribute.name}] = std::move(value);
    }
  }

  void Apply(const Put& put) {
    const TableSpec& spec = **schema_.Find(put.table);
    Row& row = tables_.at(put.table)[put.document.key];
    row.body = put.document.body;
    row.columns.assign(spec.columns.size(), Value());
    for (size_t i = 0; i < put.document.columns.size(); ++i) row.columns[i] = *NormalizeFor(spec.columns[i], put.document.columns[i]);
    std::erase_if(row.attributes, [&](const auto& attribute) {
      return std::find(put.attribute_kinds.begin(), put.attribute_kinds.end(), attribute.first.first) != put.attribute_kinds.end();
    });
    SetAttributes(row, put.attributes);
  }

  void Apply(const PutAttributes& put) {
    Table& rows = tables_.at(put.table);
    if (auto found = rows.find(put.key); found != rows.end()) SetAttributes(found->second, put.attributes);
  }

  void Apply(const Erase& erase) { tables_.at(erase.table).erase(erase.key); }

  const Schema schema_;
  mutable std::mutex mutex_;
  std::map<std::string, Table> tables_;
};

}  // namespace

std::unique_ptr<Store> OpenMemoryStore(std::vector<TableSpec> tables) { return std::make_unique<MemoryStore>(std::move(tables)); }

}  // namespace ferry::store
