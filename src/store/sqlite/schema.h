// The tables of a SQLite store: made from the TableSpecs, widened when a spec gained columns, and carried from one layout
// version to the next. `PRAGMA user_version` holds the layout's version.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/query.h"

namespace ferry::store {

// Carries a database from one layout version to the next, inside the transaction that also raises the version.
using Migration = std::function<Result<void>(sqlite::Database& database, const Schema& schema)>;

// The n-th leads from version n+1 to n+2. Append only.
std::span<const Migration> Migrations();

// Brings the file to the newest layout and to `schema`, in one transaction: runs the missing migrations, adds tables and
// columns (absent in documents written before), adds and drops indexes. Columns that left the spec stay in the file unread.
// kConflict "store.newer_schema" when a newer Ferry wrote the file, kConflict "store.column_type" when a column changed its type.
Result<void> PrepareSchema(sqlite::Database& database, const Schema& schema, std::span<const Migration> migrations);

// Every index of the documents' table: the columns, to which the key is appended. Their names are IndexName's.
std::vector<std::vector<std::string>> IndexesOf(const TableSpec& table);
std::string IndexName(const TableSpec& table, const std::vector<std::string>& columns);
// The index that SQLite keeps for the primary key.
std::string KeyIndexName(const TableSpec& table);
std::string AttributeTable(const TableSpec& table);
// (kind, name, value, key) of the attribute table.
std::string AttributeIndexName(const TableSpec& table);

}  // namespace ferry::store
