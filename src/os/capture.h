// Runs a short program and takes what it prints.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace ferry::os {

struct Captured {
  int status = 0;      // the exit status; 128 + the signal when a signal ended it
  std::string output;  // standard output; the error output is dropped
};

// Runs argv[0] (found in PATH) in `folder`, with an empty standard input. Blocks. kNotFound "process.not_found" when
// there is no such program, kTimeout "process.timeout" when it did not end in time (it is killed), kTooLarge
// "process.output" when it prints over 64 MB.
Result<Captured> RunAndCapture(const std::vector<std::string>& argv, const std::string& folder, Duration timeout);

}  // namespace ferry::os
