// Which implementation keeps the files of which kind of datastore.
#pragma once

#include <memory>
#include <string>

#include "blob/blob_store.h"
#include "data/file_store.h"
#include "engine/engine.h"
#include "model/datastore.h"
#include "store/store.h"

namespace ferry::server {

struct FileParts {
  store::Store& store;
  blob::BlobStore& blobs;
  engine::Engine& engine;
  std::string home;
  std::string scratch;
};
// The datastore's secret is open. Not from the engine's thread.
Result<std::shared_ptr<data::FileStore>> OpenFiles(const FileParts& parts, const model::Datastore& datastore);

}  // namespace ferry::server
