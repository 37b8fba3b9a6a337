#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "model/data.h"
#include "runconfig/config.h"
#include "runconfig/template.h"

namespace ferry::runconfig {
namespace {

using Files = std::map<std::string, std::string>;

Lookup LookupOf(Files files) {
  return [files = std::move(files)](const std::string& path) -> Result<std::string> {
    auto found = files.find(path);
    if (found == files.end()) return MakeError(Code::kNotFound, "file.not_found", StrCat("there is no file '", path, "'"));
    return found->second;
  };
}

Reading ReadText(std::string_view text, const Files& files = {}, const Given& given = {}) {
  auto node = yaml::Parse(text, "a.runconfig");
  EXPECT_TRUE(node.ok()) << node.error().message;
  return node.ok() ? Read(*node, "a.runconfig", LookupOf(files), given) : Reading();
}

std::string Listed(const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) out += Text(problem) + "\n";
  return out;
}

// Without errors and warnings.
RunConfig Good(std::string_view text, const Files& files = {}, const Given& given = {}) {
  Reading reading = ReadText(text, files, given);
  EXPECT_EQ(Listed(reading.errors), "");
  EXPECT_EQ(Listed(reading.warnings), "");
  return reading.config;
}

std::string ErrorsOf(std::string_view text, const Files& files = {}, const Given& given = {}) { return Listed(ReadText(text, files, given).errors); }

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// With FERRY_BLESS the file is written anew.
void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = StrCat(FERRY_SOURCE_DIR, "/src/runconfig/testdata/", name);
  if (std::getenv("FERRY_BLESS")) std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(FileText(path), text) << "make it anew: tools/bless";
}

constexpr const char* kUserManaged = "environment: {python: {userManagedDependencies: true}}\n";
std::string With(std::string_view more) { return StrCat("script: train.py\n", kUserManaged, more); }

TEST(RunConfiguration, DefaultsAndValues) {
  RunConfig plain = Good(With(""));
  EXPECT_EQ(plain.script, "train.py");
  EXPECT_EQ(plain.target, "local");
  EXPECT_EQ(plain.framework, "Python");
  EXPECT_EQ(plain.communicator, "None");
  EXPECT_TRUE(plain.auto_prepare_environment);
  EXPECT_EQ(plain.max_run_duration_seconds, 0);
  EXPECT_EQ(plain.history.directories_to_watch, std::vector<std::string>{"logs"});
  EXPECT_EQ(plain.environment.interpreter, "");
  EXPECT_TRUE(plain.environment.user_managed);
  EXPECT_FALSE(plain.environment.docker.enabled);
  EXPECT_EQ(plain.environment.docker.base_image, "");
  EXPECT_EQ(plain.yarn_deploy_mode, "Cluster");

  RunConfig set = Good(R"(
script: src/train.py
arguments: [--lr, 0.1, "--name", "x y", true, $HOME, None, ]
target: gpu-box
framework: python
autoPrepareEnvironment: FALSE
prepareEnvironment: true
maxRunDurationSeconds: 3600
priority: 7
jobName: nightly
environmentVariables: {B: top, C: 3}
environment:
  python: {userManagedDependencies: true, interpreterPath: /usr/bin/python3}
  environmentVariables: {A: 1, B: inner, D: }
history: {outputCollection: false, snapshotProject: no, directoriesToWatch: [logs, tb], anything: 1}
)");
  EXPECT_EQ(set.arguments, (std::vector<std::string>{"--lr", "0.1", "--name", "x y", "true", "$HOME", "None"}));
  EXPECT_EQ(set.target, "gpu-box");
  EXPECT_FALSE(set.auto_prepare_environment);
  EXPECT_EQ(set.max_run_duration_seconds, 3600);
  EXPECT_EQ(set.priority, 7);
  EXPECT_EQ(set.job_name, "nightly");
  EXPECT_EQ(set.environment.interpreter, "/usr/bin/python3");
  EXPECT_EQ(set.environment.variables, (std::map<std::string, std::string>{{"A", "1"}, {"B", "top"}, {"C", "3"}, {"D", ""}}));
  EXPECT_FALSE(set.history.output_collection);
  EXPECT_FALSE(set.history.snapshot_project);
  EXPECT_EQ(set.history.directories_to_watch, (std::vector<std::string>{"logs", "tb"}));
}

