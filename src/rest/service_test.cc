// Requests as clients send them: errors, runs, users, over a real socket.
#include "rest/test_server.h"

namespace ferry::rest {
namespace {

class ServiceTest : public ServerTest {};

TEST_F(ServiceTest, OpenRoutes) {
  EXPECT_EQ(Good(Ask("", "GET", "/healthz")).GetString("version"), "9.9.9");
  auto page = Ask("", "GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers["content-type"], "text/html; charset=utf-8");
  EXPECT_EQ(Ask("", "HEAD", "/healthz").status, 200);
  EXPECT_EQ(Get("/api/v1/version").GetInt("protocol"), model::kProtocol);
}

TEST_F(ServiceTest, NothingElseWithoutAToken) {
  for (const Route& route : Routes()) {
    if (route.need == Need::kOpen) continue;
    std::string path = route.path;
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {"{id}", "r"}, {"{name}", "n"}, {"{key}", std::string(64, 'a')}, {"{digest}", std::string(64, 'a')}, {"{path...}", "a/b"}})
      if (size_t at = path.find(name); at != std::string::npos) path.replace(at, name.size(), value);
    auto reply = Ask("", route.method, path);
    EXPECT_EQ(ErrorOf(reply), "401 auth.missing") << route.method << " " << path;
    EXPECT_EQ(reply.headers["www-authenticate"], "Bearer realm=\"ferry\"");
    EXPECT_EQ(ErrorOf(Ask("wrong", route.method, path)), "401 auth.unknown");
    std::string expected = route.need == Need::kReader ? "" : "403 auth.forbidden";
    if (!expected.empty()) {
      EXPECT_EQ(ErrorOf(Ask(reader_, route.method, path)), expected) << route.method << " " << path;
    }
    if (route.need != Need::kNode) {
      EXPECT_EQ(ErrorOf(Ask(access_->NodeToken("local"), route.method, path)), "403 auth.forbidden") << route.method << " " << path;
    }
  }
}

TEST_F(ServiceTest, RunTokensActAsTheirUserInTheirWorkspaceWhileTheRunLives) {
  Hello();
  Post("/api/v1/workspaces", R"({"name":"team"})");
  Submit("r1");
  Submit("r2");
  Submit("far", R"(,"workspace":"team")");
  Good(Ask(contributor_, "POST", "/api/v1/runs", R"({"id":"carls","experiment":"e","command":["true"]})"));
  std::string token = access_->RunToken({"r1", 1});
  EXPECT_EQ(Ask(token, "GET", "/api/v1/version").status, 200);
  for (const char* run : {"r1", "r2"}) {
    EXPECT_EQ(Ask(token, "GET", StrCat("/api/v1/runs/", run)).status, 200);
    EXPECT_EQ(Ask(token, "PATCH", StrCat("/api/v1/runs/", run), R"({"tags":{"a":"b"}})").status, 200);
  }
  EXPECT_EQ(Good(Ask(token, "GET", "/api/v1/runs")).Find("runs")->as_array().size(), 3u) << "those of its workspace";
  EXPECT_EQ(Good(Ask(token, "GET", "/api/v1/workspaces")).Find("workspaces")->as_array().size(), 1u);
  EXPECT_EQ(Good(Ask(token, "GET", "/api/v1/experiments")).Find("experiments")->as_array().size(), 1u);
  Good(Ask(token, "GET", "/api/v1/workspaces/default"));
  Good(Ask(access_->RunToken({"carls", 1}), "POST", "/api/v1/runs", R"({"id":"child","experiment":"e","command":["true"],"parent":"carls"})"));
  EXPECT_EQ(Get("/api/v1/runs/child").GetString("user"), "carl");
  for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{{"GET", "/api/v1/users"},
                                                                                     {"POST", "/api/v1/tokens"},
                                                                                     {"POST", "/api/v1/workspaces"},
                                                                                     {"POST", "/api/v1/shutdown"},
                                                                                     {"POST", "/api/v1/builds/prune"},
                                                                                     {"POST", "/api/v1/agent/hello"},
                                                                                     {"POST", "/api/v1/runs/r2/evict"},
                                                                                     {"GET", "/api/v1/events"}})
    EXPECT_EQ(ErrorOf(Ask(token, method, path)), "403 auth.forbidden") << method << " " << path;
  for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{{"GET", "/api/v1/runs/far"},
                                                                                     {"GET", "/api/v1/runs/fa%72/metrics"},
                                                                                     {"PATCH", "/api/v1/runs/far"},
                                                                                     {"POST", "/api/v1/runs/far/metrics"},
                                                                                     {"POST", "/api/v1/runs/far/cancel"},
                                                                                     {"GET", "/api/v1/runs/none"}})
    EXPECT_EQ(ErrorOf(Ask(token, method, path)), "404 run.not_found") << method << " " << path;
  std::string submission = R"({"experiment":"e","command":["true"],)";
  EXPECT_EQ(ErrorOf(Ask(token, "POST", "/api/v1/runs", submission + R"("workspace":"team"})")), "403 auth.workspace");
  EXPECT_EQ(ErrorOf(Ask(token, "POST", "/api/v1/runs", submission + R"("parent":"far"})")), "404 run.parent");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs", submission + R"("parent":"none"})")), "404 run.parent");
  for (const char* path : {"/api/v1/runs?workspace=team", "/api/v1/experiments?workspace=team", "/api/v1/experiments/e?workspace=team",
                           "/api/v1/environments?workspace=team", "/api/v1/environments/x?workspace=team", "/api/v1/workspaces/team"})
    EXPECT_EQ(ErrorOf(Ask(token, "GET", path)), "403 auth.workspace") << path;
  // What the user loses, the run loses.
  std::string carls = access_->RunToken({"carls", 1});
  Post("/api/v1/users", R"({"name":"carl","role":"reader"})");
  EXPECT_EQ(Ask(carls, "GET", "/api/v1/runs/carls").status, 200);
  EXPECT_EQ(ErrorOf(Ask(carls, "PATCH", "/api/v1/runs/carls", "{}")), "403 auth.forbidden");
  Good(Ask(owner_, "DELETE", "/api/v1/users/carl"));
  EXPECT_EQ(ErrorOf(Ask(carls, "GET", "/api/v1/runs/carls")), "401 auth.unknown");
  EXPECT_EQ(ErrorOf(Ask(access_->RunToken({"r1", 2}), "GET", "/api/v1/runs/r1")), "401 auth.run_ended") << "another attempt's";
  Happen("r1", "Accepted");
  Happen("r1", "Started");
  End("r1");
  EXPECT_EQ(ErrorOf(Ask(token, "GET", "/api/v1/runs/r1")), "401 auth.run_ended");
}

