#include "autoscaler/fleet.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace ferry::autoscaler {
namespace {

using std::chrono::seconds;
constexpr Time kStart{1'000'000'000};

Rules UpTo(int max, int min = 0) {
  Rules rules;
  rules.min = min;
  rules.max = max;
  rules.idle = seconds(60);
  return rules;
}

TEST(Fleet, GrowsFromNothing) {
  Fleet fleet;
  Decision decision = fleet.Decide(UpTo(4), {3, 1, "r", 3}, kStart);
  EXPECT_EQ(decision.add, 3);
  EXPECT_EQ(decision.reason, "+3 nodes because run 'r' needs 3 and 0 are idle");
  EXPECT_EQ(fleet.Decide(UpTo(4), {}, kStart).add, 0);
}

TEST(Fleet, CountsWhatIsIdleAndWhatIsComing) {
  Fleet fleet;
  fleet.Set("a", NodeState::kIdle, kStart);
  EXPECT_EQ(fleet.Decide(UpTo(4), {3, 1, "r", 3}, kStart).reason, "+2 nodes because run 'r' needs 3 and 1 is idle");
  fleet.Set("b", NodeState::kComing, kStart);
  fleet.Set("c", NodeState::kComing, kStart);
  Decision decision = fleet.Decide(UpTo(4), {3, 1, "r", 3}, kStart);
  EXPECT_EQ(decision.add, 0);
  EXPECT_EQ(decision.reason, "nothing more: 2 nodes coming");
}

TEST(Fleet, NeverBeyondMaxAndSaysSo) {
  Fleet fleet;
  for (const char* node : {"a", "b"}) fleet.Set(node, NodeState::kBusy, kStart);
  Decision decision = fleet.Decide(UpTo(3), {5, 5, "r", 1}, kStart);
  EXPECT_EQ(decision.add, 1);
  EXPECT_EQ(decision.reason, "+1 node because run 'r' needs 1, 5 runs wait, and 0 are idle; no more because max_nodes is 3");
  fleet.Set("c", NodeState::kBusy, kStart);
  decision = fleet.Decide(UpTo(3), {5, 5, "r", 1}, kStart);
  EXPECT_EQ(decision.add, 0);
  EXPECT_EQ(decision.reason, "no more nodes because max_nodes is 3 and 3 are busy");
}

TEST(Fleet, KeepsMin) {
  Fleet fleet;
  Decision decision = fleet.Decide(UpTo(4, 2), {}, kStart);
  EXPECT_EQ(decision.add, 2);
  EXPECT_EQ(decision.reason, "+2 nodes because min_nodes is 2 and 0 are there");
  for (const char* node : {"a", "b", "c"}) fleet.Set(node, NodeState::kIdle, kStart);
  decision = fleet.Decide(UpTo(4, 2), {}, kStart + seconds(60));
  EXPECT_EQ(decision.remove, std::vector<std::string>{"a"});
}

TEST(Fleet, ShrinksOnlyAfterTheIdleTime) {
  Fleet fleet;
  fleet.Set("a", NodeState::kIdle, kStart);
  fleet.Set("b", NodeState::kIdle, kStart + seconds(10));
  fleet.Set("c", NodeState::kBusy, kStart);
  Decision decision = fleet.Decide(UpTo(4), {}, kStart + seconds(59));
  EXPECT_TRUE(decision.remove.empty());
  EXPECT_EQ(decision.next, kStart + seconds(60));
  EXPECT_EQ(decision.reason, "nothing: 2 nodes idle, the first may go in 1.0 s");
  decision = fleet.Decide(UpTo(4), {}, kStart + seconds(60));
  EXPECT_EQ(decision.remove, std::vector<std::string>{"a"});
  EXPECT_EQ(decision.reason, "-1 node because it has had no work for 1 m 00 s");
  EXPECT_EQ(decision.next, kStart + seconds(70));
}

TEST(Fleet, WhatIsIdleStaysForWhoWaits) {
  Fleet fleet;
  fleet.Set("a", NodeState::kIdle, kStart);
  fleet.Set("b", NodeState::kIdle, kStart);
  // A gang of two waits for a third node: nothing goes meanwhile.
  Decision decision = fleet.Decide(UpTo(3), {3, 1, "gang", 3}, kStart + seconds(600));
  EXPECT_EQ(decision.add, 1);
  EXPECT_TRUE(decision.remove.empty());
}

TEST(Fleet, ALowerMaxTakesEffectAtOnceForIdleNodes) {
  Fleet fleet;
  for (const char* node : {"a", "b", "c"}) fleet.Set(node, NodeState::kIdle, kStart);
  fleet.Set("d", NodeState::kBusy, kStart);
  Decision decision = fleet.Decide(UpTo(2), {}, kStart + seconds(1));
  EXPECT_EQ(decision.remove, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(decision.reason, "-2 nodes because max_nodes is 2 and 4 are there");
}

TEST(Fleet, AProviderThatFailsIsAskedLaterAndLater) {
  Fleet fleet;
  fleet.Failed(kStart, "no room");
  Decision decision = fleet.Decide(UpTo(4), {2, 2, "r", 1}, kStart + seconds(1));
  EXPECT_EQ(decision.add, 0);
  EXPECT_EQ(decision.next, kStart + seconds(5));
  EXPECT_EQ(decision.reason, "2 nodes short: the provider failed once (no room); it is asked again in 4.0 s");
  EXPECT_EQ(fleet.Decide(UpTo(4), {2, 2, "r", 1}, kStart + seconds(5)).add, 1) << "one, to see";
  fleet.Failed(kStart + seconds(5), "no room");
  EXPECT_EQ(fleet.Decide(UpTo(4), {2, 2, "r", 1}, kStart + seconds(10)).next, kStart + seconds(15));
  for (int i = 0; i < 40; ++i) fleet.Failed(kStart, "no room");
  EXPECT_EQ(fleet.Decide(UpTo(4), {2, 2, "r", 1}, kStart).next, kStart + seconds(300));
  fleet.Made();
  EXPECT_EQ(fleet.Decide(UpTo(4), {2, 2, "r", 1}, kStart).add, 2);
}

TEST(Fleet, ANodeThatNeverComesIsGivenUpAndAskedForAgain) {
  Fleet fleet;
  fleet.Set("a", NodeState::kComing, kStart);
  EXPECT_EQ(fleet.Decide(UpTo(1), {1, 1, "r", 1}, kStart).next, kStart + seconds(600));
  Decision decision = fleet.Decide(UpTo(1), {1, 1, "r", 1}, kStart + seconds(600));
  EXPECT_EQ(decision.give_up, std::vector<std::string>{"a"});
  EXPECT_EQ(decision.add, 1);
}

// Random demand against a provider that is late, fails and delivers less: never beyond max, never a busy node removed, always down to min in the end, and
// no node is removed and asked for again within the idle time.
TEST(Fleet, PropertiesUnderRandomLife) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Rules rules = UpTo(1 + static_cast<int>(random() % 10));
    rules.min = static_cast<int>(random() % static_cast<uint32_t>(rules.max + 1));
    rules.arrival = seconds(30);
    Fleet fleet;
    std::map<std::string, NodeState> truth;
    std::map<std::string, Time> since, arrives;
    int waiting = 0, next = 0;
    Time now = kStart;
    auto set = [&](const std::string& node, NodeState state) {
      truth[node] = state;
      since[node] = now;
      fleet.Set(node, state, now);
    };
    for (int step = 0; step < 2000; ++step) {
      now = now + seconds(1);
      bool quiet = step > 1500;
      if (!quiet && random() % 5 == 0) waiting += static_cast<int>(random() % 6);
      for (auto& [node, state] : truth)
        if (state == NodeState::kComing && arrives.count(node) && arrives[node] <= now) set(node, NodeState::kIdle);
      for (auto& [node, state] : truth) {
        if (state == NodeState::kBusy && (quiet || random() % 4 == 0)) set(node, NodeState::kIdle);
        if (state == NodeState::kIdle && waiting > 0) {
          --waiting;
          set(node, NodeState::kBusy);
        }
      }
      Need need{waiting, static_cast<size_t>(waiting), "r", 1};
      Decision decision = fleet.Decide(rules, need, now);
      for (const std::string& node : decision.remove) {
        ASSERT_EQ(truth.at(node), NodeState::kIdle);
        ASSERT_GE(now - since.at(node), rules.idle);
        ASSERT_EQ(waiting, 0);
        truth.erase(node);
        fleet.Remove(node);
      }
      for (const std::string& node : decision.give_up) {
        ASSERT_EQ(truth.at(node), NodeState::kComing);
        truth.erase(node);
        fleet.Remove(node);
      }
      ASSERT_TRUE(decision.add == 0 || decision.remove.empty());
      for (int i = 0; i < decision.add; ++i) {
        if (!quiet && random() % 4 == 0) {
          fleet.Failed(now, "no");
          break;
        }
        fleet.Made();
        std::string node = "n" + std::to_string(next++);
        set(node, NodeState::kComing);
        if (quiet || random() % 8) arrives[node] = now + seconds(static_cast<int64_t>(random() % 10));
      }
      ASSERT_LE(static_cast<int>(truth.size()), rules.max);
      if (decision.next) {
        ASSERT_GT(*decision.next, now) << decision.reason;
      }
    }
    ASSERT_EQ(static_cast<int>(truth.size()), rules.min) << "seed " << seed;
    ASSERT_EQ(waiting, 0);
  }
}

}  // namespace
}  // namespace ferry::autoscaler
