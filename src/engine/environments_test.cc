// The registry and what nodes say of preparation, on the core without its thread.
#include <gtest/gtest.h>

#include "base/text.h"
#include "engine/core.h"
#include "store/memory/memory_store.h"

namespace ferry::engine {
namespace {

class RegistryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(core_.Recover(Time{1}).ok());
    Good(CreateWorkspace{{"default", "", "", {}, {}}, true});
  }
  Result<Json> Do(const Input& input) {
    auto result = core_.Apply(input, now_);
    EXPECT_TRUE(core_.Commit(now_).ok());
    now_ = now_ + std::chrono::seconds(1);
    return result;
  }
  Json Good(const Input& input) {
    auto result = Do(input);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? *result : Json();
  }
  static model::EnvironmentRecord Record(const std::string& name, std::vector<std::string> pip, const std::string& password = "") {
    model::EnvironmentRecord record;
    record.workspace = "default";
    record.name = name;
    record.definition.conda.pip = std::move(pip);
    record.definition.docker.registry_address = "host";
    record.definition.docker.registry_password = password;
    record.hash = model::DefinitionHash(record.definition);
    record.key = model::BuildKey(record.definition);
    return record;
  }
  std::string Registered(const std::string& name, std::vector<std::string> pip) {
    Json reply = Good(RegisterEnvironment{Record(name, std::move(pip))});
    return StrCat(reply.GetString("version"), reply.GetBool("created") ? " new" : "");
  }
  std::optional<model::EnvironmentRecord> Stored(const std::string& name, int64_t version) {
    auto document = store_->Get("environment", EnvironmentKey("default", name, version));
    if (!document.ok() || !*document) return std::nullopt;
    return *model::EnvironmentRecordFromJson(*ParseJson((*document)->body));
  }
  model::Run RunNamed(const std::string& id) {
    model::Run run;
    run.id = id;
    run.workspace = "default";
    run.experiment = "e";
    run.spec.command = {"true"};
    run.request = id;
    return run;
  }
  // A run that node "local" holds.
  void Place(const std::string& id) {
    model::Hello hello;
    hello.node = hello.target = "local";
    hello.slots = 9;
    hello.session = 1;
    hello.sequence = ++sequence_;
    Good(AgentHello{hello});
    Good(Submit{RunNamed(id)});
  }
  AgentReport ReportOf(model::Facts facts, int64_t generation = 1) {
    AgentReport report;
    report.node = "local";
    report.generation = generation;
    report.session = 1;
    report.sequence = ++sequence_;
    report.facts.push_back(std::move(facts));
    return report;
  }

  std::unique_ptr<store::Store> store_ = store::OpenMemoryStore(Tables());
  Core core_{*store_, {}};
  Time now_{1'000'000};
  int64_t sequence_ = 0;
};

TEST_F(RegistryTest, AVersionIsADefinition) {
  EXPECT_EQ(Registered("a", {"numpy", "six"}), "1 new");
  EXPECT_EQ(Registered("a", {"six", "numpy"}), "1") << "the same in another order";
  EXPECT_EQ(Registered("a", {"numpy"}), "2 new");
  EXPECT_EQ(Registered("a", {"numpy", "six"}), "3 new") << "what was registered last is the latest";
  EXPECT_EQ(Registered("b", {"numpy"}), "1 new");
  EXPECT_EQ(Stored("a", 2)->definition.version, "2");
  EXPECT_EQ(Stored("a", 2)->definition.name, "a");
  model::EnvironmentRecord lost = Record("a", {});
  lost.workspace = "nowhere";
  EXPECT_EQ(Do(RegisterEnvironment{lost}).error().slug, "workspace.not_found");
}

TEST_F(RegistryTest, TwoInOneBatch) {
  ASSERT_TRUE(core_.Apply(RegisterEnvironment{Record("a", {"x"})}, now_).ok());
  auto second = core_.Apply(RegisterEnvironment{Record("a", {"y"})}, now_);
  auto again = core_.Apply(RegisterEnvironment{Record("a", {"y"})}, now_);
  ASSERT_TRUE(core_.Commit(now_).ok());
  EXPECT_EQ(second->GetString("version"), "2");
  EXPECT_EQ(again->GetString("version"), "2");
  EXPECT_FALSE(again->GetBool("created"));
}

TEST_F(RegistryTest, ANewPasswordIsNoNewVersion) {
  Good(RegisterEnvironment{Record("a", {"x"}, "one")});
  EXPECT_FALSE(Good(RegisterEnvironment{Record("a", {"x"}, "two")}).GetBool("created"));
  EXPECT_EQ(Stored("a", 1)->definition.docker.registry_password, "two");
  Good(RegisterEnvironment{Record("a", {"x"})});
  EXPECT_EQ(Stored("a", 1)->definition.docker.registry_password, "two") << "none given: it stays";
}

