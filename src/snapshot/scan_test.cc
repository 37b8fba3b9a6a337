#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "base/text.h"
#include "base/time.h"
#include "snapshot/snapshot.h"
#include "snapshot/stat_cache.h"
#include "snapshot/test_folder.h"

namespace ferry::snapshot {
namespace {

ScanResult MustScan(const std::string& folder, const std::string& cache = {}) {
  ScanOptions options;
  options.folder = folder;
  options.cache_file = cache;
  auto result = Scan(options);
  EXPECT_TRUE(result.ok()) << result.error().message;
  if (!result.ok()) return {};
  EXPECT_TRUE(result->manifest.Check().ok());
  EXPECT_EQ(Manifest::Parse(result->manifest.Text())->entries, result->manifest.entries);
  return std::move(*result);
}

std::vector<std::string> Paths(const ScanResult& result) {
  std::vector<std::string> paths;
  for (const Entry& entry : result.manifest.entries) paths.push_back(entry.path);
  return paths;
}

const Entry* Find(const ScanResult& result, const std::string& path) {
  for (const Entry& entry : result.manifest.entries)
    if (entry.path == path) return &entry;
  return nullptr;
}

// Sets the modification time to `seconds` before now.
void Age(const std::string& path, int seconds) {
  timespec times[2];
  ::clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

void Settle() { std::this_thread::sleep_for(std::chrono::nanoseconds(kTickNs + 10'000'000)); }

TEST(Scan, FilesFoldersAndModes) {
  TestFolder folder;
  folder.Write("train.py", "print(1)");
  folder.Write("bin/run", "#!/bin/sh", 0755);
  folder.Write("a/b/c", "");
  folder.Write(".azureml/config.json", "{}");
  folder.Write("__pycache__/x.pyc", "x");
  folder.Write(".git/HEAD", "x");
  folder.Write("sub/.git", "gitdir: x");
  ASSERT_TRUE(os::MakeFolders(folder.At("empty/folder")).ok());
  auto result = MustScan(folder.path());
  EXPECT_EQ(Paths(result), (std::vector<std::string>{".azureml/config.json", "__pycache__/x.pyc", "a/b/c", "bin/run", "empty/folder", "train.py"}));
  EXPECT_EQ(Find(result, "train.py")->digest, HashBytes("print(1)"));
  EXPECT_EQ(Find(result, "train.py")->size, 8u);
  EXPECT_FALSE(Find(result, "train.py")->executable);
  EXPECT_TRUE(Find(result, "bin/run")->executable);
  EXPECT_EQ(Find(result, "empty/folder")->type, Entry::Type::kFolder);
  EXPECT_EQ(result.ignore_file, "");
  EXPECT_TRUE(result.notes.empty());
  EXPECT_EQ(result.hashed, 5u);
}

TEST(Scan, OddNames) {
  TestFolder folder;
  const std::vector<std::string> names = {"--help",   "-rf",  " lead", "new\nline", "sp ace", "tab\t",    "trail ", "\xC3\xA9t\xC3\xA9",
                                          "\xFF\xFE", "a\\b", "...",   "..x",       "*",      "d ir/\n/f"};
  for (const std::string& name : names) folder.Write(name, name);
  auto result = MustScan(folder.path());
  ASSERT_EQ(result.manifest.entries.size(), names.size());
  for (const std::string& name : names) {
    ASSERT_NE(Find(result, name), nullptr) << name;
    EXPECT_EQ(Find(result, name)->digest, HashBytes(name));
  }
}

TEST(Scan, Errors) {
  TestFolder folder;
  folder.Write("file", "x");
  ScanOptions options;
  options.folder = folder.At("nowhere");
  EXPECT_EQ(Scan(options).error().slug, "snapshot.no_folder");
  options.folder = folder.At("file");
  EXPECT_EQ(Scan(options).error().slug, "snapshot.not_a_folder");
  EXPECT_TRUE(MustScan(folder.path()).manifest.entries.size() == 1);
}

TEST(Scan, IgnoreFiles) {
  TestFolder folder;
  for (const char* name : {"a.log", "b.tmp", "data/x", "data/keep", "sub/a.log"}) folder.Write(name, "x");
  folder.Write(".gitignore", "*.log\n");
  auto result = MustScan(folder.path());
  EXPECT_EQ(result.ignore_file, ".gitignore");
  EXPECT_EQ(Paths(result), (std::vector<std::string>{".gitignore", "b.tmp", "data/keep", "data/x"}));
  folder.Write(".amlignore", "*.tmp\ndata/*\n!data/keep\n");
  folder.Write("sub/.amlignore", "*\n");
  result = MustScan(folder.path());
  EXPECT_EQ(result.ignore_file, ".amlignore");
  EXPECT_EQ(Paths(result), (std::vector<std::string>{".amlignore", ".gitignore", "a.log", "data/keep", "sub/.amlignore", "sub/a.log"}));
  folder.Write(".amlignore", "");
  EXPECT_EQ(MustScan(folder.path()).manifest.entries.size(), 8u);
}

TEST(Scan, Links) {
  TestFolder outside, folder;
  outside.Write("file", "from outside");
  outside.Write("folder/x", "x");
  folder.Write("real/file", "inside");
  folder.Write("ignored/file", "ignored");
  folder.Write(".amlignore", "/ignored\n");
  folder.Link("plain", "real/file");
  folder.Link("real/up", "../real");
  folder.Link("real/self", ".");
  folder.Link("to_root", ".");
  folder.Link("absolute", folder.At("real/file"));
  folder.Link("round", "real/../real/file");
  folder.Link("through", "real/up/file");
  folder.Link("out_file", outside.At("file"));
  folder.Link("out_folder", outside.At("folder"));
  folder.Link("dangling", "nowhere");
  folder.Link("loop_a", "loop_b");
  folder.Link("loop_b", "loop_a");
  folder.Link("to_ignored", "ignored/file");
  folder.Link("to_ignored_folder", "ignored");
  auto result = MustScan(folder.path());
  auto target = [&](const std::string& path) { return Find(result, path) ? Find(result, path)->target : "absent"; };
  EXPECT_EQ(target("plain"), "real/file");
  EXPECT_EQ(target("real/up"), "../real");
  EXPECT_EQ(target("real/self"), ".");
  EXPECT_EQ(target("to_root"), ".");
  EXPECT_EQ(target("absolute"), "real/file");
  EXPECT_EQ(target("round"), "real/file");
  EXPECT_EQ(target("through"), "real/file");
  ASSERT_NE(Find(result, "out_file"), nullptr);
  EXPECT_EQ(Find(result, "out_file")->type, Entry::Type::kFile);
  EXPECT_EQ(Find(result, "out_file")->digest, HashBytes("from outside"));
  ASSERT_NE(Find(result, "to_ignored"), nullptr);
  EXPECT_EQ(Find(result, "to_ignored")->digest, HashBytes("ignored"));
  for (const char* left_out : {"out_folder", "dangling", "loop_a", "loop_b", "to_ignored_folder"}) {
    EXPECT_EQ(Find(result, left_out), nullptr) << left_out;
    EXPECT_TRUE(std::any_of(result.notes.begin(), result.notes.end(), [&](const std::string& note) { return note.starts_with(left_out); })) << left_out;
  }
  EXPECT_EQ(result.notes.size(), 5u);
}

TEST(Scan, SpecialFilesAreLeftOut) {
  TestFolder folder;
  folder.Write("x", "x");
  ASSERT_EQ(::mkfifo(folder.At("pipe").c_str(), 0644), 0);
  folder.Link("to_pipe", "pipe");
  auto result = MustScan(folder.path());
  EXPECT_EQ(Paths(result), std::vector<std::string>{"x"});
  EXPECT_EQ(result.notes.size(), 2u);
}

TEST(Scan, UnreadableFilesAreNamed) {
  TestFolder folder;
  folder.Write("fine", "x");
  for (int i = 0; i < 12; ++i) folder.Write(StrCat("secret", i / 10, i % 10), "x", 0);
  ASSERT_TRUE(os::MakeFolders(folder.At("closed")).ok());
  ASSERT_EQ(::chmod(folder.At("closed").c_str(), 0), 0);
  // Root may read everything: a child gives that up.
  const pid_t child = ::fork();
  if (child == 0) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capset, &header, none) != 0) ::_exit(9);
    ScanOptions options;
    options.folder = folder.path();
    auto result = Scan(options);
    if (result.ok() || result.error().slug != "snapshot.unreadable" || result.error().code != Code::kInvalid) ::_exit(1);
    const std::string& message = result.error().message;
    if (message.find("closed") == std::string::npos || message.find("secret08") == std::string::npos) ::_exit(2);
    if (message.find("secret09") != std::string::npos || message.find("and 3 more") == std::string::npos) ::_exit(3);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ::chmod(folder.At("closed").c_str(), 0755);
}

TEST(Scan, CacheSavesReading) {
  TestFolder folder, other;
  const std::string cache = other.At("deep/below/cache");
  for (int i = 0; i < 50; ++i) folder.Write(StrCat("f", i), StrCat("content ", i));
  Settle();
  auto first = MustScan(folder.path(), cache);
  EXPECT_EQ(first.hashed, 50u);
  const os::Stat written = os::StatPath(cache).value();
  auto second = MustScan(folder.path(), cache);
  EXPECT_EQ(second.hashed, 0u);
  EXPECT_EQ(second.manifest.Id(), first.manifest.Id());
  EXPECT_EQ(os::StatPath(cache)->inode, written.inode);
  folder.Write("f7", "changed");
  ASSERT_TRUE(os::RemoveFile(folder.At("f8")).ok());
  folder.Write("new", "new");
  auto third = MustScan(folder.path(), cache);
  EXPECT_EQ(third.hashed, 2u);
  EXPECT_EQ(third.manifest.Id(), MustScan(folder.path()).manifest.Id());
  EXPECT_EQ(Find(third, "f8"), nullptr);
}

TEST(Scan, ChangesBehindEqualSizeAndTime) {
  TestFolder folder, other;
  const std::string cache = other.At("cache");
  folder.Write("f", "one");
  Age(folder.At("f"), 100);
  Settle();
  EXPECT_EQ(MustScan(folder.path(), cache).hashed, 1u);
  const os::Stat before = os::StatPath(folder.At("f")).value();
  folder.Write("f", "two");
  timespec times[2];
  times[0] = times[1] = {before.mtime_ns / 1'000'000'000, before.mtime_ns % 1'000'000'000};
  ASSERT_EQ(::utimensat(AT_FDCWD, folder.At("f").c_str(), times, 0), 0);
  auto result = MustScan(folder.path(), cache);
  EXPECT_EQ(result.hashed, 1u);
  EXPECT_EQ(Find(result, "f")->digest, HashBytes("two"));
}

// The file is written again, at equal size, right behind the scan: often within one tick of the clock that stamps
// files.
TEST(Scan, RacyTimestamps) {
  TestFolder folder, other;
  const std::string cache = other.At("cache");
  int same_stamp = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string first = StrCat("a", 1000 + i), second = StrCat("b", 1000 + i);
    folder.Write("f", first);
    EXPECT_EQ(Find(MustScan(folder.path(), cache), "f")->digest, HashBytes(first));
    const os::Stat before = os::StatPath(folder.At("f")).value();
    folder.Write("f", second);
    const os::Stat after = os::StatPath(folder.At("f")).value();
    same_stamp += before.mtime_ns == after.mtime_ns && before.ctime_ns == after.ctime_ns;
    auto result = MustScan(folder.path(), cache);
    ASSERT_EQ(Find(result, "f")->digest, HashBytes(second)) << i;
  }
  std::printf("[          ] %d of 200 rewrites left no sign\n", same_stamp);
}

