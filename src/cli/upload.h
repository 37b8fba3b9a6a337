// Sending the content of a snapshot to the server. The manifest goes last, so that a server that has it has everything.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/client.h"
#include "snapshot/snapshot.h"
#include "transfer/upload.h"

namespace ferry::cli {

// Brings the server what it lacks of the snapshot of `folder`. Safe to repeat: what arrived before is not sent again. kConflict
// "upload.changed" (the field is the file) when a file is not what the manifest says any more; the server's errors; connection errors.
Result<void> UploadSnapshot(Session& session, const std::string& folder, const snapshot::Manifest& manifest, const transfer::OnUpload& on_progress);

}  // namespace ferry::cli
