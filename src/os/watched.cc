#include "os/watched.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/text.h"
#include "os/file.h"

namespace ferry::os {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLongestLine = 64u << 10;
constexpr auto kAsk = std::chrono::milliseconds(250);
constexpr auto kGrace = std::chrono::seconds(3);

// Cuts bytes into lines.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& line) : line_(line) {}

  void Add(std::string_view bytes) {
    while (!bytes.empty()) {
      size_t end = std::min(bytes.find('\n'), bytes.size());
      if (line_ && pending_.size() < kLongestLine) pending_.append(bytes.substr(0, std::min(end, kLongestLine - pending_.size())));
      begun_ = true;
      if (end == bytes.size()) return;
      Flush();
      bytes.remove_prefix(end + 1);
    }
  }
  void Flush() {
    if (!begun_) return;
    begun_ = false;
    if (!pending_.empty() && pending_.back() == '\r') pending_.pop_back();
    if (line_) line_(pending_);
    pending_.clear();
  }

 private:
  const std::function<void(std::string_view)>& line_;
  std::string pending_;
  bool begun_ = false;
};

// False at the end of the pipe; returns after 4 MB, so that a flood hides nothing else. REQUIRES: a pipe that does not block.
bool TakeWhatIsThere(const Fd& pipe, Lines& lines) {
  char buffer[65536];
  for (int i = 0; i < 64; ++i) {
    ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    lines.Add(std::string_view(buffer, static_cast<size_t>(n)));
    if (static_cast<size_t>(n) < sizeof buffer) break;
  }
  return true;
}

// A file in memory, so that a program that does not read its input blocks nobody.
Result<Fd> InputFile(const std::string& input) {
  Fd fd(::memfd_create("input", MFD_CLOEXEC));
  if (!fd) return ErrnoError(errno, "make room for", "a program's input");
  TRY_VOID(WriteAllAt(fd, input, 0));
  return fd;
}

}  // namespace

Result<WaitStatus> RunWatched(const WatchedCommand& command) {
  FERRY_CHECK(!command.argv.empty());
  TRY(auto ends, MakePipe());
  auto& [reading, writing] = ends;
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  Fd input;
  if (!command.input.empty()) {
    TRY(input, InputFile(command.input));
  }
  SpawnOptions options;
  options.argv = command.argv;
  options.environment = command.environment;
  options.folder = command.folder;
  options.stdin_fd = input.get();
  options.stdout_fd = options.stderr_fd = writing.get();
  // A session of its own: nothing asks for a password at a terminal, and the group is the program's alone.
  options.new_session = true;
  options.die_with_parent = true;
  TRY(int pid, Spawn(options));
  writing.Close();
  Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));

  Lines lines(command.line);
  bool open = true, stopped = false, killed = false;
  Clock::time_point asked = Clock::now(), kill_at{};
  for (;;) {
    pollfd wait[2] = {{ended.get(), POLLIN, 0}, {open ? reading.get() : -1, POLLIN, 0}};
    ::poll(wait, 2, static_cast<int>(kAsk.count()));
    if (wait[1].revents) open = TakeWhatIsThere(reading, lines);
    // Looked at without taking it up: while the number is taken its group's is too.
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno != EINTR : info.si_pid == pid) break;
    Clock::time_point now = Clock::now();
    if (!stopped && now - asked >= kAsk) {
      asked = now;
      if (command.stopping && command.stopping()) {
        stopped = true;
        kill_at = now + kGrace;
        ::kill(-pid, SIGTERM);
      }
    }
    if (stopped && !killed && now >= kill_at) {
      killed = true;
      ::kill(-pid, SIGKILL);
    }
  }
  // Nothing of the group outlives it.
  ::kill(-pid, SIGKILL);
  TRY(WaitStatus status, Wait(pid));
  // Somebody who left the group may hold the pipe for ever; what was written is in it already.
  if (open) (void)TakeWhatIsThere(reading, lines);
  lines.Flush();
  if (stopped) return MakeError(Code::kCanceled, "process.stopped", StrCat(command.argv[0], " was stopped"));
  return status;
}

}  // namespace ferry::os
