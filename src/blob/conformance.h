// What every BlobStore must do, as a gtest suite. An implementation's test instantiates it with a way to open a store
// in a folder:
//   INSTANTIATE_TEST_SUITE_P(Files, BlobConformance, testing::Values(Opener(OpenFileBlobStore)));
// A store is closed by destroying it and must then open again with all that was acknowledged.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "blob/blob_store.h"
#include "blob/pack.h"

namespace ferry::blob {

using Opener = std::function<Result<std::unique_ptr<BlobStore>>(std::string folder)>;

// Bytes that depend on `seed` only; every second seed compresses well.
inline std::string SomeBytes(uint64_t seed, size_t size) {
  std::mt19937_64 random(seed * 7919 + 1);
  std::string out;
  out.reserve(size + 32);
  while (out.size() < size) {
    if (seed % 2)
      out += StrCat("line ", random() % 1000, " of a text\n");
    else {
      uint64_t v = random();
      out.append(reinterpret_cast<const char*>(&v), sizeof v);
    }
  }
  out.resize(size);
  return out;
}

inline std::string PackOf(const std::vector<std::string>& blobs) {
  std::string pack(kPackMagic);
  for (const std::string& blob : blobs) AppendRecord(pack, HashBytes(blob), blob);
  return pack;
}

inline Result<size_t> Upload(BlobStore& store, std::string_view pack, size_t cut = SIZE_MAX) {
  TRY(auto sink, store.AddPack());
  for (size_t at = 0; at < pack.size(); at += std::min(cut, pack.size() - at)) TRY_VOID(sink->Write(pack.substr(at, cut)));
  return sink->Finish();
}

inline Result<std::string> ReadBlob(BlobStore& store, const Digest& digest, size_t step = 1u << 20) {
  TRY(auto reader, store.Open(digest));
  std::string out;
  for (;;) {
    TRY(std::string bytes, reader->Read(out.size(), step));
    if (bytes.empty()) break;
    out += bytes;
  }
  if (out.size() != reader->size()) return MakeError(Code::kInternal, "test.size", "the reader states another size");
  return out;
}

class BlobConformance : public testing::TestWithParam<Opener> {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/blobs." + RandomHex(6);
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Reopen() {
    store_.reset();
    auto store = GetParam()(folder_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
  }
  bool Has(const std::string& blob) {
    const Digest digest = HashBytes(blob);
    auto here = store_->Has({&digest, 1});
    EXPECT_TRUE(here.ok());
    return here.ok() && here->at(0);
  }
  void ExpectReadable(const std::string& blob) {
    auto bytes = ReadBlob(*store_, HashBytes(blob));
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_TRUE(*bytes == blob);
    EXPECT_TRUE(Has(blob));
  }

  std::string folder_;
  std::unique_ptr<BlobStore> store_;
};

TEST_P(BlobConformance, AnyCutOfAPack) {
  for (size_t cut : {size_t{1}, size_t{2}, size_t{3}, size_t{39}, size_t{40}, size_t{41}, size_t{1000}, SIZE_MAX}) {
    std::vector<std::string> blobs;
    for (size_t i = 0; i < 20; ++i) blobs.push_back(SomeBytes(cut % 1000 * 100 + i, i * 37));
    auto added = Upload(*store_, PackOf(blobs), cut);
    ASSERT_TRUE(added.ok()) << added.error().message;
    for (const std::string& blob : blobs) ExpectReadable(blob);
    Reopen();
    for (const std::string& blob : blobs) ExpectReadable(blob);
  }
}

TEST_P(BlobConformance, EmptyPackAndEmptyBlob) {
  EXPECT_EQ(Upload(*store_, kPackMagic).value(), 0u);
  EXPECT_EQ(Upload(*store_, PackOf({""})).value(), 1u);
  ExpectReadable("");
  Reopen();
  ExpectReadable("");
}

TEST_P(BlobConformance, LargestPackedBlob) {
  for (uint64_t seed : {2, 3}) {
    const std::string blob = SomeBytes(seed, kMaxPacked);
    EXPECT_EQ(Upload(*store_, PackOf({blob}), 65536).value(), 1u);
    ExpectReadable(blob);
  }
  std::string pack = PackOf({SomeBytes(4, 100)});
  const uint32_t raw = kMaxPacked + 1;
  std::memcpy(pack.data() + 4 + 36, &raw, 4);
  auto refused = Upload(*store_, pack);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().slug, "blob.corrupt");
}

TEST_P(BlobConformance, CorruptPackPublishesNothing) {
  std::vector<std::string> blobs;
  for (uint64_t i = 0; i < 50; ++i) blobs.push_back(SomeBytes(i, 5000));
  const std::string good = PackOf(blobs);
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    std::string bad = good;
    bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    auto refused = Upload(*store_, bad, 1 + random() % 9000);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().slug, "blob.corrupt");
  }
  for (const std::string& blob : blobs) EXPECT_FALSE(Has(blob));
  Reopen();
  for (const std::string& blob : blobs) EXPECT_FALSE(Has(blob));
  EXPECT_EQ(Upload(*store_, good).value(), blobs.size());
}

