// A datastore that is a folder of this machine. Nothing outside of it is read or written: symbolic links inside it are followed only as long as they stay
// inside, whatever is done to the folder meanwhile.
#pragma once

#include <memory>
#include <string>

#include "data/file_store.h"

namespace ferry::data {

// kNotFound "datastore.folder" when it is not there, or is no folder.
Result<std::unique_ptr<FileStore>> OpenFolderStore(const std::string& folder);

}  // namespace ferry::data
