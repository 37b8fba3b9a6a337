// The blobs of a manifest from the server: small ones many at a time, in the order they are asked for, large ones one by one as a stream.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "snapshot/snapshot.h"
#include "transfer/link.h"

namespace ferry::transfer {

// The manifest of a snapshot. kInternal "snapshot.corrupt" when what arrives is not what was asked for.
Result<snapshot::Manifest> FetchManifest(const Link& link, const Digest& id);

class BatchFetch {
 public:
  // The link is used by nobody else while this lives.
  BatchFetch(Link link, const snapshot::Manifest& manifest);

  // Gives the bytes of one blob of the manifest. Each file of the manifest may ask once. Safe from several threads.
  Result<void> Get(const Digest& digest, const std::function<Result<void>(std::string_view)>& write);

 private:
  struct Blob {
    size_t batch = 0;
    size_t wanted = 0;  // how many files have yet to ask for it
    bool large = false;
    bool here = false;
    std::string content;  // from when its batch came until the last file took it
  };
  Result<void> FetchBatch(size_t batch);

  const Link link_;
  std::mutex mutex_;
  std::unordered_map<Digest, Blob> blobs_;
  std::vector<std::vector<Digest>> batches_;
};

}  // namespace ferry::transfer
