// What the runs of a workspace produced, as a datastore that can be read: "ExperimentRun/dcid.RUN/PATH".
#pragma once

#include <memory>
#include <string>

#include "blob/blob_store.h"
#include "data/file_store.h"
#include "store/store.h"

namespace ferry::data {

// Both outlive it.
std::unique_ptr<FileStore> OpenArtifactStore(store::Store& store, blob::BlobStore& blobs, std::string workspace);

}  // namespace ferry::data
