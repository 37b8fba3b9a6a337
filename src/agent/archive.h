// A built environment as one file, so that another node can have it as it was built. A pack (blob/pack.h) whose records, one after the other, are the
// length of a head (eight bytes, little endian), the head as JSON, and the contents of its files in the manifest's order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "blob/pack.h"
#include "environment/builder.h"
#include "os/file.h"
#include "snapshot/snapshot.h"

namespace ferry::agent {

// Writes what ready.folder holds, all but the marks that the cache keeps there. Returns the file's digest.
Result<Digest> WriteArchive(const environment::Ready& ready, const std::string& file);

// Unpacks an archive from any cut of its bytes into a folder that does not exist yet.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::string folder);
  Result<void> Write(std::string_view bytes) { return parser_.Write(bytes); }
  // The environment with its paths as they are here. kInvalid "archive.corrupt" when something is missing, "archive.link" when a program that it
  // needs is not on this node.
  Result<environment::Ready> Finish();
  // Where it was built.
  const std::string& before() const { return before_; }

 private:
  Result<void> Take(std::string_view raw);
  Result<void> TakeHead(std::string_view text);
  Result<void> NextFile();

  std::string folder_;
  blob::PackParser parser_;
  std::string head_;
  uint64_t head_size_ = 0;
  bool begun_ = false;  // the head was read
  environment::Ready ready_;
  std::string before_;
  std::map<std::string, std::string> links_;
  snapshot::Manifest manifest_;
  size_t entry_ = 0;  // the file that is written
  uint64_t left_ = 0;
  os::Fd file_;
};

// The same with every path below `before` below `after`.
environment::Ready Moved(environment::Ready ready, const std::string& before, const std::string& after);

}  // namespace ferry::agent
