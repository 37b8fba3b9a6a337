#include "http/connection.h"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <openssl/ssl.h>
#include <algorithm>
#include <thread>

#include "base/text.h"
#include "http/server.h"
#include "os/socket.h"

namespace ferry::http {
namespace {

using asio::ip::tcp;
using Acceptor = asio::basic_socket_acceptor<tcp, Strand>;

constexpr asio::use_awaitable_t<Strand> kAwait;
constexpr std::chrono::milliseconds kSweep{100};       // how late a passed deadline may be noticed
constexpr std::chrono::milliseconds kAcceptPause{50};  // after accept failed for want of descriptors
constexpr size_t kRefusals = 64;                       // connections over the limit that are told so at a time

Error ListenError(error_code ec, const Settings& settings) {
  std::string message = StrCat("cannot listen on ", settings.address, ":", settings.port, ": ", ec.message());
  if (ec == asio::error::address_in_use) return MakeError(Code::kConflict, "http.address_in_use", std::move(message));
  if (ec == asio::error::access_denied) return MakeError(Code::kForbidden, "http.address_denied", std::move(message));
  return MakeError(Code::kInvalid, "http.address_invalid", std::move(message));
}

Result<void> LoadTls(asio::ssl::context& context, const TlsFiles& files) {
  error_code ec;
  auto failed = [&](const std::string& path) { return MakeError(Code::kInvalid, "http.tls_files", StrCat("cannot use ", path, " for TLS: ", ec.message())); };
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.native_handle(), SSL_OP_NO_RENEGOTIATION);
  context.use_certificate_chain_file(files.certificate, ec);
  if (ec) return failed(files.certificate);
  context.use_private_key_file(files.key, asio::ssl::context::pem, ec);
  if (ec) return failed(files.key);
  return {};
}

class AsioServer : public Server {
 public:
  AsioServer(Settings settings, Service& service)
      : core_(std::make_shared<Core>(std::move(settings), service)),
        work_(asio::make_work_guard(core_->io)),
        strand_(asio::make_strand(core_->io)),
        acceptor_(strand_),
        sweep_(strand_),
        pause_(strand_) {}

  ~AsioServer() override {
    Shutdown(std::chrono::milliseconds(0));
    asio::post(strand_, [this] {
      stopping_ = true;
      sweep_.cancel();
    });
    // The context runs dry by itself, so that nothing is left in its queues that would keep a connection alive.
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  Result<void> Listen() {
    const Settings& settings = core_->settings;
    error_code ec;
    auto address = asio::ip::make_address(settings.address == "localhost" ? "127.0.0.1" : settings.address, ec);
    if (ec) return MakeError(Code::kInvalid, "http.address_invalid", StrCat(settings.address, " is no numeric address to listen on"));
    if (settings.tls) {
      core_->tls.emplace(asio::ssl::context::tls_server);
      TRY_VOID(LoadTls(*core_->tls, *settings.tls));
    }
    tcp::endpoint endpoint(address, settings.port);
    acceptor_.open(endpoint.protocol(), ec);
    if (ec) return ListenError(ec, settings);
    os::CloseOnExec(acceptor_.native_handle());
    acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
    acceptor_.bind(endpoint, ec);
    if (ec) return ListenError(ec, settings);
    acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (ec) return ListenError(ec, settings);
    port_ = acceptor_.local_endpoint(ec).port();
    return {};
  }

  void Serve() {
    accepting_ = true;
    asio::co_spawn(
        strand_, [this] { return AcceptLoop(); }, [this](std::exception_ptr) { EndAccepting(); });
    asio::post(strand_, [this] { Sweep(); });
    for (unsigned i = 0; i < std::max(1u, core_->settings.threads); ++i) threads_.emplace_back([core = core_] { core->io.run(); });
  }

  uint16_t port() const override { return port_; }

  size_t connections() const override {
    std::lock_guard lock(core_->mutex);
    return core_->connections.size();
  }

  void Shutdown(std::chrono::milliseconds grace) override {
    if (threads_.empty()) return;
    const auto deadline = SteadyClock::now() + grace;
    core_->draining = true;
    asio::post(strand_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
    });
    std::unique_lock lock(core_->mutex);
    auto quiet = [this] { return core_->connections.empty() && !accepting_; };
    core_->quiet.wait(lock, [this] { return !accepting_; });
    ForEachLocked([](Connection& connection) { connection.Drain(); });
    if (core_->quiet.wait_until(lock, deadline, quiet)) return;
    ForEachLocked([](Connection& connection) { connection.Abort(); });
    core_->quiet.wait(lock, quiet);
  }

 private:
  template <typename Visit>
  void ForEachLocked(Visit visit) {
    for (auto& [raw, weak] : core_->connections)
      if (auto connection = weak.lock()) visit(*connection);
  }

  Task<void> AcceptLoop() {
    error_code ec;
    while (!core_->draining) {
      Socket socket(asio::make_strand(core_->io));
      co_await acceptor_.async_accept(socket, asio::redirect_error(kAwait, ec));
      if (core_->draining || ec == asio::error::operation_aborted) co_return;
      if (ec == asio::error::connection_aborted) continue;
      if (ec) {
        pause_.expires_after(kAcceptPause);
        co_await pause_.async_wait(asio::redirect_error(kAwait, ec));
        continue;
      }
      Welcome(std::move(socket));
    }
  }

  void Welcome(Socket socket) {
    const size_t count = connections();
    const size_t limit = core_->settings.max_connections;
    if (count >= limit + kRefusals) return;
    error_code ec;
    os::CloseOnExec(socket.native_handle());
    socket.non_blocking(true, ec);
    socket.set_option(tcp::no_delay(true), ec);
    socket.set_option(asio::socket_base::keep_alive(true), ec);
    auto remote = socket.remote_endpoint(ec);
    if (ec) return;
    std::make_shared<Connection>(core_, std::move(socket), remote.address().to_string(), count >= limit)->Start();
  }

  void EndAccepting() {
    std::lock_guard lock(core_->mutex);
    accepting_ = false;
    core_->quiet.notify_all();
  }

  // Ends the connections whose peers let their time pass.
  void Sweep() {
    if (stopping_) return;
    const auto now = SteadyClock::now();
    std::vector<std::shared_ptr<Connection>> expired;
    {
      std::lock_guard lock(core_->mutex);
      for (auto& [raw, weak] : core_->connections)
        if (raw->Expired(now))
          if (auto connection = weak.lock()) expired.push_back(std::move(connection));
    }
    for (auto& connection : expired) connection->Abort();
    sweep_.expires_after(kSweep);
    sweep_.async_wait([this](error_code) { Sweep(); });
  }

  const std::shared_ptr<Core> core_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Strand strand_;  // of all that follows but port_ and threads_
  Acceptor acceptor_;
  Timer sweep_;
  Timer pause_;
  bool stopping_ = false;
  bool accepting_ = false;  // guarded by the core's mutex
  uint16_t port_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(Settings settings, Service& service) {
  settings.threads = std::max(1u, settings.threads);
  auto server = std::make_unique<AsioServer>(std::move(settings), service);
  TRY_VOID(server->Listen());
  server->Serve();
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace ferry::http
