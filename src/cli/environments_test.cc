#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/environment_folder.h"
#include "cli/fake_server.h"

namespace ferry::cli {
namespace {

class Environments : public CommandTest {
 protected:
  // Answers requests ("GET /path?query") with these documents; the bodies that came are kept.
  void Answers(std::map<std::string, std::string> documents) {
    server_.before = [this, documents](const http::Head& head, const std::string& body) -> std::optional<http::Response> {
      std::string asked = StrCat(head.method, " ", head.path);
      for (const auto& [name, value] : head.query) asked += StrCat(asked.find('?') == std::string::npos ? "?" : "&", name, "=", value);
      asked_.push_back(asked);
      bodies_.push_back(body);
      auto found = documents.find(asked);
      if (found == documents.end()) return std::nullopt;
      return http::Response{200, {{"content-type", "application/json"}}, found->second};
    };
  }
  std::string Folder() const { return folder_ + "/env"; }
  std::string Read(const std::string& name) { return os::ReadFile(os::JoinPath(Folder(), name)).ValueOr("(none)"); }
  std::vector<std::string> asked_, bodies_;
};

TEST_F(Environments, ScaffoldEditRegister) {
  EXPECT_EQ(Run({"environment", "scaffold", "-n", "mine", "-d", Folder()}), 0) << err();
  for (const char* name : {"azureml_environment.json", "conda_dependencies.yml", "BaseDockerfile"}) {
    EXPECT_NE(out().find(StrCat(Folder(), "/", name, "\n")), std::string::npos) << out();
    EXPECT_NE(Read(name), "(none)");
  }
  EXPECT_EQ(Read("conda_dependencies.yml"),
            "name: project_environment\nchannels:\n- conda-forge\ndependencies:\n- python=3.11\n- pip:\n  - azureml-defaults\n");
  EXPECT_EQ(Run({"environment", "scaffold", "-n", "mine", "-d", Folder()}), 6);
  EXPECT_NE(err().find("azureml_environment.json exists already; give another folder, or --overwrite"), std::string::npos) << err();
  EXPECT_EQ(Run({"environment", "scaffold", "-n", "mine", "-d", Folder(), "--overwrite"}), 0);
  EXPECT_EQ(Run({"environment", "scaffold", "-n", "AzureML-mine", "-d", Folder() + "2"}), 2);

  Answers({{"PUT /api/v1/environments/mine?workspace=default", R"({"name":"mine","version":"1","created":true})"},
           {"PUT /api/v1/environments/clone?workspace=team", R"({"name":"clone","version":"3","created":false})"}});
  EXPECT_EQ(Run({"environment", "register", "-d", Folder(), "--description", "d", "--tag", "a=b"}), 0) << err();
  EXPECT_EQ(out(), "mine version 1\n");
  Json sent = *ParseJson(bodies_.back());
  EXPECT_EQ(sent.GetString("description"), "d");
  EXPECT_EQ(sent.Find("tags")->GetString("a"), "b");
  auto definition = model::EnvironmentFromJson(*sent.Find("definition"));
  ASSERT_TRUE(definition.ok()) << definition.error().message;
  EXPECT_EQ(*definition, ScaffoldedEnvironment("mine"));
  EXPECT_EQ(Run({"environment", "register", "-d", Folder(), "-n", "clone", "-w", "team"}), 0) << err();
  EXPECT_EQ(out(), "clone version 3 (unchanged)\n");
}

TEST_F(Environments, WrongFoldersNameTheirFile) {
  EXPECT_EQ(Run({"environment", "register", "-d", Folder()}), 5);
  EXPECT_NE(err().find("azureml_environment.json; make one with: ferry environment scaffold"), std::string::npos) << err();
  Write("env/azureml_environment.json", "{\n  nonsense");
  EXPECT_EQ(Run({"environment", "register", "-d", Folder()}), 2);
  EXPECT_NE(err().find("azureml_environment.json"), std::string::npos) << err();
  EXPECT_NE(err().find("line 2"), std::string::npos) << err();
  Write("env/azureml_environment.json", R"({"python":{"condaDependenciesFile":"other.yml"}})");
  EXPECT_EQ(Run({"environment", "register", "-d", Folder(), "-n", "x"}), 5);
  EXPECT_NE(err().find("there is no file '"), std::string::npos) << err();
  Write("env/other.yml", "dependencies: [python=3.11\n");
  EXPECT_EQ(Run({"environment", "register", "-d", Folder(), "-n", "x"}), 2);
  EXPECT_NE(err().find("other.yml"), std::string::npos) << err();
  Write("env/other.yml", "dependencies: [python=3.11]\n");
  EXPECT_EQ(Run({"environment", "register", "-d", Folder()}), 2);
  EXPECT_NE(err().find("has no name; give one there or with -n"), std::string::npos) << err();
  Write("env/azureml_environment.json", R"({"name":"x","docker":{"enabled":"yes"}})");
  EXPECT_EQ(Run({"environment", "register", "-d", Folder()}), 2);
  EXPECT_NE(err().find("azureml_environment.json: docker.enabled must be true or false"), std::string::npos) << err();
}

TEST_F(Environments, DownloadWritesWhatRegisterReads) {
  const char* view = R"({"name":"mine","version":"2","definition":{"name":"mine","version":"2","python":{"userManagedDependencies":false,
    "condaDependencies":{"channels":["conda-forge"],"dependencies":["python=3.9","numpy",{"pip":["scikit-learn==1.5","--hash=x"]}]}},
    "docker":{"enabled":true,"baseDockerfile":"FROM debian\nRUN true\n","arguments":["--cpus","2"],"baseImageRegistry":{"address":"host","username":"u"}},
    "environmentVariables":{"A":"b"}}})";
  Answers({{"GET /api/v1/environments/mine?version=2&workspace=default", view}});
  EXPECT_EQ(Run({"environment", "download", "-n", "mine", "-v", "2", "-d", Folder()}), 0) << err();
  EXPECT_EQ(Read("BaseDockerfile"), "FROM debian\nRUN true\n");
  EXPECT_EQ(Run({"environment", "download", "-n", "mine@2", "-d", Folder()}), 6);
  EXPECT_EQ(Run({"environment", "download", "-n", "mine@2", "-d", Folder(), "--overwrite"}), 0) << err();
  std::vector<std::string> warnings;
  auto back = ReadEnvironmentFolder(Folder(), warnings);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(*model::EnvironmentFromJson(*back), *model::EnvironmentFromJson(*ParseJson(view)->Find("definition")));
}

