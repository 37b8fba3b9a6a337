// The Store of one server: a SQLite file. A table per TableSpec with real columns, an attribute table beside each, one connection that
// writes and a few that read. A page costs what it shows, not what the table holds, as long as the spec indexes the order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace ferry::store {

// Opens or creates the file (and "-wal" and "-shm" beside it) and brings it to these tables: columns added to a spec are added to
// the file, absent in documents written before. One process at a time. Aborts on a bad spec.
// kConflict "store.newer_schema" when a newer Ferry wrote it, "store.column_type" when a column changed its type;
// "store.full" and "store.io" as for Commit.
Result<std::unique_ptr<Store>> OpenSqliteStore(std::string path, std::vector<TableSpec> tables);

}  // namespace ferry::store
