#include "store/sqlite/sqlite_store.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/text.h"
#include "sqlite/database.h"
#include "sqlite/pool.h"
#include "store/query.h"
#include "store/sqlite/plan.h"
#include "store/sqlite/schema.h"

namespace ferry::store {

using sqlite::QuoteIdentifier;
using sqlite::Statement;
using sqlite::Transaction;

namespace {

constexpr size_t kReaders = 3;
constexpr int64_t kWriterCache = 4 << 20;
constexpr int64_t kReaderCache = 4 << 20;
// A condition with fewer documents than this is read whole and sorted; others are tested along the order.
constexpr int64_t kFew = 2000;
// When a walk has cost this much without filling its page (the matches lie at the far end of the order), a condition with fewer
// documents than kMany is read whole instead.
constexpr int64_t kWalkWork = 200'000;
constexpr int64_t kMany = 20'000;

Value ReadValue(const Statement& row, int column) {
  switch (row.ColumnType(column)) {
    case sqlite::Type::kInt: return row.Int(column);
    case sqlite::Type::kReal: return row.Real(column);
    case sqlite::Type::kText: return std::string(row.Text(column));
    default: return {};
  }
}

void BindValue(Statement& statement, int parameter, const Value& value) {
  if (const auto* whole = std::get_if<int64_t>(&value))
    statement.BindInt(parameter, *whole);
  else if (const auto* real = std::get_if<double>(&value))
    statement.BindReal(parameter, *real);
  else if (const auto* text = std::get_if<std::string>(&value))
    statement.BindText(parameter, *text);
  else
    statement.BindNull(parameter);
}

// The statements that do not depend on a query, per table.
struct TableSql {
  explicit TableSql(const TableSpec& table) {
    std::string name = QuoteIdentifier(table.name), attributes = QuoteIdentifier(AttributeTable(table));
    get = "SELECT key, body";
    std::string columns = "key, body", places = "?1, ?2", updates = "body = excluded.body";
    int at = 3;
    for (const Column& column : table.columns) {
      std::string quoted = QuoteIdentifier(column.name);
      get += ", " + quoted;
      columns += ", " + quoted;
      places += StrCat(", ?", at++);
      updates += StrCat(", ", quoted, " = excluded.", quoted);
    }
    get += StrCat(" FROM ", name, " WHERE key = ?1");
    put = StrCat("INSERT INTO ", name, " (", columns, ") VALUES (", places, ") ON CONFLICT (key) DO UPDATE SET ", updates);
    exists = StrCat("SELECT 1 FROM ", name, " WHERE key = ?1");
    erase = StrCat("DELETE FROM ", name, " WHERE key = ?1");
    erase_attributes = StrCat("DELETE FROM ", attributes, " WHERE key = ?1");
    erase_kind = StrCat("DELETE FROM ", attributes, " WHERE key = ?1 AND kind = ?2");
    erase_attribute = StrCat("DELETE FROM ", attributes, " WHERE key = ?1 AND kind = ?2 AND name = ?3");
    put_attribute = StrCat("INSERT INTO ", attributes,
                           " (key, kind, name, value) VALUES (?1, ?2, ?3, ?4)"
                           " ON CONFLICT (key, kind, name) DO UPDATE SET value = excluded.value");
    list_attributes = StrCat("SELECT name, value FROM ", attributes, " WHERE key = ?1 AND kind = ?2 ORDER BY name");
  }

  std::string get, put, exists, erase, erase_attributes, erase_kind, erase_attribute, put_attribute, list_attributes;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(Schema schema, std::unique_ptr<sqlite::Database> writer)
      : schema_(std::move(schema)), writer_(std::move(writer)), readers_(writer_->path(), {.slug = "store", .cache_bytes = kReaderCache}, kReaders) {
    for (const TableSpec& table : schema_.tables()) sql_.emplace(table.name, TableSql(table));
  }

  Result<void> Commit(std::span<const Change> changes) override {
    for (const Change& change : changes) TRY_VOID(CheckChange(schema_, change));
    if (changes.empty()) return {};
    std::lock_guard lock(write_mutex_);
    TRY(auto transaction, Transaction::Begin(*writer_, Transaction::Mode::kWrite));
    for (const Change& change : changes) TRY_VOID(std::visit([&](const auto& one) { return Apply(one); }, change));
    return transaction.Commit();
  }

  Result<std::optional<Document>> Get(std::string_view table, std::string_view key) override {
    TRY(const TableSpec* spec, schema_.Find(table));
    TRY(auto reader, readers_.Take());
    return Load(*reader, *spec, key);
  }

