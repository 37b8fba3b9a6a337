// Environments as clients and agents ask for them, over a real socket.
#include "rest/test_server.h"

namespace ferry::rest {
namespace {

const std::string kKey(64, 'a');
const std::string kLock = R"({"kind":"venv","python":"3.11.2","platform":"linux-64","packages":[{"name":"numpy","version":"2.0","source":"pypi"}]})";

class EnvironmentsTest : public ServerTest {
 protected:
  http::Reply Register(const std::string& name, const std::string& definition, const std::string& more = "") {
    return Ask(contributor_, "PUT", "/api/v1/environments/" + EncodePercent(name), StrCat(R"({"definition":)", definition, more, "}"));
  }
  static std::string Pip(const std::string& line) {
    return StrCat(R"({"python":{"condaDependencies":{"channels":["conda-forge"],"dependencies":["python=3.11",{"pip":[")", line, R"("]}]}}})");
  }
  http::Reply Run(const std::string& id, const std::string& more) {
    return Ask(contributor_, "POST", "/api/v1/runs", StrCat(R"({"id":")", id, R"(","experiment":"e","command":["true"],)", more, "}"));
  }
  http::Reply Node(const std::string& method, const std::string& path, const std::string& body = {}) {
    return Ask(access_->NodeToken("local"), method, path, body);
  }
  // A run is named by an environment: {name, version, key, ...}.
  Json EnvironmentOf(const std::string& run) {
    const Json view = Get("/api/v1/runs/" + run);
    const Json* environment = view.Find("environment");
    return environment ? *environment : Json();
  }
};

TEST_F(EnvironmentsTest, RegisterShowListDelete) {
  auto first = Register("mine", Pip("numpy==2.0"), R"(,"description":"for tests","tags":{"a":"b"})");
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(Good(first).GetString("version"), "1");
  uint64_t inputs = engine_->counts().inputs;
  auto again = Register("mine", Pip("  numpy == 2.0  # as before"));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(Good(again).GetString("version"), "1");
  EXPECT_EQ(engine_->counts().inputs, inputs) << "an unchanged one does not reach the engine";
  EXPECT_EQ(Good(Register("mine", Pip("numpy==2.1"))).GetString("version"), "2");

  Json shown = Get("/api/v1/environments/mine");
  EXPECT_EQ(shown.GetString("version"), "2");
  EXPECT_FALSE(shown.GetBool("curated", true));
  EXPECT_EQ(shown.GetString("user"), "carl");
  Json old = Get("/api/v1/environments/mine?version=1");
  EXPECT_EQ(old.GetString("description"), "for tests");
  EXPECT_EQ(old.Find("definition")->GetString("name"), "mine");
  EXPECT_EQ(Get("/api/v1/environments/mine?version=latest").GetString("version"), "2");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/environments/mine?version=3")), "404 environment.not_found");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/environments/mine?version=x")), "400 environment.reference");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/environments/none")), "404 environment.not_found");
  EXPECT_EQ(Get("/api/v1/environments/mine/versions").Find("versions")->as_array().size(), 2u);

  Register("other", Pip("six"));
  Json list = Get("/api/v1/environments?curated=false&limit=1");
  EXPECT_EQ(list.Find("environments")->as_array()[0].GetString("name"), "mine");
  list = Get(StrCat("/api/v1/environments?curated=false&limit=1&cursor=", EncodePercent(list.GetString("next"))));
  EXPECT_EQ(list.Find("environments")->as_array()[0].GetString("name"), "other");
  EXPECT_TRUE(Get("/api/v1/environments?curated=false&workspace=nowhere").Find("environments")->as_array().empty());
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/environments?curated=maybe")), "400 parameter.invalid");

  EXPECT_EQ(ErrorOf(Ask(reader_, "DELETE", "/api/v1/environments/mine")), "403 auth.forbidden");
  Good(Ask(contributor_, "DELETE", "/api/v1/environments/mine?version=latest"));
  EXPECT_EQ(Get("/api/v1/environments/mine").GetString("version"), "1");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/environments/mine?version=2")), "404 environment.not_found");
  Good(Ask(contributor_, "DELETE", "/api/v1/environments/mine"));
  EXPECT_EQ(ErrorOf(Ask(contributor_, "DELETE", "/api/v1/environments/mine")), "404 environment.not_found");
  EXPECT_EQ(Get("/api/v1/environments?curated=false").Find("environments")->as_array().size(), 1u);
}

