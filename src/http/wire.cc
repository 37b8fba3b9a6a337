#include "http/wire.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <climits>

#include "base/text.h"
#include "os/file.h"

namespace ferry::http {
namespace {

// Where distributions keep their authorities; a static binary does not know the place of the system it runs on.
constexpr const char* kBundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"};

std::string TlsErrorText() {
  unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "the connection broke";
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : StrCat("TLS error ", code);
}

// A BIO over os::Send and os::Receive: OpenSSL's own socket BIO would raise SIGPIPE.
int BioWrite(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  auto sent = os::Send(*static_cast<os::Fd*>(BIO_get_data(bio)), {data, static_cast<size_t>(size)});
  if (sent.kind == os::Transfer::Kind::kBytes) return static_cast<int>(sent.bytes);
  if (sent.kind == os::Transfer::Kind::kWait) BIO_set_retry_write(bio);
  return -1;
}

int BioRead(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  auto got = os::Receive(*static_cast<os::Fd*>(BIO_get_data(bio)), data, static_cast<size_t>(size));
  if (got.kind == os::Transfer::Kind::kBytes) return static_cast<int>(got.bytes);
  if (got.kind == os::Transfer::Kind::kWait) BIO_set_retry_read(bio);
  return got.kind == os::Transfer::Kind::kEnd ? 0 : -1;
}

long BioControl(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* SocketBio() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ferry socket");
    if (!made) return made;
    BIO_meth_set_write(made, BioWrite);
    BIO_meth_set_read(made, BioRead);
    BIO_meth_set_ctrl(made, BioControl);
    return made;
  }();
  return method;
}

bool IsNumeric(const std::string& host) { return host.find(':') != std::string::npos || host.find_first_not_of("0123456789.") == std::string::npos; }

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::Make(const std::string& ca_file) {
  SSL_CTX* raw = SSL_CTX_new(TLS_client_method());
  if (!raw) return MakeError(Code::kInternal, "http.tls", StrCat("cannot prepare TLS: ", TlsErrorText()));
  std::unique_ptr<TlsContext> context(new TlsContext(raw));
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_verify_paths(raw);
  if (!os::Exists(X509_get_default_cert_file()) && !os::Exists(X509_get_default_cert_dir())) {
    for (const char* bundle : kBundles)
      if (os::Exists(bundle) && SSL_CTX_load_verify_locations(raw, bundle, nullptr) == 1) break;
  }
  if (!ca_file.empty() && SSL_CTX_load_verify_locations(raw, ca_file.c_str(), nullptr) != 1)
    return MakeError(Code::kInvalid, "http.ca_file", StrCat("cannot read authorities from ", ca_file, ": ", TlsErrorText()), "ca_file");
  ERR_clear_error();
  return context;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Wire::~Wire() {
  if (!tls_) return;
  SSL_shutdown(tls_);
  SSL_free(tls_);
  ERR_clear_error();
}

Error Wire::Broken(std::string_view why) const { return MakeError(Code::kUnavailable, "http.unreachable", StrCat("cannot reach ", name_, ": ", why)); }

Result<std::unique_ptr<Wire>> Wire::Open(const Url& url, const TlsContext* tls, std::chrono::milliseconds connect_timeout, std::chrono::milliseconds io_timeout,
                                         const os::StopSignal& stop) {
  const bool is_unix = url.scheme == "unix";
  const bool bracket = url.host.find(':') != std::string::npos;
  std::string name = is_unix ? StrCat("unix://", url.path) : StrCat(url.scheme, "://", bracket ? "[" : "", url.host, bracket ? "]" : "", ":", url.port);
  const auto deadline = std::chrono::steady_clock::now() + connect_timeout;
  auto fd = is_unix ? os::ConnectUnix(url.path, deadline, stop) : os::ConnectTcp(url.host, url.port, deadline, stop);
  if (!fd.ok()) {
    const Error& error = fd.error();
    if (error.slug == "socket.timeout") return MakeError(Code::kTimeout, "http.timeout", StrCat("no connection to ", name, " in time"));
    if (error.slug == "socket.stopped") return MakeError(Code::kUnavailable, "http.stopped", StrCat("stopped while connecting to ", name));
    return MakeError(Code::kUnavailable, "http.unreachable", StrCat("cannot reach ", name, ": ", error.message));
  }
  std::unique_ptr<Wire> wire(new Wire(std::move(*fd), std::move(name), io_timeout));
  if (tls) TRY_VOID(wire->Handshake(url, *tls, deadline, stop));
  return wire;
}

Result<void> Wire::Handshake(const Url& url, const TlsContext& tls, os::SteadyTime deadline, const os::StopSignal& stop) {
  tls_ = SSL_new(tls.get());
  BIO_METHOD* method = SocketBio();
  BIO* bio = method ? BIO_new(method) : nullptr;
  if (!tls_ || !bio) return Broken("cannot prepare TLS");
  BIO_set_data(bio, &fd_);
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_, bio, bio);
  if (IsNumeric(url.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls_), url.host.c_str());
  } else {
    SSL_set_tlsext_host_name(tls_, url.host.c_str());
    SSL_set1_host(tls_, url.host.c_str());
  }
  for (;;) {
    ERR_clear_error();
    int rc = SSL_connect(tls_);
    if (rc == 1) return {};
    long verified = SSL_get_verify_result(tls_);
    if (verified != X509_V_OK) {
      ERR_clear_error();
      return Broken(StrCat("its certificate is not trusted: ", X509_verify_cert_error_string(verified)));
    }
    os::Readiness wanted;
    TRY(auto kind, AfterTls(rc, wanted));
    if (kind == os::Transfer::Kind::kEnd) return Broken("the connection was closed within the TLS handshake");
    TRY(auto ready, Wait(wanted, deadline, stop));
    (void)ready;
  }
}

