// Blobs and artifacts: bytes in and out, in ranges and streams.
#include "base/text.h"
#include "blob/pack.h"
#include "engine/tables.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

constexpr size_t kPiece = 1u << 20;

Result<Digest> DigestOf(const std::string& hex) {
  auto digest = Digest::FromHex(hex);
  if (!digest) return MakeError(Code::kInvalid, "blob.digest", StrCat("'", hex.substr(0, 80), "' is no digest: expected 64 lower-case hex digits"), "digest");
  return *digest;
}

Result<std::vector<Digest>> DigestsOf(const Call& call) {
  TRY(Json body, BodyObject(call));
  const Json* list = body.Find("digests");
  if (!list || !list->is_array()) return MakeError(Code::kInvalid, "blob.digests", "digests must be a list of digests", "digests");
  std::vector<Digest> digests;
  digests.reserve(list->as_array().size());
  for (const Json& item : list->as_array()) {
    TRY(Digest digest, DigestOf(item.is_string() ? item.as_string() : std::string()));
    digests.push_back(digest);
  }
  if (digests.size() > 500'000) return MakeError(Code::kTooLarge, "blob.digests", "at most 500,000 digests in one request", "digests");
  return digests;
}

// Writes pieces until the reader is slow, and goes on when it has drained. The stream holds it through its callback until the last piece is written.
class Pump : public std::enable_shared_from_this<Pump> {
 public:
  using Next = std::function<Result<std::string>()>;  // empty: the end
  // With `workers` the pieces come from there: they may be waited for.
  Pump(std::shared_ptr<http::Stream> stream, Next next, Workers* workers = nullptr) : stream_(std::move(stream)), next_(std::move(next)), workers_(workers) {}
  void Start() {
    if (Go()) stream_->OnDrained([self = shared_from_this()] { self->Drained(); });
  }

 private:
  void Drained() {
    if (!workers_) {
      Go();
      return;
    }
    {
      std::lock_guard lock(mutex_);
      again_ = true;
      if (std::exchange(going_, true)) return;
    }
    if (!workers_->PostMore([self = shared_from_this()] { self->GoOn(); })) Abort();
  }
  void GoOn() {
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        if (!std::exchange(again_, false)) {
          going_ = false;
          return;
        }
      }
      Go();
    }
  }
  void Abort() {
    if (stream_) stream_->Abort();
    stream_.reset();
  }
  // True while there is more to come.
  bool Go() {
    if (!stream_) return false;
    // A piece of a pack may be larger than kPiece by the largest blob in it, and all that waits must fit into the stream's buffer.
    while (stream_->Pending() < 2 * kPiece) {
      auto piece = next_();
      const bool end = piece.ok() && piece->empty();
      if (!end && piece.ok() && stream_->Write(std::move(*piece))) continue;
      // Once the headers have left, an error can only cut the answer off.
      if (!end) stream_->Abort();
      stream_.reset();
      return false;
    }
    return true;
  }

  std::shared_ptr<http::Stream> stream_;
  Next next_;
  Workers* workers_;
  std::mutex mutex_;
  bool going_ = false;
  bool again_ = false;
};

struct Range {
  uint64_t first = 0;
  uint64_t length = 0;
  bool partial = false;
};

// "bytes=a-b", "bytes=a-", "bytes=-n"; anything else is the whole.
Result<Range> RangeOf(const Call& call, uint64_t size) {
  Range range{0, size, false};
  std::string header = call.head.Header("range");
  if (header.compare(0, 6, "bytes=") != 0 || header.find(',') != std::string::npos) return range;
  std::string_view text = std::string_view(header).substr(6);
  size_t dash = text.find('-');
  if (dash == std::string_view::npos) return range;
  auto first = ParseInt(text.substr(0, dash)), last = ParseInt(text.substr(dash + 1));
  Error bad = MakeError(Code::kInvalid, "range.unsatisfiable", StrCat("the range '", header, "' lies outside of ", size, " bytes"), "range");
  if (!first && last) {
    if (*last <= 0) return bad;
    uint64_t n = std::min<uint64_t>(static_cast<uint64_t>(*last), size);
    return Range{size - n, n, true};
  }
  if (!first || *first < 0) return range;
  auto begin = static_cast<uint64_t>(*first);
  if (begin >= size || (last && *last < *first)) return bad;
  uint64_t end = last ? std::min<uint64_t>(static_cast<uint64_t>(*last), size - 1) : size - 1;
  return Range{begin, end - begin + 1, true};
}