TEST_F(EnvironmentsTest, WrongDefinitionsNameTheirField) {
  auto field = [&](const http::Reply& reply) { return ParseJson(reply.body)->Find("error")->GetString("field"); };
  auto reply = Register("mine", R"({"python":{"condaDependencies":{"dependencies":["a",{"pip":[7,[]]}]}}})");
  EXPECT_EQ(ErrorOf(reply), "400 field.type");
  EXPECT_EQ(field(reply), "definition.python.condaDependencies.dependencies[1].pip[1]");
  EXPECT_EQ(ErrorOf(Register("AzureML-Mine", Pip("six"))), "400 environment.reserved");
  EXPECT_EQ(ErrorOf(Register("microsoft", Pip("six"))), "400 environment.reserved");
  EXPECT_EQ(ErrorOf(Register("a@b", Pip("six"))), "400 environment.name");
  EXPECT_EQ(ErrorOf(Register("mine", Pip("six"), R"(,"descripton":"x")")), "400 field.unknown");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "PUT", "/api/v1/environments/mine", "{}")), "400 field.missing");
  EXPECT_EQ(ErrorOf(Register("mine", R"({"docker":{"enabled":true,"buildContext":{"snapshot":"x"}}})")), "400 environment.context");
  EXPECT_EQ(ErrorOf(Register("mine", StrCat(R"({"docker":{"enabled":true,"buildContext":{"snapshot":")", kKey, R"("}}})"))), "404 snapshot.not_found");
  reply = Run("r", R"("environment_definition":{"python":{"userManagedDependencies":"yes"}})");
  EXPECT_EQ(ErrorOf(reply), "400 field.type");
  EXPECT_EQ(field(reply), "environment_definition.python.userManagedDependencies");
  for (const auto& [more, slug] : std::vector<std::pair<std::string, std::string>>{
           {R"("environment_name":"none")", "404 environment.not_found"},
           {R"("environment_name":"a@b@c")", "400 environment.reference"},
           {R"("environment_name":"AzureML-Nothing")", "404 environment.not_found"},
           {R"("environment_name":7)", "400 field.type"},
           {R"("environment_name":"AzureML-Minimal","environment_definition":{})", "400 run.environment_twice"},
           {R"("environment_name":"AzureML-Minimal","interpreter":"python3")", "400 run.interpreter_twice"},
           {R"("environment_definition":{"name":"AzureML-Minimal"})", "400 environment.reserved"},
           {R"("environment_definition":{"name":"a/b"})", "400 environment.name"},
           {R"("watch":["../x"])", "400 run.watch"},
           {R"("watch":["/x"])", "400 run.watch"},
           {R"("watch":"logs")", "400 field.type"},
           {R"("keep_snapshot":"no")", "400 field.type"},
       })
    EXPECT_EQ(ErrorOf(Run("r", more)), slug) << more;
  EXPECT_TRUE(Get("/api/v1/runs").Find("runs")->as_array().empty());
  EXPECT_TRUE(Get("/api/v1/environments?curated=false").Find("environments")->as_array().empty()) << "nothing is registered for a run that is refused";
}

TEST_F(EnvironmentsTest, CuratedOnesAreThereWithoutBeingRegistered) {
  Json list = Get("/api/v1/environments?curated=true");
  EXPECT_GE(list.Find("environments")->as_array().size(), 10u);
  Json shown = Get("/api/v1/environments/AzureML-PyTorch-1.6-GPU");
  EXPECT_EQ(shown.GetString("alias_of"), "AzureML-PyTorch-CPU");
  EXPECT_EQ(shown.GetString("name"), "AzureML-PyTorch-1.6-GPU");
  EXPECT_NE(shown.GetString("note").find("torch=="), std::string::npos);
  EXPECT_TRUE(shown.GetBool("curated"));
  EXPECT_EQ(ErrorOf(Ask(contributor_, "DELETE", "/api/v1/environments/AzureML-Minimal")), "400 environment.reserved");
  EXPECT_EQ(Get("/api/v1/environments/AzureML-Minimal/versions").Find("versions")->as_array().size(), 1u);

  ASSERT_EQ(Run("r", R"("environment_name":"azureml:AzureML-PyTorch-1.6-GPU@latest")").status, 201);
  Json environment = EnvironmentOf("r");
  EXPECT_EQ(environment.GetString("name"), "AzureML-PyTorch-CPU");
  EXPECT_EQ(environment.GetString("note"), shown.GetString("note"));
  EXPECT_EQ(Get("/api/v1/runs/r").Find("properties")->GetString("ferry.environment.alias"), shown.GetString("note"));
  // As an SDK does it: what was got is given back whole.
  ASSERT_EQ(Run("s", StrCat(R"("environment_definition":)", shown.Find("definition")->Dump())).status, 201);
  EXPECT_EQ(EnvironmentOf("s").GetString("note"), shown.GetString("note"));
  EXPECT_EQ(EnvironmentOf("s").GetString("key"), environment.GetString("key"));
}

