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
  // `program nursery` is started for it.
  static Result<std::unique_ptr<Nursery>> Start(const std::string& program);
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

// `ferry-agent nursery`: reads requests from stdin, a line each, until its end. Returns the exit status.
int RunNursery();

}  // namespace ferry::agent
