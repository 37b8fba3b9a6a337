// Where each packed blob lies: a SQLite file that can be derived from the packs at any time, so it is never flushed for
// its own sake and may be deleted. Safe to call from several threads; one process at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "sqlite/database.h"
#include "sqlite/pool.h"

namespace ferry::blob {

// The stored bytes of one blob inside a pack.
struct Location {
  uint32_t pack = 0;
  uint32_t stored = 0;
  uint32_t raw = 0;
  uint64_t offset = 0;  // of the stored bytes, behind the record's head
};

struct IndexRow {
  Digest digest;
  Location at;
};

class Index {
 public:
  // Opens or creates. A file that is no index, or a damaged one, is replaced by an empty one.
  static Result<std::unique_ptr<Index>> Open(const std::string& path);
  ~Index();

  // How many bytes of each pack the index covers.
  Result<std::map<uint32_t, uint64_t>> Packs();
  // Adds the rows that are new and records that `pack` is covered up to `size`, all or nothing. Sorts `rows`. Returns
  // how many were new. kExhausted "file.disk_full".
  Result<size_t> Add(std::vector<IndexRow>& rows, uint32_t pack, uint64_t size);
  // Forgets everything.
  Result<void> Clear();

  Result<std::vector<bool>> Has(std::span<const Digest> digests);
  Result<std::optional<Location>> Find(const Digest& digest);

 private:
  explicit Index(const std::string& path);
  static Result<std::unique_ptr<Index>> TryOpen(const std::string& path);

  std::mutex writer_mutex_;
  std::unique_ptr<sqlite::Database> writer_;  // guarded by writer_mutex_
  sqlite::ReaderPool readers_;
};

}  // namespace ferry::blob
