// Runs whole attempts on a scheduler that already exists (Slurm, Kubernetes, Spark): it queues and places by itself and starts a one-shot agent.
// Implemented by compute/fake today. Safe to call from several threads. Keeps nothing that a restart would lose: the handle finds a job again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/node_provider.h"

namespace ferry::compute {

struct LaunchSpec {
  std::string attempt;  // "run~2": names the job
  std::string node;     // what the one-shot agent calls itself
};

// Finds a job again, also after a restart. Opaque to everyone but the system that gave it.
using Handle = std::string;

enum class JobState { kQueued, kRunning, kGone };

class BatchSystem {
 public:
  virtual ~BatchSystem() = default;
  // Hands the attempt over. Idempotent on spec.attempt: a second call returns the same handle. Returns once the scheduler has accepted it; never waits
  // for it to start.
  virtual Result<Handle> Launch(const LaunchSpec& spec, const CallContext& call) = 0;
  // One state per handle, in the same order. What the scheduler has forgotten is kGone, not an error.
  virtual Result<std::vector<JobState>> Poll(std::span<const Handle> handles, const CallContext& call) = 0;
  // Ends the attempt's job, queued or running. Unknown ones are success.
  virtual Result<void> Stop(const std::string& attempt, const CallContext& call) = 0;
  // What the job itself wrote outside of Ferry's reach: why it was refused or killed. Empty when there is nothing.
  virtual Result<std::string> ReadLog(const Handle& handle, const CallContext& call) = 0;
  // Every attempt whose job is known to the scheduler.
  virtual Result<std::vector<std::string>> List(const CallContext& call) = 0;
};

}  // namespace ferry::compute
