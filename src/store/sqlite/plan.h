// Queries as SQL: bound parameters for every value, identifiers only from the TableSpec, and an access path that is chosen here
// and pinned (INDEXED BY, CROSS JOIN) instead of guessed by SQLite. Pure functions.
//
// A page is read along one of two paths. "Walk": along an index that has the order, testing the conditions on the way; good when many
// documents match. "Drive": all that one condition's index holds, then sorted; good when few do. A bounded count (CompileProbe)
// tells which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sqlite/database.h"
#include "store/query.h"

namespace ferry::store {

struct Parameter {
  Value value;
  bool blob = false;  // bind the text as bytes
};

// A statement's text and what to bind, from 1.
struct Sql {
  std::string text;
  std::vector<Parameter> parameters;

  void BindTo(sqlite::Statement& statement) const;
};

// The documents with the order's value stand before those without it; a page reads one part after the other.
enum class Part { kPresent, kAbsent };

// Whether the condition holds for no document at all, whatever the table holds.
bool IsNever(const TableSpec& table, const Condition& condition);
// Whether an index leads straight to the documents for which the condition holds.
bool CanDrive(const TableSpec& table, const Condition& condition);
// Whether walking tests no condition that its index does not answer itself, so that no count can beat it.
bool WalkIsExact(const TableSpec& table, const Query& query);
// Whether an index has the query's order.
bool CanWalk(const TableSpec& table, const Query& query);

// One number: how many documents the condition holds for, at most `most`. REQUIRES: CanDrive.
Sql CompileProbe(const TableSpec& table, const Condition& condition, int64_t most);
// Rows (order's value or null, key) of one part after `after`, in order. `drive`: one of query.where, or null to walk.
Sql CompileKeys(const TableSpec& table, const Query& query, Part part, const std::optional<Cursor>& after, const Condition* drive, int64_t limit);
// Rows (group's value, number), ordered by value with null first; one row (null, number) when `group` is empty.
Sql CompileCount(const TableSpec& table, const Query& query, const std::string& group, const Condition* drive);

}  // namespace ferry::store
