// Real processes under a real supervisor.
#include "agent/supervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "environment/image/run.h"
#include "environment/image/test_engine.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::agent {
namespace {

namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

std::string Read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    name_ = StrCat("supervisor_test_", getpid(), "_", testing::UnitTest::GetInstance()->current_test_info()->name());
    folder_ = fs::path(testing::TempDir()) / name_;
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "work");
  }
  void TearDown() override {
    // The supervisor still writes its record while the folder goes; it ends when there is none.
    for (int i = 0; i < 1000; ++i) {
      for (int pid : os::ProcessesWith("FERRY_ATTEMPT", name_)) ::kill(pid, SIGKILL);
      std::error_code error;
      fs::remove_all(folder_, error);
      if (!error && !fs::exists(folder_)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << folder_ << " could not be removed";
  }

  Launch Script(const std::string& text) {
    Launch launch;
    launch.name = name_;
    launch.argv = {"sh", "-c", text};
    launch.environment = {{"PATH", getenv("PATH")}, {"FERRY_ATTEMPT", name_}};
    launch.folder = folder_ / "work";
    launch.token = "right";
    launch.sample_seconds = 0;
    launch.stop_grace_seconds = 1;
    return launch;
  }
  // 0 once the script runs; what was said otherwise is in "said".
  int Start(const Launch& launch) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return 1;
    pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      setsid();
      if (fork() != 0) _exit(0);
      _exit(SuperviseHere(folder_, launch, [&](const std::string& error) {
        std::string text = error.empty() ? "ok" : error;
        [[maybe_unused]] ssize_t n = write(ends[1], text.data(), text.size());
        close(ends[1]);
      }));
    }
    close(ends[1]);
    std::string said;
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<size_t>(n));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    std::ofstream(folder_ / "said") << said;
    return said == "ok" ? 0 : 1;
  }
  model::Exit WaitForEnd(int seconds = 20) {
    auto deadline = Steady::now() + std::chrono::seconds(seconds);
    while (!fs::exists(folder_ / "exit.json")) {
      if (Steady::now() > deadline) {
        ADD_FAILURE() << "no exit record after " << seconds << " s";
        return {};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return model::ExitFromJson(*ParseJson(Read(folder_ / "exit.json")));
  }
  model::Exit RunIt(const Launch& launch) {
    EXPECT_EQ(Start(launch), 0) << Read(folder_ / "said");
    return WaitForEnd();
  }
  Json Supervisor() { return *ParseJson(Read(folder_ / "supervisor.json")); }
  bool Said(const std::string& text) {
    for (int i = 0; i < 4000; ++i) {
      if (Read(folder_ / "std_log.txt").find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  std::string name_;
  fs::path folder_;
};

// A connection to the supervisor, as the SDK makes one.
class Channel {
 public:
  explicit Channel(const std::string& address) {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Channel() { close(fd_); }
  void Send(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      ssize_t n = send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
  }
  // The next line; "(closed)" when the supervisor has hung up.
  std::string Line() {
    for (;;) {
      if (size_t end = rest_.find('\n'); end != std::string::npos) {
        std::string line = rest_.substr(0, end);
        rest_.erase(0, end + 1);
        return line;
      }
      char buffer[4096];
      ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return "(closed)";
      rest_.append(buffer, static_cast<size_t>(n));
    }
  }
  std::string Ask(const std::string& line) {
    Send(line + "\n");
    return Line();
  }

 private:
  int fd_;
  std::string rest_;
};

TEST_F(SupervisorTest, ExitStatusAndOutputInOrder) {
  Launch launch = Script("echo out; echo err >&2; echo out again; pwd; exit 3");
  launch.first_line = "first";
  model::Exit exit = RunIt(launch);
  EXPECT_EQ(exit.code, 3);
  EXPECT_EQ(exit.signal, 0);
  EXPECT_EQ(Read(folder_ / "std_log.txt"), StrCat("first\nout\nerr\nout again\n", (folder_ / "work").string(), "\n"));
  EXPECT_EQ(Read(folder_ / "spool"), "");
}

TEST_F(SupervisorTest, Zero) {
  model::Exit exit = RunIt(Script("true"));
  EXPECT_EQ(exit, model::Exit{});
}

TEST_F(SupervisorTest, ASignalIsTold) {
  model::Exit exit = RunIt(Script("kill -SEGV $$"));
  EXPECT_EQ(exit.signal, SIGSEGV);
  EXPECT_EQ(model::ReasonOf(exit), model::EndReason::kScriptKilled);
}

TEST_F(SupervisorTest, ManyLinesFromBothStreams) {
  RunIt(Script("i=0; while [ $i -lt 2000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done"));
  std::string expected;
  for (int i = 0; i < 2000; ++i) expected += StrCat("o", i, "\ne", i, "\n");
  EXPECT_EQ(Read(folder_ / "std_log.txt"), expected);
}

TEST_F(SupervisorTest, AProgramThatCannotBeStarted) {
  Launch launch = Script("true");
  launch.argv = {"no-such-program-anywhere"};
  EXPECT_EQ(Start(launch), 1);
  EXPECT_NE(Read(folder_ / "said").find("no-such-program-anywhere"), std::string::npos) << Read(folder_ / "said");
  EXPECT_FALSE(fs::exists(folder_ / "exit.json"));
}

TEST_F(SupervisorTest, StopIsTermThenKill) {
  ASSERT_EQ(Start(Script("trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.05; done")), 0);
  ASSERT_TRUE(Said("ready"));
  ::kill(static_cast<pid_t>(Supervisor().GetInt("pid")), SIGTERM);
  EXPECT_EQ(WaitForEnd().code, 5) << "the script had its chance";
  EXPECT_TRUE(Said("got it"));
}

TEST_F(SupervisorTest, WhoIgnoresTermIsKilled) {
  ASSERT_EQ(Start(Script("trap '' TERM; echo ready; while :; do sleep 0.05; done")), 0);
  ASSERT_TRUE(Said("ready"));
  auto began = Steady::now();
  ::kill(static_cast<pid_t>(Supervisor().GetInt("pid")), SIGTERM);
  model::Exit exit = WaitForEnd();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_FALSE(exit.out_of_memory) << "we sent that signal";
  EXPECT_GE(Steady::now() - began, std::chrono::milliseconds(900));
}

TEST(DiedOfMemory, IsToldFromOtherKills) {
  EXPECT_TRUE(DiedOfMemory(SIGKILL, false, {1, 0, 0})) << "the group's count alone says it";
  EXPECT_FALSE(DiedOfMemory(SIGKILL, false, {0, 3, 4})) << "it was somebody else's";
  EXPECT_TRUE(DiedOfMemory(SIGKILL, false, {std::nullopt, 3, 4}));
  EXPECT_FALSE(DiedOfMemory(SIGKILL, false, {std::nullopt, 3, 3})) << "a plain kill";
  EXPECT_FALSE(DiedOfMemory(SIGKILL, true, {1, 3, 4})) << "we sent that signal";
  EXPECT_FALSE(DiedOfMemory(SIGSEGV, false, {1, 3, 4}));
  EXPECT_FALSE(DiedOfMemory(0, false, {1, 3, 4})) << "a child of the script died, and the script went on";
}

// What limits a script to 32 MB, as its first command; empty where the system does not permit it. `group`: to be removed afterwards, or empty.
std::string LimitMemory(const std::string& name, std::string& group) {
  std::string second;
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    if (line.starts_with("0::")) second = "/sys/fs/cgroup" + line.substr(3);
    if (line.find(":memory:") == std::string::npos) continue;
    group = StrCat("/sys/fs/cgroup/memory", line.substr(line.rfind(':') + 1), "/", name);
    std::error_code error;
    if (fs::create_directory(group, error) && std::ofstream(group + "/memory.limit_in_bytes") << 33554432 << std::flush)
      return StrCat("echo $$ > ", group, "/cgroup.procs");
    fs::remove(group, error);
    group.clear();
  }
  // Version 2: the supervisor's group for the script is the one that counts.
  if (Read(second + "/cgroup.subtree_control").find("memory") == std::string::npos || ::access((second + "/cgroup.procs").c_str(), W_OK) != 0) return {};
  return StrCat("echo 33554432 > ", second, "/ferry-", name, "/memory.max");
}

TEST_F(SupervisorTest, AScriptThatTheKernelKillsForMemoryIsToldFromOneThatSomebodyKills) {
  std::string group;
  std::string limit = LimitMemory(name_, group);
  if (limit.empty()) {
    std::cout << "no control group with a limit is permitted here: only the plain kill is tried\n";
  } else {
    // The second limit is for a group that turns out to limit nothing.
    model::Exit exit = RunIt(Script(StrCat(limit, " && ulimit -v 1000000 && exec tail /dev/zero")));
    EXPECT_EQ(exit.signal, SIGKILL) << Read(folder_ / "std_log.txt");
    EXPECT_TRUE(exit.out_of_memory);
    EXPECT_EQ(model::ReasonOf(exit), model::EndReason::kOutOfMemory);
    EXPECT_TRUE(group.empty() || ::rmdir(group.c_str()) == 0);
    fs::remove(folder_ / "exit.json");
  }
  model::Exit exit = RunIt(Script("kill -KILL $$"));
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_FALSE(exit.out_of_memory);
  EXPECT_EQ(model::ReasonOf(exit), model::EndReason::kScriptKilled);
}

TEST_F(SupervisorTest, MaxDuration) {
  Launch launch = Script("echo ready; sleep 60");
  launch.max_duration_seconds = 1;
  auto began = Steady::now();
  model::Exit exit = RunIt(launch);
  EXPECT_TRUE(exit.timed_out);
  EXPECT_EQ(model::ReasonOf(exit), model::EndReason::kTimedOut);
  EXPECT_LT(Steady::now() - began, std::chrono::seconds(5));
}

TEST_F(SupervisorTest, NobodyIsLeftBehind) {
  // Forked twice, with a session of its own, ignoring SIGTERM: as a daemon does it.
  model::Exit exit =
      RunIt(Script("(setsid sh -c 'trap \"\" TERM; echo $$ > daemon; while :; do sleep 0.05; done' &) ; while [ ! -s daemon ]; do sleep 0.01; done; exit 4"));
  EXPECT_EQ(exit.code, 4) << "the script's own status, whatever its children do";
  int daemon = std::stoi(Read(folder_ / "work/daemon"));
  EXPECT_NE(::kill(daemon, 0), 0) << "the daemon lives";
  EXPECT_TRUE(os::ProcessesWith("FERRY_ATTEMPT", name_).empty());
}

TEST_F(SupervisorTest, TheScriptDiesWithItsSupervisor) {
  ASSERT_EQ(Start(Script("echo ready; sleep 60")), 0);
  ASSERT_TRUE(Said("ready"));
  auto script = static_cast<pid_t>(Supervisor().GetInt("script"));
  ::kill(static_cast<pid_t>(Supervisor().GetInt("pid")), SIGKILL);
  bool gone = false;
  for (int i = 0; i < 400 && !gone; ++i) {
    auto id = os::Identify(script);
    gone = !id || !os::IsAlive(*id);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(gone);
}

struct TestEngine : environment::EngineTest {
  using EngineTest::base_;
  using EngineTest::engine_;
  using EngineTest::SetUpTestSuite;
};

// The script is in a container, and what the supervisor starts is podman.
class ContainerSupervisorTest : public SupervisorTest {
 protected:
  static void SetUpTestSuite() { TestEngine::SetUpTestSuite(); }
  void TearDown() override {
    EXPECT_TRUE(environment::EndContainer(TestEngine::engine_, environment::ContainerName(name_)).ok());
    SupervisorTest::TearDown();
  }
  Launch Python(const std::string& text, uint64_t memory = 0) {
    Launch launch = Script("");
    environment::Ready ready;
    ready.image = TestEngine::base_;
    environment::RunPlan plan;
    plan.engine = TestEngine::engine_;
    plan.name = environment::ContainerName(name_);
    plan.work = launch.folder;
    plan.argv = {"python3", "-uc", text};
    plan.variables = {{"FERRY_ATTEMPT", name_}, {"TOKEN", launch.token}};
    plan.later = {"FERRY_RUN_SOCKET"};
    plan.memory = memory;
    auto start = environment::ContainerCommand(ready, {}, plan);
    EXPECT_TRUE(start.ok());
    launch.argv = start->argv;
    launch.environment = start->environment;
    launch.end_container = environment::EndCommand(plan.engine, plan.name);
    return launch;
  }
  bool Exists() { return os::OutputOf({TestEngine::engine_.program, "container", "exists", environment::ContainerName(name_)}, std::chrono::minutes(1)).ok(); }
};

TEST_F(ContainerSupervisorTest, StatusOutputAndRecords) {
  model::Exit exit =
      RunIt(Python("import os, socket, sys\n"
                   "host, port = os.environ['FERRY_RUN_SOCKET'].split(':')\n"
                   "with socket.create_connection((host, int(port))) as s:\n"
                   "    s.sendall(b'FERRY1 ' + os.environ['TOKEN'].encode() + b'\\n{\"metric\":\"a\"}\\n')\n"
                   "    print(s.makefile().readline().strip(), os.getcwd())\n"
                   "sys.exit(3)"));
  EXPECT_EQ(exit.code, 3);
  EXPECT_EQ(Read(folder_ / "std_log.txt"), StrCat("ok ", (folder_ / "work").string(), "\n"));
  EXPECT_EQ(Read(folder_ / "spool"), "{\"metric\":\"a\"}\n");
  EXPECT_FALSE(Exists());
}

TEST_F(ContainerSupervisorTest, TermReachesTheScriptOnce) {
  ASSERT_EQ(Start(Python("import signal, sys, time\n"
                         "seen = []\n"
                         "signal.signal(signal.SIGTERM, lambda *_: seen.append(1))\n"
                         "print('ready')\n"
                         "while not seen: time.sleep(0.02)\n"
                         "time.sleep(0.3)\n"
                         "sys.exit(40 + len(seen))")),
            0);
  ASSERT_TRUE(Said("ready"));
  ::kill(static_cast<pid_t>(Supervisor().GetInt("pid")), SIGTERM);
  EXPECT_EQ(WaitForEnd().code, 41);
  EXPECT_FALSE(Exists());
}

TEST_F(ContainerSupervisorTest, WhoIgnoresTermIsKilled) {
  ASSERT_EQ(Start(Python("import signal, time; signal.signal(15, signal.SIG_IGN); print('ready'); time.sleep(600)")), 0);
  ASSERT_TRUE(Said("ready"));
  ::kill(static_cast<pid_t>(Supervisor().GetInt("pid")), SIGTERM);
  model::Exit exit = WaitForEnd();
  EXPECT_NE(exit.code, 0);
  EXPECT_FALSE(exit.out_of_memory) << "we killed it";
  EXPECT_FALSE(Exists());
  EXPECT_TRUE(os::ProcessesWith("FERRY_ATTEMPT", name_).empty());
}

TEST_F(ContainerSupervisorTest, OutOfMemory) {
  model::Exit exit = RunIt(Python("x = bytearray(512 << 20)", 64u << 20));
  EXPECT_EQ(exit.code, 137);
  EXPECT_EQ(model::ReasonOf(exit), model::EndReason::kOutOfMemory);
}

TEST_F(ContainerSupervisorTest, TheContainerEndsWithTheEnginesProcess) {
  ASSERT_EQ(Start(Python("import time; print('ready'); time.sleep(600)")), 0);
  ASSERT_TRUE(Said("ready"));
  for (int pid : os::ProcessesWith("FERRY_ATTEMPT", name_))
    if (Read(StrCat("/proc/", pid, "/comm")) == "podman\n") ::kill(pid, SIGKILL);
  EXPECT_EQ(WaitForEnd().signal, SIGKILL);
  EXPECT_FALSE(Exists());
  EXPECT_TRUE(os::ProcessesWith("FERRY_ATTEMPT", name_).empty());
}

class ChannelTest : public SupervisorTest {
 protected:
  void SetUp() override {
    SupervisorTest::SetUp();
    ASSERT_EQ(Start(Script("echo $FERRY_RUN_SOCKET; while [ ! -e done ]; do sleep 0.02; done")), 0);
    ASSERT_TRUE(Said("\n"));
    address_ = Read(folder_ / "std_log.txt");
    address_.pop_back();
  }
  model::Exit Finish() {
    std::ofstream(folder_ / "work/done") << "x";
    return WaitForEnd();
  }
  std::string address_;
};

TEST_F(ChannelTest, RecordsAreSpooledBeforeTheyAreAnswered) {
  Channel channel(address_);
  EXPECT_EQ(channel.Ask("FERRY1 right"), "ok");
  EXPECT_EQ(channel.Ask(R"({"metric":"a","value":1})"), "ok");
  EXPECT_EQ(Read(folder_ / "spool"), "{\"metric\":\"a\",\"value\":1}\n");
  // Many at once, cut anywhere.
  std::string all, expected = Read(folder_ / "spool");
  for (int i = 0; i < 1000; ++i) all += StrCat(R"({"n":)", i, "}\n");
  channel.Send(all.substr(0, 777));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  channel.Send(all.substr(777));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(channel.Line(), "ok");
  EXPECT_EQ(Read(folder_ / "spool"), expected + all);
  EXPECT_EQ(Finish().code, 0);
}

TEST_F(ChannelTest, WithoutTheTokenNothing) {
  for (const char* greeting : {"FERRY1 wrong", "FERRY1 ", "FERRY1 right2", "GET / HTTP/1.1", "", "right", R"({"metric":"a","value":1})"}) {
    Channel channel(address_);
    EXPECT_EQ(channel.Ask(greeting), "error the token is wrong") << greeting;
    EXPECT_EQ(channel.Line(), "(closed)");
  }
  Channel endless(address_);
  endless.Send(std::string(100'000, 'x'));
  EXPECT_EQ(endless.Line(), "error the token is wrong");
  Channel eager(address_);
  eager.Send("FERRY1 wrong\n{\"metric\":\"a\",\"value\":1}\n");
  EXPECT_EQ(eager.Line(), "error the token is wrong");
  EXPECT_EQ(Read(folder_ / "spool"), "");
}

TEST_F(ChannelTest, BadRecordsAreAnsweredAndTheRestGoesOn) {
  Channel channel(address_);
  EXPECT_EQ(channel.Ask("FERRY1 right"), "ok");
  EXPECT_EQ(channel.Ask("{").substr(0, 6), "error ");
  EXPECT_EQ(channel.Ask("[1]"), "error a record must be an object");
  EXPECT_EQ(channel.Ask(std::string(1000, '[')).substr(0, 6), "error ");
  EXPECT_EQ(channel.Ask("{}"), "ok");
  EXPECT_EQ(Read(folder_ / "spool"), "{}\n");
  channel.Send(std::string((4u << 20) + 70000, 'x'));
  EXPECT_EQ(channel.Line(), "error a record is larger than 4 MB");
  EXPECT_EQ(channel.Line(), "(closed)");
}

TEST_F(ChannelTest, TheSameIdTwiceIsTakenOnce) {
  {
    Channel channel(address_);
    channel.Ask("FERRY1 right");
    EXPECT_EQ(channel.Ask(R"({"id":"p1:1","n":1})"), "ok");
    EXPECT_EQ(channel.Ask(R"({"id":"p1:2","n":2})"), "ok");
  }
  Channel again(address_);
  again.Ask("FERRY1 right");
  EXPECT_EQ(again.Ask(R"({"id":"p1:2","n":2})"), "ok") << "the answer was lost: sent once more";
  EXPECT_EQ(again.Ask(R"({"id":"p1:3","n":3})"), "ok");
  EXPECT_EQ(again.Ask(R"({"id":"p2:1","n":4})"), "ok") << "another process counts for itself";
  EXPECT_EQ(Read(folder_ / "spool"), "{\"id\":\"p1:1\",\"n\":1}\n{\"id\":\"p1:2\",\"n\":2}\n{\"id\":\"p1:3\",\"n\":3}\n{\"id\":\"p2:1\",\"n\":4}\n");
}

TEST_F(ChannelTest, AFailureThatTheScriptTells) {
  Channel channel(address_);
  channel.Ask("FERRY1 right");
  EXPECT_EQ(channel.Ask(R"({"fail":{"message":"the data is wrong"}})"), "ok");
  model::Exit exit = Finish();
  EXPECT_EQ(exit.code, 0);
  EXPECT_EQ(exit.message, "the data is wrong");
}

TEST_F(ChannelTest, WhatWasSentWithoutWaitingIsTaken) {
  Channel channel(address_);
  channel.Send("FERRY1 right\n");
  EXPECT_EQ(channel.Line(), "ok");
  for (int i = 0; i < 100; ++i) channel.Send(StrCat(R"({"n":)", i, "}\n"));
  Finish();
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += StrCat(R"({"n":)", i, "}\n");
  EXPECT_EQ(Read(folder_ / "spool"), expected);
}

TEST_F(SupervisorTest, AFullDiskTakesNothingAndLosesNothing) {
  // /dev/full refuses every write: the record must not count as taken.
  fs::create_symlink("/dev/full", folder_ / "spool");
  ASSERT_EQ(Start(Script("echo $FERRY_RUN_SOCKET; while [ ! -e done ]; do sleep 0.02; done")), 0);
  ASSERT_TRUE(Said("\n"));
  std::string address = Read(folder_ / "std_log.txt");
  address.pop_back();
  for (int i = 0; i < 2; ++i) {
    Channel channel(address);
    EXPECT_EQ(channel.Ask("FERRY1 right"), "ok");
    EXPECT_EQ(channel.Ask(R"({"id":"p:1","n":1})").substr(0, 6), "error ") << "sent again it is still not taken";
    EXPECT_EQ(channel.Line(), "(closed)");
  }
  std::ofstream(folder_ / "work/done") << "x";
  WaitForEnd();
}

}  // namespace
}  // namespace ferry::agent
