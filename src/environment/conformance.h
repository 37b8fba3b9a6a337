// What every Builder must do, as a gtest suite. An implementation's test instantiates it with a way to make a builder and definitions that it can build:
//   INSTANTIATE_TEST_SUITE_P(Venv, BuilderConformance, testing::Values(Subject{...}));
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "environment/builder.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::environment {

struct Subject {
  std::string name;
  // A builder with tools and cache in this folder.
  std::function<std::unique_ptr<Builder>(const std::string& folder)> make;
  model::Environment works;       // and its interpreter can `import` the module below
  std::string module;             // "six"
  model::Environment impossible;  // asks for a package or version that is not there
  std::string package;            // the package it fails for, as the message must name it
  model::Environment slow;        // takes more than one step
  size_t stop_after = 1;          // lines of the log, and it is stopped
  model::Environment large;       // 10,000 lines; may fail, but in words
};

inline void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

class BuilderConformance : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    folder_ = os::JoinPath(testing::TempDir(), "builder." + RandomHex(6));
    ASSERT_TRUE(os::MakeFolders(folder_ + "/environments").ok());
    builder_ = GetParam().make(folder_);
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveAll(folder_).ok()); }

  Result<Ready> Build(
      const model::Environment& definition, const std::string& name, std::function<bool()> stopping = [] { return false; }) {
    std::string mark = "conformance." + RandomHex(6);
    auto log = [this](std::string_view line) {
      std::lock_guard lock(mutex_);
      log_.emplace_back(line);
      lines_ = log_.size();
    };
    Job job{definition, StrCat(folder_, "/environments/", name), mark, log, std::move(stopping), ""};
    auto ready = builder_->Build(job);
    EXPECT_TRUE(os::ProcessesWith("FERRY_ATTEMPT", mark).empty()) << "processes of the build are left";
    return ready;
  }
  std::string Log() {
    std::lock_guard lock(mutex_);
    return Join(log_, "\n");
  }
  Result<std::string> Run(const Ready& ready, const std::string& program) {
    return os::OutputOf({ready.interpreter, "-c", program}, std::chrono::seconds(60), "/");
  }

  std::string folder_;
  std::unique_ptr<Builder> builder_;
  std::mutex mutex_;
  std::vector<std::string> log_;
  std::atomic<size_t> lines_ = 0;
};

TEST_P(BuilderConformance, BuildsWhatAScriptCanUse) {
  auto ready = Build(GetParam().works, "one");
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << Log();
  EXPECT_FALSE(Log().empty());
  EXPECT_FALSE(ready->lock.python.empty());
  EXPECT_FALSE(ready->lock.packages.empty());
  EXPECT_TRUE(os::Exists(ready->interpreter));
  EXPECT_FALSE(os::Exists(ready->folder + "/ready.json")) << "ready.json is the caller's";
  auto said = Run(*ready, StrCat("import sys, ", GetParam().module, "; print('%d.%d.%d' % sys.version_info[:3]); print(sys.prefix)"));
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(*said, StrCat(ready->lock.python, "\n", ready->folder, "\n"));
  auto again = ReadyFromJson(*ParseJson(ToJson(*ready).Dump()));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(ToJson(*again), ToJson(*ready));
}

TEST_P(BuilderConformance, ALockBuildsTheSame) {
  auto ready = Build(GetParam().works, "one");
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << Log();
  model::Environment locked = GetParam().works;
  locked.lock = model::ToJson(ready->lock);
  auto again = Build(locked, "two");
  ASSERT_TRUE(again.ok()) << again.error().message << "\n" << Log();
  EXPECT_EQ(model::Difference(ready->lock, again->lock), std::vector<std::string>{});
}

TEST_P(BuilderConformance, AFailureNamesThePackage) {
  auto ready = Build(GetParam().impossible, "impossible");
  ASSERT_FALSE(ready.ok());
  EXPECT_NE(ready.error().message.find(GetParam().package), std::string::npos) << ready.error().message << "\n" << Log();
  EXPECT_NE(ready.error().message.find(" line "), std::string::npos) << ready.error().message;
  EXPECT_EQ(ready.error().message.find('\n'), std::string::npos) << "one sentence";
  EXPECT_FALSE(ready.error().field.empty());
}

TEST_P(BuilderConformance, AStopEndsEverything) {
  auto ready = Build(GetParam().slow, "stopped", [this] { return lines_ >= GetParam().stop_after; });
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().code, Code::kCanceled) << ready.error().message << "\n" << Log();
}

TEST_P(BuilderConformance, SpacesAndUnicodeInThePath) {
  auto ready = Build(GetParam().works, "mit Leer zeichen äöü 環境");
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << Log();
  auto said = Run(*ready, StrCat("import ", GetParam().module, "; print('fine')"));
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(*said, "fine\n");
}

TEST_P(BuilderConformance, ALargeSpecificationEnds) {
  auto ready = Build(GetParam().large, "large");
  EXPECT_TRUE(ready.ok() || !ready.error().message.empty());
}

}  // namespace ferry::environment
