#include "os/folder.h"

#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "base/text.h"

namespace ferry::os {
namespace {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = JoinPath(testing::TempDir(), "folder." + RandomHex(6));
    ASSERT_TRUE(MakeFolders(path_).ok());
    auto folder = Folder::Open(path_);
    ASSERT_TRUE(folder.ok());
    folder_ = std::move(*folder);
  }
  void TearDown() override { EXPECT_TRUE(RemoveAll(path_).ok()); }
  std::string path_;
  Folder folder_;
};

TEST_F(FolderTest, ListsNamesAndTypes) {
  std::set<std::string> expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string name = StrCat("a file with a rather long name, number ", i);
    ASSERT_TRUE(folder_.CreateFile(name.c_str(), 0644).ok());
    expected.insert(name);
  }
  ASSERT_TRUE(folder_.MakeFolder("folder").ok());
  ASSERT_TRUE(folder_.MakeLink("folder", "link").ok());
  for (int round = 0; round < 2; ++round) {
    std::set<std::string> names;
    ASSERT_TRUE(folder_
                    .List([&](const char* name, FileType type) {
                      if (std::string_view(name) == "folder")
                        EXPECT_EQ(type, FileType::kFolder);
                      else if (std::string_view(name) == "link")
                        EXPECT_EQ(type, FileType::kLink);
                      else
                        EXPECT_TRUE(type == FileType::kFile && names.insert(name).second);
                    })
                    .ok());
    EXPECT_EQ(names, expected);
  }
}

TEST_F(FolderTest, LinksAreNotFollowed) {
  ASSERT_TRUE(folder_.MakeFolder("folder").ok());
  ASSERT_TRUE(WriteFileAtomic(JoinPath(path_, "file"), "x").ok());
  ASSERT_TRUE(folder_.MakeLink("folder", "to_folder").ok());
  ASSERT_TRUE(folder_.MakeLink("file", "to_file").ok());
  ASSERT_TRUE(folder_.MakeLink("nowhere", "dangling").ok());
  EXPECT_FALSE(folder_.OpenFolder("to_folder").ok());
  EXPECT_FALSE(folder_.OpenFile("to_file").ok());
  EXPECT_TRUE(folder_.OpenFile("to_file", true).ok());
  EXPECT_EQ(folder_.Look("to_file")->type, FileType::kLink);
  EXPECT_EQ(folder_.Look("to_file", true)->type, FileType::kFile);
  EXPECT_EQ(folder_.CreateFile("dangling", 0644).error().slug, "file.exists");
  EXPECT_EQ(folder_.CreateFile("file", 0644).error().slug, "file.exists");
  EXPECT_EQ(folder_.ReadLink("to_file").value(), "file");
  EXPECT_FALSE(Exists(JoinPath(path_, "nowhere")));
  EXPECT_TRUE(folder_.OpenFolder("folder").ok());
  EXPECT_TRUE(folder_.OpenFolder("").ok());
}

TEST_F(FolderTest, CopiesContentOfAnySize) {
  std::string buffer;
  for (size_t size : {0u, 1u, 262144u, 262145u, 1u << 20, (1u << 20) + 1, 3'000'000u}) {
    std::string bytes(size, 'x');
    for (size_t i = 0; i < size; i += 97) bytes[i] = static_cast<char>(i);
    ASSERT_TRUE(WriteFileAtomic(JoinPath(path_, "from"), bytes).ok());
    ASSERT_TRUE(RemoveFile(JoinPath(path_, "to")).ok());
    {
      auto from = folder_.OpenFile("from");
      auto to = folder_.CreateFile("to", 0644);
      ASSERT_TRUE(CopyContent(*from, *to, size, buffer).ok());
    }
    EXPECT_TRUE(ReadFile(JoinPath(path_, "to")).value() == bytes) << size;
  }
}

}  // namespace
}  // namespace ferry::os
