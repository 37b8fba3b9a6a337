// A folder that a test fills and that is gone afterwards.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "os/file.h"

namespace ferry::snapshot {

class TestFolder {
 public:
  TestFolder() : path_(os::JoinPath(testing::TempDir(), "snapshot." + RandomHex(6))) { EXPECT_TRUE(os::MakeFolders(path_).ok()); }
  ~TestFolder() { EXPECT_TRUE(os::RemoveAll(path_).ok()); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string At(std::string_view name) const { return os::JoinPath(path_, name); }
  // Writes in place, with the folders above.
  void Write(std::string_view name, std::string_view bytes, unsigned mode = 0644) const {
    const std::string path = At(name);
    ASSERT_TRUE(os::MakeFolders(path.substr(0, path.rfind('/'))).ok());
    auto file = os::Open(path, os::OpenMode::kWrite, mode);
    ASSERT_TRUE(file.ok()) << file.error().message;
    ASSERT_TRUE(os::WriteAll(*file, bytes).ok());
  }
  void Link(std::string_view name, const std::string& target) const { ASSERT_TRUE(os::MakeLink(target, At(name)).ok()); }

 private:
  std::string path_;
};

class Stopwatch {
 public:
  double Milliseconds() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace ferry::snapshot
