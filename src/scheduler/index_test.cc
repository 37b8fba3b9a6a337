#include "scheduler/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ferry::scheduler {
namespace {

std::string Show(const std::vector<Placement>& placements) {
  std::string out;
  for (const Placement& p : placements) {
    out += (out.empty() ? "" : " ") + p.run + "@";
    for (const Share& share : p.shares) {
      out += (share.node == p.shares[0].node ? "" : "+") + share.node;
      for (int gpu : share.gpus) out += ":" + std::to_string(gpu);
    }
  }
  return out;
}

constexpr Time kNow{1'000'000};
std::string Decided(Index& index, Time now = kNow) { return Show(index.Decide(now)); }

Index WithNodes(int count, const std::string& target = "t", int slots = 1, std::vector<int> gpus = {}) {
  Index index;
  for (int i = 1; i <= count; ++i) {
    index.SetNode({"n" + std::to_string(i), target, slots, gpus});
    index.SetOpen("n" + std::to_string(i), true);
  }
  return index;
}

Demand Gang(std::string run, int64_t order, int nodes) {
  Demand demand{std::move(run), "t", 0, order};
  demand.nodes = nodes;
  return demand;
}

Demand Short(std::string run, int64_t order, int64_t seconds) {
  Demand demand{std::move(run), "t", 0, order};
  demand.seconds = seconds;
  return demand;
}

TEST(Index, FirstComeFirstServedWithinSlots) {
  Index index = WithNodes(1, "local", 2);
  for (int i = 3; i >= 1; --i) index.Wait({"r" + std::to_string(i), "local", 0, i});
  EXPECT_EQ(Decided(index), "r1@n1 r2@n1");
  EXPECT_EQ(Decided(index), "");
  EXPECT_EQ(index.held("n1"), 2u);
  EXPECT_EQ(index.Explain("r3"), "all 2 slot(s) of 'local' are in use and 0 run(s) are ahead of it");
  index.Release("n1", "r1");
  EXPECT_EQ(Decided(index), "r3@n1");
}

TEST(Index, PriorityGoesFirst) {
  Index index = WithNodes(1);
  index.Wait({"early", "t", 0, 1});
  index.Wait({"urgent", "t", -5, 2});
  index.Wait({"urgent", "t", 5, 2});  // said again: replaced
  EXPECT_EQ(index.waiting(), 2u);
  EXPECT_EQ(Decided(index), "urgent@n1");
}

TEST(Index, TargetsDoNotMeet) {
  Index index;
  index.SetNode({"a", "one", 1, {}});
  index.SetNode({"b", "two", 1, {}});
  index.SetOpen("a", true);
  index.SetOpen("b", true);
  index.Wait({"r1", "two", 0, 1});
  index.Wait({"r2", "two", 0, 2});
  index.Wait({"r3", "three", 0, 3});
  EXPECT_EQ(Decided(index), "r1@b");
  EXPECT_EQ(index.Explain("r3"), "no node of 'three' has connected yet");
  index.Release("b", "r1");
  index.SetNode({"b", "one", 1, {}});  // moved
  EXPECT_EQ(Decided(index), "");
  index.RemoveNode("a");
  index.Wait({"r4", "one", 0, 4});
  EXPECT_EQ(Decided(index), "r4@b");
}

TEST(Index, ClosedNodesGetNothingAndKeepWhatTheyHave) {
  Index index;
  index.Occupy("n", {"old", {1}});  // known from the store before its node said hello
  index.SetNode({"n", "local", 2, {0, 1}});
  index.Wait({"r", "local", 0, 1, 1});
  EXPECT_EQ(Decided(index), "");
  EXPECT_EQ(index.Explain("r"), "no node of 'local' is connected");
  index.SetOpen("n", true);
  EXPECT_EQ(Decided(index), "r@n:0");
  index.SetOpen("n", false);
  index.Wait({"s", "local", 0, 2});
  EXPECT_EQ(Decided(index), "");
  EXPECT_EQ(index.held("n"), 2u);
}

TEST(Index, DevicesAreGivenOnceAndWhatNeedsNoneGoesAround) {
  Index index = WithNodes(1, "local", 8, {0, 1, 2});
  index.Wait({"a", "local", 0, 1, 2});
  index.Wait({"b", "local", 0, 2, 2});
  index.Wait({"c", "local", 0, 3, 1});
  index.Wait({"d", "local", 0, 4, 0});
  EXPECT_EQ(Decided(index), "a@n1:0:1 c@n1:2 d@n1") << "b can begin when a ends: three devices, c has one";
  EXPECT_EQ(index.Explain("b"), "it waits for 2 free GPU(s) on one node of 'local'");
  index.Wait({"e", "local", 0, 5, 1});
  index.Release("n1", "c");
  EXPECT_EQ(Decided(index), "e@n1:2");
  index.Release("n1", "a");
  EXPECT_EQ(Decided(index), "b@n1:0:1");
  index.Wait({"f", "local", 9, 6, 4});
  EXPECT_EQ(index.Explain("f"), "it needs 4 GPU(s) on one node and the largest node of 'local' has 3");
}

TEST(Index, WhoWaitsForALargePieceIsNotStarvedBySmallOnes) {
  Index index = WithNodes(1, "t", 8, {0, 1});
  index.Wait({"s0", "t", 0, 0, 1});
  index.Wait({"s1", "t", 0, 1, 1});
  EXPECT_EQ(Decided(index), "s0@n1:0 s1@n1:1");
  index.Wait({"large", "t", 0, 2, 2});
  for (int i = 3; i < 10; ++i) index.Wait({"s" + std::to_string(i), "t", 0, i, 1});
  EXPECT_EQ(Decided(index), "");
  index.Release("n1", "s0");
  EXPECT_EQ(Decided(index), "") << "the device is held for it";
  index.Release("n1", "s1");
  EXPECT_EQ(Decided(index), "large@n1:0:1");
}

TEST(Index, AGangGetsAllItsNodesOrNone) {
  Index index = WithNodes(3);
  index.Wait({"one", "t", 0, 1});
  index.Wait(Gang("gang", 2, 3));
  index.Wait({"two", "t", 0, 3});
  EXPECT_EQ(Decided(index), "one@n1") << "two nodes are held for the gang";
  EXPECT_EQ(index.Explain("gang"), "it needs 3 nodes of 't' at once and 2 of 3 are free; those are held for it");
  EXPECT_EQ(index.Explain("two"), "1 run(s) are ahead of it on 't', and 'gang' holds 3 node(s)");
  index.Release("n1", "one");
  EXPECT_EQ(Decided(index), "gang@n1+n2+n3");
  for (const char* node : {"n1", "n2", "n3"}) index.Release(node, "gang");
  EXPECT_EQ(Decided(index), "two@n1");
}

TEST(Index, AGangTakesTheFirstNodesThatComeFree) {
  Index index = WithNodes(4);
  for (int i = 1; i <= 4; ++i) index.Wait({"r" + std::to_string(i), "t", 0, i});
  EXPECT_EQ(Decided(index), "r1@n1 r2@n2 r3@n3 r4@n4");
  index.Wait(Gang("gang", 5, 2));
  index.Wait({"later", "t", 0, 6});
  index.Release("n4", "r4");
  EXPECT_EQ(Decided(index), "");
  index.Release("n3", "r3");
  EXPECT_EQ(Decided(index), "gang@n3+n4");
}

TEST(Index, WhoEndsInTimeMayUseWhatIsHeld) {
  Index index = WithNodes(2);
  index.Wait(Short("running", 1, 100));
  EXPECT_EQ(Decided(index), "running@n1");
  index.Wait(Gang("gang", 2, 2));
  index.Wait(Short("too-long", 3, 101));
  index.Wait(Short("fits", 4, 100));
  index.Wait({"unknown", "t", 0, 5});
  EXPECT_EQ(Decided(index), "fits@n2") << "it ends before the gang could begin";
  index.Release("n2", "fits");
  index.Release("n1", "running");
  EXPECT_EQ(Decided(index), "gang@n1+n2");
}

TEST(Index, AHigherPriorityTakesOverTheReservation) {
  Index index = WithNodes(2);
  index.Wait({"one", "t", 0, 1});
  EXPECT_EQ(Decided(index), "one@n1");
  index.Wait(Gang("gang", 2, 2));
  EXPECT_EQ(Decided(index), "");
  index.Wait({"urgent", "t", 1, 3});
  EXPECT_EQ(Decided(index), "urgent@n2");
  index.Release("n1", "one");
  index.Release("n2", "urgent");
  EXPECT_EQ(Decided(index), "gang@n1+n2");
}

TEST(Index, AReservationEndsWithItsRun) {
  Index index = WithNodes(2);
  index.Wait({"one", "t", 0, 1});
  index.Wait(Gang("gang", 2, 2));
  index.Wait({"two", "t", 0, 3});
  EXPECT_EQ(Decided(index), "one@n1");
  index.Unwait("gang");
  EXPECT_EQ(Decided(index), "two@n2");
}

TEST(Index, CoresAndMemoryArePackedWhereTheyAreCounted) {
  Index index;
  index.SetNode({"n", "t", 100, {}, 4000, 8192});
  index.SetOpen("n", true);
  Demand demand{"a", "t", 0, 1};
  demand.cores = 2500;
  demand.memory = 1000;
  index.Wait(demand);
  demand.run = "b", demand.order = 2;
  index.Wait(demand);
  demand.run = "c", demand.order = 3, demand.cores = 1500, demand.memory = 7000;
  index.Wait(demand);
  EXPECT_EQ(Decided(index), "a@n c@n") << "c leaves b what it needs once a has ended";
  EXPECT_EQ(index.Explain("b"), "no node of 't' has room for it now");
  demand.run = "d", demand.order = 0, demand.cores = 5000;
  index.Wait(demand);
  EXPECT_EQ(index.Explain("d"), "it needs 5 cores on one node and the largest node of 't' has 4");
  index.Unwait("d");
  index.Release("n", "a");
  EXPECT_EQ(Decided(index), "b@n");
}

TEST(Index, SaysHowManyNodesTheWaitingNeed) {
  Index index = WithNodes(1);
  index.Wait({"a", "t", 0, 1});
  index.Wait({"b", "t", 0, 2});
  index.Wait(Gang("c", 3, 3));
  EXPECT_EQ(Decided(index), "a@n1");
  auto lack = index.LackOf("t", {1, 0, 0, 0}, 100);
  EXPECT_EQ(lack.nodes, 4);
  EXPECT_EQ(lack.waiting, 2u);
  EXPECT_EQ(lack.idle, 0);
  EXPECT_EQ(lack.first, "b");
  EXPECT_EQ(lack.first_nodes, 1);
  EXPECT_EQ(index.LackOf("t", {1, 0, 0, 0}, 2).nodes, 2);
  EXPECT_EQ(index.LackOf("other", {1, 0, 0, 0}, 2).nodes, 0);
}

TEST(Index, UnknownThingsAreIgnored) {
  Index index;
  index.Unwait("x");
  index.Release("x", "y");
  index.RemoveNode("x");
  EXPECT_EQ(index.Explain("x"), "");
  EXPECT_EQ(index.held("x"), 0u);
  EXPECT_FALSE(index.Find("x"));
  EXPECT_EQ(Decided(index), "");
}

// Random life against a slow truth: never more runs than slots, never a device twice, gangs whole and on distinct nodes, nobody placed where the truth
// has no room, and after a decision the first of the queue really fits nowhere.
TEST(Index, InvariantsUnderRandomChange) {
  std::mt19937 random(1);
  for (int seed = 0; seed < 60; ++seed) {
    Index index;
    struct NodeTruth {
      int slots = 1;
      std::vector<int> gpus;
      bool open = false;
      std::map<std::string, std::vector<int>> runs;
      int Free() const {
        int free = 0;
        for (int gpu : gpus) {
          bool busy = false;
          for (const auto& [run, held] : runs) busy = busy || std::count(held.begin(), held.end(), gpu);
          free += !busy;
        }
        return free;
      }
    };
    std::map<std::string, NodeTruth> truth;
    std::map<std::tuple<int, int64_t>, Demand> waiting;
    int next = 0;
    for (int step = 0; step < 400; ++step) {
      switch (random() % 5) {
        case 0: {
          std::string name = "n" + std::to_string(random() % 5);
          NodeTruth& node = truth[name];
          if (node.runs.empty()) {
            node.slots = 1 + static_cast<int>(random() % 3);
            node.gpus.clear();
            for (int g = 0; g < static_cast<int>(random() % 4); ++g) node.gpus.push_back(g);
          }
          node.open = random() % 4 != 0;
          index.SetNode({name, "t", node.slots, node.gpus});
          index.SetOpen(name, node.open);
          break;
        }
        case 1: {
          Demand demand{"r" + std::to_string(next), "t", static_cast<int>(random() % 3), next, static_cast<int>(random() % 3)};
          demand.nodes = random() % 4 == 0 ? 2 + static_cast<int>(random() % 2) : 1;
          demand.seconds = random() % 3 == 0 ? static_cast<int64_t>(random() % 50) : 0;
          ++next;
          index.Wait(demand);
          waiting[{-demand.priority, demand.order}] = demand;
          break;
        }
        case 2:
          for (auto& [name, node] : truth)
            if (!node.runs.empty()) {
              std::string run = node.runs.begin()->first;
              for (auto& [other, held] : truth)
                if (held.runs.erase(run)) index.Release(other, run);
              break;
            }
          break;
        case 3:
          if (!waiting.empty() && random() % 4 == 0) {
            index.Unwait(waiting.begin()->second.run);
            waiting.erase(waiting.begin());
          }
          break;
        default: {
          for (const Placement& p : index.Decide(Time{1 + step})) {
            auto it = std::find_if(waiting.begin(), waiting.end(), [&](const auto& w) { return w.second.run == p.run; });
            ASSERT_NE(it, waiting.end());
            ASSERT_EQ(p.shares.size(), static_cast<size_t>(it->second.nodes));
            for (const Share& share : p.shares) {
              NodeTruth& node = truth.at(share.node);
              ASSERT_TRUE(node.open);
              ASSERT_LT(static_cast<int>(node.runs.size()), node.slots);
              ASSERT_EQ(share.gpus.size(), static_cast<size_t>(it->second.gpus));
              for (int gpu : share.gpus) {
                ASSERT_NE(std::find(node.gpus.begin(), node.gpus.end(), gpu), node.gpus.end());
                for (const auto& [run, held] : node.runs) ASSERT_EQ(std::find(held.begin(), held.end(), gpu), held.end());
              }
              ASSERT_TRUE(node.runs.emplace(p.run, share.gpus).second);
            }
            waiting.erase(it);
          }
          if (waiting.empty()) break;
          const Demand& first = waiting.begin()->second;
          int fits = 0;
          for (const auto& [name, node] : truth) fits += node.open && static_cast<int>(node.runs.size()) < node.slots && node.Free() >= first.gpus;
          ASSERT_LT(fits, first.nodes) << "seed " << seed << " step " << step << ": " << first.run << " could run";
        }
      }
      ASSERT_EQ(index.waiting(), waiting.size());
    }
  }
}

// The first of the queue gets its nodes once what ran before it has ended, whatever arrives behind it.
TEST(Index, TheFirstOfTheQueueIsNeverStarved) {
  std::mt19937 random(7);
  for (int seed = 0; seed < 20; ++seed) {
    Index index = WithNodes(6, "t", 2, {0, 1});
    std::map<std::string, std::vector<std::string>> running;
    int64_t order = 0;
    auto decide = [&] {
      bool gang = false;
      for (const Placement& p : index.Decide(kNow)) {
        for (const Share& share : p.shares) running[p.run].push_back(share.node);
        gang = gang || p.run == "gang";
      }
      return gang;
    };
    for (int i = 0; i < 12; ++i) index.Wait({"before" + std::to_string(i), "t", 0, order++, static_cast<int>(random() % 2)});
    decide();
    Demand gang = Gang("gang", order++, 5);
    gang.gpus = 2;
    index.Wait(gang);
    bool placed = false;
    int ends = 0;
    for (; ends < 200 && !placed; ++ends) {
      index.Wait({"small" + std::to_string(ends), "t", 0, order++, static_cast<int>(random() % 2)});
      placed = decide();
      if (placed || running.empty()) continue;
      auto it = running.begin();
      std::advance(it, random() % running.size());
      for (const std::string& node : it->second) index.Release(node, it->first);
      running.erase(it);
    }
    EXPECT_TRUE(placed) << "seed " << seed;
  }
}

}  // namespace
}  // namespace ferry::scheduler
