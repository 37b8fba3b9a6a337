#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/commands.h"
#include "cli/fake_server.h"
#include "snapshot/snapshot.h"

namespace ferry::cli {
namespace {

class Runs : public CommandTest {
 protected:
  // Answers GETs of these paths (with their query) with these documents.
  void Answers(std::map<std::string, std::string> documents) {
    server_.before = [this, documents](const http::Head& head, const std::string& body) -> std::optional<http::Response> {
      std::string asked = head.path;
      for (const auto& [name, value] : head.query) asked += StrCat(asked == head.path ? "?" : "&", name, "=", value);
      asked_.push_back(StrCat(head.method, " ", asked));
      bodies_.push_back(body);
      auto found = documents.find(StrCat(head.method, " ", asked));
      if (found == documents.end()) found = documents.find(asked);
      if (found == documents.end()) return std::nullopt;
      return http::Response{200, {{"content-type", "application/json"}}, found->second};
    };
  }
  std::vector<std::string> asked_, bodies_;
};

TEST_F(Runs, ListPagesUntilThereAreEnough) {
  Answers(
      {{"/api/v1/runs?experiment=e&limit=3&order=-created&tag=a,b=1&workspace=default",
        R"({"runs": [{"id": "r1", "status": "Running", "name": "r1"}, {"id": "r2", "name": "second"}], "next": "c1"})"},
       {"/api/v1/runs?cursor=c1&experiment=e&limit=1&order=-created&tag=a,b=1&workspace=default", R"({"runs": [{"id": "r3", "name": "r3"}], "next": "c2"})"}});
  EXPECT_EQ(Run({"run", "list", "-e", "e", "--last", "3", "--tags", "a", "--tags", "b=1"}), 0) << err();
  EXPECT_EQ(asked_.size(), 2u);
  for (const char* word : {"RUN", "r1", "Running", "r2", "second", "r3"}) EXPECT_NE(out().find(word), std::string::npos) << out();
  EXPECT_EQ(Run({"run", "list", "-e", "e", "--last", "3", "--tags", "a", "--tags", "b=1", "-o", "tsv", "--query", "[].id"}), 0) << err();
  EXPECT_EQ(out(), "r1\nr2\nr3\n");
  EXPECT_EQ(Run({"run", "list", "-e", "e", "--last", "3", "--tags", "a", "--tags", "b=1", "-o", "json", "--cursor", ""}), 0) << err();
  EXPECT_EQ(ParseJson(out())->GetString("next"), "c2");
}

TEST_F(Runs, WorkspaceFromConfig) {
  Write("src/.azureml/config.json", R"({"workspace_name": "team", "subscription_id": "x"})");
  Write("src/deep/down/x", "");
  Answers({{"/api/v1/runs?limit=10&order=-created&workspace=team", R"({"runs": [], "next": null})"},
           {"/api/v1/runs?limit=10&order=-created&workspace=mine", R"({"runs": [], "next": null})"}});
  EXPECT_EQ(Run({"run", "list", "--path", folder_ + "/src/deep/down"}), 0) << err();
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "no runs\n");
  EXPECT_EQ(Run({"run", "list", "--path", folder_ + "/src", "-w", "mine"}), 0) << err();
  Write("src/.azureml/config.json", "{");
  EXPECT_EQ(Run({"run", "list", "--path", folder_ + "/src"}), 2);
  EXPECT_NE(err().find("config.json"), std::string::npos) << err();
}

TEST_F(Runs, ShowAndErrors) {
  server_.run_view =
      *ParseJson(R"({"id": "r1", "name": "r1", "status": "Failed", "experiment": "e", "number": 7, "target": "local", "node": "local", "user": "joe",
    "created": "2026-11-15T10:41:00Z", "started": "2026-11-15T10:41:07Z", "ended": "2026-11-15T10:41:10.5Z", "end": {"reason": "script_failed", "text": "exit status 3"},
    "spec": {"script": "train.py", "arguments": ["--lr", "0.1", "a b"]}, "tags": {"k": "v"}})");
  EXPECT_EQ(Run({"run", "show", "-r", "r1"}), 0) << err();
  for (const char* line : {"run           r1\n", "status        Failed\n", "why           exit status 3\n", "experiment    e (number 7)\n",
                           "duration      3.5 s\n", "runs          train.py --lr 0.1 'a b'\n", "tags          k=v\n"})
    EXPECT_NE(out().find(line), std::string::npos) << line << out();
  EXPECT_EQ(Run({"run", "show", "r1", "-o", "json"}), 0);
  EXPECT_EQ(*ParseJson(out()), server_.run_view);
  server_.run_view = Json::MakeObject();
  EXPECT_EQ(Run({"run", "show", "r1"}), 5);
  EXPECT_EQ(err(), "ferry: there is nothing at /api/v1/runs/r1\n  list runs with: ferry run list\n");
}

