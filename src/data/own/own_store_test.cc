#include "data/own/own_store.h"

#include <filesystem>

#include "blob/files/file_blob_store.h"
#include "data/conformance.h"
#include "engine/engine.h"
#include "store/memory/memory_store.h"

namespace ferry::data {
namespace {

struct Keeps {
  std::string folder;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<blob::BlobStore> blobs;
  std::unique_ptr<engine::Engine> engine;
  ~Keeps() {
    engine.reset();
    EXPECT_TRUE(!std::filesystem::exists(folder + "/scratch") || std::filesystem::is_empty(folder + "/scratch"));
    std::filesystem::remove_all(folder);
  }
};

std::shared_ptr<Keeps> NewKeeps() {
  static int count = 0;
  auto keeps = std::make_shared<Keeps>();
  keeps->folder = StrCat(testing::TempDir(), "own_store_", ++count);
  std::filesystem::remove_all(keeps->folder);
  std::filesystem::create_directories(keeps->folder);
  keeps->store = store::OpenMemoryStore(engine::Tables());
  keeps->blobs = std::move(*blob::OpenFileBlobStore(keeps->folder + "/blobs"));
  keeps->engine = std::move(*engine::Engine::Start(*keeps->store, {}, {}));
  return keeps;
}

std::unique_ptr<FileStore> Open(Keeps& keeps, const std::string& datastore) {
  OwnSettings settings{"default", datastore, keeps.folder + "/scratch", {}};
  settings.add = [&keeps](std::vector<model::FileRecord> files, bool overwrite) -> Result<void> {
    auto added = keeps.engine->DoAndWait(engine::AddFiles{std::move(files), overwrite});
    return added.ok() ? Result<void>() : Result<void>(added.error());
  };
  return OpenOwnStore(*keeps.store, *keeps.blobs, std::move(settings));
}

INSTANTIATE_TEST_SUITE_P(Own, FileStoreConformance, testing::Values([] {
                           auto keeps = NewKeeps();
                           auto store = Open(*keeps, "workspaceblobstore");
                           return Subject{std::move(store), "", true, nullptr, keeps};
                         }));

TEST(OwnStore, DatastoresDoNotSeeEachOther) {
  auto keeps = NewKeeps();
  auto one = Open(*keeps, "one"), two = Open(*keeps, "one_two");
  for (auto& [store, text] : {std::pair(one.get(), "1"), std::pair(two.get(), "2")}) {
    auto writer = store->Create("f");
    ASSERT_TRUE((*writer)->Write(text).ok());
    ASSERT_TRUE((*writer)->Finish(false).ok());
  }
  EXPECT_EQ(*(*one->Open("f"))->Read(0, 10), "1");
  EXPECT_EQ(*(*two->Open("f"))->Read(0, 10), "2");
  EXPECT_EQ(one->List("", "", 10)->size(), 1u);
}

TEST(OwnStore, TheSameContentAgainIsNoConflict) {
  auto keeps = NewKeeps();
  auto store = Open(*keeps, "one");
  for (int i = 0; i < 2; ++i) {
    auto writer = store->Create("f");
    ASSERT_TRUE((*writer)->Write("same").ok());
    EXPECT_TRUE((*writer)->Finish(false).ok());
  }
}

}  // namespace
}  // namespace ferry::data