TEST_P(BlobConformance, TruncatedPackPublishesNothing) {
  const std::vector<std::string> blobs = {SomeBytes(1, 300), SomeBytes(2, 300)};
  const std::string pack = PackOf(blobs);
  const size_t first = PackOf({blobs[0]}).size();
  for (size_t size = 0; size < pack.size(); ++size) {
    // A cut between two records is a smaller pack and not a truncated one.
    if (size == kPackMagic.size() || size == first) continue;
    auto refused = Upload(*store_, std::string_view(pack).substr(0, size));
    ASSERT_FALSE(refused.ok()) << size;
    EXPECT_EQ(refused.error().slug, "blob.corrupt") << size;
  }
  for (const std::string& blob : blobs) EXPECT_FALSE(Has(blob));
}

TEST_P(BlobConformance, NothingIsReadableBeforeFinish) {
  for (size_t size : {size_t{1000}, size_t{3u << 20}}) {
    std::vector<std::string> blobs;
    for (uint64_t i = 0; i < 4; ++i) blobs.push_back(SomeBytes(2 * i, size + i));
    {
      auto sink = store_->AddPack().value();
      ASSERT_TRUE(sink->Write(PackOf(blobs)).ok());
      for (const std::string& blob : blobs) EXPECT_FALSE(Has(blob));
    }
    for (const std::string& blob : blobs) EXPECT_FALSE(Has(blob));
    EXPECT_EQ(Upload(*store_, PackOf(blobs)).value(), blobs.size());
    for (const std::string& blob : blobs) ExpectReadable(blob);
  }
}

TEST_P(BlobConformance, DuplicatesAreDropped) {
  const std::string a = SomeBytes(1, 2000), b = SomeBytes(2, 2000), c = SomeBytes(3, 2000);
  EXPECT_EQ(Upload(*store_, PackOf({a, b, a, a})).value(), 2u);
  EXPECT_EQ(Upload(*store_, PackOf({a, b})).value(), 0u);
  EXPECT_EQ(Upload(*store_, PackOf({a, c, b})).value(), 1u);
  Reopen();
  for (const std::string& blob : {a, b, c}) ExpectReadable(blob);
  EXPECT_EQ(Upload(*store_, PackOf({c, b, a})).value(), 0u);
}

