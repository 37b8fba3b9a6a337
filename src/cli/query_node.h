// The syntax tree of a query, between its parser (query.cc), its evaluation (query_evaluate.cc) and its functions
// (query_functions.cc). For those files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ferry::cli {

struct QueryNode {
  enum class Kind {
    kIdentity,          // @, or what a projection starts from
    kField,             // text: the key
    kLiteral,           // literal
    kSubexpression,     // children: left, right
    kIndex,             // index; of the current value
    kSlice,             // slice; of the current value
    kProjection,        // children: list, what is taken of each element
    kValueProjection,   // children: object, what is taken of each value
    kFilterProjection,  // children: list, what is taken of each element, condition
    kFlatten,           // children: list of lists
    kMultiselectList,   // children: one per element
    kMultiselectHash,   // children: one per key; keys
    kOr,                // children: left, right
    kAnd,
    kNot,        // children: one
    kCompare,    // text: the operator; children: left, right
    kPipe,       // children: left, right
    kFunction,   // text: the name; children: arguments
    kReference,  // children: the expression handed to sort_by and the like
  };

  Kind kind = Kind::kIdentity;
  std::vector<QueryNode> children;
  std::string text;
  std::vector<std::string> keys;
  Json literal;
  int64_t index = 0;
  // Start, end and step; the step is never 0.
  std::optional<int64_t> slice[3];
  // Where it stands in the expression, from 0.
  size_t position = 0;
};

// The node's value with `current` as the current value.
Result<Json> Evaluate(const QueryNode& node, const Json& current);

// An argument of a function: a value, or the expression of a kReference.
struct QueryArgument {
  Json value;
  const QueryNode* reference = nullptr;
};

// A function: how many arguments it takes (`most` < 0: any number), which of them is an expression (-1: none), and its effect.
// REQUIRES of a call: as many arguments as it takes, and an expression where it takes one.
struct QueryFunction {
  std::string_view name;
  int least;
  int most;
  int reference;
  Result<Json> (*call)(const QueryNode& node, std::vector<QueryArgument>& arguments);
};

// Null when there is no such function.
const QueryFunction* FindQueryFunction(std::string_view name);
std::vector<std::string> QueryFunctionNames();

// Equality of values: numbers by value, objects without regard to order.
bool QueryEqual(const Json& a, const Json& b);

}  // namespace ferry::cli
