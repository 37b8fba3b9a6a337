// Runs a short program to its end and takes what it prints.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace ferry::os {

struct Ran {
  int status = 0;      // the exit status; 128 + the signal when a signal ended it; 0 when somebody else took it up (ReapOne, IgnoreChildren)
  std::string output;  // standard output
  std::string errors;  // the end of the error output
};

// Runs argv[0] (a path or a name on the PATH) in `folder` (empty: this one's), with an empty standard input. Blocks. kNotFound
// "process.not_found" when there is no such program, kTimeout "process.timeout" when it did not end in time (it and its group are killed),
// kTooLarge "process.output" when it prints over 64 MB.
Result<Ran> RunProgram(const std::vector<std::string>& argv, std::chrono::milliseconds limit, const std::string& folder = {});

// What a program that must succeed prints. A status that is not 0 is kInternal "process.failed" with the end of the error output.
Result<std::string> OutputOf(const std::vector<std::string>& argv, std::chrono::milliseconds limit, const std::string& folder = {});

}  // namespace ferry::os