// A file whose time is not older than the scan is read each time, and once more after it has become older.
TEST(Scan, YoungFilesAreReadAgain) {
  TestFolder folder, other;
  const std::string cache = other.At("cache");
  folder.Write("young", "x");
  folder.Write("old", "x");
  Age(folder.At("young"), -3600);
  Settle();
  EXPECT_EQ(MustScan(folder.path(), cache).hashed, 2u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(MustScan(folder.path(), cache).hashed, 1u);
  Age(folder.At("young"), 3600);
  Settle();
  EXPECT_EQ(MustScan(folder.path(), cache).hashed, 1u);
  EXPECT_EQ(MustScan(folder.path(), cache).hashed, 0u);
}

// The rule by itself: an entry counts only when both times are older than the recording scan by more than a tick.
TEST(StatCache, OnlySettledEntriesCount) {
  TestFolder folder;
  const int64_t scan = 1'000'000'000'000;
  os::Stat stat;
  stat.size = 3;
  stat.inode = 7;
  for (int64_t mtime : {scan - kTickNs - 1, scan - kTickNs, scan, scan + 5}) {
    for (int64_t ctime : {scan - kTickNs - 1, scan - kTickNs, scan, scan + 5}) {
      stat.mtime_ns = mtime;
      stat.ctime_ns = ctime;
      StatCacheWriter writer(scan);
      writer.Add("f", stat, HashBytes("x"));
      ASSERT_TRUE(writer.Write(folder.At("cache")).ok());
      StatCacheReader reader(folder.At("cache"));
      EXPECT_EQ(reader.size(), 1u);
      EXPECT_EQ(reader.Find("f", stat) != nullptr, mtime < scan - kTickNs && ctime < scan - kTickNs);
    }
  }
}

TEST(StatCache, DamageIsAnEmptyCache) {
  TestFolder folder, data;
  for (int i = 0; i < 20; ++i) data.Write(StrCat("f", i), StrCat("content ", i));
  Settle();
  auto first = MustScan(data.path(), folder.At("cache"));
  const std::string good = os::ReadFile(folder.At("cache")).value();
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string bad = good;
    if (i % 4 == 0)
      bad.resize(random() % bad.size());
    else
      bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    folder.Write("cache", bad);
    auto result = MustScan(data.path(), folder.At("cache"));
    ASSERT_EQ(result.hashed, 20u);
    ASSERT_EQ(result.manifest.Id(), first.manifest.Id());
  }
}

TEST(Scan, LargeSnapshotsAreNoted) {
  TestFolder folder;
  for (int i = 0; i < 2001; ++i) folder.Write(StrCat(i % 3 ? "many/" : "few/", i), "");
  auto result = MustScan(folder.path());
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0].find("the snapshot is large: 2001 files, 0 B; largest folders: many/ (1334 files"), 0u) << result.notes[0];
  EXPECT_NE(result.notes[0].find(".amlignore"), std::string::npos);
}

TEST(Scan, FolderThatChangesMeanwhile) {
  TestFolder folder, other;
  for (int i = 0; i < 200; ++i) folder.Write(StrCat("d", i % 5, "/f", i), "x");
  std::atomic<bool> stop{false};
  std::thread disturber([&] {
    std::mt19937_64 random(1);
    while (!stop) {
      const std::string name = StrCat("d", random() % 5, "/g", random() % 50);
      if (random() % 2)
        folder.Write(name, std::string(random() % 100'000, 'x'));
      else
        (void)os::RemoveFile(folder.At(name));
    }
  });
  for (int i = 0; i < 100; ++i) MustScan(folder.path(), other.At("cache"));
  stop = true;
  disturber.join();
}

}  // namespace
}  // namespace ferry::snapshot