TEST(RunConfiguration, JsonIsReadAsWell) {
  RunConfig config = Good("{\n\t\"script\": \"train.py\",\n\t\"arguments\": null,\n\t\"environment\": {\"python\": {\"userManagedDependencies\": true}}\n}");
  EXPECT_EQ(config.script, "train.py");
  EXPECT_TRUE(config.arguments.empty());
}

TEST(RunConfiguration, KeysAndWordsInAnyCaseAndAbsentValues) {
  RunConfig config = Good(R"(
SCRIPT: train.py
Framework: PYTHON
communicator: None
Target: None
NodeCount: None
maxrundurationseconds:
arguments:
sourceDirectoryDataStore: !!null x
amlcompute: {vmsize: STANDARD_D2_V2, VMPRIORITY: LowPriority, name: None}
environment:
  version:
  Python: {UserManagedDependencies: True, baseCondaEnvironment: None}
  docker: None
history: ''
hdi: {yarnDeployMode: none}
)");
  EXPECT_EQ(config.target, "local");
  EXPECT_EQ(config.node_count, 1);
  EXPECT_EQ(config.aml_compute.vm_size, "STANDARD_D2_V2");
  EXPECT_EQ(config.aml_compute.vm_priority, "lowpriority");
  EXPECT_EQ(config.aml_compute.name, "");
  EXPECT_EQ(config.yarn_deploy_mode, "None");
  EXPECT_EQ(ErrorsOf(With("amlCompute: {}\namlcompute: {}\n")), "a.runconfig:4: amlcompute: stands twice, first as 'amlCompute' in line 3\n");
}

TEST(RunConfiguration, UnknownKeysAreWarnings) {
  Reading reading = ReadText(With("nodeCuont: 2\ncolour: red\nhistory: {whatever: 1}\ntensorflow: {workersCount: 2}\nauto_prepare_environment: false\n"));
  EXPECT_TRUE(reading.errors.empty()) << Listed(reading.errors);
  EXPECT_EQ(Listed(reading.warnings),
            "a.runconfig:3: nodeCuont: is not a key that Ferry knows; did you mean 'nodeCount'?\n"
            "a.runconfig:4: colour: is not a key that Ferry knows\n"
            "a.runconfig:6: tensorflow.workersCount: is not a key that Ferry knows; did you mean 'workerCount'?\n"
            "a.runconfig:7: auto_prepare_environment: is not a key that Ferry knows; did you mean 'autoPrepareEnvironment'?\n");
}

TEST(RunConfiguration, EverythingWrongAtOnce) {
  Reading reading = ReadText(
      FileText(StrCat(FERRY_SOURCE_DIR, "/src/runconfig/testdata/wrong.runconfig")),
      {{"requirements.txt", "# first\nnumpy==1.2\n\nwhat\\\n  is this\n-r more/deep.txt\n"}, {"more/deep.txt", "-r deep.txt\n"}, {"more/more/deep.txt", ""}});
  std::string text;
  for (const Problem& problem : reading.errors) text += Text(problem, "error") + "\n";
  for (const Problem& problem : reading.warnings) text += Text(problem, "warning") + "\n";
  ExpectGolden("wrong.txt", text);
}

