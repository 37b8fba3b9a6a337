#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "cli/fake_server.h"
#include "os/poll.h"
#include "snapshot/snapshot.h"

namespace ferry::cli {
namespace {

class Submit : public CommandTest {
 protected:
  std::string Src() const { return folder_ + "/src"; }
  // The words of an asynchronous submission of src/train.py.
  std::vector<std::string> Async(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"run", "submit-script", "-e", "exp", "--async", "--source-directory", Src()};
    for (std::string& word : more) words.push_back(std::move(word));
    words.push_back("train.py");
    return words;
  }
};

TEST_F(Submit, SendsContentOnlyWhenItIsMissing) {
  Write("src/train.py", "print(1)\n");
  Write("src/lib/a.py", std::string(5000, 'a'));
  auto words = Async({"--tag", "k=v", "--env", "A=b=c", "--gpus", "2", "--name", "nice", "--interpreter", "python3"});
  for (const char* word : {"--lr", "0.1", "-e", "x"}) words.push_back(word);
  EXPECT_EQ(Run(words), 0) << err();
  ASSERT_EQ(server_.posted().size(), 2u);
  const Json run = server_.posted()[1];
  EXPECT_EQ(run, server_.posted()[0]);
  EXPECT_EQ(out(), run.GetString("id") + "\n");
  EXPECT_TRUE(run.GetString("id").starts_with("exp_"));
  EXPECT_EQ(run.GetString("script"), "train.py");
  EXPECT_EQ(run.GetStrings("arguments"), (std::vector<std::string>{"--lr", "0.1", "-e", "x"}));
  EXPECT_EQ(run.GetString("workspace"), "default");
  EXPECT_EQ(run.GetString("source"), "src");
  EXPECT_EQ(run.GetString("interpreter"), "python3");
  EXPECT_EQ(run.GetInt("gpus"), 2);
  EXPECT_EQ(run.GetStringMap("tags").at("k"), "v");
  EXPECT_EQ(run.GetStringMap("environment").at("A"), "b=c");
  auto manifest = snapshot::Manifest::Parse(server_.blobs().at(run.GetString("snapshot")));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->entries.size(), 2u);
  EXPECT_EQ(server_.order().back(), run.GetString("snapshot"));
  EXPECT_EQ(server_.tokens(), std::set<std::string>{"Bearer secret"});

  // The same folder again: one request, another run.
  EXPECT_EQ(Run(Async()), 0) << err();
  EXPECT_EQ(server_.posted().size(), 3u);
  EXPECT_EQ(server_.count("POST /api/v1/blobs"), 2u);
  // One file changed: that one and the manifest are sent.
  Write("src/train.py", "print(2)\n");
  size_t before = server_.order().size();
  EXPECT_EQ(Run(Async()), 0) << err();
  EXPECT_EQ(server_.order().size(), before + 2);
}

TEST_F(Submit, ManyFilesInPacks) {
  for (int i = 0; i < 10000; ++i) {
    if (i % 100 == 0) {
      ASSERT_TRUE(os::MakeFolders(StrCat(Src(), "/d", i / 100)).ok());
    }
    auto fd = os::Open(StrCat(Src(), "/d", i / 100, "/f", i), os::OpenMode::kWrite);
    ASSERT_TRUE(os::WriteAll(*fd, StrCat("file ", i, " ", std::string(300, 'x'))).ok());
  }
  Write("src/train.py", "print(1)\n");
  EXPECT_EQ(Run(Async()), 0) << err();
  EXPECT_EQ(server_.blobs().size(), 10002u);
  EXPECT_EQ(server_.count("POST /api/v1/blobs/pack"), 1u);
  EXPECT_EQ(server_.order().back(), server_.posted().back().GetString("snapshot"));
}

TEST_F(Submit, LargeFileGoesOnWhereItEnded) {
  std::string large;
  for (int i = 0; large.size() < (20u << 20); ++i) large += StrCat(i, ",");
  Write("src/train.py", "print(1)\n");
  Write("src/data.bin", large);
  std::string hex = HashBytes(large).Hex();
  server_.parts[hex] = large.substr(0, 9u << 20);
  EXPECT_EQ(Run(Async()), 0) << err();
  EXPECT_EQ(server_.blobs().at(hex), large);
  EXPECT_EQ(server_.count("PUT "), 2u);
  EXPECT_EQ(server_.order().back(), server_.posted().back().GetString("snapshot"));
}

