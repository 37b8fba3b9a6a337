#include "base/result.h"

#include <gtest/gtest.h>

#include <set>

namespace ferry {
namespace {

struct Row {
  Code code;
  const char* name;
  int http;
  int exit;
};
// Written out a second time on purpose: a changed status or exit code breaks other people's scripts.
constexpr Row kRows[] = {
    {Code::kInvalid, "invalid", 400, 2},         {Code::kUnauthorized, "unauthorized", 401, 3}, {Code::kForbidden, "forbidden", 403, 4},
    {Code::kNotFound, "not_found", 404, 5},      {Code::kConflict, "conflict", 409, 6},         {Code::kTooLarge, "too_large", 413, 7},
    {Code::kUnavailable, "unavailable", 503, 8}, {Code::kTimeout, "timeout", 504, 9},           {Code::kExhausted, "exhausted", 507, 10},
    {Code::kInternal, "internal", 500, 11},      {Code::kCanceled, "canceled", 409, 12},
};

TEST(Code, TablesAreWhole) {
  std::set<int> exits;
  for (const Row& row : kRows) {
    EXPECT_STREQ(CodeName(row.code), row.name);
    EXPECT_EQ(CodeFromName(row.name), row.code);
    EXPECT_EQ(HttpStatus(row.code), row.http) << row.name;
    EXPECT_EQ(ExitStatus(row.code), row.exit) << row.name;
    exits.insert(ExitStatus(row.code));
    EXPECT_GT(ExitStatus(row.code), 1) << "1 means that the run failed";
  }
  EXPECT_EQ(exits.size(), std::size(kRows));
  EXPECT_EQ(CodeFromName("no such code"), Code::kInternal);
}

Result<int> Half(int n) {
  if (n % 2) return MakeError(Code::kInvalid, "odd", "odd", "n");
  return n / 2;
}
Result<int> Quarter(int n) {
  TRY(int half, Half(n));
  return Half(half);
}
Result<void> Check(int n) {
  TRY_VOID(Half(n));
  return {};
}

TEST(Result, ValuesAndErrorsTravel) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).error().slug, "odd");
  EXPECT_EQ(Quarter(6).error().field, "n");
  EXPECT_TRUE(Check(2).ok());
  EXPECT_FALSE(Check(1).ok());
  EXPECT_EQ(Half(1).ValueOr(7), 7);
  EXPECT_EQ(Half(4).ValueOr(7), 2);
}

TEST(ResultDeathTest, ABrokenInvariantAborts) {
  EXPECT_DEATH((void)*Half(1), "odd");
  EXPECT_DEATH((void)Half(2).error(), "error\\(\\) of a success");
}

}  // namespace
}  // namespace ferry
