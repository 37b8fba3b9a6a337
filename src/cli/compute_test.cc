#include "cli/compute.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/fake_server.h"

namespace ferry::cli {
namespace {

constexpr const char* kCluster =
    R"({"name":"cpu","workspace":"default","type":"AmlCompute","provider":"process","provisioning_state":"Succeeded","provisioning_errors":null,)"
    R"("vm_size":"STANDARD_D2_V2","vm_priority":"dedicated","min_nodes":0,"max_nodes":4,"idle_seconds_before_scaledown":1800,"slots_per_node":1,)"
    R"("tags":{"a":"b"},"description":"","recorded":{"location":"here"},"user":"me","created":"2026-11-15T10:41:07Z","modified":"2026-11-15T10:41:07Z")";
constexpr const char* kStatus =
    R"(,"status":{"current_node_count":2,"target_node_count":3,"allocation_state":"Resizing","allocation_state_transition_time":"2026-11-15T10:41:07Z",)"
    R"("node_state_counts":{"idle":1,"running":1,"preparing":1,"unusable":0,"leaving":0,"preempted":0},"errors":null},"reason":"+1 node because run r2 waits",)"
    R"("runs":{"running":["r1"],"waiting":1},"limits":"not enforced: no cgroup","oversubscribed":null)";

std::string Whole() { return StrCat(kCluster, kStatus, "}"); }

// Compute targets: what is asked of the server, what is refused before it is asked, and what is printed.
class Compute : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    server_.before = [this](const http::Head& head, const std::string& body) -> std::optional<http::Response> {
      std::string asked = StrCat(head.method, " ", head.path);
      for (const auto& [name, value] : head.query) asked += StrCat(asked.find('?') == std::string::npos ? "?" : "&", name, "=", value);
      asked_.push_back(asked);
      bodies_.push_back(body);
      auto found = answers_.find(asked);
      if (found == answers_.end()) return FakeServer::Fails(Code::kNotFound, "target.not_found", StrCat("nothing at ", asked));
      std::string answer = found->second.front();
      if (found->second.size() > 1) found->second.erase(found->second.begin());
      if (answer.empty()) answers_.erase(found);
      if (answer.empty()) return FakeServer::Fails(Code::kNotFound, "target.not_found", "it is gone");
      return http::Response{answer.starts_with("!") ? 409 : 200, {{"content-type", "application/json"}}, answer.substr(answer.starts_with("!"))};
    };
    answers_["GET /api/v1/computetargets/cpu?workspace=default"] = {Whole()};
    answers_["POST /api/v1/computetargets"] = {StrCat(kCluster, "}")};
    answers_["PATCH /api/v1/computetargets/cpu?workspace=default"] = {StrCat(kCluster, "}")};
  }
  // The body of the last request with this method.
  std::string Sent(std::string_view method) const {
    for (size_t i = asked_.size(); i-- > 0;)
      if (asked_[i].starts_with(method)) return bodies_[i];
    return {};
  }

  std::map<std::string, std::vector<std::string>> answers_;  // each is given once, the last for ever; "": not found
  std::vector<std::string> asked_, bodies_;
};

TEST_F(Compute, MadeInTheWordsOfVersionOne) {
  answers_["GET /api/v1/computetargets/cpu?workspace=default"] = {R"({"name":"cpu","provisioning_state":"Creating"})", Whole()};
  EXPECT_EQ(Run({"computetarget", "create", "amlcompute", "-n", "cpu", "-s", "STANDARD_D2_V2", "--max-nodes", "4", "-p", "lowpriority", "--tag", "a=b", "-l",
                 "here", "--admin-user-password", "geheim"}),
            0)
      << err();
  EXPECT_EQ(Sent("POST"),
            R"({"min_nodes":0,"idle_seconds_before_scaledown":1800,"name":"cpu","vm_size":"STANDARD_D2_V2","max_nodes":4,"vm_priority":"lowpriority",)"
            R"("tags":{"a":"b"},"recorded":{"location":"here"},"type":"AmlCompute","workspace":"default"})");
  EXPECT_NE(err().find("recorded and not enforced: --location\n"), std::string::npos) << err();
  EXPECT_NE(err().find("cpu: Creating\ncpu: Succeeded\n"), std::string::npos) << err();
  EXPECT_EQ(out().find("geheim"), std::string::npos);
  EXPECT_NE(out().find("nodes         2 of 0 to 4, going to 3 (1 running, 1 idle, 1 preparing)\n"), std::string::npos) << out();
  EXPECT_NE(out().find("why           +1 node because run r2 waits\n"), std::string::npos) << out();
  EXPECT_NE(out().find("waiting       1 run\n"), std::string::npos) << out();
  EXPECT_EQ(Run({"computetarget", "create", "amlcompute", "-n", "cpu", "-s", "STANDARD_D2_V2"}), 2);
  EXPECT_TRUE(err().starts_with("ferry: computetarget create amlcompute needs --max-nodes N\n")) << err();
}