TEST_P(BlobConformance, LargeUploadsWithDuplicates) {
  std::vector<std::string> blobs;
  for (uint64_t i = 0; i < 30; ++i) blobs.push_back(SomeBytes(2 * i, 700'000));
  EXPECT_EQ(Upload(*store_, PackOf({blobs[3], blobs[17]}), 65536).value(), 2u);
  EXPECT_EQ(Upload(*store_, PackOf(blobs), 65536).value(), 28u);
  EXPECT_EQ(Upload(*store_, PackOf(blobs), 65536).value(), 0u);
  Reopen();
  for (const std::string& blob : blobs) ExpectReadable(blob);
}

TEST_P(BlobConformance, HasKeepsTheOrder) {
  std::vector<std::string> blobs;
  std::vector<Digest> digests;
  for (uint64_t i = 0; i < 400; ++i) {
    std::string blob = SomeBytes(i, 50 + i);
    digests.push_back(HashBytes(blob));
    if (i % 3 == 0) blobs.push_back(blob);
  }
  ASSERT_TRUE(Upload(*store_, PackOf(blobs)).ok());
  auto here = store_->Has(digests).value();
  for (size_t i = 0; i < digests.size(); ++i) EXPECT_EQ(here[i], i % 3 == 0);
  EXPECT_TRUE(store_->Has({}).value().empty());
}

TEST_P(BlobConformance, UnknownBlobIsNotFound) {
  auto reader = store_->Open(HashBytes("nobody"));
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().slug, "blob.not_found");
}

TEST_P(BlobConformance, PartsResumeAfterReopen) {
  const std::string blob = SomeBytes(8, 9'000'001);
  const Digest digest = HashBytes(blob);
  EXPECT_EQ(store_->Partial(digest).value(), 0u);
  ASSERT_TRUE(store_->AddPart(digest, 0, std::string_view(blob).substr(0, 4'000'000)).ok());
  Reopen();
  EXPECT_EQ(store_->Partial(digest).value(), 4'000'000u);
  EXPECT_FALSE(Has(blob));
  EXPECT_EQ(store_->FinishParts(digest, blob.size()).error().slug, "blob.offset");
  ASSERT_TRUE(store_->AddPart(digest, 4'000'000, std::string_view(blob).substr(4'000'000, 5'000'000)).ok());
  ASSERT_TRUE(store_->AddPart(digest, 9'000'000, std::string_view(blob).substr(9'000'000)).ok());
  ASSERT_TRUE(store_->FinishParts(digest, blob.size()).ok());
  ExpectReadable(blob);
  EXPECT_EQ(store_->Partial(digest).value(), blob.size());
  EXPECT_TRUE(store_->FinishParts(digest, blob.size()).ok());
  EXPECT_TRUE(store_->AddPart(digest, 0, "again").ok());
  Reopen();
  ExpectReadable(blob);
  EXPECT_EQ(Upload(*store_, PackOf({SomeBytes(1, 10)})).value(), 1u);
}

TEST_P(BlobConformance, PartAtAWrongOffset) {
  const Digest digest = HashBytes("abcdef");
  EXPECT_EQ(store_->AddPart(digest, 1, "b").error().slug, "blob.offset");
  ASSERT_TRUE(store_->AddPart(digest, 0, "abc").ok());
  for (uint64_t offset : {0, 2, 4, 1 << 30}) {
    auto refused = store_->AddPart(digest, offset, "x");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    EXPECT_EQ(refused.error().slug, "blob.offset");
  }
  EXPECT_EQ(store_->Partial(digest).value(), 3u);
  ASSERT_TRUE(store_->AddPart(digest, 3, "def").ok());
  ASSERT_TRUE(store_->FinishParts(digest, 6).ok());
  ExpectReadable("abcdef");
}

TEST_P(BlobConformance, WrongHashDropsTheParts) {
  const Digest digest = HashBytes("right");
  for (bool reopen : {false, true}) {
    ASSERT_TRUE(store_->AddPart(digest, 0, "wrong").ok());
    if (reopen) Reopen();
    auto refused = store_->FinishParts(digest, 5);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().slug, "blob.corrupt");
    EXPECT_EQ(store_->Partial(digest).value(), 0u);
    EXPECT_FALSE(Has("right"));
  }
  ASSERT_TRUE(store_->AddPart(digest, 0, "right and more").ok());
  EXPECT_EQ(store_->FinishParts(digest, 5).error().slug, "blob.corrupt");
  ASSERT_TRUE(store_->AddPart(digest, 0, "right").ok());
  ASSERT_TRUE(store_->FinishParts(digest, 5).ok());
  ExpectReadable("right");
}

TEST_P(BlobConformance, EmptyBlobByParts) {
  ASSERT_TRUE(store_->FinishParts(HashBytes(""), 0).ok());
  ExpectReadable("");
  EXPECT_EQ(store_->FinishParts(HashBytes("x"), 0).error().slug, "blob.corrupt");
}

TEST_P(BlobConformance, PackedBlobByPartsToo) {
  ASSERT_TRUE(Upload(*store_, PackOf({"small"})).ok());
  EXPECT_EQ(store_->Partial(HashBytes("small")).value(), 5u);
  EXPECT_TRUE(store_->AddPart(HashBytes("small"), 0, "small").ok());
  EXPECT_TRUE(store_->FinishParts(HashBytes("small"), 5).ok());
  ExpectReadable("small");
}

TEST_P(BlobConformance, RemovedBlobsGoAndMayComeAgain) {
  const std::string large = SomeBytes(5, 300'000), packed = SomeBytes(6, 300);
  const Digest digest = HashBytes(large);
  ASSERT_TRUE(store_->Remove(digest).ok()) << "nothing to remove";
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(store_->AddPart(digest, 0, large).ok());
    ASSERT_TRUE(store_->FinishParts(digest, large.size()).ok());
    auto open = store_->Open(digest);
    ASSERT_TRUE(open.ok());
    ASSERT_TRUE(store_->Remove(digest).ok());
    EXPECT_FALSE(store_->Has(std::span(&digest, 1)).value()[0]);
    EXPECT_EQ(store_->Open(digest).error().code, Code::kNotFound);
    EXPECT_EQ((*open)->Read(0, large.size()).ValueOr(""), large) << "who had it open reads on";
    if (round == 0) Reopen();
    EXPECT_FALSE(store_->Has(std::span(&digest, 1)).value()[0]);
  }
  ASSERT_TRUE(Upload(*store_, PackOf({packed})).ok());
  ASSERT_TRUE(store_->Remove(HashBytes(packed)).ok());
  ExpectReadable(packed);
}

