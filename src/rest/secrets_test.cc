// Secrets over a real socket.
#include "rest/test_server.h"

namespace ferry::rest {
namespace {

class SecretsTest : public ServerTest {
 protected:
  http::Reply Set(const std::string& name, const std::string& body) { return Ask(contributor_, "PUT", "/api/v1/secrets/" + name, body); }
};

TEST_F(SecretsTest, AreSetReadListedAndForgotten) {
  EXPECT_EQ(Set("db-password", R"({"value":"hush \u00e4 \n","content_type":"text/plain"})").status, 201);
  Json read = Good(Ask(contributor_, "GET", "/api/v1/secrets/db-password"));
  EXPECT_EQ(read.GetString("value"), "hush \xc3\xa4 \n");
  EXPECT_EQ(read.GetString("content_type"), "text/plain");
  EXPECT_EQ(read.GetString("user"), "carl");
  auto replaced = Set("db-password", R"({"value":"better"})");
  EXPECT_EQ(replaced.status, 200);
  EXPECT_EQ(replaced.body.find("better"), std::string::npos);
  EXPECT_EQ(Get("/api/v1/secrets/db-password").GetString("value"), "better");
  Set("another", R"({"value":"x"})");
  Json list = Get("/api/v1/secrets");
  ASSERT_EQ(list.Find("secrets")->as_array().size(), 2u);
  EXPECT_EQ(list.Find("secrets")->as_array()[1].GetString("name"), "db-password");
  EXPECT_EQ(list.Dump().find("value"), std::string::npos);
  auto document = store_->Get("secret", "default/db-password");
  EXPECT_EQ((*document)->body.find("better"), std::string::npos) << "sealed";
  EXPECT_EQ(Ask(contributor_, "DELETE", "/api/v1/secrets/another").status, 200);
  EXPECT_EQ(ErrorOf(Ask(contributor_, "DELETE", "/api/v1/secrets/another")), "404 secret.not_found");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "GET", "/api/v1/secrets/another")), "404 secret.not_found");
}

TEST_F(SecretsTest, BadOnesAreRefusedWithoutRepeatingThem) {
  for (const auto& [name, body, slug] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"a", R"({})", "400 secret.value"},
           {"a", R"({"value":""})", "400 secret.value"},
           {"a", R"({"value":{"hush":1}})", "400 field.type"},
           {"a", R"({"value":"hush","contentType":"x"})", "400 field.unknown"},
           {"a", StrCat(R"({"value":")", std::string((64u << 10) + 1, 'h'), "\"}"), "413 field.too_long"},
           {"a.b", R"({"value":"hush"})", "400 secret.name"},
           {"a%2fb", R"({"value":"hush"})", "400 secret.name"},
           {std::string(128, 'a'), R"({"value":"hush"})", "400 secret.name"},
           {"a", R"({"value":"hush","workspace":"none"})", "404 workspace.not_found"}}) {
    auto reply = Set(name, body);
    EXPECT_EQ(ErrorOf(reply), slug) << body.substr(0, 100);
    EXPECT_EQ(reply.body.find("hush"), std::string::npos);
  }
  EXPECT_EQ(Set("a", StrCat(R"({"value":")", std::string(64u << 10, 'h'), "\"}")).status, 201) << "the longest";
}

TEST_F(SecretsTest, AreForContributorsAndForRunsOfTheirWorkspace) {
  Hello();
  Post("/api/v1/workspaces", R"({"name":"team"})");
  Set("here", R"({"value":"1"})");
  Set("there", R"({"value":"2","workspace":"team"})");
  for (const char* method : {"GET", "PUT", "DELETE"}) EXPECT_EQ(ErrorOf(Ask(reader_, method, "/api/v1/secrets/here")), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/secrets")), "403 auth.forbidden");
  Submit("r");
  std::string token = access_->RunToken({"r", 1});
  EXPECT_EQ(Good(Ask(token, "GET", "/api/v1/secrets/here")).GetString("value"), "1");
  EXPECT_EQ(ErrorOf(Ask(token, "GET", "/api/v1/secrets/there")), "404 secret.not_found");
  EXPECT_EQ(ErrorOf(Ask(token, "GET", "/api/v1/secrets/there?workspace=team")), "403 auth.workspace");
  EXPECT_EQ(ErrorOf(Ask(token, "GET", "/api/v1/secrets")), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Ask(token, "PUT", "/api/v1/secrets/here", "{}")), "403 auth.forbidden");
  EXPECT_EQ(Get("/api/v1/secrets/there?workspace=team").GetString("value"), "2");
  Good(Ask(owner_, "DELETE", "/api/v1/workspaces/team"));
  Post("/api/v1/workspaces", R"({"name":"team"})");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/secrets/there?workspace=team")), "404 secret.not_found") << "gone with its workspace";
}

}  // namespace
}  // namespace ferry::rest
