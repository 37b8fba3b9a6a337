#include "cli/azure.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/fake_server.h"

namespace ferry::cli {
namespace {

TEST(Azure, StatusesAreThoseOfAz) {
  EXPECT_EQ(AzureStatus(MakeError(Code::kInvalid, "args.missing", "")), 2);
  EXPECT_EQ(AzureStatus(MakeError(Code::kInvalid, "script.invalid", "")), 1);
  EXPECT_EQ(AzureStatus(MakeError(Code::kNotFound, "run.not_found", "")), 3);
  for (Code code : {Code::kUnauthorized, Code::kForbidden, Code::kConflict, Code::kTooLarge, Code::kUnavailable, Code::kTimeout, Code::kExhausted,
                    Code::kCanceled, Code::kInternal})
    EXPECT_EQ(AzureStatus(MakeError(code, "x", "")), 1);
}

TEST(Azure, RunsHaveAzuresKeys) {
  Json run = *ParseJson(R"({"id": "r1", "status": "Completed", "experiment": "e", "started": "2026-11-15T10:41:07Z", "name": "n", "workspace": "w",
                           "tags": {"a_b": "1"}, "properties": {"azureml.git.commit_id": "x"}, "end": {"exit_code": 0}})");
  EXPECT_EQ(AzureShape(run, "run show").Dump(),
            R"({"runId":"r1","id":"r1","status":"Completed","experimentName":"e","startTimeUtc":"2026-11-15T10:41:07Z","displayName":"n","workspaceName":"w",)"
            R"("tags":{"a_b":"1"},"properties":{"azureml.git.commit_id":"x"},"end":{"exitCode":0}})");
  EXPECT_EQ(AzureShape(Json(Json::Array{run}), "run list").as_array()[0].GetString("runId"), "r1");
  EXPECT_TRUE(AzureShape(Json(), "workspace sync-keys").is_null());
}

TEST(Azure, WorkspacesShowWhatWasRecorded) {
  Json shaped = AzureShape(*ParseJson(R"({"name": "w", "created": "t", "properties": {"location": "eastus", "resource_group": "g", "storage_account": "s"}})"),
                           "workspace show");
  EXPECT_EQ(shaped.GetString("location"), "eastus");
  EXPECT_EQ(shaped.GetString("resourceGroup"), "g");
  EXPECT_EQ(shaped.GetString("storageAccount"), "s");
  EXPECT_EQ(shaped.GetString("creationTime"), "t");
  EXPECT_EQ(shaped.GetString("id"), "/subscriptions/ferry/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w");
}

TEST(Azure, AliasQuotesTheProgram) {
  EXPECT_NE(AzureAlias("/a b/it's").find("'/a b/it'\\''s' az \"$@\""), std::string::npos);
  EXPECT_TRUE(AzureAlias("/f").ends_with("}\n"));
}

class AzureCommand : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    server_.before = [](const http::Head& head, const std::string&) -> std::optional<http::Response> {
      if (head.path == "/api/v1/version") return FakeServer::Ok(*ParseJson(R"({"version": "9", "protocol": 1, "user": "joe", "role": "owner"})"));
      if (head.path == "/api/v1/computetargets")
        return FakeServer::Ok(*ParseJson(
            R"({"computetargets": [{"name": "local", "type": "local", "status": {"current_node_count": 2, "node_state_counts": {"running": 1, "unusable": 1}}}]})"));
      if (head.path == "/api/v1/runs" && head.method == "GET")
        return FakeServer::Ok(*ParseJson(R"({"runs": [{"id": "r1", "status": "Running", "target": "local", "experiment": "e", "created": "t"}]})"));
      return std::nullopt;
    };
  }
};

TEST_F(AzureCommand, LoginSaysWhichServerAndUser) {
  EXPECT_EQ(Run({"az", "login", "--service-principal", "-u", "x", "-p", "y", "--tenant", "z"}), 0) << err();
  EXPECT_NE(err().find(StrCat("the server ", server_.url(), " (version 9), user 'joe', owner")), std::string::npos) << err();
  Json accounts = *ParseJson(out());
  EXPECT_EQ(accounts.as_array()[0].Find("user")->GetString("name"), "joe");
  EXPECT_EQ(Run({"az", "account", "set", "-s", "1234"}), 0) << err();
  EXPECT_EQ(out(), "");
  EXPECT_NE(err().find("user 'joe'"), std::string::npos) << err();
  EXPECT_EQ(Run({"az", "account", "show", "--query", "user.name", "-o", "tsv"}), 0) << err();
  EXPECT_EQ(out(), "joe\n");
  EXPECT_EQ(Run({"az", "account", "list", "-o", "none"}), 0) << err();
}

