// What a scan remembers for the next one: the hash of each file together with the signs by which a change of it shows.
// Not safe for several threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "os/file.h"

namespace ferry::snapshot {

// A clock of the kernel stamps files and may be this coarse, so that two writes within it leave the same time.
inline constexpr int64_t kTickNs = 20'000'000;

// Reads the entries of a cache file in the order of their paths.
class StatCacheReader {
 public:
  // An absent, foreign or damaged file is an empty cache.
  explicit StatCacheReader(const std::string& path);

  // The digest that was recorded for `path`, if the file looks unchanged and its times are older than the scan that
  // recorded it by more than a tick: a younger file may have been written again without a visible sign. REQUIRES:
  // ascending paths from call to call.
  const Digest* Find(std::string_view path, const os::Stat& stat);
  // How many entries the file has.
  uint64_t size() const { return count_; }

 private:
  bool Next();

  std::string bytes_;
  std::string_view rest_;
  uint64_t count_ = 0;
  int64_t scanned_ns_ = 0;
  bool have_ = false;      // the entry below is read and not passed yet
  std::string_view path_;  // of the entry at hand
  uint64_t size_ = 0;
  int64_t mtime_ns_ = 0;
  int64_t ctime_ns_ = 0;
  uint64_t inode_ = 0;
  Digest digest_;
};

// Builds a cache file.
class StatCacheWriter {
 public:
  // `scanned_ns`: when the scan began.
  explicit StatCacheWriter(int64_t scanned_ns);
  // REQUIRES: ascending paths from call to call.
  void Add(std::string_view path, const os::Stat& stat, const Digest& digest);
  // Replaces the file, with the folders above it. REQUIRES: called once.
  Result<void> Write(const std::string& path);

 private:
  std::string bytes_;
  uint64_t count_ = 0;
};

}  // namespace ferry::snapshot
