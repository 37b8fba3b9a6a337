#include "agent/environments.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "base/text.h"
#include "os/file.h"

namespace ferry::agent {
namespace {

using environment::Job;
using environment::Ready;

class EnvironmentsTest : public testing::Test {
 protected:
  EnvironmentsTest() : home_(StrCat(testing::TempDir(), "environments-", RandomName())) { EXPECT_TRUE(os::MakeFolders(home_).ok()); }
  ~EnvironmentsTest() override { (void)os::RemoveAll(home_); }
  static std::string RandomName() {
    static std::atomic<int> count{0};
    return StrCat(Now().micros, "-", ++count);
  }

  Environments::Settings Settings() {
    Environments::Settings settings;
    settings.home = home_;
    settings.build = [this](const Job& job) -> Result<Ready> {
      ++builds_;
      job.log("building");
      while (hold_) {
        if (job.stopping()) return MakeError(Code::kCanceled, "stopped", "stopped");
        std::this_thread::yield();
      }
      TRY_VOID(os::MakeFolders(job.folder));
      TRY_VOID(os::WriteFile(job.folder + "/part", "x"));
      if (fail_) return MakeError(Code::kInvalid, "environment.build", "no package 'nothing'");
      return Ready{job.folder, job.folder + "/bin/python", {}, {}, "", {"venv", "3.11.2", "linux-64", "", {}, {}}};
    };
    return settings;
  }
  Result<Environments::Use> Get(
      Environments& environments, const std::string& user, bool may_build = true, std::function<bool()> stopping = [] { return false; }) {
    return environments.Get({"k1", definition_, user, StrCat(home_, "/", user, ".log"), may_build, "", [this] { ++waiting_; }, std::move(stopping)});
  }
  void WaitFor(int waiting) {
    while (waiting_ < waiting) std::this_thread::yield();
  }
  std::string LogOf(const std::string& user) { return os::ReadFile(StrCat(home_, "/", user, ".log")).ValueOr(""); }