TEST_F(ServiceTest, WrongPathsAndMethods) {
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/nothing")), "404 route.not_found");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/runs/")), "404 route.not_found");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/runs/a/b/c")), "404 route.not_found");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "//api/v1/runs")), "404 route.not_found");
  auto reply = Ask(owner_, "DELETE", "/api/v1/runs");
  EXPECT_EQ(ErrorOf(reply), "405 method.not_allowed");
  EXPECT_EQ(reply.headers["allow"], "POST, GET");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/runs/%zz")), "400 path.malformed");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/runs/none")), "404 run.not_found");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/runs/..%2f..%2fetc")), "404 run.not_found");
}

TEST_F(ServiceTest, WrongBodies) {
  for (const auto& [body, slug] : std::vector<std::pair<std::string, std::string>>{
           {"{", "400 json.malformed"},
           {"[]", "400 body.not_object"},
           {"\xff\xfe", "400 body.not_utf8"},
           {std::string(100000, '['), "400 json.malformed"},
           {R"({"nmae":"x","experiment":"e","command":["true"]})", "400 field.unknown"},
           {R"({"experiment":"e"})", "400 run.script_or_command"},
           {R"({"experiment":"e","command":["true"],"script":"a.py"})", "400 run.script_or_command"},
           {R"({"experiment":"../x","command":["true"]})", "400 name.invalid"},
           {R"({"experiment":"","command":["true"]})", "400 name.invalid"},
           {R"({"experiment":"e","id":"a/b","command":["true"]})", "400 name.invalid"},
           {R"({"experiment":"e","id":7,"command":["true"]})", "400 field.type"},
           {R"({"experiment":"e","command":"true"})", "400 field.type"},
           {R"({"experiment":"e","command":[[]]})", "400 field.type"},
           {R"({"experiment":"e","command":["a\u0000b"]})", "400 field.zero"},
           {R"({"experiment":"e","command":[""]})", "400 run.command"},
           {R"({"experiment":"e","script":"train.py"})", "400 run.no_snapshot"},
           {R"({"experiment":"e","script":"../train.py"})", "400 run.script_path"},
           {R"({"experiment":"e","script":"/train.py"})", "400 run.script_path"},
           {R"({"experiment":"e","command":["true"],"snapshot":"abc"})", "400 run.snapshot"},
           {StrCat(R"({"experiment":"e","command":["true"],"snapshot":")", std::string(64, 'a'), "\"}"), "404 snapshot.not_found"},
           {R"({"experiment":"e","command":["true"],"target":"moon"})", "404 target.not_found"},
           {R"({"experiment":"e","command":["true"],"workspace":"moon"})", "404 workspace.not_found"},
           {R"({"experiment":"e","command":["true"],"gpus":-1})", "400 field.range"},
           {R"({"experiment":"e","command":["true"],"gpus":4294967296})", "400 field.range"},
           {R"({"experiment":"e","command":["true"],"gpus":1.5})", "400 field.type"},
           {R"({"experiment":"e","command":["true"],"max_attempts":0})", "400 field.range"},
           {R"({"experiment":"e","command":["true"],"environment":{"A=B":"x"}})", "400 run.environment"},
           {R"({"experiment":"e","command":["true"],"tags":{"":"x"}})", "400 field.name"},
           {R"({"experiment":"e","command":["true"],"tags":{"a":{}}})", "400 field.type"},
           {R"({"experiment":"e","command":["true"],"tags":7})", "400 field.type"},
       })
    EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs", body)), slug) << body.substr(0, 100);
  EXPECT_TRUE(Get("/api/v1/runs").Find("runs")->as_array().empty()) << "nothing half-created";
  EXPECT_TRUE(Get("/api/v1/experiments").Find("experiments")->as_array().empty());
}

