#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>

#include "base/text.h"
#include "store/memory/memory_store.h"

namespace ferry::engine {
namespace {

// A memory store whose commits can be held up, counted and made to fail.
class SlowStore : public store::Store {
 public:
  SlowStore() : inner_(store::OpenMemoryStore(Tables())) {}
  Result<void> Commit(std::span<const store::Change> changes) override {
    ++commits;
    if (hold.load()) {
      held.count_down();
      go.get_future().wait();
    }
    if (fail.load()) return MakeError(Code::kExhausted, "store.full", "the disk is full");
    return inner_->Commit(changes);
  }
  Result<std::optional<store::Document>> Get(std::string_view table, std::string_view key) override { return inner_->Get(table, key); }
  Result<store::Page> Find(const store::Query& query) override { return inner_->Find(query); }
  Result<std::vector<std::pair<store::Value, int64_t>>> Count(const store::Query& query, const std::string& group) override {
    return inner_->Count(query, group);
  }
  Result<std::vector<store::Attribute>> Attributes(std::string_view table, std::string_view key, std::string_view kind) override {
    return inner_->Attributes(table, key, kind);
  }

  std::atomic<int> commits{0};
  std::atomic<bool> hold{false};
  std::atomic<bool> fail{false};
  std::latch held{1};
  std::promise<void> go;

 private:
  std::unique_ptr<store::Store> inner_;
};

model::Run RunNamed(const std::string& id) {
  model::Run run;
  run.id = id;
  run.workspace = "default";
  run.experiment = "e";
  run.spec.command = {"true"};
  run.request = "digest of " + id;
  return run;
}

class EngineTest : public testing::Test {
 protected:
  void SetUp() override {
    Start();
    ASSERT_TRUE(engine_->DoAndWait(CreateWorkspace{{"default", "", "", {}, {}}, true}).ok());
  }
  void Start() {
    Hooks hooks;
    hooks.tell = [this](const std::string& node, const model::AgentMessage& message) {
      std::lock_guard lock(mutex_);
      told_.push_back(StrCat(node, " ", model::ToJson(message).GetString("type"), " ", model::ToJson(message).GetString("run")));
    };
    hooks.run_changed = [this](const std::string& run, bool terminal) {
      std::lock_guard lock(mutex_);
      changed_.push_back(StrCat(run, terminal ? " ended" : ""));
    };
    hooks.access_changed = [this] { ++access_changes_; };
    auto engine = Engine::Start(store_, {}, std::move(hooks));
    ASSERT_TRUE(engine.ok());
    engine_ = std::move(*engine);
  }
  model::Hello HelloOf(int64_t sequence, int64_t generation = 0) {
    model::Hello hello;
    hello.node = hello.target = "local";
    hello.generation = generation;
    hello.slots = 2;
    hello.session = 1;
    hello.sequence = sequence;
    return hello;
  }
  AgentReport ReportOf(int64_t sequence, const std::string& run, model::AttemptInput input) {
    AgentReport report;
    report.node = "local";
    report.generation = 1;
    report.session = 1;
    report.sequence = sequence;
    report.events.push_back({{run, 1}, std::move(input)});
    return report;
  }
  std::string StatusInStore(const std::string& id) {
    auto document = store_.Get("run", id);
    if (!document.ok() || !*document) return "none";
    return model::StatusName(model::StatusOf(*RunFromDocument(**document)));
  }
  std::string StatusInMemory(const std::string& id) {
    std::string status = "none";
    engine_->Look([&](const Core& core) {
      if (auto it = core.live().find(id); it != core.live().end()) status = model::StatusName(model::StatusOf(it->second));
    });
    return status;
  }

