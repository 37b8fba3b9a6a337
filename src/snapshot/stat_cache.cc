#include "snapshot/stat_cache.h"

#include <cstring>

namespace ferry::snapshot {

namespace {

// The head: magic, the moment of the scan, the number of entries. Then the entries, then a SHA-256 of all that. Numbers
// are in the machine's own order: the file never leaves it, and elsewhere the hash or the magic does not fit.
constexpr uint64_t kMagic = 0x3143'5346'4652'4546;
constexpr size_t kHead = 24;
// The fixed part of an entry: length of the path, size, mtime, ctime, inode, digest.
constexpr size_t kEntry = 4 + 4 * 8 + 32;

template <typename T>
void Put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

template <typename T>
T Get(std::string_view& from) {
  T v;
  std::memcpy(&v, from.data(), sizeof v);
  from.remove_prefix(sizeof v);
  return v;
}

}  // namespace

StatCacheReader::StatCacheReader(const std::string& path) {
  if (path.empty()) return;
  auto bytes = os::ReadFile(path);
  if (!bytes.ok() || bytes->size() < kHead + 32) return;
  bytes_ = std::move(*bytes);
  std::string_view all = bytes_;
  const std::string_view body = all.substr(0, all.size() - 32);
  if (HashBytes(body).Raw() != all.substr(body.size())) return;
  rest_ = body;
  if (Get<uint64_t>(rest_) != kMagic) {
    rest_ = {};
    return;
  }
  scanned_ns_ = Get<int64_t>(rest_);
  count_ = Get<uint64_t>(rest_);
}

bool StatCacheReader::Next() {
  if (rest_.size() < kEntry) return false;
  const auto length = Get<uint32_t>(rest_);
  size_ = Get<uint64_t>(rest_);
  mtime_ns_ = Get<int64_t>(rest_);
  ctime_ns_ = Get<int64_t>(rest_);
  inode_ = Get<uint64_t>(rest_);
  std::memcpy(digest_.bytes.data(), rest_.data(), digest_.bytes.size());
  rest_.remove_prefix(digest_.bytes.size());
  if (length > rest_.size()) {
    rest_ = {};
    return false;
  }
  path_ = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

const Digest* StatCacheReader::Find(std::string_view path, const os::Stat& stat) {
  int order = 1;
  while (have_ || (have_ = Next())) {
    order = path_.compare(path);
    if (order >= 0) break;
    have_ = false;
  }
  if (!have_ || order != 0) return nullptr;
  have_ = false;
  const bool same = size_ == stat.size && mtime_ns_ == stat.mtime_ns && ctime_ns_ == stat.ctime_ns && inode_ == stat.inode;
  const bool settled = mtime_ns_ < scanned_ns_ - kTickNs && ctime_ns_ < scanned_ns_ - kTickNs;
  return same && settled ? &digest_ : nullptr;
}

StatCacheWriter::StatCacheWriter(int64_t scanned_ns) {
  Put(bytes_, kMagic);
  Put(bytes_, scanned_ns);
  Put(bytes_, uint64_t{0});
}

void StatCacheWriter::Add(std::string_view path, const os::Stat& stat, const Digest& digest) {
  Put(bytes_, static_cast<uint32_t>(path.size()));
  Put(bytes_, stat.size);
  Put(bytes_, stat.mtime_ns);
  Put(bytes_, stat.ctime_ns);
  Put(bytes_, stat.inode);
  bytes_ += digest.Raw();
  bytes_ += path;
  ++count_;
}

Result<void> StatCacheWriter::Write(const std::string& path) {
  std::memcpy(bytes_.data() + 16, &count_, sizeof count_);
  bytes_ += HashBytes(bytes_).Raw();
  if (const size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0) TRY_VOID(os::MakeFolders(path.substr(0, slash)));
  return os::WriteFileAtomic(path, bytes_, 0600, false);
}

}  // namespace ferry::snapshot
