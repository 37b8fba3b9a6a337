#include "cli/upload.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "blob/pack.h"
#include "cli/packer.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::cli {
namespace {

constexpr size_t kDigestsPerRequest = 100000;
constexpr uint64_t kPackBytes = 256u << 20;  // raw, in one request: what a lost connection can cost
constexpr uint64_t kPart = 8u << 20;         // of a large file, in one request
constexpr uint64_t kInline = 1u << 20;       // below this no thread is worth its start

// The digests the server lacks of those given.
Result<std::unordered_set<Digest>> AskMissing(Session& session, const std::vector<Digest>& digests) {
  std::unordered_set<Digest> missing;
  for (size_t at = 0; at < digests.size(); at += kDigestsPerRequest) {
    Json::Array list;
    for (size_t i = at; i < std::min(digests.size(), at + kDigestsPerRequest); ++i) list.emplace_back(digests[i].Hex());
    TRY(Json answer, session.Send("POST", "/api/v1/blobs/missing", Json::MakeObject({{"digests", std::move(list)}})));
    for (const std::string& hex : answer.GetStrings("missing"))
      if (auto digest = Digest::FromHex(hex)) missing.insert(*digest);
  }
  return missing;
}

class Upload {
 public:
  Upload(Session& session, const OnUpload& on_progress) : session_(session), on_progress_(on_progress) {}

  void Expect(const Missing& file) {
    ++progress_.all_files;
    progress_.all_bytes += file.size;
  }

  // One request with these files, all small, and `last` behind them.
  Result<void> SendPack(std::span<const Missing> files, const std::string* last, const Digest& last_digest) {
    uint64_t bytes = 0;
    for (const Missing& file : files) bytes += file.size;
    const unsigned threads = bytes < kInline ? 0 : std::min(2u, std::max(1u, os::CoreCount()));
    Packer packer(files, threads);
    bool last_sent = last == nullptr;
    http::Call call;
    call.method = "POST";
    call.path = "/api/v1/blobs/pack";
    call.headers.emplace_back("Content-Type", "application/octet-stream");
    const UploadProgress before = progress_;
    call.body_source = [&]() -> Result<std::string> {
      TRY(std::string piece, packer.Next());
      if (piece.empty() && !last_sent) {
        last_sent = true;
        blob::AppendRecord(piece, last_digest, *last);
      }
      progress_.files = before.files + packer.files();
      progress_.bytes = before.bytes + packer.bytes();
      Tell();
      return piece;
    };
    TRY([[maybe_unused]] http::Reply reply, session_.Do(std::move(call)));
    return {};
  }

  // A file or text of any size in pieces; goes on where an earlier try ended.
  Result<void> SendParts(const Digest& digest, uint64_t size, const std::function<Result<std::string>(uint64_t offset, size_t limit)>& read) {
    const std::string base = ApiPath({"blobs", digest.Hex()});
    TRY(Json there, session_.Get(base + "/parts"));
    uint64_t at = std::min<uint64_t>(size, static_cast<uint64_t>(std::max<int64_t>(0, there.GetInt("size"))));
    progress_.bytes += at;
    Tell();
    bool asked_again = false;
    while (at < size) {
      TRY(std::string part, read(at, static_cast<size_t>(std::min(kPart, size - at))));
      http::Call call;
      call.method = "PUT";
      call.path = StrCat(base, "/parts?offset=", at);
      call.headers.emplace_back("Content-Type", "application/octet-stream");
      const size_t sent = part.size();
      call.body = std::move(part);
      auto reply = session_.Do(std::move(call));
      if (!reply.ok() && reply.error().code == Code::kConflict && !asked_again) {
        // Somebody else sends the same file; the server knows how far it is.
        asked_again = true;
        TRY(there, session_.Get(base + "/parts"));
        at = std::min<uint64_t>(size, static_cast<uint64_t>(std::max<int64_t>(0, there.GetInt("size"))));
        continue;
      }
      if (!reply.ok()) return reply.error();
      at += sent;
      progress_.bytes += sent;
      Tell();
    }
    TRY([[maybe_unused]] Json done, session_.Send("POST", base + "/finish", Json::MakeObject({{"size", size}})));
    return {};
  }

  Result<void> SendLarge(const Missing& file) {
    auto fd = os::Open(file.path, os::OpenMode::kRead);
    if (!fd.ok()) return fd.error().code == Code::kNotFound ? ChangedError(file) : fd.error();
    auto sent = SendParts(file.digest, file.size, [&](uint64_t offset, size_t limit) -> Result<std::string> {
      TRY(std::string bytes, os::ReadAt(*fd, offset, limit, file.path));
      if (bytes.size() != limit) return ChangedError(file);
      return bytes;
    });
    ++progress_.files;
    if (sent.ok() || IsConnectionError(sent.error()) || sent.error().slug == "upload.changed") return sent;
    // The server refused what it got: either the file is another now, or the server has its reasons.
    TRY(Digest now, HashFile(*fd, file));
    return now == file.digest ? sent : ChangedError(file);
  }

 private:
  void Tell() {
    if (on_progress_) on_progress_(progress_);
  }

  static Result<Digest> HashFile(const os::Fd& fd, const Missing& file) {
    Sha256 hash;
    for (uint64_t at = 0;;) {
      TRY(std::string bytes, os::ReadAt(fd, at, 1u << 20, file.path));
      if (bytes.empty()) return hash.Finish();
      hash.Update(bytes);
      at += bytes.size();
    }
  }

  Session& session_;
  const OnUpload& on_progress_;
  UploadProgress progress_;
};

}  // namespace

Result<void> UploadSnapshot(Session& session, const std::string& folder, const snapshot::Manifest& manifest, const OnUpload& on_progress) {
  std::unordered_map<Digest, const snapshot::Entry*> files;
  std::vector<Digest> digests;
  for (const snapshot::Entry& entry : manifest.entries)
    if (entry.type == snapshot::Entry::Type::kFile && files.emplace(entry.digest, &entry).second) digests.push_back(entry.digest);
  TRY(auto lacking, AskMissing(session, digests));

  Upload upload(session, on_progress);
  std::vector<Missing> small, large;
  // In the order of the folder, so that they are read from the disk as they lie there.
  for (const Digest& digest : digests) {
    if (!lacking.contains(digest)) continue;
    const snapshot::Entry& entry = *files[digest];
    Missing file{digest, entry.size, os::JoinPath(folder, entry.path), entry.path};
    upload.Expect(file);
    (entry.size <= blob::kMaxPacked ? small : large).push_back(std::move(file));
  }
  for (const Missing& file : large) TRY_VOID(upload.SendLarge(file));

  const std::string text = manifest.Text();
  const Digest id = HashBytes(text);
  const bool manifest_fits = text.size() <= blob::kMaxPacked;
  size_t begin = 0;
  do {
    uint64_t bytes = 0;
    size_t end = begin;
    while (end < small.size() && (end == begin || bytes + small[end].size <= kPackBytes)) bytes += small[end++].size;
    const bool with_manifest = end == small.size() && manifest_fits;
    if (end > begin || with_manifest) TRY_VOID(upload.SendPack(std::span(small).subspan(begin, end - begin), with_manifest ? &text : nullptr, id));
    begin = end;
  } while (begin < small.size());
  if (manifest_fits) return {};
  return upload.SendParts(id, text.size(), [&](uint64_t offset, size_t limit) -> Result<std::string> { return text.substr(offset, limit); });
}

}  // namespace ferry::cli
