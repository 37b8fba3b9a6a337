#include "blob/files/packs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "base/text.h"
#include "blob/pack.h"

namespace ferry::blob {

namespace {

// Rows that a recovery holds in memory before it writes them.
constexpr size_t kBatch = 50'000;
// No append is larger than this, so a longer unreadable tail is damage, which is kept for a person to look at, and not
// a torn append.
constexpr uint64_t kLongestTorn = kAppendLimit + kMaxPacked + kRecordHead + 4096;

std::vector<Digest> DigestsOf(const std::vector<IndexRow>& rows) {
  std::vector<Digest> digests;
  digests.reserve(rows.size());
  for (const IndexRow& row : rows) digests.push_back(row.digest);
  return digests;
}

std::optional<uint32_t> PackNumber(std::string_view name) {
  if (!name.ends_with(".pack")) return std::nullopt;
  auto n = ParseInt(name.substr(0, name.size() - 5));
  if (!n || *n <= 0 || *n > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*n);
}

// Reads a file front to back through one buffer.
class Window {
 public:
  Window(const os::Fd& file, uint64_t size, const std::string& path) : file_(file), size_(size), path_(path) {}
  // `count` bytes at `offset`. REQUIRES: inside the file.
  Result<std::string_view> At(uint64_t offset, size_t count) {
    if (offset < begin_ || offset + count > begin_ + bytes_.size()) {
      const size_t want = static_cast<size_t>(std::min<uint64_t>(size_ - offset, std::max<size_t>(count, 8u << 20)));
      TRY(bytes_, os::ReadAt(file_, offset, want, path_));
      begin_ = offset;
      if (bytes_.size() < count) return MakeError(Code::kInternal, "file.io", StrCat(path_, " shrinks while it is read"));
    }
    return std::string_view(bytes_).substr(offset - begin_, count);
  }

 private:
  const os::Fd& file_;
  const uint64_t size_;
  const std::string& path_;
  std::string bytes_;
  uint64_t begin_ = 0;
};

}  // namespace

void DropPresent(std::string& records, std::vector<IndexRow>& rows, const std::vector<bool>& here, uint64_t base) {
  size_t kept = 0;
  uint64_t end = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (here[i]) continue;
    IndexRow row = rows[i];
    const uint64_t from = row.at.offset - base - kRecordHead;
    const size_t whole = kRecordHead + row.at.stored;
    if (from != end) std::memmove(records.data() + end, records.data() + from, whole);
    row.at.offset = base + end + kRecordHead;
    end += whole;
    rows[kept++] = row;
  }
  rows.resize(kept);
  records.resize(end);
}

Result<std::unique_ptr<Packs>> Packs::Open(const std::string& folder, const std::string& index_file) {
  std::unique_ptr<Packs> packs(new Packs(folder));
  TRY_VOID(os::MakeFolders(folder));
  TRY(packs->index_, Index::Open(index_file));
  TRY_VOID(packs->Recover());
  return packs;
}

std::string Packs::PathOf(uint32_t pack) const {
  char name[32];
  std::snprintf(name, sizeof name, "%08u.pack", pack);
  return os::JoinPath(folder_, name);
}

Result<void> Packs::Recover() {
  TRY(auto covered, index_->Packs());
  TRY(auto names, os::ListFolder(folder_));
  std::map<uint32_t, uint64_t> sizes;
  for (const os::DirEntry& entry : names) {
    auto pack = PackNumber(entry.name);
    if (!pack) continue;
    TRY(os::Stat stat, os::StatPath(PathOf(*pack)));
    sizes[*pack] = stat.size;
  }
  for (const auto& [pack, size] : covered) {
    auto found = sizes.find(pack);
    if (found != sizes.end() && found->second >= size) continue;
    TRY_VOID(index_->Clear());
    covered.clear();
    break;
  }
  for (auto& [pack, size] : sizes) {
    auto known = covered.find(pack);
    const uint64_t from = known == covered.end() ? 0 : known->second;
    if (from != size) {
      TRY(size, IndexTail(pack, from));
    }
    last_ = std::max(last_, pack);
  }
  if (last_ != 0 && sizes[last_] >= kPackMagic.size() && sizes[last_] < kPackLimit) {
    TRY(current_file_, os::Open(PathOf(last_), os::OpenMode::kReadWrite));
    current_ = last_;
    current_size_ = sizes[last_];
  }
  return {};
}

