#include "environment/existing/inspect.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::environment {
namespace {

class InspectTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(os::MakeFolders(folder_).ok());
    auto made = os::OutputOf({"/usr/bin/python3", "-m", "venv", "--without-pip", folder_ + "/env"}, std::chrono::minutes(2));
    ASSERT_TRUE(made.ok()) << made.error().message;
    // Tells when it is started.
    Write("env/lib/python3.11/site-packages/tell.pth", StrCat("import os; open('", folder_, "/started', 'a').write('x')\n"));
    Install("one", "1.0");
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveAll(folder_).ok()); }
  void Write(const std::string& path, const std::string& text) {
    std::string file = os::JoinPath(folder_, path);
    ASSERT_TRUE(os::MakeFolders(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(os::WriteFile(file, text).ok());
  }
  void Install(const std::string& name, const std::string& version) {
    Write(StrCat("env/lib/python3.11/site-packages/", name, "-", version, ".dist-info/METADATA"), StrCat("Name: ", name, "\nVersion: ", version, "\n"));
  }
  size_t Started() { return os::ReadFile(folder_ + "/started").ValueOr("").size(); }

  std::string folder_ = os::JoinPath(testing::TempDir(), "inspect." + RandomHex(6));
};

TEST_F(InspectTest, OneStartAndThenNone) {
  std::string python = folder_ + "/env/bin/python", cache = folder_ + "/cache";
  auto lock = Inspect(python, cache);
  ASSERT_TRUE(lock.ok()) << lock.error().message;
  EXPECT_EQ(lock->kind, "existing");
  EXPECT_EQ(lock->python.substr(0, 4), "3.11");
  ASSERT_EQ(lock->packages.size(), 1u);
  EXPECT_EQ(lock->packages[0].name, "one");
  EXPECT_EQ(lock->packages[0].source, "given");
  // A virtual environment's own files are read twice at a start.
  size_t once = Started();
  EXPECT_GT(once, 0u);
  EXPECT_EQ(*Inspect(python, cache), *lock);
  EXPECT_EQ(Started(), once);
  Install("two", "2.0");
  auto more = Inspect(python, cache);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(model::Difference(*lock, *more), std::vector<std::string>{"+ two 2.0"});
}

TEST_F(InspectTest, WhatIsNoPython) {
  EXPECT_EQ(Inspect("/bin/true", "").error().slug, "interpreter.broken");
  EXPECT_EQ(Inspect(folder_ + "/nothing", "").error().slug, "interpreter.broken");
}

}  // namespace
}  // namespace ferry::environment