TEST_F(ServiceTest, BodiesAreBounded) {
  http::Client client(ClientOf(owner_));
  http::Call call;
  call.method = "POST";
  call.path = "/api/v1/runs";
  call.body = std::string((8u << 20) + 1, ' ');
  auto reply = client.Do(call);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->status, 413) << reply->body;
  call.method = "GET";
  call.body = "x";
  reply = client.Do(call);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->status, 413) << "a GET has no body here";
}

TEST_F(ServiceTest, TheSameSubmissionTwice) {
  std::string body = R"({"id":"r","experiment":"e","command":["true"],"tags":{"n":1}})";
  auto first = Ask(contributor_, "POST", "/api/v1/runs", body);
  EXPECT_EQ(first.status, 201);
  auto again = Ask(contributor_, "POST", "/api/v1/runs", body);
  EXPECT_EQ(again.status, 200);
  EXPECT_FALSE(Good(again).GetBool("created", true));
  EXPECT_EQ(Good(again).GetInt("number"), 1);
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", "/api/v1/runs", R"({"id":"r","experiment":"e","command":["false"]})")), "409 run.exists");
  Json run = Get("/api/v1/runs/r");
  EXPECT_EQ(run.GetString("status"), "Queued");
  EXPECT_EQ(run.GetString("user"), "carl");
  EXPECT_EQ(run.Find("tags")->GetString("n"), "1");
  EXPECT_EQ(run.GetString("waiting"), "it waits because no node of 'local' has connected yet");
  EXPECT_EQ(Get("/api/v1/runs/r/explain").GetString("explanation"), run.GetString("waiting"));
  // Without an id each is a run of its own.
  std::string no_id = R"({"experiment":"e","command":["true"]})";
  EXPECT_NE(Post("/api/v1/runs", no_id).GetString("id"), Post("/api/v1/runs", no_id).GetString("id"));
}

