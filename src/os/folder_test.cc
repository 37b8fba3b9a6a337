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

TEST_F(FolderTest, NoPartOfAPathBelowIsALink) {
  ASSERT_TRUE(MakeFolders(JoinPath(path_, "a/b/c")).ok());
  ASSERT_TRUE(folder_.MakeLink("a", "link").ok());
  EXPECT_TRUE(folder_.OpenFolder("link/b").ok());
  EXPECT_TRUE(folder_.OpenBelow("a/b/c").ok());
  EXPECT_TRUE(folder_.OpenBelow("").ok());
  EXPECT_FALSE(folder_.OpenBelow("link/b").ok());
  EXPECT_FALSE(folder_.OpenBelow("a/b/c/d").ok());
}

TEST_F(FolderTest, RemovesWhateverItIs) {
  ASSERT_TRUE(MakeFolders(JoinPath(path_, "a/b/c")).ok());
  ASSERT_TRUE(MakeFolders(JoinPath(path_, "kept/within")).ok());
  ASSERT_TRUE(folder_.MakeLink("../kept", "a/link").ok());
  ASSERT_TRUE(folder_.MakeLink("kept", "link").ok());
  ASSERT_TRUE(folder_.CreateFile("file", 0644).ok());
  ASSERT_TRUE(folder_.SetMode("a", 0).ok());
  EXPECT_FALSE(folder_.SetMode("link", 0).ok());
  for (const char* name : {"a", "link", "file", "nothing"}) EXPECT_TRUE(folder_.Remove(name).ok()) << name;
  ASSERT_EQ(ListFolder(path_)->size(), 1u);
  EXPECT_TRUE(Exists(JoinPath(path_, "kept/within")));
}

TEST_F(FolderTest, RemovesTreesOfAnyDepth) {
  // Names as they are given to what is moved up, some of them taken.
  ASSERT_TRUE(MakeFolders(JoinPath(path_, "deep/removed.2/within")).ok());
  ASSERT_TRUE(WriteFile(JoinPath(path_, "deep/removed.1"), "x").ok());
  auto at = folder_.OpenFolder("deep");
  for (int i = 0; i < 450; ++i) {
    ASSERT_TRUE(at->MakeFolder("removed.3").ok());
    ASSERT_TRUE(at->MakeFolder("beside").ok());
    at = at->OpenFolder("removed.3");
    ASSERT_TRUE(at.ok());
  }
  ASSERT_TRUE(RemoveAll(JoinPath(path_, "deep")).ok());
  EXPECT_TRUE(ListFolder(path_)->empty());
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
