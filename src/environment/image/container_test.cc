// Real containers, started the way a supervisor starts them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "environment/image/run.h"
#include "environment/image/test_engine.h"
#include "os/program.h"
#include "os/socket.h"

namespace ferry::environment {
namespace {

using std::chrono::milliseconds;

class Containers : public EngineTest {
 protected:
  void SetUp() override {
    ready_.image = *ImageId(engine_, base_);
    ready_.interpreter = "/usr/bin/python3";
    work_ = folder_.At("work");
    ASSERT_TRUE(os::MakeFolders(work_).ok());
    plan_.engine = engine_;
    plan_.name = ContainerName(StrCat("test-", RandomHex(6)));
    plan_.work = work_;
    plan_.uid = os::UserId();
    plan_.gid = os::GroupId();
  }
  void TearDown() override {
    if (pid_) os::SendSignal(pid_, SIGKILL);
    EXPECT_TRUE(EndContainer(engine_, plan_.name).ok());
  }

  void Start(const std::string& python) {
    plan_.argv = {ready_.interpreter, "-c", python};
    auto start = ContainerCommand(ready_, docker_, plan_);
    ASSERT_TRUE(start.ok()) << start.error().message;
    auto log = os::Open(folder_.At("log"), os::OpenMode::kWrite);
    ASSERT_TRUE(log.ok());
    os::SpawnOptions options;
    options.argv = start->argv;
    options.environment = os::Environment();
    for (const auto& [name, value] : start->environment) (*options.environment)[name] = value;
    (*options.environment)["FERRY_RUN_SOCKET"] = "127.0.0.1:1";
    options.folder = work_;
    options.stdout_fd = options.stderr_fd = log->get();
    options.new_group = true;
    auto pid = os::Spawn(options);
    ASSERT_TRUE(pid.ok()) << pid.error().message;
    pid_ = *pid;
  }
  int Wait() {
    auto status = os::Wait(pid_, std::chrono::minutes(1));
    if (!status.ok()) {
      ADD_FAILURE() << status.error().message << "\n" << Output();
      return -1;
    }
    pid_ = 0;
    return status->signal ? -status->signal : status->code;
  }
  int Run(const std::string& python) {
    Start(python);
    return Wait();
  }
  std::string Output() const { return os::ReadFile(folder_.At("log")).ValueOr(""); }
  void Await(const std::string& text) const {
    for (int i = 0; i < 600 && Output().find(text) == std::string::npos; ++i) std::this_thread::sleep_for(milliseconds(50));
    ASSERT_NE(Output().find(text), std::string::npos) << Output();
  }
  bool Exists() const { return os::OutputOf({engine_.program, "container", "exists", plan_.name}, std::chrono::minutes(1)).ok(); }

  OddFolder folder_;
  std::string work_;
  Ready ready_;
  model::DockerSection docker_;
  RunPlan plan_;
  int pid_ = 0;
};

TEST_F(Containers, OutputStatusAndNothingLeft) {
  EXPECT_EQ(Run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), 3);
  EXPECT_NE(Output().find("out\n"), std::string::npos);
  EXPECT_NE(Output().find("err\n"), std::string::npos);
  EXPECT_FALSE(Exists());
  EXPECT_EQ(Run("pass"), 0);
  EXPECT_EQ(Output(), "");
  EXPECT_EQ(Run("import os; os.kill(os.getpid(), 9)"), 137);
  plan_.argv = {"/no/such/program"};
  auto start = ContainerCommand(ready_, docker_, plan_);
  ASSERT_TRUE(start.ok());
  auto status = os::OutputOf(start->argv, std::chrono::minutes(1));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("No such file"), std::string::npos) << status.error().message;
}

TEST_F(Containers, SigtermReachesTheScriptOnce) {
  Start(
      "import signal, sys, time\n"
      "seen = []\n"
      "signal.signal(signal.SIGTERM, lambda *_: seen.append(1))\n"
      "print('ready', flush=True)\n"
      "while not seen: time.sleep(0.02)\n"
      "time.sleep(0.5)\n"
      "sys.exit(40 + len(seen))\n");
  Await("ready");
  os::SendSignal(pid_, SIGTERM);
  EXPECT_EQ(Wait(), 41) << Output();
}

TEST_F(Containers, SigtermEndsAScriptThatDoesNotListen) {
  Start("import time; print('ready', flush=True); time.sleep(600)");
  Await("ready");
  os::SendSignal(pid_, SIGTERM);
  EXPECT_EQ(Wait(), 143) << Output();
  EXPECT_FALSE(Exists());
}

