#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "base/text.h"
#include "os/program.h"
#include "snapshot/snapshot.h"
#include "snapshot/test_folder.h"

namespace ferry::snapshot {
namespace {

using Contents = std::map<Digest, std::string>;

Fetch From(const Contents& contents, size_t cut = SIZE_MAX) {
  return [&contents, cut](const Digest& digest, const std::function<Result<void>(std::string_view)>& write) -> Result<void> {
    auto found = contents.find(digest);
    if (found == contents.end()) return MakeError(Code::kNotFound, "test.no_blob", "no such blob");
    std::string_view rest = found->second;
    while (!rest.empty()) {
      TRY_VOID(write(rest.substr(0, cut)));
      rest.remove_prefix(std::min(cut, rest.size()));
    }
    return {};
  };
}

Entry File(std::string path, const std::string& content, Contents& contents, bool executable = false) {
  Entry entry;
  entry.path = std::move(path);
  entry.executable = executable;
  entry.size = content.size();
  entry.digest = HashBytes(content);
  contents[entry.digest] = content;
  return entry;
}

Entry Special(std::string path, Entry::Type type, std::string target = {}) {
  Entry entry;
  entry.path = std::move(path);
  entry.type = type;
  entry.target = std::move(target);
  return entry;
}

Manifest Of(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
  return {std::move(entries)};
}

Manifest Sample(Contents& contents) {
  std::vector<Entry> entries = {File("train.py", "print(1)", contents),
                                File("bin/run.sh", "#!/bin/sh", contents, true),
                                File("empty", "", contents),
                                File("odd\nname/ x", "odd", contents),
                                File("-rf", "dash", contents),
                                Special("bin/up", Entry::Type::kLink, "../train.py"),
                                Special("none/at/all", Entry::Type::kFolder),
                                Special("self", Entry::Type::kLink, ".")};
  for (int i = 0; i < 300; ++i) entries.push_back(File(StrCat("many/", i % 7, "/deep/", i), StrCat("content ", i % 50), contents, i % 3 == 0));
  return Of(std::move(entries));
}

Digest IdOf(const std::string& folder) {
  ScanOptions options;
  options.folder = folder;
  return Scan(options).value().manifest.Id();
}

TEST(Restore, GivesTheFolderBack) {
  Contents contents;
  const Manifest manifest = Sample(contents);
  for (unsigned threads : {0u, 1u, 2u, 7u}) {
    TestFolder folder;
    const std::string target = folder.At("new/folder");
    auto restored = Restore(manifest, target, From(contents, threads == 1 ? 1 : SIZE_MAX), threads);
    ASSERT_TRUE(restored.ok()) << restored.error().message;
    EXPECT_EQ(IdOf(target), manifest.Id());
    EXPECT_EQ(os::StatPath(target + "/train.py")->mode, 0644u);
    EXPECT_EQ(os::StatPath(target + "/bin/run.sh")->mode, 0755u);
    EXPECT_EQ(os::ReadLink(target + "/bin/up").value(), "../train.py");
  }
}

TEST(Restore, ModesDoNotDependOnTheMask) {
  Contents contents;
  const Manifest manifest = Sample(contents);
  for (mode_t mask : {0, 077, 027}) {
    TestFolder folder;
    const mode_t before = ::umask(mask);
    const bool ok = Restore(manifest, folder.At("r"), From(contents)).ok() && CopyTree(folder.At("r"), folder.At("c")).ok();
    ::umask(before);
    ASSERT_TRUE(ok);
    for (const char* copy : {"r", "c"}) {
      EXPECT_EQ(os::StatPath(folder.At(StrCat(copy, "/empty")))->mode, 0644u);
      EXPECT_EQ(os::StatPath(folder.At(StrCat(copy, "/many/0/deep/0")))->mode, 0755u);
      EXPECT_EQ(IdOf(folder.At(copy)), manifest.Id());
    }
  }
}

TEST(Restore, WantsAnEmptyFolder) {
  Contents contents;
  const Manifest manifest = Sample(contents);
  TestFolder folder;
  ASSERT_TRUE(os::MakeFolders(folder.At("empty")).ok());
  EXPECT_TRUE(Restore(manifest, folder.At("empty"), From(contents)).ok());
  EXPECT_EQ(Restore(manifest, folder.At("empty"), From(contents)).error().slug, "snapshot.not_empty");
  EXPECT_EQ(CopyTree(folder.At("empty"), folder.At("empty")).error().slug, "snapshot.not_empty");
}

TEST(Restore, FailuresOfFetchAreReported) {
  Contents contents;
  const Manifest manifest = Sample(contents);
  Contents missing = contents;
  missing.erase(HashBytes("content 31"));
  TestFolder folder;
  EXPECT_EQ(Restore(manifest, folder.At("a"), From(missing)).error().slug, "test.no_blob");
  for (const std::string& wrong : {std::string("content 32"), std::string("short"), std::string("much longer than the manifest says"), std::string()}) {
    Contents bad = contents;
    bad[HashBytes("content 31")] = wrong;
    EXPECT_EQ(Restore(manifest, folder.At(StrCat("b", wrong.size())), From(bad)).error().slug, "snapshot.content");
  }
}

TEST(Restore, MaliciousManifestsWriteNothingOutside) {
  Contents contents;
  TestFolder folder;
  const std::string target = folder.At("t");
  const Entry evil = File("x", "evil", contents);
  auto file = [&](std::string path) {
    Entry entry = evil;
    entry.path = std::move(path);
    return entry;
  };
  auto link = [&](std::string path, std::string to) { return Special(std::move(path), Entry::Type::kLink, std::move(to)); };
  const std::vector<Manifest> manifests = {{{file("../evil")}},
                                           {{file("/evil")}},
                                           {{file("a/../../evil")}},
                                           {{link("a", ".."), file("a/evil")}},
                                           {{link("a", "/"), file("a/evil")}},
                                           {{link("l", folder.path())}},
                                           {{link("a/l", "../../evil")}},
                                           {{link("p/d", ".."), link("q", "p/d/../evil")}},
                                           {{file("a"), file("a/b")}},
                                           {{file("a"), file("a")}},
                                           {{file("b"), file("a")}},
                                           {{link("l", "")}},
                                           {{file("")}},
                                           {{file(".")}},
                                           {{file("a/")}}};
  for (const Manifest& manifest : manifests) {
    auto refused = Restore(manifest, target, From(contents));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().slug, "snapshot.manifest");
    EXPECT_TRUE(os::ListFolder(folder.path())->empty());
  }
}

TEST(CopyTree, CopiesEverything) {
  Contents contents;
  std::mt19937_64 random(1);
  Manifest manifest = Sample(contents);
  std::string large(5'000'000, '\0');
  for (char& c : large) c = static_cast<char>(random());
  manifest.entries.push_back(File("zz_large", large, contents));
  for (unsigned threads : {0u, 1u, 5u}) {
    TestFolder folder;
    ASSERT_TRUE(Restore(manifest, folder.At("from"), From(contents)).ok());
    ASSERT_EQ(::mkfifo(folder.At("from/pipe").c_str(), 0644), 0);
    auto copied = CopyTree(folder.At("from"), folder.At("to"), threads);
    ASSERT_TRUE(copied.ok()) << copied.error().message;
    EXPECT_EQ(IdOf(folder.At("to")), manifest.Id());
    EXPECT_FALSE(os::Exists(folder.At("to/pipe")));
    folder.Write("to/train.py", "changed");
    EXPECT_EQ(os::ReadFile(folder.At("from/train.py")).value(), "print(1)");
  }
}

TEST(CopyTree, Errors) {
  TestFolder folder;
  EXPECT_EQ(CopyTree(folder.At("nowhere"), folder.At("to")).error().code, Code::kNotFound);
}

TEST(Snapshot, Speed) {
  TestFolder folder, other;
  std::mt19937_64 random(1);
  std::string noise(20'000, '\0');
  for (int i = 0; i < 10'000; ++i) {
    for (size_t k = 0; k + 8 <= noise.size(); k += 8) {
      uint64_t v = random();
      if (i % 2) v &= 0x0707070707070707;
      std::memcpy(noise.data() + k, &v, 8);
    }
    folder.Write(StrCat("d", i % 20, "/e", i / 20 % 20, "/file_", i, ".py"), std::string_view(noise).substr(0, 6000 + i % 12'000));
  }
  folder.Write(".amlignore", "*.pyc\n__pycache__/\n/data/\n.venv\nlogs/**/*.log\n*.egg-info/\n.ipynb_checkpoints\n!keep\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ScanOptions options;
  options.folder = folder.path();
  options.cache_file = other.At("cache");
  Stopwatch first_watch;
  auto first = Scan(options).value();
  std::printf("[          ] first scan: %.0f ms, %zu read\n", first_watch.Milliseconds(), first.hashed);
  for (int i = 0; i < 3; ++i) {
    Stopwatch watch;
    auto again = Scan(options).value();
    const double scan = watch.Milliseconds();
    EXPECT_EQ(again.manifest.Id(), first.manifest.Id());
    std::printf("[          ] scan again: %.1f ms, with id %.1f ms, %zu read\n", scan, watch.Milliseconds(), again.hashed);
  }
  const std::string text = first.manifest.Text();
  Stopwatch parse_watch;
  ASSERT_TRUE(Manifest::Parse(text).ok());
  std::printf("[          ] parse the manifest: %.1f ms\n", parse_watch.Milliseconds());
  Contents contents;
  for (const Entry& entry : first.manifest.entries) contents[entry.digest] = os::ReadFile(folder.At(entry.path)).value();
  for (int i = 0; i < 2; ++i) {
    Stopwatch restore_watch;
    ASSERT_TRUE(Restore(first.manifest, other.At(StrCat("restored", i)), From(contents)).ok());
    std::printf("[          ] restore: %.0f ms\n", restore_watch.Milliseconds());
    Stopwatch copy_watch;
    ASSERT_TRUE(CopyTree(folder.path(), other.At(StrCat("copied", i))).ok());
    std::printf("[          ] copy the tree: %.0f ms\n", copy_watch.Milliseconds());
    Stopwatch cp_watch;
    ASSERT_TRUE(os::RunProgram({"cp", "-r", folder.path(), other.At(StrCat("cp", i))}, std::chrono::seconds(60), other.path()).ok());
    std::printf("[          ] cp -r: %.0f ms\n", cp_watch.Milliseconds());
  }
  EXPECT_EQ(IdOf(other.At("restored0")), first.manifest.Id());
  other.Write("made", "");
  const int64_t made_ns = os::StatPath(other.At("made"))->ctime_ns;
  for (int i = 0; i < 4; ++i) {
    const bool touched = i == 3;
    if (touched)
      for (int k = 0; k < 20; ++k) other.Write(StrCat("copied0/d", k, "/new"), "new");
    Stopwatch watch;
    auto recycled = Recycle(folder.path(), other.At("copied0"), made_ns).value();
    std::printf("[          ] recycle%s: %.1f ms, %zu replaced\n", touched ? ", with a new file in each folder" : "", watch.Milliseconds(), recycled.replaced);
    EXPECT_EQ(recycled.removed, touched ? 20u : 0u);
  }
  EXPECT_EQ(IdOf(other.At("copied0")), first.manifest.Id());
}

}  // namespace
}  // namespace ferry::snapshot
