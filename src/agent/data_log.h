// What is told of an attempt's data while it is staged and brought back.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "os/file.h"

namespace ferry::agent {

class DataLog {
 public:
  DataLog(const std::string& file, std::function<void()> grown);
  void Say(const std::string& line);

  // Counts bytes towards `all` and tells now and then.
  void Begin(const std::string& what, uint64_t all);
  void Add(uint64_t bytes);
  uint64_t done() const { return done_; }

 private:
  os::Fd fd_;
  std::function<void()> grown_;
  std::string what_;
  uint64_t all_ = 0;
  uint64_t done_ = 0;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace ferry::agent