TEST_F(ServiceTest, ListsInPagesFilteredAndGrouped) {
  Hello(1);
  for (int i = 0; i < 25; ++i) Submit(StrCat("run", i < 10 ? "0" : "", i), StrCat(R"(,"tags":{"half":")", i < 12 ? "a" : "b", R"("},"priority":0)"));
  std::vector<std::string> ids;
  std::string cursor;
  int pages = 0;
  do {
    Json page = Get(StrCat("/api/v1/runs?limit=10&order=id", cursor.empty() ? "" : "&cursor=" + EncodePercent(cursor)));
    for (const Json& run : page.Find("runs")->as_array()) ids.push_back(run.GetString("id"));
    cursor = page.GetString("next");
    ++pages;
  } while (!cursor.empty() && pages < 10);
  EXPECT_EQ(pages, 3);
  ASSERT_EQ(ids.size(), 25u);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  auto count = [&](const std::string& query) { return Get(StrCat("/api/v1/runs?limit=1000&", query)).Find("runs")->as_array().size(); };
  EXPECT_EQ(count("filter=" + EncodePercent("tags.half = 'a'")), 12u);
  EXPECT_EQ(count("tag=half%3Db"), 13u);
  EXPECT_EQ(count("tag=half"), 25u);
  EXPECT_EQ(count("tag=none"), 0u);
  EXPECT_EQ(count("experiment=e&status=Queued"), 24u);
  EXPECT_EQ(count("status=Starting"), 1u);
  EXPECT_EQ(count("archived=true"), 0u);
  Ask(owner_, "PATCH", "/api/v1/runs/run03", R"({"archived":true})");
  EXPECT_EQ(count("archived=true"), 1u);
  EXPECT_EQ(count("archived=any"), 25u);
  EXPECT_EQ(count(""), 24u);
  Json groups = Get("/api/v1/runs?group=status&archived=any");
  EXPECT_EQ(groups.Find("groups")->Dump(), R"([{"value":"Queued","count":24},{"value":"Starting","count":1}])");
  for (const auto& [query, slug] : std::vector<std::pair<std::string, std::string>>{{"limit=0", "400 parameter.invalid"},
                                                                                    {"limit=1001", "400 parameter.invalid"},
                                                                                    {"limit=x", "400 parameter.invalid"},
                                                                                    {"cursor=rubbish", "400 query.bad_cursor"},
                                                                                    {"order=nothing", "400 order.invalid"},
                                                                                    {"filter=%27", "400 filter.invalid"},
                                                                                    {"status=Happy", "400 status.unknown"},
                                                                                    {"group=tags", "400 parameter.invalid"},
                                                                                    {"archived=perhaps", "400 parameter.invalid"}})
    EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/runs?" + query)), slug) << query;
}

TEST_F(ServiceTest, UpdatesAndCancellation) {
  Submit("r");
  EXPECT_EQ(
      Good(Ask(owner_, "PATCH", "/api/v1/runs/r", R"({"name":"better","description":"d","tags":{"a":1,"b":"x"},"properties":{"p":"1"}})")).GetString("name"),
      "better");
  EXPECT_EQ(Good(Ask(owner_, "PATCH", "/api/v1/runs/r", R"({"remove_tags":["a","none"]})")).Find("tags")->Dump(), R"({"b":"x"})");
  EXPECT_EQ(ErrorOf(Ask(owner_, "PATCH", "/api/v1/runs/r", R"({"properties":{"p":"2"}})")), "409 property.immutable");
  EXPECT_EQ(ErrorOf(Ask(owner_, "PATCH", "/api/v1/runs/r", R"({"status":"Completed"})")), "400 field.unknown");
  EXPECT_EQ(ErrorOf(Ask(owner_, "PATCH", "/api/v1/runs/r", R"({"archived":"yes"})")), "400 field.unknown");
  EXPECT_EQ(ErrorOf(Ask(owner_, "PATCH", "/api/v1/runs/none", "{}")), "404 run.not_found");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/r/evict")), "409 run.not_placed");
  EXPECT_EQ(Post("/api/v1/runs/r/cancel", "").GetString("status"), "Canceled");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/r/cancel")), "409 run.ended");
  EXPECT_EQ(Get("/api/v1/runs/r/explain").GetString("explanation"), "it has ended: the run was canceled: before it was given a node");
  // Tags of an ended run can still be changed.
  EXPECT_EQ(Good(Ask(owner_, "PATCH", "/api/v1/runs/r", R"({"tags":{"late":"1"}})")).Find("tags")->GetString("late"), "1");
}

