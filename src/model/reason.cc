#include "model/reason.h"

#include <array>

#include "base/result.h"

namespace ferry::model {
namespace {

constexpr std::array<const char*, 14> kStatusNames = {"NotStarted",      "Starting",  "Provisioning", "Preparing", "Queued",        "Running", "Finalizing",
                                                      "CancelRequested", "Completed", "Failed",       "Canceled",  "NotResponding", "Paused",  "Unknown"};

}  // namespace

const char* StatusName(Status status) { return kStatusNames[static_cast<size_t>(status)]; }

std::optional<Status> StatusFromName(std::string_view name) {
  for (size_t i = 0; i < kStatusNames.size(); ++i)
    if (name == kStatusNames[i]) return static_cast<Status>(i);
  return std::nullopt;
}

bool IsTerminal(Status status) {
  return status == Status::kCompleted || status == Status::kFailed || status == Status::kCanceled || status == Status::kNotResponding;
}

const std::vector<ReasonRow>& ReasonTable() {
  static const std::vector<ReasonRow> table = {
      {EndReason::kSucceeded, "succeeded", Status::kCompleted, RetryClass::kNever, "the script ended with exit status 0"},
      {EndReason::kScriptFailed, "script_failed", Status::kFailed, RetryClass::kNever, "the script failed"},
      {EndReason::kScriptKilled, "script_killed", Status::kFailed, RetryClass::kNever, "the script was killed by a signal that Ferry did not send"},
      {EndReason::kOutOfMemory, "out_of_memory", Status::kFailed, RetryClass::kNever, "the kernel killed the script because memory ran out"},
      {EndReason::kTimedOut, "timed_out", Status::kFailed, RetryClass::kNever, "the script ran longer than maxRunDurationSeconds allows and was stopped"},
      {EndReason::kCanceled, "canceled", Status::kCanceled, RetryClass::kNever, "the run was canceled"},
      {EndReason::kPreparationFailed, "preparation_failed", Status::kFailed, RetryClass::kNever, "the run could not be prepared"},
      {EndReason::kLaunchFailed, "launch_failed", Status::kFailed, RetryClass::kNever, "the program could not be started"},
      {EndReason::kPreempted, "preempted", Status::kFailed, RetryClass::kInfrastructure, "the node was taken away"},
      {EndReason::kNodeLost, "node_lost", Status::kNotResponding, RetryClass::kInfrastructure, "the node was not seen for so long that it was given up on"},
      {EndReason::kAttemptLost, "attempt_lost", Status::kFailed, RetryClass::kInfrastructure, "the node is there but no longer knows this attempt"},
      {EndReason::kDiskFull, "disk_full", Status::kFailed, RetryClass::kNever, "the node's disk is full"},
      {EndReason::kCompletedByUser, "completed_by_user", Status::kCompleted, RetryClass::kNever, "the run was completed by its client"},
      {EndReason::kFailedByUser, "failed_by_user", Status::kFailed, RetryClass::kNever, "the run was failed by its user"},
      {EndReason::kOutputFailed, "output_failed", Status::kFailed, RetryClass::kNever, "the script succeeded, but a data output could not be stored"},
  };
  return table;
}

const ReasonRow& Describe(EndReason reason) {
  for (const ReasonRow& row : ReasonTable())
    if (row.reason == reason) return row;
  CheckFailed("an end reason without a row", __FILE__, __LINE__);
}

std::optional<EndReason> ReasonFromName(std::string_view name) {
  for (const ReasonRow& row : ReasonTable())
    if (name == row.name) return row.reason;
  return std::nullopt;
}

}  // namespace ferry::model
