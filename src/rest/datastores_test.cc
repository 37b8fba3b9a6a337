#include <fstream>

#include "rest/test_server.h"

namespace ferry::rest {
namespace {

namespace fs = std::filesystem;

class DatastoresTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    data_ = folder_ + "_data";
    fs::remove_all(data_);
    fs::create_directories(data_);
  }
  void TearDown() override {
    ServerTest::TearDown();
    fs::remove_all(data_);
  }
  http::Reply Register(const std::string& name, const std::string& body) { return Ask(owner_, "PUT", "/api/v1/datastores/" + name, body); }
  std::string FolderBody(const std::string& more = "") { return StrCat(R"({"kind":"folder","folder":")", data_, "\"", more, "}"); }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    Json answer = Get("/api/v1/datastores");
    for (const Json& item : answer.Find("datastores")->as_array()) names.push_back(item.GetString("name"));
    return names;
  }
  std::string data_;
};

TEST_F(DatastoresTest, EveryWorkspaceHasItsOwn) {
  EXPECT_EQ(Names(), (std::vector<std::string>{"workspaceartifactstore", "workspaceblobstore", "workspacefilestore", "workspaceworkingdirectory"}));
  Json blob = Get("/api/v1/datastores/workspaceblobstore");
  EXPECT_TRUE(blob.GetBool("default"));
  EXPECT_EQ(blob.GetString("type"), "AzureBlob");
  EXPECT_EQ(Get("/api/v1/datastores/workspacefilestore").GetString("type"), "AzureFile");
  EXPECT_EQ(ErrorOf(Ask(owner_, "DELETE", "/api/v1/datastores/workspaceblobstore")), "409 datastore.own");
  EXPECT_EQ(ErrorOf(Register("workspaceblobstore", R"({"kind":"own","overwrite":true})")), "409 datastore.exists");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/datastores?workspace=nothing")), "404 workspace.not_found");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/datastores/nothing")), "404 datastore.not_found");
}

TEST_F(DatastoresTest, RegistersReplacesAndForgets) {
  EXPECT_EQ(Register("here", FolderBody(R"(,"description":"d","tags":{"a":"b"},"azure":{"account_name":"acc"})")).status, 201);
  EXPECT_EQ(ErrorOf(Register("here", FolderBody())), "409 datastore.exists");
  EXPECT_EQ(Register("here", FolderBody(R"(,"overwrite":true,"type":"AzureFile")")).status, 200);
  Json here = Get("/api/v1/datastores/here");
  EXPECT_EQ(here.GetString("type"), "AzureFile");
  EXPECT_EQ(here.GetString("folder"), data_);
  EXPECT_EQ(here.GetString("user"), "olga");
  EXPECT_FALSE(here.GetBool("default"));
  Good(Ask(contributor_, "POST", "/api/v1/datastores/here/default", "{}"));
  EXPECT_TRUE(Get("/api/v1/datastores/here").GetBool("default"));
  EXPECT_FALSE(Get("/api/v1/datastores/workspaceblobstore").GetBool("default"));
  EXPECT_EQ(Names().size(), 5u);
  Good(Ask(contributor_, "DELETE", "/api/v1/datastores/here"));
  EXPECT_TRUE(Get("/api/v1/datastores/workspaceblobstore").GetBool("default"));
  EXPECT_EQ(ErrorOf(Ask(contributor_, "DELETE", "/api/v1/datastores/here")), "404 datastore.not_found");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", "/api/v1/datastores/here/default", "{}")), "404 datastore.not_found");
  EXPECT_TRUE(fs::exists(data_));
}

