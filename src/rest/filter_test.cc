#include "rest/filter.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"

namespace ferry::rest {
namespace {

using store::Op;
using store::Value;

std::string Show(const store::Condition& condition) {
  static constexpr const char* kOps[] = {"=", "!=", "<", "<=", ">", ">=", "prefix", "contains", "in", "exists", "absent"};
  std::string out = StrCat(condition.field.kind, condition.field.kind.empty() ? "" : ":", condition.field.name, " ", kOps[static_cast<int>(condition.op)]);
  for (const Value& value : condition.values) {
    if (auto* i = std::get_if<int64_t>(&value)) out += StrCat(" ", *i);
    if (auto* d = std::get_if<double>(&value)) out += StrCat(" ", *d, "r");
    if (auto* s = std::get_if<std::string>(&value)) out += StrCat(" '", *s, "'");
  }
  return out;
}

std::string Show(std::string_view filter) {
  auto parsed = ParseFilter(filter);
  if (!parsed.ok()) return parsed.error().message;
  std::string out;
  for (const auto& condition : *parsed) out += StrCat(out.empty() ? "" : " & ", Show(condition));
  return out;
}

TEST(Filter, Grammar) {
  struct Case {
    const char* text;
    const char* expected;
  } cases[] = {
      {"status = 'Completed'", "status = 'Completed'"},
      {"status == \"Completed\"", "status = 'Completed'"},
      {"  id!='x'  ", "key != 'x'"},
      {"number>=3 and number<10", "number >= 3 & number < 10"},
      {"number > 1 AND archived = false", "number > 1 & archived = 0"},
      {"archived = true", "archived = 1"},
      {"tags.team = 'it''s'", "tag:team = 'it's'"},
      {"tag.`a b` = 'x' and tags.\"c d\" = 'y'", "tag:a b = 'x' & tag:c d = 'y'"},
      {"properties.azureml.git.branch = 'main'", "property:azureml.git.branch = 'main'"},
      {"params.lr = '0.01'", "parameter:lr = 0.01r"},
      {"param.lr >= 0.01", "parameter:lr >= 0.01r"},
      {"parameters.opt = 'adam'", "parameter:opt = 'adam'"},
      {"metrics.accuracy > 0.9", "metric.latest:accuracy > 0.9r"},
      {"metric.accuracy.max > .9", "metric.max:accuracy > 0.9r"},
      {"metrics.loss.min < 1e-3", "metric.min:loss < 0.001r"},
      {"metrics.a/b.latest = -1", "metric.latest:a/b = -1"},
      {"metrics.x = +2", "metric.latest:x = 2"},
      {"metrics.min > 1", "metric.latest:min > 1"},
      {"metrics.accuracy exists", "metric.latest:accuracy exists"},
      {"tags.x absent", "tag:x absent"},
      {"experiment in ('a', 'b','c')", "experiment in 'a' 'b' 'c'"},
      {"name like 'train%'", "name prefix 'train'"},
      {"name like '%train%'", "name contains 'train'"},
      {"created >= '1970-01-02'", "created >= 86400000000"},
      {"attributes.status = 'Running'", "status = 'Running'"},
      {"tags.\xc3\xa9 = '\xc3\xa9'", "tag:\xc3\xa9 = '\xc3\xa9'"},
  };
  for (const Case& c : cases) EXPECT_EQ(Show(c.text), c.expected) << c.text;
}

TEST(Filter, ErrorsNameThePosition) {
  struct Case {
    const char* text;
    const char* where;
    const char* what;
  } cases[] = {
      {"", "character 1:", "expected a field"},
      {"statsu = 'x'", "character 1:", "did you mean 'status'?"},
      {"status", "character 7:", "expected an operator"},
      {"status = ", "character 10:", "expected a value"},
      {"status = Completed", "character 10:", "expected a number or a quoted text"},
      {"status = 'x", "character 10:", "expected a closing quote"},
      {"status = 'x' or number = 1", "character 14:", "expected 'and' or the end"},
      {"status = 'x' and", "character 17:", "expected a field"},
      {"tags. = 'x'", "character 6:", "expected a name"},
      {"tags.`x = 'x'", "character 7:", "expected a closing quote"},
      {"status in 'x'", "character 11:", "expected '('"},
      {"status in ('x'", "character 15:", "expected ',' or ')'"},
      {"status in ()", "character 12:", "expected a number or a quoted text"},
      {"name like 'x'", "character 14:", "'prefix%' or '%part%'"},
      {"created > 'yesterday'", "character 11:", "expected a time such as"},
      {"number > 1 2", "character 12:", "expected 'and' or the end"},
      {"(number > 1)", "character 1:", "expected a field"},
      {"live = 1", "character 1:", "expected a field"},
  };
  for (const Case& c : cases) {
    auto parsed = ParseFilter(c.text);
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed.error().slug, "filter.invalid");
    EXPECT_EQ(parsed.error().field, "filter");
    EXPECT_NE(parsed.error().message.find(c.where), std::string::npos) << c.text << ": " << parsed.error().message;
    EXPECT_NE(parsed.error().message.find(c.what), std::string::npos) << c.text << ": " << parsed.error().message;
  }
}

TEST(Filter, Bounds) {
  std::string fifty = "number > 0";
  for (int i = 1; i < 50; ++i) fifty += " and number > 0";
  EXPECT_TRUE(ParseFilter(fifty).ok());
  EXPECT_FALSE(ParseFilter(fifty + " and number > 0").ok());
  EXPECT_EQ(ParseFilter(std::string(10001, ' ')).error().slug, "filter.too_long");
  std::string many = "number in (0";
  for (int i = 0; i < 1000; ++i) many += ",1";
  EXPECT_FALSE(ParseFilter(many + ")").ok());
}

TEST(Filter, RandomBytesNeverDoMoreThanFail) {
  std::mt19937 random(1);
  static const std::vector<std::string> kWords = {"status", "tags.", "metrics.a", "and", "=", "!=", "in",     "(",       ")", ",",    "'",       "\"",
                                                  "`",      "like",  "'x%'",      "1",   "-", ".",  "exists", "created", " ", "\xff", "params.b"};
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (size_t n = random() % 10; n > 0; --n)
      text += random() % 3 ? kWords[random() % kWords.size()] + (random() % 2 ? " " : "") : std::string(1, static_cast<char>(random()));
    if (auto parsed = ParseFilter(text); !parsed.ok()) {
      ASSERT_EQ(parsed.error().code, Code::kInvalid);
    }
    (void)ParseOrder(text);
  }
}

TEST(Order, Forms) {
  struct Case {
    const char* text;
    const char* name;
    bool descending;
  } cases[] = {{"created", "created", false},     {"-created", "created", true}, {"started desc", "started", true},
               {"started ASC", "started", false}, {"id", "key", false},          {"-metrics.loss.min", "loss", true}};
  for (const Case& c : cases) {
    auto order = ParseOrder(c.text);
    ASSERT_TRUE(order.ok()) << c.text;
    EXPECT_EQ(order->field.name, c.name);
    EXPECT_EQ(order->descending, c.descending) << c.text;
  }
  EXPECT_EQ(ParseOrder("-metrics.loss.min")->field.kind, "metric.min");
  for (const char* bad : {"", "-", "nothing", "created, started", "created down", "--created"}) {
    auto order = ParseOrder(bad);
    ASSERT_FALSE(order.ok()) << bad;
    EXPECT_EQ(order.error().slug, "order.invalid");
  }
}

}  // namespace
}  // namespace ferry::rest
