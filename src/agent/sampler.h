// Samples what the script's process tree uses, from a thread of its own, as records of the spool (kind "system").
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ferry::agent {

class Sampler {
 public:
  // `write` gets whole lines. `seconds` 0: no samples.
  Sampler(int64_t seconds, std::vector<int> gpus, std::function<void(const std::string&)> write);
  ~Sampler();

 private:
  void Run();
  std::string SampleLines();

  int64_t seconds_;
  std::vector<int> gpus_;
  std::function<void(const std::string&)> write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  double last_cpu_ = 0;
  int64_t last_micros_ = 0;
  std::thread thread_;
};

// `nvidia-smi`'s devices: number, name, memory in bytes. None when there is no such program.
struct Gpu {
  int number = 0;
  std::string name;
  uint64_t memory = 0;
};
std::vector<Gpu> FindGpus();

}  // namespace ferry::agent