TEST_F(DatastoresTest, RefusesWhatCannotBe) {
  EXPECT_EQ(ErrorOf(Ask(contributor_, "PUT", "/api/v1/datastores/here", FolderBody())), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Register("a-b", FolderBody())), "400 datastore.name");
  EXPECT_EQ(ErrorOf(Register("x", R"({"kind":"artifacts"})")), "400 datastore.kind");
  EXPECT_EQ(ErrorOf(Register("x", R"({"kind":"folder","folder":"relative"})")), "400 datastore.folder");
  EXPECT_EQ(ErrorOf(Register("x", StrCat(R"({"kind":"folder","folder":")", data_, R"(/nothing"})"))), "404 datastore.folder");
  EXPECT_EQ(Register("later", StrCat(R"({"kind":"folder","skip_validation":true,"folder":")", data_, R"(/nothing"})")).status, 201);
  EXPECT_EQ(ErrorOf(Register("x", FolderBody(R"(,"fodler":"x")"))), "400 field.unknown");
  EXPECT_EQ(ErrorOf(Register("x", FolderBody(R"(,"overwrite":"yes")"))), "400 field.type");
  const std::string s3 = R"({"kind":"s3","endpoint":"http://127.0.0.1:1","bucket":"data")";
  EXPECT_EQ(ErrorOf(Register("x", R"({"kind":"s3","endpoint":"ftp://a","bucket":"data"})")), "400 datastore.endpoint");
  EXPECT_EQ(ErrorOf(Register("x", R"({"kind":"s3","endpoint":"http://u:p@a","bucket":"data"})")), "400 datastore.endpoint");
  EXPECT_EQ(ErrorOf(Register("x", R"({"kind":"s3","endpoint":"http://a","bucket":"D"})")), "400 datastore.bucket");
  EXPECT_EQ(ErrorOf(Register("x", s3 + R"(,"prefix":"a/../b"})")), "400 file.path");
  EXPECT_EQ(ErrorOf(Register("x", s3 + R"(,"access_key":"a"})")), "400 datastore.keys");
  EXPECT_EQ(ErrorOf(Register("x", s3 + "}")), "503 http.unreachable") << "it is really looked at";
}

TEST_F(DatastoresTest, ASecretIsKeptSealedAndShownToNobody) {
  const std::string body =
      R"({"kind":"s3","endpoint":"http://127.0.0.1:1","bucket":"data","access_key":"AKIA","secret_key":"very-secret-key","skip_validation":true})";
  http::Reply made = Ask(contributor_, "PUT", "/api/v1/datastores/bucket", body);
  EXPECT_EQ(made.status, 201) << made.body;
  for (const std::string& text : {made.body, Ask(owner_, "GET", "/api/v1/datastores/bucket").body, Ask(owner_, "GET", "/api/v1/datastores").body,
                                  (*store_->Get("datastore", "default/bucket"))->body})
    EXPECT_EQ(text.find("very-secret-key"), std::string::npos) << text;
  EXPECT_EQ(Get("/api/v1/datastores/bucket").GetString("access_key"), "AKIA");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/datastores/bucket/files")), "503 http.unreachable");
  EXPECT_EQ(seen_secret_, "very-secret-key");
}

TEST_F(DatastoresTest, FilesOfEachKind) {
  ASSERT_EQ(Register("here", FolderBody()).status, 201);
  const std::string large(9u << 20, 'x');
  for (const char* name : {"workspaceblobstore", "here"}) {
    std::string at = StrCat("/api/v1/datastores/", name, "/files");
    EXPECT_EQ(Ask(contributor_, "PUT", at + "/a/b%20c.txt", "hello").status, 201);
    EXPECT_EQ(Ask(contributor_, "PUT", at + "/a/large", large).status, 201);
    EXPECT_EQ(ErrorOf(Ask(contributor_, "PUT", at + "/a/large", "other")), "409 file.exists");
    EXPECT_EQ(Ask(contributor_, "PUT", at + "/top?overwrite=true", "1").status, 201);
    EXPECT_EQ(Ask(contributor_, "PUT", at + "/top?overwrite=true", "22").status, 201);
    EXPECT_EQ(ErrorOf(Ask(contributor_, "PUT", at + "/top?overwrite=maybe", "1")), "400 parameter.invalid");
    EXPECT_EQ(ErrorOf(Ask(reader_, "PUT", at + "/new", "1")), "403 auth.forbidden");
    EXPECT_EQ(Ask(reader_, "GET", at + "/a/b%20c.txt").body, "hello");
    EXPECT_EQ(Ask(reader_, "GET", at + "/top").body, "22");
    EXPECT_EQ(Ask(reader_, "GET", at + "/a/large").body, large);
    http::Reply part = Ask(reader_, "GET", at + "/a/large", "", {{"range", "bytes=5-7"}});
    EXPECT_EQ(part.status, 206);
    EXPECT_EQ(part.body, "xxx");
    EXPECT_EQ(Ask(reader_, "GET", at + "/a/large", "", {{"range", "bytes=99999999-"}}).status, 416);
    Json all = Good(Ask(reader_, "GET", at));
    ASSERT_EQ(all.Find("files")->as_array().size(), 3u);
    EXPECT_EQ(all.Find("files")->as_array()[0].GetString("path"), "a/b c.txt");
    EXPECT_TRUE(all.Find("next")->is_null());
    Json page = Good(Ask(reader_, "GET", at + "?limit=1&prefix=a/"));
    ASSERT_FALSE(page.GetString("next").empty());
    Json second = Good(Ask(reader_, "GET", StrCat(at, "?limit=1&prefix=a/&cursor=", EncodePercent(page.GetString("next")))));
    EXPECT_EQ(second.Find("files")->as_array()[0].GetString("path"), "a/large");
    for (const char* path : {"/..%2f..%2fetc%2fpasswd", "/a/../top", "/%2fetc/passwd", "/a//b", "/a%00b"}) {
      EXPECT_EQ(Ask(reader_, "GET", at + path).status, 400) << path;
      EXPECT_EQ(Ask(contributor_, "PUT", at + path, "x").status, 400) << path;
    }
    EXPECT_EQ(ErrorOf(Ask(reader_, "GET", at + "/nothing")), "404 file.not_found");
  }
  EXPECT_EQ(Get("/api/v1/datastores/workspaceblobstore/files").Find("files")->as_array()[0].GetString("digest"), HashBytes("hello").Hex());
  EXPECT_EQ(ErrorOf(Ask(owner_, "PUT", "/api/v1/datastores/workspaceartifactstore/files/x", "x")), "403 datastore.read_only");
}

TEST_F(DatastoresTest, FilesByContent) {
  Digest one = AddBlob("one"), two = AddBlob("two!");
  const std::string at = "/api/v1/datastores/workspaceblobstore/files";
  auto body = [](const std::string& path, const Digest& digest, size_t size, const char* more = "") {
    return StrCat(R"({"files":[{"path":")", path, R"(","digest":")", digest.Hex(), R"(","size":)", size, "}]", more, "}");
  };
  EXPECT_EQ(Good(Ask(contributor_, "POST", at, body("d/f", one, 3))).GetInt("added"), 1);
  EXPECT_EQ(Good(Ask(contributor_, "POST", at, body("d/f", one, 3))).GetInt("added"), 0);
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", at, body("d/f", two, 4))), "409 file.exists");
  EXPECT_EQ(Good(Ask(contributor_, "POST", at, body("d/f", two, 4, R"(,"overwrite":true)"))).GetInt("added"), 1);
  EXPECT_EQ(Ask(reader_, "GET", at + "/d/f").body, "two!");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", at, body("d/g", two, 5))), "400 file.size");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", at, body("../g", two, 4))), "400 file.path");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", at, body("g", HashBytes("not here"), 8))), "409 file.no_blob");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", at, "{}")), "400 field.type");
  ASSERT_EQ(Register("here", FolderBody()).status, 201);
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", "/api/v1/datastores/here/files", body("d/f", one, 3))), "400 datastore.kind");
}

}  // namespace
}  // namespace ferry::rest