TEST_F(Runs, UpdateSendsOnlyWhatChanges) {
  Answers({{"PATCH /api/v1/runs/r1", "{}"}});
  EXPECT_EQ(Run({"run", "update", "-r", "r1", "--add-tag", "a=1", "--add-tag", "b", "--remove-tag", "c", "--name", ""}), 0) << err();
  EXPECT_EQ(bodies_.back(), R"({"tags":{"a":"1","b":""},"remove_tags":["c"],"name":""})");
  EXPECT_EQ(Run({"run", "update", "-r", "r1"}), 2);
  EXPECT_EQ(Run({"run", "archive", "r1"}), 0);
  EXPECT_EQ(bodies_.back(), R"({"archived":true})");
}

TEST_F(Runs, DownloadStaysInItsFolder) {
  const std::string content = "the model", hex = HashBytes(content).Hex();
  auto list = [&](const std::string& path) {
    return StrCat(R"({"artifacts": [{"path": ")", path, R"(", "size": 9, "digest": ")", hex, R"("}], "next": null})");
  };
  std::string ranges, path = "outputs/a b/m.bin";
  server_.before = [&](const http::Head& head, const std::string&) -> std::optional<http::Response> {
    if (head.path.ends_with("/artifacts")) return http::Response{200, {}, list(path)};
    ranges += head.Header("range") + ";";
    if (head.Header("range") == "bytes=4-") return http::Response{206, {}, content.substr(4)};
    return http::Response{200, {}, content};
  };
  std::string to = folder_ + "/dl";
  EXPECT_EQ(Run({"run", "download", "-r", "r1", "-d", to}), 0) << err();
  EXPECT_EQ(*os::ReadFile(to + "/outputs/a b/m.bin"), content);
  EXPECT_EQ(server_.count("GET /api/v1/runs/r1/artifacts/outputs/a%20b/m.bin"), 1u);
  // There already: not fetched again. A part of it: goes on there. A wrong part: begins anew.
  EXPECT_EQ(Run({"run", "download", "-r", "r1", "-d", to}), 0) << err();
  EXPECT_EQ(ranges, ";");
  Write("dl/outputs/a b/m.bin", "other one");
  Write("dl/outputs/a b/m.bin.ferry-part", "the ");
  EXPECT_EQ(Run({"run", "download", "-r", "r1", "-d", to}), 0) << err();
  EXPECT_EQ(ranges, ";bytes=4-;");
  EXPECT_EQ(*os::ReadFile(to + "/outputs/a b/m.bin"), content);
  Write("dl/outputs/a b/m.bin", "other one");
  Write("dl/outputs/a b/m.bin.ferry-part", "xxxx");
  EXPECT_EQ(Run({"run", "download", "-r", "r1", "-d", to}), 0) << err();
  EXPECT_EQ(ranges, ";bytes=4-;bytes=4-;;");
  EXPECT_EQ(*os::ReadFile(to + "/outputs/a b/m.bin"), content);

  for (const char* bad : {"../x", "outputs/../../x", "/etc/x", "outputs//x", "."}) {
    path = bad;
    EXPECT_EQ(Run({"run", "download", "-r", "r1", "-d", to}), 2) << bad;
    EXPECT_NE(err().find("is not written"), std::string::npos) << err();
  }
  ASSERT_TRUE(os::MakeLink(folder_, to + "/link").ok());
  path = "link/x";
  EXPECT_EQ(Run({"run", "download", "-r", "r1", "-d", to}), 2);
  EXPECT_FALSE(os::Exists(folder_ + "/x"));
}

TEST_F(Runs, RestoreSnapshot) {
  Write("src/train.py", "print(1)\n");
  Write("src/copy.py", "print(1)\n");
  Write("src/empty", "");
  for (int i = 0; i < 2500; ++i) {
    if (i == 0) {
      ASSERT_TRUE(os::MakeFolders(folder_ + "/src/many").ok());
    }
    auto fd = os::Open(StrCat(folder_, "/src/many/", i), os::OpenMode::kWrite);
    ASSERT_TRUE(os::WriteAll(*fd, StrCat("file ", i)).ok());
  }
  Write("src/large.bin", std::string(5u << 20, 'z'));
  EXPECT_EQ(Run({"run", "submit-script", "--async", "--only-show-errors", "--source-directory", folder_ + "/src", "train.py"}), 0) << err();
  std::string snapshot = server_.posted().back().GetString("snapshot");
  server_.run_view = Json::MakeObject({{"id", "r1"}, {"spec", Json::MakeObject({{"snapshot", snapshot}})}});
  EXPECT_EQ(Run({"run", "restore-snapshot", "-r", "r1", "-d", folder_ + "/back"}), 0) << err();
  auto again = snapshot::Scan({.folder = folder_ + "/back", .cache_file = "", .threads = 1});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->manifest.Id().Hex(), snapshot);
  EXPECT_LE(server_.count("POST /api/v1/blobs/fetch"), 5u);
  server_.run_view = Json::MakeObject({{"id", "r1"}, {"spec", Json::MakeObject()}});
  EXPECT_EQ(Run({"run", "restore-snapshot", "-r", "r1", "-d", folder_ + "/back2"}), 5);
}

