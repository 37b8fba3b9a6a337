// The journal of appends that are not in chunks yet: numbered files of checked records. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/file.h"
#include "series/series.h"

namespace ferry::series {

// An append as a journal record with its length and check sum, ready to be written.
std::string EncodeRecord(const Append& append);
// Back again, without looking at the check sum; nothing when the bytes are damaged.
std::optional<Append> DecodeRecord(std::string_view record);
// The largest record a journal takes.
inline constexpr uint64_t kMostRecordBytes = 256u << 20;

class Journal {
 public:
  // A new, empty file; durable when it returns. kConflict when there is one of that number already.
  static Result<Journal> Create(const std::string& folder, uint64_t number);
  // Reads an existing file from the start, calling `visit` with every whole record, and opens it for writing after the last of them:
  // what a crash left half written is cut off. A failure of `visit` ends it.
  static Result<Journal> Replay(const std::string& folder, uint64_t number, const std::function<Result<void>(Append)>& visit);

  // Writes records at the end and flushes them to the disk. A failure leaves nothing of them.
  Result<void> Write(std::string_view records);
  uint64_t number() const { return number_; }
  uint64_t size() const { return end_; }

  // The numbers of the journals in a folder, ascending.
  static Result<std::vector<uint64_t>> List(const std::string& folder);
  static Result<void> Remove(const std::string& folder, uint64_t number);

 private:
  Journal(std::string path, uint64_t number, os::Fd fd, uint64_t end) : path_(std::move(path)), number_(number), fd_(std::move(fd)), end_(end) {}

  std::string path_;
  uint64_t number_;
  os::Fd fd_;
  uint64_t end_;
  bool cut_pending_ = false;  // a failed write may have left bytes after end_
};

}  // namespace ferry::series
