// Sending the content of a snapshot to the server: what it lacks and nothing else, small files packed and compressed, large ones in pieces
// that a lost connection does not undo. The manifest goes last, so that a server that has it has everything.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "cli/client.h"
#include "snapshot/snapshot.h"

namespace ferry::cli {

// How far an upload is.
struct UploadProgress {
  size_t files = 0;  // done, of `all_files`
  size_t all_files = 0;
  uint64_t bytes = 0;  // read and handed over, of `all_bytes`
  uint64_t all_bytes = 0;
};
using OnUpload = std::function<void(const UploadProgress&)>;

// Brings the server what it lacks of the snapshot of `folder`. Safe to repeat: what arrived before is not sent again. kConflict
// "upload.changed" (the field is the file) when a file is not what the manifest says any more; the server's errors; connection errors.
Result<void> UploadSnapshot(Session& session, const std::string& folder, const snapshot::Manifest& manifest, const OnUpload& on_progress);

}  // namespace ferry::cli
