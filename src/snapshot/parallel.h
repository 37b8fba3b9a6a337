// Work spread over a few threads, and the first failure among them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ferry::snapshot {

// 0: one per core.
inline unsigned ThreadCount(unsigned asked) {
  if (asked != 0) return asked;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : cores;
}

// Runs `work(worker)` on `threads` threads, this one among them, and waits for all.
inline void RunOnThreads(unsigned threads, const std::function<void(unsigned worker)>& work) {
  std::vector<std::thread> others;
  others.reserve(threads - 1);
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& other : others) other.join();
}

// Keeps the first error that several threads report.
class FirstError {
 public:
  void Report(Error error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_.store(true, std::memory_order_relaxed);
  }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // REQUIRES: the threads have ended.
  Result<void> Take() {
    if (error_) return *error_;
    return {};
  }

 private:
  std::mutex mutex_;
  std::optional<Error> error_;
  std::atomic<bool> failed_{false};
};

// Tasks that may beget tasks. Each thread calls Next until it is empty, which it is once no task is left and none is
// being worked on.
template <typename Task>
class TaskStack {
 public:
  void Push(Task task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      ++open_;
    }
    ready_.notify_one();
  }
  std::optional<Task> Next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return !tasks_.empty() || open_ == 0; });
    if (tasks_.empty()) return std::nullopt;
    Task task = std::move(tasks_.back());
    tasks_.pop_back();
    return task;
  }
  // To be called once for each task from Next, after it has pushed what it begets.
  void Done() {
    std::lock_guard lock(mutex_);
    if (--open_ == 0) ready_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Task> tasks_;
  size_t open_ = 0;  // tasks in tasks_ and those being worked on
};

}  // namespace ferry::snapshot
