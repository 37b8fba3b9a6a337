// A node provider and a batch system that exist only in memory, for the simulation, tests and demonstrations. What happens to their nodes and jobs is
// scripted through the hooks and the calls below the seam's.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "compute/batch_system.h"
#include "compute/node_provider.h"

namespace ferry::compute {

class FakeNodeProvider : public NodeProvider {
 public:
  std::function<bool()> refuses;                       // whether a call fails now
  std::function<void(const std::string&)> on_create;   // a node was made
  std::function<void(const std::string&)> on_destroy;  // a node is removed

  Result<void> Create(const std::string& node, const CallContext& call) override;
  Result<void> Destroy(const std::string& node, const CallContext& call) override;
  Result<std::vector<std::string>> List(const CallContext& call) override;

 private:
  std::set<std::string> nodes_;
};

class FakeBatchSystem : public BatchSystem {
 public:
  std::function<bool()> refuses;
  std::function<void(const LaunchSpec&)> on_launch;         // a new job is in the queue
  std::function<void(const std::string& attempt)> on_stop;  // a job is ended

  Result<Handle> Launch(const LaunchSpec& spec, const CallContext& call) override;
  Result<std::vector<JobState>> Poll(std::span<const Handle> handles, const CallContext& call) override;
  Result<void> Stop(const std::string& attempt, const CallContext& call) override;
  Result<std::string> ReadLog(const Handle& handle, const CallContext& call) override;
  Result<std::vector<std::string>> List(const CallContext& call) override;

  // The job leaves the queue and runs; false when it is gone already.
  bool Begin(const std::string& attempt);
  // The job ends, by itself or by an accident of the system's.
  void End(const std::string& attempt, const std::string& why = {});

 private:
  struct Job {
    Handle handle;
    JobState state = JobState::kQueued;
  };
  std::map<std::string, Job> jobs_;
  std::map<Handle, std::string> attempts_;
  std::map<Handle, std::string> logs_;
  int next_ = 1;
};

}  // namespace ferry::compute
