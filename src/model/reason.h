// Why an attempt ended. The reason is primary: status, retry class and text are tables over it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ferry::model {

// Azure's run statuses, exactly (in the order of their life).
enum class Status {
  kNotStarted,
  kStarting,
  kProvisioning,
  kPreparing,
  kQueued,
  kRunning,
  kFinalizing,
  kCancelRequested,
  kCompleted,
  kFailed,
  kCanceled,
  kNotResponding,
  kPaused,
  kUnknown,
};
const char* StatusName(Status status);
std::optional<Status> StatusFromName(std::string_view name);
bool IsTerminal(Status status);

enum class EndReason {
  kSucceeded,          // exit status 0
  kScriptFailed,       // another exit status
  kScriptKilled,       // a signal that Ferry did not send
  kOutOfMemory,        // the kernel killed it for memory
  kTimedOut,           // over maxRunDurationSeconds
  kCanceled,           // asked for by a user
  kPreparationFailed,  // snapshot, environment or interpreter
  kLaunchFailed,       // the program could not be started
  kPreempted,          // the node was taken away, announced
  kNodeLost,           // the node was not seen for so long that it was given up on
  kAttemptLost,        // the node is there and no longer knows the attempt
  kDiskFull,           // the node's disk is full
  kCompletedByUser,    // an interactive run, by its client
  kFailedByUser,       // asked for by a user or by the run's client
  kOutputFailed,       // the script succeeded, and a data output could not be stored
};
inline constexpr int kEndReasonCount = 15;

// Whether the same work is tried again by itself.
enum class RetryClass { kNever, kInfrastructure };

struct ReasonRow {
  EndReason reason;
  const char* name;  // on the wire and in the store
  Status status;     // what the user sees
  RetryClass retry;
  const char* text;  // one sentence; the attempt's detail is added behind it
};

const ReasonRow& Describe(EndReason reason);
std::optional<EndReason> ReasonFromName(std::string_view name);
const std::vector<ReasonRow>& ReasonTable();

}  // namespace ferry::model
