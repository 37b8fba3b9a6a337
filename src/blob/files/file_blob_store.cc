#include "blob/files/file_blob_store.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "blob/files/loose.h"
#include "blob/files/packs.h"
#include "blob/pack.h"
#include "os/file.h"

namespace ferry::blob {

namespace {

// Holds a small upload in memory and spills a larger one into a file that becomes a pack by renaming.
class FilePackSink : public PackSink {
 public:
  FilePackSink(Packs& packs, Loose& loose, std::string path)
      : packs_(packs),
        loose_(loose),
        path_(std::move(path)),
        parser_([this](const Digest& digest, std::string_view raw, std::string_view record) { return Add(digest, raw, record); }) {}

  ~FilePackSink() override {
    if (!file_) return;
    file_.Close();
    (void)os::RemoveFile(path_);
  }

  Result<void> Write(std::string_view bytes) override {
    if (ended_) return MakeError(Code::kConflict, "blob.ended", "the upload has ended");
    auto result = parser_.Write(bytes);
    if (!result.ok()) ended_ = true;
    return result;
  }

  Result<size_t> Finish() override {
    if (ended_) return MakeError(Code::kConflict, "blob.ended", "the upload has ended");
    ended_ = true;
    TRY_VOID(parser_.Finish());
    if (!file_) {
      TRY_VOID(DropKnown());
      if (rows_.empty()) return size_t{0};
      return packs_.Append(std::move(buffer_), std::move(rows_));
    }
    TRY_VOID(Spill());
    file_.Close();
    if (spilled_.empty()) {
      TRY_VOID(os::RemoveFile(path_));
      return size_t{0};
    }
    return packs_.Publish(path_, file_size_, std::move(spilled_));
  }

 private:
  Result<void> Add(const Digest& digest, std::string_view raw, std::string_view record) {
    if (!seen_.insert(digest).second) return {};
    rows_.push_back({digest, {0, static_cast<uint32_t>(record.size() - kRecordHead), static_cast<uint32_t>(raw.size()), buffer_.size() + kRecordHead}});
    buffer_.append(record);
    return buffer_.size() >= kAppendLimit ? Spill() : Result<void>();
  }

  // Leaves out of rows_ and buffer_ what the store has.
  Result<void> DropKnown() {
    std::vector<Digest> digests;
    digests.reserve(rows_.size());
    for (const IndexRow& row : rows_) digests.push_back(row.digest);
    TRY(auto here, packs_.Has(digests));
    for (size_t i = 0; i < digests.size(); ++i)
      if (!here[i] && loose_.Has(digests[i])) here[i] = true;
    DropPresent(buffer_, rows_, here, 0);
    return {};
  }

  Result<void> Spill() {
    TRY_VOID(DropKnown());
    if (rows_.empty()) return {};
    if (!file_) {
      TRY(file_, os::Open(path_, os::OpenMode::kWrite));
      TRY_VOID(os::WriteAll(file_, kPackMagic, path_));
      file_size_ = kPackMagic.size();
    }
    TRY_VOID(os::WriteAll(file_, buffer_, path_));
    for (IndexRow& row : rows_) {
      row.at.offset += file_size_;
      spilled_.push_back(row);
    }
    file_size_ += buffer_.size();
    buffer_.clear();
    rows_.clear();
    return {};
  }

  Packs& packs_;
  Loose& loose_;
  const std::string path_;
  PackParser parser_;
  bool ended_ = false;
  std::unordered_set<Digest> seen_;
  std::string buffer_;          // whole records that are in no file yet
  std::vector<IndexRow> rows_;  // those in buffer_; offsets count from its beginning
  os::Fd file_;
  uint64_t file_size_ = 0;
  std::vector<IndexRow> spilled_;  // those in file_; offsets count from its beginning
};

// A blob of a pack: read, decompressed and verified whole at the first Read.
class PackedReader : public Reader {
 public:
  PackedReader(const Digest& digest, Location at, std::shared_ptr<os::Fd> file) : digest_(digest), at_(at), file_(std::move(file)) {}

  uint64_t size() const override { return at_.raw; }

  Result<std::string> Read(uint64_t offset, size_t limit) override {
    if (offset >= at_.raw || limit == 0) return std::string();
    if (!loaded_) TRY_VOID(Load());
    return bytes_.substr(offset, limit);
  }

 private:
  Result<void> Load() {
    TRY(std::string stored, os::ReadAt(*file_, at_.offset, at_.stored, "a pack"));
    const bool plain = at_.stored == at_.raw;
    if (stored.size() != at_.stored || !UnpackRecord({digest_, at_.stored, at_.raw}, stored, bytes_).ok())
      return MakeError(Code::kInternal, "blob.damaged", StrCat("blob ", digest_.Hex(), " is damaged on disk"));
    if (plain) bytes_ = std::move(stored);
    bytes_.resize(at_.raw);
    loaded_ = true;
    return {};
  }

