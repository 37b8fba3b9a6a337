#include "data/folder/folder_store.h"

#include <filesystem>
#include <fstream>

#include "data/conformance.h"

namespace ferry::data {
namespace {

namespace fs = std::filesystem;

std::string NewFolder() {
  static int count = 0;
  std::string folder = StrCat(testing::TempDir(), "folder_store_", testing::UnitTest::GetInstance()->current_test_info()->line(), "_", ++count);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

void WriteTo(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

INSTANTIATE_TEST_SUITE_P(Folder, FileStoreConformance, testing::Values([] {
                           std::string folder = NewFolder();
                           auto store = OpenFolderStore(folder);
                           EXPECT_TRUE(store.ok());
                           return Subject{std::move(*store), "", true, nullptr, std::shared_ptr<void>(nullptr, [folder](void*) { fs::remove_all(folder); })};
                         }));

TEST(FolderStore, FollowsNoLinkOutOfIt) {
  std::string folder = NewFolder(), outside = NewFolder();
  WriteTo(outside + "/secret", "secret");
  WriteTo(folder + "/data/a", "a");
  fs::create_symlink(outside + "/secret", folder + "/file_out");
  fs::create_directory_symlink(outside, folder + "/folder_out");
  fs::create_directory_symlink("../" + fs::path(outside).filename().string(), folder + "/up");
  fs::create_symlink("data/a", folder + "/file_in");
  fs::create_directory_symlink("data", folder + "/folder_in");
  fs::create_directory_symlink(".", folder + "/data/loop");
  fs::create_symlink("round", folder + "/round");
  auto store = std::move(*OpenFolderStore(folder));
  for (const char* path : {"file_out", "folder_out/secret", "up/secret", "round"}) {
    auto reader = store->Open(path);
    ASSERT_FALSE(reader.ok()) << path;
    EXPECT_TRUE(reader.error().slug == "file.outside" || reader.error().slug == "file.not_found") << reader.error().slug;
    EXPECT_FALSE(store->local()->PlaceOf(path).ok()) << path;
  }
  EXPECT_FALSE(store->Create("folder_out/new").ok());
  EXPECT_FALSE(store->Create("up/new").ok());
  EXPECT_TRUE(fs::is_empty(outside) || std::distance(fs::directory_iterator(outside), fs::directory_iterator()) == 1);
  auto outside_list = store->List("folder_out/", "", 10);
  EXPECT_TRUE(!outside_list.ok() || outside_list->empty());
  auto all = store->List("", "", 100);
  ASSERT_TRUE(all.ok());
  std::vector<std::string> paths;
  for (const FileInfo& file : *all) paths.push_back(file.path);
  // A link to a file inside is that file; a link to a folder is entered only by its own name.
  EXPECT_EQ(paths, (std::vector<std::string>{"data/a", "file_in"}));
  auto through = store->List("folder_in/", "", 100);
  ASSERT_TRUE(through.ok());
  ASSERT_EQ(through->size(), 1u);
  EXPECT_EQ((*through)[0].path, "folder_in/a");
  EXPECT_EQ(store->local()->PlaceOf("folder_in")->path, fs::canonical(folder + "/data").string());
  EXPECT_EQ(store->local()->PlaceOf("")->path, fs::canonical(folder).string());
  // What replaces a link is a file, and not what it pointed to.
  auto writer = store->Create("file_out");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write("new").ok());
  ASSERT_TRUE((*writer)->Finish(true).ok());
  EXPECT_FALSE(fs::is_symlink(folder + "/file_out"));
  std::ifstream in(outside + "/secret");
  std::string text;
  in >> text;
  EXPECT_EQ(text, "secret");
  fs::remove_all(folder);
  fs::remove_all(outside);
}

TEST(FolderStore, AFolderIsNoFileAndAFileNoFolder) {
  std::string folder = NewFolder();
  WriteTo(folder + "/f", "x");
  WriteTo(folder + "/d/f", "x");
  auto store = std::move(*OpenFolderStore(folder));
  auto below = store->Create("f/below");
  ASSERT_FALSE(below.ok());
  EXPECT_EQ(below.error().code, Code::kConflict);
  auto over = store->Create("d");
  ASSERT_TRUE(over.ok());
  auto finished = (*over)->Finish(true);
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().slug, "file.exists");
  EXPECT_EQ(OpenFolderStore(folder + "/nothing").error().slug, "datastore.folder");
  EXPECT_EQ(OpenFolderStore(folder + "/f").error().slug, "datastore.folder");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ferry::data
