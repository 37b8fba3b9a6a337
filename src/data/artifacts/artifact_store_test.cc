#include "data/artifacts/artifact_store.h"

#include <filesystem>

#include "blob/files/file_blob_store.h"
#include "blob/pack.h"
#include "data/conformance.h"
#include "engine/tables.h"
#include "store/memory/memory_store.h"

namespace ferry::data {
namespace {

struct Keeps {
  std::string folder;
  std::unique_ptr<store::Store> store = store::OpenMemoryStore(engine::Tables());
  std::unique_ptr<blob::BlobStore> blobs;
  Keeps() {
    static int count = 0;
    folder = StrCat(testing::TempDir(), "artifact_store_", ++count);
    std::filesystem::remove_all(folder);
    blobs = std::move(*blob::OpenFileBlobStore(folder));
    AddRun("r", "default");
    AddRun("r-2", "other");
    AddRun("r.3", "default");
    AddRun("r4", "other");
  }
  ~Keeps() { std::filesystem::remove_all(folder); }
  void Commit(store::Change change) { ASSERT_TRUE(store->Commit(std::span(&change, 1)).ok()); }
  void AddRun(const std::string& id, const std::string& workspace) {
    model::Run run;
    run.id = id;
    run.workspace = workspace;
    run.attempts = {model::Attempt{}};
    Commit(engine::PutRun(run, true));
  }
  void AddArtifact(const std::string& run, const std::string& path, const std::string& content) {
    Digest digest = HashBytes(content);
    std::string pack(blob::kPackMagic);
    blob::AppendRecord(pack, digest, content);
    auto sink = blobs->AddPack();
    ASSERT_TRUE((*sink)->Write(pack).ok());
    ASSERT_TRUE((*sink)->Finish().ok());
    Commit(engine::PutArtifact({run, path, digest, content.size(), Time{5}}));
  }
};

INSTANTIATE_TEST_SUITE_P(Artifacts, FileStoreConformance, testing::Values([] {
                           auto keeps = std::make_shared<Keeps>();
                           Subject subject{OpenArtifactStore(*keeps->store, *keeps->blobs, "default"), "ExperimentRun/dcid.r/", false, {}, keeps};
                           subject.put = [base = subject.base, keeps = keeps.get()](const std::string& path, const std::string& content) {
                             keeps->AddArtifact("r", path.substr(base.size()), content);
                           };
                           return subject;
                         }));

TEST(ArtifactStore, ShowsTheRunsOfItsWorkspaceAlone) {
  Keeps keeps;
  for (const char* run : {"r", "r-2", "r.3", "r4"})
    for (const char* path : {"outputs/a", "outputs/b"}) keeps.AddArtifact(run, path, "x");
  auto store = OpenArtifactStore(*keeps.store, *keeps.blobs, "default");
  std::vector<std::string> expected = {"ExperimentRun/dcid.r.3/outputs/a", "ExperimentRun/dcid.r.3/outputs/b", "ExperimentRun/dcid.r/outputs/a",
                                       "ExperimentRun/dcid.r/outputs/b"};
  for (const char* prefix : {"", "Exp", "ExperimentRun/", "ExperimentRun/dcid.r"}) {
    std::vector<std::string> paths;
    for (const FileInfo& file : *store->List(prefix, "", 100)) paths.push_back(file.path);
    EXPECT_EQ(paths, expected) << prefix;
  }
  EXPECT_EQ((*store->List("", expected[1], 1))[0].path, expected[2]);
  EXPECT_TRUE(store->List("", "F", 10)->empty());
  EXPECT_TRUE(store->List("Other", "", 10)->empty());
  EXPECT_FALSE(store->Stat("ExperimentRun/dcid.r4/outputs/a").ok());
}

}  // namespace
}  // namespace ferry::data