TEST_F(ServiceTest, InteractiveRuns) {
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs", R"({"experiment":"e","interactive":true,"command":["true"]})")), "400 run.interactive");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs", R"({"experiment":"e","interactive":true,"arguments":["a"]})")), "400 run.interactive");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs", R"({"experiment":"e","interactive":"yes"})")), "400 field.type");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs", R"({"experiment":"e","interactive":true,"type":"a b"})")), "400 name.invalid");
  std::string body = R"({"id":"i","experiment":"e","interactive":true,"type":"mine"})";
  EXPECT_EQ(Post("/api/v1/runs", body).GetString("status"), "Running");
  EXPECT_EQ(Ask(owner_, "POST", "/api/v1/runs", body).status, 200) << "the same again";
  Json view = Get("/api/v1/runs/i");
  EXPECT_EQ(view.GetString("type"), "mine");
  EXPECT_FALSE(view.GetString("started").empty());
  EXPECT_EQ(view.GetString("waiting"), "it is interactive: it runs until its client completes, fails or cancels it");
  EXPECT_EQ(Get("/api/v1/runs?type=mine").Find("runs")->as_array().size(), 1u);
  EXPECT_EQ(Ask(owner_, "POST", "/api/v1/runs/i/metrics", R"({"points":[{"metric":"m","value":1}]})").status, 200);
  std::string snapshot = AddBlob("a manifest").Hex(), other = AddBlob("another").Hex();
  auto patch = [&](const std::string& run, const std::string& id) {
    return Ask(owner_, "PATCH", "/api/v1/runs/" + run, StrCat(R"({"snapshot":")", id, "\"}"));
  };
  EXPECT_EQ(ErrorOf(patch("i", "abc")), "400 run.snapshot");
  EXPECT_EQ(ErrorOf(patch("i", std::string(64, 'a'))), "404 snapshot.not_found");
  EXPECT_EQ(Good(patch("i", snapshot)).Find("spec")->GetString("snapshot"), snapshot);
  EXPECT_EQ(patch("i", snapshot).status, 200);
  EXPECT_EQ(ErrorOf(patch("i", other)), "409 run.snapshot_fixed");
  Submit("scripted");
  EXPECT_EQ(ErrorOf(patch("scripted", snapshot)), "409 run.snapshot_fixed");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/scripted/complete")), "409 run.not_interactive");
  EXPECT_EQ(ErrorOf(Ask(reader_, "POST", "/api/v1/runs/i/complete")), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/i/rerun", "{}")), "409 run.interactive");
  EXPECT_EQ(Post("/api/v1/runs/i/complete", "").GetString("status"), "Completed");
  EXPECT_EQ(Post("/api/v1/runs/i/complete", "").GetString("status"), "Completed");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/i/fail", "{}")), "409 run.ended");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/none/fail", "{}")), "404 run.not_found");
  Post("/api/v1/runs", R"({"id":"f","experiment":"e","interactive":true})");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/f/fail", R"({"message":7})")), "400 field.unknown");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/f/fail", StrCat(R"({"code":")", std::string(256, 'x'), "\"}"))), "413 field.too_long");
  EXPECT_EQ(Post("/api/v1/runs/f/fail", R"({"message":"m","code":"c"})").GetString("status"), "Failed");
  Json end = *Get("/api/v1/runs/f").Find("end");
  EXPECT_EQ(end.Dump(), R"({"reason":"failed_by_user","text":"the run was failed by its user: m","detail":"m","code":"c"})");
}