  const Digest digest_;
  const Location at_;
  std::shared_ptr<os::Fd> file_;
  bool loaded_ = false;
  std::string bytes_;
};

class LooseReader : public Reader {
 public:
  LooseReader(os::Fd file, uint64_t size) : file_(std::move(file)), size_(size) {}
  uint64_t size() const override { return size_; }
  Result<std::string> Read(uint64_t offset, size_t limit) override {
    if (offset >= size_) return std::string();
    return os::ReadAt(file_, offset, static_cast<size_t>(std::min<uint64_t>(limit, size_ - offset)), "a blob");
  }

 private:
  os::Fd file_;
  const uint64_t size_;
};

class FileBlobStore : public BlobStore {
 public:
  static Result<std::unique_ptr<BlobStore>> Open(std::string folder) {
    TRY_VOID(os::MakeFolders(folder));
    TRY(os::FileLock lock, os::FileLock::Take(os::JoinPath(folder, "lock"), false));
    std::unique_ptr<FileBlobStore> store(new FileBlobStore(folder, std::move(lock)));
    const bool fresh = !os::Exists(os::JoinPath(folder, "packs"));
    TRY_VOID(os::RemoveAll(store->incoming_));
    TRY_VOID(os::MakeFolders(store->incoming_));
    TRY(store->packs_, Packs::Open(os::JoinPath(folder, "packs"), os::JoinPath(folder, "index.db")));
    TRY(store->loose_, Loose::Open(os::JoinPath(folder, "loose"), os::JoinPath(folder, "partial")));
    if (fresh) TRY_VOID(os::SyncFolder(folder));
    return std::unique_ptr<BlobStore>(std::move(store));
  }

  Result<std::vector<bool>> Has(std::span<const Digest> digests) override {
    TRY(auto here, packs_->Has(digests));
    for (size_t i = 0; i < digests.size(); ++i)
      if (!here[i] && loose_->Has(digests[i])) here[i] = true;
    return here;
  }

  Result<std::unique_ptr<PackSink>> AddPack() override {
    std::string path = StrCat(incoming_, "/", next_upload_.fetch_add(1));
    return std::unique_ptr<PackSink>(std::make_unique<FilePackSink>(*packs_, *loose_, std::move(path)));
  }

  Result<void> AddPart(const Digest& digest, uint64_t offset, std::string_view bytes) override {
    TRY(auto size, SizeOf(digest));
    if (size) return {};
    return loose_->AddPart(digest, offset, bytes);
  }

  Result<uint64_t> Partial(const Digest& digest) override {
    TRY(auto size, SizeOf(digest));
    if (size) return *size;
    return loose_->Partial(digest);
  }

  Result<void> FinishParts(const Digest& digest, uint64_t size) override {
    TRY(auto packed, packs_->Find(digest));
    if (packed) return loose_->DropPartial(digest);
    return loose_->FinishParts(digest, size);
  }

  Result<std::unique_ptr<Reader>> Open(const Digest& digest) override {
    TRY(auto packed, packs_->Find(digest));
    if (packed) {
      TRY(auto file, packs_->File(packed->pack));
      return std::unique_ptr<Reader>(std::make_unique<PackedReader>(digest, *packed, std::move(file)));
    }
    TRY(os::Fd file, loose_->File(digest));
    TRY(os::Stat stat, os::StatFd(file));
    return std::unique_ptr<Reader>(std::make_unique<LooseReader>(std::move(file), stat.size));
  }

  Result<void> Remove(const Digest& digest) override { return loose_->Remove(digest); }

 private:
  FileBlobStore(const std::string& folder, os::FileLock lock) : lock_(std::move(lock)), incoming_(os::JoinPath(folder, "incoming")) {}

  // The size of a blob that is here.
  Result<std::optional<uint64_t>> SizeOf(const Digest& digest) {
    TRY(auto packed, packs_->Find(digest));
    if (packed) return std::optional<uint64_t>(packed->raw);
    if (!loose_->Has(digest)) return std::optional<uint64_t>();
    TRY(os::Fd file, loose_->File(digest));
    TRY(os::Stat stat, os::StatFd(file));
    return std::optional<uint64_t>(stat.size);
  }

  const os::FileLock lock_;
  const std::string incoming_;
  std::atomic<uint64_t> next_upload_{1};
  std::unique_ptr<Packs> packs_;
  std::unique_ptr<Loose> loose_;
};

}  // namespace

Result<std::unique_ptr<BlobStore>> OpenFileBlobStore(std::string folder) { return FileBlobStore::Open(std::move(folder)); }

}  // namespace ferry::blob