TEST_F(AzureCommand, BatchAi) {
  EXPECT_EQ(Run({"az", "batchai", "cluster", "list"}), 0) << err();
  Json cluster = ParseJson(out())->as_array()[0];
  EXPECT_EQ(cluster.GetInt("currentNodeCount"), 2);
  EXPECT_EQ(cluster.Find("nodeStateCounts")->GetInt("runningNodeCount"), 1);
  EXPECT_EQ(cluster.Find("nodeStateCounts")->GetInt("unusableNodeCount"), 1);
  EXPECT_EQ(Run({"az", "batchai", "job", "list", "-o", "table"}), 0) << err();
  EXPECT_NE(out().find("r1    running  local    e"), std::string::npos) << out();
}

TEST_F(AzureCommand, MachineLearningIsTheSameCommands) {
  EXPECT_EQ(Run({"az", "ml", "run", "list", "--query", "[].runId", "-o", "tsv"}), 0) << err();
  EXPECT_EQ(out(), "r1\n");
  EXPECT_EQ(Run({"az", "ml", "run", "list"}), 0) << err();
  EXPECT_EQ(ParseJson(out())->as_array()[0].GetString("experimentName"), "e");
  EXPECT_EQ(Run({"az", "ml", "run", "show", "-r", "none"}), 3);
  EXPECT_TRUE(err().starts_with("ERROR: ")) << err();
  EXPECT_EQ(Run({"az", "ml", "run", "show"}), 2);
  EXPECT_NE(err().find("see: az ml run show --help"), std::string::npos) << err();
  EXPECT_EQ(Run({"az", "ml", "job", "create"}), 2);
  EXPECT_EQ(Run({"az", "storage"}), 2);
}

TEST_F(AzureCommand, WhatIsNotThereYetSaysSo) {
  EXPECT_EQ(Run({"run", "submit-hyperdrive", "--hyperdrive-configuration-name", "h.yml", "train.py", "-x"}), 2);
  EXPECT_EQ(err(), "ferry: 'ferry run submit-hyperdrive' is not part of this version of Ferry yet.\n");
  EXPECT_EQ(Run({"az", "ml", "pipeline", "list"}), 1);
  EXPECT_EQ(err(), "ERROR: 'az ml pipeline list' is not part of this version of Ferry yet.\n");
  EXPECT_EQ(Run({"computetarget", "create", "computeinstance", "-n", "c", "-s", "STANDARD_NC6"}), 2);
  EXPECT_EQ(err(), "ferry: Creating compute of type ComputeInstance is not part of this version of Ferry yet.\n");
  // Words are looked at first.
  EXPECT_EQ(Run({"computetarget", "create", "computeinstance", "-n", "c"}), 2);
  EXPECT_TRUE(err().starts_with("ferry: computetarget create computeinstance needs -s/--vm-size SIZE\n")) << err();
}

TEST_F(AzureCommand, MetadataFileHoldsTheResult) {
  const std::string file = folder_ + "/run.json";
  server_.run_view = View("Completed");
  EXPECT_EQ(Run({"run", "show", "-r", "r1", "-t", file, "--query", "id", "-o", "tsv"}), 0) << err();
  EXPECT_EQ(ParseJson(*os::ReadFile(file))->GetString("id"), "r1");
  EXPECT_EQ(Run({"az", "ml", "run", "show", "-r", "r1", "-t", file, "-o", "none"}), 0) << err();
  EXPECT_EQ(ParseJson(*os::ReadFile(file))->GetString("runId"), "r1");
  EXPECT_EQ(Run({"run", "show", "-r", "r1", "-t", folder_ + "/no/run.json"}), 5);
}

TEST_F(AzureCommand, InsideARunTheTokenIsTheRuns) {
  ::unsetenv("FERRY_TOKEN");
  ::setenv("AZUREML_RUN_TOKEN", "of-the-run", 1);
  EXPECT_EQ(Run({"run", "list"}), 0) << err();
  EXPECT_EQ(server_.tokens().count("Bearer of-the-run"), 1u);
  ::setenv("FERRY_TOKEN", "mine", 1);
  EXPECT_EQ(Run({"run", "list"}), 0) << err();
  EXPECT_EQ(server_.tokens().count("Bearer mine"), 1u);
}

}  // namespace
}  // namespace ferry::cli
