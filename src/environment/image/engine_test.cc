#include "environment/image/engine.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

TEST(FindEngine, SaysWhatToInstall) {
  std::string folder = os::JoinPath(testing::TempDir(), "engine." + RandomHex(6));
  ASSERT_TRUE(os::MakeFolders(folder).ok());
  Settings settings;
  settings.path = folder;
  auto none = FindEngine(settings);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().slug, "engine.not_found");
  EXPECT_NE(none.error().message.find("install"), std::string::npos);
  settings.container_engine = "/nothing/podman";
  EXPECT_NE(FindEngine(settings).error().message.find("/nothing/podman"), std::string::npos);

  settings.container_engine.clear();
  for (const char* name : {"docker", "catatonit"}) ASSERT_TRUE(os::WriteFile(os::JoinPath(folder, name), "#!/bin/sh\n", 0755).ok());
  auto docker = FindEngine(settings);
  ASSERT_TRUE(docker.ok());
  EXPECT_EQ(docker->kind, Engine::Kind::kDocker);
  ASSERT_TRUE(os::WriteFile(os::JoinPath(folder, "podman"), "#!/bin/sh\n", 0755).ok());
  EXPECT_EQ(FindEngine(settings)->kind, Engine::Kind::kPodman);
  settings.container_engine = "docker";
  EXPECT_EQ(FindEngine(settings)->kind, Engine::Kind::kDocker);
  ASSERT_TRUE(os::RemoveAll(folder).ok());
}

TEST(Engine, OneThatDoesNotAnswerIsSaid) {
  std::string program = os::JoinPath(testing::TempDir(), "docker." + RandomHex(6));
  ASSERT_TRUE(os::WriteFile(program, "#!/bin/sh\necho 'Cannot connect to the daemon. Is it running?' >&2\nexit 1\n", 0755).ok());
  auto id = ImageId({Engine::Kind::kDocker, program, false}, "a");
  ASSERT_FALSE(id.ok());
  EXPECT_NE(id.error().message.find("Is it running?"), std::string::npos) << id.error().message;
  ASSERT_TRUE(os::WriteFile(program, "#!/bin/sh\necho 'Error: No such image: a' >&2\nexit 1\n", 0755).ok());
  EXPECT_EQ(*ImageId({Engine::Kind::kDocker, program, false}, "a"), "");
  ASSERT_TRUE(os::RemoveFile(program).ok());
}

TEST(Engine, FullNames) {
  EXPECT_EQ(FullName("python:3.11"), "docker.io/library/python:3.11");
  EXPECT_EQ(FullName("a/b"), "docker.io/a/b");
  EXPECT_EQ(FullName("mcr.microsoft.com/azureml/base"), "mcr.microsoft.com/azureml/base");
  EXPECT_EQ(FullName("localhost/x"), "localhost/x");
  EXPECT_EQ(FullName("host:5000/x"), "host:5000/x");
}

TEST(Engine, LoginsGoThroughAFile) {
  auto json = ParseJson(AuthFile("reg.example.com", "me", "pa:ss"));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Dump(), R"({"auths":{"reg.example.com":{"auth":"bWU6cGE6c3M="}}})");
  BuildPlan plan{"t", "/f/Dockerfile", "/c", "/f/auth", "m", true};
  Engine podman{Engine::Kind::kPodman, "podman", false}, docker{Engine::Kind::kDocker, "docker", false};
  EXPECT_NE(Join(BuildCommand(podman, plan), " ").find("--authfile /f/auth/config.json"), std::string::npos);
  EXPECT_EQ(Join(BuildCommand(docker, plan), " ").find("/f/auth"), std::string::npos);
  EXPECT_EQ(EngineVariables(docker, "/f/auth", "/t").at("DOCKER_CONFIG"), "/f/auth");
  EXPECT_EQ(Join(PullCommand(podman, "a", "/f/auth"), " "), "podman pull --authfile /f/auth/config.json a");
}

}  // namespace
}  // namespace ferry::environment
