#include "os/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "base/text.h"

namespace ferry::os {
namespace {

// One address a socket can bind or connect to.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Error Stopped() { return MakeError(Code::kUnavailable, "socket.stopped", "stopped"); }
Error TimedOut() { return MakeError(Code::kTimeout, "socket.timeout", "no answer in time"); }
Error Unreachable(std::string why) { return MakeError(Code::kUnavailable, "socket.unreachable", std::move(why)); }

std::optional<Endpoint> NumericEndpoint(const std::string& host, uint16_t port) {
  Endpoint out;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    out.size = sizeof *v4;
    return out;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    out.size = sizeof *v6;
    return out;
  }
  return std::nullopt;
}

std::optional<Endpoint> UnixEndpoint(const std::string& path) {
  Endpoint out;
  auto* un = reinterpret_cast<sockaddr_un*>(&out.storage);
  if (path.empty() || path.size() >= sizeof un->sun_path) return std::nullopt;
  un->sun_family = AF_UNIX;
  std::memcpy(un->sun_path, path.c_str(), path.size() + 1);
  out.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return out;
}

// A lookup of a name on a thread of its own, since the system's resolver can be neither timed nor stopped. A lookup that is given up ends
// by itself later and touches nothing but this.
struct Lookup {
  Fd done;  // readable when finished
  std::vector<Endpoint> found;
  std::string error;
};

void RunLookup(const std::shared_ptr<Lookup>& lookup, const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  int rc = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (rc != 0) lookup->error = gai_strerror(rc);
  for (addrinfo* at = list; at != nullptr; at = at->ai_next) {
    Endpoint endpoint;
    if (at->ai_addrlen > sizeof endpoint.storage) continue;
    std::memcpy(&endpoint.storage, at->ai_addr, at->ai_addrlen);
    endpoint.size = at->ai_addrlen;
    lookup->found.push_back(endpoint);
  }
  if (list) freeaddrinfo(list);
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(lookup->done.get(), &one, sizeof one);
}

Result<std::vector<Endpoint>> Resolve(const std::string& host, uint16_t port, SteadyTime deadline, const StopSignal& stop) {
  if (auto numeric = NumericEndpoint(host, port)) return std::vector<Endpoint>{*numeric};
  if (host == "localhost") return std::vector<Endpoint>{*NumericEndpoint("127.0.0.1", port), *NumericEndpoint("::1", port)};
  auto lookup = std::make_shared<Lookup>();
  lookup->done = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!lookup->done) return Unreachable(ErrorText(errno));
  try {
    std::thread([lookup, host, port] { RunLookup(lookup, host, port); }).detach();
  } catch (const std::system_error& error) {
    return Unreachable(error.what());
  }
  TRY(Readiness ready, WaitReady(lookup->done, {.readable = true}, deadline, stop));
  (void)ready;
  uint64_t count;
  [[maybe_unused]] ssize_t n = ::read(lookup->done.get(), &count, sizeof count);
  if (lookup->found.empty()) return Unreachable(lookup->error.empty() ? "the name has no address" : lookup->error);
  return std::move(lookup->found);
}

