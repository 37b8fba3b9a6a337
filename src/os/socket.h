// Stream sockets over TCP and unix paths, and waits that a deadline or a stop token ends.
// Every socket made here is non-blocking and closed on exec; nothing here raises SIGPIPE.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "os/file.h"

namespace ferry::os {

using SteadyTime = std::chrono::steady_clock::time_point;

// Makes a stop request visible to a wait on descriptors. Costs nothing when the token cannot be stopped.
class StopSignal {
 public:
  explicit StopSignal(std::stop_token stop = {});
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool stopped() const { return stop_.stop_requested(); }
  // Readable once a stop was requested; -1 when that cannot happen.
  int fd() const { return event_.get(); }

 private:
  struct Wake {
    int fd;
    void operator()() const noexcept;
  };
  std::stop_token stop_;
  Fd event_;
  std::optional<std::stop_callback<Wake>> callback_;  // last, so that it goes before the descriptor it writes to
};

// What to wait for, and what a wait found.
struct Readiness {
  bool readable = false;
  bool writable = false;
};

// Waits until the descriptor is ready for one of `wanted`. kTimeout "socket.timeout" after `deadline`, kUnavailable "socket.stopped" after a
// stop. A broken connection counts as ready: the next transfer tells.
Result<Readiness> WaitReady(const Fd& fd, Readiness wanted, SteadyTime deadline, const StopSignal& stop);
// The same, without waiting.
Readiness CheckReady(const Fd& fd, Readiness wanted);

// What one non-blocking transfer did.
struct Transfer {
  enum class Kind {
    kBytes,   // `bytes` were moved
    kWait,    // nothing could be moved now
    kEnd,     // the peer closed in order (receive only)
    kFailed,  // the connection is broken; `error` is the errno
  };
  Kind kind = Kind::kWait;
  size_t bytes = 0;
  int error = 0;
};
Transfer Send(const Fd& fd, std::string_view bytes);
Transfer Send(const Fd& fd, std::string_view first, std::string_view second);
Transfer Receive(const Fd& fd, char* into, size_t size);
// The text of an errno.
std::string ErrorText(int error);

// Connects to a name or a numeric address; every address of a name is tried in turn. kUnavailable "socket.unreachable" (the message is the
// reason alone), kTimeout "socket.timeout", kUnavailable "socket.stopped".
Result<Fd> ConnectTcp(const std::string& host, uint16_t port, SteadyTime deadline, const StopSignal& stop);
Result<Fd> ConnectUnix(const std::string& path, SteadyTime deadline, const StopSignal& stop);

// Listens on a numeric address; port 0 takes a free one. kConflict "socket.in_use", else kInvalid or kInternal "socket.listen".
Result<Fd> ListenTcp(const std::string& address, uint16_t port);
// Replaces a socket file that nobody listens on.
Result<Fd> ListenUnix(const std::string& path);
// The next connection.
Result<Fd> Accept(const Fd& listener, SteadyTime deadline, const StopSignal& stop);
// The port a TCP socket is bound to; 0 when there is none.
uint16_t LocalPort(const Fd& fd);
// Says "no more bytes from here".
void EndSending(const Fd& fd);

// Marks a descriptor made elsewhere as closed on exec.
void CloseOnExec(int fd);

}  // namespace ferry::os
