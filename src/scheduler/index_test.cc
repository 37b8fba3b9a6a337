#include "scheduler/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ferry::scheduler {
namespace {

std::string Show(const std::vector<Placement>& placements) {
  std::string out;
  for (const Placement& p : placements) {
    out += (out.empty() ? "" : " ") + p.run + "@" + p.node;
    for (int gpu : p.gpus) out += ":" + std::to_string(gpu);
  }
  return out;
}

void Take(Index& index, const std::vector<Placement>& placements) {
  for (const Placement& p : placements) {
    index.Unwait(p.run);
    index.Occupy(p.node, p.run, p.gpus);
  }
}

TEST(Index, FirstComeFirstServedWithinSlots) {
  Index index;
  index.SetNode({"n", "local", 2, {}});
  index.SetOpen("n", true);
  for (int i = 3; i >= 1; --i) index.Wait({"r" + std::to_string(i), "local", 0, i, 0});
  EXPECT_EQ(Show(index.Decide()), "r1@n r2@n");
  EXPECT_EQ(Show(index.Decide()), "r1@n r2@n") << "deciding changes nothing";
  Take(index, index.Decide());
  EXPECT_EQ(index.held("n"), 2u);
  EXPECT_TRUE(index.Decide().empty());
  EXPECT_EQ(index.Explain("r3"), "all 2 slot(s) of 'local' are in use and 0 run(s) are ahead of it");
  index.Release("n", "r1");
  EXPECT_EQ(Show(index.Decide()), "r3@n");
}

TEST(Index, PriorityGoesFirst) {
  Index index;
  index.SetNode({"n", "local", 1, {}});
  index.SetOpen("n", true);
  index.Wait({"early", "local", 0, 1, 0});
  index.Wait({"urgent", "local", 5, 2, 0});
  EXPECT_EQ(Show(index.Decide()), "urgent@n");
  index.Wait({"urgent", "local", -5, 2, 0});  // said again: replaced
  EXPECT_EQ(index.waiting(), 2u);
  EXPECT_EQ(Show(index.Decide()), "early@n");
}

TEST(Index, TargetsDoNotMeet) {
  Index index;
  index.SetNode({"a", "one", 1, {}});
  index.SetNode({"b", "two", 1, {}});
  index.SetOpen("a", true);
  index.SetOpen("b", true);
  index.Wait({"r1", "two", 0, 1, 0});
  index.Wait({"r2", "two", 0, 2, 0});
  index.Wait({"r3", "three", 0, 3, 0});
  EXPECT_EQ(Show(index.Decide()), "r1@b");
  EXPECT_EQ(index.Explain("r3"), "no node of 'three' has connected yet");
  index.SetNode({"b", "one", 1, {}});  // moved
  EXPECT_TRUE(index.Decide().empty());
}

TEST(Index, ClosedNodesGetNothingAndKeepWhatTheyHave) {
  Index index;
  index.Occupy("n", "old", {1});  // known from the store before its node said hello
  index.SetNode({"n", "local", 2, {0, 1}});
  index.Wait({"r", "local", 0, 1, 1});
  EXPECT_TRUE(index.Decide().empty());
  EXPECT_EQ(index.Explain("r"), "no node of 'local' is connected");
  index.SetOpen("n", true);
  EXPECT_EQ(Show(index.Decide()), "r@n:0");
  index.SetOpen("n", false);
  EXPECT_TRUE(index.Decide().empty());
  EXPECT_EQ(index.held("n"), 1u);
}

TEST(Index, GpusAreGivenOnce) {
  Index index;
  index.SetNode({"n", "local", 8, {0, 1, 2}});
  index.SetOpen("n", true);
  index.Wait({"a", "local", 0, 1, 2});
  index.Wait({"b", "local", 0, 2, 2});
  index.Wait({"c", "local", 0, 3, 0});
  EXPECT_EQ(Show(index.Decide()), "a@n:0:1") << "b holds back c: nobody overtakes";
  Take(index, index.Decide());
  EXPECT_EQ(index.Explain("b"), "it waits for 2 free GPU(s) on one node of 'local'");
  EXPECT_EQ(index.Explain("c"), "1 run(s) are ahead of it on 'local'");
  index.Release("n", "a");
  EXPECT_EQ(Show(index.Decide()), "b@n:0:1 c@n");
  index.Wait({"d", "local", 9, 4, 4});
  EXPECT_EQ(index.Explain("d"), "it needs 4 GPU(s) on one node and the largest node of 'local' has 3");
}

TEST(Index, UnknownThingsAreIgnored) {
  Index index;
  index.Unwait("x");
  index.Release("x", "y");
  EXPECT_EQ(index.Explain("x"), "");
  EXPECT_EQ(index.held("x"), 0u);
  EXPECT_FALSE(index.Find("x"));
  EXPECT_TRUE(index.Decide().empty());
}

// Random life: never more runs than slots, never a device twice, never a run twice, and who waits longest with room gets it.
TEST(Index, InvariantsUnderRandomChange) {
  std::mt19937 random(1);
  for (int seed = 0; seed < 50; ++seed) {
    Index index;
    struct NodeTruth {
      int slots;
      std::vector<int> gpus;
      bool open;
      std::map<std::string, std::vector<int>> runs;
    };
    std::map<std::string, NodeTruth> truth;
    int next = 0;
    for (int step = 0; step < 300; ++step) {
      switch (random() % 4) {
        case 0: {
          std::string name = "n" + std::to_string(random() % 4);
          NodeTruth& node = truth[name];
          node.slots = 1 + static_cast<int>(random() % 4);
          node.gpus.clear();
          for (int g = 0; g < static_cast<int>(random() % 4); ++g) node.gpus.push_back(g);
          node.open = random() % 4 != 0;
          index.SetNode({name, "t", node.slots, node.gpus});
          index.SetOpen(name, node.open);
          break;
        }
        case 1: {
          int id = next++;
          index.Wait({"r" + std::to_string(id), "t", static_cast<int>(random() % 3), id, static_cast<int>(random() % 3)});
          break;
        }
        case 2:
          for (auto& [name, node] : truth)
            if (!node.runs.empty()) {
              index.Release(name, node.runs.begin()->first);
              node.runs.erase(node.runs.begin());
              break;
            }
          break;
        default: {
          auto placements = index.Decide();
          for (const Placement& p : placements) {
            NodeTruth& node = truth.at(p.node);
            ASSERT_TRUE(node.open);
            ASSERT_LT(static_cast<int>(node.runs.size()), node.slots);
            for (int gpu : p.gpus) {
              ASSERT_NE(std::find(node.gpus.begin(), node.gpus.end(), gpu), node.gpus.end());
              for (const auto& [run, held] : node.runs) ASSERT_EQ(std::find(held.begin(), held.end(), gpu), held.end());
            }
            ASSERT_TRUE(node.runs.emplace(p.run, p.gpus).second);
          }
          Take(index, placements);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ferry::scheduler
