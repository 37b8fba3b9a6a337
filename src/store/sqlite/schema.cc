#include "store/sqlite/schema.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace ferry::store {

using sqlite::QuoteIdentifier;

namespace {

const char* TypeName(ColumnType type) {
  switch (type) {
    case ColumnType::kInt: return "INTEGER";
    case ColumnType::kReal: return "REAL";
    case ColumnType::kText: return "TEXT";
  }
  return "TEXT";
}

Result<void> PrepareColumns(sqlite::Database& database, const TableSpec& table) {
  std::map<std::string, std::string> present;
  {
    TRY(auto info, database.Prepare("SELECT name, type FROM pragma_table_info(?)"));
    info.BindText(1, table.name);
    for (;;) {
      TRY(bool row, info.Step());
      if (!row) break;
      present[std::string(info.Text(0))] = info.Text(1);
    }
  }
  std::string name = QuoteIdentifier(table.name);
  if (present.empty()) {
    std::string sql = StrCat("CREATE TABLE ", name, " (key TEXT NOT NULL PRIMARY KEY");
    for (const Column& column : table.columns) sql += StrCat(", ", QuoteIdentifier(column.name), " ", TypeName(column.type));
    return database.Exec(sql + ", body BLOB NOT NULL)");
  }
  for (const Column& column : table.columns) {
    auto found = present.find(column.name);
    if (found == present.end()) {
      TRY_VOID(database.Exec(StrCat("ALTER TABLE ", name, " ADD COLUMN ", QuoteIdentifier(column.name), " ", TypeName(column.type))));
    } else if (found->second != TypeName(column.type)) {
      return MakeError(Code::kConflict, "store.column_type",
                       StrCat("the column ", table.name, ".", column.name, " of ", database.path(), " is ", found->second, " and not ", TypeName(column.type)));
    }
  }
  return {};
}

Result<void> PrepareIndexes(sqlite::Database& database, const TableSpec& table) {
  std::set<std::string> wanted;
  for (const auto& columns : IndexesOf(table)) wanted.insert(IndexName(table, columns));
  std::set<std::string> present;
  {
    TRY(auto list, database.Prepare("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"));
    list.BindText(1, table.name);
    for (;;) {
      TRY(bool row, list.Step());
      if (!row) break;
      present.emplace(list.Text(0));
    }
  }
  for (const std::string& name : present)
    if (!wanted.contains(name)) TRY_VOID(database.Exec(StrCat("DROP INDEX ", QuoteIdentifier(name))));
  for (const auto& columns : IndexesOf(table)) {
    if (present.contains(IndexName(table, columns))) continue;
    std::string sql = StrCat("CREATE INDEX ", QuoteIdentifier(IndexName(table, columns)), " ON ", QuoteIdentifier(table.name), " (");
    for (const std::string& column : columns) sql += QuoteIdentifier(column) + ", ";
    TRY_VOID(database.Exec(sql + "key)"));
  }
  return {};
}

// The value has no declared type, so that SQLite converts neither what is stored nor what it is compared with.
Result<void> PrepareAttributes(sqlite::Database& database, const TableSpec& table) {
  std::string name = QuoteIdentifier(AttributeTable(table));
  TRY_VOID(database.Exec(StrCat("CREATE TABLE IF NOT EXISTS ", name,
                                " (key TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, value NOT NULL,"
                                " PRIMARY KEY (key, kind, name)) WITHOUT ROWID")));
  return database.Exec(StrCat("CREATE INDEX IF NOT EXISTS ", QuoteIdentifier(AttributeIndexName(table)), " ON ", name, " (kind, name, value, key)"));
}

}  // namespace

std::span<const Migration> Migrations() { return {}; }

Result<void> PrepareSchema(sqlite::Database& database, const Schema& schema, std::span<const Migration> migrations) {
  TRY(auto transaction, sqlite::Transaction::Begin(database, sqlite::Transaction::Mode::kWrite));
  auto newest = static_cast<int64_t>(migrations.size()) + 1;
  TRY(int64_t version, database.QueryInt("PRAGMA user_version"));
  if (version > newest)
    return MakeError(Code::kConflict, "store.newer_schema",
                     StrCat(database.path(), " was written by a newer Ferry (layout ", version, ", this one reads up to ", newest,
                            "): start that version, or restore a backup"));
  for (int64_t from = version; from >= 1 && from < newest; ++from) TRY_VOID(migrations[static_cast<size_t>(from - 1)](database, schema));
  for (const TableSpec& table : schema.tables()) {
    TRY_VOID(PrepareColumns(database, table));
    TRY_VOID(PrepareIndexes(database, table));
    TRY_VOID(PrepareAttributes(database, table));
  }
  if (version != newest) TRY_VOID(database.Exec(StrCat("PRAGMA user_version=", newest)));
  return transaction.Commit();
}

std::vector<std::vector<std::string>> IndexesOf(const TableSpec& table) {
  std::vector<std::vector<std::string>> indexes;
  for (const Column& column : table.columns)
    if (column.indexed) indexes.push_back({column.name});
  for (const auto& columns : table.indexes)
    if (std::find(indexes.begin(), indexes.end(), columns) == indexes.end()) indexes.push_back(columns);
  return indexes;
}

std::string IndexName(const TableSpec& table, const std::vector<std::string>& columns) { return StrCat(table.name, "(", Join(columns, ","), ")"); }

std::string KeyIndexName(const TableSpec& table) { return StrCat("sqlite_autoindex_", table.name, "_1"); }
std::string AttributeTable(const TableSpec& table) { return StrCat(table.name, "_attribute"); }
std::string AttributeIndexName(const TableSpec& table) { return StrCat(table.name, "_attribute(value)"); }

}  // namespace ferry::store
