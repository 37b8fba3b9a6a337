// What staging and bringing back have in common: for whom, over which connection, and who watches.
#pragma once

#include <chrono>
#include <functional>

#include "agent/data_log.h"
#include "base/result.h"
#include "http/client.h"
#include "model/message.h"

namespace ferry::agent {

struct StageWatch {
  std::function<bool()> stopping;                       // asked between steps
  std::function<void()> progress;                       // the log has grown
  std::function<void(std::chrono::milliseconds)> wait;  // before something is tried again; shorter when it stops
};

struct DataJob {
  const model::Assign& assign;
  http::ClientSettings server;
  DataLog& log;
  const StageWatch& watch;
};

inline constexpr size_t kMostDataFiles = 5'000'000;  // of one input or output

inline Error StagingStopped() { return MakeError(Code::kCanceled, "prepare.stopped", "it was stopped while its data was staged"); }

}  // namespace ferry::agent
