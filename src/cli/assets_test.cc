#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/fake_server.h"

namespace ferry::cli {
namespace {

// Models, datasets, datastores, secrets and workspaces: what is asked of the server, and what is refused before it is asked.
class Assets : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    server_.before = [this](const http::Head& head, const std::string& body) -> std::optional<http::Response> {
      if (head.path.starts_with("/api/v1/blobs/")) return std::nullopt;
      std::string asked = StrCat(head.method, " ", head.path);
      for (const auto& [name, value] : head.query) asked += StrCat(asked.find('?') == std::string::npos ? "?" : "&", name, "=", value);
      asked_.push_back(asked);
      bodies_.push_back(body);
      auto found = answers_.find(asked);
      if (found == answers_.end()) return FakeServer::Fails(Code::kNotFound, "none", StrCat("nothing at ", asked));
      return http::Response{200, {{"content-type", "application/json"}}, found->second};
    };
  }
  Json Sent() const { return bodies_.empty() ? Json() : *ParseJson(bodies_.back()); }

  std::map<std::string, std::string> answers_;
  std::vector<std::string> asked_, bodies_;
};

TEST_F(Assets, ModelOfARunsFile) {
  answers_["POST /api/v1/models"] = R"({"id": "m:1", "name": "m", "version": 1})";
  for (const char* text : {R"({"id": "r1"})", R"({"run_id": "r1"})", R"({"runId": "r1", "id": "x"})"}) {
    Write("run.json", text);
    EXPECT_EQ(Run({"model", "register", "-n", "m", "-f", folder_ + "/run.json", "--asset-path", "outputs/m.pkl", "--tag", "a=1", "--cc", "0.5"}), 0) << err();
    EXPECT_EQ(out(), "m:1\n");
    EXPECT_EQ(Sent().Dump(), R"({"name":"m","workspace":"default","run":"r1","tags":{"a":"1"},"resources":{"cpu":0.5},"path":"outputs/m.pkl"})");
  }
  EXPECT_EQ(Run({"model", "register", "-n", "m", "-f", folder_ + "/run.json", "--asset-path", "x", "--cc", "many"}), 2);
  EXPECT_NE(err().find("--cpu-cores is 'many'; expected a number from 0"), std::string::npos) << err();
}

TEST_F(Assets, ModelOfFilesHere) {
  answers_["POST /api/v1/models"] = R"({"id": "m:1"})";
  Write("net/a", "1");
  Write("net/deep/b", "2");
  EXPECT_EQ(Run({"model", "register", "-n", "m", "-p", folder_ + "/net/"}), 0) << err();
  const Json files = *Sent().Find("files");
  ASSERT_EQ(files.as_array().size(), 2u);
  EXPECT_EQ(files.as_array()[0].GetString("path"), "net/a");
  EXPECT_EQ(files.as_array()[1].GetString("path"), "net/deep/b");
  EXPECT_EQ(server_.blobs().count(HashBytes("2").Hex()), 1u);
  EXPECT_EQ(Run({"model", "register", "-n", "m", "-p", folder_ + "/net/a"}), 0) << err();
  EXPECT_EQ(Sent().Find("files")->as_array()[0].GetString("path"), "a");
  ASSERT_TRUE(os::MakeLink("..", folder_ + "/net/up").ok());
  EXPECT_EQ(Run({"model", "register", "-n", "m", "-p", folder_ + "/net"}), 2);
  EXPECT_NE(err().find("net/up is neither a file nor a folder"), std::string::npos) << err();
}

TEST_F(Assets, ModelsByIdNameAndRun) {
  answers_["GET /api/v1/models/m?version=2&workspace=default"] = R"({"id": "m:2"})";
  answers_["GET /api/v1/models?limit=1&run=r1&workspace=default"] = R"({"models": [{"id": "m:3"}]})";
  EXPECT_EQ(Run({"model", "show", "m:2", "-o", "tsv"}), 0) << err();
  EXPECT_EQ(out(), "m:2\n");
  EXPECT_EQ(Run({"model", "show", "-n", "m", "--version", "2", "-o", "tsv"}), 0) << err();
  EXPECT_EQ(Run({"model", "show", "--run-id", "r1", "-o", "tsv"}), 0) << err();
  EXPECT_EQ(out(), "m:3\n");
  EXPECT_EQ(Run({"model", "show"}), 2);
  EXPECT_EQ(Run({"model", "show", ":2"}), 2);
  EXPECT_EQ(Run({"model", "show", "m:"}), 2);
  EXPECT_EQ(Run({"model", "update", "m:2"}), 2);
}

