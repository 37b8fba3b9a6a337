#include "cli/configuration.h"

#include <gtest/gtest.h>

#include "cli/fake_server.h"

namespace ferry::cli {
namespace {

class Configuration : public CommandTest {
 protected:
  std::string Src() const { return folder_ + "/src"; }
  void SetUp() override {
    CommandTest::SetUp();
    Write("src/train.py", "print(1)\n");
  }
  int Submit(std::vector<std::string> more) {
    std::vector<std::string> words = {"run", "submit-script", "-e", "exp", "--async", "--source-directory", Src()};
    for (std::string& word : more) words.push_back(std::move(word));
    return Run(words);
  }
  // The last submission that the server got.
  Json Posted() { return server_.posted().empty() ? Json::MakeObject() : server_.posted().back(); }
};

constexpr const char* kUserManaged = R"(script: train.py
arguments: [--lr, 0.1]
environment:
  python: {userManagedDependencies: true, interpreterPath: python3}
  environmentVariables: {A: file, B: file}
)";

TEST_F(Configuration, ScriptArgumentsAndEnvironmentOfTheFile) {
  Write("src/.azureml/mine.runconfig", kUserManaged);
  EXPECT_EQ(Submit({"-c", "mine", "--env", "B=line"}), 0) << err();
  Json run = Posted();
  EXPECT_EQ(run.GetString("run_configuration"), "mine");
  EXPECT_EQ(run.GetString("script"), "train.py");
  EXPECT_EQ(run.GetStrings("arguments"), (std::vector<std::string>{"--lr", "0.1"}));
  EXPECT_EQ(run.GetString("interpreter"), "python3");
  EXPECT_EQ(run.GetStringMap("environment"), (std::map<std::string, std::string>{{"A", "file"}, {"B", "line"}}));
  EXPECT_EQ(run.GetString("target"), "local");
  ASSERT_NE(run.Find("environment_definition"), nullptr);
  EXPECT_TRUE(run.Find("environment_definition")->Find("python")->GetBool("userManagedDependencies"));
  for (const char* absent : {"environment_name", "watch", "collect_outputs", "keep_snapshot", "auto_prepare", "max_duration_seconds", "priority"})
    EXPECT_EQ(run.Find(absent), nullptr) << absent;
  // Words of the command line win.
  Write("src/other.py", "print(2)\n");
  EXPECT_EQ(Submit({"-c", "mine", "other.py"}), 0) << err();
  EXPECT_EQ(Posted().GetString("script"), "other.py");
  EXPECT_EQ(Posted().GetStrings("arguments"), (std::vector<std::string>{"--lr", "0.1"}));
  EXPECT_EQ(Submit({"-c", "mine", "other.py", "--lr", "1"}), 0) << err();
  EXPECT_EQ(Posted().GetStrings("arguments"), (std::vector<std::string>{"--lr", "1"}));
  EXPECT_EQ(Submit({"-c", "mine", "--interpreter", "python3.12"}), 0) << err();
  EXPECT_EQ(Posted().GetString("interpreter"), "python3.12");
  EXPECT_EQ(Posted().Find("environment_definition")->Find("python")->GetString("interpreterPath"), "python3.12");
}

TEST_F(Configuration, EveryFieldOfTheRequest) {
  Write("src/.azureml/all.runconfig", R"(script: train.py
jobName: nightly
maxRunDurationSeconds: 60
priority: 3
autoPrepareEnvironment: false
history: {outputCollection: false, snapshotProject: false, directoriesToWatch: [logs, tb]}
environment:
  name: given
  docker: {enabled: true, baseImage: 'r.example/i:1', baseImageRegistry: {address: r.example, username: me, password: hidden-word}}
  python: {condaDependenciesFile: conda.yml}
)");
  Write("src/conda.yml", "dependencies: [python=3.11, {pip: [six]}]\n");
  EXPECT_EQ(Submit({"-c", "all"}), 0) << err();
  Json run = Posted();
  EXPECT_EQ(run.GetInt("max_duration_seconds"), 60);
  EXPECT_EQ(run.GetInt("priority"), 3);
  EXPECT_EQ(run.GetString("name"), "nightly");
  EXPECT_EQ(run.GetStrings("watch"), (std::vector<std::string>{"logs", "tb"}));
  for (const char* off : {"collect_outputs", "keep_snapshot", "auto_prepare"}) {
    ASSERT_NE(run.Find(off), nullptr) << off;
    EXPECT_EQ(*run.Find(off), Json(false)) << off;
  }
  EXPECT_EQ(run.Find("interpreter"), nullptr);
  auto environment = model::EnvironmentFromJson(*run.Find("environment_definition"));
  ASSERT_TRUE(environment.ok()) << environment.error().message;
  EXPECT_EQ(environment->name, "given");
  EXPECT_EQ(environment->docker.registry_password, "hidden-word");
  EXPECT_EQ(environment->conda.pip, std::vector<std::string>{"six"});
  EXPECT_EQ(out().find("hidden-word"), std::string::npos);
  EXPECT_EQ(err().find("hidden-word"), std::string::npos);
  EXPECT_EQ(Submit({"-c", "all", "--max-run-duration-seconds", "0", "--name", "own"}), 0) << err();
  EXPECT_EQ(Posted().Find("max_duration_seconds"), nullptr);
  EXPECT_EQ(Posted().GetString("name"), "own");
}

TEST_F(Configuration, BuildContextIsSentAsASnapshot) {
  Write("src/.azureml/image.runconfig",
        "script: train.py\nenvironment:\n  docker: {enabled: true, buildContext: {location: image, dockerfilePath: My.Dockerfile}}\n  python: "
        "{userManagedDependencies: true}\n");
  EXPECT_EQ(Submit({"-c", "image"}), 5);
  EXPECT_NE(err().find("environment.docker.buildContext.location: there is no folder 'image' in "), std::string::npos) << err();
  Write("src/image/My.Dockerfile", "FROM debian:12\n");
  EXPECT_EQ(Submit({"-c", "image"}), 0) << err();
  const Json context = *Posted().Find("environment_definition")->Find("docker")->Find("buildContext");
  EXPECT_EQ(context.GetString("dockerfilePath"), "My.Dockerfile");
  EXPECT_NE(server_.blobs().at(context.GetString("snapshot")).find("My.Dockerfile"), std::string::npos);
  EXPECT_TRUE(server_.blobs().count(HashBytes("FROM debian:12\n").Hex()));
  auto environment = model::EnvironmentFromJson(*Posted().Find("environment_definition"));
  ASSERT_TRUE(environment.ok()) << environment.error().message;
  EXPECT_EQ(environment->docker.context_dockerfile, "My.Dockerfile");
}

TEST_F(Configuration, EnvironmentByNameAndByFile) {
  Write("src/.azureml/named.runconfig",
        "script: train.py\nenvironment: {name: AzureML-Minimal, version: 2, environmentVariables: }\nenvironmentVariables: {A: 1}\n");
  EXPECT_EQ(Submit({"-c", "named"}), 0) << err();
  EXPECT_EQ(Posted().GetString("environment_name"), "AzureML-Minimal@2");
  EXPECT_EQ(Posted().GetStringMap("environment").at("A"), "1");
  EXPECT_EQ(Posted().Find("environment_definition"), nullptr);
  EXPECT_EQ(Submit({"-c", "named", "--environment", "own:4"}), 0) << err();
  EXPECT_EQ(Posted().GetString("environment_name"), "own@4");
  EXPECT_EQ(Submit({"--environment-name", "own@latest", "train.py"}), 0) << err();
  EXPECT_EQ(Posted().GetString("environment_name"), "own");
  EXPECT_EQ(Posted().Find("run_configuration"), nullptr);

  Write("src/conda.yml", "dependencies: [numpy]\n");
  Write("requirements.txt", "six\n");
  EXPECT_EQ(Submit({"-c", "named", "-d", "conda.yml"}), 0) << err();
  EXPECT_EQ(model::EnvironmentFromJson(*Posted().Find("environment_definition"))->conda.dependencies, std::vector<std::string>{"numpy"});
  EXPECT_EQ(Posted().Find("environment_name"), nullptr);
  EXPECT_EQ(Submit({"-d", folder_ + "/requirements.txt", "train.py"}), 0) << err();
  EXPECT_EQ(model::EnvironmentFromJson(*Posted().Find("environment_definition"))->conda.pip, std::vector<std::string>{"six"});
  EXPECT_EQ(Submit({"train.py"}), 0) << err();
  EXPECT_EQ(Posted().Find("environment_definition"), nullptr);

  const size_t before = server_.posted().size();
  EXPECT_EQ(Submit({"--environment", "a@b@c", "train.py"}), 2);
  EXPECT_EQ(err().find("ferry: 'a@b@c' does not name an environment; expected NAME"), 0u) << err();
  EXPECT_EQ(Submit({"-d", "conda.yml", "--environment", "a", "train.py"}), 2);
  EXPECT_EQ(Submit({"-d", "none.yml", "train.py"}), 5);
  EXPECT_NE(err().find("there is no file 'none.yml' in "), std::string::npos) << err();
  EXPECT_EQ(server_.posted().size(), before);
}

TEST_F(Configuration, IsFoundByNameOrPath) {
  Write("src/aml_config/old.runconfig", kUserManaged);
  Write("src/.azureml/j.json", R"({"script": "train.py", "environment": {"python": {"userManagedDependencies": true}}})");
  Write("src/.azureml/y.yml", kUserManaged);
  Write("elsewhere/far.yml", kUserManaged);
  for (const auto& [name, shown] :
       {std::pair<std::string, std::string>("old", "old"), {"old.runconfig", "old"}, {"j", "j"}, {"y.yml", "y"}, {folder_ + "/elsewhere/far.yml", "far"}}) {
    EXPECT_EQ(Submit({"-c", name}), 0) << name << err();
    EXPECT_EQ(Posted().GetString("run_configuration"), shown);
  }
  EXPECT_EQ(Submit({"-c", "gone"}), 5);
  EXPECT_NE(err().find("ferry: there is no run configuration 'gone' in .azureml or aml_config of "), std::string::npos) << err();
  EXPECT_NE(err().find("; there are: old\n"), std::string::npos) << err();
  EXPECT_EQ(Run({"run", "submit-script", "--source-directory", folder_ + "/elsewhere", "-c", "gone"}), 5);
  EXPECT_NE(err().find("there are none there; make some with: ferry folder attach"), std::string::npos) << err();
  EXPECT_EQ(Run({"run", "submit-script", "--source-directory", Src()}), 2);
  EXPECT_EQ(err().find("ferry: SCRIPT is missing, and no run configuration (-c) names one\n"), 0u) << err();
}

TEST_F(Configuration, NothingIsSentWithErrors) {
  Write("src/.azureml/bad.runconfig", "script: train.py\nnodeCount: two\ncolour: red\nenvironment: {python: {userManagedDependencies: perhaps}}\n");
  EXPECT_EQ(Submit({"-c", "bad"}), 2);
  EXPECT_EQ(
      err(),
      ".azureml/bad.runconfig:3: warning: colour: is not a key that Ferry knows\n"
      ".azureml/bad.runconfig:2: error: nodeCount: expected a whole number from 1 to 2147483647, found 'two'\n"
      ".azureml/bad.runconfig:4: error: environment.python.userManagedDependencies: expected true or false, found 'perhaps'\n"
      ".azureml/bad.runconfig:4: error: environment.python: expected condaDependencies or condaDependenciesFile, because userManagedDependencies is false, "
      "found neither, and no .azureml/conda_dependencies.yml\n"
      "ferry: .azureml/bad.runconfig has 3 errors; nothing was submitted\n");
  Write("src/.azureml/later.runconfig", StrCat(kUserManaged, "nodeCount: 2\n"));
  EXPECT_EQ(Submit({"-c", "later"}), 2);
  EXPECT_EQ(err(),
            ".azureml/later.runconfig:6: error: nodeCount: 2 nodes are not supported yet; expected 1\n"
            "ferry: .azureml/later.runconfig has an error; nothing was submitted\n");
  Write("src/.azureml/broken.runconfig", "script: [\n");
  EXPECT_EQ(Submit({"-c", "broken"}), 2);
  EXPECT_EQ(err().find(".azureml/broken.runconfig:2:1: error: this is not YAML: "), 0u) << err();
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Configuration, ClusterForOneRun) {
  const std::string rest = "environment: {python: {userManagedDependencies: true}}\n";
  Write("src/.azureml/c.runconfig", StrCat("script: train.py\ntarget: AmlCompute\namlCompute: {vmSize: STANDARD_D2_V2, clusterMaxNodeCount: 3, vmPriority: "
                                           "lowpriority}\n",
                                           rest));
  EXPECT_EQ(Submit({"-c", "c"}), 0) << err();
  EXPECT_EQ(Posted().GetString("target"), "amlcompute");
  EXPECT_EQ(Posted().Find("cluster")->Dump(), R"({"vm_size":"STANDARD_D2_V2","max_nodes":3,"vm_priority":"lowpriority"})");
  // The section alone makes none.
  EXPECT_EQ(Submit({"-c", "c", "--target", "cpu"}), 0) << err();
  EXPECT_EQ(Posted().Find("cluster"), nullptr);
  EXPECT_EQ(Posted().GetString("target"), "cpu");
  Write("src/.azureml/c.runconfig", StrCat("script: train.py\ntarget: amlcompute\namlCompute: {name: a}\n", rest));
  EXPECT_EQ(Submit({"-c", "c"}), 2);
  EXPECT_EQ(Submit({"--target", "amlcompute", "train.py"}), 2);
  EXPECT_NE(err().find("amlCompute.vmSize of a run configuration (-c) must say which"), std::string::npos) << err();
}

TEST_F(Configuration, CommandsOfTheFileAndOfTheLine) {
  Write("src/.azureml/c.runconfig", "command: echo $HOME\nenvironment: {python: {userManagedDependencies: true}}\n");
  EXPECT_EQ(Submit({"-c", "c"}), 0) << err();
  EXPECT_EQ(Posted().GetStrings("command"), (std::vector<std::string>{"sh", "-c", "echo $HOME"}));
  EXPECT_EQ(Posted().Find("script"), nullptr);
  EXPECT_EQ(Run({"run", "submit-command", "-e", "exp", "--async", "--source-directory", Src(), "-c", "c", "--", "true"}), 0) << err();
  EXPECT_EQ(Posted().GetStrings("command"), std::vector<std::string>{"true"});
  EXPECT_EQ(Posted().GetString("run_configuration"), "c");
}

TEST_F(Configuration, WorkspaceAndExperimentOfTheFolder) {
  auto submit = [&](const std::string& folder) { return Run({"run", "submit-script", "--async", "--path", folder, "--source-directory", Src(), "train.py"}); };
  Write("src/.azureml/config.json", R"({"workspace_name": "team", "experiment_name": "bears"})");
  EXPECT_EQ(submit(Src()), 0) << err();
  EXPECT_EQ(Posted().GetString("workspace"), "team");
  EXPECT_EQ(Posted().GetString("experiment"), "bears");
  // As old versions wrote it.
  Write("old/aml_config/project.json",
        R"({"Id": "wolves", "Scope": "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/den/projects/wolves"})");
  EXPECT_EQ(submit(folder_ + "/old"), 0) << err();
  EXPECT_EQ(Posted().GetString("workspace"), "den");
  EXPECT_EQ(Posted().GetString("experiment"), "wolves");
  // Nothing at --path: the source folder's.
  Write("bare/x", "");
  EXPECT_EQ(submit(folder_ + "/bare"), 0) << err();
  EXPECT_EQ(Posted().GetString("experiment"), "bears");
}

TEST_F(Configuration, ValidateAndShow) {
  Write("p/.azureml/good.runconfig", StrCat(kUserManaged, "colour: 1\nnodeCount: 3\n"));
  const std::string good = folder_ + "/p/.azureml/good.runconfig";
  EXPECT_EQ(Run({"runconfig", "validate", good}), 0) << err();
  EXPECT_EQ(out(), StrCat(good, ":6: warning: colour: is not a key that Ferry knows\n", good,
                          ":7: warning: nodeCount: 3 nodes are not supported yet; expected 1\n", good, " is valid, 2 warnings\n"));
  EXPECT_EQ(Run({"runconfig", "validate", "-o", "json", good}), 0) << err();
  EXPECT_TRUE(ParseJson(out())->GetBool("valid"));
  EXPECT_EQ(ParseJson(out())->Find("warnings")->as_array()[0].GetInt("line"), 6);
  // Its files are found from the folder above .azureml.
  Write("p/.azureml/conda.runconfig", "script: a.py\nenvironment: {python: {condaDependenciesFile: c.yml}}\n");
  Write("p/c.yml", "dependencies: [numpy=1.2, {pip: [six]}]\n");
  EXPECT_EQ(Run({"runconfig", "validate", folder_ + "/p/.azureml/conda.runconfig"}), 0) << out();
  EXPECT_EQ(Run({"runconfig", "show", "--resolved", "--query", "environment.python.condaDependencies.dependencies[0]", "-o", "tsv",
                 folder_ + "/p/.azureml/conda.runconfig"}),
            0)
      << err();
  EXPECT_EQ(out(), "numpy=1.2\n");
  Write("p/bad.yml", "script: a.py\nenvironment: {docker: {baseImageRegistry: {password: hidden-word, username: me}}, python: {userManagedDependencies: 7}}\n");
  EXPECT_EQ(Run({"runconfig", "validate", "-o", "json", folder_ + "/p/bad.yml"}), 2);
  EXPECT_FALSE(ParseJson(out())->GetBool("valid"));
  EXPECT_EQ(Run({"runconfig", "show", "--resolved", folder_ + "/p/bad.yml"}), 2);
  EXPECT_EQ(Run({"runconfig", "show", folder_ + "/p/bad.yml"}), 0) << err();
  EXPECT_EQ(
      out(),
      "script: a.py\nenvironment:\n  docker:\n    baseImageRegistry:\n      password: '***'\n      username: me\n  python:\n    userManagedDependencies: 7\n");
  Write("p/broken.yml", "a: [\n");
  EXPECT_EQ(Run({"runconfig", "validate", folder_ + "/p/broken.yml"}), 2);
  EXPECT_EQ(out(),
            StrCat(folder_, "/p/broken.yml:2:1: error: this is not YAML: end of sequence flow not found\n", folder_, "/p/broken.yml is not valid: 1 error\n"));
  EXPECT_EQ(Run({"runconfig", "validate", folder_ + "/p/none.yml"}), 5);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Configuration, AttachMakesWhatIsMissing) {
  EXPECT_EQ(Run({"folder", "attach", "-w", "team", Src()}), 0) << err();
  EXPECT_EQ(out(), "made .azureml/config.json\nmade .azureml/conda_dependencies.yml\nmade .azureml/docker.runconfig\nmade .azureml/local.runconfig\n");
  EXPECT_NE(err().find("to workspace 'team', experiment 'src'\n"), std::string::npos) << err();
  EXPECT_EQ(ParseJson(*os::ReadFile(Src() + "/.azureml/config.json"))->GetString("workspace_name"), "team");
  for (const char* name : {"local", "docker"}) EXPECT_EQ(Run({"runconfig", "validate", StrCat(Src(), "/.azureml/", name, ".runconfig")}), 0) << out();
  // What is there is left alone.
  Write("src/.azureml/local.runconfig", "mine\n");
  ASSERT_TRUE(os::RemoveFile(Src() + "/.azureml/docker.runconfig").ok());
  EXPECT_EQ(Run({"folder", "attach", "-w", "other", "-e", "exp", "--path", Src(), "-o", "json"}), 0) << err();
  EXPECT_EQ(ParseJson(out())->GetStrings("made"), std::vector<std::string>{".azureml/docker.runconfig"});
  EXPECT_EQ(ParseJson(out())->GetString("workspace"), "team");
  EXPECT_EQ(*os::ReadFile(Src() + "/.azureml/local.runconfig"), "mine\n");
  EXPECT_NE(err().find(".azureml/config.json names the workspace 'team', not 'other'; edit it to change that\n"), std::string::npos) << err();
  EXPECT_EQ(Run({"folder", "attach", folder_ + "/none"}), 5);
  EXPECT_EQ(Run({"folder", "attach", "-w", "no good", Src()}), 2);
  // A compute target's template, once.
  EXPECT_TRUE(*WriteTargetTemplate(Src(), "gpu-1", "AmlCompute"));
  EXPECT_FALSE(*WriteTargetTemplate(Src(), "gpu-1", "AmlCompute"));
  EXPECT_NE(os::ReadFile(Src() + "/.azureml/gpu-1.runconfig")->find("\ntarget: gpu-1\n"), std::string::npos);
  for (const std::string& request : server_.requests()) EXPECT_NE(request.find("/api/v1/computetargets"), std::string::npos) << request;
}

}  // namespace
}  // namespace ferry::cli
