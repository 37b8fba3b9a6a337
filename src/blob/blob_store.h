// Content-addressed bytes, named by their SHA-256. Implemented by blob/files (an S3-style store can be added beside it);
// blob/conformance.h proves each. Safe to call from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace ferry::blob {

// Receives one upload of packed blobs as it streams in (blob/pack.h is the format). Nothing of it can be read before Finish succeeds,
// and then all of it can. Destroying it without Finish leaves nothing behind.
class PackSink {
 public:
  virtual ~PackSink() = default;
  // Any cut of the stream. kInvalid "blob.corrupt" when the bytes are no pack or do not have the hash they claim.
  virtual Result<void> Write(std::string_view bytes) = 0;
  // Publishes durably. Blobs that were there already are dropped. Returns how many were new.
  virtual Result<size_t> Finish() = 0;
};

// Reads a blob in order or by ranges.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual uint64_t size() const = 0;
  // At most `limit` bytes from `offset`; empty at the end.
  virtual Result<std::string> Read(uint64_t offset, size_t limit) = 0;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // For each digest whether it is here, in the same order.
  virtual Result<std::vector<bool>> Has(std::span<const Digest> digests) = 0;

  // Starts an upload of many small blobs.
  virtual Result<std::unique_ptr<PackSink>> AddPack() = 0;

  // Resumable upload of one large blob: appends `bytes` at `offset` of the partial upload of `digest`. An offset that is not the size so
  // far is kConflict "blob.offset" (ask Partial). Survives restarts of the server. Parts of a blob that is already here are dropped.
  virtual Result<void> AddPart(const Digest& digest, uint64_t offset, std::string_view bytes) = 0;
  // How many bytes of the upload are here. 0 when nothing is; all of them when the blob is.
  virtual Result<uint64_t> Partial(const Digest& digest) = 0;
  // Ends it: verifies size and hash, publishes atomically and durably. A wrong hash is kInvalid "blob.corrupt" and drops the partial upload.
  // An upload that is still shorter is kConflict "blob.offset" and stays. A blob that is already here is success.
  virtual Result<void> FinishParts(const Digest& digest, uint64_t size) = 0;

  // kNotFound "blob.not_found".
  virtual Result<std::unique_ptr<Reader>> Open(const Digest& digest) = 0;

  // Forgets a blob that came in parts and gives its bytes back; whoever has it open reads on. One in a pack stays, and one that is not here is success.
  virtual Result<void> Remove(const Digest& digest) = 0;
};

}  // namespace ferry::blob