// Exactly so many bytes, or an error: a blob that is shorter on the disk than it was must not look whole.
Result<std::string> ReadWhole(blob::Reader& reader, uint64_t offset, uint64_t size) {
  TRY(std::string bytes, reader.Read(offset, size));
  if (bytes.size() != size) return MakeError(Code::kInternal, "blob.damaged", "the blob is shorter on the disk than it should be");
  return bytes;
}

}  // namespace

void SendBlob(const Parts& parts, const Call& call, const http::Responder& responder, const Digest& digest, const std::string& name) {
  auto reader = parts.blobs.Open(digest);
  if (!reader.ok()) return Answer(responder, reader.error());
  SendBytes(call, responder, std::move(*reader), digest.Hex(), name, nullptr);
}

Result<std::string> KeepBytes(const Parts& parts, std::string_view bytes) {
  Digest digest = HashBytes(bytes);
  TRY(auto has, parts.blobs.Has(std::span(&digest, 1)));
  if (!has[0]) {
    std::string pack(blob::kPackMagic);
    blob::AppendRecord(pack, digest, bytes);
    TRY(auto sink, parts.blobs.AddPack());
    TRY_VOID(sink->Write(pack));
    TRY([[maybe_unused]] size_t added, sink->Finish());
  }
  return digest.Hex();
}

namespace {

class PackUpload : public http::BodySink {
 public:
  explicit PackUpload(Result<std::unique_ptr<blob::PackSink>> sink) : sink_(std::move(sink)) {}
  Result<void> Write(std::string_view bytes) override {
    if (!sink_.ok()) return sink_.error();
    return (*sink_)->Write(bytes);
  }
  void Finish(http::Responder responder) override {
    if (!sink_.ok()) return Answer(responder, sink_.error());
    auto added = (*sink_)->Finish();
    Answer(responder, added.ok() ? Result<Json>(Json::MakeObject({{"added", *added}})) : Result<Json>(added.error()));
  }

 private:
  Result<std::unique_ptr<blob::PackSink>> sink_;
};

class PartUpload : public http::BodySink {
 public:
  PartUpload(blob::BlobStore& blobs, Result<Digest> digest, Result<int64_t> offset) : blobs_(blobs), digest_(std::move(digest)), offset_(std::move(offset)) {}
  Result<void> Write(std::string_view bytes) override {
    if (!digest_.ok()) return digest_.error();
    if (!offset_.ok()) return offset_.error();
    buffer_.append(bytes);
    return buffer_.size() >= kPiece ? Flush() : Result<void>();
  }
  void Finish(http::Responder responder) override {
    auto done = [&]() -> Result<Json> {
      if (!digest_.ok()) return digest_.error();
      if (!offset_.ok()) return offset_.error();
      TRY_VOID(Flush());
      return Json::MakeObject({{"size", *offset_}});
    };
    Answer(responder, done());
  }
  // What arrived before a cut stays, so that the upload can go on there.
  ~PartUpload() override {
    if (digest_.ok() && offset_.ok() && !buffer_.empty()) (void)Flush();
  }

 private:
  Result<void> Flush() {
    if (buffer_.empty()) return {};
    std::string bytes = std::exchange(buffer_, {});
    TRY_VOID(blobs_.AddPart(*digest_, static_cast<uint64_t>(*offset_), bytes));
    *offset_ += static_cast<int64_t>(bytes.size());
    return {};
  }
  blob::BlobStore& blobs_;
  Result<Digest> digest_;
  Result<int64_t> offset_;
  std::string buffer_;
};

}  // namespace

