// Ctrl-C as a value: from its making on, an interrupt ends calls in flight instead of the process. Also the clock of a status line.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "os/poll.h"

namespace ferry::cli {

class Interrupt {
 public:
  // REQUIRES: no other thread of the process takes signals: those that are there before may be ended by an interrupt.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool pressed() const { return stop_.stop_requested(); }
  // Stops when the user interrupts.
  std::stop_token token() const { return stop_.get_token(); }
  // Calls `tick` four times a second, on a thread of its own; empty: no more. Returns when no call of the former is running.
  void SetTick(std::function<void()> tick);
  // Waits so long, or until the user interrupts.
  void Sleep(std::chrono::milliseconds time);

 private:
  void Watch();

  os::Signals signals_;
  os::Waker waker_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::function<void()> tick_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ferry::cli
