#include "agent/sdk.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ferry::agent {
namespace {

namespace fs = std::filesystem;

std::string Entry(const std::string& name, const std::string& content, char type = '0', const std::string& prefix = "") {
  std::string head(512, '\0');
  name.copy(head.data(), 100);
  std::snprintf(head.data() + 124, 12, "%011zo", type == '5' ? 0 : content.size());
  head[156] = type;
  std::string("ustar\00000", 8).copy(head.data() + 257, 8);
  prefix.copy(head.data() + 345, 155);
  std::string body = type == '5' ? "" : content;
  body.resize((body.size() + 511) / 512 * 512, '\0');
  return head + body;
}

std::string Read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class TarTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("tar_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "in");
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Unpack(const std::string& archive) {
    auto result = UnpackTar(archive, folder_ / "in");
    return result.ok() ? "ok" : result.error().slug;
  }
  fs::path folder_;
};

TEST_F(TarTest, FilesAndFolders) {
  std::string end(1024, '\0');
  EXPECT_EQ(Unpack(Entry("a/", "", '5') + Entry("a/b.py", "print(1)\n") + Entry("c.py", std::string(1000, 'x')) + Entry("d.py", "", '0', "deep/er") + end),
            "ok");
  EXPECT_EQ(Read(folder_ / "in/a/b.py"), "print(1)\n");
  EXPECT_EQ(Read(folder_ / "in/c.py"), std::string(1000, 'x'));
  EXPECT_TRUE(fs::exists(folder_ / "in/deep/er/d.py"));
  EXPECT_EQ(Unpack(""), "ok");
}

TEST_F(TarTest, NothingLeavesTheFolder) {
  for (const char* name : {"/etc/x", "../x", "a/../../x", "..", "a/.."}) EXPECT_EQ(Unpack(Entry(name, "bad")), "tar.malformed") << name;
  EXPECT_EQ(Unpack(Entry("x", "bad", '0', "..")), "tar.malformed");
  EXPECT_FALSE(fs::exists(folder_ / "x"));
}

TEST_F(TarTest, DamageIsRefused) {
  std::string whole = Entry("a", std::string(2000, 'x'));
  EXPECT_EQ(Unpack(whole.substr(0, 1024)), "tar.malformed") << "cut";
  std::string size = Entry("a", "x");
  size[130] = '9';
  EXPECT_EQ(Unpack(size), "tar.malformed");
  EXPECT_EQ(Unpack(std::string(512, 'x')), "tar.malformed");
  // Links are not unpacked: a file written "through" one would leave the folder.
  EXPECT_EQ(Unpack(Entry("link", "", '2') + Entry("link/x", "y")), "ok");
  EXPECT_TRUE(fs::is_regular_file(folder_ / "in/link/x"));
  EXPECT_FALSE(fs::is_symlink(folder_ / "in/link"));
}

TEST_F(TarTest, TheSdkThatIsCarried) {
  auto folder = UnpackSdk(folder_);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_TRUE(fs::exists(fs::path(*folder) / "azureml/core/run.py"));
  EXPECT_TRUE(fs::exists(fs::path(*folder) / "ferry/channel.py"));
  EXPECT_EQ(*UnpackSdk(folder_), *folder) << "once";
}

}  // namespace
}  // namespace ferry::agent
