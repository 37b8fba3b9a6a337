// Sending files to the server: what it lacks and nothing else, small files packed and compressed, large ones in pieces that a lost connection
// does not undo.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "transfer/link.h"
#include "transfer/packer.h"

namespace ferry::transfer {

// How far an upload is.
struct UploadProgress {
  size_t files = 0;  // done, of `all_files`
  size_t all_files = 0;
  uint64_t bytes = 0;  // read and handed over, of `all_bytes`
  uint64_t all_bytes = 0;
};
using OnUpload = std::function<void(const UploadProgress&)>;

struct UploadOptions {
  unsigned threads = 0;               // beside the caller's, to read and compress when there is much
  bool leave_out_changed = false;     // what becomes of a file that is not what it was: left out, or else the end of the upload
  const std::string* last = nullptr;  // sent behind all files, whether the server has it or not: a server that has it has everything
  OnUpload on_progress;
};

// Brings the server what it lacks of the files. Safe to repeat: what arrived before is not sent again. Returns the contents that were left out.
// kConflict "upload.changed" (the field is the file's name) when a file is not what it was; the server's errors; connection errors.
Result<std::unordered_set<Digest>> Upload(const Link& link, const std::vector<File>& files, const UploadOptions& options);

}  // namespace ferry::transfer
