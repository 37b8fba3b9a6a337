#include "logs/log_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "base/text.h"
#include "os/file.h"

namespace ferry::logs {
namespace {

class LogStoreTest : public testing::Test {
 protected:
  LogStoreTest() : folder_(testing::TempDir() + "ferry_logs_XXXXXX") {
    FERRY_CHECK(::mkdtemp(folder_.data()));
    Reopen();
  }
  ~LogStoreTest() override { (void)os::RemoveAll(folder_); }
  void Reopen() { store_ = std::move(LogStore::Open(os::JoinPath(folder_, "logs"))).value(); }

  std::string folder_;
  std::unique_ptr<LogStore> store_;
};

TEST_F(LogStoreTest, AppendsAndReads) {
  EXPECT_EQ(*store_->Append("run", "user_logs/std_log.txt", 0, "hello "), 6u);
  EXPECT_EQ(*store_->Append("run", "user_logs/std_log.txt", 6, "world"), 11u);
  EXPECT_EQ(*store_->Read("run", "user_logs/std_log.txt", 0, 100), "hello world");
  EXPECT_EQ(*store_->Read("run", "user_logs/std_log.txt", 6, 3), "wor");
  EXPECT_EQ(*store_->Read("run", "user_logs/std_log.txt", 11, 3), "");
  EXPECT_EQ(*store_->Read("run", "user_logs/std_log.txt", 1000, 3), "");
  EXPECT_EQ(store_->Read("run", "other", 0, 3).error().slug, "log.not_found");
  EXPECT_EQ(store_->Read("nobody", "other", 0, 3).error().code, Code::kNotFound);
  EXPECT_EQ(store_->Read("run", "user_logs", 0, 3).error().slug, "log.not_found");
  EXPECT_EQ(*store_->Append("run", "empty", 0, ""), 0u);
  EXPECT_EQ(*store_->Read("run", "empty", 0, 3), "");
}

TEST_F(LogStoreTest, SkipsWhatItHasAndRefusesGaps) {
  EXPECT_EQ(*store_->Append("run", "s", 0, "abcdef"), 6u);
  EXPECT_EQ(*store_->Append("run", "s", 0, "abcdef"), 6u);
  EXPECT_EQ(*store_->Append("run", "s", 2, "cd"), 6u);
  EXPECT_EQ(*store_->Append("run", "s", 4, "efgh"), 8u);
  auto gap = store_->Append("run", "s", 9, "x");
  ASSERT_FALSE(gap.ok());
  EXPECT_EQ(gap.error().slug, "log.gap");
  EXPECT_EQ(gap.error().code, Code::kConflict);
  EXPECT_NE(gap.error().message.find("has 8 bytes"), std::string::npos);
  EXPECT_EQ(*store_->Read("run", "s", 0, 100), "abcdefgh");
  Reopen();
  EXPECT_EQ(*store_->Append("run", "s", 6, "ghij"), 10u);
  EXPECT_EQ(*store_->Read("run", "s", 0, 100), "abcdefghij");
}

TEST_F(LogStoreTest, ListsStreams) {
  EXPECT_TRUE(store_->Streams("run")->empty());
  (void)store_->Append("run", "b/2", 0, "22");
  (void)store_->Append("run", "a", 0, "1");
  (void)store_->Append("run", "b/1/x", 0, "333");
  (void)store_->Append("other", "c", 0, "1");
  auto streams = *store_->Streams("run");
  ASSERT_EQ(streams.size(), 3u);
  EXPECT_EQ(streams[0].name, "a");
  EXPECT_EQ(streams[1].name, "b/1/x");
  EXPECT_EQ(streams[1].size, 3u);
  EXPECT_EQ(streams[2].name, "b/2");
}

TEST_F(LogStoreTest, RefusesUnsafeNames) {
  for (std::string bad : {"", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a/.", "a\nb", "\x7f"}) {
    EXPECT_FALSE(IsSafePath(bad)) << bad;
    EXPECT_EQ(store_->Append("run", bad, 0, "x").error().slug, "log.bad_name");
    EXPECT_EQ(store_->Read("run", bad, 0, 1).error().slug, "log.bad_name");
  }
  EXPECT_FALSE(IsSafePath(std::string_view("a\0b", 3)));
  EXPECT_FALSE(IsSafePath(std::string(256, 'x')));
  std::string deep = "a";
  while (deep.size() < 1023) deep += "/a";
  EXPECT_TRUE(IsSafePath(deep));
  EXPECT_FALSE(IsSafePath(deep + "/a"));
  EXPECT_TRUE(IsSafePath("..a/b.. /\xc3\xa9"));
  for (std::string bad : {"", "a/b", "..", ".", ".erased"}) {
    EXPECT_EQ(store_->Append(bad, "s", 0, "x").error().slug, "log.bad_name") << bad;
    EXPECT_FALSE(store_->Erase(bad).ok());
    EXPECT_FALSE(store_->Streams(bad).ok());
  }
  EXPECT_TRUE(store_->Append("run", "a", 0, "x").ok());
  EXPECT_EQ(store_->Append("run", "a/b", 0, "x").error().code, Code::kConflict);
  EXPECT_TRUE(store_->Append("run", "f/b", 0, "x").ok());
  EXPECT_EQ(store_->Append("run", "f", 0, "x").error().code, Code::kConflict);
}

TEST_F(LogStoreTest, ErasesAndStartsAnew) {
  (void)store_->Append("run", "a/b", 0, "old");
  (void)store_->Append("run2", "a/b", 0, "kept");
  EXPECT_TRUE(store_->Erase("run").ok());
  EXPECT_TRUE(store_->Erase("run").ok());
  EXPECT_TRUE(store_->Streams("run")->empty());
  EXPECT_EQ(store_->Append("run", "a/b", 3, "x").error().slug, "log.gap");
  EXPECT_EQ(*store_->Append("run", "a/b", 0, "new"), 3u);
  EXPECT_EQ(*store_->Read("run", "a/b", 0, 10), "new");
  EXPECT_EQ(*store_->Read("run2", "a/b", 0, 10), "kept");
}

TEST_F(LogStoreTest, Syncs) {
  (void)store_->Append("a", "x/y", 0, "1");
  EXPECT_TRUE(store_->Sync({"a", "unknown"}).ok());
  EXPECT_TRUE(store_->Sync({"a"}).ok());
  EXPECT_FALSE(store_->Sync({".."}).ok());
}

TEST_F(LogStoreTest, FollowsUntilTheSubscriptionEnds) {
  int a = 0, b = 0;
  auto first = store_->Follow("run", [&] { ++a; });
  {
    auto second = store_->Follow("run", [&] { ++b; });
    (void)store_->Append("run", "s", 0, "x");
    (void)store_->Append("run", "t", 0, "x");
    (void)store_->Append("run", "t", 0, "x");
    (void)store_->Append("other", "t", 0, "x");
  }
  (void)store_->Append("run", "s", 1, "x");
  EXPECT_EQ(a, 3);
  EXPECT_EQ(b, 2);
  store_.reset();
  first.reset();
}

// A thousand followers each see every byte, woken by appends from several threads.
TEST_F(LogStoreTest, WakesAThousandFollowers) {
  constexpr int kFollowers = 1000, kAppends = 200;
  std::vector<std::atomic<int>> woken(kFollowers);
  std::vector<std::unique_ptr<Subscription>> subscriptions;
  for (int i = 0; i < kFollowers; ++i)
    subscriptions.push_back(store_->Follow("run", [&woken, i] { woken[static_cast<size_t>(i)].fetch_add(1, std::memory_order_relaxed); }));
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&, w] {
      for (uint64_t i = 0; i < kAppends; ++i) ASSERT_TRUE(store_->Append("run", StrCat("s", w), i, "x").ok());
    });
  // Followers come and go meanwhile, and none is called after it went.
  for (int i = 0; i < 200; ++i) {
    auto called = std::make_unique<std::atomic<int>>(0);
    auto subscription = store_->Follow("run", [&called] { ++*called; });
    subscription.reset();
    called.reset();
  }
  for (auto& writer : writers) writer.join();
  for (const auto& count : woken) EXPECT_EQ(count, 4 * kAppends);
}

TEST_F(LogStoreTest, FollowerReadsAllUnderConcurrency) {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t wakes = 0;
  auto subscription = store_->Follow("run", [&] {
    std::lock_guard lock(mutex);
    ++wakes;
    changed.notify_one();
  });
  std::string expected;
  for (int i = 0; i < 500; ++i) expected += StrCat("line ", i, "\n");
  std::thread writer([&] {
    std::mt19937 random(7);
    for (size_t at = 0; at < expected.size();) {
      size_t back = std::min<size_t>(at, random() % 20), count = std::min<size_t>(1 + random() % 60, expected.size() - (at - back));
      auto size = store_->Append("run", "s", at - back, std::string_view(expected).substr(at - back, count));
      ASSERT_TRUE(size.ok());
      at = *size;
    }
  });
  std::string read;
  uint64_t seen = 0;
  while (read.size() < expected.size()) {
    auto more = store_->Read("run", "s", read.size(), 100);
    if (more.ok() && !more->empty()) {
      read += *more;
      continue;
    }
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(10), [&] { return wakes > seen; });
    seen = wakes;
  }
  writer.join();
  EXPECT_EQ(read, expected);
}

