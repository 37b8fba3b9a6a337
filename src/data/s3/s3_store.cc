#include "data/s3/s3_store.h"

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "data/s3/answer.h"
#include "data/s3/sign.h"
#include "http/client.h"
#include "os/file.h"

namespace ferry::data {
namespace {

constexpr int kTries = 4;
constexpr uint64_t kPart = 16u << 20;
constexpr uint64_t kMostParts = 9'000;
constexpr size_t kReadAhead = 8u << 20;
constexpr size_t kPageSize = 1000;

struct Ask {
  std::string method = "GET";
  std::string key;  // whole, within the bucket; empty: the bucket itself
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;
  std::string_view body;
};

// One bucket. Safe from several threads: each exchange has a connection of its own.
class Bucket {
 public:
  explicit Bucket(S3Settings settings) : settings_(std::move(settings)) {}
  const S3Settings& settings() const { return settings_; }

  std::string KeyOf(const std::string& path) const { return settings_.prefix.empty() ? path : StrCat(settings_.prefix, "/", path); }

  // A reply of status 2xx. What may work later is tried again: every request here can be.
  Result<http::Reply> Do(const Ask& ask) const {
    std::chrono::milliseconds backoff(100);
    for (int i = 1;; ++i) {
      auto reply = Once(ask);
      if (reply.ok() && reply->status / 100 == 2) return reply;
      Error error = reply.ok()
                        ? ErrorOf(ask, *reply)
                        : MakeError(Code::kUnavailable, "s3.unreachable", StrCat("the S3 service cannot be reached: ", reply.error().message), "endpoint");
      if (error.code != Code::kUnavailable || i == kTries) return error;
      std::this_thread::sleep_for(backoff);
      backoff *= 2;
    }
  }

 private:
  Result<http::Reply> Once(const Ask& ask) const {
    http::ClientSettings client_settings;
    client_settings.base = settings_.endpoint;
    client_settings.io_timeout = std::chrono::seconds(30);
    http::Client client(client_settings);
    S3Request request{ask.method, EncodePath(StrCat("/", settings_.bucket, ask.key.empty() ? "" : "/", ask.key)), ask.query, ask.headers, {}};
    http::Call call;
    call.method = ask.method;
    call.path = request.path;
    if (!ask.query.empty()) call.path += StrCat("?", EncodeQuery(ask.query));
    call.body = std::string(ask.body);
    if (!settings_.access_key.empty()) {
      Time now = Now();
      request.payload_hash = HashBytes(ask.body).Hex();
      request.headers["host"] = settings_.endpoint.substr(settings_.endpoint.find("//") + 2);
      request.headers["x-amz-content-sha256"] = request.payload_hash;
      request.headers["x-amz-date"] = S3Date(now);
      std::string signature = Sign(request, {settings_.access_key, settings_.secret_key, settings_.region}, now);
      call.headers.emplace_back("Authorization", signature);
    }
    for (const auto& [name, value] : request.headers)
      if (name != "host") call.headers.emplace_back(name, value);
    return client.Do(call);
  }

  Error ErrorOf(const Ask& ask, const http::Reply& reply) const {
    std::string code = Element(reply.body, "Code").value_or(StrCat("status ", reply.status)), said = Element(reply.body, "Message").value_or("");
    std::string message = StrCat("the S3 service answered ", code.substr(0, 100), said.empty() ? "" : ": ", said.substr(0, 300), " (", ask.method,
                                 " in bucket '", settings_.bucket, "')");
    if (reply.status == 404 && (ask.key.empty() || code == "NoSuchBucket")) return MakeError(Code::kNotFound, "s3.bucket", message, "bucket");
    if (reply.status == 404) return MakeError(Code::kNotFound, "s3.no_key", message);
    if (reply.status == 401 || reply.status == 403) return MakeError(Code::kForbidden, "s3.denied", message, "access_key");
    if (reply.status == 412) return MakeError(Code::kConflict, "file.changed", "the file was changed while it was read");
    if (reply.status >= 500 || reply.status == 429) return MakeError(Code::kUnavailable, "s3.unreachable", message, "endpoint");
    return MakeError(Code::kInvalid, "s3.refused", message, "endpoint");
  }