void SendBytes(const Call& call, const http::Responder& responder, std::shared_ptr<blob::Reader> reader, const std::string& etag, const std::string& name,
               Workers* workers) {
  uint64_t size = reader->size();
  auto range = RangeOf(call, size);
  if (!range.ok()) {
    auto response = ErrorResponse(range.error());
    response.status = 416;
    response.headers.emplace_back("content-range", StrCat("bytes */", size));
    return responder.Send(std::move(response));
  }
  std::vector<std::pair<std::string, std::string>> headers = {
      {"content-type", "application/octet-stream"}, {"accept-ranges", "bytes"}, {"x-content-type-options", "nosniff"}, {"content-security-policy", "sandbox"}};
  if (!etag.empty()) headers.emplace_back("etag", StrCat("\"", etag, "\""));
  if (!name.empty()) headers.emplace_back("content-disposition", StrCat("attachment; filename*=UTF-8''", EncodePercent(name.substr(name.rfind('/') + 1))));
  if (range->partial) headers.emplace_back("content-range", StrCat("bytes ", range->first, "-", range->first + range->length - 1, "/", size));
  int status = range->partial ? 206 : 200;
  if (range->length <= 4 * kPiece) {
    auto bytes = ReadWhole(*reader, range->first, range->length);
    if (!bytes.ok()) return Answer(responder, bytes.error());
    return responder.Send({status, std::move(headers), std::move(*bytes)});
  }
  headers.emplace_back("ferry-length", StrCat(range->length));
  auto next = [reader, at = range->first, end = range->first + range->length]() mutable -> Result<std::string> {
    if (at >= end) return std::string();
    TRY(std::string bytes, ReadWhole(*reader, at, std::min<uint64_t>(kPiece, end - at)));
    at += bytes.size();
    return bytes;
  };
  std::make_shared<Pump>(responder.Begin(status, std::move(headers)), std::move(next), workers)->Start();
}

void MissingBlobs(const Parts& parts, Call call, http::Responder responder) {
  auto find = [&]() -> Result<Json> {
    TRY(auto digests, DigestsOf(call));
    TRY(auto has, parts.blobs.Has(digests));
    Json missing = Json::MakeArray();
    for (size_t i = 0; i < digests.size(); ++i)
      if (!has[i]) missing.Push(digests[i].Hex());
    return Json::MakeObject({{"missing", std::move(missing)}});
  };
  Answer(responder, find());
}

std::unique_ptr<http::BodySink> PackBlobs(const Parts& parts, const Call&) { return std::make_unique<PackUpload>(parts.blobs.AddPack()); }

std::unique_ptr<http::BodySink> AddBlobPart(const Parts& parts, const Call& call) {
  return std::make_unique<PartUpload>(parts.blobs, DigestOf(call.params.at("digest")), IntParameter(call, "offset", 0, 0, INT64_MAX / 2));
}

void FetchBlobs(const Parts& parts, Call call, http::Responder responder) {
  auto digests = DigestsOf(call);
  if (!digests.ok()) return Answer(responder, digests.error());
  auto has = parts.blobs.Has(*digests);
  if (!has.ok()) return Answer(responder, has.error());
  for (size_t i = 0; i < digests->size(); ++i)
    if (!(*has)[i]) return Answer(responder, MakeError(Code::kNotFound, "blob.not_found", StrCat("there is no blob ", (*digests)[i].Hex()), "digests"));
  // Uncompressed for readers on the same machine, who would only undo it.
  bool plain = call.head.Query("plain") == "1";
  auto next = [&blobs = parts.blobs, digests = std::move(*digests), plain, at = size_t{0}]() mutable -> Result<std::string> {
    if (at > digests.size()) return std::string();
    std::string out;
    if (at == 0) out = blob::kPackMagic;
    while (at < digests.size() && out.size() < kPiece) {
      TRY(auto reader, blobs.Open(digests[at]));
      if (reader->size() > blob::kMaxPacked)
        return MakeError(Code::kTooLarge, "blob.too_large", StrCat("blob ", digests[at].Hex(), " is too large for a pack"));
      TRY(std::string raw, reader->Read(0, reader->size()));
      if (plain) {
        out.append(digests[at].Raw());
        for (int copy = 0; copy < 2; ++copy)
          for (int byte = 0; byte < 4; ++byte) out += static_cast<char>((raw.size() >> (8 * byte)) & 0xFF);
        out += raw;
      } else {
        blob::AppendRecord(out, digests[at], raw);
      }
      ++at;
    }
    if (at == digests.size()) ++at;
    return out;
  };
  std::make_shared<Pump>(responder.Begin(200, {{"content-type", "application/octet-stream"}}), std::move(next))->Start();
}

