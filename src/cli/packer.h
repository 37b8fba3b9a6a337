// Files as the bytes of a pack, read and compressed by other threads while the caller sends. For one thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace ferry::cli {

// A file of the snapshot that the server lacks.
struct Missing {
  Digest digest;
  uint64_t size = 0;
  std::string path;  // of the file
  std::string name;  // inside the snapshot
};

// The content of the file. kConflict "upload.changed" when it is not what the snapshot has.
Result<std::string> ReadUnchanged(const Missing& file);
// The error for a file that is another now.
Error ChangedError(const Missing& file);

class Packer {
 public:
  // `files` stay where they are. 0 threads: the caller's does the work.
  Packer(std::span<const Missing> files, unsigned threads);
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // The next piece of the pack; empty at its end.
  Result<std::string> Next();
  // Files and raw bytes in the pieces made so far.
  size_t files() const { return files_done_; }
  uint64_t bytes() const { return bytes_done_; }

 private:
  // One piece of records; empty when no file is left.
  Result<std::string> Make();
  void Work();

  const std::span<const Missing> files_;
  std::atomic<size_t> next_{0};
  std::atomic<size_t> files_done_{0};
  std::atomic<uint64_t> bytes_done_{0};
  bool begun_ = false;

  std::mutex mutex_;
  std::condition_variable made_;
  std::condition_variable taken_;
  std::deque<std::string> ready_;
  size_t ready_bytes_ = 0;
  std::optional<Error> error_;
  size_t working_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ferry::cli