TEST_F(Submit, LostConnectionUsesTheSameId) {
  Write("src/train.py", "print(1)\n");
  std::atomic<bool> held = false;
  server_.hold = [&](const http::Head& head) { return head.method == "POST" && head.path == "/api/v1/runs" && !held.exchange(true); };
  int status = -1;
  std::thread command([&] { status = Run(Async()); });
  ASSERT_TRUE(Eventually([&] { return !server_.posted().empty(); }));
  server_.Stop();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  server_.Start(server_.port());
  command.join();
  EXPECT_EQ(status, 0) << err();
  ASSERT_GE(server_.posted().size(), 2u);
  for (const Json& run : server_.posted()) EXPECT_EQ(run, server_.posted()[0]);
  EXPECT_NE(err().find("trying again"), std::string::npos);
}

TEST_F(Submit, LostConnectionInTheMiddleOfAnUpload) {
  Write("src/train.py", "print(1)\n");
  std::atomic<bool> held = false;
  server_.hold = [&](const http::Head& head) { return head.path == "/api/v1/blobs/pack" && !held.exchange(true); };
  int status = -1;
  std::thread command([&] { status = Run(Async()); });
  ASSERT_TRUE(Eventually([&] { return held.load(); }));
  server_.Restart();
  command.join();
  EXPECT_EQ(status, 0) << err();
  EXPECT_EQ(server_.posted().back(), server_.posted().front());
  EXPECT_EQ(server_.count("POST /api/v1/blobs/pack"), 2u);
}

TEST_F(Submit, FileThatChangesIsReadAgain) {
  Write("src/train.py", "print(1)\n");
  Write("src/log.txt", "a");
  int changes = 1;
  server_.before = [&](const http::Head& head, const std::string&) -> std::optional<http::Response> {
    if (head.path == "/api/v1/blobs/missing" && changes > 0) {
      --changes;
      Write("src/log.txt", StrCat("changed ", changes));
    }
    return std::nullopt;
  };
  EXPECT_EQ(Run(Async()), 0) << err();
  EXPECT_NE(err().find("'log.txt' changed while it was sent; reading the folder again"), std::string::npos) << err();
  changes = 5;
  Write("src/log.txt", "b");
  EXPECT_EQ(Run(Async()), ExitStatus(Code::kConflict));
  EXPECT_NE(err().find("ferry: 'log.txt' keeps changing while it is sent"), std::string::npos) << err();
}

TEST_F(Submit, ErrorsBeforeAnythingIsSent) {
  Write("src/train.py", "print(1)\n");
  Write("src/hidden.py", "print(1)\n");
  Write("src/.amlignore", "hidden.py\n");
  Write("other.py", "print(1)\n");
  auto submit = [&](const std::string& folder, const std::string& script) { return Run({"run", "submit-script", "--source-directory", folder, script}); };
  EXPECT_EQ(submit(Src(), "none.py"), 5);
  EXPECT_EQ(err().find("ferry: there is no script 'none.py' in the source directory"), 0u) << err();
  EXPECT_EQ(submit(Src() + "/none", "train.py"), 5);
  EXPECT_NE(err().find("to take the source from"), std::string::npos) << err();
  EXPECT_EQ(submit(Src() + "/train.py", "train.py"), 2);
  EXPECT_NE(err().find("is not a folder"), std::string::npos) << err();
  EXPECT_EQ(submit(Src(), "../other.py"), 2);
  EXPECT_NE(err().find("is outside of the source directory"), std::string::npos) << err();
  EXPECT_EQ(submit(Src(), folder_ + "/other.py"), 2);
  EXPECT_EQ(submit(Src(), "hidden.py"), 2);
  EXPECT_NE(err().find("is left out of the snapshot by .amlignore"), std::string::npos) << err();
  EXPECT_EQ(Run({"run", "submit-script", "--source-directory", Src(), "-e", "no good", "train.py"}), 2);
  EXPECT_EQ(Run({"run", "submit-script", "--source-directory", Src(), "--env", "A", "train.py"}), 2);
  EXPECT_EQ(err(), "ferry: --env is 'A'; expected NAME=VALUE\n");
  EXPECT_EQ(Run({"run", "submit-script", "--query", "a[", "--source-directory", Src(), "train.py"}), 2);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Submit, CommandWithoutSnapshot) {
  EXPECT_EQ(Run({"run", "submit-command", "-e", "exp", "--async", "-o", "json", "--", "echo", "-n", "x"}), 0) << err();
  const Json run = server_.posted().at(0);
  EXPECT_EQ(run.GetStrings("command"), (std::vector<std::string>{"echo", "-n", "x"}));
  EXPECT_EQ(run.Find("snapshot"), nullptr);
  EXPECT_EQ(ParseJson(out())->GetString("id"), run.GetString("id"));
}

