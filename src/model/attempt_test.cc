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
    case 5: return Stopping{kLease, EndReason::kPreempted, "", ""};
    case 6: return Driven{};
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
    case 9: return Vanished{};
    case 10: return Completed{};
    default: return FailAsked{"the loss is not a number", "nan"};
  }
}

// Written out a second time, by hand, so that a slip in the table is a difference here. Rows are phases, columns inputs in their order; '.' stays.
constexpr const char* kExpected[kPhaseCount] = {
    // PASXCFcegvof   Place Accepted Started Exited Collected PrepareFailed Cancel Evict GivenUp Vanished Completed Fail
    "1.....7....7",  // Queued
    ".234.7557..5",  // Placed
    "..34.75577.5",  // Preparing
    "...4..5577.5",  // Running
    "....7.5.77.5",  // Finalizing
    "....775.77.5",  // Stopping
    "......7...77",  // Driven
    "............",  // Ended
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
  for (EndReason why : {EndReason::kCanceled, EndReason::kPreempted, EndReason::kFailedByUser})
    for (size_t input : {4u, 5u, 8u, 9u}) {
      Attempt attempt;
      attempt.phase = Stopping{kLease, why, "words", "code"};
      ASSERT_TRUE(Advance(attempt, InputAt(input), Time{1}));
      EXPECT_EQ(attempt.phase, Phase(Ended({why, std::nullopt, "words", "code"})));
    }
}

TEST(Attempt, WhatAUserAsksForOutranksAnEvictionAndACancelEverything) {
  auto after = [](EndReason why, const AttemptInput& input) {
    Attempt attempt;
    attempt.phase = Stopping{kLease, why, "first", ""};
    Advance(attempt, input, Time{1});
    return std::get<Stopping>(attempt.phase);
  };
  EXPECT_EQ(after(EndReason::kPreempted, FailAsked{"said so", "c"}), (Stopping{kLease, EndReason::kFailedByUser, "said so", "c"}));
  EXPECT_EQ(after(EndReason::kFailedByUser, FailAsked{"again", ""}).detail, "first");
  EXPECT_EQ(after(EndReason::kCanceled, FailAsked{"late", ""}).why, EndReason::kCanceled);
  EXPECT_EQ(after(EndReason::kFailedByUser, CancelAsked{}).why, EndReason::kCanceled);
  EXPECT_EQ(after(EndReason::kPreempted, CancelAsked{}).why, EndReason::kCanceled);
}

TEST(Attempt, ADrivenOneEndsAsItsClientSays) {
  auto after = [](const AttemptInput& input) {
    Attempt attempt;
    attempt.phase = Driven{};
    EXPECT_TRUE(Advance(attempt, input, Time{1}));
    return std::get<Ended>(attempt.phase);
  };
  EXPECT_EQ(after(Completed{}), (Ended{EndReason::kCompletedByUser, std::nullopt, "", ""}));
  EXPECT_EQ(after(FailAsked{"why", "c"}), (Ended{EndReason::kFailedByUser, std::nullopt, "why", "c"}));
  EXPECT_EQ(after(CancelAsked{}), (Ended{EndReason::kCanceled, std::nullopt, "", ""}));
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
