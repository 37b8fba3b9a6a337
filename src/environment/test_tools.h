// What the builders' tests need besides Debian's packages: uv and py-rattler, fetched once from PyPI into build/test-tools.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::environment {

inline std::string TestToolsFolder() { return std::string(FERRY_SOURCE_DIR) + "/build/test-tools"; }

// A PATH with Debian's Python and neither uv nor conda.
inline std::string PlainPath() { return "/usr/bin:/bin"; }

// The same with uv in front.
inline std::string PathWithUv() {
  std::string folder = TestToolsFolder();
  EXPECT_TRUE(os::MakeFolders(folder + "/path").ok());
  auto turn = os::FileLock::Take(folder + "/uv.lock", true);
  EXPECT_TRUE(turn.ok());
  if (!os::Exists(folder + "/path/uv")) {
    EXPECT_TRUE(os::RemoveAll(folder + "/uv").ok());
    auto made = os::OutputOf({"/usr/bin/python3", "-m", "venv", folder + "/uv"}, std::chrono::minutes(5));
    EXPECT_TRUE(made.ok()) << made.error().message;
    auto got = os::OutputOf({folder + "/uv/bin/python", "-m", "pip", "install", "-q", "uv"}, std::chrono::minutes(10));
    EXPECT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(os::MakeLink("../uv/bin/uv", folder + "/path/uv").ok());
  }
  return folder + "/path:" + PlainPath();
}

// 10,000 lines that say little.
inline std::vector<std::string> ManyLines() {
  std::vector<std::string> lines;
  for (int i = 0; i < 10'000; ++i) lines.push_back(i % 3 == 0 ? StrCat("# comment ", i) : StrCat("six!=0.", i % 100));
  return lines;
}

}  // namespace ferry::environment
