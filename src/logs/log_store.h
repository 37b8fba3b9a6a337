// Log streams of runs: append-only bytes addressed by offset, kept after the node is gone, followed live.
// One file a stream under `folder`/<run>/<stream>. Safe to call from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ferry::logs {

struct StreamInfo {
  std::string name;  // "user_logs/std_log.txt"; relative, no "..", bounded
  uint64_t size = 0;
};

// Ends a subscription when destroyed.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// A run's name is one safe path part, a stream's a safe path (IsSafePath); others are kInvalid "log.bad_name".
class LogStore {
 public:
  static Result<std::unique_ptr<LogStore>> Open(std::string folder);
  virtual ~LogStore() = default;

  // Appends `bytes` that begin at `offset` of the stream. Bytes that the stream already has are skipped (the same report sent twice
  // counts once); a gap is kConflict "log.gap" with the stream's size in the message. Returns the stream's size afterwards.
  // After success the bytes survive kill -9; Sync() makes them survive power loss.
  virtual Result<uint64_t> Append(const std::string& run, const std::string& stream, uint64_t offset, std::string_view bytes) = 0;

  // Flushes the streams of these runs to the disk. Returns when done.
  virtual Result<void> Sync(const std::vector<std::string>& runs) = 0;

  // At most `limit` bytes from `offset`; empty at or beyond the end. kNotFound "log.not_found" for a stream that is not there.
  virtual Result<std::string> Read(const std::string& run, const std::string& stream, uint64_t offset, size_t limit) = 0;

  // The streams of a run, ordered by name. A run without logs has none.
  virtual Result<std::vector<StreamInfo>> Streams(const std::string& run) = 0;

  // Calls `callback` soon after a stream of the run grew (any stream), from the appending thread: it must only wake somebody, and
  // neither begin nor end a subscription. Once the subscription is destroyed the callback is not running and never runs again.
  virtual std::unique_ptr<Subscription> Follow(const std::string& run, std::function<void()> callback) = 0;

  // Removes a run's logs. Unknown runs are success.
  virtual Result<void> Erase(const std::string& run) = 0;
};

// Whether a name may be used as a stream or artifact path: relative, no empty, "." or ".." part, no control character,
// at most 255 bytes a part and 1,024 in all.
bool IsSafePath(std::string_view path);

}  // namespace ferry::logs