TEST_P(BlobConformance, RangeReads) {
  const std::string packed = SomeBytes(3, 100'000), plain = SomeBytes(4, 100'000), loose = SomeBytes(6, 300'000);
  ASSERT_TRUE(Upload(*store_, PackOf({packed, plain})).ok());
  ASSERT_TRUE(store_->AddPart(HashBytes(loose), 0, loose).ok());
  ASSERT_TRUE(store_->FinishParts(HashBytes(loose), loose.size()).ok());
  std::mt19937_64 random(1);
  for (const std::string& blob : {packed, plain, loose}) {
    auto reader = store_->Open(HashBytes(blob)).value();
    EXPECT_EQ(reader->size(), blob.size());
    for (int i = 0; i < 100; ++i) {
      const size_t offset = random() % blob.size(), limit = random() % 5000;
      EXPECT_EQ(reader->Read(offset, limit).value(), blob.substr(offset, limit));
    }
    EXPECT_EQ(reader->Read(0, SIZE_MAX).value(), blob);
    EXPECT_EQ(reader->Read(blob.size() - 1, 100).value(), blob.substr(blob.size() - 1));
    EXPECT_EQ(reader->Read(blob.size(), 100).value(), "");
    EXPECT_EQ(reader->Read(UINT64_MAX, 100).value(), "");
    EXPECT_EQ(ReadBlob(*store_, HashBytes(blob), 777).value(), blob);
  }
}

TEST_P(BlobConformance, ConcurrentUploadsOfTheSameBlobs) {
  constexpr int kThreads = 4;
  std::vector<std::string> blobs;
  for (uint64_t i = 0; i < 200; ++i) blobs.push_back(SomeBytes(i, i % 10 == 0 ? 300'000 : 500 + i));
  const std::string large = SomeBytes(1000, 2'000'000);
  std::atomic<size_t> added{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t from = 0; from < blobs.size(); from += 50) {
        std::vector<std::string> some(blobs.begin() + from, blobs.begin() + from + 50);
        if (t % 2) std::reverse(some.begin(), some.end());
        auto n = Upload(*store_, PackOf(some), 10'000);
        ASSERT_TRUE(n.ok()) << n.error().message;
        added += *n;
        for (const std::string& blob : some) ASSERT_EQ(ReadBlob(*store_, HashBytes(blob)).value(), blob);
      }
      const Digest digest = HashBytes(large);
      for (uint64_t at; (at = store_->Partial(digest).value()) < large.size();) {
        auto part = store_->AddPart(digest, at, std::string_view(large).substr(at, 100'000));
        ASSERT_TRUE(part.ok() || part.error().slug == "blob.offset");
      }
      ASSERT_TRUE(store_->FinishParts(digest, large.size()).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(added, blobs.size());
  Reopen();
  for (const std::string& blob : blobs) ExpectReadable(blob);
  ExpectReadable(large);
}

// A child uploads in a loop and names each acknowledged upload on a pipe; it is killed at a random moment.
TEST_P(BlobConformance, KilledInTheMiddleOfUploads) {
  std::mt19937_64 random(static_cast<uint64_t>(::getpid()));
  auto batch = [](uint64_t round, uint64_t n) {
    std::vector<std::string> blobs;
    for (uint64_t i = 0; i < 20; ++i) blobs.push_back(SomeBytes(round * 100'000 + n * 100 + i, n % 8 == 7 ? 400'000 : 3000));
    return blobs;
  };
  uint64_t acknowledged = 0;
  for (uint64_t round = 1; round <= 8; ++round) {
    store_.reset();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      auto store = GetParam()(folder_);
      if (!store.ok()) ::_exit(3);
      for (uint64_t n = 0; n < 200; ++n) {
        const std::string large = SomeBytes(round * 1'000'000 + n, 50'000);
        if (!Upload(**store, PackOf(batch(round, n)), 65536).ok()) ::_exit(4);
        if (!(*store)->AddPart(HashBytes(large), 0, large).ok()) ::_exit(5);
        if (!(*store)->FinishParts(HashBytes(large), large.size()).ok()) ::_exit(6);
        if (::write(ends[1], &n, sizeof n) != sizeof n) ::_exit(7);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 120));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    Reopen();
    uint64_t n;
    while (::read(ends[0], &n, sizeof n) == sizeof n) {
      for (const std::string& blob : batch(round, n)) ExpectReadable(blob);
      ExpectReadable(SomeBytes(round * 1'000'000 + n, 50'000));
      ++acknowledged;
    }
    ::close(ends[0]);
    EXPECT_EQ(Upload(*store_, PackOf({SomeBytes(round, 77)})).value(), 1u);
  }
  std::printf("[          ] %llu uploads were acknowledged before a kill\n", static_cast<unsigned long long>(acknowledged));
}

}  // namespace ferry::blob
