#include "os/program.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "base/text.h"

namespace ferry::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Program, OutputStatusAndFolder) {
  auto result = RunProgram({"sh", "-c", "pwd; echo apart >&2; exit 3"}, seconds(10), "/usr");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->output, "/usr\n");
  EXPECT_EQ(result->errors, "apart\n");
  EXPECT_EQ(result->status, 3);
  EXPECT_EQ(RunProgram({"cat"}, seconds(10))->output, "");
  EXPECT_EQ(RunProgram({"sh", "-c", "kill -9 $$"}, seconds(10))->status, 128 + 9);
}

TEST(Program, LargeOutput) {
  auto result = RunProgram({"sh", "-c", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo end >&2"}, seconds(10));
  EXPECT_EQ(result->output.size(), 3'000'000u);
  EXPECT_LT(result->errors.size(), 100'000u);
  EXPECT_TRUE(result->errors.ends_with("end\n"));
  EXPECT_EQ(RunProgram({"cat", "/dev/zero"}, seconds(60)).error().slug, "process.output");
}

TEST(Program, Failures) {
  EXPECT_EQ(RunProgram({"no-such-program-anywhere"}, seconds(10)).error().slug, "process.not_found");
  EXPECT_EQ(RunProgram({"true"}, seconds(10), "/no/such/folder").error().slug, "process.not_found");
  for (const char* script : {"sleep 60", "exec >&- 2>&-; sleep 60", "sleep 60 & wait"}) {
    auto result = RunProgram({"sh", "-c", script}, milliseconds(200));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().slug, "process.timeout");
  }
}

TEST(Program, OutputOfOneThatMustSucceed) {
  EXPECT_EQ(*OutputOf({"echo", "x"}, seconds(10)), "x\n");
  auto failed = OutputOf({"sh", "-c", "echo lost; echo why >&2; exit 4"}, seconds(10));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().slug, "process.failed");
  EXPECT_EQ(failed.error().message, "sh ended with status 4: why");
}

// As in a supervisor, which takes up every child that ends.
TEST(Program, WhereSomebodyElseTakesChildrenUp) {
  auto before = ::signal(SIGCHLD, SIG_IGN);
  auto output = OutputOf({"sh", "-c", "echo x; exec >&- 2>&-; sleep 0.05"}, seconds(10));
  ::signal(SIGCHLD, before);
  ASSERT_TRUE(output.ok()) << output.error().message;
  EXPECT_EQ(*output, "x\n");
}

}  // namespace
}  // namespace ferry::os
