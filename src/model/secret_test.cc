#include "model/secret.h"

#include <gtest/gtest.h>

namespace ferry::model {
namespace {

TEST(Secret, RoundTripsAndShowsNoValue) {
  Secret secret{"w", "db-password", "sealed text", "text/plain", "ann", Time{1}, Time{2}};
  EXPECT_EQ(SecretFromJson(*ParseJson(ToJson(secret).Dump())), secret);
  EXPECT_EQ(SecretView(secret).Dump().find("sealed"), std::string::npos);
}

TEST(Secret, NamesAreChecked) {
  for (const char* good : {"a", "DB_password-1", "-", "0"}) EXPECT_TRUE(CheckSecretName(good).ok()) << good;
  for (const char* bad : {"", "a b", "a/b", "a.b", "\xc3\xa4", "a\n"}) EXPECT_FALSE(CheckSecretName(bad).ok()) << bad;
  EXPECT_TRUE(CheckSecretName(std::string(127, 'a')).ok());
  EXPECT_FALSE(CheckSecretName(std::string(128, 'a')).ok());
}

}  // namespace
}  // namespace ferry::model
