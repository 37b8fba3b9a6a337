#include "base/seal.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TEST(Seal, OpensToTheSame) {
  for (const std::string& text :
       {std::string("p"), std::string("pässwort with\nlines"), std::string(100000, 'x'), std::string("a\0b", 3), std::string("sealed:1:00")}) {
    std::string sealed = Seal("secret", text);
    EXPECT_EQ(sealed.find(text.substr(0, 8)), text.starts_with("sealed:1") ? 0u : std::string::npos);
    EXPECT_EQ(Unseal("secret", sealed).ValueOr("-"), text);
    EXPECT_EQ(Seal("secret", text), sealed) << "the same text, the same bytes";
  }
  EXPECT_EQ(Seal("secret", ""), "");
  EXPECT_EQ(Unseal("secret", "").ValueOr("-"), "");
}

TEST(Seal, NothingOfItsNeighboursShows) {
  std::string one = Seal("secret", "password1"), two = Seal("secret", "password2");
  EXPECT_NE(one.substr(0, 33), two.substr(0, 33)) << "another nonce";
  EXPECT_NE(one, Seal("other", "password1"));
}

TEST(Seal, AnyChangeIsNoticed) {
  std::string sealed = Seal("secret", "password");
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = changed[i] == '0' ? '1' : '0';
    auto opened = Unseal("secret", changed);
    EXPECT_FALSE(opened.ok()) << i;
    if (!opened.ok()) {
      EXPECT_EQ(opened.error().slug, "seal.broken");
      EXPECT_EQ(opened.error().message.find("password"), std::string::npos);
    }
  }
  EXPECT_FALSE(Unseal("another", sealed).ok());
  EXPECT_FALSE(Unseal("secret", "password").ok());
  for (size_t size : {0u, 9u, 10u, 40u}) EXPECT_EQ(Unseal("secret", sealed.substr(0, size)).ok(), size == 0);
}

}  // namespace
}  // namespace ferry