  SlowStore store_;
  std::mutex mutex_;
  std::vector<std::string> told_, changed_;
  std::atomic<int> access_changes_{0};
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, InputsThatWaitTogetherShareOneCommit) {
  int before = store_.commits;
  store_.hold = true;
  engine_->Do(Submit{RunNamed("first")}, [](const Result<Json>&) {});
  store_.held.wait();
  store_.hold = false;
  constexpr int kRuns = 200;
  std::latch answered(kRuns);
  std::atomic<int> durable{0};
  for (int i = 0; i < kRuns; ++i)
    engine_->Do(Submit{RunNamed(StrCat("r", i))}, [&, i](const Result<Json>& result) {
      durable += result.ok() && StatusInStore(StrCat("r", i)) == "Queued";
      answered.count_down();
    });
  EXPECT_EQ(engine_->counts().queued, static_cast<size_t>(kRuns));
  store_.go.set_value();
  answered.wait();
  EXPECT_EQ(durable, kRuns) << "an answer was given before its commit";
  EXPECT_EQ(store_.commits - before, 2);
  EXPECT_EQ(engine_->counts().live, static_cast<size_t>(kRuns) + 1);
}

TEST_F(EngineTest, AFailedCommitAnswersEverybodyAndLeavesNothing) {
  store_.fail = true;
  auto refused = engine_->DoAndWait(Submit{RunNamed("r")});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().slug, "store.full");
  EXPECT_EQ(StatusInMemory("r"), "none");
  EXPECT_EQ(engine_->counts().failed_commits, 1u);
  {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(changed_.empty()) << "nobody hears of what was not committed";
  }
  store_.fail = false;
  auto accepted = engine_->DoAndWait(Submit{RunNamed("r")});
  ASSERT_TRUE(accepted.ok());
  EXPECT_TRUE(accepted->GetBool("created"));
  EXPECT_EQ(accepted->GetInt("number"), 1) << "the failed one took no number";
}

TEST_F(EngineTest, AFailedCommitInTheMiddleLeavesMemoryEqualToTheStore) {
  ASSERT_TRUE(engine_->DoAndWait(AgentHello{HelloOf(1)}).ok());
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("r")}).ok());
  EXPECT_EQ(StatusInStore("r"), "Starting");
  ASSERT_TRUE(engine_->LeaseFor({"r", 1}));
  store_.fail = true;
  EXPECT_FALSE(engine_->DoAndWait(ReportOf(2, "r", model::Accepted{})).ok());
  EXPECT_FALSE(engine_->DoAndWait(Cancel{"r"}).ok());
  EXPECT_EQ(StatusInStore("r"), "Starting");
  EXPECT_EQ(StatusInMemory("r"), "Starting");
  EXPECT_TRUE(engine_->LeaseFor({"r", 1})) << "the lease is the committed one";
  store_.fail = false;
  ASSERT_TRUE(engine_->DoAndWait(ReportOf(4, "r", model::Accepted{})).ok()) << "said again, it is taken";
  EXPECT_EQ(StatusInStore("r"), "Preparing");
}

TEST_F(EngineTest, ALifeFromSubmissionToTheEnd) {
  ASSERT_TRUE(engine_->DoAndWait(AgentHello{HelloOf(1)}).ok());
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("r")}).ok());
  int64_t sequence = 2;
  for (const auto& [input, status] : std::vector<std::pair<model::AttemptInput, std::string>>{{model::Accepted{}, "Preparing"},
                                                                                              {model::Started{}, "Running"},
                                                                                              {model::Exited{{3, 0, false, false, ""}}, "Finalizing"},
                                                                                              {model::Collected{}, "Failed"}}) {
    ASSERT_TRUE(engine_->DoAndWait(ReportOf(sequence++, "r", input)).ok());
    EXPECT_EQ(StatusInStore("r"), status);
  }
  EXPECT_FALSE(engine_->LeaseFor({"r", 1})) << "ended: nobody may write";
  EXPECT_EQ(engine_->DoAndWait(Cancel{"r"}).error().slug, "run.ended");
  EXPECT_EQ(engine_->DoAndWait(ReportOf(2, "r", model::Started{})).error().slug, "agent.stale");
  std::lock_guard lock(mutex_);
  EXPECT_EQ(told_, (std::vector<std::string>{"local assign r", "local forget r"}));
  EXPECT_EQ(changed_.back(), "r ended");
}

