// HTTP/1.1 server: keep-alive, TLS by setting, streamed bodies both ways, graceful shutdown, every size and time bounded.
// Boost stays inside http/. Callbacks of Service run on the server's own threads (`Settings::threads`) and must not block for long.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace ferry::http {

// A request line and its headers.
struct Head {
  std::string method;                             // "GET"
  std::string path;                               // as sent, without the query, not percent-decoded
  std::multimap<std::string, std::string> query;  // decoded; equal names in the order they came
  std::map<std::string, std::string> headers;     // names in lower case
  std::string peer;                               // "127.0.0.1"
  std::optional<uint64_t> content_length;

  // The header, or "".
  std::string Header(std::string_view name) const;
  // The query parameter, or `other`. The last of equal names wins.
  std::string Query(std::string_view name, std::string_view other = {}) const;
  // Every value of a query parameter that may be repeated.
  std::vector<std::string> QueryAll(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  // content-type and friends; length and connection are the server's
  std::string body;
};

// Writes a body of unknown length piece by piece (chunked). Thread-safe. Dropping the last copy ends the response.
class Stream {
 public:
  virtual ~Stream() = default;
  // Queues bytes. False, with nothing queued, once the peer is gone, or when more than `Settings::stream_buffer` bytes would wait for a slow
  // reader (a single piece is taken whatever its size when nothing waits).
  virtual bool Write(std::string bytes) = 0;
  // Bytes queued and not yet handed to the kernel.
  virtual size_t Pending() const = 0;
  // Called once, on a server thread, when everything queued was sent (again after each later Write); soon when nothing is queued. A stream
  // with such a callback counts as a running request at shutdown, one without ends there.
  virtual void OnDrained(std::function<void()> callback) = 0;
  // Called once when the peer went away or the server shuts down. Called at once when that happened already.
  virtual void OnClosed(std::function<void()> callback) = 0;
  // Gives the answer up: the connection closes without the end of the body, so that the peer sees an error and not a short answer. What is
  // queued may be lost. No callback comes after it.
  virtual void Abort() = 0;
};

// Answers one request, once, from any thread. Dropping it unanswered answers 500.
class Responder {
 public:
  class Impl;
  explicit Responder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  void Send(Response response) const;
  // Begins a streamed answer: headers leave at once.
  std::shared_ptr<Stream> Begin(int status, std::vector<std::pair<std::string, std::string>> headers) const;

 private:
  std::shared_ptr<Impl> impl_;
};

// Takes a request body as it arrives, so that a large upload is never held in memory.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // An error ends the request with that error; the rest of the body is not read and the connection closes.
  virtual Result<void> Write(std::string_view bytes) = 0;
  // The whole body has arrived. A body that was cut off destroys the sink without this.
  virtual void Finish(Responder responder) = 0;
};

struct Buffered {
  uint64_t limit = 1u << 20;  // a longer body is 413
};

class Service {
 public:
  virtual ~Service() = default;
  // Decides, before any byte of the body is read, how to take it: in memory, by a sink, or not at all (an answer, for example 401).
  virtual std::variant<Buffered, std::unique_ptr<BodySink>, Response> Admit(const Head& head) = 0;
  // A buffered request, whole.
  virtual void Handle(Head head, std::string body, Responder responder) = 0;
};

struct TlsFiles {
  std::string certificate;  // PEM chain
  std::string key;          // PEM
};

struct Settings {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one
  std::optional<TlsFiles> tls;
  unsigned threads = 2;
  size_t max_connections = 4096;
  uint64_t header_limit = 64u << 10;
  std::chrono::seconds header_timeout{20};  // to send a whole request head once begun
  std::chrono::seconds idle_timeout{300};   // keep-alive without a request; body without a byte
  size_t stream_buffer = 8u << 20;
};

class Server {
 public:
  // Binds and listens, and serves until destroyed. kConflict "http.address_in_use" and friends name address and port.
  static Result<std::unique_ptr<Server>> Start(Settings settings, Service& service);
  virtual ~Server() = default;
  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;
  // Stops accepting, lets running requests end for at most `grace`, closes streams, and returns when all is quiet.
  virtual void Shutdown(std::chrono::milliseconds grace) = 0;
};

// One server-sent event, framed. Lines of `data` are split as the format demands.
std::string FormatEvent(std::string_view event, std::string_view id, std::string_view data);

}  // namespace ferry::http
