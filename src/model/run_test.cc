#include "model/run.h"

#include <gtest/gtest.h>

#include "model/message.h"

namespace ferry::model {
namespace {

Run Sample() {
  Run run;
  run.id = "e_1_ab";
  run.workspace = "default";
  run.experiment = "e";
  run.number = 7;
  run.spec.script = "train.py";
  run.spec.arguments = {"--lr", "0.1", "--name=x", "--flag", "--n", "$HOME"};
  run.spec.environment = {{"A", "b"}};
  run.tags = {{"team", "a"}};
  run.properties = {{"p", "q"}};
  run.created = Time{1'000'000};
  run.attempts.push_back({});
  return run;
}

TEST(Run, JsonRoundTrip) {
  model::Run run = Sample();
  run.cancel_asked = Time{5};
  run.archived = true;
  auto back = RunFromJson(*ParseJson(ToJson(run).Dump()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, run);
}

TEST(Run, StatusFollowsThePhase) {
  model::Run run = Sample();
  Lease lease{"local", 1};
  auto status = [&](Phase phase) {
    run.attempts.back().phase = std::move(phase);
    return std::string(StatusName(StatusOf(run)));
  };
  EXPECT_EQ(status(Queued{}), "Queued");
  EXPECT_EQ(status(Placed{lease}), "Starting");
  EXPECT_EQ(status(Preparing{lease}), "Preparing");
  EXPECT_EQ(status(Running{lease}), "Running");
  EXPECT_EQ(status(Finalizing{lease, {}}), "Finalizing");
  EXPECT_EQ(status(Stopping{lease, EndReason::kCanceled}), "CancelRequested");
  EXPECT_EQ(status(Stopping{lease, EndReason::kPreempted}), "Queued");
  EXPECT_EQ(status(Ended{EndReason::kSucceeded, {}, {}}), "Completed");
  EXPECT_EQ(status(Ended{EndReason::kNodeLost, {}, {}}), "NotResponding");
  EXPECT_EQ(status(Ended{EndReason::kCanceled, {}, {}}), "Canceled");
}

TEST(Run, StagesHaveClocksAndCauses) {
  model::Run run = Sample();
  Attempt& a = run.attempts.back();
  a.entered[0] = Time{1};
  Advance(a, Place{{"n", 1}}, Time{10});
  Advance(a, Accepted{}, Time{20});
  Advance(a, Started{}, Time{30});
  auto stages = StagesOf(run);
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_STREQ(stages[0].name, "Scaling");
  EXPECT_EQ(stages[0].end, Time{10});
  EXPECT_STREQ(stages[1].name, "Preparing");
  EXPECT_EQ(stages[1].end, Time{30});
  EXPECT_STREQ(stages[2].name, "Running");
  EXPECT_EQ(stages[2].end, Time{});
  Advance(a, Exited{{}}, Time{40});
  Advance(a, Collected{}, Time{50});
  stages = StagesOf(run);
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_EQ(stages[2].end, Time{40});
  EXPECT_STREQ(stages[3].name, "Post-Processing");
  EXPECT_EQ(stages[3].end, Time{50});
}

TEST(Run, ParametersComeFromArguments) {
  auto parameters = ParametersOf(Sample().spec);
  EXPECT_EQ(parameters.at("lr"), "0.1");
  EXPECT_EQ(parameters.at("name"), "x");
  EXPECT_EQ(parameters.at("flag"), "true");
  EXPECT_EQ(parameters.at("n"), "$HOME");
}

TEST(Run, NamesAreChecked) {
  EXPECT_TRUE(CheckName("experiment", "my-exp_1.2").ok());
  for (const char* bad : {"", "../x", "a/b", "-a", "a b", "a..b", "\n"}) EXPECT_FALSE(CheckName("experiment", bad).ok()) << bad;
  EXPECT_FALSE(CheckName("experiment", std::string(256, 'a')).ok());
}

TEST(Message, RoundTrips) {
  Assign assign{{"r", 2}, 5, "e", "w", "t", Sample().spec, {1}};
  auto back = MessageFromJson(ToJson(AgentMessage(assign)));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::get<Assign>(*back).spec, assign.spec);
  EXPECT_EQ(std::get<Assign>(*back).key, assign.key);
  auto event = EventFromJson(ToJson(AgentEvent{{"r", 1}, Exited{{3, 0, false, false, "m"}}}));
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(std::get<Exited>(event->input).exit.code, 3);
  EXPECT_FALSE(EventFromJson(*ParseJson(R"({"run":"r","event":"NodeGivenUp"})")).ok());
  Hello hello{"n", "local", 3, 2, {0, 1}, {{"r", 2}}, 9, 10};
  auto h = HelloFromJson(ToJson(hello));
  ASSERT_TRUE(h.ok());
  EXPECT_EQ(h->inventory, hello.inventory);
  EXPECT_EQ(h->sequence, 10);
  EXPECT_FALSE(HelloFromJson(*ParseJson(R"({"node":"../x","target":"local"})")).ok());
}

}  // namespace
}  // namespace ferry::model
