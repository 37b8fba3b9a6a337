#include "base/text.h"

#include <gtest/gtest.h>

#include <random>

namespace ferry {
namespace {

TEST(Text, StrCat) { EXPECT_EQ(StrCat("a", 'b', 1, true, 0.1, std::string("c"), uint64_t{1} << 63), "ab1true0.1c9223372036854775808"); }

TEST(Text, SplitJoinTrim) {
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(Split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(Join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(Trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
}

TEST(Text, HexAndPercentRoundTrips) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (size_t n = random() % 40; n > 0; --n) bytes += static_cast<char>(random());
    ASSERT_EQ(FromHex(ToHex(bytes)), bytes);
    ASSERT_EQ(DecodePercent(EncodePercent(bytes)), bytes);
  }
  for (const char* bad : {"%", "%4", "a%", "a%4", "%zz", "%4g"}) EXPECT_FALSE(DecodePercent(bad)) << bad;
  EXPECT_EQ(DecodePercent("%41%c3%A9+"), "A\xc3\xa9+");
  EXPECT_FALSE(FromHex("abc"));
  EXPECT_FALSE(FromHex("zz"));
}

TEST(Text, NumbersAreWhole) {
  EXPECT_EQ(ParseInt("-12"), -12);
  for (const char* bad : {"", "+1", " 1", "1 ", "1.0", "0x1", "9223372036854775808", "-"}) EXPECT_FALSE(ParseInt(bad)) << bad;
  EXPECT_EQ(ParseDouble("1e-3"), 0.001);
  for (const char* bad : {"", "1e", "1,5", "e", "1 "}) EXPECT_FALSE(ParseDouble(bad)) << bad;
}

TEST(Text, FormatBytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.0 KB");
  EXPECT_EQ(FormatBytes(999'949), "999.9 KB");
  EXPECT_EQ(FormatBytes(999'951), "1.0 MB");
  EXPECT_EQ(FormatBytes(UINT64_MAX), "18446.7 PB");
}

TEST(Text, ClosestWord) {
  std::vector<std::string> known = {"port", "address", "slots"};
  EXPECT_EQ(ClosestWord("prot", known), "port");
  EXPECT_EQ(ClosestWord("adress", known), "address");
  EXPECT_FALSE(ClosestWord("something", known));
  EXPECT_FALSE(ClosestWord("port", {}));
  // A megabyte is nobody's misspelling, and must not cost seconds to find out.
  EXPECT_FALSE(ClosestWord(std::string(8'000'000, 'p'), known));
}

}  // namespace
}  // namespace ferry
