#include "rest/test_server.h"

namespace ferry::rest {
namespace {

class AgentDataTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    for (const char* path : {"in/a.csv", "in/b.csv", "in/c.txt", "other"})
      EXPECT_EQ(Ask(owner_, "PUT", StrCat("/api/v1/datastores/workspaceblobstore/files/", path), path).status, 201);
    Submit("r", R"(,"data":{"i":{"paths":[{"path":"in/*.csv"},{"path":"in"},{"path":"nothing"},{"path":"in/a.csv"}]}},"outputs":{"o":{"path":"out"}})");
    Hello();
    Happen("r", "Accepted");
  }
  http::Reply Input(int index, const std::string& more = "", const std::string& node = "local") {
    return Ask(access_->NodeToken(node), "POST", "/api/v1/agent/data/input", StrCat(R"({"run":"r","attempt":1,"input":"i","index":)", index, more, "}"));
  }
  http::Reply Read(const std::string& query) { return Ask(access_->NodeToken("local"), "GET", "/api/v1/agent/data/file?run=r&input=i&" + query); }
  http::Reply Output(const std::string& more) {
    return Ask(access_->NodeToken("local"), "POST", "/api/v1/agent/data/output", StrCat(R"({"run":"r","attempt":1,"output":"o")", more, "}"));
  }
};

TEST_F(AgentDataTest, ListsWhatAPathNames) {
  Json globbed = Good(Input(0));
  EXPECT_EQ(globbed.GetString("kind"), "glob");
  ASSERT_EQ(globbed.Find("files")->as_array().size(), 2u);
  EXPECT_EQ(globbed.Find("files")->as_array()[1].GetString("path"), "in/b.csv");
  EXPECT_EQ(globbed.Find("files")->as_array()[1].GetString("digest"), HashBytes("in/b.csv").Hex());
  Json page = Good(Input(1, R"(,"limit":2)"));
  EXPECT_EQ(page.GetString("kind"), "folder");
  Json rest = Good(Input(1, StrCat(R"(,"limit":2,"cursor":")", page.GetString("next"), "\"")));
  EXPECT_EQ(rest.Find("files")->as_array()[0].GetString("path"), "in/c.txt");
  EXPECT_TRUE(rest.Find("next")->is_null());
  EXPECT_EQ(ErrorOf(Input(2)), "404 data.not_found");
  EXPECT_EQ(Good(Input(3)).GetString("kind"), "file");
  EXPECT_EQ(ErrorOf(Input(4)), "404 data.not_found");
}

TEST_F(AgentDataTest, GivesNothingElse) {
  EXPECT_EQ(Read("index=0&path=in/a.csv").body, "in/a.csv");
  EXPECT_EQ(ErrorOf(Read("index=0&path=in/c.txt")), "403 data.other_path");
  EXPECT_EQ(ErrorOf(Read("index=1&path=other")), "403 data.other_path");
  EXPECT_EQ(ErrorOf(Read("index=1&path=in/../other")), "400 file.path");
  EXPECT_EQ(ErrorOf(Input(0, "", "other")), "409 agent.not_held");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/agent/data/input", "{}")), "403 auth.forbidden");
  End("r");
  EXPECT_EQ(ErrorOf(Input(0)), "409 agent.not_held") << "it is over";
}

TEST_F(AgentDataTest, TakesOutputsOnceAndAgain) {
  EXPECT_TRUE(Good(Output("")).GetBool("by_content"));
  Digest one = AddBlob("one");
  std::string files = StrCat(R"(,"files":[{"path":"d/f","digest":")", one.Hex(), R"(","size":3}])");
  EXPECT_EQ(Good(Output(files)).GetInt("added"), 1);
  EXPECT_EQ(Good(Output(files)).GetInt("added"), 0);
  std::string put = "/api/v1/agent/data/file?run=r&output=o&path=";
  EXPECT_EQ(Good(Ask(access_->NodeToken("local"), "PUT", put + "d/f", "one")).GetString("path"), "out/d/f");
  EXPECT_EQ(ErrorOf(Ask(access_->NodeToken("local"), "PUT", put + "d/f", "two")), "409 file.exists");
  EXPECT_EQ(ErrorOf(Ask(access_->NodeToken("local"), "PUT", put + "../f", "two")), "400 file.path");
  EXPECT_EQ(ErrorOf(Output(R"(,"files":[{"path":"../x","digest":")" + one.Hex() + R"(","size":3}])")), "400 file.path");
  EXPECT_EQ(Ask(reader_, "GET", "/api/v1/datastores/workspaceblobstore/files/out/d/f").body, "one");
}

TEST_F(AgentDataTest, FactsAndAProblemReachTheRun) {
  EXPECT_EQ(Report(R"("facts":[{"run":"r","attempt":1,"clocks":[{"name":"data","start":5,"end":7}],"data":[{"name":"i","how":"downloaded","path":"/p","files":2,
      "bytes":16,"note":"n"}]}])")
                .status,
            200);
  EXPECT_EQ(ErrorOf(Report(R"("facts":[{"run":"r","attempt":1,"data":[{"name":"i","how":"flown"}]}])")), "400 facts.data");
  Happen("r", "Exited", R"(,"exit":{"code":0})");
  Happen("r", "Collected", R"(,"problem":"output 'o': no")");
  Json view = Get("/api/v1/runs/r");
  EXPECT_EQ(view.Find("inputDatasets")->as_array()[0].GetString("path"), "/p");
  EXPECT_EQ(view.Find("outputDatasets")->as_array()[0].GetString("path"), "out");
  EXPECT_EQ(view.GetString("status"), "Failed");
  EXPECT_EQ(view.Find("end")->GetString("reason"), "output_failed");
  EXPECT_NE(view.Find("end")->GetString("text").find("output 'o': no"), std::string::npos);
}

}  // namespace
}  // namespace ferry::rest
