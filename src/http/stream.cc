// Streamed responses: the half of Connection that writes piece by piece, and the Responder and Stream that other threads hold.
#include "http/connection.h"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/chunked.h"
#include "http/request_parser.h"
#include "http/responder.h"

namespace ferry::http {
namespace {

constexpr int kPumpRounds = 32;          // writes of one stream before others have their turn
constexpr size_t kWatchRead = 1u << 10;  // read size beside a streamed response
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";

// The stream of a connection's running exchange.
class ConnectionStream : public Stream {
 public:
  explicit ConnectionStream(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~ConnectionStream() override { connection_->StreamEnd(); }
  bool Write(std::string bytes) override { return connection_->StreamWrite(std::move(bytes)); }
  size_t Pending() const override { return connection_->StreamPending(); }
  void OnDrained(std::function<void()> callback) override { connection_->StreamOnDrained(std::move(callback)); }
  void OnClosed(std::function<void()> callback) override { connection_->StreamOnClosed(std::move(callback)); }
  void Abort() override { connection_->StreamAbort(); }

 private:
  const std::shared_ptr<Connection> connection_;
};

// What a second answer to one request gets.
class ClosedStream : public Stream {
 public:
  bool Write(std::string) override { return false; }
  size_t Pending() const override { return 0; }
  void OnDrained(std::function<void()>) override {}
  void OnClosed(std::function<void()> callback) override {
    if (callback) callback();
  }
  void Abort() override {}
};

}  // namespace

void Responder::Send(Response response) const { impl_->Send(std::move(response)); }

std::shared_ptr<Stream> Responder::Begin(int status, std::vector<std::pair<std::string, std::string>> headers) const {
  return impl_->Begin(StreamStart{status, std::move(headers)});
}

Responder::Impl::~Impl() {
  if (!answered_) Send(ErrorResponse(MakeError(Code::kInternal, "http.unanswered", "the request was given up without an answer")));
}

void Responder::Impl::Send(Response response) {
  if (!answered_.exchange(true)) connection_->Answer(std::move(response));
}

std::shared_ptr<Stream> Responder::Impl::Begin(StreamStart start) {
  if (answered_.exchange(true)) return std::make_shared<ClosedStream>();
  connection_->BeginStream(std::move(start));
  return std::make_shared<ConnectionStream>(connection_);
}

void Connection::BeginStream(StreamStart start) {
  std::lock_guard lock(mutex_);
  stream_ = {};
  stream_.open = !finished_;
  stream_.closed = finished_;
  if (finished_) return;
  answer_ = std::move(start);
  WakeLocked();
}

bool Connection::StreamWrite(std::string bytes) {
  std::lock_guard lock(mutex_);
  if (!stream_.open) return false;
  if (bytes.empty()) return true;
  const size_t pending = stream_.queue.size() + stream_.in_flight;
  if (pending > 0 && pending + bytes.size() > core_->settings.stream_buffer) return false;
  if (stream_.queue.empty())
    stream_.queue = std::move(bytes);
  else
    stream_.queue += bytes;
  WakeLocked();
  return true;
}

size_t Connection::StreamPending() const {
  std::lock_guard lock(mutex_);
  return stream_.queue.size() + stream_.in_flight;
}

// Callbacks are let go outside the lock: they may hold the last copy of a stream.
void Connection::StreamOnDrained(std::function<void()> callback) {
  auto held = callback ? std::make_shared<std::function<void()>>(std::move(callback)) : nullptr;
  std::lock_guard lock(mutex_);
  if (!stream_.open) return;
  stream_.on_drained.swap(held);
  stream_.drain_due = true;
  WakeLocked();
}

void Connection::StreamOnClosed(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (!stream_.closed) {
      stream_.on_closed.swap(callback);
      return;
    }
  }
  if (callback) callback();
}

void Connection::StreamEnd() {
  std::shared_ptr<std::function<void()>> drained;
  std::function<void()> closed;
  std::lock_guard lock(mutex_);
  stream_.open = false;
  stream_.ended = true;
  drained.swap(stream_.on_drained);
  closed.swap(stream_.on_closed);
  WakeLocked();
}

void Connection::StreamAbort() {
  std::shared_ptr<std::function<void()>> drained;
  std::function<void()> closed;
  std::lock_guard lock(mutex_);
  if (!stream_.open) return;
  stream_.open = false;
  stream_.cut = true;
  drained.swap(stream_.on_drained);
  closed.swap(stream_.on_closed);
  WakeLocked();
}

// The peer or the server went away: no more is written, and who asked is told.
void Connection::CloseStream() {
  std::shared_ptr<std::function<void()>> drained;
  std::function<void()> closed;
  {
    std::lock_guard lock(mutex_);
    stream_.open = false;
    stream_.closed = true;
    drained.swap(stream_.on_drained);
    closed.swap(stream_.on_closed);
    if (gone_ || aborted_) {
      stream_.queue.clear();
      stream_.in_flight = 0;
    }
  }
  if (closed) closed();
}

// A stream that others push into ends with a shutdown; one that asks for more as it drains is a running request and keeps its time.
void Connection::DrainStream() {
  {
    std::lock_guard lock(mutex_);
    if (stream_.on_drained) return;
    stream_.ended = true;
  }
  CloseStream();
}

void Connection::Watch() {
  watching_ = true;
  auto done = [self = shared_from_this()](error_code ec, size_t bytes) { self->OnWatched(ec, bytes); };
  auto into = buffer_.prepare(kWatchRead);
  if (tls_)
    tls_->async_read_some(into, asio::bind_executor(socket_.get_executor(), std::move(done)));
  else
    socket_.async_read_some(into, std::move(done));
}

void Connection::OnWatched(error_code ec, size_t bytes) {
  watching_ = false;
  buffer_.commit(bytes);
  if (ec) gone_ = true;
  // A client that sends more requests behind the stream is watched only as far as they fit.
  else if (streaming_ && buffer_.size() < core_->settings.header_limit)
    return Watch();
  wake_.cancel();
}

// Writes queued bytes until all are with the kernel or it takes no more. kBlocked leaves the rest in gather_.
Connection::Pumped Connection::Pump() {
  for (int round = 0;; ++round) {
    if (gather_.empty()) {
      std::shared_ptr<std::function<void()>> drained;
      {
        std::lock_guard lock(mutex_);
        stream_.in_flight = 0;
        writing_.clear();
        if (stream_.cut) return Pumped::kBroken;
        if (stream_.queue.empty()) {
          if (stream_.ended) return Pumped::kEnded;
          if (!stream_.drain_due || !stream_.on_drained) return Pumped::kIdle;
          stream_.drain_due = false;
          drained = stream_.on_drained;
        } else if (round >= kPumpRounds) {
          PostWakeLocked();
          return Pumped::kIdle;
        } else {
          writing_.swap(stream_.queue);
          stream_.in_flight = writing_.size();
          stream_.drain_due = true;
        }
      }
      if (drained) {
        (*drained)();
        continue;
      }
      if (framing_ == Framing::kNone) continue;
      gather_.parts[1] = asio::buffer(writing_);
      if (framing_ == Framing::kChunked) {
        chunk_head_.clear();
        AppendChunkHead(chunk_head_, writing_.size());
        gather_.parts[0] = asio::buffer(chunk_head_);
        gather_.parts[2] = asio::buffer(kLineEnd.data(), kLineEnd.size());
      }
    }
    if (!WriteNow(gather_)) return Pumped::kBroken;
    if (!gather_.empty()) return Pumped::kBlocked;
  }
}

Task<bool> Connection::RunStream(const RequestParser& parser, StreamStart start) {
  bool close = !parser.keep_alive() || core_->draining;
  if (!StatusHasBody(start.status) || parser.is_head()) {
    framing_ = Framing::kNone;
  } else if (parser.is_http11()) {
    framing_ = Framing::kChunked;
  } else {
    framing_ = Framing::kClose;
    close = true;
  }
  HeadOptions options;
  options.framing = framing_;
  options.close = close;
  options.keep_alive = !parser.is_http11();
  out_.clear();
  AppendHead(out_, start.status, start.headers, options);
  streaming_ = true;
  gather_ = {};
  gather_.parts[0] = asio::buffer(out_);
  bool written = WriteNow(gather_);
  if (written && !gather_.empty()) written = co_await WriteAll(gather_);
  if (written && !watching_) Watch();
  if (written && core_->draining) DrainStream();

  bool ended = false;
  while (written && !ended && !gone_ && !aborted_) {
    switch (Pump()) {
      case Pumped::kEnded: ended = true; break;
      case Pumped::kBroken: written = false; break;
      case Pumped::kBlocked: written = co_await WriteAll(gather_); break;
      case Pumped::kIdle:
        if (gone_ || aborted_) break;
        pumpable_ = true;
        co_await Park();
        pumpable_ = false;
        break;
    }
  }
  streaming_ = false;
  if (!ended) gone_ = true;
  if (ended && framing_ == Framing::kChunked) {
    gather_ = {};
    gather_.parts[0] = asio::buffer(kLastChunk.data(), kLastChunk.size());
    if (!WriteNow(gather_)) co_return false;
    if (!gather_.empty()) {
      written = co_await WriteAll(gather_);
      if (!written) co_return false;
    }
  }
  if (!ended) {
    // Where the end of the connection is the end of the body, only a reset tells that the body has none.
    error_code ignored;
    if (framing_ == Framing::kClose) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    CloseStream();
    co_return false;
  }
  co_return !close && !core_->draining;
}

}  // namespace ferry::http