TEST_F(Runs, AdministrationAsksTheRightThings) {
  Answers({{"POST /api/v1/workspaces", R"({"name": "w"})"},
           {"POST /api/v1/experiments", R"({"name": "e", "workspace": "default"})"},
           {"POST /api/v1/users", R"({"name": "joe", "role": "reader"})"},
           {"DELETE /api/v1/users/joe", "{}"},
           {"POST /api/v1/tokens", R"({"id": "t1", "token": "secret"})"},
           {"GET /api/v1/tokens", R"({"tokens": [{"id": "t1", "user": "joe"}], "next": null})"},
           {"GET /api/v1/nodes", R"({"nodes": []})"}});
  EXPECT_EQ(Run({"workspace", "create", "-w", "w", "--exist-ok"}), 0) << err();
  EXPECT_EQ(bodies_.back(), R"({"name":"w","exist_ok":true})");
  EXPECT_EQ(Run({"experiment", "create", "-n", "e", "-g", "group"}), 0) << err();
  EXPECT_EQ(bodies_.back(), R"({"name":"e","workspace":"default"})");
  EXPECT_EQ(Run({"user", "add", "joe", "--role", "reader"}), 0) << err();
  EXPECT_EQ(Run({"user", "remove", "joe"}), 0) << err();
  EXPECT_EQ(Run({"token", "create", "--user", "joe", "--expires", "2d"}), 0) << err();
  EXPECT_EQ(bodies_.back(), R"({"user":"joe","expires_in_seconds":172800})");
  EXPECT_EQ(out(), "secret\n");
  EXPECT_EQ(Run({"token", "create", "--expires", "soon"}), 2);
  EXPECT_EQ(Run({"token", "list", "-o", "tsv", "--query", "[].user"}), 0) << err();
  EXPECT_EQ(out(), "joe\n");
  EXPECT_EQ(Run({"node", "list", "-o", "json"}), 0) << err();
  EXPECT_EQ(out(), "[]\n");
}

TEST_F(Runs, AnotherProtocolIsOneSentence) {
  server_.before = [](const http::Head&, const std::string&) { return http::Response{200, {{"ferry-protocol", "99"}}, "{}"}; };
  EXPECT_EQ(Run({"run", "list"}), 6);
  EXPECT_NE(err().find("speaks protocol 99 and this ferry speaks 1"), std::string::npos) << err();
}

class OwnServer : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ::unsetenv("FERRY_URL");
    ::unsetenv("FERRY_TOKEN");
  }
  // What a starting server leaves in the data folder.
  Result<void> Announce(int pid) {
    ++started_;
    TRY_VOID(os::MakeFolders(folder_ + "/home"));
    TRY_VOID(os::WriteFileAtomic(folder_ + "/home/admin.token", "own\n", 0600, false));
    return os::WriteFileAtomic(folder_ + "/home/server.json", Json::MakeObject({{"url", server_.url()}, {"pid", pid}}).Dump(), 0644, false);
  }
  SessionSettings Settings() {
    SessionSettings settings;
    settings.start = [this] { return Announce(os::Self().pid); };
    settings.note = [this](std::string_view line) { notes_ += StrCat(line, "\n"); };
    return settings;
  }
  std::atomic<int> started_ = 0;
  std::string notes_;
};

TEST_F(OwnServer, IsStartedOnce) {
  EXPECT_EQ(Session::OpenRunning({}).error().slug, "server.none");
  auto session = Session::Open(Settings());
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_TRUE((*session)->Get("/healthz").ok());
  EXPECT_EQ(started_, 1);
  EXPECT_NE(notes_.find(StrCat("started a Ferry server at ", server_.url())), std::string::npos);
  EXPECT_EQ(server_.tokens(), std::set<std::string>{"Bearer own"});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      auto another = Session::Open(Settings());
      EXPECT_TRUE(another.ok() && (*another)->Get("/healthz").ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(started_, 1);
}

TEST_F(OwnServer, IsStartedAgainWhenItIsGone) {
  // An address where nobody listens, of a process that is gone.
  ASSERT_TRUE(os::MakeFolders(folder_ + "/home").ok());
  Write("home/server.json", R"({"url": "http://127.0.0.1:9", "pid": 999999999})");
  auto session = Session::Open(Settings());
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_TRUE((*session)->Get("/healthz").ok());
  EXPECT_EQ(started_, 1);
  Write("home/server.json", "nonsense");
  EXPECT_EQ(Session::Open(Settings()).error().slug, "server.address");
}

TEST(Reference, PageIsUpToDate) {
  auto page = os::ReadFile(FERRY_SOURCE_DIR "/docs/reference/cli.md");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(*page, ReferencePage(Commands())) << "make it anew with: ferry help --markdown > docs/reference/cli.md";
}

}  // namespace
}  // namespace ferry::cli