  const S3Settings settings_;
};

struct Head {
  uint64_t size = 0;
  Time modified;
  std::string etag;
};

Result<Head> LookAt(const Bucket& bucket, const std::string& path) {
  auto reply = bucket.Do({"HEAD", bucket.KeyOf(path), {}, {}, {}});
  if (!reply.ok() && reply.error().slug == "s3.no_key") return NoSuchFile(path);
  if (!reply.ok()) return reply.error();
  auto header = [&](const char* name) {
    auto it = reply->headers.find(name);
    return it == reply->headers.end() ? std::string() : it->second;
  };
  auto size = ParseInt(header("content-length"));
  if (!size || *size < 0) return MakeError(Code::kInternal, "s3.answer", "the S3 service does not say how large a file is");
  return Head{static_cast<uint64_t>(*size), ReadHttpDate(header("last-modified")), header("etag")};
}

// Ranges, some megabytes at a time, of what the file was when it was opened.
class S3Reader final : public Reader {
 public:
  S3Reader(std::shared_ptr<const Bucket> bucket, std::string path, Head head) : bucket_(std::move(bucket)), path_(std::move(path)), head_(std::move(head)) {}
  uint64_t size() const override { return head_.size; }
  Result<std::string> Read(uint64_t offset, size_t limit) override {
    if (offset >= head_.size || limit == 0) return std::string();
    if (offset < at_ || offset >= at_ + ahead_.size()) {
      uint64_t last = std::min<uint64_t>(head_.size, offset + std::max(limit, kReadAhead)) - 1;
      Ask ask{"GET", bucket_->KeyOf(path_), {}, {{"range", StrCat("bytes=", offset, "-", last)}}, {}};
      if (!head_.etag.empty()) ask.headers["if-match"] = head_.etag;
      TRY(http::Reply reply, bucket_->Do(ask));
      // A service that knows no ranges sends it whole.
      if (reply.status == 200) reply.body = offset < reply.body.size() ? reply.body.substr(offset, last - offset + 1) : std::string();
      if (reply.body.size() != last - offset + 1)
        return MakeError(Code::kUnavailable, "s3.unreachable", "the S3 service sent less of a file than was asked for");
      ahead_ = std::move(reply.body);
      at_ = offset;
    }
    return ahead_.substr(offset - at_, limit);
  }

 private:
  const std::shared_ptr<const Bucket> bucket_;
  const std::string path_;
  const Head head_;
  uint64_t at_ = 0;
  std::string ahead_;
};

// Waits in a file until it is whole: S3 wants to know sizes and hashes first.
class S3Writer final : public Writer {
 public:
  S3Writer(std::shared_ptr<const Bucket> bucket, std::string path) : bucket_(std::move(bucket)), path_(std::move(path)) {}
  ~S3Writer() override {
    if (!file_.empty()) (void)os::RemoveFile(file_);
  }

  Result<void> Write(std::string_view bytes) override {
    if (!fd_) {
      const std::string& scratch = bucket_->settings().scratch;
      TRY_VOID(os::MakeFolders(scratch, 0700));
      file_ = os::JoinPath(scratch, StrCat("upload-", RandomHex(8)));
      TRY(fd_, os::Open(file_, os::OpenMode::kReadWrite, 0600));
    }
    size_ += bytes.size();
    return os::WriteAll(fd_, bytes, file_);
  }

  Result<FileInfo> Finish(bool overwrite) override {
    if (!overwrite) {
      auto there = LookAt(*bucket_, path_);
      if (there.ok()) return FileExists(path_);
      if (there.error().code != Code::kNotFound || there.error().slug == "s3.bucket") return there.error();
    }
    if (size_ <= kPart) {
      std::string body;
      if (fd_) {
        TRY(body, os::ReadAt(fd_, 0, kPart, file_));
      }
      TRY(http::Reply put, bucket_->Do({"PUT", bucket_->KeyOf(path_), {}, {}, body}));
    } else {
      TRY_VOID(InParts());
    }
    return FileInfo{path_, size_, Now(), {}};
  }

