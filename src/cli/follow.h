// Following a run: its stages on the status line, its output as it comes, and how it ended.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/context.h"
#include "cli/interrupt.h"

namespace ferry::cli {

// Shows the run until it ends. Lost connections are made anew. Returns the exit status: 0 Completed, 1 any other end, 130 after an interrupt.
// With -o json and the like the ended run goes to standard output and its own output to standard error. The log of a build goes to standard error,
// unless it is what was asked for.
Result<int> Follow(Context& context, Session& session, const std::string& run, Interrupt& interrupt, bool build_is_output = false);

// Seconds between two times of a run's view; to now when the later is missing, null when the earlier is.
Json SecondsBetween(const Json& view, std::string_view from, std::string_view to);

}  // namespace ferry::cli
