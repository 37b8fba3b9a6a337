#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace ferry {
namespace {

Json Random(std::mt19937_64& random, int depth) {
  auto text = [&] {
    std::string s;
    for (size_t n = random() % 12; n > 0; --n) s += static_cast<char>(random());
    return s;
  };
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0: return Json();
    case 1: return Json(random() % 2 == 0);
    case 2: return Json(static_cast<int64_t>(random()));
    case 3: {
      uint64_t bits = random();
      double v;
      std::memcpy(&v, &bits, sizeof v);
      return std::isfinite(v) ? Json(v) : Json(0.5);
    }
    case 4:
    case 5: return Json(text());
    case 6: {
      Json list = Json::MakeArray();
      for (size_t n = random() % 5; n > 0; --n) list.Push(Random(random, depth - 1));
      return list;
    }
    default: {
      Json object = Json::MakeObject();
      for (size_t n = random() % 5; n > 0; --n) object.Set(text(), Random(random, depth - 1));
      return object;
    }
  }
}

TEST(Json, WhatIsWrittenReadsBackTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    Json value = Random(random, 6);
    auto again = ParseJson(value.Dump());
    ASSERT_TRUE(again.ok()) << value.Dump() << ": " << again.error().message;
    ASSERT_EQ(*again, value) << value.Dump();
    auto pretty = ParseJson(value.DumpPretty());
    ASSERT_TRUE(pretty.ok());
    ASSERT_EQ(*pretty, value);
  }
}

TEST(Json, DamagedTextNeverDoesMoreThanFail) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 50000; ++i) {
    std::string text = Random(random, 5).Dump();
    for (size_t n = 1 + random() % 3; n > 0 && !text.empty(); --n) switch (random() % 3) {
        case 0: text[random() % text.size()] = static_cast<char>(random()); break;
        case 1: text.erase(random() % text.size(), 1 + random() % 4); break;
        default: text.insert(random() % text.size(), 1, "{}[],:\"\\0eE-+.tfnNI"[random() % 20]);
      }
    auto parsed = ParseJson(text);
    if (parsed.ok()) {
      auto again = ParseJson(parsed->Dump());
      ASSERT_TRUE(again.ok()) << text;
    } else {
      ASSERT_EQ(parsed.error().slug, "json.malformed");
    }
  }
}

TEST(Json, DepthIsBounded) {
  EXPECT_TRUE(ParseJson(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_FALSE(ParseJson(std::string(65, '[') + std::string(65, ']')).ok());
  EXPECT_FALSE(ParseJson(std::string(8'000'000, '[')).ok());
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  auto deep = ParseJson(objects);
  ASSERT_FALSE(deep.ok());
  EXPECT_NE(deep.error().message.find("less deep nesting"), std::string::npos);
}

TEST(Json, ErrorsNameThePlace) {
  struct Case {
    const char* text;
    const char* expected;
  } cases[] = {
      {"", "line 1, column 1: expected a value, found its end"},
      {"{\n  \"a\": 1,\n}", "line 3, column 1: expected a quoted key, found '}'"},
      {"[1 2]", "line 1, column 4: expected ',' or ']', found '2'"},
      {"{\"a\" 1}", "expected ':', found '1'"},
      {"{'a': 1}", "expected a quoted key, found '''"},
      {"[1,]", "expected a value, found ']'"},
      {"01", "expected the end of the document, found '1'"},
      {"1.", "expected a digit, found its end"},
      {"1e", "expected a digit"},
      {"+1", "expected a value, found '+'"},
      {"nul", "expected a value, found 'n'"},
      {"\"a", "expected the closing '\"' of a string"},
      {"\"\\x\"", "expected an escape of JSON's, found 'x'"},
      {"\"\\u12g4\"", "expected four hex digits"},
      {"\"a\nb\"", "no raw control character"},
      {"{} {}", "expected the end of the document, found '{'"},
      {"\xff", "found '\\xff'"},
  };
  for (const Case& c : cases) {
    auto parsed = ParseJson(c.text, "config.json");
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed.error().code, Code::kInvalid);
    EXPECT_EQ(parsed.error().message.find("config.json is not valid JSON: line "), 0u) << parsed.error().message;
    EXPECT_NE(parsed.error().message.find(c.expected), std::string::npos) << c.text << ": " << parsed.error().message;
  }
}

TEST(Json, Numbers) {
  EXPECT_EQ(ParseJson("9223372036854775807")->as_int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseJson("-9223372036854775808")->as_int(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(ParseJson("9223372036854775808")->is_double());
  EXPECT_EQ(ParseJson("1e400")->as_double(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ParseJson("1e400")->as_int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseJson("-1e400")->as_int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ParseJson("1e-400")->as_double(), 0);
  EXPECT_TRUE(std::isnan(ParseJson("NaN")->as_double()));
  EXPECT_EQ(ParseJson("-Infinity")->as_double(), -std::numeric_limits<double>::infinity());
  // Not numbers in JSON: written as texts, and read as numbers where one is asked for.
  EXPECT_EQ(Json(std::nan("")).Dump(), "\"NaN\"");
  EXPECT_EQ(Json::MakeObject({{"x", "-Infinity"}}).GetDouble("x"), -std::numeric_limits<double>::infinity());
  // A double stays one.
  EXPECT_TRUE(ParseJson(Json(3.0).Dump())->is_double()) << Json(3.0).Dump();
}

TEST(Json, Strings) {
  EXPECT_EQ(ParseJson(R"("\u00e9\ud83d\ude00\n\/")")->as_string(), "\xc3\xa9\xf0\x9f\x98\x80\n/");
  EXPECT_EQ(ParseJson(R"("\ud83dx")")->as_string(), "\xef\xbf\xbdx") << "half a pair is replaced";
  EXPECT_EQ(Json(std::string("\0\x1f\"\\", 4)).Dump(), "\"\\u0000\\u001f\\\"\\\\\"");
  EXPECT_EQ(ParseJson("\"\xff\xfe\"")->as_string(), "\xff\xfe") << "bytes pass through";
}

TEST(Json, ObjectsKeepTheirOrder) {
  Json object = Json::MakeObject({{"b", 1}, {"a", 2}});
  object.Set("b", 3).Set("c", 4).SetIf("empty", "");
  EXPECT_EQ(object.Dump(), R"({"b":3,"a":2,"c":4})");
  object.Erase("a");
  EXPECT_EQ(object.Dump(), R"({"b":3,"c":4})");
  EXPECT_EQ(object.GetString("b", "other"), "other") << "of another type";
  EXPECT_EQ(object.GetInt("none", 9), 9);
  Json null;
  EXPECT_EQ(null.Find("x"), nullptr);
  null.Push(1);
  EXPECT_TRUE(null.is_array());
}

}  // namespace
}  // namespace ferry
