// The workspace's own store: paths are rows of the metadata store, their content is blobs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "blob/blob_store.h"
#include "data/file_store.h"
#include "model/datastore.h"
#include "store/store.h"

namespace ferry::data {

struct OwnSettings {
  std::string workspace;
  std::string datastore;
  std::string scratch;  // a folder for files that arrive; made when needed
  // Keeps the rows: all or none; see engine::AddFiles. Waits until they are durable.
  std::function<Result<void>(std::vector<model::FileRecord> files, bool overwrite)> add;
};
// Both outlive it.
std::unique_ptr<FileStore> OpenOwnStore(store::Store& store, blob::BlobStore& blobs, OwnSettings settings);

}  // namespace ferry::data
