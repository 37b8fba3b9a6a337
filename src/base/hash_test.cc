#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace ferry {
namespace {

TEST(Hash, KnownValues) {
  EXPECT_EQ(HashBytes("").Hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashBytes("abc").Hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // RFC 4231, test case 2.
  EXPECT_EQ(HmacHex("Jefe", "what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Hash, StreamsInAnyCut) {
  std::string text(100'000, 'x');
  Sha256 sha;
  for (size_t at = 0, step = 1; at < text.size(); at += step, step = step * 2 + 1) sha.Update(std::string_view(text).substr(at, step));
  EXPECT_EQ(sha.Finish(), HashBytes(text));
  sha.Update("abc");
  EXPECT_EQ(sha.Finish(), HashBytes("abc")) << "a finished stream begins anew";
}

TEST(Hash, Hex) {
  Digest digest = HashBytes("abc");
  EXPECT_EQ(Digest::FromHex(digest.Hex()), digest);
  std::string upper = digest.Hex();
  for (char& c : upper) c = static_cast<char>(toupper(c));
  for (const std::string& bad : {std::string(), digest.Hex().substr(1), digest.Hex() + "0", upper, std::string(64, 'g')})
    EXPECT_FALSE(Digest::FromHex(bad)) << bad;
}

TEST(Hash, RandomHexDiffers) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(RandomHex(16));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(seen.begin()->size(), 32u);
}

TEST(Hash, EqualConstantTime) {
  EXPECT_TRUE(EqualConstantTime("", ""));
  EXPECT_TRUE(EqualConstantTime("abc", "abc"));
  EXPECT_FALSE(EqualConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualConstantTime("abc", "ab"));
  EXPECT_FALSE(EqualConstantTime("ab", "abc"));
}

}  // namespace
}  // namespace ferry
