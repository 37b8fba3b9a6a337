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

namespace ferry::transfer {

// A file with the content that it had when it was looked at.
struct File {
  Digest digest;
  uint64_t size = 0;
  std::string path;  // on the disk
  std::string name;  // for messages: inside the snapshot
};

// The content of the file. kConflict "upload.changed" when it is another now.
Result<std::string> ReadUnchanged(const File& file);
// The error for a file that is another now.
Error ChangedError(const File& file);

class Packer {
 public:
  // `files` stay where they are. 0 threads: the caller's does the work. A file that is another now is left out, or else the error of Next().
  Packer(std::span<const File> files, unsigned threads, bool leave_out_changed);
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // The next piece of the pack; empty at its end.
  Result<std::string> Next();
  // Files and raw bytes in the pieces made so far.
  size_t files() const { return files_done_; }
  uint64_t bytes() const { return bytes_done_; }
  // What was left out. Call after the last piece.
  std::vector<Digest> TakeChanged() { return std::move(changed_); }

 private:
  // One piece of records; empty when no file is left.
  Result<std::string> Make();
  void Work();

  const std::span<const File> files_;
  const bool leave_out_changed_;
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
  std::vector<Digest> changed_;
  size_t working_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ferry::transfer
