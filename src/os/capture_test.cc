#include "os/capture.h"

#include <gtest/gtest.h>

#include <chrono>

namespace ferry::os {
namespace {

using std::chrono::seconds;

TEST(Capture, OutputStatusAndFolder) {
  auto result = RunAndCapture({"sh", "-c", "pwd; echo lost >&2; exit 3"}, "/usr", seconds(10));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->output, "/usr\n");
  EXPECT_EQ(result->status, 3);
  EXPECT_EQ(RunAndCapture({"cat"}, "/", seconds(10))->output, "");
  EXPECT_EQ(RunAndCapture({"sh", "-c", "kill -9 $$"}, "/", seconds(10))->status, 128 + 9);
}

TEST(Capture, LargeOutput) {
  auto result = RunAndCapture({"sh", "-c", "head -c 3000000 /dev/zero"}, "/", seconds(10));
  EXPECT_EQ(result->output.size(), 3'000'000u);
  EXPECT_EQ(RunAndCapture({"cat", "/dev/zero"}, "/", seconds(60)).error().slug, "process.output");
}

TEST(Capture, Failures) {
  EXPECT_EQ(RunAndCapture({"no-such-program-anywhere"}, "/", seconds(10)).error().slug, "process.not_found");
  for (const char* script : {"sleep 60", "exec >&- 2>&-; sleep 60", "sleep 60 & wait"}) {
    auto result = RunAndCapture({"sh", "-c", script}, "/", std::chrono::milliseconds(200));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().slug, "process.timeout");
  }
}

}  // namespace
}  // namespace ferry::os
