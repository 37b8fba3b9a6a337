#include "environment/interpreter.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::environment {
namespace {

class InterpreterTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(os::MakeFolders(folder_).ok()); }
  void TearDown() override { EXPECT_TRUE(os::RemoveAll(folder_).ok()); }

  // A program that says a version and counts how often it was asked.
  void Fake(const std::string& path, const std::string& version) {
    std::string file = os::JoinPath(folder_, path);
    ASSERT_TRUE(os::MakeFolders(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(os::WriteFile(file, StrCat("#!/bin/sh\necho x >> ", folder_, "/asked\necho ", version, "\n"), 0755).ok());
  }
  size_t Asked() { return os::ReadFile(folder_ + "/asked").ValueOr("").size() / 2; }
  Settings Here(const std::string& path) {
    Settings settings;
    settings.path = path;
    settings.cache = folder_ + "/cache";
    return settings;
  }

  std::string folder_ = os::JoinPath(testing::TempDir(), "interpreter." + RandomHex(6));
};

TEST_F(InterpreterTest, ThePinIsNeverRelaxed) {
  Fake("a/python3", "3.11.2");
  Fake("a/python3.9", "3.9.18");
  Fake("b/python", "2.7.18");
  Settings settings = Here(folder_ + "/a:" + folder_ + "/b");
  EXPECT_EQ(FindInterpreter(settings, "=3.9", "python=3.9")->version, "3.9.18");
  EXPECT_EQ(FindInterpreter(settings, "", "")->version, "3.11.2");
  EXPECT_EQ(FindInterpreter(settings, "=2.7", "python=2.7")->version, "2.7.18");
  auto none = FindInterpreter(settings, "=3.8", "python=3.8");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().slug, "environment.python");
  for (const char* part : {"'python=3.8'", "3.11.2", "3.9.18", "2.7.18", "/a/python3.9"})
    EXPECT_NE(none.error().message.find(part), std::string::npos) << none.error().message;
}

TEST_F(InterpreterTest, EachIsAskedOnce) {
  Fake("a/python3", "3.11.2");
  Settings settings = Here(folder_ + "/a");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(FindInterpreters(settings).size(), 1u);
  EXPECT_EQ(Asked(), 1u);
  Fake("a/python3", "3.11.20");
  EXPECT_EQ(FindInterpreters(settings).at(0).version, "3.11.20");
}

TEST_F(InterpreterTest, ShimsAreResolved) {
  Fake("root/shims/python3", "never asked");
  Fake("root/shims/uv", "never asked");
  Fake("root/versions/3.8.18/bin/python3.8", "3.8.18");
  Fake("root/versions/3.12.1/bin/python3.12", "3.12.1");
  Fake("root/versions/3.11.7/bin/python3.11", "3.11.7");
  Fake("root/versions/3.8.18/bin/uv", "uv");
  ASSERT_TRUE(os::WriteFile(folder_ + "/root/version", "3.11.7\n").ok());
  Settings settings = Here(folder_ + "/root/shims");
  EXPECT_EQ(FindInterpreter(settings, "", "")->version, "3.11.7");
  EXPECT_EQ(FindInterpreter(settings, "=3.8", "")->path, folder_ + "/root/versions/3.8.18/bin/python3.8");
  EXPECT_EQ(FindInterpreter(settings, ">=3.8", "")->version, "3.11.7") << "a range takes the first";
  EXPECT_EQ(FindTool("uv", settings.path), folder_ + "/root/versions/3.8.18/bin/uv");
  EXPECT_EQ(FindTool("conda", settings.path), std::nullopt);
}

TEST_F(InterpreterTest, WhatIsBrokenIsNoInterpreter) {
  Fake("a/python3", "no version");
  EXPECT_TRUE(FindInterpreters(Here(folder_ + "/a")).empty());
  EXPECT_EQ(VersionOf(Here(""), folder_ + "/not/there"), "");
}

}  // namespace
}  // namespace ferry::environment
