// Files under relative paths, wherever a datastore keeps them. Implemented by data/own, data/artifacts, data/folder and data/s3; data/conformance.h proves
// each of them. Safe to call from several threads. Calls may block on a disk or a network.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "blob/blob_store.h"

namespace ferry::data {

struct FileInfo {
  std::string path;
  uint64_t size = 0;
  Time modified;
  std::optional<Digest> digest;  // where the store knows it

  bool operator==(const FileInfo&) const = default;
};

// Reads a file in order or by ranges, as it was when it was opened or not at all.
using Reader = blob::Reader;

// Takes one file as it arrives. Nothing of it can be read before Finish succeeds, and then all of it can. Destroying it without Finish leaves nothing
// behind. Write goes no further than this machine's disk; Finish may.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual Result<void> Write(std::string_view bytes) = 0;
  // kConflict "file.exists" when there is a file of this path and `overwrite` is false.
  virtual Result<FileInfo> Finish(bool overwrite) = 0;
};

// A file or folder on this machine, so that whoever is told of it can tell whether it is the one that it sees there.
struct LocalPlace {
  std::string path;     // absolute, without links in it
  std::string machine;  // which machine, since it was started
  uint64_t device = 0;
  uint64_t inode = 0;
  bool folder = false;
};

// Where files of a store lie on this machine: for those that can be used without a copy.
class LocalFiles {
 public:
  virtual ~LocalFiles() = default;
  // A file or folder of the store. kNotFound "file.not_found"; kForbidden "file.outside".
  virtual Result<LocalPlace> PlaceOf(const std::string& path) = 0;
};

class FileStore {
 public:
  virtual ~FileStore() = default;

  // Files whose paths begin with `prefix` and come after `after`, at most `limit`, in the bytewise order of their paths. Fewer than `limit`: there are no
  // more. Nothing below the prefix is an empty list.
  virtual Result<std::vector<FileInfo>> List(const std::string& prefix, const std::string& after, size_t limit) = 0;
  // kNotFound "file.not_found"; kForbidden "file.outside" for a path that leads out of the store.
  virtual Result<FileInfo> Stat(const std::string& path) = 0;
  // The errors of Stat.
  virtual Result<std::unique_ptr<Reader>> Open(const std::string& path) = 0;
  // kForbidden "datastore.read_only" for a store that cannot be written to.
  virtual Result<std::unique_ptr<Writer>> Create(const std::string& path) = 0;
  // Nothing: its files are not on this machine.
  virtual LocalFiles* local() { return nullptr; }
};

// The path of a file: relative, with '/', no part empty, "." or "..", no control characters, UTF-8, at most 1,024 bytes. kInvalid "file.path".
Result<void> CheckFilePath(std::string_view path, std::string_view field);
Error NoSuchFile(std::string_view path);
Error FileExists(std::string_view path);

}  // namespace ferry::data
