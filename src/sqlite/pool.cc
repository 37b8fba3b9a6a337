#include "sqlite/pool.h"

#include <utility>

namespace ferry::sqlite {

ReaderPool::ReaderPool(std::string path, Settings settings, size_t most) : path_(std::move(path)), settings_(std::move(settings)), most_(most) {
  settings_.read_only = true;
}

Result<ReaderPool::Lease> ReaderPool::Take() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !idle_.empty() || open_ < most_; });
  if (!idle_.empty()) {
    auto database = std::move(idle_.back());
    idle_.pop_back();
    return Lease(*this, std::move(database));
  }
  ++open_;
  lock.unlock();
  auto opened = Database::Open(path_, settings_);
  if (!opened.ok()) {
    lock.lock();
    --open_;
    returned_.notify_one();
    return opened.error();
  }
  return Lease(*this, std::move(*opened));
}

ReaderPool::Lease::~Lease() {
  if (!database_) return;
  {
    std::lock_guard lock(pool_->mutex_);
    pool_->idle_.push_back(std::move(database_));
  }
  pool_->returned_.notify_one();
}

}  // namespace ferry::sqlite
