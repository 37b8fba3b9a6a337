#include "cli/progress.h"

#include <gtest/gtest.h>

#include "os/file.h"

namespace ferry::cli {
namespace {

TEST(StatusLine, RewritesItselfOnATerminal) {
  std::string out;
  {
    StatusLine line({true, true, 20, false}, [&](std::string_view text) { out += text; });
    line.Update("Queued");
    line.Update("Queued");
    line.Update("Running", "step 3 of 10, 12 s");
    line.Print("a log line");
    line.Clear();
    line.Print("after");
    line.Update("Done\nnow");
  }
  EXPECT_EQ(out,
            "\r\x1b[KQueued"
            "\r\x1b[KRunning step 3 of …"
            "\r\x1b[Ka log line\nRunning step 3 of …"
            "\r\x1b[Kafter\n"
            "\r\x1b[KDone now\r\x1b[K");
}

TEST(StatusLine, PrintsStagesInAPipe) {
  std::string out;
  {
    StatusLine line({}, [&](std::string_view text) { out += text; });
    line.Update("Queued", "1 s");
    line.Update("Queued", "2 s");
    line.Print("a log line");
    line.Update("Running", "1 of 2");
    line.Update("Running", "2 of 2");
  }
  EXPECT_EQ(out, "Queued\na log line\nRunning\n");
}

TEST(Terminal, AFileIsNone) {
  auto file = os::Open("/dev/null", os::OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  Terminal terminal = Terminal::Of(file->get());
  EXPECT_FALSE(terminal.is_tty);
  EXPECT_FALSE(terminal.rewrites);
  EXPECT_FALSE(terminal.colour);
  EXPECT_EQ(terminal.width, 0);
}

}  // namespace
}  // namespace ferry::cli
