// A few read-only connections to one database file, opened when first needed and lent out one caller at a time.
// Safe to call from several threads.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"

namespace ferry::sqlite {

class ReaderPool {
 public:
  // A connection on loan; goes back when destroyed.
  class Lease {
   public:
    Lease(Lease&& other) noexcept : pool_(other.pool_), database_(std::move(other.database_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Database& operator*() { return *database_; }
    Database* operator->() { return database_.get(); }

   private:
    friend class ReaderPool;
    Lease(ReaderPool& pool, std::unique_ptr<Database> database) : pool_(&pool), database_(std::move(database)) {}
    ReaderPool* pool_;
    std::unique_ptr<Database> database_;
  };

  // Opens nothing yet. `settings.read_only` is implied.
  ReaderPool(std::string path, Settings settings, size_t most);
  // Waits while all connections are out. REQUIRES: the caller holds no lease of this pool.
  Result<Lease> Take();

 private:
  std::string path_;
  Settings settings_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Database>> idle_;
  size_t open_ = 0;  // idle or out
};

}  // namespace ferry::sqlite
