#include "blob/files/file_blob_store.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "blob/conformance.h"
#include "blob/files/packs.h"
#include "os/file.h"

namespace ferry::blob {

INSTANTIATE_TEST_SUITE_P(Files, BlobConformance, testing::Values(Opener(OpenFileBlobStore)));

namespace {

class FileBlobStore : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = os::JoinPath(testing::TempDir(), "files." + RandomHex(6));
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    EXPECT_TRUE(os::RemoveAll(folder_).ok());
  }
  void Reopen() {
    store_.reset();
    auto store = OpenFileBlobStore(folder_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
  }
  std::vector<std::string> AddSome(uint64_t seed, size_t count, size_t size) {
    std::vector<std::string> blobs;
    for (size_t i = 0; i < count; ++i) blobs.push_back(SomeBytes(seed * 1000 + i, size + i));
    EXPECT_EQ(Upload(*store_, PackOf(blobs), 65536).value(), count);
    return blobs;
  }
  void ExpectAll(const std::vector<std::string>& blobs, bool here) {
    for (const std::string& blob : blobs) {
      auto bytes = ReadBlob(*store_, HashBytes(blob));
      ASSERT_EQ(bytes.ok(), here);
      ASSERT_TRUE(!here || *bytes == blob);
    }
  }
  void DropIndex() {
    store_.reset();
    for (const char* name : {"index.db", "index.db-wal", "index.db-shm"}) ASSERT_TRUE(os::RemoveFile(os::JoinPath(folder_, name)).ok());
  }
  std::vector<std::string> PackPaths() {
    std::vector<std::string> paths;
    auto names = os::ListFolder(os::JoinPath(folder_, "packs"));
    for (const os::DirEntry& entry : names.value()) paths.push_back(StrCat(folder_, "/packs/", entry.name));
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  void AppendTo(const std::string& path, std::string_view bytes) {
    auto file = os::Open(path, os::OpenMode::kAppend);
    ASSERT_TRUE(os::WriteAll(*file, bytes).ok());
  }

  std::string folder_;
  std::unique_ptr<BlobStore> store_;
};

TEST_F(FileBlobStore, OneProcessAtATime) {
  auto second = OpenFileBlobStore(folder_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().slug, "file.locked");
}

TEST_F(FileBlobStore, SmallUploadsShareAPack) {
  std::vector<std::string> all;
  for (uint64_t i = 0; i < 50; ++i)
    for (auto& blob : AddSome(i, 3, 100)) all.push_back(blob);
  EXPECT_EQ(PackPaths().size(), 1u);
  Reopen();
  AddSome(60, 3, 100);
  EXPECT_EQ(PackPaths().size(), 1u);
  ExpectAll(all, true);
}

TEST_F(FileBlobStore, LostIndexIsRebuilt) {
  auto small = AddSome(1, 300, 1000);
  auto large = AddSome(2, 20, 700'000);
  DropIndex();
  Reopen();
  ExpectAll(small, true);
  ExpectAll(large, true);
  EXPECT_EQ(Upload(*store_, PackOf(small)).value(), 0u);
}

TEST_F(FileBlobStore, DamagedIndexIsRebuilt) {
  auto blobs = AddSome(1, 300, 1000);
  DropIndex();
  ASSERT_TRUE(os::WriteFileAtomic(os::JoinPath(folder_, "index.db"), std::string(8192, 'x')).ok());
  Reopen();
  ExpectAll(blobs, true);
}

TEST_F(FileBlobStore, IndexOfOtherPacksIsRebuilt) {
  auto first = AddSome(1, 10, 1'000'000);
  auto second = AddSome(2, 10, 1'000'000);
  ASSERT_EQ(PackPaths().size(), 2u);
  store_.reset();
  ASSERT_TRUE(os::RemoveFile(PackPaths()[0]).ok());
  Reopen();
  ExpectAll(first, false);
  ExpectAll(second, true);
}

TEST_F(FileBlobStore, TornTailIsCutOff) {
  auto blobs = AddSome(1, 10, 1000);
  const std::string pack = PackPaths().at(0);
  const uint64_t size = os::StatPath(pack)->size;
  std::string record;
  AppendRecord(record, HashBytes("torn"), "torn");
  for (const std::string& tail : {record.substr(0, 43), record.substr(0, 10), std::string(5000, '\0'), std::string("junk")}) {
    for (bool lose_index : {false, true}) {
      store_.reset();
      if (lose_index) DropIndex();
      AppendTo(pack, tail);
      Reopen();
      EXPECT_EQ(os::StatPath(pack)->size, size);
      ExpectAll(blobs, true);
    }
  }
  auto more = AddSome(2, 10, 1000);
  DropIndex();
  Reopen();
  ExpectAll(blobs, true);
  ExpectAll(more, true);
}

TEST_F(FileBlobStore, WholeRecordsBehindTheIndexAreFound) {
  auto blobs = AddSome(1, 10, 1000);
  store_.reset();
  std::string record;
  AppendRecord(record, HashBytes("written, never indexed"), "written, never indexed");
  AppendTo(PackPaths().at(0), record + record.substr(0, 20));
  Reopen();
  ExpectAll(blobs, true);
  ExpectAll({"written, never indexed"}, true);
}

TEST_F(FileBlobStore, DamageInsideAPackCostsOneBlob) {
  auto blobs = AddSome(1, 10, 1000);
  store_.reset();
  const std::string pack = PackPaths().at(0);
  std::string bytes = os::ReadFile(pack).value();
  bytes[4 + kRecordHead + 3] ^= 1;
  ASSERT_TRUE(os::WriteFileAtomic(pack, bytes).ok());
  Reopen();
  auto damaged = ReadBlob(*store_, HashBytes(blobs[0]));
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().slug, "blob.damaged");
  DropIndex();
  Reopen();
  ExpectAll({blobs[0]}, false);
  ExpectAll(std::vector<std::string>(blobs.begin() + 1, blobs.end()), true);
  EXPECT_EQ(Upload(*store_, PackOf(blobs)).value(), 1u);
  ExpectAll(blobs, true);
}

TEST_F(FileBlobStore, UnfinishedUploadsAreCleanedUp) {
  {
    auto sink = store_->AddPack().value();
    ASSERT_TRUE(sink->Write(PackOf({SomeBytes(2, 3'000'000), SomeBytes(4, 3'000'000)})).ok());
    EXPECT_EQ(os::ListFolder(os::JoinPath(folder_, "incoming"))->size(), 1u);
  }
  EXPECT_TRUE(os::ListFolder(os::JoinPath(folder_, "incoming"))->empty());
  EXPECT_TRUE(PackPaths().empty());
}

// Runs `body` in a child, in a folder on a file system of 24 MB: as root, or in a user namespace where everybody is. The child's status: 0 when all
// went well, 9 when neither may mount one.
int OnASmallDisk(const std::string& folder, const std::function<void()>& body) {
  EXPECT_TRUE(os::MakeFolders(folder).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string user = StrCat("0 ", ::getuid(), " 1"), group = StrCat("0 ", ::getgid(), " 1");
    if (::unshare(CLONE_NEWNS) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(9);
      for (const auto& [file, text] : {std::pair<std::string, std::string>{"uid_map", user}, {"setgroups", "deny"}, {"gid_map", group}})
        if (!os::WriteFile(StrCat("/proc/self/", file), text).ok()) ::_exit(9);
    }
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=24m") != 0) ::_exit(9);
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void FillAndRecover(const std::string& folder) {
  auto store = OpenFileBlobStore(os::JoinPath(folder, "store")).value();
  std::vector<std::string> first;
  for (uint64_t i = 0; i < 20; ++i) first.push_back(SomeBytes(2 * i, 10'000));
  ASSERT_EQ(Upload(*store, PackOf(first)).value(), 20u);
  // Large uploads, small ones and parts all meet the full disk.
  std::vector<std::string> huge;
  for (uint64_t i = 0; i < 12; ++i) huge.push_back(SomeBytes(1000 + 2 * i, 3'000'000));
  auto full = Upload(*store, PackOf(huge), 65536);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, Code::kExhausted) << full.error().message;
  std::vector<std::string> kept;
  bool refused = false;
  for (uint64_t n = 0; n < 100 && !refused; ++n) {
    std::vector<std::string> some;
    for (uint64_t i = 0; i < 10; ++i) some.push_back(SomeBytes(100'000 + 2 * (n * 10 + i), 50'000));
    auto added = Upload(*store, PackOf(some));
    if (added.ok()) {
      kept.insert(kept.end(), some.begin(), some.end());
    } else {
      refused = true;
      EXPECT_EQ(added.error().code, Code::kExhausted) << added.error().message;
      for (const std::string& blob : some) EXPECT_FALSE(store->Open(HashBytes(blob)).ok());
    }
  }
  EXPECT_TRUE(refused);
  const std::string large = SomeBytes(8, 6'000'000);
  auto part = store->AddPart(HashBytes(large), 0, large);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, Code::kExhausted);
  EXPECT_EQ(store->Partial(HashBytes(large)).value(), 0u);
  for (int round = 0; round < 2; ++round) {
    for (const std::string& blob : first) EXPECT_EQ(ReadBlob(*store, HashBytes(blob)).value(), blob);
    for (const std::string& blob : kept) EXPECT_EQ(ReadBlob(*store, HashBytes(blob)).value(), blob);
    for (const std::string& blob : huge) EXPECT_FALSE(store->Open(HashBytes(blob)).ok());
    store.reset();
    ASSERT_TRUE(os::RemoveFile(os::JoinPath(folder, "ballast")).ok());
    auto reopened = OpenFileBlobStore(os::JoinPath(folder, "store"));
    ASSERT_TRUE(reopened.ok()) << reopened.error().message;
    store = std::move(*reopened);
  }
  ASSERT_EQ(Upload(*store, PackOf({"small again"})).value(), 1u);
}

TEST_F(FileBlobStore, FullDisk) {
  const std::string folder = os::JoinPath(folder_, "small");
  store_.reset();
  const int status = OnASmallDisk(folder, [&] {
    ASSERT_TRUE(os::WriteFileAtomic(os::JoinPath(folder, "ballast"), std::string(4'000'000, 'b')).ok());
    FillAndRecover(folder);
  });
  if (status == 9) std::cout << "no small file system can be mounted here: FileSizeLimit alone tries it\n";
  EXPECT_TRUE(status == 0 || status == 9) << status;
}

// The same without a mount: a child whose files may not grow beyond a limit.
TEST_F(FileBlobStore, FileSizeLimit) {
  store_.reset();
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{3'000'000, 3'000'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto store = OpenFileBlobStore(folder_);
    if (!store.ok()) ::_exit(2);
    if (!Upload(**store, PackOf({SomeBytes(2, 1'000'000)})).ok()) ::_exit(3);
    for (size_t size : {2'500'000, 4'000'000}) {
      auto full = Upload(**store, PackOf({SomeBytes(4, size), SomeBytes(6, size)}));
      if (full.ok() || full.error().code != Code::kExhausted) ::_exit(4);
    }
    if (!Upload(**store, PackOf({SomeBytes(8, 1'000'000)})).ok()) ::_exit(5);
    if (!ReadBlob(**store, HashBytes(SomeBytes(8, 1'000'000))).ok()) ::_exit(6);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Reopen();
  ExpectAll({SomeBytes(2, 1'000'000), SomeBytes(8, 1'000'000)}, true);
  ExpectAll({SomeBytes(4, 2'500'000), SomeBytes(6, 2'500'000)}, false);
}

class Stopwatch {
 public:
  double Milliseconds() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

TEST_F(FileBlobStore, Speed) {
  std::vector<std::string> blobs;
  std::vector<Digest> digests;
  for (uint64_t i = 0; i < 10'000; ++i) {
    blobs.push_back(SomeBytes(i, 6000 + i % 12'000));
    digests.push_back(HashBytes(blobs.back()));
  }
  Stopwatch packing;
  const std::string pack = PackOf(blobs);
  std::printf("[          ] pack 10,000 blobs into %zu bytes: %.0f ms\n", pack.size(), packing.Milliseconds());
  Stopwatch asking;
  (void)store_->Has(digests);
  std::printf("[          ] ask for 10,000 unknown: %.1f ms\n", asking.Milliseconds());
  auto sink = store_->AddPack().value();
  Stopwatch uploading;
  for (size_t at = 0; at < pack.size(); at += 65536) ASSERT_TRUE(sink->Write(std::string_view(pack).substr(at, 65536)).ok());
  std::printf("[          ] receive: %.0f ms\n", uploading.Milliseconds());
  ASSERT_EQ(sink->Finish().value(), blobs.size());
  std::printf("[          ] receive and finish: %.0f ms\n", uploading.Milliseconds());
  Stopwatch asking_again;
  (void)store_->Has(digests);
  std::printf("[          ] ask for 10,000 known: %.1f ms\n", asking_again.Milliseconds());
  Stopwatch reading;
  for (const Digest& digest : digests) ASSERT_TRUE(store_->Open(digest).value()->Read(0, SIZE_MAX).ok());
  std::printf("[          ] read 10,000: %.0f ms\n", reading.Milliseconds());
  Stopwatch small;
  for (uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(Upload(*store_, PackOf({SomeBytes(1'000'000 + i, 1000)})).ok());
  std::printf("[          ] one upload of one small blob: %.2f ms\n", small.Milliseconds() / 20);
  Stopwatch opening;
  Reopen();
  std::printf("[          ] open: %.1f ms\n", opening.Milliseconds());
}

}  // namespace
}  // namespace ferry::blob