TEST_F(LogStoreTest, KeepsFewFilesOpen) {
  auto open_files = [] { return os::ListFolder("/proc/self/fd")->size(); };
  size_t before = open_files();
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&, w] {
      for (uint64_t round = 0; round < 2; ++round)
        for (int i = w; i < 1000; i += 4) ASSERT_TRUE(store_->Append(StrCat("run", i), "s", round * 2, "ab").ok());
    });
  for (auto& writer : writers) writer.join();
  EXPECT_LE(open_files(), before + 130);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(*store_->Read(StrCat("run", i), "s", 0, 10), "abab");
}

// The same stream from many threads while others push it out of the cache: every byte once, in order.
TEST_F(LogStoreTest, ConcurrentDuplicatesCountOnce) {
  std::string expected;
  for (int i = 0; i < 2000; ++i) expected += static_cast<char>('a' + i % 26);
  std::vector<std::thread> writers;
  for (int w = 0; w < 3; ++w)
    writers.emplace_back([&] {
      for (uint64_t at = 0; at < expected.size();) {
        auto size = store_->Append("run", "s", at, std::string_view(expected).substr(at, 7));
        ASSERT_TRUE(size.ok());
        at = *size;
      }
    });
  writers.emplace_back([&] {
    for (int i = 0; i < 400; ++i) (void)store_->Append("noise", StrCat("s", i), 0, "x");
  });
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(*store_->Read("run", "s", 0, 10000), expected);
}

TEST_F(LogStoreTest, FullDiskLeavesNothingOfTheAppend) {
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (!store_->Append("run", "s", 0, std::string(900, 'a')).ok()) ::_exit(2);
    if (store_->Append("run", "s", 900, std::string(200, 'b')).ok()) ::_exit(3);
    if (store_->Streams("run")->at(0).size != 900) ::_exit(4);
    if (*store_->Append("run", "s", 900, "c") != 901) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TEST_F(LogStoreTest, KillLosesNothingAcknowledged) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  pid_t child = ::fork();
  if (child == 0) {
    for (uint64_t at = 0;;) {
      auto size = store_->Append("run", "s", at, "0123456789");
      if (!size.ok() || ::write(pipe[1], &*size, 8) != 8) ::_exit(1);
      at = *size;
    }
  }
  ::close(pipe[1]);
  uint64_t acknowledged = 0;
  while (acknowledged < 20'000 && ::read(pipe[0], &acknowledged, 8) == 8) {
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  while (::read(pipe[0], &acknowledged, 8) == 8) {
  }
  ::close(pipe[0]);
  Reopen();
  EXPECT_GE(store_->Streams("run")->at(0).size, acknowledged);
}

}  // namespace
}  // namespace ferry::logs
