// JMESPath expressions over Json, for --query. The semantics are those of the JMESPath specification; ordering comparisons also
// take two strings, as the reference implementation does. Where that implementation leaves the specification, it is not followed:
// a projection reaches over all of a.*.b.c and a[0][1:].b, and !a.b is !(a.b). What is not JMESPath is one error that names the place.
// A Query is a value and safe to use from several threads.
#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace ferry::cli {

struct QueryNode;

class Query {
 public:
  // Compiles an expression. kInvalid "query.syntax", "query.unknown_function" or "query.arguments"; the message names the column
  // (from 1), the field is "--query".
  static Result<Query> Parse(std::string_view expression);

  // The expression's value for `input`; what is not there is null. kInvalid "query.type" when a function meets a value it does not
  // take.
  Result<Json> Apply(const Json& input) const;

 private:
  explicit Query(std::shared_ptr<const QueryNode> root) : root_(std::move(root)) {}
  std::shared_ptr<const QueryNode> root_;
};

}  // namespace ferry::cli
