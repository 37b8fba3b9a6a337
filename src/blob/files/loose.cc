#include "blob/files/loose.h"

#include <algorithm>

#include "base/text.h"
#include "base/time.h"

namespace ferry::blob {

namespace {

constexpr size_t kMostRunning = 256;
constexpr size_t kReadSize = 1u << 20;
// An upload that nobody continued for this long is dropped on open.
constexpr Duration kAbandoned = std::chrono::hours(24 * 7);

}  // namespace

Result<std::unique_ptr<Loose>> Loose::Open(const std::string& blobs, const std::string& partials) {
  std::unique_ptr<Loose> loose(new Loose(blobs, partials));
  TRY_VOID(os::MakeFolders(blobs));
  TRY_VOID(os::MakeFolders(partials));
  TRY(auto folders, os::ListFolder(blobs));
  for (const os::DirEntry& folder : folders) {
    if (folder.type != os::FileType::kFolder) continue;
    TRY(auto files, os::ListFolder(os::JoinPath(blobs, folder.name)));
    for (const os::DirEntry& file : files)
      if (auto digest = Digest::FromHex(file.name)) loose->here_.insert(*digest);
  }
  TRY(auto uploads, os::ListFolder(partials));
  for (const os::DirEntry& upload : uploads) {
    const std::string path = os::JoinPath(partials, upload.name);
    TRY(os::Stat stat, os::StatPath(path, false));
    if (Now() - Time{stat.mtime_ns / 1000} > kAbandoned) TRY_VOID(os::RemoveAll(path));
  }
  return loose;
}

std::string Loose::PathOf(const Digest& digest) const {
  const std::string hex = digest.Hex();
  return StrCat(blobs_, "/", std::string_view(hex).substr(0, 2), "/", hex);
}

std::string Loose::PartialPath(const Digest& digest) const { return StrCat(partials_, "/", digest.Hex()); }

bool Loose::Has(const Digest& digest) {
  std::lock_guard lock(mutex_);
  return here_.contains(digest);
}

Result<os::Fd> Loose::File(const Digest& digest) {
  if (!Has(digest)) return MakeError(Code::kNotFound, "blob.not_found", StrCat("there is no blob ", digest.Hex()));
  return os::Open(PathOf(digest), os::OpenMode::kRead);
}

std::unique_ptr<Loose::Running> Loose::TakeRunning(const Digest& digest) {
  std::lock_guard lock(mutex_);
  auto node = running_.extract(digest);
  return node ? std::move(node.mapped()) : nullptr;
}

void Loose::KeepRunning(const Digest& digest, std::unique_ptr<Running> running) {
  std::lock_guard lock(mutex_);
  if (running_.size() >= kMostRunning) running_.erase(running_.begin());
  running_[digest] = std::move(running);
}

Result<void> Loose::AddPart(const Digest& digest, uint64_t offset, std::string_view bytes) {
  std::lock_guard lock(UploadMutex(digest));
  TRY(uint64_t have, Partial(digest));
  if (have != offset) return MakeError(Code::kConflict, "blob.offset", StrCat("the upload of ", digest.Hex(), " continues at ", have, " and not at ", offset));
  const std::string path = PartialPath(digest);
  TRY(os::Fd file, os::Open(path, os::OpenMode::kReadWrite));
  auto running = TakeRunning(digest);
  if (auto written = os::WriteAllAt(file, bytes, offset, path); !written.ok()) {
    if (auto cut = os::Truncate(file, offset, path); cut.ok() && running) KeepRunning(digest, std::move(running));
    return written;
  }
  if (!running && offset == 0) running = std::make_unique<Running>();
  if (running && running->size == offset) {
    running->hash.Update(bytes);
    running->size += bytes.size();
    KeepRunning(digest, std::move(running));
  }
  return {};
}

Result<uint64_t> Loose::Partial(const Digest& digest) {
  auto stat = os::StatPath(PartialPath(digest));
  if (stat.ok()) return stat->size;
  if (stat.error().code == Code::kNotFound) return uint64_t{0};
  return stat.error();
}

Result<Digest> Loose::HashPartial(const Digest& digest, uint64_t size) {
  if (auto running = TakeRunning(digest); running && running->size == size) return running->hash.Finish();
  Sha256 hash;
  const std::string path = PartialPath(digest);
  TRY(os::Fd file, os::Open(path, os::OpenMode::kRead));
  for (uint64_t at = 0; at < size;) {
    TRY(std::string bytes, os::ReadAt(file, at, static_cast<size_t>(std::min<uint64_t>(kReadSize, size - at)), path));
    if (bytes.empty()) break;
    hash.Update(bytes);
    at += bytes.size();
  }
  return hash.Finish();
}

Result<void> Loose::PublishPartial(const Digest& digest) {
  const std::string from = PartialPath(digest);
  const std::string to = PathOf(digest);
  const std::string folder = to.substr(0, to.rfind('/'));
  {
    TRY(os::Fd file, os::Open(from, os::OpenMode::kReadWrite));
    TRY_VOID(os::SyncData(file, from));
  }
  if (!os::Exists(folder)) {
    TRY_VOID(os::MakeFolders(folder));
    TRY_VOID(os::SyncFolder(blobs_));
  }
  TRY_VOID(os::Rename(from, to));
  TRY_VOID(os::SyncFolder(folder));
  std::lock_guard lock(mutex_);
  here_.insert(digest);
  return {};
}

Result<void> Loose::FinishParts(const Digest& digest, uint64_t size) {
  std::lock_guard lock(UploadMutex(digest));
  if (Has(digest)) return {};
  TRY(uint64_t have, Partial(digest));
  if (have < size) return MakeError(Code::kConflict, "blob.offset", StrCat("the upload of ", digest.Hex(), " has ", have, " of ", size, " bytes"));
  const std::string path = PartialPath(digest);
  if (have == 0) {
    TRY_VOID(os::Open(path, os::OpenMode::kReadWrite));
  }
  bool right = have == size;
  if (right) {
    TRY(Digest actual, HashPartial(digest, size));
    right = actual == digest;
  }
  if (!right) {
    TakeRunning(digest);
    TRY_VOID(os::RemoveFile(path));
    return MakeError(Code::kInvalid, "blob.corrupt", StrCat("the upload of ", digest.Hex(), " has another hash than it claims"));
  }
  return PublishPartial(digest);
}

Result<void> Loose::Remove(const Digest& digest) {
  std::lock_guard lock(UploadMutex(digest));
  {
    std::lock_guard here_lock(mutex_);
    here_.erase(digest);
  }
  return os::RemoveFile(PathOf(digest));
}

Result<void> Loose::DropPartial(const Digest& digest) {
  std::lock_guard lock(UploadMutex(digest));
  TakeRunning(digest);
  return os::RemoveFile(PartialPath(digest));
}

}  // namespace ferry::blob
