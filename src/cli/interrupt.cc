#include "cli/interrupt.h"

#include <condition_variable>
#include <csignal>
#include <optional>
#include <vector>

namespace ferry::cli {

Interrupt::Interrupt() : signals_({SIGINT}), thread_([this] { Watch(); }) {}

Interrupt::~Interrupt() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  waker_.Wake();
  thread_.join();
}

void Interrupt::SetTick(std::function<void()> tick) {
  {
    std::lock_guard lock(mutex_);
    tick_ = std::move(tick);
  }
  waker_.Wake();
}

void Interrupt::Sleep(std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, token(), time, [] { return false; });
}

void Interrupt::Watch() {
  for (;;) {
    std::optional<std::chrono::milliseconds> limit;
    {
      std::lock_guard lock(mutex_);
      if (ending_) return;
      if (tick_) limit = std::chrono::milliseconds(250);
    }
    std::vector<os::PollItem> items = {{.fd = signals_.fd()}, {.fd = waker_.fd()}};
    os::Poll(items, limit);
    waker_.Clear();
    if (signals_.Take() == SIGINT) stop_.request_stop();
    std::lock_guard lock(mutex_);
    if (ending_) return;
    if (tick_) tick_();
  }
}

}  // namespace ferry::cli