TEST_F(Containers, EndedByNameWhateverState) {
  EXPECT_TRUE(EndContainer(engine_, plan_.name).ok());
  Start("import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)");
  Await("ready");
  // Whoever started it is gone; the container is not.
  os::SendSignal(pid_, SIGKILL);
  EXPECT_EQ(Wait(), -SIGKILL);
  EXPECT_TRUE(Exists());
  EXPECT_TRUE(EndContainer(engine_, plan_.name).ok());
  EXPECT_FALSE(Exists());
}

TEST_F(Containers, Variables) {
  plan_.variables = {
      {"GREETING", "Grüße, \"you\"\nsecond line"}, {"TOKEN", "s3cret-4711"}, {"PATH", "/usr/bin:/bin:/mine"}, {"FERRY_ATTEMPT", plan_.name}, {"EMPTY", ""}};
  plan_.later = {"FERRY_RUN_SOCKET"};
  Start(
      "import json, os, time\n"
      "print(json.dumps({k: os.environ.get(k) for k in ('GREETING', 'TOKEN', 'PATH', 'FERRY_RUN_SOCKET', 'EMPTY')}, ensure_ascii=False), flush=True)\n"
      "time.sleep(600)\n");
  Await("}");
  EXPECT_EQ(Output(),
            "{\"GREETING\": \"Grüße, \\\"you\\\"\\nsecond line\", \"TOKEN\": \"s3cret-4711\", \"PATH\": \"/usr/bin:/bin:/mine\", \"FERRY_RUN_SOCKET\": "
            "\"127.0.0.1:1\", \"EMPTY\": \"\"}\n");
  std::string line = os::OutputOf({"ps", "-eo", "args", "-ww"}, std::chrono::seconds(10)).ValueOr("");
  EXPECT_EQ(line.find("s3cret-4711"), std::string::npos);
  // The script is found by its mark although the engine started it.
  EXPECT_GE(os::ProcessesWith("FERRY_ATTEMPT", plan_.name).size(), 2u);
}

TEST_F(Containers, OutputsBelongToTheUser) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chown(work_.c_str(), 12345, 23456), 0);
  plan_.uid = 12345;
  plan_.gid = 23456;
  EXPECT_EQ(
      Run("import getpass, os; os.mkdir('outputs'); open('outputs/Modell.txt', 'w').write(os.getcwd()); print(getpass.getuser(), os.path.expanduser('~'))"), 0)
      << Output();
  struct stat about {};
  ASSERT_EQ(::stat((work_ + "/outputs/Modell.txt").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 12345u);
  EXPECT_EQ(about.st_gid, 23456u);
  // Paths inside are those outside.
  EXPECT_EQ(*os::ReadFile(work_ + "/outputs/Modell.txt"), work_);
  EXPECT_EQ(Output(), "ferry /tmp\n");
}

TEST_F(Containers, ShmMemoryAndArguments) {
  docker_.shm_size = "48m";
  docker_.arguments = {"--hostname", "given"};
  plan_.memory = 256u << 20;
  plan_.cpus = 0.5;
  EXPECT_EQ(Run("import os, socket; s = os.statvfs('/dev/shm'); print(s.f_blocks * s.f_frsize >> 20, socket.gethostname())"), 0) << Output();
  EXPECT_EQ(Output(), "48 given\n");
}

TEST_F(Containers, OutOfMemoryIsAKill) {
  plan_.memory = 64u << 20;
  uint64_t before = os::OutOfMemoryKills();
  EXPECT_EQ(Run("x = bytearray(512 << 20); print(len(x))"), 137) << Output();
  EXPECT_GT(os::OutOfMemoryKills(), before);
}

TEST_F(Containers, SdkAndLoopback) {
  plan_.sdk = settings_.sdk;
  auto listener = os::ListenTcp("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  plan_.variables["PORT"] = StrCat(os::LocalPort(*listener));
  EXPECT_EQ(Run("import os, socket, azureml.core; socket.create_connection(('127.0.0.1', int(os.environ['PORT']))); print(azureml.core.__file__)"), 0)
      << Output();
  EXPECT_TRUE(Output().starts_with(settings_.sdk)) << Output();
}

TEST_F(Containers, VolumesThatAreNotShared) {
  docker_.shared_volumes = false;
  ASSERT_TRUE(os::WriteFile(work_ + "/data.txt", "before").ok());
  ASSERT_TRUE(os::MakeFolders(work_ + "/outputs").ok());
  plan_.collected = {work_ + "/outputs"};
  EXPECT_EQ(Run("print(open('data.txt').read()); open('data.txt', 'w').write('after'); open('new', 'w'); open('outputs/kept', 'w').write('kept')"), 0)
      << Output();
  EXPECT_EQ(Output(), "before\n");
  EXPECT_EQ(*os::ReadFile(work_ + "/data.txt"), "before");
  EXPECT_FALSE(os::Exists(work_ + "/new"));
  EXPECT_EQ(*os::ReadFile(work_ + "/outputs/kept"), "kept");
}

}  // namespace
}  // namespace ferry::environment
