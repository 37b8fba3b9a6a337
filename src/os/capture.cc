#include "os/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/text.h"
#include "os/file.h"

extern char** environ;

namespace ferry::os {

namespace {

constexpr size_t kMostOutput = 64u << 20;

using Clock = std::chrono::steady_clock;

Result<pid_t> Spawn(const std::vector<std::string>& argv, const std::string& folder, int out) {
  std::vector<char*> args;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, args[0], &actions, &attributes, args.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return MakeError(Code::kNotFound, "process.not_found", StrCat("there is no program ", argv[0]));
  if (error != 0) return ErrnoError(error, "run", argv[0]);
  return pid;
}

// Appends what the pipe gives until its end or the deadline.
Result<void> Drain(const Fd& pipe, Clock::time_point deadline, std::string& output, const std::string& program) {
  char buffer[65536];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd poll{pipe.get(), POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&poll, 1, static_cast<int>(std::min<long>(left + 1, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return ErrnoError(errno, "wait for", program);
    if (ready == 0) {
      if (Clock::now() < deadline) continue;
      return MakeError(Code::kTimeout, "process.timeout", StrCat(program, " did not end in time"));
    }
    const ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(errno, "read from", program);
    if (n == 0) return {};
    output.append(buffer, static_cast<size_t>(n));
    if (output.size() > kMostOutput) return MakeError(Code::kTooLarge, "process.output", StrCat(program, " prints too much"));
  }
}

}  // namespace

Result<Captured> RunAndCapture(const std::vector<std::string>& argv, const std::string& folder, Duration timeout) {
  FERRY_CHECK(!argv.empty());
  const auto deadline = Clock::now() + timeout;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return ErrnoError(errno, "open a pipe for", argv[0]);
  Fd reading(ends[0]), writing(ends[1]);
  TRY(pid_t pid, Spawn(argv, folder, writing.get()));
  writing.Close();
  Captured captured;
  auto drained = Drain(reading, deadline, captured.output, argv[0]);
  int status = 0;
  for (;;) {
    const bool wait = !drained.ok();
    if (wait) ::kill(-pid, SIGKILL);
    const pid_t ended = ::waitpid(pid, &status, wait ? 0 : WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) return ErrnoError(errno, "wait for", argv[0]);
    if (ended == 0) {
      if (Clock::now() >= deadline)
        drained = MakeError(Code::kTimeout, "process.timeout", StrCat(argv[0], " did not end in time"));
      else
        ::usleep(100);
    }
  }
  if (!drained.ok()) return drained.error();
  captured.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return captured;
}

}  // namespace ferry::os