Result<os::Transfer::Kind> Wire::AfterTls(int rc, os::Readiness& wanted) const {
  switch (SSL_get_error(tls_, rc)) {
    case SSL_ERROR_WANT_READ: wanted = {.readable = true, .writable = false}; return os::Transfer::Kind::kWait;
    case SSL_ERROR_WANT_WRITE: wanted = {.readable = false, .writable = true}; return os::Transfer::Kind::kWait;
    case SSL_ERROR_ZERO_RETURN: return os::Transfer::Kind::kEnd;
    default: return Broken(TlsErrorText());
  }
}

Result<os::Readiness> Wire::Wait(os::Readiness wanted, os::SteadyTime deadline, const os::StopSignal& stop) const {
  auto ready = os::WaitReady(fd_, wanted, deadline, stop);
  if (ready.ok()) return ready;
  if (ready.error().slug == "socket.timeout") return MakeError(Code::kTimeout, "http.timeout", StrCat("no answer from ", name_, " in time"));
  if (ready.error().slug == "socket.stopped") return MakeError(Code::kUnavailable, "http.stopped", StrCat("stopped while talking to ", name_));
  return Broken(ready.error().message);
}

Result<size_t> Wire::Read(char* into, size_t size, const os::StopSignal& stop) {
  const auto deadline = std::chrono::steady_clock::now() + io_timeout_;
  for (;;) {
    os::Readiness wanted{.readable = true, .writable = false};
    if (tls_) {
      ERR_clear_error();
      int rc = SSL_read(tls_, into, static_cast<int>(std::min<size_t>(size, INT_MAX)));
      if (rc > 0) return static_cast<size_t>(rc);
      TRY(auto kind, AfterTls(rc, wanted));
      if (kind == os::Transfer::Kind::kEnd) return size_t{0};
    } else {
      auto got = os::Receive(fd_, into, size);
      if (got.kind == os::Transfer::Kind::kBytes) return got.bytes;
      if (got.kind == os::Transfer::Kind::kEnd) return size_t{0};
      if (got.kind == os::Transfer::Kind::kFailed) return Broken(os::ErrorText(got.error));
    }
    TRY(auto ready, Wait(wanted, deadline, stop));
    (void)ready;
  }
}

Result<void> Wire::Write(std::string_view first, std::string_view second, bool until_reply, const os::StopSignal& stop) {
  auto deadline = std::chrono::steady_clock::now() + io_timeout_;
  while (!first.empty() || !second.empty()) {
    if (first.empty()) std::swap(first, second);
    os::Readiness wanted{.readable = until_reply, .writable = true};
    size_t moved = 0;
    if (tls_) {
      ERR_clear_error();
      int rc = SSL_write(tls_, first.data(), static_cast<int>(std::min<size_t>(first.size(), INT_MAX)));
      if (rc > 0) {
        moved = static_cast<size_t>(rc);
      } else {
        TRY(auto kind, AfterTls(rc, wanted));
        if (kind == os::Transfer::Kind::kEnd) return Broken("the connection was closed");
      }
    } else {
      auto sent = os::Send(fd_, first, second);
      if (sent.kind == os::Transfer::Kind::kFailed) return Broken(os::ErrorText(sent.error));
      moved = sent.bytes;
    }
    if (moved > 0) {
      size_t of_first = std::min(moved, first.size());
      first.remove_prefix(of_first);
      second.remove_prefix(moved - of_first);
      deadline = std::chrono::steady_clock::now() + io_timeout_;
      continue;
    }
    TRY(auto ready, Wait(wanted, deadline, stop));
    if (until_reply && !tls_ && ready.readable) return {};
  }
  return {};
}

bool Wire::HasInput() {
  if (tls_ && SSL_pending(tls_) > 0) return true;
  if (!os::CheckReady(fd_, {.readable = true, .writable = false}).readable) return false;
  if (!tls_) return true;
  // What arrived may be the protocol's own, such as a session ticket.
  ERR_clear_error();
  char byte;
  int rc = SSL_peek(tls_, &byte, 1);
  return rc > 0 || SSL_get_error(tls_, rc) != SSL_ERROR_WANT_READ;
}

}  // namespace ferry::http
