// Blobs in a folder of the local disk:
//   packs/NNNNNNNN.pack  many small blobs each (blob/pack.h), only ever appended to
//   loose/ab/abcdef...   large blobs, one file each
//   partial/abcdef...    uploads of large blobs that have not ended
//   incoming/            uploads of packs that have not ended; emptied on open
//   index.db             where each packed blob lies; derived from packs/, may be deleted
//   lock                 held while the store is open
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "blob/blob_store.h"

namespace ferry::blob {

// Opens or creates the store. kConflict "file.locked" when another process has it open. An upload that meets a full
// disk fails with kExhausted "file.disk_full", leaves nothing behind, and the store stays usable.
Result<std::unique_ptr<BlobStore>> OpenFileBlobStore(std::string folder);

}  // namespace ferry::blob
