#include "transfer/packer.h"

#include "base/text.h"
#include "blob/pack.h"
#include "os/file.h"

namespace ferry::transfer {
namespace {

constexpr size_t kPiece = 256u << 10;      // of the pack, at least
constexpr size_t kReadyBytes = 16u << 20;  // compressed and waiting for the connection

}  // namespace

Error ChangedError(const File& file) { return MakeError(Code::kConflict, "upload.changed", StrCat("'", file.name, "' changed while it was sent"), file.name); }

Result<std::string> ReadUnchanged(const File& file) {
  auto fd = os::Open(file.path, os::OpenMode::kRead);
  if (!fd.ok()) return fd.error().code == Code::kNotFound ? ChangedError(file) : fd.error();
  TRY(std::string content, os::ReadAt(*fd, 0, file.size + 1, file.path));
  if (content.size() != file.size || HashBytes(content) != file.digest) return ChangedError(file);
  return content;
}

Packer::Packer(std::span<const File> files, unsigned threads, bool leave_out_changed)
    : files_(files), leave_out_changed_(leave_out_changed), working_(threads) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

Packer::~Packer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  taken_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<std::string> Packer::Make() {
  std::string piece;
  size_t count = 0;
  uint64_t bytes = 0;
  while (piece.size() < kPiece) {
    const size_t at = next_++;
    if (at >= files_.size()) break;
    const File& file = files_[at];
    auto content = ReadUnchanged(file);
    if (!content.ok() && leave_out_changed_ && content.error().slug == "upload.changed") {
      std::lock_guard lock(mutex_);
      changed_.push_back(file.digest);
      continue;
    }
    if (!content.ok()) return content.error();
    blob::AppendRecord(piece, file.digest, *content);
    ++count;
    bytes += content->size();
  }
  files_done_ += count;
  bytes_done_ += bytes;
  return piece;
}

void Packer::Work() {
  for (;;) {
    auto piece = Make();
    std::unique_lock lock(mutex_);
    if (!piece.ok() && !error_) error_ = piece.error();
    if (!piece.ok() || piece->empty() || stop_) break;
    taken_.wait(lock, [&] { return stop_ || error_ || ready_bytes_ < kReadyBytes; });
    if (stop_ || error_) break;
    ready_bytes_ += piece->size();
    ready_.push_back(std::move(*piece));
    made_.notify_one();
  }
  std::lock_guard lock(mutex_);
  --working_;
  made_.notify_one();
}

Result<std::string> Packer::Next() {
  if (!begun_) {
    begun_ = true;
    return std::string(blob::kPackMagic);
  }
  if (threads_.empty()) return Make();
  std::unique_lock lock(mutex_);
  made_.wait(lock, [&] { return error_ || !ready_.empty() || working_ == 0; });
  if (error_) {
    taken_.notify_all();
    return *error_;
  }
  if (ready_.empty()) return std::string();
  std::string piece = std::move(ready_.front());
  ready_.pop_front();
  ready_bytes_ -= piece.size();
  taken_.notify_all();
  return piece;
}

}  // namespace ferry::transfer