  Result<Page> Find(const Query& query) override {
    TRY(const TableSpec* spec, schema_.Find(query.table));
    TRY_VOID(CheckQuery(*spec, query));
    std::optional<Cursor> after;
    if (!query.cursor.empty()) {
      TRY(after, DecodeCursor(*spec, query.order, query.cursor));
    }
    Page page;
    if (query.limit == 0 || HoldsNever(*spec, query)) return page;
    TRY(auto reader, readers_.Take());
    TRY(auto transaction, Transaction::Begin(*reader, Transaction::Mode::kRead));
    // One more than asked for tells whether there is a next page.
    auto wanted = static_cast<int64_t>(std::min<size_t>(query.limit, 1u << 30)) + 1;
    TRY(std::vector<Cursor> found, FindKeys(*reader, *spec, query, after, wanted));
    if (static_cast<int64_t>(found.size()) == wanted) {
      found.pop_back();
      page.next = EncodeCursor(query.order, found.back());
    }
    page.documents.reserve(found.size());
    for (const Cursor& one : found) {
      TRY(auto document, Load(*reader, *spec, one.key));
      FERRY_CHECK(document.has_value());
      page.documents.push_back(std::move(*document));
    }
    return page;
  }

  Result<std::vector<std::pair<Value, int64_t>>> Count(const Query& query, const std::string& group) override {
    TRY(const TableSpec* spec, schema_.Find(query.table));
    Query counted = query;
    counted.order = {{"", group.empty() ? "key" : group}, false};
    TRY_VOID(CheckQuery(*spec, counted));
    std::vector<std::pair<Value, int64_t>> counts;
    if (HoldsNever(*spec, query)) {
      if (group.empty()) counts.emplace_back(Value(), 0);
      return counts;
    }
    TRY(auto reader, readers_.Take());
    TRY(auto transaction, Transaction::Begin(*reader, Transaction::Mode::kRead));
    TRY(auto drives, Probe(*reader, *spec, query, kFew));
    Sql sql = CompileCount(*spec, query, group, drives.best);
    TRY(auto statement, reader->Prepare(sql.text));
    sql.BindTo(statement);
    for (;;) {
      TRY(bool row, statement.Step());
      if (!row) break;
      counts.emplace_back(ReadValue(statement, 0), statement.Int(1));
    }
    if (!group.empty() && !counts.empty() && IsAbsent(counts[0].first)) std::rotate(counts.begin(), counts.begin() + 1, counts.end());
    return counts;
  }

  Result<std::vector<Attribute>> Attributes(std::string_view table, std::string_view key, std::string_view kind) override {
    TRY(const TableSpec* spec, schema_.Find(table));
    TRY(auto reader, readers_.Take());
    TRY(auto statement, reader->Prepare(sql_.at(spec->name).list_attributes));
    statement.BindText(1, key).BindText(2, kind);
    std::vector<Attribute> attributes;
    for (;;) {
      TRY(bool row, statement.Step());
      if (!row) break;
      attributes.push_back({std::string(kind), std::string(statement.Text(0)), ReadValue(statement, 1)});
    }
    return attributes;
  }

 private:
  // The condition with the fewest documents, as far as counted.
  struct Drives {
    const Condition* best = nullptr;
    int64_t count = 0;
  };

  static bool HoldsNever(const TableSpec& spec, const Query& query) {
    return std::any_of(query.where.begin(), query.where.end(), [&](const Condition& condition) { return IsNever(spec, condition); });
  }

  static Result<Drives> Probe(sqlite::Database& reader, const TableSpec& spec, const Query& query, int64_t most) {
    Drives drives;
    for (const Condition& condition : query.where) {
      if (!CanDrive(spec, condition)) continue;
      Sql sql = CompileProbe(spec, condition, drives.best ? drives.count : most);
      TRY(auto statement, reader.Prepare(sql.text));
      sql.BindTo(statement);
      TRY([[maybe_unused]] bool row, statement.Step());
      if (int64_t count = statement.Int(0); !drives.best || count < drives.count) drives = {&condition, count};
      if (drives.count == 0) break;
    }
    return drives;
  }

  static Result<std::vector<Cursor>> FindKeys(sqlite::Database& reader, const TableSpec& spec, const Query& query, const std::optional<Cursor>& after,
                                              int64_t wanted) {
    if (WalkIsExact(spec, query)) return ReadParts(reader, spec, query, after, nullptr, wanted);
    TRY(Drives drives, Probe(reader, spec, query, kFew));
    if (!drives.best || drives.count < kFew || !CanWalk(spec, query)) return ReadParts(reader, spec, query, after, drives.best, wanted);
    reader.LimitWork(kWalkWork);
    auto walked = ReadParts(reader, spec, query, after, nullptr, wanted);
    reader.LimitWork(0);
    if (walked.ok() || walked.error().code != Code::kTimeout) return walked;
    TRY(drives, Probe(reader, spec, query, kMany));
    return ReadParts(reader, spec, query, after, drives.count < kMany ? drives.best : nullptr, wanted);
  }

