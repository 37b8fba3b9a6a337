// The client's end of one connection: bytes over TCP, TLS or a unix socket, with timeouts and stops. Private to http/.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"
#include "os/socket.h"

struct ssl_ctx_st;
struct ssl_st;

namespace ferry::http {

// What TLS connections of one client share. Made when the first is opened.
class TlsContext {
 public:
  // kInvalid "http.ca_file".
  static Result<std::unique_ptr<TlsContext>> Make(const std::string& ca_file);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ssl_ctx_st* get() const { return context_; }

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* const context_;
};

class Wire {
 public:
  // `tls` is null for plain connections. kUnavailable "http.unreachable", kTimeout "http.timeout", kUnavailable "http.stopped".
  static Result<std::unique_ptr<Wire>> Open(const Url& url, const TlsContext* tls, std::chrono::milliseconds connect_timeout,
                                            std::chrono::milliseconds io_timeout, const os::StopSignal& stop);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Some bytes; 0 when the peer ended in order. Errors as above.
  Result<size_t> Read(char* into, size_t size, const os::StopSignal& stop);
  // All of both pieces. With `until_reply` it gives up early, with success, when it would have to wait and the
  // peer already says something (plain connections only).
  Result<void> Write(std::string_view first, std::string_view second, bool until_reply, const os::StopSignal& stop);
  // Whether the peer has sent something, or closed, without waiting for it.
  bool HasInput();

 private:
  Wire(os::Fd fd, std::string name, std::chrono::milliseconds io_timeout) : fd_(std::move(fd)), name_(std::move(name)), io_timeout_(io_timeout) {}
  Result<void> Handshake(const Url& url, const TlsContext& tls, os::SteadyTime deadline, const os::StopSignal& stop);
  Result<os::Readiness> Wait(os::Readiness wanted, os::SteadyTime deadline, const os::StopSignal& stop) const;
  // What a TLS call that moved nothing waits for; an error when it failed, kEnd when the peer ended.
  Result<os::Transfer::Kind> AfterTls(int rc, os::Readiness& wanted) const;
  Error Broken(std::string_view why) const;

  os::Fd fd_;
  const std::string name_;  // "http://host:port", for messages
  const std::chrono::milliseconds io_timeout_;
  ssl_st* tls_ = nullptr;
};

}  // namespace ferry::http
