#include "os/program.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "os/process.h"

namespace ferry::os {
namespace {

constexpr size_t kMostOutput = 64u << 20;
constexpr size_t kMostErrors = 4096;  // kept, of the end

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Error Late(const std::string& program) { return MakeError(Code::kTimeout, "process.timeout", StrCat(program, " did not end in time")); }

milliseconds Left(Clock::time_point deadline) { return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now())); }

// Takes one read of the pipe, which closes at its end.
void Take(Fd& pipe, const pollfd& polled, std::string& into) {
  if (!(polled.revents & (POLLIN | POLLHUP | POLLERR))) return;
  char buffer[65536];
  const ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
  if (n > 0)
    into.append(buffer, static_cast<size_t>(n));
  else if (n == 0 || errno != EINTR)
    pipe.Close();
}

// Reads both pipes to their ends.
Result<void> Drain(Fd& out, Fd& err, Clock::time_point deadline, const std::string& program, Ran& ran) {
  while (out || err) {
    pollfd polled[2] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
    const int ready = ::poll(polled, 2, static_cast<int>(std::min<int64_t>(Left(deadline).count(), 1'000'000)));
    if (ready < 0 && errno != EINTR) return ErrnoError(errno, "wait for", program);
    if (ready <= 0 && Clock::now() >= deadline) return Late(program);
    if (ready <= 0) continue;
    Take(out, polled[0], ran.output);
    Take(err, polled[1], ran.errors);
    if (ran.output.size() > kMostOutput) return MakeError(Code::kTooLarge, "process.output", StrCat(program, " prints too much"));
    if (ran.errors.size() > 2 * kMostErrors) ran.errors.erase(0, ran.errors.size() - kMostErrors);
  }
  return {};
}

}  // namespace

Result<Ran> RunProgram(const std::vector<std::string>& argv, milliseconds limit, const std::string& folder) {
  FERRY_CHECK(!argv.empty());
  const auto deadline = Clock::now() + limit;
  TRY(auto out, MakePipe());
  TRY(auto err, MakePipe());
  SpawnOptions options;
  options.argv = argv;
  options.folder = folder;
  options.stdout_fd = out.second.get();
  options.stderr_fd = err.second.get();
  options.new_group = true;
  TRY(int pid, Spawn(options));
  out.second.Close();
  err.second.Close();
  Ran ran;
  auto drained = Drain(out.first, err.first, deadline, argv[0], ran);
  auto ended = drained.ok() ? Wait(pid, Left(deadline)) : Result<WaitStatus>(drained.error());
  if (!drained.ok() || (!ended.ok() && ended.error().slug == "process.timeout")) {
    ::kill(-pid, SIGKILL);
    (void)Wait(pid);
    return drained.ok() ? Late(argv[0]) : drained.error();
  }
  if (ended.ok()) ran.status = ended->signal ? 128 + ended->signal : ended->code;
  return ran;
}

Result<std::string> OutputOf(const std::vector<std::string>& argv, milliseconds limit, const std::string& folder) {
  TRY(Ran ran, RunProgram(argv, limit, folder));
  if (ran.status == 0) return std::move(ran.output);
  std::string tail(Trim(ran.errors));
  if (tail.size() > 400) tail = tail.substr(tail.size() - 400);
  return MakeError(Code::kInternal, "process.failed", StrCat(argv[0], " ended with status ", ran.status, tail.empty() ? "" : ": ", tail));
}

}  // namespace ferry::os
