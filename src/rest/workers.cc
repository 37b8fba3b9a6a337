#include "rest/workers.h"

namespace ferry::rest {

Workers::Workers(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

Workers::~Workers() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    dropped.swap(jobs_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::Post(std::function<void()> job) { return Add(std::move(job), 1000); }
bool Workers::PostMore(std::function<void()> job) { return Add(std::move(job), 100'000); }

bool Workers::Add(std::function<void()> job, size_t most) {
  {
    std::lock_guard lock(mutex_);
    if (stop_ || jobs_.size() >= most) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void Workers::Loop() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (stop_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace ferry::rest
