#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "snapshot/paths.h"
#include "snapshot/snapshot.h"

namespace ferry::snapshot {
namespace {

Entry File(std::string path, std::string content, bool executable = false) {
  Entry entry;
  entry.path = std::move(path);
  entry.executable = executable;
  entry.size = content.size();
  entry.digest = HashBytes(content);
  return entry;
}

Entry Link(std::string path, std::string target) {
  Entry entry;
  entry.path = std::move(path);
  entry.type = Entry::Type::kLink;
  entry.target = std::move(target);
  return entry;
}

Entry EmptyFolder(std::string path) {
  Entry entry;
  entry.path = std::move(path);
  entry.type = Entry::Type::kFolder;
  return entry;
}

Manifest Of(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
  return {std::move(entries)};
}

Manifest Sample() {
  return Of({File("train.py", "print(1)"), File("run.sh", "#!/bin/sh", true), File("a/b/c", ""), File("name with\nnewline\tand \\ tab", "x"),
             File("--help", "x"), File("\xC3\xA9t\xC3\xA9/\xFF", "y"), Link("a/link", "../train.py"), Link("here", "."), EmptyFolder("empty/folder")});
}

std::string Line(std::string_view path) { return StrCat("f ", HashBytes("").Hex(), " 0 ", path, "\n"); }
std::string WithHead(const std::string& lines) { return StrCat("ferry-snapshot 1\n", lines); }

TEST(Manifest, RoundTrip) {
  for (const Manifest& manifest : {Sample(), Manifest()}) {
    auto parsed = Manifest::Parse(manifest.Text());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed->entries, manifest.entries);
    EXPECT_EQ(parsed->Text(), manifest.Text());
    EXPECT_EQ(parsed->Id(), HashBytes(manifest.Text()));
  }
  EXPECT_EQ(Sample().TotalBytes(), 8u + 9 + 0 + 1 + 1 + 1);
}

TEST(Manifest, TextIsPinned) {
  const Manifest manifest = Of({File("a b", "x"), Link("l", "a b"), EmptyFolder("d\n")});
  EXPECT_EQ(manifest.Text(), StrCat("ferry-snapshot 1\nf ", HashBytes("x").Hex(), " 1 a b\nd d\\n\nl l\ta b\n"));
}

TEST(Manifest, UnsafePathsAreRefused) {
  for (const std::string& path : {std::string(""), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."), std::string(".."),
                                  std::string("../a"), std::string("a/../b"), std::string("a/./b"), std::string("a/.."), std::string("a\0b", 3),
                                  std::string(300, 'x'), std::string("a\\x"), std::string("a\\"), std::string("a\tb")}) {
    auto parsed = Manifest::Parse(WithHead(Line(path)));
    ASSERT_FALSE(parsed.ok()) << path;
    EXPECT_EQ(parsed.error().slug, "snapshot.manifest");
  }
  EXPECT_TRUE(Manifest::Parse(WithHead(Line("..a/..."))).ok());
}

TEST(Manifest, OrderAndNesting) {
  EXPECT_FALSE(Manifest::Parse(WithHead(Line("b") + Line("a"))).ok());
  EXPECT_FALSE(Manifest::Parse(WithHead(Line("a") + Line("a"))).ok());
  EXPECT_FALSE(Manifest::Parse(WithHead(Line("a") + Line("a/b"))).ok());
  EXPECT_FALSE(Manifest::Parse(WithHead(Line("a") + Line("a-b") + Line("a/b/c"))).ok());
  EXPECT_FALSE(Manifest::Parse(WithHead("l a\tb\n" + Line("a/c") + Line("b/x"))).ok());
  EXPECT_FALSE(Manifest::Parse(WithHead("d a\n" + Line("a/c"))).ok());
  EXPECT_TRUE(Manifest::Parse(WithHead(Line("a") + Line("a-b/c") + Line("a.b"))).ok());
}

TEST(Manifest, LinksStayInside) {
  EXPECT_TRUE(IsSafeTarget("l", "x/y"));
  EXPECT_TRUE(IsSafeTarget("a/l", ".."));
  EXPECT_TRUE(IsSafeTarget("a/b/l", "../../x"));
  for (const char* target : {"..", "../x", "/etc/passwd", "", "a/../x", "./x", "a//b", "a/", "../../x"}) {
    EXPECT_FALSE(IsSafeTarget("l", target)) << target;
    EXPECT_FALSE(Manifest::Parse(WithHead(StrCat("l l\t", target, "\n"))).ok()) << target;
  }
  EXPECT_FALSE(IsSafeTarget("a/l", "../../x"));
  EXPECT_FALSE(IsSafeTarget("a/l", "up/../../x"));
}

TEST(Manifest, NumbersAndHeadsAreStrict) {
  const std::string hex = HashBytes("").Hex();
  for (const std::string& text :
       {std::string(), std::string("ferry-snapshot 1"), std::string("ferry-snapshot 2\n"), WithHead("\n"), WithHead("f"), WithHead("f " + hex + " 01 a\n"),
        WithHead("f " + hex + " -1 a\n"), WithHead("f " + hex + " +1 a\n"), WithHead("f " + hex + "  a\n"), WithHead("f " + hex + " 99999999999999999999 a\n"),
        WithHead("f " + hex + " 2305843009213693952 a\n"), WithHead("f " + ToLower(hex).substr(1) + "G 1 a\n"), WithHead("z a\n"), WithHead("d a"),
        WithHead("l a\n"), WithHead("l a\tb\tc\n"), WithHead("f " + hex + " 1152921504606846976 a\nf " + hex + " 1 b\n")})
    EXPECT_FALSE(Manifest::Parse(text).ok()) << text;
}

TEST(Manifest, MutationsNeverCrashAndStayCanonical) {
  const std::string good = Sample().Text();
  size_t accepted = 0;
  for (uint64_t seed = 1; seed <= 40'000; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = good;
    for (uint64_t n = random() % 3 + 1; n > 0 && !text.empty(); --n) {
      const size_t at = random() % text.size();
      switch (random() % 5) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 5 + 1); break;
        case 2: text.insert(at, 1, "/.\\\n\t 0fldx"[random() % 11]); break;
        case 3: text.insert(at, text.substr(random() % text.size(), random() % 40)); break;
        case 4: text.resize(at); break;
      }
    }
    auto parsed = Manifest::Parse(text);
    if (!parsed.ok()) continue;
    ++accepted;
    ASSERT_EQ(parsed->Text(), text) << "seed " << seed;
  }
  std::printf("[          ] %zu of 40000 mutations were still manifests\n", accepted);
}

}  // namespace
}  // namespace ferry::snapshot