TEST_F(Environments, ListShowDelete) {
  const std::string key(64, 'a');
  Answers({{"GET /api/v1/environments?workspace=default",
            R"({"environments":[{"name":"AzureML-Minimal","version":"1","description":"m"},{"name":"AzureML-Old","alias_of":"AzureML-Minimal","version":"1"},
                {"name":"mine","version":"2"}],"next":null})"},
           {"GET /api/v1/environments?curated=true&workspace=default", R"({"environments":[{"name":"AzureML-Old","alias_of":"AzureML-Minimal"}],"next":null})"},
           {"GET /api/v1/environments/mine?workspace=default",
            StrCat(R"({"name":"mine","version":"2","key":")", key,
                   R"(","hash":"h","definition":{"python":{"condaDependencies":{"dependencies":["python=3.11",{"pip":["six"]}]}}}})")},
           {StrCat("GET /api/v1/builds/", key), R"({"node":"local","seconds":3.2,"archive":"d","size":1200,"lock":{"packages":[{},{}]}})"},
           {"DELETE /api/v1/environments/mine?version=2&workspace=default", R"({"name":"mine","versions":["2"]})"}});
  EXPECT_EQ(Run({"environment", "list"}), 0) << err();
  EXPECT_NE(out().find("mine"), std::string::npos);
  EXPECT_EQ(out().find("AzureML-Old"), std::string::npos) << "Azure's names are for those who ask";
  EXPECT_EQ(Run({"environment", "list", "--curated"}), 0) << err();
  EXPECT_NE(out().find("AzureML-Old"), std::string::npos);
  EXPECT_EQ(Run({"environment", "show", "-n", "mine"}), 0) << err();
  for (const char* line :
       {"environment   mine\n", "conda         python=3.11\n", "pip           six\n", "built         on local in 3.2 s, 2 packages, kept (1.2 KB)\n"})
    EXPECT_NE(out().find(line), std::string::npos) << line << out();
  EXPECT_EQ(Run({"environment", "delete", "-n", "mine@2"}), 0) << err();
  EXPECT_EQ(out(), "deleted mine version 2\n");
  EXPECT_EQ(Run({"environment", "show", "-n", "mine@x"}), 2);
}

TEST_F(Environments, BuildFollowsTheBuildLog) {
  server_.events = [&](const std::string&) {
    return StatusEvent("1", View("Preparing")) +
           http::FormatEvent("log", "2", R"({"stream":"azureml-logs/20_image_build_log.txt","attempt":1,"offset":0,"data":"installing six\n"})") +
           StatusEvent("3", View("Completed")) + EndEvent("Completed");
  };
  EXPECT_EQ(Run({"environment", "build", "-n", "mine:3"}), 0) << err();
  Json request = server_.posted().back();
  EXPECT_EQ(request.GetString("environment_name"), "mine@3");
  EXPECT_EQ(request.GetStrings("command"), std::vector<std::string>{"true"});
  EXPECT_EQ(out(), "installing six\n");
  // Beside the output of a script it is an aside.
  server_.run_view = View("Running");
  EXPECT_EQ(Run({"run", "monitor-logs", "r1"}), 0);
  EXPECT_EQ(out(), "");
  EXPECT_NE(err().find("installing six\n"), std::string::npos);
}

TEST_F(Environments, TheNoteOfAnAliasIsSaidFirst) {
  Json view = View("Running");
  view.Set("environment", Json::MakeObject({{"name", "AzureML-Minimal"}, {"version", "1"}, {"note", "it is another"}}));
  server_.run_view = view;
  server_.events = [&](const std::string&) { return StatusEvent("1", view) + StatusEvent("2", view) + EndEvent("Completed"); };
  Run({"run", "monitor-logs", "r1"});
  EXPECT_EQ(err().find("it is another\n"), 0u) << err();
  EXPECT_EQ(err().find("it is another\n", 1), std::string::npos) << "once";
}

