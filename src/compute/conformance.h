// What every NodeProvider and every BatchSystem must do. Instantiate with a factory per implementation.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "compute/batch_system.h"
#include "compute/node_provider.h"

namespace ferry::compute {

inline CallContext Soon() { return {std::chrono::steady_clock::now() + std::chrono::seconds(30), {}}; }

class NodeProviderConformance : public testing::TestWithParam<std::function<std::unique_ptr<NodeProvider>()>> {};

TEST_P(NodeProviderConformance, CreateIsIdempotentAndListed) {
  auto provider = GetParam()();
  ASSERT_TRUE(provider->Create("a-1", Soon()).ok());
  ASSERT_TRUE(provider->Create("a-1", Soon()).ok());
  ASSERT_TRUE(provider->Create("a-2", Soon()).ok());
  auto nodes = provider->List(Soon());
  ASSERT_TRUE(nodes.ok());
  std::sort(nodes->begin(), nodes->end());
  EXPECT_EQ(*nodes, (std::vector<std::string>{"a-1", "a-2"}));
}

TEST_P(NodeProviderConformance, DestroyRemovesAndUnknownIsSuccess) {
  auto provider = GetParam()();
  ASSERT_TRUE(provider->Create("a-1", Soon()).ok());
  ASSERT_TRUE(provider->Destroy("a-1", Soon()).ok());
  ASSERT_TRUE(provider->Destroy("a-1", Soon()).ok());
  ASSERT_TRUE(provider->Destroy("never-there", Soon()).ok());
  EXPECT_TRUE(provider->List(Soon())->empty());
}

class BatchSystemConformance : public testing::TestWithParam<std::function<std::unique_ptr<BatchSystem>()>> {};

TEST_P(BatchSystemConformance, LaunchIsIdempotentOnTheAttempt) {
  auto system = GetParam()();
  auto first = system->Launch({"run", "t.run.1"}, Soon());
  auto again = system->Launch({"run", "t.run.1"}, Soon());
  auto other = system->Launch({"run~2", "t.run.2"}, Soon());
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *other);
}

TEST_P(BatchSystemConformance, PollKeepsOrderAndForgottenIsGone) {
  auto system = GetParam()();
  auto handle = system->Launch({"run", "t.run.1"}, Soon());
  ASSERT_TRUE(handle.ok());
  std::vector<Handle> handles = {"nothing-such", *handle};
  auto states = system->Poll(handles, Soon());
  ASSERT_TRUE(states.ok());
  ASSERT_EQ(states->size(), 2u);
  EXPECT_EQ((*states)[0], JobState::kGone);
  EXPECT_NE((*states)[1], JobState::kGone);
}

TEST_P(BatchSystemConformance, StopEndsItAndUnknownIsSuccess) {
  auto system = GetParam()();
  auto handle = system->Launch({"run", "t.run.1"}, Soon());
  ASSERT_TRUE(handle.ok());
  ASSERT_TRUE(system->Stop("run", Soon()).ok());
  ASSERT_TRUE(system->Stop("run", Soon()).ok());
  ASSERT_TRUE(system->Stop("unknown", Soon()).ok());
  std::vector<Handle> handles = {*handle};
  EXPECT_EQ(system->Poll(handles, Soon())->at(0), JobState::kGone);
  EXPECT_TRUE(system->List(Soon())->empty());
}

}  // namespace ferry::compute
