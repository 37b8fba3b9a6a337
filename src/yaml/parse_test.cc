#include "yaml/parse.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ferry::yaml {
namespace {

Node Good(std::string_view text) {
  auto node = Parse(text, "f.yml");
  EXPECT_TRUE(node.ok()) << node.error().message;
  return node.ok() ? *node : Node();
}

// The message of the error.
std::string Bad(std::string_view text, Code code = Code::kInvalid) {
  auto node = Parse(text, "f.yml");
  EXPECT_FALSE(node.ok()) << text.substr(0, 200);
  if (node.ok()) return {};
  EXPECT_EQ(CodeName(node.error().code), std::string(CodeName(code))) << node.error().message;
  return node.error().message;
}

std::string Dumped(std::string_view text) { return ToJson(Good(text)).Dump(); }

TEST(Yaml, ValuesWithTheirPlaces) {
  Node node = Good("# a comment\nscript: train.py\narguments:\n- --lr\n- \"0.1\"\nempty:\nnested: {a: [1, 2]}\n");
  ASSERT_TRUE(node.is_map());
  ASSERT_EQ(node.members.size(), 4u);
  EXPECT_EQ(node.members[0].key, "script");
  EXPECT_EQ(node.members[0].line, 2);
  EXPECT_EQ(node.members[0].column, 1);
  EXPECT_EQ(node.members[0].value.text, "train.py");
  EXPECT_EQ(node.members[0].value.column, 9);
  const Node* arguments = node.Find("arguments");
  ASSERT_TRUE(arguments && arguments->is_sequence());
  EXPECT_EQ(arguments->items[1].text, "0.1");
  EXPECT_EQ(arguments->items[1].line, 5);
  EXPECT_TRUE(arguments->items[1].quoted);
  EXPECT_FALSE(arguments->items[0].quoted);
  EXPECT_TRUE(node.Find("empty")->is_null());
  EXPECT_EQ(node.Find("nested")->Find("a")->items[1].text, "2");
  EXPECT_EQ(node.Find("none"), nullptr);
}

TEST(Yaml, NullsAndTags) {
  EXPECT_EQ(Dumped("[~, null, Null, NULL, '', \"null\", !!null x, !!null '', None, !!str null, !!str 5, !own 5]"),
            R"([null,null,null,null,"","null",null,null,"None","null","5",5])");
  EXPECT_EQ(Dumped(""), "null");
  EXPECT_EQ(Dumped("# nothing\n"), "null");
  EXPECT_EQ(Dumped("---\n"), "null");
  EXPECT_EQ(Dumped("---\na: 1\n...\n"), R"({"a":1})");
}

TEST(Yaml, PlainScalarsAsTheCoreSchemaReadsThem) {
  EXPECT_EQ(Dumped("[true, False, yes, 12, -3, +4, 0.5, 1e3, .inf, 1.2.3, 3.6.2, '12', 99999999999999999999, '-', x]"),
            R"([true,false,"yes",12,-3,4,0.5,1000.0,"Infinity","1.2.3","3.6.2","12",1e+20,"-","x"])");
}

TEST(Yaml, Json) {
  EXPECT_EQ(Dumped("{\n\t\"script\": \"train.py\",\n\t\"arguments\": [\"\\u00e9\", \"a\\/b\", 1.5, true, null],\n\t\"environment\": {}\n}\n"),
            "{\"script\":\"train.py\",\"arguments\":[\"\xc3\xa9\",\"a/b\",1.5,true,null],\"environment\":{}}");
  EXPECT_EQ(Dumped(R"(["\ud83d\ude00", "\\ud83d"])"), "[\"\xF0\x9F\x98\x80\",\"\\\\ud83d\"]");
}

TEST(Yaml, LineEndsAndUnicode) {
  Node node = Good(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: \xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 \xF0\x9F\x98\x80\r\nc: |\r\n  x\r\n  y\r\n");
  EXPECT_EQ(node.Find("a")->text, "1");
  EXPECT_EQ(node.Find("b")->text, "\xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 \xF0\x9F\x98\x80");
  EXPECT_EQ(node.members[2].line, 3);
  EXPECT_EQ(Bad("a: 1\nb: \xff\n"), "f.yml:2:1: bytes that are not UTF-8; expected text in UTF-8");
  EXPECT_EQ(Bad(std::string_view("a: 1\nb: x\0y\n", 12)), "f.yml:2:5: a control character (0x00); expected text");
  EXPECT_EQ(Bad("a: \x04\n"), "f.yml:1:4: a control character (0x04); expected text");
}

TEST(Yaml, ErrorsNameTheirPlace) {
  EXPECT_EQ(Bad("a: 1\nb: [1, 2\n"), "f.yml:3:1: this is not YAML: end of sequence flow not found");
  EXPECT_EQ(Bad("a: 1\n b: 2\n").substr(0, 8), "f.yml:2:");
  EXPECT_NE(Bad("a:\n\tb: 1\n").find("f.yml:2:"), std::string::npos);
  EXPECT_NE(Bad("a:\n\tb: 1\n\tc: 2\n").find("a tab indents the line; expected spaces"), std::string::npos);
  EXPECT_EQ(Bad("a: 1\nb: 2\na: 3\n"), "f.yml:3:1: the key 'a' stands twice, first in line 1");
  EXPECT_EQ(Bad("a: 1\n--- \nb: 2\n"), "f.yml:2:1: a second document begins; expected one");
  EXPECT_EQ(Bad("[1, 2]: 3\n"), "f.yml:1:1: a key is a list or a map; expected a word");
  EXPECT_EQ(Bad("a: &x {b: 1}\nc:\n  <<: *x\n"), "f.yml:3:3: merging with '<<' is not supported; write the values out");
  EXPECT_EQ(Parse("a: 1\nb: [1, 2\n", "dir/f.yml").error().field, "dir/f.yml:3");
  EXPECT_EQ(Bad("a: *b\n"), "f.yml:1:4: this is not YAML: the referenced anchor is not defined");
}

TEST(Yaml, Aliases) {
  Node node = Good("base: &base {cpu: 1, list: [a, b]}\nfirst: *base\nword: &w x\nagain: [*w, *w]\n");
  EXPECT_EQ(ToJson(node).Dump(), R"({"base":{"cpu":1,"list":["a","b"]},"first":{"cpu":1,"list":["a","b"]},"word":"x","again":["x","x"]})");
  EXPECT_EQ(node.Find("first")->line, 2);
  EXPECT_EQ(Bad("a: &a [1, *a]\n"), "f.yml:1:11: an alias stands inside of what it stands for");
}

TEST(Yaml, BombIsOneError) {
  std::string bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 20; ++i) {
    bomb += StrCat("a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) bomb += StrCat(j ? ", " : "", "*a", i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(Bad(bomb, Code::kTooLarge).find("more than 200000 values or 16.8 MB of text with every alias (*name) written out"), std::string::npos);
  // Long text instead of many nodes.
  std::string text = StrCat("a: &a ", std::string(1'000'000, 'x'), "\nb: [");
  for (int i = 0; i < 100; ++i) text += "*a, ";
  EXPECT_NE(Bad(text + "1]\n", Code::kTooLarge).find("with every alias"), std::string::npos);
}

TEST(Yaml, Bounds) {
  auto nested = [](int levels) { return std::string(static_cast<size_t>(levels), '[') + std::string(static_cast<size_t>(levels), ']'); };
  Good(nested(64));
  EXPECT_EQ(Bad(nested(65), Code::kTooLarge), "f.yml:1:65: nested deeper than 64 levels");
  EXPECT_EQ(Bad(nested(100'000), Code::kTooLarge), "f.yml:1:65: nested deeper than 64 levels");
  EXPECT_NE(Bad(std::string(1'000'000, '['), Code::kTooLarge).find("nested deeper than 64 levels"), std::string::npos);
  std::string block, compact;
  for (int i = 0; i < 1000; ++i) block += StrCat(std::string(static_cast<size_t>(i), ' '), "a:\n");
  for (int i = 0; i < 100'000; ++i) compact += "- ";
  EXPECT_NE(Bad(block, Code::kTooLarge).find("nested deeper"), std::string::npos);
  EXPECT_NE(Bad(compact, Code::kTooLarge).find("nested deeper"), std::string::npos);
  // Deep only with the alias written out.
  EXPECT_NE(Bad(StrCat("a: &a ", nested(60), "\nb: [[[[[*a]]]]]\n"), Code::kTooLarge).find("nested deeper than 64 levels with every alias"), std::string::npos);
  EXPECT_EQ(Bad(std::string(kMaxBytes + 1, ' '), Code::kTooLarge), "f.yml is larger than 4.2 MB");
}

TEST(Yaml, TenThousandLines) {
  std::string text = "dependencies:\n- pip:\n";
  for (int i = 0; i < 10'000; ++i) text += StrCat("  - package-", i, "==1.", i, "\n");
  Node node = Good(text);
  const Node& pip = *node.Find("dependencies")->items[0].Find("pip");
  ASSERT_EQ(pip.items.size(), 10'000u);
  EXPECT_EQ(pip.items[9'999].text, "package-9999==1.9999");
  EXPECT_EQ(pip.items[9'999].line, 10'002);
  std::string map;
  for (int i = 0; i < 10'000; ++i) map += StrCat("key", i, ": ", i, "\n");
  EXPECT_EQ(Good(map).members.size(), 10'000u);
}

}  // namespace
}  // namespace ferry::yaml