TEST_F(Assets, DatasetOfADescription) {
  answers_["POST /api/v1/datasets"] = R"({"name": "d", "version": 3})";
  answers_["GET /api/v1/datastores/store/files?limit=1&prefix=a/&workspace=default"] = R"({"files": [{"path": "a/x.csv"}]})";
  Write("d.json", R"({"datasetType": "file", "parameters": {"path": {"datastoreName": "store", "relativePath": "a/*.csv"}, "partitionFormat": "{x}.csv"},
                      "registration": {"name": "d", "createNewVersion": true}})");
  EXPECT_EQ(Run({"dataset", "register", "-f", folder_ + "/d.json"}), 0) << err();
  EXPECT_EQ(out(), "d version 3\n");
  EXPECT_EQ(Sent().Dump(), R"({"name":"d","type":"File","definition":{"paths":[{"datastore":"store","path":"a/*.csv"}],"read":{"partition_format":"{x}.csv"},)"
                           R"("steps":[]},"create_new_version":true,"workspace":"default"})");
  answers_["GET /api/v1/datastores/store/files?limit=1&prefix=a/&workspace=default"] = R"({"files": []})";
  EXPECT_EQ(Run({"dataset", "register", "-f", folder_ + "/d.json"}), 5);
  EXPECT_NE(err().find("d.json: parameters.path[0]: datastore 'store' has no files at 'a/*.csv'"), std::string::npos) << err();
  EXPECT_EQ(Run({"dataset", "register", "-f", folder_ + "/d.json", "--skip-validation"}), 0) << err();
}

TEST_F(Assets, DatastoreThatStandsForAContainer) {
  answers_["GET /api/v1/datastores?workspace=default"] =
      R"({"datastores": [{"name": "one", "azure": {"account_name": "a", "container_name": "c"}}, {"name": "two", "azure": {"account_name": "a", "container_name": "c"}},
                         {"name": "lake", "azure": {"account_name": "l"}}, {"name": "own"}]})";
  auto attached = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "datastore");
    for (const char* word : {"--query", "name", "-o", "tsv"}) words.emplace_back(word);
    return Run(words) == 0 ? out() : err();
  };
  EXPECT_EQ(attached({"attach-blob", "-n", "two", "-a", "a", "-c", "c"}), "two\n");
  EXPECT_EQ(attached({"attach-blob", "-n", "three", "-a", "a", "-c", "c"}), "one\n");
  EXPECT_EQ(attached({"attach-adls", "-n", "x", "-c", "l", "--client-secret", "hidden"}), "lake\n");
  EXPECT_EQ(
      attached({"attach-adls", "-n", "x", "-c", "k", "--client-secret", "hidden"}),
      "ferry: no datastore of workspace 'default' stands for 'k', and Azure's storage is not reached from here; attached are: 'a/c' as 'one', 'a/c' as 'two', "
      "'l' as 'lake'; attach one in its place: ferry datastore attach-folder -n x --folder /PATH -a k (or attach-s3)\n");
  EXPECT_EQ(Run({"datastore", "attach-blob", "-n", "no-name", "-a", "a", "-c", "c"}), 2);
  // Keys are for Azure and go nowhere.
  for (const std::string& asked : asked_) EXPECT_EQ(asked.find("hidden"), std::string::npos);
}

TEST_F(Assets, SecretKeysComeFromFilesOrInput) {
  answers_["PUT /api/v1/datastores/s"] = R"({"name": "s"})";
  input_ = "the key\n";
  EXPECT_EQ(Run({"datastore", "attach-s3", "-n", "s", "--bucket", "b", "--endpoint", "http://h", "--prefix", "/a/b/", "--access-key", "id", "--secret-key-file",
                 "-"}),
            0)
      << err();
  EXPECT_EQ(Sent().Dump(), R"({"kind":"s3","bucket":"b","endpoint":"http://h","prefix":"a/b","access_key":"id","secret_key":"the key","workspace":"default"})");
  EXPECT_EQ(Run({"datastore", "attach-s3", "-n", "s", "--bucket", "b", "--access-key", "id"}), 2);
}

TEST_F(Assets, Secrets) {
  answers_["PUT /api/v1/secrets/n"] = R"({"name": "n", "value": "leaked"})";
  input_ = "of input\r\n";
  EXPECT_EQ(Run({"secret", "set", "n", "-o", "json"}), 0) << err();
  EXPECT_EQ(Sent().GetString("value"), "of input");
  EXPECT_EQ(out().find("leaked"), std::string::npos);
  Write("value", "two\nlines\n\n");
  EXPECT_EQ(Run({"secret", "set", "n", "-f", folder_ + "/value"}), 0) << err();
  EXPECT_EQ(Sent().GetString("value"), "two\nlines\n");
  input_ = "\n";
  EXPECT_EQ(Run({"secret", "set", "n"}), 2);
  Write("value", std::string((64u << 10) + 1, 'x'));
  EXPECT_EQ(Run({"secret", "set", "n", "-f", folder_ + "/value"}), 7);
  EXPECT_EQ(Run({"secret", "set", "n", "value"}), 2);
}

TEST_F(Assets, WorkspacesRecordWhatIsAzures) {
  answers_["POST /api/v1/workspaces"] = answers_["PATCH /api/v1/workspaces/w"] = answers_["DELETE /api/v1/workspaces/w"] = R"({"name": "w"})";
  EXPECT_EQ(Run({"workspace", "create", "-w", "w", "-l", "here", "-g", "group", "--subscription", "s", "--hbi-workspace"}), 0) << err();
  EXPECT_EQ(err(), "recorded and not enforced: --location, --resource-group, --subscription-id, --hbi-workspace\n");
  EXPECT_EQ(Sent().Find("properties")->Dump(), R"({"hbi_workspace":"true","location":"here","resource_group":"group","subscription_id":"s"})");
  EXPECT_EQ(Run({"workspace", "update-dependencies", "-w", "w", "--keyvault", "k"}), 0) << err();
  EXPECT_EQ(Sent().Dump(), R"({"properties":{"key_vault":"k"}})");
  EXPECT_EQ(Run({"workspace", "delete", "-w", "w"}), 2);
  EXPECT_EQ(Run({"workspace", "delete", "-w", "w", "-y"}), 0) << err();
  EXPECT_EQ(Run({"workspace", "delete", "-y"}), 2);
}

}  // namespace
}  // namespace ferry::cli
