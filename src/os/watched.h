// Runs a program that takes long: what it says line by line as it comes, and its whole process group ended when asked.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/process.h"

namespace ferry::os {

struct WatchedCommand {
  std::vector<std::string> argv;
  std::optional<std::map<std::string, std::string>> environment;  // none: this process's
  std::string folder;                                             // working directory; empty: this one's
  std::string input;                                              // given to it on standard input
  std::function<void(std::string_view line)> line;                // standard output and error output, in order; a line is cut at 64 KB
  std::function<bool()> stopping;                                 // asked twice a second
};
// Blocks until it has ended and its output is read. kCanceled "process.stopped" after SIGTERM, then SIGKILL, to its group when `stopping` said so.
Result<WaitStatus> RunWatched(const WatchedCommand& command);

}  // namespace ferry::os
