// Finds what of a folder belongs to its snapshot, without reading contents.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/file.h"
#include "os/folder.h"
#include "snapshot/snapshot.h"

namespace ferry::snapshot {

// A file, a link or an empty folder.
struct Found {
  std::string path;
  os::Stat stat;          // of the content: for a followed link, of what it points to
  bool followed = false;  // a link whose content is taken
  std::string target;     // where a link that stays a link points

  Entry::Type type() const {
    return stat.type == os::FileType::kFile ? Entry::Type::kFile : stat.type == os::FileType::kLink ? Entry::Type::kLink : Entry::Type::kFolder;
  }
};

struct WalkResult {
  std::vector<Found> found;             // in bytewise order of the paths
  std::vector<std::string> notes;       // what was left out and why
  std::vector<std::string> unreadable;  // folders that could not be listed
};

// `root` is the folder and `folder` its path. Leaves out what `rules` ignore and everything named ".git".
Result<WalkResult> Walk(const os::Folder& root, const std::string& folder, const IgnoreRules& rules, unsigned threads);

}  // namespace ferry::snapshot
