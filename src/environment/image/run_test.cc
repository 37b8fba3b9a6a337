// Command lines of containers. What an engine makes of them: container_test.cc.
#include "environment/image/run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace ferry::environment {
namespace {

const Engine kPodman{Engine::Kind::kPodman, "/usr/bin/podman", false};
const Engine kDocker{Engine::Kind::kDocker, "/usr/bin/docker", false};

Ready Image() {
  Ready ready;
  ready.image = "sha256:1234";
  ready.variables = {{"VIRTUAL_ENV", "/opt/ferry/venv"}};
  return ready;
}

RunPlan Plan(const Engine& engine = kPodman) {
  RunPlan plan;
  plan.engine = engine;
  plan.name = "ferry-a";
  plan.work = "/home/attempts/a/work";
  plan.argv = {"python", "train.py", "--lr", "0.1"};
  plan.later = {"FERRY_RUN_SOCKET"};
  plan.uid = 1000;
  plan.gid = 100;
  return plan;
}

std::string Line(const std::vector<std::string>& argv) { return Join(argv, " "); }

bool Has(const std::string& line, std::string_view part) { return StrCat(" ", line, " ").find(StrCat(" ", part, " ")) != std::string::npos; }

TEST(ContainerCommand, ScriptStandsBehindTheImage) {
  auto start = ContainerCommand(Image(), {}, Plan());
  ASSERT_TRUE(start.ok());
  std::string line = Line(start->argv);
  EXPECT_TRUE(line.starts_with("/usr/bin/podman run --rm --init "));
  EXPECT_TRUE(line.ends_with(" sha256:1234 python train.py --lr 0.1"));
  EXPECT_TRUE(Has(line, "--network host"));
  EXPECT_TRUE(Has(line, "--workdir /home/attempts/a/work"));
  EXPECT_TRUE(Has(line, "--volume /home/attempts/a/work:/home/attempts/a/work"));
  EXPECT_TRUE(Has(line, "--user 1000:100"));
  EXPECT_TRUE(Has(line, "--env FERRY_RUN_SOCKET"));
  EXPECT_TRUE(Has(line, "--env VIRTUAL_ENV"));
  EXPECT_FALSE(Has(line, "--shm-size"));
}

TEST(ContainerCommand, ValuesAreNotOnTheCommandLine) {
  RunPlan plan = Plan();
  plan.variables = {{"AZUREML_RUN_TOKEN", "s3cret"}, {"STORAGE_ACCOUNT_KEY", "s3cret"}, {"PATH", "/opt/bin"}, {"LD_LIBRARY_PATH", "/opt/lib"}};
  auto start = ContainerCommand(Image(), {}, plan);
  ASSERT_TRUE(start.ok());
  std::string line = Line(start->argv);
  EXPECT_EQ(line.find("s3cret"), std::string::npos);
  EXPECT_TRUE(Has(line, "--env AZUREML_RUN_TOKEN"));
  EXPECT_EQ(start->environment.at("AZUREML_RUN_TOKEN"), "s3cret");
  EXPECT_EQ(start->environment.at("STORAGE_ACCOUNT_KEY"), "s3cret");
  // The engine's own search path is not the script's.
  EXPECT_TRUE(Has(line, "--env PATH=/opt/bin"));
  EXPECT_TRUE(Has(line, "--env LD_LIBRARY_PATH=/opt/lib"));
  EXPECT_EQ(start->environment.count("PATH"), 0u);
  EXPECT_EQ(start->environment.count("LD_LIBRARY_PATH"), 0u);
}

TEST(ContainerCommand, Gpus) {
  RunPlan plan = Plan();
  plan.gpus = {2, 5};
  plan.variables = {{"CUDA_VISIBLE_DEVICES", "2,5"}};
  auto start = ContainerCommand(Image(), {}, plan);
  ASSERT_TRUE(start.ok());
  EXPECT_TRUE(Has(Line(start->argv), "--device nvidia.com/gpu=2 --device nvidia.com/gpu=5"));
  EXPECT_EQ(start->environment.at("CUDA_VISIBLE_DEVICES"), "0,1");
  plan.engine = kDocker;
  start = ContainerCommand(Image(), {}, plan);
  ASSERT_TRUE(start.ok());
  EXPECT_TRUE(Has(Line(start->argv), "--gpus \"device=2,5\""));
}

TEST(ContainerCommand, UsersArgumentsComeLast) {
  model::DockerSection docker;
  docker.shm_size = "2g";
  docker.arguments = {"--network=none", "--ipc", "host", "--cap-add", "SYS_PTRACE"};
  auto start = ContainerCommand(Image(), docker, Plan());
  ASSERT_TRUE(start.ok());
  std::string line = Line(start->argv);
  EXPECT_FALSE(Has(line, "--network host"));
  EXPECT_FALSE(Has(line, "--shm-size"));
  EXPECT_NE(line.find(" --network=none --ipc host --cap-add SYS_PTRACE sha256:1234 "), std::string::npos);
}

TEST(ContainerCommand, LimitsAndShm) {
  model::DockerSection docker;
  docker.shm_size = "2g";
  RunPlan plan = Plan();
  plan.cpus = 1.5;
  plan.memory = 1u << 30;
  auto start = ContainerCommand(Image(), docker, plan);
  ASSERT_TRUE(start.ok());
  std::string line = Line(start->argv);
  EXPECT_TRUE(Has(line, "--shm-size 2g"));
  EXPECT_TRUE(Has(line, "--cpus 1.5"));
  EXPECT_TRUE(Has(line, "--memory 1073741824"));
}

TEST(ContainerCommand, RootlessKeepsTheUser) {
  RunPlan plan = Plan();
  plan.engine.rootless = true;
  auto start = ContainerCommand(Image(), {}, plan);
  ASSERT_TRUE(start.ok());
  EXPECT_TRUE(Has(Line(start->argv), "--userns=keep-id"));
  EXPECT_FALSE(Has(Line(start->argv), "--user"));
  plan.engine = kDocker;
  plan.engine.rootless = true;
  start = ContainerCommand(Image(), {}, plan);
  ASSERT_TRUE(start.ok());
  EXPECT_TRUE(Has(Line(start->argv), "--user 0:0"));
}

TEST(ContainerCommand, SdkInFrontOfThePath) {
  RunPlan plan = Plan();
  plan.sdk = "/home/sdk/1";
  plan.variables = {{"PYTHONPATH", "/mine"}};
  auto start = ContainerCommand(Image(), {}, plan);
  ASSERT_TRUE(start.ok());
  EXPECT_TRUE(Has(Line(start->argv), "--volume /home/sdk/1:/home/sdk/1:ro"));
  EXPECT_EQ(start->environment.at("PYTHONPATH"), "/home/sdk/1:/mine");
  plan.variables = {{"PYTHONPATH", "/home/sdk/1"}};
  EXPECT_EQ(ContainerCommand(Image(), {}, plan)->environment.at("PYTHONPATH"), "/home/sdk/1");
}

TEST(ContainerCommand, VolumesThatAreNotShared) {
  model::DockerSection docker;
  docker.shared_volumes = false;
  RunPlan plan = Plan();
  plan.collected = {"/home/attempts/a/work/outputs"};
  auto start = ContainerCommand(Image(), docker, plan);
  ASSERT_TRUE(start.ok());
  EXPECT_TRUE(Has(Line(start->argv), "--volume /home/attempts/a/work:/home/attempts/a/work:O"));
  EXPECT_TRUE(Has(Line(start->argv), "--volume /home/attempts/a/work/outputs:/home/attempts/a/work/outputs"));
  plan.engine = kDocker;
  start = ContainerCommand(Image(), docker, plan);
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.error().field, "docker.sharedVolumes");
}

TEST(ContainerCommand, PathsThatEnginesTakeApart) {
  RunPlan plan = Plan();
  plan.work = "/home/a, b:c";
  EXPECT_EQ(ContainerCommand(Image(), {}, plan).error().slug, "container.path");
  plan.work = "/home/a:b";
  EXPECT_TRUE(Has(Line(ContainerCommand(Image(), {}, plan)->argv), "--mount type=bind,source=/home/a:b,destination=/home/a:b"));
  plan.variables = {{"A=B", "c"}};
  EXPECT_EQ(ContainerCommand(Image(), {}, plan).error().slug, "container.variable");
}

TEST(ContainerName, IsWhatEnginesTake) {
  EXPECT_EQ(ContainerName("w.run-1.2"), "ferry-w.run-1.2");
  std::string odd = ContainerName("w.läuft/1");
  EXPECT_TRUE(std::all_of(odd.begin(), odd.end(), [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_'; })) << odd;
  EXPECT_NE(ContainerName("a/b"), ContainerName("a:b"));
  EXPECT_LT(ContainerName(std::string(500, 'x')).size(), 128u);
}

}  // namespace
}  // namespace ferry::environment
