#include "simulation/simulation.h"

#include <gtest/gtest.h>

namespace ferry::simulation {
namespace {

TEST(Simulation, ThousandsOfSeedsHold) {
  uint64_t crashes = 0, lost = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Outcome outcome = Simulate({.seed = seed});
    ASSERT_TRUE(outcome.ok) << outcome.violation << "\nreproduce: tools/simulate --seed " << seed << " --trace";
    crashes += outcome.crashes;
    lost += outcome.lost_messages;
  }
  // The faults were really there.
  EXPECT_GT(crashes, 10000u);
  EXPECT_GT(lost, 10000u);
}

TEST(Simulation, SameSeedSameStory) {
  for (uint64_t seed : {7u, 77u, 777u}) {
    Outcome a = Simulate({.seed = seed}), b = Simulate({.seed = seed});
    EXPECT_EQ(a.steps, b.steps);
    EXPECT_EQ(a.commits, b.commits);
    EXPECT_EQ(a.lost_messages, b.lost_messages);
  }
}

class Planted : public testing::TestWithParam<int> {};

TEST_P(Planted, IsCaughtWithinAThousandSeeds) {
  auto plant = static_cast<engine::Plant>(GetParam());
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Outcome outcome = Simulate({.seed = seed, .plant = plant});
    if (!outcome.ok) {
      RecordProperty("seed", static_cast<int>(seed));
      return;
    }
  }
  FAIL() << "nothing found " << engine::PlantName(plant);
}

INSTANTIATE_TEST_SUITE_P(EveryBug, Planted, testing::Range(1, engine::kPlantCount), [](const auto& info) {
  std::string name = engine::PlantName(static_cast<engine::Plant>(info.param));
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace ferry::simulation