TEST_F(ServiceTest, UsersAndTokens) {
  Post("/api/v1/users", R"({"name":"ned","role":"contributor"})");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/users", R"({"name":"ned"})")), "409 user.exists");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/users", R"({"name":"x","role":"king"})")), "400 user.role");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/users", R"({"name":"a b"})")), "400 name.invalid");
  Json made = Post("/api/v1/tokens", R"({"user":"ned","label":"laptop","expires_in_seconds":3600})");
  std::string token = made.GetString("token");
  EXPECT_EQ(Ask(token, "GET", "/api/v1/runs").status, 200);
  EXPECT_EQ(ErrorOf(Ask(token, "GET", "/api/v1/users")), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Ask(token, "POST", "/api/v1/tokens", R"({"user":"olga"})")), "403 auth.forbidden") << "no token for others";
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/tokens", R"({"user":"nobody"})")), "404 user.not_found");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/tokens", R"({"expires_in_seconds":-1})")), "400 token.expiry");
  Json own = Good(Ask(token, "GET", "/api/v1/tokens"));
  ASSERT_EQ(own.Find("tokens")->as_array().size(), 1u) << "others' tokens are not shown";
  EXPECT_EQ(own.Dump().find("digest"), std::string::npos);
  EXPECT_EQ(Get("/api/v1/tokens").Find("tokens")->as_array().size(), 4u);
  EXPECT_EQ(ErrorOf(Ask(token, "DELETE", "/api/v1/tokens/token-olga")), "404 token.not_found") << "nor can they be revoked";
  EXPECT_EQ(Ask(token, "DELETE", "/api/v1/tokens/" + made.GetString("id")).status, 200);
  EXPECT_EQ(ErrorOf(Ask(token, "GET", "/api/v1/runs")), "401 auth.revoked");
  std::string second = Post("/api/v1/tokens", R"({"user":"ned"})").GetString("token");
  EXPECT_EQ(Ask(second, "GET", "/api/v1/runs").status, 200);
  EXPECT_EQ(Good(Ask(owner_, "DELETE", "/api/v1/users/ned")).GetInt("tokens"), 2);
  EXPECT_EQ(ErrorOf(Ask(second, "GET", "/api/v1/runs")), "401 auth.unknown");
  EXPECT_EQ(ErrorOf(Ask(owner_, "DELETE", "/api/v1/users/olga")), "409 user.last_owner");
  EXPECT_EQ(ErrorOf(Ask(owner_, "DELETE", "/api/v1/users/nobody")), "404 user.not_found");
}

TEST_F(ServiceTest, WorkspacesExperimentsNodes) {
  EXPECT_EQ(Post("/api/v1/workspaces", R"({"name":"team","tags":{"a":"b"}})").GetString("name"), "team");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/workspaces", R"({"name":"team"})")), "409 workspace.exists");
  EXPECT_EQ(Ask(owner_, "POST", "/api/v1/workspaces", R"({"name":"team","exist_ok":true})").status / 100, 2);
  EXPECT_EQ(Get("/api/v1/workspaces").Find("workspaces")->as_array().size(), 2u);
  EXPECT_EQ(Get("/api/v1/workspaces/team").GetString("name"), "team");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/workspaces/none")), "404 workspace.not_found");
  EXPECT_EQ(Post("/api/v1/experiments", R"({"name":"x","workspace":"team"})").GetString("workspace"), "team");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/experiments", R"({"name":"x","workspace":"none"})")), "404 workspace.not_found");
  EXPECT_EQ(Get("/api/v1/experiments/x?workspace=team").GetString("name"), "x");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/experiments/x")), "404 experiment.not_found");
  EXPECT_EQ(Get("/api/v1/experiments?workspace=team").Find("experiments")->as_array().size(), 1u);
  Hello(3);
  Submit("r");
  const Json node = Get("/api/v1/nodes").Find("nodes")->as_array().at(0);
  EXPECT_EQ(node.GetInt("slots"), 3);
  EXPECT_EQ(node.GetInt("running"), 1);
  EXPECT_FALSE(node.GetBool("connected", true));
  auto metrics = Ask(reader_, "GET", "/metrics");
  EXPECT_NE(metrics.body.find("ferry_runs{status=\"Starting\"} 1\n"), std::string::npos) << metrics.body;
  EXPECT_NE(metrics.body.find("# TYPE ferry_runs_live gauge"), std::string::npos);
  Post("/api/v1/shutdown", "");
  EXPECT_TRUE(Eventually([&] { return shutdown_asked_.load(); }));
}