TEST(RunConfiguration, ConditionalRequirements) {
  EXPECT_EQ(ErrorsOf(With("target: amlcompute\n")),
            "a.runconfig:3: amlCompute: expected a section 'amlCompute', because target is amlcompute, found nothing\n");
  EXPECT_EQ(ErrorsOf(With("target: containerinstance\n")),
            "a.runconfig:3: containerInstance: expected a section 'containerInstance', because target is containerinstance, found nothing\n");
  EXPECT_EQ(ErrorsOf(With("framework: tensorflow\n")),
            "a.runconfig:3: tensorflow: expected a section 'tensorflow', because framework is TensorFlow, found nothing\n");
  EXPECT_EQ(ErrorsOf(With("communicator: Mpi\n")), "a.runconfig:3: mpi: expected a section 'mpi', because communicator is Mpi, found nothing\n");
  EXPECT_EQ(ErrorsOf(With("framework: PySpark\n")), "a.runconfig:3: spark: expected a section 'spark', because framework is PySpark, found nothing\n");
  for (const char* good :
       {"target: amlcompute\namlCompute: {vmSize: a}\n", "target: containerinstance\ncontainerInstance: {region: here, cpuCores: 0.5, memoryGb: 1}\n",
        "framework: TensorFlow\ntensorflow: {workerCount: 2}\n", "communicator: mpi\nmpi: {processCountPerNode: 2}\n",
        "framework: pyspark\nspark: {configuration: {spark.app.name: x}}\n"})
    EXPECT_EQ(ErrorsOf(With(good)), "") << good;
  EXPECT_EQ(ErrorsOf("arguments: []\n"),
            "a.runconfig:1: script: expected the script to run, relative to the source folder, found nothing\n"
            "a.runconfig:1: environment: expected a section that says what the script needs, found nothing\n");
  EXPECT_EQ(ErrorsOf(With("command: echo\n")), "a.runconfig:3: command: script and command exclude each other; expected one of them\n");
  EXPECT_EQ(Good(StrCat(kUserManaged, "command: echo $A\n")).command, (std::vector<std::string>{"sh", "-c", "echo $A"}));
  EXPECT_EQ(Good(StrCat(kUserManaged, "command: [echo, a b]\n")).command, (std::vector<std::string>{"echo", "a b"}));
  EXPECT_EQ(ErrorsOf("- a\n"), "a.runconfig:1: expected a run configuration: keys such as script and environment, found a list\n");
  EXPECT_EQ(ErrorsOf(""), "a.runconfig:1: expected a run configuration: keys such as script and environment, found nothing\n");
}

TEST(RunConfiguration, CondaInlineOrInAFile) {
  const char* const environment = "script: train.py\nenvironment:\n  python:\n    userManagedDependencies: false\n";
  RunConfig inline_conda = Good(StrCat(environment,
                                       "    condaDependencies:\n      name: x\n      channels: [conda-forge]\n      dependencies:\n      - python=3.11\n"
                                       "      - conda-forge::numpy >=1.2\n      - pip\n      - pip:\n        - azureml-defaults  # ours\n"));
  EXPECT_EQ(inline_conda.environment.conda,
            (model::CondaSpecification{{"conda-forge"}, {"python=3.11", "conda-forge::numpy >=1.2", "pip"}, {"azureml-defaults"}}));
  EXPECT_FALSE(inline_conda.environment_named);

  const Files files = {{"envs/conda.yml", "dependencies:\n- python=3.10\n- pip:\n  - -r requirements.txt\n  - six\n"},
                       {"envs/requirements.txt", "# pinned\r\nnumpy==1.26 \\\r\n  --hash=sha256:00\r\n\r\nscipy\r\n"},
                       {".azureml/conda_dependencies.yml", "dependencies: [python]\n"}};
  RunConfig from_file = Good(StrCat(environment, "    condaDependenciesFile: envs/conda.yml\n"), files);
  EXPECT_EQ(from_file.environment.conda.dependencies, std::vector<std::string>{"python=3.10"});
  EXPECT_EQ(from_file.environment.conda.pip, (std::vector<std::string>{"numpy==1.26 --hash=sha256:00", "scipy", "six"}));
  EXPECT_EQ(Good(environment, files).environment.conda.dependencies, std::vector<std::string>{"python"});
  EXPECT_EQ(Good(environment, {{"aml_config/conda_dependencies.yml", "dependencies: [old]\n"}}).environment.conda.dependencies,
            std::vector<std::string>{"old"});
  EXPECT_EQ(ErrorsOf(environment),
            "a.runconfig:3: environment.python: expected condaDependencies or condaDependenciesFile, because userManagedDependencies is false, found neither, "
            "and no .azureml/conda_dependencies.yml\n");
  EXPECT_EQ(ErrorsOf(StrCat(environment, "    condaDependenciesFile: none.yml\n")),
            "a.runconfig:5: environment.python.condaDependenciesFile: there is no file 'none.yml'\n");
  // What is wrong in the other file is said of that file.
  EXPECT_EQ(ErrorsOf(StrCat(environment, "    condaDependenciesFile: bad.yml\n"), {{"bad.yml", "dependencies:\n- python\n- pip:\n  - numpy=1\n"}}),
            "bad.yml:4: dependencies[1].pip[0]: expected a pip requirement such as numpy==1.26, found 'numpy=1'; did you mean 'numpy==1'?\n");
  EXPECT_EQ(ErrorsOf(StrCat(environment, "    condaDependenciesFile: bad.yml\n"), {{"bad.yml", "dependencies: [\n"}}),
            "bad.yml:2:1: this is not YAML: end of sequence flow not found\n");
  Reading both = ReadText(StrCat(environment, "    condaDependencies: {dependencies: [python]}\n    condaDependenciesFile: envs/conda.yml\n"), files);
  EXPECT_TRUE(both.errors.empty());
  EXPECT_EQ(Listed(both.warnings), "a.runconfig:6: environment.python.condaDependenciesFile: is not used, because condaDependencies is there too\n");
}

