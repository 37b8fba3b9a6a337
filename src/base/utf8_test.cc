#include "base/utf8.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TEST(Utf8, BytesThatAreNoCharacterAreReplaced) {
  EXPECT_EQ(ToUtf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(ToUtf8("a\xFF\x80z"), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(ToUtf8("\xC3"), "\xEF\xBF\xBD");
  EXPECT_FALSE(IsUtf8("\xED\xA0\x80"));  // a surrogate
  EXPECT_FALSE(IsUtf8("\xC0\xAF"));      // overlong
}

TEST(Utf8, ACharacterThatIsCutIsFoundAtTheEnd) {
  for (std::string_view whole : {"\xC3\xA9", "\xE0\xA0\x80", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    for (size_t n = 1; n < whole.size(); ++n) EXPECT_EQ(CutCharacter("ab" + std::string(whole.substr(0, n))), n);
    EXPECT_EQ(CutCharacter(whole), 0u);
  }
  for (std::string_view text : {"", "a", "\xC3z", "\x80", "\x80\x80\x80\x80", "\xFF", "\xC0", "\xF5\x80", "\xE0\x80", "\xED\xA0", "\xF0\x80\x80", "\xF4\x90"})
    EXPECT_EQ(CutCharacter(text), 0u);
}

}  // namespace
}  // namespace ferry
