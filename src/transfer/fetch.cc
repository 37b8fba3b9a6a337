#include "transfer/fetch.h"

#include "base/text.h"
#include "blob/pack.h"

namespace ferry::transfer {
namespace {

// One request: so much is held in memory for each part of the folder that is being written.
constexpr uint64_t kBatchBytes = 8u << 20;
constexpr size_t kBatchCount = 1000;

}  // namespace

Result<snapshot::Manifest> FetchManifest(const Link& link, const Digest& id) {
  http::Call call;
  call.path = StrCat(link.blobs, "/", id.Hex());
  TRY(http::Reply reply, link.exchange(std::move(call)));
  if (HashBytes(reply.body) != id) return MakeError(Code::kInternal, "snapshot.corrupt", StrCat("snapshot ", id.Hex(), " arrived with another content"));
  return snapshot::Manifest::Parse(reply.body);
}

BatchFetch::BatchFetch(Link link, const snapshot::Manifest& manifest) : link_(std::move(link)) {
  uint64_t bytes = 0;
  for (const snapshot::Entry& entry : manifest.entries) {
    if (entry.type != snapshot::Entry::Type::kFile || entry.size == 0) continue;
    auto [at, fresh] = blobs_.try_emplace(entry.digest);
    ++at->second.wanted;
    if (!fresh) continue;
    at->second.large = entry.size > blob::kMaxPacked;
    if (at->second.large) continue;
    if (batches_.empty() || bytes + entry.size > kBatchBytes || batches_.back().size() == kBatchCount) {
      batches_.emplace_back();
      bytes = 0;
    }
    bytes += entry.size;
    batches_.back().push_back(entry.digest);
    at->second.batch = batches_.size() - 1;
  }
}

Result<void> BatchFetch::FetchBatch(size_t batch) {
  Json::Array list;
  for (const Digest& digest : batches_[batch])
    if (const Blob& blob = blobs_[digest]; !blob.here && blob.wanted > 0) list.emplace_back(digest.Hex());
  blob::PackParser parser([&](const Digest& digest, std::string_view raw, std::string_view) -> Result<void> {
    auto found = blobs_.find(digest);
    if (found == blobs_.end()) return {};
    found->second.content = raw;
    found->second.here = true;
    return {};
  });
  http::Call call;
  call.method = "POST";
  call.path = StrCat(link_.blobs, "/fetch", link_.near ? "?plain=1" : "");
  call.headers.emplace_back("Content-Type", "application/json");
  call.body = Json::MakeObject({{"digests", std::move(list)}}).Dump();
  call.body_sink = [&](std::string_view bytes) { return parser.Write(bytes); };
  TRY([[maybe_unused]] http::Reply reply, link_.exchange(std::move(call)));
  return parser.Finish();
}

Result<void> BatchFetch::Get(const Digest& digest, const std::function<Result<void>(std::string_view)>& write) {
  std::string content;
  {
    std::lock_guard lock(mutex_);
    auto found = blobs_.find(digest);
    if (found == blobs_.end()) return MakeError(Code::kNotFound, "blob.not_found", StrCat("blob ", digest.Hex(), " is not of this snapshot"));
    Blob& blob = found->second;
    if (blob.large) {
      http::Call call;
      call.path = StrCat(link_.blobs, "/", digest.Hex());
      call.body_sink = write;
      TRY([[maybe_unused]] http::Reply reply, link_.exchange(std::move(call)));
      return {};
    }
    if (!blob.here) TRY_VOID(FetchBatch(blob.batch));
    if (!blob.here) return MakeError(Code::kNotFound, "blob.not_found", StrCat("the server has not sent blob ", digest.Hex()));
    if (blob.wanted > 0) --blob.wanted;
    if (blob.wanted == 0) {
      content = std::move(blob.content);
      blob.content.clear();
      blob.here = false;
    } else {
      content = blob.content;
    }
  }
  return write(content);
}

}  // namespace ferry::transfer
