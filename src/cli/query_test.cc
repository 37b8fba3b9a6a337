#include "cli/query.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "cli/query_node.h"
#include "os/file.h"

namespace ferry::cli {
namespace {

Json Parsed(std::string_view text) { return std::move(ParseJson(text)).value(); }

Result<Json> Apply(std::string_view expression, std::string_view input) {
  TRY(Query query, Query::Parse(expression));
  return query.Apply(Parsed(input));
}

std::string Message(std::string_view expression, std::string_view input = "{}") {
  auto result = Apply(expression, input);
  return result.ok() ? "no error" : result.error().message;
}

// The answers of the reference implementation (testdata/make_query_cases.py). FERRY_QUERY_CASES names another such file.
TEST(Query, AnswersAsTheReferenceImplementation) {
  const char* other = std::getenv("FERRY_QUERY_CASES");
  std::string path = other ? other : std::string(FERRY_SOURCE_DIR "/src/cli/testdata/query_cases.json");
  auto text = os::ReadFile(path);
  ASSERT_TRUE(text.ok()) << text.error().message;
  auto document = ParseJson(*text, path);
  ASSERT_TRUE(document.ok()) << document.error().message;
  const Json& input = *document->Find("input");
  for (const Json& one : document->Find("cases")->as_array()) {
    std::string expression = one.GetString("expression");
    auto query = Query::Parse(expression);
    auto result = query.ok() ? query->Apply(input) : Result<Json>(query.error());
    if (one.GetBool("error")) {
      EXPECT_FALSE(result.ok()) << expression << " gave " << result->Dump();
    } else {
      ASSERT_TRUE(result.ok()) << expression << ": " << result.error().message;
      EXPECT_TRUE(QueryEqual(*result, *one.Find("expected"))) << expression << " gave " << result->Dump() << "\n  instead of " << one.Find("expected")->Dump();
    }
  }
}

TEST(Query, FollowsTheSpecificationWhereTheReferenceDoesNot) {
  EXPECT_EQ(Apply("a.*.b.c", R"({"a": {"x": {"b": {"c": 1}}, "y": {"b": {"c": 2}}}})")->Dump(), "[1,2]");
  EXPECT_EQ(Apply("a.*.b.*", R"({"a": {"x": {"b": {"c": 1}}}})")->Dump(), "[[1]]");
  EXPECT_EQ(Apply("[0][1:].a", R"([[{"a": 1}, {"a": 2}, {"a": 3}]])")->Dump(), "[2,3]");
  EXPECT_EQ(Apply("[?!a.b].c", R"([{"a": {"b": 1}, "c": 1}, {"a": {}, "c": 2}])")->Dump(), "[2]");
  EXPECT_EQ(Apply("[?!a && c].c", R"([{"a": 1, "c": 1}, {"c": 2}])")->Dump(), "[2]");
  EXPECT_EQ(Apply("!a == `true`", "{}")->Dump(), "true");
}

TEST(Query, KeepsTheOrderOfKeys) {
  EXPECT_EQ(Apply("{b: x, a: y}", R"({"y": 1, "x": 2})")->Dump(), R"({"b":2,"a":1})");
  EXPECT_EQ(Apply("keys(@)", R"({"y": 1, "x": 2})")->Dump(), R"(["y","x"])");
}

TEST(Query, CountsCharacters) {
  EXPECT_EQ(Apply("length(@)", R"("\u00e9\u00e8x")")->as_int(), 3);
  EXPECT_EQ(Apply("reverse(@)", R"("a\u00e9")")->as_string(), "\u00e9a");
}

TEST(Query, NamesThePlaceOfAnError) {
  EXPECT_EQ(Message("runs["), "the query is wrong at column 6: expected a number, ':' or '*', found its end");
  EXPECT_EQ(Message("runs[?a = 'b']"), "the query is wrong at column 9: '=' compares nothing; use '=='");
  EXPECT_EQ(Message("a-b"), "the query is wrong at column 2: '-' is not part of a plain name; write names with it in double quotes: \"a-b\"");
  EXPECT_EQ(Message("a b"), "the query is wrong at column 3: did not expect 'b'");
  EXPECT_EQ(Message("a.b.lenght(@)"), "the query calls an unknown function at column 5: 'lenght'; did you mean 'length'?");
  EXPECT_EQ(Message("frobnicate(a)"), "the query calls an unknown function at column 1: 'frobnicate'");
  EXPECT_EQ(Message("length(a, b)"), "the query is wrong at column 1: length() takes 1 argument, not 2");
  EXPECT_EQ(Message("not_null()"), "the query is wrong at column 1: not_null() takes 1 or more arguments, not 0");
  EXPECT_EQ(Message("sort_by(a, b)"), "the query is wrong at column 12: argument 2 of sort_by() is an expression: write '&' before it");
  EXPECT_EQ(Message("a | sort(@)", R"({"a": [1, "b"]})"), "the query fails at column 5: sort() takes a list of numbers or a list of strings, not another list");
  EXPECT_EQ(Message("length(a)", R"({"a": 1})"), "the query fails at column 1: length() takes a string, a list or an object, not a number");
  EXPECT_EQ(Message("'abc"), "the query is wrong at column 1: the string that begins here does not end");
  EXPECT_EQ(Message("a[99999999999999999999]"), "the query is wrong at column 3: the number is too large");
  EXPECT_EQ(Message(""), "the query is wrong at column 1: it is empty");
  EXPECT_EQ(Message("&a"), "the query is wrong at column 1: '&' is only for the argument of a function");
}

TEST(Query, ErrorsAreForPrograms) {
  EXPECT_EQ(Query::Parse("a[").error().slug, "query.syntax");
  EXPECT_EQ(Query::Parse("a[").error().field, "--query");
  EXPECT_EQ(Query::Parse("what(a)").error().slug, "query.unknown_function");
  EXPECT_EQ(Query::Parse("length()").error().slug, "query.arguments");
  EXPECT_EQ(Apply("length(@)", "1").error().slug, "query.type");
}

TEST(Query, RefusesWhatIsNestedTooDeeply) {
  EXPECT_NE(Message(std::string(100000, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(Message(std::string(100000, '!')).find("nested too deeply"), std::string::npos);
  std::string chain = "a";
  for (int i = 0; i < 100000; ++i) chain += ".a";
  EXPECT_NE(Message(chain).find("nested too deeply"), std::string::npos);
  std::string list = "[a";
  for (int i = 0; i < 1000; ++i) list += ", a.b || c";
  EXPECT_TRUE(Apply(list + "]", "{}").ok());
}

TEST(Query, SurvivesExtremeNumbers) {
  EXPECT_EQ(Apply("[9223372036854775807]", "[1]")->Dump(), "null");
  EXPECT_EQ(Apply("[-9223372036854775807]", "[1]")->Dump(), "null");
  EXPECT_EQ(Apply("[::9223372036854775807]", "[1,2]")->Dump(), "[1]");
  EXPECT_EQ(Apply("[::-9223372036854775807]", "[1,2]")->Dump(), "[2]");
  EXPECT_EQ(Apply("[-9223372036854775807:9223372036854775807]", "[1,2]")->Dump(), "[1,2]");
  EXPECT_EQ(Apply("sum(@)", "[9223372036854775807, 1]")->as_double(), 9223372036854775808.0);
}

}  // namespace
}  // namespace ferry::cli
