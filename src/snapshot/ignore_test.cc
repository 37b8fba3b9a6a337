#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>

#include "base/text.h"
#include "os/program.h"
#include "snapshot/snapshot.h"
#include "snapshot/test_folder.h"

namespace ferry::snapshot {
namespace {

bool Ignored(std::string_view rules, std::string_view path, bool is_folder = false) { return IgnoreRules(rules).Ignored(path, is_folder); }

TEST(Ignore, NamesAndPaths) {
  EXPECT_TRUE(Ignored("*.pyc", "a/b/c.pyc"));
  EXPECT_FALSE(Ignored("*.pyc", "a/b/c.py"));
  EXPECT_TRUE(Ignored("data", "data"));
  EXPECT_TRUE(Ignored("data", "x/data/y"));
  EXPECT_TRUE(Ignored("/data", "data/y"));
  EXPECT_FALSE(Ignored("/data", "x/data"));
  EXPECT_TRUE(Ignored("a/b", "a/b"));
  EXPECT_FALSE(Ignored("a/b", "x/a/b"));
  EXPECT_FALSE(Ignored("data/", "data", false));
  EXPECT_TRUE(Ignored("data/", "data", true));
  EXPECT_TRUE(Ignored("data/", "data/x"));
  EXPECT_FALSE(Ignored("", "x"));
}

TEST(Ignore, DoubleStars) {
  EXPECT_TRUE(Ignored("**/logs", "logs"));
  EXPECT_TRUE(Ignored("**/logs", "a/b/logs"));
  EXPECT_TRUE(Ignored("logs/**", "logs/a/b"));
  EXPECT_FALSE(Ignored("logs/**", "logs", true));
  EXPECT_TRUE(Ignored("a/**/b", "a/b"));
  EXPECT_TRUE(Ignored("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(Ignored("a/**/b", "ab"));
  EXPECT_FALSE(Ignored("a/*/b", "a/x/y/b"));
}

TEST(Ignore, LastMatchWins) {
  EXPECT_FALSE(Ignored("*.log\n!keep.log", "keep.log"));
  EXPECT_TRUE(Ignored("!keep.log\n*.log", "keep.log"));
  EXPECT_TRUE(Ignored("data/\n!data/keep", "data/keep"));
  EXPECT_FALSE(Ignored("data/*\n!data/keep", "data/keep"));
}

TEST(Ignore, LinesAsGitReadsThem) {
  EXPECT_TRUE(Ignored("a  ", "a"));
  EXPECT_TRUE(Ignored("a\\ ", "a "));
  EXPECT_FALSE(Ignored("a\\ ", "a"));
  EXPECT_TRUE(Ignored("a\r\nb\r\n", "a"));
  EXPECT_TRUE(
      Ignored("\xEF\xBB\xBF"
              "a",
              "a"));
  EXPECT_FALSE(Ignored("#a", "#a"));
  EXPECT_TRUE(Ignored("\\#a", "#a"));
  EXPECT_TRUE(Ignored("\\!a", "!a"));
  EXPECT_FALSE(Ignored("/", "a", true));
  EXPECT_FALSE(Ignored("!", "a"));
}

TEST(Ignore, Classes) {
  EXPECT_TRUE(Ignored("[a-c]x", "bx"));
  EXPECT_FALSE(Ignored("[!a-c]x", "bx"));
  EXPECT_TRUE(Ignored("[^a-c]x", "dx"));
  EXPECT_TRUE(Ignored("[]x]", "]"));
  EXPECT_TRUE(Ignored("[[:digit:]]", "7"));
  EXPECT_FALSE(Ignored("[[:nonsense:]]", "7"));
  EXPECT_FALSE(Ignored("[abc", "a"));
  EXPECT_FALSE(Ignored("a[/]b", "a/b"));
}

TEST(Ignore, HostilePatternsEndSoon) {
  std::string stars, text(3000, 'a');
  for (int i = 0; i < 200; ++i) stars += "*a";
  Stopwatch watch;
  EXPECT_FALSE(Ignored(stars + "b", text));
  EXPECT_FALSE(Ignored("x/**/" + stars + "/**/" + stars + "b", "x/" + text + "/" + text));
  std::printf("[          ] hostile patterns: %.1f ms\n", watch.Milliseconds());
}

// Random trees and rules, compared with `git check-ignore`.
TEST(Ignore, AgreesWithGit) {
  const std::vector<std::string> names = {"a",  "b",    "ab",  "abc", "a.c",      "b.c", "c",   " a", "a ", "#a",
                                          "!a", "a\\b", "[a]", "-x",  "\xC3\xA9", "A",   "a-b", "]",  "a*"};
  const std::vector<std::string> pieces = {"a",       "b",          "c",    "ab",   "abc",      "/",    "/",    "*",           "*",  "**",    "**/",  "/**/",
                                           "/**",     "?",          "[ab]", "[!a]", "[a-c]",    "[^b]", "[]a]", "[[:alpha:]]", "[a", "\\",    "\\*",  "\\a",
                                           "\\[",     "!",          " ",    "\\ ",  ".",        "-",    "*.c",  "#",           "]",  "[\\]]", "[a-]", "[--a]",
                                           "[[:x:]]", "[[:alpha:]", "***",  "\\/",  "\xC3\xA9", "A"};
  size_t compared = 0, ignored = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    std::mt19937_64 random(seed);
    auto pick = [&](const std::vector<std::string>& from) { return from[random() % from.size()]; };
    TestFolder folder;
    ASSERT_EQ(os::RunProgram({"git", "init", "-q"}, std::chrono::seconds(10), folder.path())->status, 0);
    std::set<std::string> files, folders;
    for (int i = 0; i < 40; ++i) {
      std::string path;
      for (uint64_t depth = random() % 4 + 1; depth > 0; --depth) path = os::JoinPath(path, pick(names));
      bool clash = folders.contains(path);
      for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) clash |= files.contains(path.substr(0, slash));
      if (clash) continue;
      for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) folders.insert(path.substr(0, slash));
      files.insert(path);
      folder.Write(path, "");
    }
    std::string asked;
    for (const auto* set : {&files, &folders})
      for (const std::string& path : *set) asked += path + '\0';
    for (int round = 0; round < 5; ++round) {
      std::string rules;
      for (uint64_t lines = random() % 6 + 1; lines > 0; --lines) {
        for (uint64_t n = random() % 5 + 1; n > 0; --n) rules += pick(pieces);
        rules += random() % 10 ? "\n" : "\r\n";
      }
      folder.Write(".gitignore", rules);
      folder.Write(".git/asked", asked);
      auto answer =
          os::RunProgram({"sh", "-c", "git -c core.quotePath=false check-ignore -z --no-index --stdin < .git/asked"}, std::chrono::seconds(20), folder.path());
      ASSERT_TRUE(answer.ok());
      ASSERT_LE(answer->status, 1);
      std::set<std::string> expected;
      for (std::string_view path : Split(answer->output, '\0'))
        if (!path.empty()) expected.emplace(path);
      IgnoreRules mine(rules);
      for (const auto* set : {&files, &folders}) {
        for (const std::string& path : *set) {
          EXPECT_EQ(mine.Ignored(path, set == &folders), expected.contains(path)) << "seed " << seed << ", path '" << path << "', rules:\n" << rules;
          ++compared;
          ignored += expected.contains(path);
        }
      }
    }
    if (testing::Test::HasFailure()) break;
  }
  std::printf("[          ] compared %zu paths with git, %zu of them ignored\n", compared, ignored);
}

}  // namespace
}  // namespace ferry::snapshot
