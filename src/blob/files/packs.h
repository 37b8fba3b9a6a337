// The folder of pack files and the index over it. Packs only grow: an upload is appended to the current pack or becomes
// a pack of its own. Safe to call from several threads; one process at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "blob/files/index.h"
#include "os/file.h"

namespace ferry::blob {

// Appended to no longer when this large.
inline constexpr uint64_t kPackLimit = 256u << 20;
// An upload that stays below this is appended to the current pack; a larger one becomes a pack of its own.
inline constexpr size_t kAppendLimit = 4u << 20;

class Packs {
 public:
  // Opens `folder` (created) and brings the index up to date: bytes that the index does not cover are read and
  // verified, the torn tail of an append that did not end is cut off. When packs are not what the index says, it is
  // rebuilt.
  static Result<std::unique_ptr<Packs>> Open(const std::string& folder, const std::string& index_file);

  // Appends whole records durably. rows[i].at.offset counts from the beginning of `records`; the records of rows that
  // are here already are left out. Returns how many were new. A failure leaves nothing behind.
  Result<size_t> Append(std::string records, std::vector<IndexRow> rows);
  // Makes the file `path` a pack by renaming it, durably. rows[i].at.offset counts from the file's beginning. On
  // failure the file is gone.
  Result<size_t> Publish(const std::string& path, uint64_t size, std::vector<IndexRow> rows);

  Result<std::vector<bool>> Has(std::span<const Digest> digests) { return index_->Has(digests); }
  Result<std::optional<Location>> Find(const Digest& digest) { return index_->Find(digest); }
  // The pack, open for reading.
  Result<std::shared_ptr<os::Fd>> File(uint32_t pack);

 private:
  explicit Packs(std::string folder) : folder_(std::move(folder)) {}
  std::string PathOf(uint32_t pack) const;
  Result<void> Recover();
  // Indexes what lies behind `from`. Returns the size of the pack afterwards.
  Result<uint64_t> IndexTail(uint32_t pack, uint64_t from);
  Result<void> NeedCurrent(uint64_t room);

  const std::string folder_;
  std::unique_ptr<Index> index_;

  std::mutex publish_;    // one publication at a time; guards the four below
  uint32_t last_ = 0;     // the highest pack number in use
  uint32_t current_ = 0;  // the pack that is appended to; 0: none
  os::Fd current_file_;
  uint64_t current_size_ = 0;

  struct OpenPack {
    uint32_t pack = 0;
    std::shared_ptr<os::Fd> file;
  };
  std::mutex files_mutex_;
  std::array<OpenPack, 16> files_;  // recently read packs; guarded by files_mutex_
};

// Keeps the rows whose blob is not in `here` (same order) and closes the gaps in `records`, where rows[i].at.offset -
// `base` is the position of a record's stored bytes.
void DropPresent(std::string& records, std::vector<IndexRow>& rows, const std::vector<bool>& here, uint64_t base);

}  // namespace ferry::blob