TEST_F(Compute, NotWaitedFor) {
  EXPECT_EQ(Run({"compute", "create", "cpu", "--size", "STANDARD_D2_V2", "--tier", "low_priority", "--no-wait", "-o", "json"}), 0) << err();
  EXPECT_EQ(
      Sent("POST"),
      R"({"idle_seconds_before_scaledown":120,"name":"cpu","vm_size":"STANDARD_D2_V2","vm_priority":"lowpriority","type":"AmlCompute","workspace":"default"})");
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(Compute, FailedOrGone) {
  answers_["GET /api/v1/computetargets/cpu?workspace=default"] = {R"({"name":"cpu","provisioning_state":"Failed","provisioning_errors":"no room"})"};
  EXPECT_EQ(Run({"compute", "create", "cpu", "--size", "STANDARD_D2_V2"}), 6);
  EXPECT_NE(err().find("compute target 'cpu' failed: no room"), std::string::npos) << err();
  answers_["GET /api/v1/computetargets/cpu?workspace=default"] = {""};
  EXPECT_EQ(Run({"compute", "create", "cpu", "--size", "STANDARD_D2_V2"}), 6);
}

TEST_F(Compute, MadeOfAFile) {
  Write("c.yml",
        "$schema: https://example.org/amlCompute.schema.json\nname: cpu\ntype: amlcompute\nsize: STANDARD_D2_V2\ntier: low_priority\nmin_instances: 1\n"
        "max_instances: 3\nidle_time_before_scale_down: 300\nlocation: here\ntags: {a: b}\nslots_per_node: 2\nssh_settings:\n  admin_username: me\n"
        "  admin_password: geheim\n");
  EXPECT_EQ(Run({"compute", "create", "-f", folder_ + "/c.yml", "--max-nodes", "5", "--tag", "c=d", "--no-wait"}), 0) << err();
  EXPECT_EQ(Sent("POST"),
            R"({"name":"cpu","type":"AmlCompute","vm_size":"STANDARD_D2_V2","vm_priority":"lowpriority","min_nodes":1,"max_nodes":5,)"
            R"("idle_seconds_before_scaledown":300,"slots_per_node":2,"tags":{"a":"b","c":"d"},"recorded":{"admin_username":"me","location":"here"},)"
            R"("workspace":"default"})");
  EXPECT_NE(err().find("c.yml:14: warning: ssh_settings.admin_password: is not used and not kept\n"), std::string::npos) << err();
  Write("wrong.yml", "name: cpu\nsizes: a\ntier: cheap\nmin_instances: many\n");
  EXPECT_EQ(Run({"compute", "create", "-f", folder_ + "/wrong.yml"}), 2);
  EXPECT_NE(err().find("wrong.yml:2: warning: sizes: is not a key that Ferry knows"), std::string::npos) << err();
  EXPECT_NE(err().find("wrong.yml:3: error: tier: expected one of dedicated, low_priority, lowpriority, found 'cheap'\n"), std::string::npos) << err();
  EXPECT_NE(err().find("wrong.yml:4: error: min_instances: expected a whole number from 0 to 1000000, found 'many'\n"), std::string::npos) << err();
  EXPECT_NE(err().find("wrong.yml has 2 errors; nothing was changed\n"), std::string::npos) << err();
  EXPECT_EQ(Run({"compute", "create", "-f", folder_ + "/none.yml"}), 5);
}

TEST_F(Compute, RefusedBeforeItIsAsked) {
  EXPECT_EQ(Run({"compute", "create", "--size", "a"}), 2);
  EXPECT_TRUE(err().starts_with("ferry: compute create needs a name: --name NAME, or in --file\n")) << err();
  EXPECT_EQ(Run({"compute", "create", "cpu"}), 2);
  EXPECT_TRUE(err().starts_with("ferry: compute create needs a size: --size SIZE, or in --file; see: ferry compute sizes\n")) << err();
  EXPECT_EQ(Run({"compute", "create", "cpu", "-t", "ComputeInstance", "--size", "a"}), 2);
  EXPECT_EQ(err(), "ferry: Creating compute of type ComputeInstance is not part of this version of Ferry yet.\n");
  EXPECT_EQ(Run({"compute", "create", "cpu", "-t", "toaster", "--size", "a"}), 2);
  EXPECT_EQ(Run({"compute", "update", "cpu"}), 2);
  EXPECT_EQ(Run({"compute", "delete", "local"}), 6);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Compute, InAnAttachedFolder) {
  ASSERT_EQ(Run({"folder", "attach", folder_ + "/src"}), 0);
  ASSERT_TRUE(os::MakeFolders(folder_ + "/src/deep").ok());
  EXPECT_EQ(Run({"compute", "create", "cpu", "--size", "STANDARD_D2_V2", "--no-wait", "--path", folder_ + "/src/deep"}), 0) << err();
  EXPECT_NE(err().find("made .azureml/cpu.runconfig"), std::string::npos) << err();
  EXPECT_NE(os::ReadFile(folder_ + "/src/.azureml/cpu.runconfig")->find("\ntarget: cpu\n"), std::string::npos);
  // Another workspace's targets are not the folder's.
  EXPECT_EQ(Run({"compute", "create", "gpu", "--size", "STANDARD_NC6", "--no-wait", "--path", folder_ + "/src", "-w", "other"}), 0) << err();
  EXPECT_FALSE(os::Exists(folder_ + "/src/.azureml/gpu.runconfig"));
}

TEST_F(Compute, Changed) {
  EXPECT_EQ(Run({"computetarget", "update", "amlcompute", "-n", "cpu", "--min-nodes", "1"}), 0) << err();
  EXPECT_EQ(Sent("PATCH"), R"({"min_nodes":1})");
  EXPECT_EQ(Run({"compute", "update", "cpu", "--max-instances", "9", "--tag", "x=y", "--remove-tag", "a"}), 0) << err();
  EXPECT_EQ(Sent("PATCH"), R"({"max_nodes":9,"set_tags":{"x":"y"},"remove_tags":["a"]})");
  Write("c.yml", "name: cpu\ntype: amlcompute\nsize: standard_d2_v2\nmax_instances: 7\n");
  EXPECT_EQ(Run({"compute", "update", "-f", folder_ + "/c.yml"}), 0) << err();
  EXPECT_EQ(Sent("PATCH"), R"({"max_nodes":7})");
  Write("c.yml", "name: cpu\ntype: amlcompute\nsize: STANDARD_NC6\nmax_instances: 7\n");
  EXPECT_EQ(Run({"compute", "update", "-f", folder_ + "/c.yml"}), 6);
  EXPECT_NE(err().find("vm_size of 'cpu' is 'STANDARD_D2_V2' and cannot be changed, found 'STANDARD_NC6'"), std::string::npos) << err();
}

TEST_F(Compute, Listed) {
  answers_["GET /api/v1/computetargets?workspace=default"] = {
      StrCat(R"({"computetargets":[{"name":"local","type":"local","provisioning_state":"Succeeded","status":{"current_node_count":1}},)", kCluster, "}]}")};
  EXPECT_EQ(Run({"compute", "list"}), 0) << err();
  EXPECT_EQ(out(),
            "TARGET  TYPE        SIZE            PRIORITY   NODES   OF  RUNNING  WAITING  STATE\n"
            "------  ----------  --------------  ---------  -----  ---  -------  -------  ---------\n"
            "local   local                                      1                         Succeeded\n"
            "cpu     AmlCompute  STANDARD_D2_V2  dedicated      2  0-4        1        1  Resizing\n");
  asked_.clear();
  EXPECT_EQ(Run({"computetarget", "list", "--query", "[].name", "-o", "tsv"}), 0) << err();
  EXPECT_EQ(out(), "local\ncpu\n");
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(Compute, AsAzureShowsIt) {
  answers_["GET /api/v1/computetargets?workspace=default"] = {StrCat(R"({"computetargets":[)", kCluster, "}]}")};
  EXPECT_EQ(Run({"az", "ml", "computetarget", "show", "-n", "cpu"}), 0) << err();
  Json shown = *ParseJson(out());
  EXPECT_EQ(shown.GetString("provisioningState"), "Succeeded");
  EXPECT_EQ(shown.GetString("location"), "here");
  const Json* properties = shown.Find("properties");
  EXPECT_EQ(properties->GetString("computeType"), "AmlCompute");
  EXPECT_EQ(properties->Find("properties")->Find("scaleSettings")->Dump(), R"({"minNodeCount":0,"maxNodeCount":4,"nodeIdleTimeBeforeScaleDown":"PT1800S"})");
  EXPECT_EQ(properties->Find("properties")->Find("nodeStateCounts")->GetInt("preparingNodeCount"), 1);
  EXPECT_EQ(Run({"az", "batchai", "cluster", "list"}), 0) << err();
  const Json cluster = ParseJson(out())->as_array()[0];
  EXPECT_EQ(cluster.GetString("allocationState"), "resizing");
  EXPECT_EQ(cluster.GetInt("currentNodeCount"), 2);
  EXPECT_EQ(cluster.Find("scaleSettings")->Find("autoScale")->GetInt("maximumNodeCount"), 4);
}

TEST_F(Compute, Deleted) {
  answers_["DELETE /api/v1/computetargets/cpu?workspace=default"] = {
      R"(!{"error":{"code":"conflict","slug":"target.in_use","message":"compute target 'cpu' has 2 runs"}})"};
  EXPECT_EQ(Run({"compute", "delete", "cpu"}), 6);
  EXPECT_EQ(err(), "ferry: compute target 'cpu' has 2 runs: ferry compute delete cpu --cancel-runs\n");
  answers_["DELETE /api/v1/computetargets/cpu?cancel=true&workspace=default"] = {StrCat(kCluster, "}")};
  answers_["GET /api/v1/computetargets/cpu?workspace=default"] = {R"({"name":"cpu","provisioning_state":"Deleting"})", ""};
  EXPECT_EQ(Run({"compute", "delete", "cpu", "--cancel-runs"}), 0) << err();
  EXPECT_EQ(out(), "deleted cpu\n");
  EXPECT_NE(err().find("cpu: Deleting\n"), std::string::npos) << err();
}

TEST_F(Compute, LookedInto) {
  answers_["GET /api/v1/computetargets/cpu/nodes?workspace=default"] = {
      R"({"nodes":[{"name":"cpu-1","state":"running","runs":["r1"],"vm_size":"STANDARD_D2_V2","arrived":null,"seen":null}]})"};
  EXPECT_EQ(Run({"compute", "nodes", "cpu"}), 0) << err();
  EXPECT_EQ(out(),
            "NODE   STATE    RUNS  SIZE            ARRIVED  SEEN\n-----  -------  ----  --------------  -------  ----\ncpu-1  running  r1    STANDARD_D2_V2\n");
  answers_["GET /api/v1/computetargets/cpu/explain?workspace=default"] = {
      R"({"reason":"+2 nodes because r1 waits","next":null,"decisions":[{"time":"","reason":"r1 waits","change":2}]})"};
  EXPECT_EQ(Run({"compute", "explain", "cpu"}), 0) << err();
  EXPECT_TRUE(out().starts_with("now           +2 nodes because r1 waits\n")) << out();
  EXPECT_NE(out().find("+2: r1 waits\n"), std::string::npos) << out();
  answers_["POST /api/v1/computetargets/cpu/evict?workspace=default"] = {R"({"node":"cpu-1","runs":["r1"]})"};
  EXPECT_EQ(Run({"compute", "evict", "cpu", "--node", "cpu-1"}), 0) << err();
  EXPECT_EQ(Sent("POST"), R"({"node":"cpu-1"})");
  EXPECT_EQ(out(), "evicting cpu-1: r1\n");
  answers_["GET /api/v1/cost?workspace=default"] = {R"({"targets":[{"name":"cpu","node_seconds":3600,"busy_seconds":900,"idle_seconds":2700,"cost":0.11},)"
                                                    R"({"name":"gpu","node_seconds":0,"busy_seconds":0,"idle_seconds":0,"cost":0}]})"};
  EXPECT_EQ(Run({"compute", "cost"}), 0) << err();
  EXPECT_NE(out().find("total"), std::string::npos) << out();
  answers_["GET /api/v1/vmsizes"] = {R"({"vmsizes":[{"name":"STANDARD_D2_V2","vCPUs":2,"memoryGB":7,"gpus":0,"maxResourceVolumeMB":102400,"price":0.11}]})"};
  EXPECT_EQ(Run({"compute", "sizes"}), 0) << err();
  EXPECT_EQ(out(),
            "SIZE            CORES  MEMORY GB  GPUS  PRICE AN HOUR\n--------------  -----  ---------  ----  -------------\nSTANDARD_D2_V2      2          7    "
            " 0           0.11\n");
  answers_["GET /api/v1/capabilities"] = {R"({"capabilities":[{"target":"AmlCompute","gpu":true,"hyperdrive":true,"automl":false,"pipelines":true}]})"};
  EXPECT_EQ(Run({"compute", "capabilities"}), 0) << err();
  EXPECT_EQ(out(),
            "TARGET      GPU  HYPERDRIVE  AUTOML  PIPELINES\n----------  ---  ----------  ------  ---------\nAmlCompute  yes  yes         no      yes\n");
}

}  // namespace
}  // namespace ferry::cli