void ReadBlob(const Parts& parts, Call call, http::Responder responder) {
  auto digest = DigestOf(call.params["digest"]);
  if (!digest.ok()) return Answer(responder, digest.error());
  SendBlob(parts, call, responder, *digest, {});
}

void PartialBlob(const Parts& parts, Call call, http::Responder responder) {
  auto ask = [&]() -> Result<Json> {
    TRY(Digest digest, DigestOf(call.params["digest"]));
    TRY(uint64_t size, parts.blobs.Partial(digest));
    return Json::MakeObject({{"size", size}});
  };
  Answer(responder, ask());
}

void FinishBlob(const Parts& parts, Call call, http::Responder responder) {
  auto finish = [&]() -> Result<Json> {
    TRY(Digest digest, DigestOf(call.params["digest"]));
    TRY(Json body, BodyObject(call));
    const Json* size = body.Find("size");
    if (!size || !size->is_int() || size->as_int() < 0) return MakeError(Code::kInvalid, "blob.size", "size must be the blob's size in bytes", "size");
    TRY_VOID(parts.blobs.FinishParts(digest, static_cast<uint64_t>(size->as_int())));
    return Json::MakeObject({{"digest", digest.Hex()}, {"size", *size}});
  };
  Answer(responder, finish());
}

Json ArtifactView(Json artifact) {
  artifact.Erase("run");
  artifact.Set("time", FormatTime(Time{artifact.GetInt("time")}));
  return artifact;
}

void ListArtifacts(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(model::Run run, LoadRun(parts, call.params["id"]));
    TRY(int64_t limit, IntParameter(call, "limit", 1000, 1, 10000));
    store::Query query{"artifact", {{{"", "run"}, store::Op::kEq, {run.id}}}, {{"", "key"}, false}, call.head.Query("cursor"), static_cast<size_t>(limit)};
    if (std::string prefix = call.head.Query("prefix"); !prefix.empty())
      query.where.push_back({{"", "key"}, store::Op::kPrefix, {StrCat(run.id, "/", prefix)}});
    TRY(store::Page page, parts.store.Find(query));
    Json artifacts = Json::MakeArray();
    for (const store::Document& document : page.documents) {
      TRY(Json json, ParseJson(document.body, "an artifact in the store"));
      artifacts.Push(ArtifactView(std::move(json)));
    }
    return Json::MakeObject({{"artifacts", std::move(artifacts)}, {"next", page.next.empty() ? Json() : Json(page.next)}});
  };
  Answer(responder, list());
}

void ReadArtifact(const Parts& parts, Call call, http::Responder responder) {
  const std::string& run = call.params["id"];
  const std::string& path = call.params["path"];
  auto document = parts.store.Get("artifact", StrCat(run, "/", path));
  if (!document.ok()) return Answer(responder, document.error());
  if (!*document) {
    auto known = LoadRun(parts, run);
    return Answer(responder, known.ok()
                                 ? MakeError(Code::kNotFound, "artifact.not_found", StrCat("run '", run, "' has no file '", path.substr(0, 300), "'"), "path")
                                 : known.error());
  }
  auto json = ParseJson((*document)->body, "an artifact in the store");
  auto artifact = json.ok() ? engine::ArtifactFromJson(*json) : Result<engine::Artifact>(json.error());
  if (!artifact.ok()) return Answer(responder, artifact.error());
  SendBlob(parts, call, responder, artifact->digest, path);
}

}  // namespace ferry::rest
