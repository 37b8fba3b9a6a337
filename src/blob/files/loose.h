// Large blobs, one file each, and the uploads on their way to become one. Safe to call from several threads; one
// process at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "base/result.h"
#include "os/file.h"

namespace ferry::blob {

class Loose {
 public:
  // `blobs` holds ab/abcdef..., `partials` holds one file an upload. Both are created. Uploads untouched for a week are
  // dropped.
  static Result<std::unique_ptr<Loose>> Open(const std::string& blobs, const std::string& partials);

  bool Has(const Digest& digest);
  // kNotFound "blob.not_found".
  Result<os::Fd> File(const Digest& digest);

  // As in BlobStore, for a blob that is not here yet.
  Result<void> AddPart(const Digest& digest, uint64_t offset, std::string_view bytes);
  Result<uint64_t> Partial(const Digest& digest);
  Result<void> FinishParts(const Digest& digest, uint64_t size);
  // Removes the blob, if it is here.
  Result<void> Remove(const Digest& digest);
  // Drops the upload, if there is one.
  Result<void> DropPartial(const Digest& digest);

 private:
  // The hash of an upload's first `size` bytes, so that FinishParts need not read the file again.
  struct Running {
    Sha256 hash;
    uint64_t size = 0;
  };
  Loose(std::string blobs, std::string partials) : blobs_(std::move(blobs)), partials_(std::move(partials)) {}
  std::string PathOf(const Digest& digest) const;
  std::string PartialPath(const Digest& digest) const;
  std::mutex& UploadMutex(const Digest& digest) { return uploads_[digest.bytes[31] % uploads_.size()]; }
  std::unique_ptr<Running> TakeRunning(const Digest& digest);
  void KeepRunning(const Digest& digest, std::unique_ptr<Running> running);
  // REQUIRES: the upload's mutex is held.
  Result<Digest> HashPartial(const Digest& digest, uint64_t size);
  Result<void> PublishPartial(const Digest& digest);

  const std::string blobs_;
  const std::string partials_;
  std::array<std::mutex, 64> uploads_;  // one upload at a time writes to a partial file

  std::mutex mutex_;  // guards the two below
  std::unordered_set<Digest> here_;
  std::unordered_map<Digest, std::unique_ptr<Running>> running_;  // at most kMostRunning
};

}  // namespace ferry::blob