TEST_F(EngineTest, ARestartGoesOnWithWhatIsCommitted) {
  ASSERT_TRUE(engine_->DoAndWait(AgentHello{HelloOf(1)}).ok());
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("r")}).ok());
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("waiting1")}).ok());
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("waiting2")}).ok());
  engine_.reset();
  told_.clear();
  Start();
  EXPECT_EQ(engine_->counts().live, 3u);
  EXPECT_TRUE(engine_->LeaseFor({"r", 1}));
  EXPECT_FALSE(engine_->LeaseFor({"waiting2", 1}));
  model::Hello hello = HelloOf(1, 1);
  hello.session = 2;
  hello.inventory = {{"r", 1}, {"waiting1", 1}};
  ASSERT_TRUE(engine_->DoAndWait(AgentHello{hello}).ok());
  std::lock_guard lock(mutex_);
  EXPECT_EQ(told_, (std::vector<std::string>{"local assign r", "local assign waiting1"})) << "what is wanted is said again";
}

TEST_F(EngineTest, TheSameSubmissionTwiceIsOneRun) {
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("r")})->GetBool("created"));
  auto again = engine_->DoAndWait(Submit{RunNamed("r")});
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->GetBool("created"));
  model::Run other = RunNamed("r");
  other.request = "another";
  EXPECT_EQ(engine_->DoAndWait(Submit{other}).error().slug, "run.exists");
  model::Run lost = RunNamed("s");
  lost.workspace = "nowhere";
  EXPECT_EQ(engine_->DoAndWait(Submit{lost}).error().slug, "workspace.not_found");
}

TEST_F(EngineTest, TheLastOwnerStaysAlsoWithinOneBatch) {
  ASSERT_TRUE(engine_->DoAndWait(AddUser{{"ann", model::Role::kOwner, {}}}).ok());
  ASSERT_TRUE(engine_->DoAndWait(AddUser{{"bob", model::Role::kOwner, {}}}).ok());
  EXPECT_EQ(access_changes_, 2);
  // Held up by one commit, both removals are applied before either is in the store.
  store_.hold = true;
  engine_->Do(Submit{RunNamed("first")}, [](const Result<Json>&) {});
  store_.held.wait();
  store_.hold = false;
  std::promise<Result<Json>> first, second, third;
  engine_->Do(RemoveUser{"ann"}, [&](Result<Json> r) { first.set_value(std::move(r)); });
  engine_->Do(RemoveUser{"bob"}, [&](Result<Json> r) { second.set_value(std::move(r)); });
  engine_->Do(AddUser{{"ann", model::Role::kReader, {}}}, [&](Result<Json> r) { third.set_value(std::move(r)); });
  store_.go.set_value();
  EXPECT_TRUE(first.get_future().get().ok());
  auto refused = second.get_future().get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().slug, "user.last_owner");
  EXPECT_TRUE(third.get_future().get().ok()) << "a removed name is free again";
  EXPECT_TRUE((*store_.Get("user", "ann")).has_value());
}

TEST_F(EngineTest, PropertiesAreImmutableTagsAreNot) {
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("r")}).ok());
  Update update;
  update.run = "r";
  update.set_tags = {{"a", "1"}};
  update.add_properties = {{"p", "1"}};
  ASSERT_TRUE(engine_->DoAndWait(update).ok());
  update.set_tags = {{"a", "2"}};
  ASSERT_TRUE(engine_->DoAndWait(update).ok());
  update.add_properties = {{"p", "2"}};
  update.set_tags = {{"a", "3"}};
  EXPECT_EQ(engine_->DoAndWait(update).error().slug, "property.immutable");
  engine_->Look([](const Core& core) {
    EXPECT_EQ(core.live().at("r").tags.at("a"), "2") << "a refused update changes nothing";
    EXPECT_EQ(core.live().at("r").properties.at("p"), "1");
  });
}

