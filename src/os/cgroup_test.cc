#include "os/cgroup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/text.h"
#include "os/process.h"

namespace ferry::os {
namespace {

// Permitted or not, a process runs; where it is permitted, the group holds it and ends it.
TEST(Cgroup, HoldsWhatJoinsWherePermitted) {
  auto group = Cgroup::Make(StrCat("test-", ::getpid()));
  SpawnOptions options;
  options.argv = {"sleep", "60"};
  if (group) options.join_fd = group->join().get();
  auto pid = Spawn(options);
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  if (group) {
    auto text = ReadFile(StrCat("/proc/", *pid, "/cgroup"));
    ASSERT_TRUE(text.ok());
    EXPECT_NE(text->find(StrCat("ferry-test-", ::getpid())), std::string::npos) << *text;
    group->Kill();
  } else {
    SendSignal(*pid, SIGKILL);
  }
  auto status = Wait(*pid, std::chrono::seconds(10));
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->signal, SIGKILL);
}

TEST(Cgroup, ASecondOneOfTheSameNameIsNoGroup) {
  std::string name = StrCat("twice-", ::getpid());
  auto first = Cgroup::Make(name);
  EXPECT_FALSE(Cgroup::Make(name).has_value() && first.has_value());
}

}  // namespace
}  // namespace ferry::os
