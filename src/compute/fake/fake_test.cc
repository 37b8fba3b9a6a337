#include "compute/fake/fake.h"

#include "compute/conformance.h"

namespace ferry::compute {

INSTANTIATE_TEST_SUITE_P(Fake, NodeProviderConformance, testing::Values([] { return std::make_unique<FakeNodeProvider>(); }));
INSTANTIATE_TEST_SUITE_P(Fake, BatchSystemConformance, testing::Values([] { return std::make_unique<FakeBatchSystem>(); }));

TEST(Fake, RefusesWhenTold) {
  FakeNodeProvider provider;
  provider.refuses = [] { return true; };
  EXPECT_FALSE(provider.Create("a", Soon()).ok());
  FakeBatchSystem system;
  system.refuses = [] { return true; };
  EXPECT_FALSE(system.Launch({"run", "n"}, Soon()).ok());
}

TEST(Fake, AJobBeginsOnceAndSaysWhyItEnded) {
  FakeBatchSystem system;
  auto handle = system.Launch({"run", "n"}, Soon());
  EXPECT_TRUE(system.Begin("run"));
  EXPECT_FALSE(system.Begin("run"));
  system.End("run", "out of memory");
  EXPECT_EQ(*system.ReadLog(*handle, Soon()), "out of memory");
}

}  // namespace ferry::compute
