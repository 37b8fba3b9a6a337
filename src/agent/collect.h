// Brings what an attempt produced to the server: files under outputs/ and those that the script uploaded, by content, only what is new.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/folder.h"
#include "base/hash.h"
#include "base/result.h"
#include "transfer/link.h"

namespace ferry::agent {

// A file that is at the server by content and can be reported as an artifact.
struct Collected {
  std::string path;  // "outputs/model.pkl"
  Digest digest;
  uint64_t size = 0;
};

// What was collected before, so that unchanged files cost a look.
struct CollectedBefore {
  struct Seen {
    int64_t mtime_ns = 0;
    uint64_t size = 0;
    Digest digest;
  };
  std::map<std::string, Seen> files;
};

// Uploads every new or changed file, those below outputs/ only with `outputs`; with `settled` only those not written to in the last two seconds (the script
// still runs). Returns what is new since `before`, which it updates. Files that vanish meanwhile are left out. Symbolic links that leave the working folder are
// left out too.
Result<std::vector<Collected>> CollectOutputs(const AttemptFolder& folder, const transfer::Link& link, CollectedBefore& before, bool settled,
                                              bool outputs = true);

}  // namespace ferry::agent