void NoDelay(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

Result<Fd> ConnectEndpoint(const Endpoint& endpoint, SteadyTime deadline, const StopSignal& stop) {
  Fd fd(::socket(endpoint.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Unreachable(ErrorText(errno));
  if (endpoint.family() != AF_UNIX) NoDelay(fd.get());
  int rc;
  do rc = ::connect(fd.get(), endpoint.get(), endpoint.size);
  while (rc < 0 && errno == EINTR);
  if (rc == 0) return fd;
  if (errno != EINPROGRESS) return Unreachable(ErrorText(errno));
  TRY(Readiness ready, WaitReady(fd, {.writable = true}, deadline, stop));
  (void)ready;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return Unreachable(ErrorText(error));
  return fd;
}

Result<Fd> Listen(const Endpoint& endpoint, std::string_view name) {
  Fd fd(::socket(endpoint.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return MakeError(Code::kInternal, "socket.listen", StrCat("cannot listen on ", name, ": ", ErrorText(errno)));
  int one = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(fd.get(), endpoint.get(), endpoint.size) < 0 || ::listen(fd.get(), SOMAXCONN) < 0) {
    bool in_use = errno == EADDRINUSE;
    return MakeError(in_use ? Code::kConflict : Code::kInternal, in_use ? "socket.in_use" : "socket.listen",
                     StrCat("cannot listen on ", name, ": ", ErrorText(errno)));
  }
  return fd;
}

short PollEvents(Readiness wanted) { return static_cast<short>((wanted.readable ? POLLIN : 0) | (wanted.writable ? POLLOUT : 0)); }

Readiness FromPoll(short events, Readiness wanted) {
  bool broken = events & (POLLERR | POLLHUP | POLLNVAL);
  return {.readable = wanted.readable && (broken || (events & POLLIN)), .writable = wanted.writable && (broken || (events & POLLOUT))};
}

Transfer Failed(int error) {
  if (error == EAGAIN || error == EWOULDBLOCK) return {};
  return {.kind = Transfer::Kind::kFailed, .bytes = 0, .error = error};
}

}  // namespace

StopSignal::StopSignal(std::stop_token stop) : stop_(std::move(stop)) {
  if (!stop_.stop_possible()) return;
  event_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event_) callback_.emplace(stop_, Wake{event_.get()});
}

void StopSignal::Wake::operator()() const noexcept {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(fd, &one, sizeof one);
}

Result<Readiness> WaitReady(const Fd& fd, Readiness wanted, SteadyTime deadline, const StopSignal& stop) {
  for (;;) {
    if (stop.stopped()) return Stopped();
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd polled[2] = {{fd.get(), PollEvents(wanted), 0}, {stop.fd(), POLLIN, 0}};
    int timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
    int rc = ::poll(polled, stop.fd() >= 0 ? 2 : 1, timeout);
    if (rc < 0 && errno != EINTR) return Unreachable(ErrorText(errno));
    if (stop.stopped()) return Stopped();
    if (rc > 0 && polled[0].revents != 0) return FromPoll(polled[0].revents, wanted);
    if (std::chrono::steady_clock::now() >= deadline) return TimedOut();
  }
}

Readiness CheckReady(const Fd& fd, Readiness wanted) {
  pollfd polled{fd.get(), PollEvents(wanted), 0};
  if (::poll(&polled, 1, 0) <= 0) return {};
  return FromPoll(polled.revents, wanted);
}

Transfer Send(const Fd& fd, std::string_view first, std::string_view second) {
  iovec parts[2] = {{const_cast<char*>(first.data()), first.size()}, {const_cast<char*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = second.empty() ? 1 : 2;
  ssize_t n;
  do n = ::sendmsg(fd.get(), &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  if (n < 0) return Failed(errno);
  return {.kind = Transfer::Kind::kBytes, .bytes = static_cast<size_t>(n), .error = 0};
}

Transfer Send(const Fd& fd, std::string_view bytes) { return Send(fd, bytes, {}); }

Transfer Receive(const Fd& fd, char* into, size_t size) {
  ssize_t n;
  do n = ::recv(fd.get(), into, size, 0);
  while (n < 0 && errno == EINTR);
  if (n < 0) return Failed(errno);
  if (n == 0) return {.kind = Transfer::Kind::kEnd, .bytes = 0, .error = 0};
  return {.kind = Transfer::Kind::kBytes, .bytes = static_cast<size_t>(n), .error = 0};
}

std::string ErrorText(int error) { return std::generic_category().message(error); }

Result<Fd> ConnectTcp(const std::string& host, uint16_t port, SteadyTime deadline, const StopSignal& stop) {
  TRY(auto endpoints, Resolve(host, port, deadline, stop));
  Error last = Unreachable("no address");
  for (const Endpoint& endpoint : endpoints) {
    auto fd = ConnectEndpoint(endpoint, deadline, stop);
    if (fd.ok() || fd.error().slug != "socket.unreachable") return fd;
    last = fd.error();
  }
  return last;
}

Result<Fd> ConnectUnix(const std::string& path, SteadyTime deadline, const StopSignal& stop) {
  auto endpoint = UnixEndpoint(path);
  if (!endpoint) return Unreachable("the path is empty or too long for a socket");
  return ConnectEndpoint(*endpoint, deadline, stop);
}

Result<Fd> ListenTcp(const std::string& address, uint16_t port) {
  auto endpoint = NumericEndpoint(address, port);
  if (!endpoint) return MakeError(Code::kInvalid, "socket.listen", StrCat(address, " is no numeric address"));
  return Listen(*endpoint, StrCat(address, ":", port));
}

Result<Fd> ListenUnix(const std::string& path) {
  auto endpoint = UnixEndpoint(path);
  if (!endpoint) return MakeError(Code::kInvalid, "socket.listen", StrCat("the path is empty or too long for a socket: ", path));
  auto fd = Listen(*endpoint, path);
  if (fd.ok() || fd.error().slug != "socket.in_use") return fd;
  auto probe = ConnectUnix(path, std::chrono::steady_clock::now() + std::chrono::seconds(1), StopSignal());
  if (probe.ok() || probe.error().slug != "socket.unreachable") return fd;
  TRY_VOID(RemoveFile(path));
  return Listen(*endpoint, path);
}

Result<Fd> Accept(const Fd& listener, SteadyTime deadline, const StopSignal& stop) {
  for (;;) {
    Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) return fd;
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return Unreachable(ErrorText(errno));
    TRY(Readiness ready, WaitReady(listener, {.readable = true}, deadline, stop));
    (void)ready;
  }
}

uint16_t LocalPort(const Fd& fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &size) < 0) return 0;
  if (storage.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
  return 0;
}

void EndSending(const Fd& fd) { ::shutdown(fd.get(), SHUT_WR); }

void CloseOnExec(int fd) {
  int flags = ::fcntl(fd, F_GETFD);
  if (flags >= 0) ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

}  // namespace ferry::os
