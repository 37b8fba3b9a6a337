#include "agent/archive.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/time.h"

namespace ferry::agent {
namespace {

using environment::Ready;

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() : home_(StrCat(testing::TempDir(), "archive-", Now().micros)) {
    folder_ = home_ + "/one";
    EXPECT_TRUE(os::MakeFolders(folder_ + "/bin").ok());
    EXPECT_TRUE(os::MakeFolders(folder_ + "/lib/pkg").ok());
    Put("bin/tool", "#!" + folder_ + "/bin/python\n", 0755);
    Put("lib/pkg/empty.py", "");
    Put("lib/pkg/large.so", std::string(9u << 20, 'x') + "end");
    Put("lib/.gitignore", "*\n");
    Put("ready.json", "{}");
    Put("used", "");
    EXPECT_TRUE(os::MakeLink("/bin/sh", folder_ + "/bin/python3").ok());
    EXPECT_TRUE(os::MakeLink("python3", folder_ + "/bin/python").ok());
    EXPECT_TRUE(os::MakeLink(folder_ + "/lib/pkg", folder_ + "/packages").ok());
    EXPECT_TRUE(os::MakeLink("lib", folder_ + "/lib64").ok());
    ready_ = {
        folder_, folder_ + "/bin/python", {folder_ + "/bin"}, {{"VIRTUAL_ENV", folder_}, {"OTHER", "/one"}}, "", {"venv", "3.11.2", "linux-64", "", {}, {}}};
  }
  ~ArchiveTest() override { (void)os::RemoveAll(home_); }
  void Put(const std::string& path, const std::string& text, unsigned mode = 0644) { EXPECT_TRUE(os::WriteFile(folder_ + "/" + path, text, mode).ok()); }
  Result<Ready> Unpack(std::string_view bytes, size_t piece, const std::string& to) {
    ArchiveReader reader(to);
    for (size_t at = 0; at < bytes.size(); at += piece) TRY_VOID(reader.Write(bytes.substr(at, piece)));
    return reader.Finish();
  }

  std::string home_, folder_;
  Ready ready_;
};

TEST_F(ArchiveTest, GoesThereAndBack) {
  auto digest = WriteArchive(ready_, home_ + "/file");
  ASSERT_TRUE(digest.ok());
  std::string bytes = *os::ReadFile(home_ + "/file");
  EXPECT_EQ(*digest, HashBytes(bytes));
  EXPECT_LT(bytes.size(), 1u << 20) << "it is compressed";
  for (size_t piece : {1000u, 1u << 20}) {
    std::string to = StrCat(home_, "/there", piece);
    auto ready = Unpack(bytes, piece, to);
    ASSERT_TRUE(ready.ok()) << ready.error().message;
    EXPECT_EQ(ready->interpreter, to + "/bin/python");
    EXPECT_EQ(ready->path, std::vector<std::string>{to + "/bin"});
    EXPECT_EQ(ready->variables.at("VIRTUAL_ENV"), to);
    EXPECT_EQ(ready->variables.at("OTHER"), "/one");
    EXPECT_EQ(*os::ReadLink(to + "/bin/python3"), "/bin/sh");
    EXPECT_EQ(*os::ReadLink(to + "/bin/python"), "python3");
    EXPECT_EQ(*os::ReadLink(to + "/packages"), to + "/lib/pkg");
    EXPECT_EQ(*os::ReadLink(to + "/lib64"), "lib");
    EXPECT_EQ(os::ReadFile(to + "/lib/pkg/large.so")->size(), (9u << 20) + 3);
    EXPECT_TRUE(os::Exists(to + "/lib/pkg/empty.py"));
    EXPECT_EQ(os::StatPath(to + "/bin/tool")->mode & 0777, 0755u);
    EXPECT_FALSE(os::Exists(to + "/ready.json")) << "it is no environment before the cache says so";
    EXPECT_FALSE(os::Exists(to + "/used"));
  }
}

TEST_F(ArchiveTest, APartOfItIsNoEnvironment) {
  ASSERT_TRUE(WriteArchive(ready_, home_ + "/file").ok());
  std::string bytes = *os::ReadFile(home_ + "/file");
  for (size_t size : {size_t{0}, size_t{3}, size_t{50}, bytes.size() / 2, bytes.size() - 1})
    EXPECT_FALSE(Unpack(bytes.substr(0, size), 4096, StrCat(home_, "/part", size)).ok()) << size;
  std::string changed = bytes;
  changed[changed.size() / 2] ^= 1;
  EXPECT_FALSE(Unpack(changed, 4096, home_ + "/changed").ok());
}

TEST_F(ArchiveTest, WhatLinksToAProgramThatIsNotHereIsRefused) {
  ASSERT_TRUE(os::RemoveFile(folder_ + "/bin/python").ok());
  ASSERT_TRUE(os::MakeLink(home_ + "/interpreter", folder_ + "/bin/python").ok());
  ASSERT_TRUE(os::WriteFile(home_ + "/interpreter", "").ok());
  ASSERT_TRUE(WriteArchive(ready_, home_ + "/file").ok());
  ASSERT_TRUE(os::RemoveFile(home_ + "/interpreter").ok());
  auto ready = Unpack(*os::ReadFile(home_ + "/file"), 4096, home_ + "/there");
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().slug, "archive.link");
}

}  // namespace
}  // namespace ferry::agent