 private:
  Result<void> InParts() {
    std::string key = bucket_->KeyOf(path_);
    TRY(http::Reply begun, bucket_->Do({"POST", key, {{"uploads", ""}}, {}, {}}));
    auto upload = Element(begun.body, "UploadId");
    if (!upload) return MakeError(Code::kInternal, "s3.answer", "the S3 service began an upload and did not name it");
    auto sent = SendParts(key, *upload);
    // What was begun and not ended costs its owner money.
    if (!sent.ok()) (void)bucket_->Do({"DELETE", key, {{"uploadId", *upload}}, {}, {}});
    return sent;
  }

  Result<void> SendParts(const std::string& key, const std::string& upload) {
    const uint64_t part = std::max(kPart, (size_ / kMostParts / kPart + 1) * kPart);
    std::string list = "<CompleteMultipartUpload>";
    int number = 0;
    for (uint64_t at = 0; at < size_; at += part) {
      TRY(std::string body, os::ReadAt(fd_, at, part, file_));
      if (body.size() != std::min(part, size_ - at)) return MakeError(Code::kInternal, "file.io", StrCat("'", path_, "' became shorter while it was kept"));
      ++number;
      TRY(http::Reply put, bucket_->Do({"PUT", key, {{"partNumber", std::to_string(number)}, {"uploadId", upload}}, {}, body}));
      auto etag = put.headers.find("etag");
      if (etag == put.headers.end()) return MakeError(Code::kInternal, "s3.answer", "the S3 service took a part and did not name it");
      list += StrCat("<Part><PartNumber>", number, "</PartNumber><ETag>", etag->second, "</ETag></Part>");
    }
    list += "</CompleteMultipartUpload>";
    TRY(http::Reply done, bucket_->Do({"POST", key, {{"uploadId", upload}}, {}, list}));
    // It answers 200 before it knows.
    if (auto code = Element(done.body, "Code"); code && done.body.find("<Error>") != std::string::npos)
      return MakeError(Code::kUnavailable, "s3.unreachable", StrCat("the S3 service could not put the parts together: ", *code));
    return {};
  }

  const std::shared_ptr<const Bucket> bucket_;
  const std::string path_;
  std::string file_;
  os::Fd fd_;
  uint64_t size_ = 0;
};

class S3Store final : public FileStore {
 public:
  explicit S3Store(S3Settings settings) : bucket_(std::make_shared<const Bucket>(std::move(settings))) {}

  Result<std::vector<FileInfo>> List(const std::string& prefix, const std::string& after, size_t limit) override {
    std::vector<FileInfo> out;
    const std::string root = bucket_->KeyOf("");
    Ask ask;
    ask.query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", root + prefix}, {"max-keys", std::to_string(std::min(limit, kPageSize))}};
    if (!after.empty()) ask.query["start-after"] = root + after;
    for (;;) {
      TRY(http::Reply reply, bucket_->Do(ask));
      TRY(S3Page page, ReadPage(reply.body));
      for (S3Object& object : page.objects) {
        if (!object.key.starts_with(root) || object.key.size() == root.size()) continue;
        std::string path = object.key.substr(root.size());
        // What stands for a folder, and keys that can be no path.
        if (!CheckFilePath(path, "path").ok()) continue;
        out.push_back({std::move(path), object.size, object.modified, {}});
        if (out.size() == limit) return out;
      }
      if (page.next.empty()) return out;
      ask.query.erase("start-after");
      ask.query["continuation-token"] = page.next;
    }
  }

  Result<FileInfo> Stat(const std::string& path) override {
    TRY_VOID(CheckFilePath(path, "path"));
    TRY(Head head, LookAt(*bucket_, path));
    return FileInfo{path, head.size, head.modified, {}};
  }

  Result<std::unique_ptr<Reader>> Open(const std::string& path) override {
    TRY_VOID(CheckFilePath(path, "path"));
    TRY(Head head, LookAt(*bucket_, path));
    return std::unique_ptr<Reader>(std::make_unique<S3Reader>(bucket_, path, std::move(head)));
  }

  Result<std::unique_ptr<Writer>> Create(const std::string& path) override {
    TRY_VOID(CheckFilePath(path, "path"));
    return std::unique_ptr<Writer>(std::make_unique<S3Writer>(bucket_, path));
  }

 private:
  const std::shared_ptr<const Bucket> bucket_;
};

}  // namespace

std::unique_ptr<FileStore> OpenS3Store(S3Settings settings) { return std::make_unique<S3Store>(std::move(settings)); }

}  // namespace ferry::data
