// Starts supervisors without an exec for each: a small process, made before the agent has threads, forks one whenever it is asked. It ends with the
// agent; supervisors do not.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/supervisor.h"
#include "base/result.h"
#include "os/file.h"

namespace ferry::agent {

class Nursery {
 public:
  // `program nursery LOCK` is started for it. Returns once every earlier nursery on that lock is gone and each supervisor it had begun to start has
  // left its record, so that an attempt without a record was never started.
  static Result<std::unique_ptr<Nursery>> Start(const std::string& program, const std::string& lock);
  ~Nursery();

  // Starts the supervisor of an attempt in `folder` and returns once the script runs; the error says why it does not. Safe from several threads.
  Result<void> Launch(const std::string& folder, const ferry::agent::Launch& launch);

 private:
  Nursery() = default;
  void Listen();

  os::Fd requests_;
  os::Fd answers_;
  int pid_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::promise<Result<void>>> waiting_;  // by folder
  bool gone_ = false;
  std::thread listener_;
};

// `ferry-agent nursery LOCK`: takes the lock, says so in a line, then reads requests from stdin, a line each, until its end. Supervisors keep a copy
// of the lock until they have started. Returns the exit status.
int RunNursery(const std::string& lock);

}  // namespace ferry::agent
