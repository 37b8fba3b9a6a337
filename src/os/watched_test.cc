#include "os/watched.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "os/program.h"

namespace ferry::os {
namespace {

WatchedCommand Shell(const std::string& script, std::vector<std::string>& lines) {
  WatchedCommand command;
  command.argv = {"sh", "-c", script};
  command.line = [&lines](std::string_view line) { lines.emplace_back(line); };
  return command;
}

TEST(Watched, LinesInOrderStatusFolderInputAndVariables) {
  std::vector<std::string> lines;
  WatchedCommand command = Shell("pwd; echo error >&2; cat; echo; echo $NAME; printf 'dos\\r\\nlast'; exit 3", lines);
  command.folder = "/usr";
  command.input = "from outside";
  command.environment = Environment();
  (*command.environment)["NAME"] = "a b";
  auto status = RunWatched(command);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(status->code, 3);
  EXPECT_EQ(status->signal, 0);
  EXPECT_EQ(lines, (std::vector<std::string>{"/usr", "error", "from outside", "a b", "dos", "last"}));
  EXPECT_EQ(RunWatched(Shell("kill -9 $$", lines))->signal, SIGKILL);
}

TEST(Watched, NoInputIsAnEmptyOneAndALargeOneBlocksNobody) {
  std::vector<std::string> lines;
  EXPECT_EQ(RunWatched(Shell("cat", lines))->code, 0);
  EXPECT_TRUE(lines.empty());
  WatchedCommand command = Shell("true", lines);
  command.input = std::string(4u << 20, 'x');
  EXPECT_EQ(RunWatched(command)->code, 0);
}

TEST(Watched, ALineComesWhileTheProgramRuns) {
  std::string fifo = StrCat(testing::TempDir(), "/watched.", RandomHex(6));
  WatchedCommand command;
  std::vector<std::string> lines;
  command.argv = {"sh", "-c", "mkfifo \"$0\" && echo ready && read x < \"$0\" && echo \"$x\"", fifo};
  // The program waits for what is written when its first line was seen.
  command.line = [&](std::string_view line) {
    lines.emplace_back(line);
    if (line != "ready") return;
    EXPECT_TRUE(OutputOf({"sh", "-c", "echo seen > \"$0\"", fifo}, std::chrono::seconds(30)).ok());
  };
  auto status = RunWatched(command);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(lines, (std::vector<std::string>{"ready", "seen"}));
  (void)RemoveFile(fifo);
}

TEST(Watched, ALongLineIsCut) {
  std::vector<std::string> lines;
  ASSERT_TRUE(RunWatched(Shell("head -c 300000 /dev/zero | tr '\\0' x; echo; echo next", lines)).ok());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size(), 64u << 10);
  EXPECT_EQ(lines[1], "next");
}

TEST(Watched, MuchOutputArrivesWhole) {
  std::vector<std::string> lines;
  ASSERT_TRUE(RunWatched(Shell("seq 200000", lines)).ok());
  ASSERT_EQ(lines.size(), 200000u);
  EXPECT_EQ(lines.back(), "200000");
}

TEST(Watched, StopEndsTheWholeGroup) {
  std::string mark = RandomHex(8);
  for (const char* script :
       {"sleep 600 & (sleep 601 & wait) & echo up; wait", "trap '' TERM; sh -c \"trap '' TERM; sleep 602; sleep 603\" & echo up; wait; wait"}) {
    std::atomic<bool> up = false;
    WatchedCommand command;
    command.argv = {"sh", "-c", script};
    command.environment = Environment();
    (*command.environment)["FERRY_WATCHED_TEST"] = mark;
    command.line = [&](std::string_view) { up = true; };
    command.stopping = [&] { return up.load(); };
    auto status = RunWatched(command);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kCanceled);
    EXPECT_EQ(status.error().slug, "process.stopped");
    // What SIGKILL hit may still be on its way out.
    while (!ProcessesWith("FERRY_WATCHED_TEST", mark).empty()) std::this_thread::yield();
  }
}

TEST(Watched, WhatIsLeftOfTheGroupEndsWithTheProgram) {
  std::string mark = RandomHex(8);
  WatchedCommand command;
  command.argv = {"sh", "-c", "sleep 600 & exit 0"};
  command.environment = Environment();
  (*command.environment)["FERRY_WATCHED_TEST"] = mark;
  auto status = RunWatched(command);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->code, 0);
  while (!ProcessesWith("FERRY_WATCHED_TEST", mark).empty()) std::this_thread::yield();
}

TEST(Watched, AProgramThatIsNotThere) {
  WatchedCommand command;
  command.argv = {"no-such-program-anywhere"};
  EXPECT_EQ(RunWatched(command).error().slug, "process.not_found");
}

}  // namespace
}  // namespace ferry::os
