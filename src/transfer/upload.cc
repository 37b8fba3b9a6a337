#include "transfer/upload.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "blob/pack.h"
#include "os/file.h"

namespace ferry::transfer {
namespace {

constexpr size_t kDigestsPerRequest = 100000;
constexpr uint64_t kPackBytes = 256u << 20;  // raw, in one request: what a lost connection can cost
constexpr uint64_t kPart = 8u << 20;         // of a large file, in one request
constexpr uint64_t kInline = 1u << 20;       // below this no thread is worth its start

// Of files with the same content the first, where the server lacks it.
Result<std::vector<File>> Lacking(const Link& link, const std::vector<File>& files) {
  std::unordered_set<Digest> wanted, missing;
  std::vector<const File*> unique;
  for (const File& file : files)
    if (wanted.insert(file.digest).second) unique.push_back(&file);
  for (size_t at = 0; at < unique.size(); at += kDigestsPerRequest) {
    Json::Array list;
    for (size_t i = at; i < std::min(unique.size(), at + kDigestsPerRequest); ++i) list.emplace_back(unique[i]->digest.Hex());
    TRY(Json answer, Ask(link, "POST", "/missing", Json::MakeObject({{"digests", std::move(list)}})));
    for (const std::string& hex : answer.GetStrings("missing"))
      if (auto digest = Digest::FromHex(hex)) missing.insert(*digest);
  }
  std::vector<File> lacking;
  for (const File* file : unique)
    if (missing.contains(file->digest)) lacking.push_back(*file);
  return lacking;
}

class Sender {
 public:
  Sender(const Link& link, const UploadOptions& options, const std::vector<File>& files) : link_(link), options_(options) {
    progress_.all_files = files.size();
    for (const File& file : files) progress_.all_bytes += file.size;
  }

  // One request with these files, all small, and `last` behind them.
  Result<void> SendPack(std::span<const File> files, const std::string* last) {
    uint64_t bytes = 0;
    for (const File& file : files) bytes += file.size;
    Packer packer(files, bytes < kInline ? 0 : options_.threads, options_.leave_out_changed);
    bool last_sent = last == nullptr;
    http::Call call;
    call.method = "POST";
    call.path = link_.blobs + "/pack";
    call.headers.emplace_back("Content-Type", "application/octet-stream");
    const UploadProgress before = progress_;
    call.body_source = [&]() -> Result<std::string> {
      TRY(std::string piece, packer.Next());
      if (piece.empty() && !last_sent) {
        last_sent = true;
        blob::AppendRecord(piece, HashBytes(*last), *last);
      }
      progress_.files = before.files + packer.files();
      progress_.bytes = before.bytes + packer.bytes();
      Tell();
      return piece;
    };
    TRY([[maybe_unused]] http::Reply reply, link_.exchange(std::move(call)));
    for (const Digest& digest : packer.TakeChanged()) left_out_.insert(digest);
    return {};
  }

  // A file or text of any size in pieces; goes on where an earlier try ended.
  Result<void> SendParts(const Digest& digest, uint64_t size, const std::function<Result<std::string>(uint64_t offset, size_t limit)>& read) {
    const std::string path = "/" + digest.Hex();
    TRY(uint64_t at, Arrived(path, size));
    progress_.bytes += at;
    Tell();
    bool asked_again = false;
    while (at < size) {
      TRY(std::string part, read(at, static_cast<size_t>(std::min(kPart, size - at))));
      http::Call call;
      call.method = "PUT";
      call.path = StrCat(link_.blobs, path, "/parts?offset=", at);
      call.headers.emplace_back("Content-Type", "application/octet-stream");
      const size_t sent = part.size();
      call.body = std::move(part);
      auto reply = link_.exchange(std::move(call));
      if (!reply.ok() && reply.error().code == Code::kConflict && !asked_again) {
        // Somebody else sends the same file; the server knows how far it is.
        asked_again = true;
        TRY(at, Arrived(path, size));
        continue;
      }
      if (!reply.ok()) return reply.error();
      at += sent;
      progress_.bytes += sent;
      Tell();
    }
    TRY([[maybe_unused]] Json done, Ask(link_, "POST", path + "/finish", Json::MakeObject({{"size", size}})));
    return {};
  }

  Result<void> SendLarge(const File& file) {
    auto sent = SendUnchanged(file);
    ++progress_.files;
    if (sent.ok() || !options_.leave_out_changed || sent.error().slug != "upload.changed") return sent;
    left_out_.insert(file.digest);
    return {};
  }

  std::unordered_set<Digest> TakeLeftOut() { return std::move(left_out_); }

 private:
  Result<uint64_t> Arrived(const std::string& path, uint64_t size) {
    TRY(Json there, Ask(link_, "GET", path + "/parts"));
    return std::min<uint64_t>(size, static_cast<uint64_t>(std::max<int64_t>(0, there.GetInt("size"))));
  }

  Result<void> SendUnchanged(const File& file) {
    auto fd = os::Open(file.path, os::OpenMode::kRead);
    if (!fd.ok()) return fd.error().code == Code::kNotFound ? ChangedError(file) : fd.error();
    auto sent = SendParts(file.digest, file.size, [&](uint64_t offset, size_t limit) -> Result<std::string> {
      TRY(std::string bytes, os::ReadAt(*fd, offset, limit, file.path));
      if (bytes.size() != limit) return ChangedError(file);
      return bytes;
    });
    if (sent.ok() || sent.error().slug != "blob.corrupt") return sent;
    // The server refused what it got: either the file is another now, or what was there before was.
    TRY(Digest now, os::HashFile(file.path));
    return now == file.digest ? sent : ChangedError(file);
  }

  void Tell() {
    if (options_.on_progress) options_.on_progress(progress_);
  }

  const Link& link_;
  const UploadOptions& options_;
  UploadProgress progress_;
  std::unordered_set<Digest> left_out_;
};

}  // namespace

Result<std::unordered_set<Digest>> Upload(const Link& link, const std::vector<File>& files, const UploadOptions& options) {
  TRY(auto lacking, Lacking(link, files));
  Sender sender(link, options, lacking);
  // In the order given, so that they are read from the disk as they lie there.
  const auto small = std::stable_partition(lacking.begin(), lacking.end(), [](const File& file) { return file.size > blob::kMaxPacked; });
  for (const File& file : std::span(lacking.begin(), small)) TRY_VOID(sender.SendLarge(file));

  const bool last_fits = options.last && options.last->size() <= blob::kMaxPacked;
  for (auto begin = small;;) {
    uint64_t bytes = 0;
    auto end = begin;
    while (end != lacking.end() && (end == begin || bytes + end->size <= kPackBytes)) bytes += (end++)->size;
    const bool with_last = end == lacking.end() && last_fits;
    if (end != begin || with_last) TRY_VOID(sender.SendPack(std::span(begin, end), with_last ? options.last : nullptr));
    if (end == lacking.end()) break;
    begin = end;
  }
  if (options.last && !last_fits) {
    const std::string& last = *options.last;
    TRY_VOID(sender.SendParts(HashBytes(last), last.size(), [&](uint64_t offset, size_t limit) -> Result<std::string> { return last.substr(offset, limit); }));
  }
  return sender.TakeLeftOut();
}

}  // namespace ferry::transfer
