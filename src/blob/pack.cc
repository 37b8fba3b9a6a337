#include "blob/pack.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace ferry::blob {

namespace {

// Below this a frame's own head eats what compression gains.
constexpr size_t kSmallestCompressed = 64;
constexpr int kLevel = 1;

struct FreeCompress {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
};
struct FreeDecompress {
  void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};

ZSTD_CCtx* Compressor() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeCompress> context(ZSTD_createCCtx());
  return context.get();
}

ZSTD_DCtx* Decompressor() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeDecompress> context(ZSTD_createDCtx());
  return context.get();
}

void PutU32(char* at, uint32_t v) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(v >> (8 * i));
}

uint32_t GetU32(const char* at) {
  uint32_t v = 0;
  for (int i = 0; i < 4; ++i) v |= static_cast<uint32_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  return v;
}

Error Corrupt(std::string message) { return MakeError(Code::kInvalid, "blob.corrupt", std::move(message)); }

}  // namespace

void AppendRecord(std::string& out, const Digest& digest, std::string_view raw) {
  FERRY_CHECK(raw.size() <= kMaxPacked);
  const size_t head = out.size();
  size_t stored = raw.size();
  if (raw.size() >= kSmallestCompressed) {
    const size_t bound = ZSTD_compressBound(raw.size());
    out.resize(head + kRecordHead + bound);
    size_t n = ZSTD_compressCCtx(Compressor(), out.data() + head + kRecordHead, bound, raw.data(), raw.size(), kLevel);
    if (!ZSTD_isError(n) && n < raw.size()) stored = n;
  }
  out.resize(head + kRecordHead + stored);
  char* at = out.data() + head;
  std::memcpy(at, digest.bytes.data(), digest.bytes.size());
  PutU32(at + 32, static_cast<uint32_t>(stored));
  PutU32(at + 36, static_cast<uint32_t>(raw.size()));
  if (stored == raw.size() && !raw.empty()) std::memcpy(at + kRecordHead, raw.data(), raw.size());
}

Result<RecordHead> ReadRecordHead(std::string_view bytes) {
  FERRY_CHECK(bytes.size() >= kRecordHead);
  RecordHead head;
  std::memcpy(head.digest.bytes.data(), bytes.data(), head.digest.bytes.size());
  head.stored = GetU32(bytes.data() + 32);
  head.raw = GetU32(bytes.data() + 36);
  if (head.raw > kMaxPacked || head.stored > head.raw || (head.stored == 0) != (head.raw == 0)) return Corrupt("a record of the pack states impossible sizes");
  return head;
}

Result<std::string_view> UnpackRecord(const RecordHead& head, std::string_view stored, std::string& buffer) {
  std::string_view raw = stored;
  if (head.stored < head.raw) {
    if (buffer.size() < head.raw) buffer.resize(head.raw);
    size_t n = ZSTD_decompressDCtx(Decompressor(), buffer.data(), head.raw, stored.data(), stored.size());
    if (ZSTD_isError(n) || n != head.raw) return Corrupt(StrCat("blob ", head.digest.Hex(), " does not decompress"));
    raw = std::string_view(buffer.data(), head.raw);
  }
  if (HashBytes(raw) != head.digest) return Corrupt(StrCat("blob ", head.digest.Hex(), " has another hash than it claims"));
  return raw;
}

Result<void> PackParser::Write(std::string_view bytes) {
  if (failed_) return Corrupt("the pack was refused already");
  auto result = Consume(bytes);
  if (!result.ok()) failed_ = true;
  return result;
}

Result<void> PackParser::Consume(std::string_view bytes) {
  // Tops pending_ up to `want` bytes; false when the cut ends before.
  auto fill = [&](size_t want) {
    if (pending_.size() >= want) return true;
    size_t take = std::min(want - pending_.size(), bytes.size());
    pending_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    return pending_.size() == want;
  };
  if (!begun_) {
    if (!fill(kPackMagic.size())) return {};
    if (pending_ != kPackMagic) return Corrupt("the bytes are no pack");
    pending_.clear();
    begun_ = true;
  }
  while (!bytes.empty() || !pending_.empty()) {
    if (pending_.empty() && bytes.size() >= kRecordHead) {
      TRY(RecordHead head, ReadRecordHead(bytes));
      const size_t whole = kRecordHead + head.stored;
      if (bytes.size() < whole) {
        pending_.reserve(whole);
        pending_.append(bytes);
        return {};
      }
      TRY_VOID(Deliver(head, bytes.substr(0, whole)));
      bytes.remove_prefix(whole);
      continue;
    }
    if (!fill(kRecordHead)) return {};
    TRY(RecordHead head, ReadRecordHead(pending_));
    if (!fill(kRecordHead + head.stored)) return {};
    TRY_VOID(Deliver(head, pending_));
    pending_.clear();
  }
  return {};
}

Result<void> PackParser::Deliver(const RecordHead& head, std::string_view record) {
  TRY(std::string_view raw, UnpackRecord(head, record.substr(kRecordHead), raw_));
  return on_blob_(head.digest, raw, record);
}

Result<void> PackParser::Finish() {
  if (failed_) return Corrupt("the pack was refused already");
  failed_ = !begun_ || !pending_.empty();
  if (!begun_) return Corrupt("the bytes are no pack");
  if (!pending_.empty()) return Corrupt("the pack ends inside a record");
  return {};
}

}  // namespace ferry::blob
