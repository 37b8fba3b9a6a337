#include "data/own/own_store.h"

#include "base/text.h"
#include "blob/pack.h"
#include "os/file.h"

namespace ferry::data {
namespace {

constexpr size_t kInMemory = 1u << 20;
constexpr size_t kPiece = 1u << 20;

FileInfo InfoOf(const model::FileRecord& file) { return {file.path, file.size, file.time, file.digest}; }

// Holds what arrives until its digest is known: in memory while it is small, then in a file.
class OwnWriter final : public Writer {
 public:
  OwnWriter(blob::BlobStore& blobs, const OwnSettings& settings, std::string path) : blobs_(blobs), settings_(settings), path_(std::move(path)) {}
  ~OwnWriter() override {
    if (!file_.empty()) (void)os::RemoveFile(file_);
  }

  Result<void> Write(std::string_view bytes) override {
    hash_.Update(bytes);
    size_ += bytes.size();
    if (!fd_) {
      memory_.append(bytes);
      if (memory_.size() <= kInMemory) return {};
      TRY_VOID(os::MakeFolders(settings_.scratch, 0700));
      file_ = os::JoinPath(settings_.scratch, StrCat("upload-", RandomHex(8)));
      TRY(fd_, os::Open(file_, os::OpenMode::kReadWrite, 0600));
      bytes = memory_;
    }
    TRY_VOID(os::WriteAll(fd_, bytes, file_));
    memory_.clear();
    return {};
  }

  Result<FileInfo> Finish(bool overwrite) override {
    Digest digest = hash_.Finish();
    TRY(std::vector<bool> has, blobs_.Has(std::span(&digest, 1)));
    if (!has[0]) TRY_VOID(fd_ ? AddLarge(digest) : AddSmall(digest));
    model::FileRecord file{settings_.workspace, settings_.datastore, path_, digest, size_, Now()};
    TRY_VOID(settings_.add({file}, overwrite));
    return InfoOf(file);
  }

 private:
  Result<void> AddSmall(const Digest& digest) {
    std::string pack(blob::kPackMagic);
    blob::AppendRecord(pack, digest, memory_);
    TRY(auto sink, blobs_.AddPack());
    TRY_VOID(sink->Write(pack));
    TRY(size_t added, sink->Finish());
    (void)added;
    return {};
  }
  Result<void> AddLarge(const Digest& digest) {
    TRY(uint64_t at, blobs_.Partial(digest));
    while (at < size_) {
      TRY(std::string piece, os::ReadAt(fd_, at, kPiece, file_));
      if (piece.empty()) return MakeError(Code::kInternal, "file.io", StrCat("'", path_, "' became shorter while it was kept"));
      TRY_VOID(blobs_.AddPart(digest, at, piece));
      at += piece.size();
    }
    return blobs_.FinishParts(digest, size_);
  }

  blob::BlobStore& blobs_;
  const OwnSettings settings_;
  const std::string path_;
  Sha256 hash_;
  uint64_t size_ = 0;
  std::string memory_;
  std::string file_;
  os::Fd fd_;
};

class OwnStore final : public FileStore {
 public:
  OwnStore(store::Store& store, blob::BlobStore& blobs, OwnSettings settings) : store_(store), blobs_(blobs), settings_(std::move(settings)) {}

  Result<std::vector<FileInfo>> List(const std::string& prefix, const std::string& after, size_t limit) override {
    store::Query query{"file", {{{"", "key"}, store::Op::kPrefix, {KeyOf(prefix)}}}, {{"", "key"}, false}, {}, limit};
    if (!after.empty()) query.where.push_back({{"", "key"}, store::Op::kGt, {KeyOf(after)}});
    TRY(store::Page page, store_.Find(query));
    std::vector<FileInfo> out;
    for (const store::Document& document : page.documents) {
      TRY(model::FileRecord file, Read(document));
      out.push_back(InfoOf(file));
    }
    return out;
  }

  Result<FileInfo> Stat(const std::string& path) override {
    TRY_VOID(CheckFilePath(path, "path"));
    TRY(auto document, store_.Get("file", KeyOf(path)));
    if (!document) return NoSuchFile(path);
    TRY(model::FileRecord file, Read(*document));
    return InfoOf(file);
  }

  Result<std::unique_ptr<Reader>> Open(const std::string& path) override {
    TRY(FileInfo file, Stat(path));
    return blobs_.Open(*file.digest);
  }

  Result<std::unique_ptr<Writer>> Create(const std::string& path) override {
    TRY_VOID(CheckFilePath(path, "path"));
    return std::unique_ptr<Writer>(std::make_unique<OwnWriter>(blobs_, settings_, path));
  }

 private:
  std::string KeyOf(const std::string& path) const { return StrCat(settings_.workspace, "/", settings_.datastore, "/", path); }
  static Result<model::FileRecord> Read(const store::Document& document) {
    TRY(Json json, ParseJson(document.body, "a file in the store"));
    return model::FileFromJson(json);
  }

  store::Store& store_;
  blob::BlobStore& blobs_;
  const OwnSettings settings_;
};

}  // namespace

std::unique_ptr<FileStore> OpenOwnStore(store::Store& store, blob::BlobStore& blobs, OwnSettings settings) {
  return std::make_unique<OwnStore>(store, blobs, std::move(settings));
}

}  // namespace ferry::data