TEST_F(RegistryTest, DeletedNumbersDoNotComeAgain) {
  for (const char* package : {"x", "y", "z"}) Registered("a", {package});
  EXPECT_EQ(Good(DeleteEnvironment{"default", "a", 3}).Find("versions")->Dump(), R"(["3"])");
  EXPECT_EQ(Registered("a", {"y"}), "2") << "the latest is the one before";
  EXPECT_EQ(Registered("a", {"z"}), "4 new");
  EXPECT_EQ(Do(DeleteEnvironment{"default", "a", 3}).error().slug, "environment.not_found");
  EXPECT_EQ(Good(DeleteEnvironment{"default", "a", 0}).Find("versions")->Dump(), R"(["4","2","1"])");
  EXPECT_EQ(Do(DeleteEnvironment{"default", "a", 0}).error().slug, "environment.not_found");
  EXPECT_EQ(Do(DeleteEnvironment{"default", "none", 0}).error().slug, "environment.not_found");
  EXPECT_EQ(Registered("a", {"z"}), "5 new");
  EXPECT_TRUE(Stored("a", 1)->deleted);
}

TEST_F(RegistryTest, ARunRegistersItsDefinition) {
  auto submit = [&](const std::string& id, std::vector<std::string> pip) {
    Submit input{RunNamed(id)};
    input.environment = Record("Experiment e Environment", std::move(pip));
    input.run.spec.needs = input.environment->definition;
    Good(input);
    return core_.live().at(id).spec.needs->name + "@" + core_.live().at(id).spec.needs->version;
  };
  EXPECT_EQ(submit("r1", {"x"}), "Experiment e Environment@1");
  EXPECT_EQ(submit("r2", {"x"}), "Experiment e Environment@1");
  EXPECT_EQ(submit("r3", {"y"}), "Experiment e Environment@2");
  // The same run again registers nothing.
  EXPECT_EQ(submit("r1", {"x"}), "Experiment e Environment@1");
  EXPECT_FALSE(Stored("Experiment e Environment", 3));
}

TEST_F(RegistryTest, FactsAreTakenOnceAndOnlyFromTheHolder) {
  Place("r");
  Good(NoteBuild{{"k", "linux-64", "venv", "lock", "archive", 5, "/p", "local", 1, {}, {}}});
  Time used = model::BuildFromJson(*ParseJson((*store_->Get("build", "k/linux-64"))->body)).used;
  model::Facts facts{{"r", 1}, {{"environment", Time{5}, Time{9}}}, {"built", 4e-6, "k", "lock"}, "linux-64"};
  Good(ReportOf(facts));
  const model::Attempt& attempt = core_.live().at("r").attempt();
  EXPECT_EQ(attempt.clocks, facts.clocks);
  EXPECT_EQ(attempt.environment.how, "built");
  EXPECT_EQ(core_.live().at("r").properties.at("ferry.environment.lock"), "lock");
  EXPECT_GT(model::BuildFromJson(*ParseJson((*store_->Get("build", "k/linux-64"))->body)).used, used);
  Time changed = core_.live().at("r").changed;
  Good(ReportOf(facts));
  EXPECT_EQ(core_.live().at("r").changed, changed) << "said again, it changes nothing";

  facts.clocks[0].end = Time{99};
  EXPECT_EQ(Do(ReportOf(facts, 7)).error().slug, "agent.fenced");
  facts.key.attempt = 2;
  Good(ReportOf(facts));
  EXPECT_EQ(core_.live().at("r").attempt().clocks[0].end, Time{9}) << "another attempt's";

  // What was told survives a restart.
  Core again(*store_, {});
  ASSERT_TRUE(again.Recover(now_).ok());
  EXPECT_EQ(again.live().at("r").attempt().environment.lock, "lock");
}

TEST_F(RegistryTest, BuildsAndTheirArchives) {
  auto stored = [&] { return model::BuildFromJson(*ParseJson((*store_->Get("build", "k/linux-64"))->body)); };
  model::BuildRecord build{"k", "linux-64", "venv", "lock", "archive", 5, "/p", "a", 1, {}, {}};
  Good(NoteBuild{build});
  model::BuildRecord other = build;
  other.archive.clear();
  other.size = 0;
  other.path = "/q";
  Good(NoteBuild{other});
  EXPECT_EQ(stored().archive, "archive") << "one without an archive does not take it away";
  EXPECT_EQ(stored().path, "/p");
  EXPECT_EQ(Good(NoteBuild{build}).GetString("replaced"), "") << "the same again";
  build.archive = "newer";
  Good(DropArchives{{build}});
  EXPECT_EQ(stored().archive, "archive") << "another one was meant";
  build.archive = "archive";
  Good(DropArchives{{build}});
  EXPECT_EQ(stored().archive, "");
  build.archive = "second";
  EXPECT_EQ(Good(NoteBuild{build}).GetString("replaced"), "");
  build.archive = "third";
  EXPECT_EQ(Good(NoteBuild{build}).GetString("replaced"), "second");
  EXPECT_EQ(stored().lock, "lock") << "what was in it stays known";
}

}  // namespace
}  // namespace ferry::engine