TEST(RunConfiguration, LargeSpecification) {
  std::string conda = "dependencies:\n- python\n- pip:\n";
  for (int i = 0; i < 10'000; ++i) conda += StrCat("  - package-", i, "==1.", i, "\n");
  auto reading = ReadConda(conda, "c.yml", LookupOf({}));
  EXPECT_TRUE(reading.errors.empty());
  EXPECT_EQ(reading.conda.pip.size(), 10'000u);
  conda += "  - package one\n";
  EXPECT_EQ(Listed(ReadConda(conda, "c.yml", LookupOf({})).errors),
            "c.yml:10004: dependencies[1].pip[10000]: expected a pip requirement such as numpy==1.26, found 'package one'\n");
  // A requirements file that includes itself.
  auto loop = ReadConda("-r r.txt\n", "r.txt", LookupOf({{"r.txt", "-r r.txt\n"}}));
  EXPECT_EQ(Listed(loop.errors), "r.txt:1: 'r.txt' is included over more than 8 files; does one include itself?\n");
}

TEST(RunConfiguration, NamedEnvironment) {
  RunConfig named = Good("script: train.py\nenvironment: {name: AzureML-Minimal, version: 3, python: , docker: None}\n");
  EXPECT_TRUE(named.environment_named);
  EXPECT_EQ(named.environment.name, "AzureML-Minimal");
  EXPECT_EQ(named.environment.version, "3");
  EXPECT_FALSE(Good(StrCat("script: train.py\nenvironment: {name: mine, python: {userManagedDependencies: true}}\n")).environment_named);
  EXPECT_EQ(ErrorsOf("script: train.py\nenvironment: {name: mine, version: newest}\n"),
            "a.runconfig:2: environment.version: expected latest or a whole number from 1, found 'newest'\n");
}

TEST(RunConfiguration, Docker) {
  const std::string python = "script: train.py\nenvironment:\n  python: {userManagedDependencies: true}\n";
  RunConfig config = Good(StrCat(python, R"(  docker:
    enabled: true
    baseImageRegistry: {address: r.example, username: me, password: secret}
    arguments: [--cpus, 2]
    sharedVolumes: false
    gpuSupport: true
    platform: {os: Linux, architecture: amd64}
    preparation: {commandLine: }
)"));
  EXPECT_TRUE(config.environment.docker.enabled);
  EXPECT_EQ(config.environment.docker.base_image, kDefaultImage);
  EXPECT_EQ(config.environment.docker.shm_size, "2g");
  EXPECT_EQ(config.environment.docker.arguments, (std::vector<std::string>{"--cpus", "2"}));
  EXPECT_EQ(config.environment.docker.registry_password, "secret");
  EXPECT_TRUE(config.environment.docker.gpu);
  EXPECT_FALSE(config.environment.docker.shared_volumes);
  const std::string shown = Resolved(config).Dump();
  EXPECT_EQ(shown.find("secret"), std::string::npos) << shown;
  // The newer section beside the environment.
  RunConfig newer =
      Good(StrCat(python, "  docker: {enabled: false, baseImage: 'debian:12', shmSize: 1g}\ndocker: {useDocker: true, shmSize: 4g, arguments: [--x]}\n"));
  EXPECT_TRUE(newer.environment.docker.enabled);
  EXPECT_EQ(newer.environment.docker.base_image, "debian:12");
  EXPECT_EQ(newer.environment.docker.shm_size, "4g");
  EXPECT_EQ(newer.environment.docker.arguments, std::vector<std::string>{"--x"});
  // A Dockerfile as text and as a file.
  EXPECT_EQ(Good(StrCat(python, "  docker: {enabled: true, baseDockerfile: FROM debian:12}\n")).environment.docker.dockerfile, "FROM debian:12");
  EXPECT_EQ(Good(StrCat(python, "  docker: {enabled: true, baseDockerfile: Dockerfile}\n"), {{"Dockerfile", "FROM a\nRUN b\n"}}).environment.docker.dockerfile,
            "FROM a\nRUN b\n");
  EXPECT_EQ(ErrorsOf(StrCat(python, "  docker: {enabled: true, baseDockerfile: Dockerfile}\n")),
            "a.runconfig:4: environment.docker.baseDockerfile: there is no file 'Dockerfile'\n");
  EXPECT_EQ(ErrorsOf(StrCat(python, "  docker: {baseImage: a, baseDockerfile: FROM b}\n")),
            "a.runconfig:4: environment.docker: baseImage, baseDockerfile and buildContext exclude each other; expected one of them\n");
}

TEST(RunConfiguration, CommandLineWins) {
  const std::string file = "script: a.py\ntarget: amlcompute\nenvironment: {python: {condaDependenciesFile: none.yml}}\n";
  RunConfig config = Good(file, {{"own.yml", "dependencies: [numpy]\n"}},
                          {.script = "b.py", .target = "local", .conda_file = "own.yml", .interpreter = {}, .environment_name = {}});
  EXPECT_EQ(config.script, "b.py");
  EXPECT_EQ(config.target, "local");
  EXPECT_EQ(config.environment.conda.dependencies, std::vector<std::string>{"numpy"});
  Given named;
  named.environment_name = "env@2";
  named.target = "local";
  config = Good(file, {}, named);
  EXPECT_TRUE(config.environment_named);
  EXPECT_EQ(config.environment.version, "2");
  Given interpreter;
  interpreter.interpreter = "python3.11";
  interpreter.target = "local";
  config = Good("script: a.py\nenvironment: {name: x}\n", {}, interpreter);
  EXPECT_TRUE(config.environment.user_managed);
  EXPECT_EQ(config.environment.interpreter, "python3.11");
  EXPECT_FALSE(config.environment_named);
}

TEST(RunConfiguration, WhatCannotBeRunYet) {
  auto not_yet = [](std::string_view more) { return Listed(NotYet(ReadText(With(more)))); };
  EXPECT_EQ(not_yet(""), "");
  EXPECT_EQ(not_yet("nodeCount: 4\n"), "a.runconfig:3: nodeCount: 4 nodes are not supported yet; expected 1\n");
  EXPECT_EQ(not_yet("framework: PyTorch\ncommunicator: Nccl\n"),
            "a.runconfig:3: framework: PyTorch is not supported yet; expected Python\n"
            "a.runconfig:4: communicator: Nccl is not supported yet; expected None\n");
  EXPECT_EQ(not_yet("target: amlcompute\namlCompute: {vmSize: a}\n"),
            "a.runconfig:3: target: a target that is made for one run ('amlcompute') is not supported yet; expected 'local'\n");
  EXPECT_EQ(not_yet("dataReferences: {a: {dataStoreName: s}}\ndata: {b: {dataLocation: {dataset: {id: i}}}}\n"), "");
  Reading context = ReadText(
      "script: a.py\nenvironment:\n  docker: {enabled: true, buildContext: {location: image}}\n  python: {userManagedDependencies: true, baseCondaEnvironment: "
      "b}\n");
  EXPECT_EQ(Listed(NotYet(context)), "a.runconfig:4: environment.python.baseCondaEnvironment: building on a conda environment is not supported yet\n");
  EXPECT_EQ(context.config.docker_context, "image");
}

TEST(RunConfiguration, DataAsFieldsOfASubmission) {
  RunConfig config = Good(With(R"(dataReferences:
  a: {dataStoreName: s, mode: download, pathOnDataStore: in/a, pathOnCompute: here, overwrite: true}
  b: {dataStoreName: s, mode: Upload, pathOnDataStore: out/b, pathOnCompute: there}
data:
  c: {dataLocation: {dataset: {id: i-1}}, mechanism: direct, environmentVariableName: C}
  d: {dataLocation: {datapath: {datastoreName: t, relativePath: 'x/*.csv'}}, mechanism: Mount, pathOnCompute: /tmp/d}
  e: {dataLocation: {uri: 'https://h/f.csv'}, mechanism: download}
outputData:
  o:
    outputLocation: {dataPath: {datastoreName: t, relativePath: 'o/{run-id}'}}
    mechanism: upload
    additionalOptions:
      pathOnCompute: out
      registrationOptions: {name: n, description: t, tags: {k: v}}
      uploadOptions: {overwrite: true, sourceGlobs: {globPatterns: ['*.txt']}}
  p: {}
)"));
  DataFields fields = DataOf(config);
  EXPECT_EQ(fields.inputs.Dump(), R"({"a":{"paths":[{"datastore":"s","path":"in/a"}],"mode":"download","path_on_compute":"here","overwrite":true},)"
                                  R"("c":{"mode":"direct","dataset":"i-1","environment_variable":"C"},)"
                                  R"("d":{"mode":"mount","paths":[{"datastore":"t","path":"x/*.csv"}],"path_on_compute":"/tmp/d"},)"
                                  R"("e":{"mode":"download","paths":[{"url":"https://h/f.csv"}]}})");
  EXPECT_EQ(fields.outputs.Dump(), R"({"b":{"datastore":"s","path":"out/b","path_on_compute":"there"},)"
                                   R"("o":{"datastore":"t","path":"o/{run-id}","mode":"upload","path_on_compute":"out",)"
                                   R"("register":{"name":"n","description":"t","tags":{"k":"v"}},"overwrite":true,"globs":["*.txt"]},"p":{}})");
  // What the server reads is what was meant.
  EXPECT_TRUE(model::DataInputsFromJson(fields.inputs, "default").ok());
  EXPECT_TRUE(model::DataOutputsFromJson(fields.outputs, "default").ok());
  EXPECT_EQ(Listed(ReadText(With("data: {b: {}}\noutputData: [1]\n")).errors),
            "a.runconfig:3: data.b.dataLocation: expected a dataset (dataset.id), a path (dataPath) or an address (uri), found nothing\n"
            "a.runconfig:4: outputData: expected outputs by name, found a list\n");
}

TEST(RunConfiguration, ResolvedReadsBackAsTheSame) {
  RunConfig config = Good(
      "script: train.py\nenvironment:\n  docker: {enabled: true}\n  environmentVariables: {A: b}\n  python:\n    condaDependencies: {channels: [c], "
      "dependencies: [python=3.11, {pip: [six]}]}\n");
  Json resolved = Resolved(config);
  auto environment = model::EnvironmentFromJson(*resolved.Find("environment"));
  ASSERT_TRUE(environment.ok()) << environment.error().message;
  EXPECT_EQ(*environment, config.environment);
  auto node = yaml::Parse(resolved.DumpPretty(), "r.json");
  ASSERT_TRUE(node.ok());
  Reading again = Read(*node, "r.json", LookupOf({}));
  EXPECT_EQ(Listed(again.errors), "");
  EXPECT_EQ(Listed(again.warnings), "");
  EXPECT_EQ(Resolved(again.config).Dump(), resolved.Dump());
  ExpectGolden("resolved.json", resolved.DumpPretty() + "\n");
}

TEST(Templates, AreGoodAndComplete) {
  const Files files = {{kDefaultCondaFile, CondaTemplate()}};
  RunConfig local = Good(TemplateFor("local", false), files);
  EXPECT_EQ(local.target, "local");
  EXPECT_FALSE(local.environment.docker.enabled);
  EXPECT_EQ(local.environment.conda.pip, std::vector<std::string>{"azureml-defaults"});
  RunConfig docker = Good(TemplateFor("gpu-1", true), files);
  EXPECT_EQ(docker.target, "gpu-1");
  EXPECT_TRUE(docker.environment.docker.enabled);
  EXPECT_EQ(docker.framework, "Python");
  EXPECT_TRUE(NotYet(ReadText(TemplateFor("local", true), files)).empty());
  ExpectGolden("local.runconfig", TemplateFor("local", false));
  ExpectGolden("docker.runconfig", TemplateFor("local", true));
  ExpectGolden("conda_dependencies.yml", CondaTemplate());
}

}  // namespace
}  // namespace ferry::runconfig
