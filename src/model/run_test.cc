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

TEST(Run, WhatItNeedsSurvivesARoundTrip) {
  model::Run run = Sample();
  Environment needs;
  needs.name = "mine";
  needs.version = "3";
  needs.conda = {{"conda-forge"}, {"python=3.11"}, {"numpy==2.0"}};
  needs.docker.enabled = true;
  needs.docker.base_image = "base";
  needs.docker.registry_address = "host";
  needs.docker.registry_password = "sealed:1:00";
  run.spec.needs = needs;
  run.spec.environment_key = BuildKey(needs);
  run.spec.environment_note = "a note";
  run.spec.watch = {"a", "b/c"};
  run.spec.collect_outputs = run.spec.keep_snapshot = run.spec.auto_prepare = false;
  run.spec.run_configuration = "local";
  auto back = RunFromJson(*ParseJson(ToJson(run).Dump()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, run);
  run.spec.watch.clear();
  EXPECT_EQ(RunFromJson(ToJson(run))->spec.watch, std::vector<std::string>()) << "to watch nothing is not the default";

  Json view = RunView(run);
  EXPECT_EQ(view.Dump().find("sealed"), std::string::npos);
  EXPECT_EQ(view.Find("environment")->Dump(), Json::MakeObject({{"name", "mine"}, {"version", "3"}, {"key", BuildKey(needs)}, {"note", "a note"}}).Dump());
  EXPECT_FALSE(view.Find("spec")->GetBool("auto_prepare", true));
}

TEST(Run, OneOfAnEarlierVersionIsRead) {
  auto run = RunFromJson(*ParseJson(R"({"id":"r","attempts":[{"number":1,"phase":"Queued"}],"spec":{"command":["true"],"max_attempts":3}})"));
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(run->spec.needs);
  EXPECT_EQ(run->spec.watch, std::vector<std::string>{"logs"});
  EXPECT_TRUE(run->spec.collect_outputs && run->spec.keep_snapshot && run->spec.auto_prepare);
  EXPECT_EQ(RunView(*run).Find("environment"), nullptr);
  EXPECT_EQ(RunView(*run).Find("clocks"), nullptr);
}

TEST(Run, ADefinitionThatCannotBeReadIsNotForgotten) {
  auto run = RunFromJson(*ParseJson(R"({"id":"r","attempts":[{"number":1,"phase":"Queued"}],"spec":{"command":["true"],"needs":{"python":7}}})"));
  EXPECT_FALSE(run.ok());
}

TEST(Run, AttemptsStandInOrder) {
  EXPECT_TRUE(RunFromJson(*ParseJson(R"({"id":"r","attempts":[{"number":1,"phase":"Queued"},{"number":2,"phase":"Queued"}]})")).ok());
  EXPECT_FALSE(RunFromJson(*ParseJson(R"({"id":"r","attempts":[{"number":3,"phase":"Queued"}]})")).ok());
}

TEST(Run, ClocksAreShown) {
  model::Run run = Sample();
  run.spec.needs = Environment{};
  Attempt& a = run.attempts.back();
  EXPECT_TRUE(Record(a, {{"snapshot", Time{1}, Time{3}}, {"environment", Time{3}, {}}}, {}));
  EXPECT_FALSE(Record(a, {{"snapshot", Time{1}, Time{3}}}, {})) << "said again";
  EXPECT_TRUE(Record(a, {{"environment", Time{3}, Time{9}}}, {"built", 6e-6, "k", "l"}));
  EXPECT_FALSE(Record(a, {}, {})) << "nothing was said";
  ASSERT_EQ(a.clocks.size(), 2u);
  EXPECT_EQ(a.clocks[1].end, Time{9});
  auto back = RunFromJson(*ParseJson(ToJson(run).Dump()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, run);
  Json view = RunView(run);
  ASSERT_EQ(view.Find("clocks")->as_array().size(), 2u);
  EXPECT_EQ(view.Find("clocks")->as_array()[0].GetString("end"), FormatTime(Time{3}));
  EXPECT_EQ(view.Find("environment")->GetString("how"), "built");
  EXPECT_EQ(view.Find("environment")->GetString("lock"), "l");
}

TEST(Message, FactsRoundTripAndAreChecked) {
  Facts facts{{"r", 2}, {{"image", Time{5}, Time{6}}}, {"fetched", 1.5, "key", "lock"}, "linux-64"};
  auto back = FactsFromJson(*ParseJson(ToJson(facts).Dump()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->key, facts.key);
  EXPECT_EQ(back->clocks, facts.clocks);
  EXPECT_EQ(back->environment, facts.environment);
  for (const char* bad : {R"({"clocks":[]})", R"({"run":"r","clocks":[{"name":"lunch","start":1}]})", R"({"run":"r","clocks":[{"name":"start"}]})",
                          R"({"run":"r","clocks":[{"name":"start","start":5,"end":4}]})", R"({"run":"r","environment":{"how":"guessed"}})"})
    EXPECT_FALSE(FactsFromJson(*ParseJson(bad)).ok()) << bad;
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
  EXPECT_EQ(status(Stopping{lease, EndReason::kFailedByUser}), "Finalizing");
  EXPECT_EQ(status(Driven{}), "Running");
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

TEST(Run, AnInteractiveOneRunsFromItsBeginning) {
  model::Run run = Sample();
  run.spec.interactive = true;
  Attempt& a = run.attempts.back();
  a.phase = Driven{};
  a.entered = {};
  a.entered[a.phase.index()] = Time{10};
  EXPECT_EQ(StartedAt(run), Time{10});
  EXPECT_EQ(EndedAt(run), std::nullopt);
  Advance(a, FailAsked{"the data are gone", "NoData"}, Time{30});
  EXPECT_EQ(EndedAt(run), Time{30});
  EXPECT_EQ(EndText(run), "the run was failed by its user: the data are gone");
  EXPECT_EQ(RunView(run).Find("end")->GetString("code"), "NoData");
  auto stages = StagesOf(run);
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_STREQ(stages[0].name, "Running");
  EXPECT_EQ(stages[0].start, Time{10});
  EXPECT_EQ(stages[0].end, Time{30});
  auto back = RunFromJson(*ParseJson(ToJson(run).Dump()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, run);
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