TEST_F(Environments, DiffOfVersionsAndRuns) {
  const std::string key(64, 'a'), lock = R"({"kind":"venv","python":"3.11.2","packages":[{"name":"numpy","version":"2.0"}]})";
  auto definition = [](const std::string& pip) {
    return StrCat(R"({"python":{"condaDependencies":{"dependencies":["python=3.11",{"pip":[")", pip, R"("]}]}}})");
  };
  Answers({{"GET /api/v1/environments/mine?version=1&workspace=default", StrCat(R"({"key":")", key, R"(","definition":)", definition("numpy"), "}")},
           {StrCat("GET /api/v1/builds/", key), StrCat(R"({"lock":)", lock, "}")},
           {"GET /api/v1/runs/r1", StrCat(R"({"environment":{"definition":)", definition("numpy"), "}}")},
           {"GET /api/v1/runs/r1/lock", R"({"kind":"venv","python":"3.11.2","packages":[{"name":"numpy","version":"2.1"}]})"},
           {"GET /api/v1/runs/r2", StrCat(R"({"environment":{"definition":)", definition("scipy"), "}}")},
           {"GET /api/v1/runs/r3", "{}"}});
  EXPECT_EQ(Run({"environment", "diff", "mine@1", "r1"}), 0) << err();
  EXPECT_EQ(out(), "built\n  numpy 2.0 -> 2.1\n");
  EXPECT_EQ(Run({"environment", "diff", "mine@1", "mine@1"}), 0);
  EXPECT_EQ(out(), "no difference\n");
  EXPECT_EQ(Run({"environment", "diff", "r1", "r2"}), 0);
  EXPECT_NE(out().find("definition\n"), std::string::npos) << out();
  EXPECT_NE(out().find("scipy"), std::string::npos) << out();
  EXPECT_NE(err().find("what 'r2' was built to is not known"), std::string::npos) << err();
  EXPECT_EQ(Run({"environment", "diff", "mine@1", "r1", "-o", "json"}), 0);
  EXPECT_EQ(ParseJson(out())->Dump(), R"({"definition":[],"lock":["numpy 2.0 -> 2.1"]})");
  EXPECT_EQ(Run({"environment", "diff", "mine@1", "r3"}), 5);
  EXPECT_EQ(Run({"environment", "diff", "mine@1", "nothing"}), 5);
  EXPECT_NE(err().find("'nothing' is neither an environment (NAME or NAME@VERSION) nor a run"), std::string::npos) << err();
}

TEST_F(Environments, Prune) {
  Answers({{"POST /api/v1/builds/prune", R"({"pruned":[{"key":"k","kind":"venv","size":1200}],"bytes":1200,"dry_run":true})"}});
  EXPECT_EQ(Run({"environment", "prune"}), 2);
  EXPECT_EQ(Run({"environment", "prune", "--dry-run", "--older-than", "30", "--keep-bytes", "0"}), 0) << err();
  EXPECT_EQ(bodies_.back(), R"({"older_than_days":30,"keep_bytes":0,"dry_run":true})");
  EXPECT_NE(err().find("would free 1.2 KB\n"), std::string::npos) << err();
}

TEST_F(Environments, Rerun) {
  Answers({{"POST /api/v1/runs/r1/rerun", R"({"id":"r2","created":true})"}});
  EXPECT_EQ(Run({"run", "rerun", "-r", "r1", "--async", "--run-id", "r2"}), 0) << err();
  EXPECT_EQ(bodies_.back(), R"({"id":"r2"})");
  EXPECT_EQ(out(), "r2\n");
}

TEST_F(Environments, ShowTellsEachClock) {
  server_.run_view = *ParseJson(R"({"id":"r1","status":"Completed","ended":"2026-11-15T10:41:10Z","spec":{"script":"t.py"},
    "environment":{"name":"mine","version":"2","how":"built","note":"n"},
    "stages":[{"name":"Scaling","start":"2026-11-15T10:41:00Z","end":"2026-11-15T10:41:00Z"},{"name":"Preparing","start":"2026-11-15T10:41:00Z","end":"2026-11-15T10:41:04Z"}],
    "clocks":[{"name":"snapshot","attempt":1,"start":"2026-11-15T10:41:00Z","end":"2026-11-15T10:41:00.5Z"},
              {"name":"environment","attempt":1,"start":"2026-11-15T10:41:00.5Z","end":"2026-11-15T10:41:04Z"}]})");
  EXPECT_EQ(Run({"run", "show", "r1"}), 0) << err();
  for (const char* line : {"environment   mine version 2 (built)\n", "note          n\n", "    snapshot  500 ms\n", "    environment 3.5 s\n"})
    EXPECT_NE(out().find(line), std::string::npos) << line << out();
}

}  // namespace
}  // namespace ferry::cli
