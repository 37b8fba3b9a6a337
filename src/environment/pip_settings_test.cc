#include "environment/pip_settings.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

TEST(PipSettings, Files) {
  auto keys = ParsePipConf(
      "[global]\nindex-url = https://a/simple\n# x\nextra-index-url =\n    https://b/simple\n    https://c/simple\n[list]\nformat = "
      "json\n[install]\nfind-links: /srv/w\n");
  EXPECT_EQ(keys["index-url"], "https://a/simple");
  EXPECT_EQ(keys["extra-index-url"], "https://b/simple https://c/simple");
  EXPECT_EQ(keys["find-links"], "/srv/w");
  EXPECT_EQ(keys.count("format"), 0u);
  ParsePipConf("[");
  ParsePipConf("\n=\n[global]\n=x\n :\n");
}

TEST(PipSettings, ForUv) {
  std::string home = os::JoinPath(testing::TempDir(), "pipconf." + RandomHex(6));
  ASSERT_TRUE(os::MakeFolders(home + "/.config/pip").ok());
  ASSERT_TRUE(os::WriteFile(home + "/.config/pip/pip.conf", "[global]\nindex-url = https://a/simple\n").ok());
  auto uv = UvVariables({{"HOME", home}});
  EXPECT_EQ(uv["UV_DEFAULT_INDEX"], "https://a/simple");
  uv = UvVariables({{"HOME", home}, {"PIP_INDEX_URL", "https://b/simple"}, {"PIP_FIND_LINKS", home + " /not/there"}});
  EXPECT_EQ(uv["UV_DEFAULT_INDEX"], "https://b/simple");
  EXPECT_EQ(uv["UV_FIND_LINKS"], home);
  uv = UvVariables({{"HOME", home}, {"UV_INDEX_URL", "https://c/simple"}});
  EXPECT_EQ(uv.count("UV_DEFAULT_INDEX"), 0u);
  EXPECT_TRUE(os::RemoveAll(home).ok());
}

}  // namespace
}  // namespace ferry::environment
