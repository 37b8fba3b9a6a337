#include "base/result.h"

#include <array>

namespace ferry {
namespace {

struct Row {
  Code code;
  const char* name;
  int http;
  int exit;
};

// Exit statuses 2 and up, so that 1 stays "the run failed" and 0 "it worked".
constexpr std::array<Row, 11> kRows = {{
    {Code::kInvalid, "invalid", 400, 2},
    {Code::kUnauthorized, "unauthorized", 401, 3},
    {Code::kForbidden, "forbidden", 403, 4},
    {Code::kNotFound, "not_found", 404, 5},
    {Code::kConflict, "conflict", 409, 6},
    {Code::kTooLarge, "too_large", 413, 7},
    {Code::kUnavailable, "unavailable", 503, 8},
    {Code::kTimeout, "timeout", 504, 9},
    {Code::kExhausted, "exhausted", 507, 10},
    {Code::kInternal, "internal", 500, 11},
    {Code::kCanceled, "canceled", 409, 12},
}};

const Row& Find(Code code) {
  for (const Row& row : kRows)
    if (row.code == code) return row;
  CheckFailed("a code without a row", __FILE__, __LINE__);
}

}  // namespace

int HttpStatus(Code code) { return Find(code).http; }
int ExitStatus(Code code) { return Find(code).exit; }
const char* CodeName(Code code) { return Find(code).name; }

Code CodeFromName(const std::string& name) {
  for (const Row& row : kRows)
    if (name == row.name) return row.code;
  return Code::kInternal;
}

}  // namespace ferry
