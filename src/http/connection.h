// One connection of the server: reads requests in order, answers them, streams. Private to http/: this header brings in Boost.
// All of it runs on the connection's strand, except what is marked "any thread".
#pragma once

#include <coroutine>
#include <utility>

// Asserts inside Boost are about its callers; a peer's bytes must never end the process.
#define BOOST_DISABLE_ASSERTS

#ifdef __SANITIZE_THREAD__
// The thread sanitizer knows no fences; the locks of Asio order everything here without them.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#ifdef __GNUC__
// GCC 12 does not see that a coroutine frame's operator new and delete belong together.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "http/message.h"
#include "http/server.h"

namespace ferry::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;
using Strand = asio::strand<asio::io_context::executor_type>;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Strand>;
using Timer = asio::basic_waitable_timer<SteadyClock, asio::wait_traits<SteadyClock>, Strand>;
template <typename T>
using Task = asio::awaitable<T, Strand>;

class Connection;
class RequestParser;

// What all connections of a server share. Lives until the last of them is gone, which a responder kept for long may delay.
struct Core {
  Core(Settings settings, Service& service) : settings(std::move(settings)), service(service), io(static_cast<int>(this->settings.threads)) {}

  Settings settings;
  Service& service;
  asio::io_context io;
  std::optional<asio::ssl::context> tls;
  std::atomic<bool> draining = false;  // the server is shutting down: no further request is taken

  std::mutex mutex;
  std::condition_variable quiet;  // told when `connections` becomes empty
  std::unordered_map<Connection*, std::weak_ptr<Connection>> connections;
};

// A response that is written piece by piece, before its first byte.
struct StreamStart {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // With `refuse` the peer is told 503 and nothing is read from it.
  Connection(std::shared_ptr<Core> core, Socket socket, std::string peer, bool refuse);

  // Enters the connection into the core and serves it until it ends.
  void Start();

  // Any thread. Closes the socket at once.
  void Abort();
  // Any thread. The server is shutting down: an idle connection closes, a running exchange becomes the last.
  void Drain();
  // Any thread. Whether the peer has let its deadline pass.
  bool Expired(SteadyClock::time_point now) const { return now.time_since_epoch().count() > deadline_.load(std::memory_order_relaxed); }

  // Any thread. The answer of the running exchange; ignored once the connection has ended.
  void Answer(Response response);
  void BeginStream(StreamStart start);

  // Any thread. The Stream of the running exchange.
  bool StreamWrite(std::string bytes);
  size_t StreamPending() const;
  void StreamOnDrained(std::function<void()> callback);
  void StreamOnClosed(std::function<void()> callback);
  void StreamEnd();
  void StreamAbort();

 private:
  enum class Pumped { kIdle, kBlocked, kEnded, kBroken };
  // Up to three pieces that leave with one system call.
  struct Gather {
    std::array<asio::const_buffer, 3> parts;
    bool empty() const { return parts[0].size() + parts[1].size() + parts[2].size() == 0; }
    void Consume(size_t bytes);
  };
  // Where a request body goes.
  struct Intake {
    BodySink* sink = nullptr;  // or else into `text`
    bool discard = false;      // or nowhere
    uint64_t limit = 0;        // of `text`
    std::string text;
    std::optional<Error> failure;
    bool Take(std::string_view bytes);
  };
  // The streamed response as the threads outside see it; guarded by mutex_.
  struct Streaming {
    bool open = false;       // Write is taken
    bool ended = false;      // no more will be written
    bool cut = false;        // given up by its writer
    bool closed = false;     // the peer or the server went away
    bool drain_due = false;  // something was sent since on_drained was called last
    std::string queue;       // not yet taken by the writer
    size_t in_flight = 0;    // taken, not yet with the kernel
    std::shared_ptr<std::function<void()>> on_drained;
    std::function<void()> on_closed;
  };

  Task<void> Run();
  Task<bool> Exchange();
  Task<bool> ReadBody(const RequestParser& parser, bool expects, Intake& intake);
  Task<bool> Respond(const RequestParser* parser, Response response, bool close);
  Task<bool> RunStream(const RequestParser& parser, StreamStart start);
  Task<bool> WriteAll(Gather& gather);
  Task<void> Linger();
  Task<void> Park();
  Task<size_t> ReadSome(asio::mutable_buffer into, error_code& ec);

  bool WriteNow(Gather& gather);
  Pumped Pump();
  void Watch();
  void OnWatched(error_code ec, size_t bytes);
  void OnWake();
  void DrainHere();
  void DrainStream();
  void CloseStream();
  void CloseSocket();
  void Finish();
  void WakeLocked();
  void PostWakeLocked();
  void SetDeadline(std::chrono::milliseconds from_now);
  void ClearDeadline() { deadline_.store(INT64_MAX, std::memory_order_relaxed); }
  std::string_view Buffered() const { return {static_cast<const char*>(buffer_.data().data()), buffer_.size()}; }

  const std::shared_ptr<Core> core_;  // first, so that the io_context outlives the socket
  Socket socket_;
  std::optional<asio::ssl::stream<Socket&>> tls_;
  Timer wake_;  // never expires; cancelled to resume the parked coroutine
  const std::string peer_;
  const bool refuse_;
  beast::flat_buffer buffer_;  // received, not yet parsed
  std::string out_;            // the response head, and the body when that is small
  std::atomic<int64_t> deadline_;

  bool idle_ = false;       // between requests, nothing received
  bool parked_ = false;     // the coroutine waits for wake_
  bool streaming_ = false;  // a streamed response is under way
  bool pumpable_ = false;   // parked within a stream, so that OnWake may write
  bool watching_ = false;   // a read is under way beside a streamed response
  bool gone_ = false;       // the peer closed or broke the connection
  bool aborted_ = false;
  Framing framing_ = Framing::kChunked;  // of the streamed response
  std::string writing_;                  // stream bytes being written
  std::string chunk_head_;
  Gather gather_;

  mutable std::mutex mutex_;  // guards what follows
  bool finished_ = false;     // the coroutine has ended: nothing more may be posted
  bool wake_posted_ = false;
  std::variant<std::monostate, Response, StreamStart> answer_;
  Streaming stream_;
};

}  // namespace ferry::http
