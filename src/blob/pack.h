// The pack: many small blobs as one stream, on the wire and on disk alike.
// "FPK1", then one record a blob: 32 bytes digest, u32 stored size, u32 raw size (little endian), then the stored bytes: zstd when
// stored < raw, plain when equal. A blob in a pack is at most kMaxPacked bytes raw.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"

namespace ferry::blob {

inline constexpr uint64_t kMaxPacked = 4u << 20;
inline constexpr std::string_view kPackMagic = "FPK1";
inline constexpr size_t kRecordHead = 40;

// Appends one record. Compresses when that makes it smaller. REQUIRES: raw.size() <= kMaxPacked.
// `digest` is trusted here and verified by the reader.
void AppendRecord(std::string& out, const Digest& digest, std::string_view raw);

// The fixed part of a record.
struct RecordHead {
  Digest digest;
  uint32_t stored = 0;
  uint32_t raw = 0;
};

// Reads a head and checks its bounds. kInvalid "blob.corrupt". REQUIRES: bytes.size() >= kRecordHead.
Result<RecordHead> ReadRecordHead(std::string_view bytes);

// The verified raw bytes of one record: a view into `stored`, or into `buffer`, which is grown and reused. kInvalid "blob.corrupt".
Result<std::string_view> UnpackRecord(const RecordHead& head, std::string_view stored, std::string& buffer);

// Reads a pack from any cut of its bytes and verifies each blob's hash. Bounded memory: one record.
// After a failure every further call fails.
class PackParser {
 public:
  // Called for each whole, verified record with the raw bytes and the record exactly as it was in the stream.
  using OnBlob = std::function<Result<void>(const Digest& digest, std::string_view raw, std::string_view record)>;
  explicit PackParser(OnBlob on_blob) : on_blob_(std::move(on_blob)) {}
  Result<void> Write(std::string_view bytes);
  // kInvalid "blob.corrupt" when the stream ended inside a record or had no magic.
  Result<void> Finish();

 private:
  Result<void> Consume(std::string_view bytes);
  Result<void> Deliver(const RecordHead& head, std::string_view record);

  OnBlob on_blob_;
  std::string pending_;  // the beginning of a record whose rest is not here yet
  std::string raw_;      // decompressed bytes of the record at hand
  bool begun_ = false;
  bool failed_ = false;
};

}  // namespace ferry::blob
