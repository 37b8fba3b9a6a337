// Keeps an agent for the local target alive beside the server. An agent that an earlier server left is taken over; scripts outlive both.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"

namespace ferry::server {

class LocalAgent {
 public:
  LocalAgent(std::string home, std::string_view program, std::string token, int slots);
  // Ends the agent; what it works on goes on under its supervisors.
  ~LocalAgent();

 private:
  void Run();
  Result<int> Launch();

  std::string home_;
  std::string_view program_;
  std::string token_;
  int slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ferry::server
