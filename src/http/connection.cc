#include "http/connection.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/text.h"
#include "http/chunked.h"
#include "http/request_parser.h"
#include "http/responder.h"

namespace ferry::http {
namespace {

constexpr asio::use_awaitable_t<Strand> kAwait;
constexpr size_t kHeadRead = 4u << 10;      // read size while waiting for a head
constexpr size_t kBodyRead = 64u << 10;     // read size within a body
constexpr size_t kKeptBuffer = 16u << 10;   // an idle connection gives more than this back
constexpr size_t kJoinedBody = 16u << 10;   // up to this size head and body are one piece of memory
constexpr uint64_t kSmallBody = 64u << 10;  // an unwanted body up to this size is read and dropped to keep the connection
constexpr uint64_t kReserved = 1u << 20;    // trusted of a declared content-length
constexpr std::chrono::milliseconds kLingerTime{2000};

Error BadRequest(std::string message) { return MakeError(Code::kInvalid, "http.bad_request", std::move(message)); }

Error TooLarge(uint64_t limit) { return MakeError(Code::kTooLarge, "http.body_too_large", StrCat("the request body is larger than ", FormatBytes(limit))); }

Response ParseFailure(error_code ec) {
  if (ec == beast::http::error::header_limit || ec == beast::http::error::buffer_overflow)
    return ErrorResponse(MakeError(Code::kTooLarge, "http.header_too_large", "the request head is too large"), 431);
  return ErrorResponse(BadRequest(StrCat("the request is malformed: ", ec.message())));
}

}  // namespace

void Connection::Gather::Consume(size_t bytes) {
  for (asio::const_buffer& part : parts) {
    size_t n = std::min(bytes, part.size());
    part += n;
    bytes -= n;
  }
}

bool Connection::Intake::Take(std::string_view bytes) {
  if (discard) return true;
  if (sink) {
    Result<void> written = sink->Write(bytes);
    if (!written.ok()) failure = written.error();
    return written.ok();
  }
  if (bytes.size() > limit - text.size()) {
    failure = TooLarge(limit);
    return false;
  }
  text.append(bytes);
  return true;
}

Connection::Connection(std::shared_ptr<Core> core, Socket socket, std::string peer, bool refuse)
    : core_(std::move(core)),
      socket_(std::move(socket)),
      wake_(socket_.get_executor(), SteadyClock::time_point::max()),
      peer_(std::move(peer)),
      refuse_(refuse),
      deadline_(INT64_MAX) {}

void Connection::Start() {
  auto self = shared_from_this();
  {
    std::lock_guard lock(core_->mutex);
    core_->connections.emplace(this, self);
  }
  asio::co_spawn(
      socket_.get_executor(), [this] { return Run(); }, [self](std::exception_ptr) { self->Finish(); });
}

void Connection::SetDeadline(std::chrono::milliseconds from_now) {
  deadline_.store((SteadyClock::now() + from_now).time_since_epoch().count(), std::memory_order_relaxed);
}

void Connection::WakeLocked() {
  // On the strand the coroutine is either parked or will look at the state before it parks.
  if (socket_.get_executor().running_in_this_thread() && !parked_) return;
  PostWakeLocked();
}

void Connection::PostWakeLocked() {
  if (finished_ || wake_posted_) return;
  wake_posted_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->OnWake(); });
}

void Connection::OnWake() {
  {
    std::lock_guard lock(mutex_);
    wake_posted_ = false;
  }
  if (pumpable_ && !gone_ && !aborted_ && Pump() == Pumped::kIdle) return;
  wake_.cancel();
}

void Connection::Answer(Response response) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  answer_ = std::move(response);
  WakeLocked();
}

void Connection::Abort() {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->CloseSocket();
    self->wake_.cancel();
  });
}

void Connection::Drain() {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->DrainHere(); });
}

void Connection::DrainHere() {
  if (idle_) return CloseSocket();
  if (!streaming_) return;
  DrainStream();
  wake_.cancel();
}

void Connection::CloseSocket() {
  aborted_ = true;
  error_code ignored;
  socket_.close(ignored);
}

void Connection::Finish() {
  CloseSocket();
  CloseStream();
  {
    std::lock_guard lock(mutex_);
    finished_ = true;
  }
  std::lock_guard lock(core_->mutex);
  core_->connections.erase(this);
  if (core_->connections.empty()) core_->quiet.notify_all();
}

Task<void> Connection::Park() {
  parked_ = true;
  error_code ignored;
  co_await wake_.async_wait(asio::redirect_error(kAwait, ignored));
  parked_ = false;
}

Task<size_t> Connection::ReadSome(asio::mutable_buffer into, error_code& ec) {
  if (tls_) return tls_->async_read_some(into, asio::redirect_error(kAwait, ec));
  return socket_.async_read_some(into, asio::redirect_error(kAwait, ec));
}

