#include "cli/upload.h"

#include <algorithm>

#include "os/file.h"
#include "os/process.h"

namespace ferry::cli {

Result<void> UploadSnapshot(Session& session, const std::string& folder, const snapshot::Manifest& manifest, const transfer::OnUpload& on_progress) {
  std::vector<transfer::File> files;
  for (const snapshot::Entry& entry : manifest.entries)
    if (entry.type == snapshot::Entry::Type::kFile) files.push_back({entry.digest, entry.size, os::JoinPath(folder, entry.path), entry.path});
  const std::string text = manifest.Text();
  transfer::UploadOptions options;
  options.threads = std::clamp(os::CoreCount(), 1u, 2u);
  options.last = &text;
  options.on_progress = on_progress;
  TRY([[maybe_unused]] auto left_out, transfer::Upload(BlobLink(session), files, options));
  return {};
}

}  // namespace ferry::cli