TEST_F(ServiceTest, AgentsSpeakForTheirNodeAlone) {
  std::string other = access_->NodeToken("other");
  EXPECT_EQ(ErrorOf(Ask(other, "POST", "/api/v1/agent/hello", R"({"node":"local","target":"local"})")), "403 agent.other_node");
  EXPECT_EQ(ErrorOf(Ask(other, "POST", "/api/v1/agent/report", R"({"node":"local"})")), "403 agent.other_node");
  EXPECT_EQ(ErrorOf(Ask(other, "GET", "/api/v1/agent/commands?node=local&protocol=1")), "403 agent.other_node");
  EXPECT_EQ(ErrorOf(Ask(other, "GET", "/api/v1/agent/commands?node=other&protocol=99")), "409 agent.protocol");
  EXPECT_EQ(ErrorOf(Ask(other, "POST", "/api/v1/agent/report", R"({"node":"other"})")), "409 agent.unknown");
  EXPECT_EQ(ErrorOf(Ask(other, "POST", "/api/v1/agent/hello", R"({"node":"other","target":"t","slots":0})")), "400 hello.slots");
  EXPECT_EQ(ErrorOf(Ask(other, "POST", "/api/v1/agent/hello", R"({"node":"other","target":"t","slots":4294967297})")), "400 hello.slots");
  Hello();
  Submit("r");
  EXPECT_EQ(ErrorOf(Ask(access_->NodeToken("local"), "POST", "/api/v1/agent/report", R"({"node":"local","generation":9,"session":1,"sequence":99})")),
            "409 agent.fenced");
  EXPECT_EQ(ErrorOf(Report(R"("events":[{"run":"r","event":"CancelAsked"}])")), "400 event.unknown") << "not an agent's to say";
  EXPECT_EQ(ErrorOf(Report(R"("artifacts":[{"run":"r","path":"../x","digest":"aa"}])")), "400 artifact.digest");
  std::string digest(64, 'a');
  EXPECT_EQ(ErrorOf(Report(StrCat(R"("artifacts":[{"run":"r","path":"../x","digest":")", digest, "\"}]"))), "400 artifact.path");
  EXPECT_EQ(ErrorOf(Report(StrCat(R"("artifacts":[{"run":"r","path":"outputs/x","digest":")", digest, "\"}]"))), "409 artifact.no_blob");
  EXPECT_EQ(ErrorOf(Report(R"("logs":[{"run":"r","stream":"../x","offset":0,"data":"x"}])")), "400 log.bad_name");
  EXPECT_EQ(ErrorOf(Report(R"("logs":[{"run":"r","stream":"x","offset":5,"data":"x"}])")), "409 log.gap");
  EXPECT_EQ(ErrorOf(Report(R"("logs":[{"run":"r","stream":"x","offset":-5,"data":"x"}])")), "409 log.gap");
  // Who holds no lease is not heard, and told to forget.
  EXPECT_EQ(Report(R"("logs":[{"run":"none","stream":"x","offset":0,"data":"x"}],"events":[{"run":"none","event":"Started"}])").status, 200);
  EXPECT_TRUE(logs_->Streams("none")->empty());
}

}  // namespace
}  // namespace ferry::rest
