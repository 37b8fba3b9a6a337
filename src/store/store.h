// Metadata: documents in tables, with typed columns and open-ended attributes that can be searched.
// Implemented by store/memory and store/sqlite (store/postgres later); store/conformance.h proves each of them.
// Entities are plain code over this seam (model/): a new entity is a new TableSpec and touches no backend.
//
// Threads: Commit is called by one thread (the engine's); Get, Find and Count by any number at once. Readers see committed
// state only, and what was committed before their call began.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace ferry::store {

// A cell: absent, a number or a text. Times are whole microseconds, booleans 0 and 1. A NaN is kept as absent.
using Value = std::variant<std::monostate, int64_t, double, std::string>;

enum class ColumnType { kInt, kReal, kText };

// A typed column that queries may name. Columns are what most queries filter and order by.
struct Column {
  std::string name;
  ColumnType type = ColumnType::kText;
  bool indexed = false;
};

// A table. The key is unique and orders the table bytewise. `body` is opaque to the store.
struct TableSpec {
  std::string name;  // lower-case letters and underscores
  std::vector<Column> columns;
  // Composite indexes, each a list of column names in order, for queries that filter by one and order by another.
  std::vector<std::vector<std::string>> indexes;
};

// Open-ended searchable values of a document, by kind and name: ("tag", "team"), ("metric.latest", "accuracy").
// Setting an absent value removes the attribute.
struct Attribute {
  std::string kind;
  std::string name;
  Value value;

  bool operator==(const Attribute&) const = default;
};

struct Document {
  std::string key;
  std::string body;
  // In the order of TableSpec::columns; shorter means the rest is absent. A kReal column takes whole numbers too.
  std::vector<Value> columns;
};

// Writes a document whole (insert or replace). `attributes` of the kinds listed in `attribute_kinds` are replaced by those
// given; attributes of other kinds stay as they are.
struct Put {
  std::string table;
  Document document;
  std::vector<std::string> attribute_kinds;
  std::vector<Attribute> attributes;
};

// Sets attributes of an existing document and leaves everything else alone. Ignored when the document is not there.
struct PutAttributes {
  std::string table;
  std::string key;
  std::vector<Attribute> attributes;
};

// Removes a document with its attributes. Ignored when it is not there.
struct Erase {
  std::string table;
  std::string key;
};

using Change = std::variant<Put, PutAttributes, Erase>;

// What a query may name: a column, or an attribute of a kind.
struct Field {
  std::string kind;  // empty: a column (or "key")
  std::string name;

  bool operator==(const Field&) const = default;
};

enum class Op { kEq, kNe, kLt, kLe, kGt, kGe, kPrefix, kContains, kIn, kExists, kAbsent };

// One condition; conditions of a query are joined by "and". kNe holds for an absent value too; every other comparison is
// false for an absent value. Numbers compare with numbers (int and real alike), texts with texts bytewise; a number never
// equals a text. kPrefix and kContains are for texts. kIn uses `values`, the others but kExists/kAbsent use values[0].
struct Condition {
  Field field;
  Op op = Op::kEq;
  std::vector<Value> values;
};

struct Order {
  Field field;
  bool descending = false;
};

// A page of documents. Ties are ordered by key, in the direction of the order. Documents without the order's value come last,
// whichever the direction.
struct Query {
  std::string table;
  std::vector<Condition> where;
  Order order{{"", "key"}, false};
  // Opaque: Page::next of the page before. Empty: from the start. A cursor of another order is kInvalid "query.bad_cursor".
  std::string cursor;
  size_t limit = 100;
};

struct Page {
  std::vector<Document> documents;
  std::string next;  // empty: this was the last page
};

class Store {
 public:
  virtual ~Store() = default;

  // Applies all changes in order, or none. When it returns success they survive kill -9 and power loss. A failure leaves the
  // store as it was: kExhausted "store.full" when the disk is full, kInvalid "store.unknown_table" or "store.bad_value" (not of its
  // column's type) when a change does not fit the tables, kInternal "store.io" otherwise.
  virtual Result<void> Commit(std::span<const Change> changes) = 0;

  // The document, or nothing.
  virtual Result<std::optional<Document>> Get(std::string_view table, std::string_view key) = 0;

  // A page of the matching documents. kInvalid "query.unknown_field" names a column that the table does not have,
  // kInvalid "query.bad_condition" a condition without its value, or more than 50 conditions or 1,000 values.
  virtual Result<Page> Find(const Query& query) = 0;

  // Number of matching documents per value of `group` (a column), ordered by value, absent last; one row with an
  // absent value when `group` is empty. Cursor, order and limit of the query are ignored.
  virtual Result<std::vector<std::pair<Value, int64_t>>> Count(const Query& query, const std::string& group) = 0;

  // The attributes of a document of one kind, ordered by name.
  virtual Result<std::vector<Attribute>> Attributes(std::string_view table, std::string_view key, std::string_view kind) = 0;
};

}  // namespace ferry::store