TEST_F(EngineTest, AnInteractiveRunIsItsClientsAlone) {
  model::Run run = RunNamed("i");
  run.spec = {};
  run.spec.interactive = true;
  ASSERT_TRUE(engine_->DoAndWait(AgentHello{HelloOf(1)}).ok());
  EXPECT_EQ(engine_->DoAndWait(Submit{run})->GetString("status"), "Running");
  EXPECT_EQ(engine_->DoAndWait(Evict{"i"}).error().slug, "run.not_placed");
  // Neither the end of the server nor that of every node touches it.
  engine_.reset();
  Start();
  EXPECT_EQ(StatusInMemory("i"), "Running");
  ASSERT_TRUE(engine_->DoAndWait(AgentHello{HelloOf(1)}).ok());
  {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(told_.empty()) << told_[0];
  }
  EXPECT_EQ(engine_->DoAndWait(Complete{"i"})->GetString("status"), "Completed");
  EXPECT_EQ(engine_->DoAndWait(Complete{"i"})->GetString("status"), "Completed") << "the same end again";
  EXPECT_EQ(engine_->DoAndWait(Fail{"i", "late"}).error().slug, "run.ended");
  EXPECT_EQ(engine_->DoAndWait(Cancel{"i"}).error().slug, "run.ended");
  EXPECT_EQ(engine_->counts().live, 0u);
}

TEST_F(EngineTest, AFailureThatAUserSaysIsNotTriedAgain) {
  ASSERT_TRUE(engine_->DoAndWait(AgentHello{HelloOf(1)}).ok());
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("r")}).ok());
  EXPECT_EQ(engine_->DoAndWait(Complete{"r"}).error().slug, "run.not_interactive");
  ASSERT_TRUE(engine_->DoAndWait(ReportOf(2, "r", model::Started{})).ok());
  ASSERT_TRUE(engine_->DoAndWait(Evict{"r"}).ok());
  EXPECT_EQ(engine_->DoAndWait(Fail{"r", "wrong data", "Data"})->GetString("status"), "Finalizing");
  EXPECT_EQ(engine_->DoAndWait(Fail{"r", "again"})->GetString("status"), "Finalizing");
  ASSERT_TRUE(engine_->DoAndWait(ReportOf(3, "r", model::Collected{})).ok());
  auto document = store_.Get("run", "r");
  model::Run run = *RunFromDocument(**document);
  EXPECT_EQ(run.attempts.size(), 1u);
  EXPECT_EQ(run.attempt().phase, model::Phase(model::Ended{model::EndReason::kFailedByUser, std::nullopt, "wrong data", "Data"}));
  EXPECT_EQ(engine_->DoAndWait(Fail{"r", "again"})->GetString("status"), "Failed");
  // One that waits for a node has nobody to stop, and what is being canceled is not failed.
  ASSERT_TRUE(engine_->DoAndWait(Submit{RunNamed("s")}).ok());
  ASSERT_TRUE(engine_->DoAndWait(Cancel{"s"}).ok());
  EXPECT_EQ(engine_->DoAndWait(Fail{"s", "late"}).error().slug, "run.canceled");
  model::Run nowhere = RunNamed("n");
  nowhere.target = "nowhere";
  EXPECT_EQ(engine_->DoAndWait(Submit{nowhere}).error().slug, "target.not_found");
  model::TargetRecord target;
  target.workspace = "default";
  target.name = "nowhere";
  ASSERT_TRUE(engine_->DoAndWait(CreateTarget{target}).ok());
  ASSERT_TRUE(engine_->DoAndWait(Submit{nowhere}).ok());
  EXPECT_EQ(engine_->DoAndWait(Fail{"n", "no"})->GetString("status"), "Failed");
}

}  // namespace
}  // namespace ferry::engine
