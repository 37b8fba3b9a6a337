// Sending content to the server: a snapshot, whose manifest goes last, so that a server that has it has everything; and plain files.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/client.h"
#include "snapshot/snapshot.h"
#include "transfer/upload.h"

namespace ferry::cli {

// Brings the server what it lacks of the snapshot of `folder`. Safe to repeat: what arrived before is not sent again. kConflict
// "upload.changed" (the field is the file) when a file is not what the manifest says any more; the server's errors; connection errors.
Result<void> UploadSnapshot(Session& session, const std::string& folder, const snapshot::Manifest& manifest, const transfer::OnUpload& on_progress);

// A file, or every file below a folder, with its hash; names are relative to the folder. No ignore rules. A link to a file is that file.
// kNotFound "upload.not_found" and kInvalid "upload.path" name `option`.
Result<std::vector<transfer::File>> FilesBelow(const std::string& path, std::string_view option);
// Brings the server the content of files.
Result<void> UploadContent(Session& session, const std::vector<transfer::File>& files, const transfer::OnUpload& on_progress);
// [{"path", "digest", "size"}], with `prefix` and a slash in front of the names unless it is empty.
Json FileList(const std::vector<transfer::File>& files, const std::string& prefix);

}  // namespace ferry::cli
