// Waiting for several things at once: descriptors, signals, file changes, wake-ups from other threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/file.h"

namespace ferry::os {

struct PollItem {
  int fd = -1;
  bool want_write = false;
  bool readable = false;  // set by Poll; also when the peer is gone
  bool writable = false;
};
// Waits until something is ready or `limit` passed. False when it passed.
bool Poll(std::vector<PollItem>& items, std::optional<std::chrono::milliseconds> limit);

// Takes these signals out of their default handling for the whole process and makes them readable.
class Signals {
 public:
  explicit Signals(const std::vector<int>& signals);
  int fd() const { return fd_.get(); }
  // The next signal that came, or 0.
  int Take();

 private:
  Fd fd_;
};

// Wakes a Poll from any thread.
class Waker {
 public:
  Waker();
  int fd() const { return fd_.get(); }
  void Wake();
  void Clear();

 private:
  Fd fd_;
};

// Tells which watched folders changed: a file was written to, created, moved in or removed.
class FolderWatch {
 public:
  FolderWatch();
  int fd() const { return fd_.get(); }
  // An id for Take and Remove, or -1 when the folder is not there or no watch is left.
  int Add(const std::string& folder);
  void Remove(int id);
  struct Change {
    int id = 0;  // -1: some changes were lost, look everywhere
    std::string name;
    bool moved_in = false;
  };
  std::vector<Change> Take();

 private:
  Fd fd_;
};

}  // namespace ferry::os