TEST_F(Submit, AttachedShowsOutputAndHowItEnded) {
  Write("src/train.py", "print(1)\n");
  server_.events = [&](const std::string&) {
    return StatusEvent("1", View("Queued")) + StatusEvent("1", View("Running")) + LogEvent("2", 0, "hello\n") + LogEvent("3", 6, "w\xc3\xb6rld\n") +
           StatusEvent("3", View("Completed")) + EndEvent("Completed");
  };
  server_.before = [&](const http::Head& head, const std::string&) -> std::optional<http::Response> {
    if (head.path.ends_with("/metrics"))
      return FakeServer::Ok(
          *ParseJson(R"({"metrics": [{"name": "loss", "kind": "scalar", "count": 2, "latest": 0.5, "latest_step": 1, "min": 0.5, "max": 1}]})"));
    if (head.path.ends_with("/artifacts"))
      return FakeServer::Ok(*ParseJson(R"({"artifacts": [{"path": "outputs/model.pt", "size": 1200, "digest": ""}], "next": null})"));
    return std::nullopt;
  };
  std::vector<std::string> words = Async();
  std::erase(words, "--async");
  EXPECT_EQ(Run(words), 0) << err();
  EXPECT_EQ(out(), "hello\nw\xc3\xb6rld\n");
  EXPECT_NE(err().find("Queued\nRunning\n"), std::string::npos) << err();
  EXPECT_NE(err().find("\nCompleted in 3.5 s\n"), std::string::npos) << err();
  EXPECT_NE(err().find("loss"), std::string::npos) << err();
  EXPECT_NE(err().find("  outputs/model.pt  1.2 KB\n"), std::string::npos) << err();

  words.insert(words.begin() + 2, {"-o", "json"});
  EXPECT_EQ(Run(words), 0) << err();
  EXPECT_EQ(ParseJson(out())->GetString("status"), "Completed");
  EXPECT_NE(err().find("hello\n"), std::string::npos);
}

TEST_F(Submit, FollowGoesOnAfterALostConnection) {
  server_.run_view = View("Running");
  std::vector<std::string> ids;
  server_.events = [&](const std::string& last_id) {
    ids.push_back(last_id);
    if (ids.size() == 1) return StatusEvent("1/x:0", View("Running")) + LogEvent("1/x:4", 0, "one\n");
    // The second sends a part that was printed already.
    Json failed = View("Failed");
    failed.Set("end", Json::MakeObject({{"reason", "script_failed"}, {"text", "exit status 3"}}));
    return LogEvent("1/x:8", 2, "e\ntwo\n") + StatusEvent("1/x:8", failed) + EndEvent("Failed");
  };
  EXPECT_EQ(Run({"run", "monitor-logs", "r1"}), 1);
  EXPECT_EQ(out(), "one\ntwo\n");
  EXPECT_EQ(ids, (std::vector<std::string>{"", "1/x:4"}));
  EXPECT_NE(err().find("lost the connection to the server; trying again\n"), std::string::npos) << err();
  EXPECT_NE(err().find("\nFailed in 3.5 s: exit status 3\n"), std::string::npos) << err();
  server_.run_view = Json::MakeObject();
  EXPECT_EQ(Run({"run", "monitor-logs", "r2"}), 5);
}

class Interrupted : public CommandTest {
 protected:
  // Before the server's threads exist, so that none of them is ended by the signal.
  os::Signals blocked_{{SIGINT}};
};

TEST_F(Interrupted, CtrlCDetaches) {
  server_.Restart();
  server_.run_view = View("Running");
  server_.events_stay = true;
  server_.events = [&](const std::string&) { return StatusEvent("1", View("Running")) + LogEvent("2", 0, "working\n"); };
  int status = -1;
  std::thread command([&] { status = Run({"run", "monitor-logs", "r1"}); });
  ASSERT_TRUE(Eventually([&] { return out() == "working\n"; }));
  os::SendSignal(os::Self().pid, SIGINT);
  command.join();
  EXPECT_EQ(status, 130);
  EXPECT_NE(err().find("cancel it:  ferry run cancel -r r1\n"), std::string::npos) << err();
}

}  // namespace
}  // namespace ferry::cli
