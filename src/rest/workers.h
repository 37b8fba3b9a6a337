// A few threads for requests that wait on a disk or a network behind the server: its own threads must not.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ferry::rest {

class Workers {
 public:
  explicit Workers(unsigned threads);
  // Ends what has begun; drops what has not.
  ~Workers();
  // Any thread. False, and nothing is done, when too much waits already or this ends.
  bool Post(std::function<void()> job);
  // The same for who goes on with what it began.
  bool PostMore(std::function<void()> job);

 private:
  void Loop();
  bool Add(std::function<void()> job, size_t most);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ferry::rest