Task<void> Connection::Run() {
  auto self = shared_from_this();
  error_code ec;
  if (core_->settings.tls) {
    if (refuse_) co_return;
    tls_.emplace(socket_, *core_->tls);
    SetDeadline(core_->settings.header_timeout);
    co_await tls_->async_handshake(asio::ssl::stream_base::server, asio::redirect_error(kAwait, ec));
    if (ec) co_return;
  }
  if (refuse_) {
    Response busy = ErrorResponse(MakeError(Code::kUnavailable, "http.too_many_connections", "the server has too many connections"));
    co_await Respond(nullptr, std::move(busy), true);
  } else {
    for (;;) {
      bool again = co_await Exchange();
      if (!again) break;
    }
  }
  if (!gone_ && !aborted_) co_await Linger();
}

// Ends the connection so that the peer can read the last answer: a close with unread input would make the kernel drop it.
Task<void> Connection::Linger() {
  error_code ec;
  SetDeadline(kLingerTime);
  if (tls_ && !watching_) co_await tls_->async_shutdown(asio::redirect_error(kAwait, ec));
  socket_.shutdown(Socket::shutdown_send, ec);
  while (watching_ && !aborted_) co_await Park();
  while (!gone_ && !aborted_) {
    buffer_.clear();
    co_await socket_.async_read_some(buffer_.prepare(kHeadRead), asio::redirect_error(kAwait, ec));
    if (ec) break;
  }
}

// One request and its answer. False when the connection ends.
Task<bool> Connection::Exchange() {
  const Settings& settings = core_->settings;
  RequestParser parser(settings.header_limit, peer_);
  error_code ec;
  if (buffer_.size() == 0 && buffer_.capacity() > kKeptBuffer && !watching_) buffer_ = {};
  if (buffer_.size() == 0) {
    idle_ = true;
    SetDeadline(settings.idle_timeout);
    if (core_->draining) {
      gone_ = true;
      co_return false;
    }
  } else {
    SetDeadline(settings.header_timeout);
  }
  for (bool begun = false;;) {
    // Blank lines before a request are the remains of the last one.
    while (!begun && buffer_.size() > 0 && (Buffered().front() == '\r' || Buffered().front() == '\n')) buffer_.consume(1);
    if (buffer_.size() > 0) {
      begun = true;
      buffer_.consume(parser.put(buffer_.data(), ec));
      if (!ec || parser.is_header_done()) break;
      if (ec != beast::http::error::need_more) {
        co_return co_await Respond(nullptr, ParseFailure(ec), true);
      }
    }
    if (watching_) {
      while (watching_ && !aborted_) co_await Park();
      if (gone_)
        ec = asio::error::eof;
      else
        ec = {};
    } else {
      size_t n = co_await ReadSome(buffer_.prepare(kHeadRead), ec);
      buffer_.commit(n);
    }
    if (aborted_ || ec) {
      gone_ = true;
      co_return false;
    }
    if (idle_) {
      idle_ = false;
      SetDeadline(settings.header_timeout);
    }
  }
  idle_ = false;
  ClearDeadline();

  const bool has_body = parser.has_body();
  bool expects = false;
  if (has_body) {
    auto expect = parser.head().headers.find("expect");
    expects = expect != parser.head().headers.end() && ToLower(expect->second) == "100-continue";
  }
  auto admitted = core_->service.Admit(parser.head());
  const uint64_t length = parser.head().content_length.value_or(0);
  Intake intake;
  std::unique_ptr<BodySink> sink;
  if (auto* refusal = std::get_if<Response>(&admitted)) {
    const bool droppable = !has_body || (!parser.chunked() && !expects && length <= kSmallBody);
    if (!droppable) co_return co_await Respond(&parser, std::move(*refusal), true);
    if (has_body) {
      intake.discard = true;
      bool whole = co_await ReadBody(parser, false, intake);
      if (!whole) co_return false;
    }
    co_return co_await Respond(&parser, std::move(*refusal), false);
  }
  if (auto* buffered = std::get_if<http::Buffered>(&admitted)) {
    intake.limit = buffered->limit;
    if (length > intake.limit) {
      co_return co_await Respond(&parser, ErrorResponse(TooLarge(intake.limit)), true);
    }
    if (length > 0) intake.text.reserve(static_cast<size_t>(std::min(length, kReserved)));
  } else {
    sink = std::move(std::get<std::unique_ptr<BodySink>>(admitted));
    intake.sink = sink.get();
  }
  if (has_body) {
    bool whole = co_await ReadBody(parser, expects, intake);
    if (!whole) {
      sink.reset();
      if (!intake.failure) co_return false;
      co_return co_await Respond(&parser, ErrorResponse(*intake.failure), true);
    }
    ClearDeadline();
  }

  {
    Responder responder(std::make_shared<Responder::Impl>(shared_from_this()));
    if (sink)
      sink->Finish(std::move(responder));
    else
      core_->service.Handle(std::move(parser.head()), std::move(intake.text), std::move(responder));
  }
  sink.reset();
  std::variant<std::monostate, Response, StreamStart> answer;
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      answer = std::exchange(answer_, std::monostate());
    }
    if (answer.index() != 0) break;
    if (aborted_) co_return false;
    co_await Park();
  }
  if (auto* response = std::get_if<Response>(&answer)) co_return co_await Respond(&parser, std::move(*response), false);
  co_return co_await RunStream(parser, std::move(std::get<StreamStart>(answer)));
}

