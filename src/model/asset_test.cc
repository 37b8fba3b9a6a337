#include "model/asset.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ferry::model {
namespace {

TEST(Asset, NamesRoundTrip) {
  AssetName name{"team", "m", 3, 9, 7};
  EXPECT_EQ(AssetNameFromJson(*ParseJson(ToJson(name).Dump())), name);
}

TEST(Asset, References) {
  auto parsed = [](std::string_view name, std::string_view version = "") {
    auto reference = ParseAssetReference(name, version);
    return reference.ok() ? StrCat(reference->name, "|", reference->version) : StrCat(reference.error().slug, " ", reference.error().field);
  };
  EXPECT_EQ(parsed("m"), "m|0");
  EXPECT_EQ(parsed("m", "latest"), "m|0");
  EXPECT_EQ(parsed("m", "3"), "m|3");
  EXPECT_EQ(parsed("m:3"), "m|3");
  EXPECT_EQ(parsed("m:3", "3"), "m|3");
  EXPECT_EQ(parsed("m:latest"), "m|0");
  for (auto [name, version] : std::vector<std::pair<const char*, const char*>>{
           {"m", "0"}, {"m", "-1"}, {"m", "x"}, {"m", "1.0"}, {"m", "99999999999999999999"}, {"m:", ""}, {"m:x", ""}, {"m:3", "4"}, {"m:3", "latest"}})
    EXPECT_EQ(parsed(name, version), "asset.version version") << name << " " << version;
}

}  // namespace
}  // namespace ferry::model