Result<uint64_t> Packs::IndexTail(uint32_t pack, uint64_t from) {
  const std::string path = PathOf(pack);
  TRY(os::Fd file, os::Open(path, os::OpenMode::kReadWrite));
  TRY(os::Stat stat, os::StatFd(file, path));
  // What is read below may not be on the disk yet, and the index must never be ahead of it.
  TRY_VOID(os::SyncData(file, path));
  Window window(file, stat.size, path);
  uint64_t at = from;
  if (at == 0 && stat.size >= kPackMagic.size()) {
    TRY(std::string_view magic, window.At(0, kPackMagic.size()));
    if (magic == kPackMagic) at = kPackMagic.size();
  }
  uint64_t good = at;
  std::vector<IndexRow> rows;
  std::string buffer;
  while (at >= kPackMagic.size() && at + kRecordHead <= stat.size) {
    TRY(std::string_view bytes, window.At(at, kRecordHead));
    auto head = ReadRecordHead(bytes);
    if (!head.ok() || at + kRecordHead + head->stored > stat.size) break;
    TRY(std::string_view stored, window.At(at + kRecordHead, head->stored));
    const uint64_t end = at + kRecordHead + head->stored;
    if (UnpackRecord(*head, stored, buffer).ok()) {
      rows.push_back({head->digest, {pack, head->stored, head->raw, at + kRecordHead}});
      good = end;
    }
    at = end;
    if (rows.size() >= kBatch) {
      TRY_VOID(index_->Add(rows, pack, good));
      rows.clear();
    }
  }
  if (good != stat.size && stat.size - good <= kLongestTorn) {
    TRY_VOID(os::Truncate(file, good, path));
  } else {
    good = stat.size;
  }
  TRY_VOID(index_->Add(rows, pack, good));
  return good;
}

Result<void> Packs::NeedCurrent(uint64_t room) {
  if (current_ != 0 && current_size_ + room <= kPackLimit) return {};
  current_ = 0;
  current_file_.Close();
  const uint32_t pack = last_ + 1;
  const std::string path = PathOf(pack);
  auto create = [&]() -> Result<os::Fd> {
    TRY(os::Fd file, os::Open(path, os::OpenMode::kReadWrite));
    TRY_VOID(os::Truncate(file, 0, path));
    TRY_VOID(os::WriteAllAt(file, kPackMagic, 0, path));
    TRY_VOID(os::SyncFolder(folder_));
    return file;
  };
  auto file = create();
  if (!file.ok()) {
    (void)os::RemoveFile(path);
    return file.error();
  }
  current_file_ = std::move(*file);
  current_ = last_ = pack;
  current_size_ = kPackMagic.size();
  return {};
}

Result<size_t> Packs::Append(std::string records, std::vector<IndexRow> rows) {
  std::lock_guard lock(publish_);
  TRY(auto here, index_->Has(DigestsOf(rows)));
  DropPresent(records, rows, here, 0);
  if (rows.empty()) return size_t{0};
  TRY_VOID(NeedCurrent(records.size()));
  const uint64_t before = current_size_;
  const std::string path = PathOf(current_);
  for (IndexRow& row : rows) {
    row.at.pack = current_;
    row.at.offset += before;
  }
  auto append = [&]() -> Result<size_t> {
    TRY_VOID(os::WriteAllAt(current_file_, records, before, path));
    TRY_VOID(os::SyncData(current_file_, path));
    return index_->Add(rows, current_, before + records.size());
  };
  auto added = append();
  if (added.ok()) {
    current_size_ = before + records.size();
    return added;
  }
  // What cannot be cut off now is cut off by the next Recover; nothing may be appended behind it.
  if (!os::Truncate(current_file_, before, path).ok() || added.error().code != Code::kExhausted) {
    current_ = 0;
    current_file_.Close();
  }
  return added;
}

Result<size_t> Packs::Publish(const std::string& path, uint64_t size, std::vector<IndexRow> rows) {
  auto flush = [&]() -> Result<void> {
    TRY(os::Fd file, os::Open(path, os::OpenMode::kRead));
    return os::SyncData(file, path);
  };
  if (auto flushed = flush(); !flushed.ok()) {
    (void)os::RemoveFile(path);
    return flushed.error();
  }
  std::lock_guard lock(publish_);
  const uint32_t pack = last_ + 1;
  const std::string target = PathOf(pack);
  for (IndexRow& row : rows) row.at.pack = pack;
  auto publish = [&]() -> Result<size_t> {
    TRY(auto here, index_->Has(DigestsOf(rows)));
    if (std::find(here.begin(), here.end(), false) == here.end()) {
      TRY_VOID(os::RemoveFile(path));
      return size_t{0};
    }
    TRY_VOID(os::Rename(path, target));
    TRY_VOID(os::SyncFolder(folder_));
    return index_->Add(rows, pack, size);
  };
  auto added = publish();
  if (added.ok()) {
    if (*added > 0) last_ = pack;
  } else {
    (void)os::RemoveFile(path);
    (void)os::RemoveFile(target);
  }
  return added;
}

Result<std::shared_ptr<os::Fd>> Packs::File(uint32_t pack) {
  OpenPack& slot = files_[pack % files_.size()];
  {
    std::lock_guard lock(files_mutex_);
    if (slot.pack == pack && slot.file) return slot.file;
  }
  TRY(os::Fd file, os::Open(PathOf(pack), os::OpenMode::kRead));
  auto shared = std::make_shared<os::Fd>(std::move(file));
  std::lock_guard lock(files_mutex_);
  slot = {pack, shared};
  return shared;
}

}  // namespace ferry::blob