// False when the body did not arrive whole; with `intake.failure` set the peer is still there to be told.
Task<bool> Connection::ReadBody(const RequestParser& parser, bool expects, Intake& intake) {
  ChunkReader chunks;
  uint64_t left = parser.head().content_length.value_or(0);
  if (expects && buffer_.size() == 0 && parser.is_http11()) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    Gather gather{{asio::buffer(kContinue.data(), kContinue.size())}};
    bool written = co_await WriteAll(gather);
    if (!written) co_return false;
  }
  for (;;) {
    std::string_view input = Buffered();
    const size_t before = input.size();
    if (parser.chunked()) {
      for (;;) {
        std::string_view piece;
        auto step = chunks.Next(input, piece);
        if (step == ChunkReader::Step::kMore) break;
        if (step == ChunkReader::Step::kBad) intake.failure = BadRequest("the request body is not in chunked coding");
        if (step == ChunkReader::Step::kBad || (step == ChunkReader::Step::kPiece && !intake.Take(piece))) co_return false;
        if (step == ChunkReader::Step::kEnd) {
          buffer_.consume(before - input.size());
          co_return true;
        }
      }
      buffer_.consume(before);
    } else if (before > 0) {
      size_t n = static_cast<size_t>(std::min<uint64_t>(left, before));
      if (!intake.Take(input.substr(0, n))) co_return false;
      buffer_.consume(n);
      left -= n;
    }
    if (!parser.chunked() && left == 0) co_return true;
    SetDeadline(core_->settings.idle_timeout);
    error_code ec;
    size_t n = co_await ReadSome(buffer_.prepare(kBodyRead), ec);
    buffer_.commit(n);
    if (ec || aborted_) {
      gone_ = true;
      co_return false;
    }
  }
}

// Writes a whole response; true when the connection may go on. `parser` is null when the request was not understood.
Task<bool> Connection::Respond(const RequestParser* parser, Response response, bool close) {
  close = close || !parser || !parser->keep_alive() || core_->draining;
  const bool may_have_body = StatusHasBody(response.status);
  HeadOptions options;
  options.framing = may_have_body ? Framing::kLength : Framing::kNone;
  options.length = response.body.size();
  options.close = close;
  options.keep_alive = parser && !parser->is_http11();
  out_.clear();
  AppendHead(out_, response.status, response.headers, options);
  Gather gather;
  if (may_have_body && !(parser && parser->is_head())) {
    if (response.body.size() <= kJoinedBody)
      out_ += response.body;
    else
      gather.parts[1] = asio::buffer(response.body);
  }
  gather.parts[0] = asio::buffer(out_);
  if (!WriteNow(gather)) co_return false;
  if (!gather.empty()) {
    bool written = co_await WriteAll(gather);
    if (!written) co_return false;
  }
  if (out_.capacity() > 4 * kJoinedBody) out_ = {};
  co_return !close;
}

// Writes what the kernel takes without waiting. False when the connection broke.
bool Connection::WriteNow(Gather& gather) {
  if (tls_) return true;
  while (!gather.empty()) {
    error_code ec;
    size_t n = socket_.write_some(gather.parts, ec);
    if (ec == asio::error::would_block) return true;
    if (ec) {
      gone_ = true;
      return false;
    }
    gather.Consume(n);
  }
  return true;
}

Task<bool> Connection::WriteAll(Gather& gather) {
  error_code ec;
  while (!gather.empty()) {
    SetDeadline(core_->settings.idle_timeout);
    if (tls_) {
      size_t n = co_await tls_->async_write_some(gather.parts, asio::redirect_error(kAwait, ec));
      gather.Consume(n);
    } else {
      co_await socket_.async_wait(Socket::wait_write, asio::redirect_error(kAwait, ec));
    }
    if (ec || aborted_ || !WriteNow(gather)) {
      gone_ = true;
      co_return false;
    }
  }
  ClearDeadline();
  co_return true;
}

}  // namespace ferry::http