  std::string home_;
  model::Environment definition_;
  std::atomic<int> builds_{0}, waiting_{0};
  std::atomic<bool> hold_{false}, fail_{false};
};

TEST_F(EnvironmentsTest, IsMadeOnceForAllWhoAskAtOnce) {
  Environments environments(Settings());
  environments.Begin({});
  hold_ = true;
  std::vector<std::thread> threads;
  std::atomic<int> built{0}, waited{0};
  for (int i = 0; i < 10; ++i)
    threads.emplace_back([&, i] {
      auto use = Get(environments, StrCat("u", i));
      ASSERT_TRUE(use.ok());
      ++(use->how == Environments::How::kBuilt ? built : waited);
    });
  WaitFor(10);
  hold_ = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(builds_, 1);
  EXPECT_EQ(built, 1);
  EXPECT_EQ(waited, 9);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(LogOf(StrCat("u", i)).starts_with("building\nferry: the environment is ready after ")) << LogOf(StrCat("u", i));
  EXPECT_EQ(Get(environments, "late")->how, Environments::How::kFound);
  EXPECT_FALSE(os::Exists(home_ + "/environments/k1.log"));
  EXPECT_TRUE(os::Exists(home_ + "/environments/k1/build.log"));
}

TEST_F(EnvironmentsTest, IsFoundByTheNextAgent) {
  {
    Environments environments(Settings());
    environments.Begin({});
    ASSERT_TRUE(Get(environments, "u").ok());
  }
  Environments again(Settings());
  again.Begin({});
  auto use = Get(again, "v", false);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->how, Environments::How::kFound);
  EXPECT_EQ(use->ready.lock.python, "3.11.2");
  EXPECT_EQ(builds_, 1);
}

TEST_F(EnvironmentsTest, LeavesNothingOfAFailedBuild) {
  Environments environments(Settings());
  environments.Begin({});
  fail_ = true;
  auto use = Get(environments, "u");
  ASSERT_FALSE(use.ok());
  EXPECT_EQ(use.error().message, "no package 'nothing'");
  EXPECT_EQ(LogOf("u"), "building\nferry: no package 'nothing'\n");
  EXPECT_TRUE(os::ListFolder(home_ + "/environments")->empty());
  fail_ = false;
  EXPECT_TRUE(Get(environments, "u2").ok());
}

TEST_F(EnvironmentsTest, OneThatStopsWaitingDoesNotEndTheBuildOfOthers) {
  Environments environments(Settings());
  environments.Begin({});
  hold_ = true;
  std::atomic<bool> stop{false};
  std::thread first([&] { EXPECT_EQ(Get(environments, "first", true, [&] { return stop.load(); }).error().code, Code::kCanceled); });
  WaitFor(1);
  std::thread second([&] { EXPECT_TRUE(Get(environments, "second").ok()); });
  WaitFor(2);
  stop = true;
  first.join();
  hold_ = false;
  second.join();
  EXPECT_EQ(builds_, 1);
}

TEST_F(EnvironmentsTest, ABuildThatNobodyWaitsForEnds) {
  Environments environments(Settings());
  environments.Begin({});
  hold_ = true;
  EXPECT_EQ(Get(environments, "u", true, [] { return true; }).error().code, Code::kCanceled);
  // The build ends although it is held.
  while (os::Exists(home_ + "/environments/k1.log")) std::this_thread::yield();
  EXPECT_TRUE(os::ListFolder(home_ + "/environments")->empty());
}

TEST_F(EnvironmentsTest, AnInterruptedBuildIsNoEnvironment) {
  ASSERT_TRUE(os::MakeFolders(home_ + "/environments/k1/bin").ok());
  ASSERT_TRUE(os::WriteFile(home_ + "/environments/k1.log", "the first try\n").ok());
  Environments environments(Settings());
  environments.Begin({});
  EXPECT_FALSE(os::Exists(home_ + "/environments/k1"));
  EXPECT_EQ(Get(environments, "u", false).error().slug, "environment.not_prepared");
  ASSERT_TRUE(Get(environments, "u").ok());
  EXPECT_TRUE(LogOf("u").starts_with("the first try\nbuilding\n")) << "what was sent of a log stays true";
}

TEST_F(EnvironmentsTest, IsFetchedWhereItWasBuiltElsewhere) {
  auto settings = Settings();
  int published = 0;
  settings.fetch = [&](const std::string& key, const Job& job) -> Result<Ready> {
    if (key != "k1") return MakeError(Code::kNotFound, "", "");
    TRY_VOID(os::MakeFolders(job.folder));
    return Ready{job.folder, "python", {}, {}, "", {}};
  };
  settings.publish = [&](const std::string&, const Ready&, Duration) { ++published; };
  settings.build = [](const Job&) -> Result<Ready> { return MakeError(Code::kInternal, "", "built"); };
  Environments environments(settings);
  environments.Begin({});
  EXPECT_EQ(Get(environments, "u")->how, Environments::How::kFetched);
  EXPECT_EQ(published, 0);
}

TEST_F(EnvironmentsTest, IsNotRemovedWhileItIsUsed) {
  auto settings = Settings();
  settings.max_bytes = 1;
  Environments environments(settings);
  environments.Begin({});
  ASSERT_TRUE(Get(environments, "u").ok());
  EXPECT_TRUE(environments.Prune(false).empty());
  environments.Release("u");
  ASSERT_EQ(environments.Prune(true).size(), 1u);
  EXPECT_TRUE(os::Exists(home_ + "/environments/k1/ready.json"));
  ASSERT_EQ(environments.Prune(false).size(), 1u);
  EXPECT_FALSE(os::Exists(home_ + "/environments/k1"));
  EXPECT_EQ(Get(environments, "v", false).error().slug, "environment.not_prepared");
}

TEST(EnvironmentsToRemove, TakesTheLeastRecentlyUsed) {
  Time now{1'000'000'000};
  auto at = [&](int seconds) { return now - std::chrono::seconds(seconds); };
  std::vector<KeptEnvironment> kept = {{"a", 10, at(30), false}, {"b", 10, at(20), false}, {"c", 10, at(10), false}, {"d", 10, at(40), true}};
  using Keys = std::vector<std::string>;
  EXPECT_EQ(EnvironmentsToRemove(kept, 0, {}, now), Keys{});
  EXPECT_EQ(EnvironmentsToRemove(kept, 25, {}, now), (Keys{"a", "b"}));
  EXPECT_EQ(EnvironmentsToRemove(kept, 0, std::chrono::seconds(15), now), (Keys{"a", "b"}));
  EXPECT_EQ(EnvironmentsToRemove(kept, 1, {}, now), (Keys{"a", "b", "c"})) << "d is in use";
}

}  // namespace
}  // namespace ferry::agent