TEST_F(EnvironmentsTest, RunsByNameAndByDefinition) {
  Register("mine", Pip("numpy==2.0"));
  Register("mine", Pip("numpy==2.1"));
  ASSERT_EQ(Run("r1", R"("environment_name":"mine@1")").status, 201);
  ASSERT_EQ(Run("r2", R"("environment_name":"mine")").status, 201);
  EXPECT_EQ(EnvironmentOf("r1").GetString("version"), "1");
  EXPECT_EQ(EnvironmentOf("r2").GetString("version"), "2");
  EXPECT_EQ(EnvironmentOf("r1").GetString("key").size(), 64u);
  EXPECT_NE(EnvironmentOf("r1").GetString("key"), EnvironmentOf("r2").GetString("key"));
  // Lists name it; only the run itself has the whole of it.
  const Json list = Get("/api/v1/runs");
  EXPECT_EQ(list.Dump().find("condaDependencies"), std::string::npos);
  EXPECT_NE(EnvironmentOf("r1").Dump().find("numpy==2.0"), std::string::npos);

  ASSERT_EQ(Run("r3", StrCat(R"("environment_definition":)", Pip("six"))).status, 201);
  EXPECT_EQ(EnvironmentOf("r3").GetString("name"), "Experiment e Environment");
  EXPECT_EQ(EnvironmentOf("r3").GetString("version"), "1");
  EXPECT_EQ(Get("/api/v1/environments/Experiment%20e%20Environment").GetString("version"), "1");
  ASSERT_EQ(Run("r4", R"("environment_definition":{"name":"named","environmentVariables":{"A":"1","B":"2"}},"environment":{"B":"3"})").status, 201);
  EXPECT_EQ(EnvironmentOf("r4").GetString("name"), "named");
  EXPECT_EQ(Get("/api/v1/runs/r4").Find("spec")->Find("environment")->Dump(), R"({"A":"1","B":"3"})") << "the run's own come first";

  ASSERT_EQ(Run("r5", R"("watch":["./a/","b"],"collect_outputs":false,"keep_snapshot":false,"auto_prepare":false,"run_configuration":"x")").status, 201);
  const Json spec = *Get("/api/v1/runs/r5").Find("spec");
  EXPECT_EQ(spec.GetStrings("watch"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(spec.GetString("run_configuration"), "x");
  EXPECT_FALSE(spec.GetBool("collect_outputs", true) || spec.GetBool("keep_snapshot", true) || spec.GetBool("auto_prepare", true));
  EXPECT_TRUE(EnvironmentOf("r5").is_null());
}

TEST_F(EnvironmentsTest, APasswordIsSealedAndOnlyTheNodeGetsIt) {
  const std::string definition =
      R"({"name":"private","docker":{"enabled":true,"baseImage":"b","baseImageRegistry":{"address":"host","username":"u","password":"tops3cret"}}})";
  Hello();
  std::string messages;
  std::mutex mutex;
  http::Client client(ClientOf(access_->NodeToken("local")));
  std::thread listener([&] {
    (void)client.Events(StrCat("/api/v1/agent/commands?node=local&protocol=", model::kProtocol), "", [&](const http::Event& event) {
      std::lock_guard lock(mutex);
      messages += event.data;
      return messages.find("\"assign\"") == std::string::npos;
    });
  });
  ASSERT_TRUE(Eventually([&] { return channels_.Connected("local"); }));
  std::string request = StrCat(R"("environment_definition":)", definition);
  ASSERT_EQ(Run("r", request).status, 201);
  EXPECT_EQ(Run("r", request).status, 200) << "the same again";
  std::string other = request;
  other.replace(other.find("tops3cret"), 9, "another");
  EXPECT_EQ(ErrorOf(Run("r", other)), "409 run.exists") << "another password is another submission";
  listener.join();
  EXPECT_NE(messages.find("tops3cret"), std::string::npos);

  Register("registered", definition);
  for (const char* path : {"/api/v1/runs/r", "/api/v1/runs", "/api/v1/environments/private", "/api/v1/environments/registered", "/api/v1/environments",
                           "/api/v1/environments/private/versions"}) {
    std::string body = Ask(owner_, "GET", path).body;
    EXPECT_EQ(body.find("tops3cret"), std::string::npos) << path;
    EXPECT_EQ(body.find("sealed"), std::string::npos) << path;
  }
  for (const auto& [table, key] :
       std::vector<std::pair<std::string, std::string>>{{"run", "r"}, {"environment", engine::EnvironmentKey("default", "registered", 1)}}) {
    auto document = store_->Get(table, key);
    ASSERT_TRUE(document.ok() && *document);
    EXPECT_EQ((*document)->body.find("tops3cret"), std::string::npos) << table;
    EXPECT_NE((*document)->body.find("sealed:1:"), std::string::npos) << table;
  }
}

TEST_F(EnvironmentsTest, WhatAnAgentBuiltIsThereForOthers) {
  EXPECT_EQ(ErrorOf(Node("GET", "/api/v1/agent/environments/" + kKey)), "404 build.not_found");
  EXPECT_EQ(ErrorOf(Node("GET", "/api/v1/agent/environments/xyz")), "400 build.key");
  std::string path = StrCat("/api/v1/agent/environments/", kKey, "/build");
  EXPECT_EQ(ErrorOf(Node("POST", path, "{}")), "400 field.missing");
  EXPECT_EQ(ErrorOf(Node("POST", path, R"({"lock":{"kind":"soup"}})")), "400 lock.invalid");
  EXPECT_EQ(ErrorOf(Node("POST", path, StrCat(R"({"lock":)", kLock, R"(,"archive":")", kKey, "\"}"))), "409 build.no_archive");
  Digest archive = AddLargeBlob(std::string(200'000, 'z'));
  Json made = Good(Node("POST", path, StrCat(R"({"lock":)", kLock, R"(,"seconds":12.5,"path":"/e/1","archive":")", archive.Hex(), "\"}")));
  EXPECT_EQ(made.GetInt("size"), 200'000);
  Json found = Good(Node("GET", "/api/v1/agent/environments/" + kKey));
  EXPECT_EQ(found.GetString("archive"), archive.Hex());
  EXPECT_EQ(found.GetString("path"), "/e/1");
  EXPECT_EQ(found.GetString("node"), "local");
  EXPECT_EQ(found.Find("lock")->GetString("python"), "3.11.2");
  EXPECT_EQ(found.GetString("lock_digest"), made.GetString("lock_digest"));
  EXPECT_EQ(Get("/api/v1/builds/" + kKey).GetDouble("seconds"), 12.5);
  // Built a second time: only one archive is kept.
  Digest first = archive;
  archive = AddLargeBlob(std::string(200'000, 'x'));
  Good(Node("POST", path, StrCat(R"({"lock":)", kLock, R"(,"seconds":2,"path":"/e/2","archive":")", archive.Hex(), "\"}")));
  EXPECT_EQ(ErrorOf(Node("GET", "/api/v1/agent/blobs/" + first.Hex())), "404 blob.not_found");
  EXPECT_EQ(Get("/api/v1/builds").Find("builds")->as_array().size(), 1u);

  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", "/api/v1/builds/prune", "{}")), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/builds/prune", R"({"keep_bytes":-1})")), "400 prune.rule");
  EXPECT_TRUE(Post("/api/v1/builds/prune", "{}").Find("pruned")->as_array().empty()) << "no rule, nothing to do";
  Json plan = Post("/api/v1/builds/prune", R"({"keep_bytes":0,"dry_run":true})");
  EXPECT_EQ(plan.GetInt("bytes"), 200'000);
  EXPECT_EQ(Good(Node("GET", "/api/v1/agent/environments/" + kKey)).GetString("archive"), archive.Hex()) << "it was only asked";
  EXPECT_EQ(Post("/api/v1/builds/prune", R"({"keep_bytes":0})").GetInt("bytes"), 200'000);
  EXPECT_TRUE(Good(Node("GET", "/api/v1/agent/environments/" + kKey)).Find("archive")->is_null());
  EXPECT_EQ(ErrorOf(Node("GET", "/api/v1/agent/blobs/" + archive.Hex())), "404 blob.not_found");
  EXPECT_EQ(Post("/api/v1/builds/prune", R"({"keep_bytes":0})").GetInt("bytes"), 0);
}

TEST_F(EnvironmentsTest, AnArchiveInUseStays) {
  Register("mine", Pip("six"));
  ASSERT_EQ(Run("r", R"("environment_name":"mine")").status, 201);
  std::string key = EnvironmentOf("r").GetString("key");
  Digest archive = AddLargeBlob(std::string(200'000, 'y'));
  Good(Node("POST", StrCat("/api/v1/agent/environments/", key, "/build"), StrCat(R"({"lock":)", kLock, R"(,"archive":")", archive.Hex(), "\"}")));
  EXPECT_EQ(Post("/api/v1/builds/prune", R"({"keep_bytes":0})").GetInt("bytes"), 0) << "a run that has not ended needs it";
  Post("/api/v1/runs/r/cancel", "{}");
  EXPECT_EQ(Post("/api/v1/builds/prune", R"({"keep_bytes":0})").GetInt("bytes"), 200'000);
}

TEST_F(EnvironmentsTest, FactsLocksAndReruns) {
  Hello();
  Digest source = AddBlob("a snapshot");
  Register("mine", Pip("six"));
  ASSERT_EQ(Run("r", StrCat(R"("environment_name":"mine","tags":{"a":"b"},"properties":{"p":"q"},"snapshot":")", source.Hex(), "\"")).status, 201);
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/runs/r/lock")), "404 lock.not_found");
  std::string key = EnvironmentOf("r").GetString("key");
  EXPECT_EQ(ErrorOf(Report(R"("facts":[{"run":"r","environment":{"how":"guessed"}}])")), "400 facts.environment");
  EXPECT_EQ(ErrorOf(Report(StrCat(R"("facts":[{"run":"r","environment":{"how":"built","lock":")", kKey, R"("}}])"))), "409 facts.no_lock");
  std::string facts =
      StrCat(R"("facts":[{"run":"r","clocks":[{"name":"snapshot","start":1000000,"end":2000000},{"name":"environment","start":2000000,"end":5000000}],)",
             R"("environment":{"how":"built","seconds":3,"key":")", key, R"(","lock":)", kLock, "}}]");
  Good(Report(facts));
  Good(Report(facts));
  Json environment = EnvironmentOf("r");
  EXPECT_EQ(environment.GetString("how"), "built");
  EXPECT_EQ(environment.GetDouble("seconds"), 3);
  const Json view = Get("/api/v1/runs/r");
  EXPECT_EQ(view.Find("clocks")->as_array().size(), 2u);
  EXPECT_EQ(view.Find("properties")->GetString("ferry.environment.lock"), environment.GetString("lock"));
  EXPECT_EQ(Get("/api/v1/runs/r/lock").GetString("python"), "3.11.2");
  EXPECT_EQ(Ask(reader_, "GET", "/api/v1/runs/r/artifacts/environment/lock.json").status, 200);

  EXPECT_EQ(ErrorOf(Ask(reader_, "POST", "/api/v1/runs/r/rerun", "{}")), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", "/api/v1/runs/none/rerun", "{}")), "404 run.not_found");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", "/api/v1/runs/r/rerun", R"({"target":"x"})")), "400 field.unknown");
  auto again = Ask(owner_, "POST", "/api/v1/runs/r/rerun", R"({"id":"r2"})");
  EXPECT_EQ(again.status, 201) << again.body;
  EXPECT_EQ(Ask(owner_, "POST", "/api/v1/runs/r/rerun", R"({"id":"r2"})").status, 200) << "the same again is the same run";
  const Json second = Get("/api/v1/runs/r2");
  EXPECT_EQ(second.Find("properties")->Dump(), R"({"ferry.rerun_of":"r","p":"q"})");
  EXPECT_EQ(second.Find("tags")->GetString("a"), "b");
  EXPECT_EQ(second.GetString("user"), "olga");
  EXPECT_EQ(second.Find("spec")->Dump(), view.Find("spec")->Dump());
  EXPECT_TRUE(second.Find("environment")->GetBool("locked"));
  EXPECT_NE(second.Find("environment")->GetString("key"), key) << "exact versions are another build";
  EXPECT_EQ(second.Find("environment")->GetString("version"), "1");
  EXPECT_EQ(second.Find("environment")->Find("definition")->Find("lock")->GetString("python"), "3.11.2");

  ASSERT_EQ(Run("once", StrCat(R"("keep_snapshot":false,"snapshot":")", source.Hex(), "\"")).status, 201);
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/once/rerun", "{}")), "409 run.snapshot_not_kept");
  ASSERT_EQ(Run("plain", R"("tags":{})").status, 201);
  EXPECT_EQ(Ask(owner_, "POST", "/api/v1/runs/plain/rerun", "{}").status, 201) << "one without an environment too";
}

}  // namespace
}  // namespace ferry::rest