  // The keys of one page: the part with the order's value, then the part without. `drive`: null to walk.
  static Result<std::vector<Cursor>> ReadParts(sqlite::Database& reader, const TableSpec& spec, const Query& query, std::optional<Cursor> after,
                                               const Condition* drive, int64_t wanted) {
    std::vector<Cursor> found;
    bool by_key = IsKey(query.order.field);
    bool skip_present = !by_key && after && IsAbsent(after->value);
    if (!skip_present) {
      TRY_VOID(ReadKeys(reader, CompileKeys(spec, query, Part::kPresent, after, drive, wanted), found));
      after.reset();
    }
    if (auto left = wanted - static_cast<int64_t>(found.size()); !by_key && left > 0)
      TRY_VOID(ReadKeys(reader, CompileKeys(spec, query, Part::kAbsent, after, drive, left), found));
    return found;
  }

  static Result<void> ReadKeys(sqlite::Database& reader, const Sql& sql, std::vector<Cursor>& found) {
    TRY(auto statement, reader.Prepare(sql.text));
    sql.BindTo(statement);
    for (;;) {
      TRY(bool row, statement.Step());
      if (!row) return {};
      found.push_back({ReadValue(statement, 0), std::string(statement.Text(1))});
    }
  }

  Result<std::optional<Document>> Load(sqlite::Database& reader, const TableSpec& spec, std::string_view key) {
    TRY(auto statement, reader.Prepare(sql_.at(spec.name).get));
    statement.BindText(1, key);
    TRY(bool row, statement.Step());
    if (!row) return std::optional<Document>();
    Document document{std::string(statement.Text(0)), std::string(statement.Blob(1)), {}};
    document.columns.reserve(spec.columns.size());
    for (size_t i = 0; i < spec.columns.size(); ++i) document.columns.push_back(ReadValue(statement, static_cast<int>(i) + 2));
    return std::optional(std::move(document));
  }

  Result<void> RunWith(const std::string& sql, std::initializer_list<std::string_view> texts) {
    TRY(auto statement, writer_->Prepare(sql));
    int at = 1;
    for (std::string_view text : texts) statement.BindText(at++, text);
    return statement.Run();
  }

  Result<void> SetAttributes(const TableSql& sql, const std::string& key, const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      Value value = Normalize(attribute.value);
      if (IsAbsent(value)) {
        TRY_VOID(RunWith(sql.erase_attribute, {key, attribute.kind, attribute.name}));
        continue;
      }
      TRY(auto statement, writer_->Prepare(sql.put_attribute));
      statement.BindText(1, key).BindText(2, attribute.kind).BindText(3, attribute.name);
      BindValue(statement, 4, value);
      TRY_VOID(statement.Run());
    }
    return {};
  }

  Result<void> Apply(const Put& put) {
    const TableSpec& spec = **schema_.Find(put.table);
    const TableSql& sql = sql_.at(put.table);
    {
      TRY(auto statement, writer_->Prepare(sql.put));
      statement.BindText(1, put.document.key).BindBlob(2, put.document.body);
      for (size_t i = 0; i < put.document.columns.size(); ++i) {
        TRY(Value value, NormalizeFor(spec.columns[i], put.document.columns[i]));
        BindValue(statement, static_cast<int>(i) + 3, value);
      }
      TRY_VOID(statement.Run());
    }
    for (const std::string& kind : put.attribute_kinds) TRY_VOID(RunWith(sql.erase_kind, {put.document.key, kind}));
    return SetAttributes(sql, put.document.key, put.attributes);
  }

  Result<void> Apply(const PutAttributes& put) {
    const TableSql& sql = sql_.at(put.table);
    {
      TRY(auto statement, writer_->Prepare(sql.exists));
      statement.BindText(1, put.key);
      TRY(bool row, statement.Step());
      if (!row) return {};
    }
    return SetAttributes(sql, put.key, put.attributes);
  }

  Result<void> Apply(const Erase& erase) {
    const TableSql& sql = sql_.at(erase.table);
    TRY_VOID(RunWith(sql.erase_attributes, {erase.key}));
    return RunWith(sql.erase, {erase.key});
  }

  const Schema schema_;
  std::map<std::string, TableSql, std::less<>> sql_;
  std::mutex write_mutex_;
  std::unique_ptr<sqlite::Database> writer_;
  sqlite::ReaderPool readers_;
};

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(std::string path, std::vector<TableSpec> tables) {
  Schema schema(std::move(tables));
  TRY(auto writer, sqlite::Database::Open(path, {.slug = "store", .cache_bytes = kWriterCache}));
  TRY_VOID(PrepareSchema(*writer, schema, Migrations()));
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(std::move(schema), std::move(writer)));
}

}  // namespace ferry::store
