#include "model/attempt.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"

namespace ferry::model {
namespace {

const Lease kLease{"n1", 3};

Phase PhaseAt(size_t index) {
  switch (index) {
    case 0: return Queued{};
    case 1: return Placed{kLease};
    case 2: return Preparing{kLease};
    case 3: return Running{kLease};
    case 4: return Finalizing{kLease, {7, 0, false, false, ""}};
    case 5: return Stopping{kLease, EndReason::kPreempted};
    default: return Ended{EndReason::kScriptFailed, Exit{7, 0, false, false, ""}, "exit status 7"};
  }
}

AttemptInput InputAt(size_t index) {
  switch (index) {
    case 0: return Place{kLease};
    case 1: return Accepted{};
    case 2: return Started{};
    case 3: return Exited{{0, 0, false, false, ""}};
    case 4: return Collected{};
    case 5: return PrepareFailed{EndReason::kPreparationFailed, "no such script"};
    case 6: return CancelAsked{};
    case 7: return EvictAsked{};
    case 8: return NodeGivenUp{};
    default: return Vanished{};
  }
}

// Written out a second time, by hand, so that a slip in the table is a difference here. Rows are phases, columns inputs in their order; '.' stays.
constexpr const char* kExpected[kPhaseCount] = {
    // PASXCFcegv   Place Accepted Started Exited Collected PrepareFailed Cancel Evict GivenUp Vanished
    "1.....6...",  // Queued
    ".234.6556.",  // Placed
    "..34.65566",  // Preparing
    "...4..5566",  // Running
    "....6.5.66",  // Finalizing
    "....665.66",  // Stopping
    "..........",  // Ended
};

TEST(Attempt, EveryPairOfPhaseAndInput) {
  for (size_t phase = 0; phase < kPhaseCount; ++phase)
    for (size_t input = 0; input < kInputCount; ++input) {
      SCOPED_TRACE(StrCat(PhaseName(phase), " x ", InputName(input)));
      Attempt attempt;
      attempt.phase = PhaseAt(phase);
      Attempt before = attempt;
      bool changed = Advance(attempt, InputAt(input), Time{1000});
      char expected = kExpected[phase][input];
      if (expected == '.') {
        EXPECT_FALSE(changed);
        EXPECT_EQ(attempt, before);
      } else {
        EXPECT_TRUE(changed);
        EXPECT_EQ(attempt.phase.index(), static_cast<size_t>(expected - '0'));
        if (attempt.phase.index() != phase) {
          EXPECT_EQ(attempt.entered[attempt.phase.index()], Time{1000});
        }
      }
    }
}

TEST(Attempt, EveryEdgeIsOnceInTheTable) {
  std::set<std::pair<size_t, size_t>> seen;
  for (const Edge& edge : Edges()) EXPECT_TRUE(seen.insert({edge.from, edge.input}).second);
}

TEST(Attempt, StoppingEndsForItsOwnReason) {
  for (EndReason why : {EndReason::kCanceled, EndReason::kPreempted})
    for (size_t input : {4u, 5u, 8u, 9u}) {
      Attempt attempt;
      attempt.phase = Stopping{kLease, why};
      ASSERT_TRUE(Advance(attempt, InputAt(input), Time{1}));
      EXPECT_EQ(std::get<Ended>(attempt.phase).reason, why);
    }
}

TEST(Attempt, ExitsAreToldApart) {
  EXPECT_EQ(ReasonOf({0, 0, false, false, ""}), EndReason::kSucceeded);
  EXPECT_EQ(ReasonOf({3, 0, false, false, ""}), EndReason::kScriptFailed);
  EXPECT_EQ(ReasonOf({0, 0, false, false, "said so"}), EndReason::kScriptFailed);
  EXPECT_EQ(ReasonOf({0, 11, false, false, ""}), EndReason::kScriptKilled);
  EXPECT_EQ(ReasonOf({0, 9, true, false, ""}), EndReason::kOutOfMemory);
  EXPECT_EQ(ReasonOf({0, 15, false, true, ""}), EndReason::kTimedOut);
}

TEST(Attempt, JsonRoundTripOfEveryPhase) {
  for (size_t phase = 0; phase < kPhaseCount; ++phase) {
    Attempt attempt;
    attempt.number = 4;
    attempt.phase = PhaseAt(phase);
    attempt.entered[phase] = Time{123456};
    attempt.gpus = {0, 3};
    auto back = AttemptFromJson(*ParseJson(ToJson(attempt).Dump()));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, attempt);
  }
  EXPECT_FALSE(AttemptFromJson(*ParseJson(R"({"phase":"Dreaming"})")).ok());
}

TEST(Reason, TableIsWhole) {
  std::set<std::string> names;
  EXPECT_EQ(ReasonTable().size(), static_cast<size_t>(kEndReasonCount));
  for (int i = 0; i < kEndReasonCount; ++i) {
    const ReasonRow& row = Describe(static_cast<EndReason>(i));
    EXPECT_TRUE(IsTerminal(row.status)) << row.name;
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_EQ(ReasonFromName(row.name), static_cast<EndReason>(i));
  }
}

TEST(Attempt, DocumentedStatesAreTheTables) {
  std::ifstream file(std::string(FERRY_SOURCE_DIR) + "/docs/internals/run-states.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), StateDiagram()) << "bless with: tools/bless";
}

}  // namespace
}  // namespace ferry::model
