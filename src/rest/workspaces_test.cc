// Workspaces and experiments over a real socket.
#include "rest/test_server.h"

namespace ferry::rest {
namespace {

class WorkspacesTest : public ServerTest {
 protected:
  http::Reply Patch(const std::string& path, const std::string& body) { return Ask(owner_, "PATCH", "/api/v1/" + path, body); }
  http::Reply Delete(const std::string& path) { return Ask(owner_, "DELETE", "/api/v1/" + path); }
};

TEST_F(WorkspacesTest, AreMadeChangedAndDeleted) {
  Json made = Post("/api/v1/workspaces", R"({"name":"team","description":"d","properties":{"location":"westeurope","subscription_id":"s"},"tags":{"a":1}})");
  EXPECT_EQ(made.GetString("friendly_name"), "team") << "its name, until it is given another";
  EXPECT_EQ(made.GetString("default_datastore"), "workspaceblobstore");
  EXPECT_EQ(made.Find("properties")->GetString("location"), "westeurope");
  EXPECT_EQ(Get("/api/v1/workspaces/team").Dump(), made.Dump());
  Json changed = Good(Patch("workspaces/team", R"({"set_tags":{"b":"2"},"remove_tags":["a"],"description":"","friendly_name":"The team",
      "default_datastore":"workspacefilestore","properties":{"location":"here"}})"));
  EXPECT_EQ(changed.Find("tags")->Dump(), R"({"b":"2"})");
  EXPECT_EQ(changed.GetString("friendly_name"), "The team");
  EXPECT_EQ(changed.GetString("default_datastore"), "workspacefilestore");
  EXPECT_EQ(changed.Find("properties")->Dump(), R"({"location":"here","subscription_id":"s"})");
  EXPECT_EQ(Get("/api/v1/workspaces/team").Dump(), changed.Dump());
  for (const auto& [body, slug] : std::vector<std::pair<std::string, std::string>>{{R"({"name":"x"})", "400 field.unknown"},
                                                                                   {R"({"description":7})", "400 field.type"},
                                                                                   {R"({"default_datastore":"none"})", "404 datastore.not_found"},
                                                                                   {R"({"default_datastore":"a b"})", "400 datastore.name"},
                                                                                   {R"({"set_tags":[]})", "400 field.type"}})
    EXPECT_EQ(ErrorOf(Patch("workspaces/team", body)), slug) << body;
  EXPECT_EQ(ErrorOf(Patch("workspaces/none", "{}")), "404 workspace.not_found");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "PATCH", "/api/v1/workspaces/team", "{}")), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/workspaces", R"({"name":"x","colour":"red"})")), "400 field.unknown");

  Post("/api/v1/experiments", R"({"name":"empty","workspace":"team"})");
  Good(Ask(owner_, "PUT", "/api/v1/environments/mine?workspace=team", R"({"definition":{"python":{"userManagedDependencies":true}}})"));
  EXPECT_EQ(ErrorOf(Delete("workspaces/default")), "409 workspace.default");
  EXPECT_EQ(ErrorOf(Delete("workspaces/none")), "404 workspace.not_found");
  Post("/api/v1/workspaces", R"({"name":"team2"})");
  Submit("r", R"(,"workspace":"team2")");
  auto refused = Delete("workspaces/team2");
  EXPECT_EQ(ErrorOf(refused), "409 workspace.not_empty");
  EXPECT_NE(refused.body.find("it has 1 run"), std::string::npos) << refused.body;
  Good(Delete("workspaces/team"));
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/workspaces/team")), "404 workspace.not_found");
  EXPECT_EQ(Get("/api/v1/experiments").Find("experiments")->as_array().size(), 1u) << "of team2 alone, whose name begins the same";
  Post("/api/v1/workspaces", R"({"name":"team"})");
  EXPECT_TRUE(Get("/api/v1/environments?curated=false&workspace=team").Find("environments")->as_array().empty()) << "nothing comes back with the name";
}

TEST_F(WorkspacesTest, ExperimentsAreChangedRenamedAndDeleted) {
  Json made = Post("/api/v1/experiments", R"({"name":"e1","description":"d","tags":{"a":"1"}})");
  EXPECT_EQ(made.GetString("description"), "d");
  EXPECT_TRUE(made.Find("archived_time")->is_null());
  Json changed = Good(Patch("experiments/e1", R"({"set_tags":{"b":2},"remove_tags":["a"],"archived":true,"description":"better"})"));
  EXPECT_EQ(changed.Find("tags")->Dump(), R"({"b":"2"})");
  EXPECT_TRUE(changed.GetBool("archived"));
  EXPECT_FALSE(changed.GetString("archived_time").empty());
  EXPECT_EQ(Get("/api/v1/experiments/e1").Dump(), changed.Dump());
  EXPECT_TRUE(Good(Patch("experiments/e1", R"({"archived":false})")).Find("archived_time")->is_null());
  Json renamed = Good(Patch("experiments/e1", R"({"new_name":"e2"})"));
  EXPECT_EQ(renamed.GetString("name"), "e2");
  EXPECT_EQ(renamed.GetString("description"), "better");
  EXPECT_NE(renamed.GetString("id"), made.GetString("id"));
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/experiments/e1")), "404 experiment.not_found");
  Submit("r");
  EXPECT_EQ(ErrorOf(Patch("experiments/e2", R"({"new_name":"e"})")), "409 experiment.exists");
  EXPECT_EQ(ErrorOf(Patch("experiments/e2", R"({"new_name":"a b"})")), "400 name.invalid");
  EXPECT_EQ(ErrorOf(Patch("experiments/e", R"({"new_name":"f"})")), "409 experiment.not_empty");
  EXPECT_EQ(ErrorOf(Delete("experiments/e")), "409 experiment.not_empty");
  EXPECT_EQ(ErrorOf(Patch("experiments/none", "{}")), "404 experiment.not_found");
  EXPECT_EQ(ErrorOf(Patch("experiments/e", R"({"archived":"yes"})")), "400 field.type");
  EXPECT_EQ(ErrorOf(Ask(reader_, "PATCH", "/api/v1/experiments/e", "{}")), "403 auth.forbidden");
  Good(Delete("experiments/e2"));
  EXPECT_EQ(ErrorOf(Delete("experiments/e2")), "404 experiment.not_found");
  // A run that is there keeps its experiment's tags.
  Good(Patch("experiments/e", R"({"set_tags":{"kept":"yes"}})"));
  Submit("r2");
  EXPECT_EQ(Get("/api/v1/experiments/e").Find("tags")->GetString("kept"), "yes");
  EXPECT_EQ(Get("/api/v1/experiments/e").GetInt("runs"), 2);
}

}  // namespace
}  // namespace ferry::rest
