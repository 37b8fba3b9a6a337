// Keeps an agent for the local target alive beside the server. An agent that an earlier server left is taken over; scripts outlive both.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"

namespace ferry::server {

// Writes the agent's program into the data folder, once per version, and returns its path.
Result<std::string> PutAgent(const std::string& home, std::string_view program);

class LocalAgent {
 public:
  // `options`: flags for the agent beside its home, its address and its token.
  LocalAgent(std::string home, std::string_view program, std::string token, std::vector<std::string> options);
  // Ends the agent; what it works on goes on under its supervisors.
  ~LocalAgent();

 private:
  void Run();
  Result<int> Launch();

  std::string home_;
  std::string_view program_;
  std::string token_;
  std::vector<std::string> options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ferry::server
