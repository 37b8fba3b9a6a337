#include "environment/installed.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

TEST(Installed, DistInfoAndEggInfo) {
  std::string folder = os::JoinPath(testing::TempDir(), "installed." + RandomHex(6));
  auto write = [&](const std::string& path, const std::string& text) {
    std::string file = folder + "/lib/python3.11/site-packages/" + path;
    ASSERT_TRUE(os::MakeFolders(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(os::WriteFile(file, text).ok());
  };
  write("numpy-1.24.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: NumPy\nVersion: 1.24.2\n\nName: not this\n");
  write("own_thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: own.thing\nVersion: 1.0\n");
  write("own_thing-1.0.dist-info/direct_url.json", R"({"url": "https://u:p@host/own.whl", "archive_info": {"hashes": {"sha256": "ab"}}})");
  write("git_thing-2.0.dist-info/METADATA", "Name: git-thing\nVersion: 2.0\n");
  write("git_thing-2.0.dist-info/direct_url.json", R"({"url": "https://host/x.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}})");
  write("PyYAML-6.0.egg-info/PKG-INFO", "Name: PyYAML\nVersion: 6.0\n");
  write("flat-0.1-py3.11.egg-info", "");
  write("broken-3.0.dist-info/METADATA", "");
  write("~umpy-1.0.dist-info/METADATA", "Name: numpy\nVersion: 1.0\n");
  auto site_packages = SitePackages(folder);
  ASSERT_TRUE(site_packages.ok());
  auto all = ReadInstalled(*site_packages);
  ASSERT_TRUE(all.ok());
  std::vector<std::string> said;
  for (const auto& package : *all)
    said.push_back(package.name + " " + package.version + (package.url.empty() ? "" : " " + package.url) +
                   (package.sha256.empty() ? "" : " " + package.sha256));
  EXPECT_EQ(said, (std::vector<std::string>{"broken 3.0", "flat 0.1", "git-thing 2.0 git+https://host/x.git@abc", "numpy 1.24.2",
                                            "own-thing 1.0 https://host/own.whl ab", "pyyaml 6.0"}));
  EXPECT_FALSE(SitePackages(folder + "/lib").ok());
  EXPECT_TRUE(os::RemoveAll(folder).ok());
}

}  // namespace
}  // namespace ferry::environment
