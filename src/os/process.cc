#include "os/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/text.h"

extern char** environ;

namespace ferry::os {
namespace {

std::string ReadProc(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string out;
  char buffer[8192];
  ssize_t n;
  while ((n = ::read(fd, buffer, sizeof buffer)) > 0) out.append(buffer, static_cast<size_t>(n));
  ::close(fd);
  return out;
}

// The fields of /proc/PID/stat after the name: state is [0], the parent [1].
std::vector<std::string_view> StatFields(const std::string& stat) {
  size_t close = stat.rfind(')');
  if (close == std::string::npos || close + 2 > stat.size()) return {};
  return Split(std::string_view(stat).substr(close + 2), ' ');
}

std::vector<int> AllProcesses() {
  std::vector<int> pids;
  DIR* dir = ::opendir("/proc");
  if (!dir) return pids;
  while (dirent* entry = ::readdir(dir))
    if (auto pid = ParseInt(entry->d_name)) pids.push_back(static_cast<int>(*pid));
  ::closedir(dir);
  return pids;
}

WaitStatus Decode(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace

// vfork's child must not be inlined into code whose locals the compiler keeps in registers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wclobbered"
Result<int> Spawn(const SpawnOptions& options) {
  std::map<std::string, std::string> env = options.environment ? *options.environment : Environment();
  std::vector<std::string> pairs;
  pairs.reserve(env.size());
  for (const auto& [key, value] : env) pairs.push_back(StrCat(key, "=", value));
  std::vector<char*> envp, argv;
  for (std::string& pair : pairs) envp.push_back(pair.data());
  envp.push_back(nullptr);
  for (const std::string& arg : options.argv) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  std::string program = options.argv.empty() ? "" : options.argv[0];
  if (program.find('/') == std::string::npos) {
    auto it = env.find("PATH");
    auto found = FindProgram(program, it == env.end() ? "/usr/local/bin:/usr/bin:/bin" : it->second);
    if (!found) return MakeError(Code::kNotFound, "process.not_found", StrCat("there is no program '", program, "' on the PATH"));
    program = *found;
  }
  int report[2];
  if (::pipe2(report, O_CLOEXEC) < 0) return ErrnoError(errno, "open a pipe", "");
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Born into the group: moving a process into one later makes it wait for the whole machine.
  int pid = -1;
  if (options.join_fd >= 0) {
    clone_args args{};
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = SIGCHLD;
    args.cgroup = static_cast<uint64_t>(options.join_fd);
    pid = static_cast<int>(::syscall(SYS_clone3, &args, sizeof args));
  }
  if (pid < 0) pid = ::vfork();
  if (pid == 0) {
    // Shares memory with the parent until exec: system calls only.
    for (int s : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGQUIT, SIGUSR1, SIGUSR2}) ::signal(s, SIG_DFL);
    if (options.new_session) ::setsid();
    if (options.new_group) ::setpgid(0, 0);
    if (options.die_with_parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int in = options.stdin_fd >= 0 ? options.stdin_fd : ::open("/dev/null", O_RDONLY);
    ::dup2(in, 0);
    if (options.stdout_fd >= 0) ::dup2(options.stdout_fd, 1);
    if (options.stderr_fd >= 0) ::dup2(options.stderr_fd, 2);
    if (options.folder.empty() || ::chdir(options.folder.c_str()) == 0) {
      sigset_t none;
      sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::execve(program.c_str(), argv.data(), envp.data());
    }
    int error = errno;
    [[maybe_unused]] ssize_t n = ::write(report[1], &error, sizeof error);
    ::_exit(127);
  }
  int spawn_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(report[1]);
  if (pid < 0) {
    ::close(report[0]);
    return ErrnoError(spawn_error, "start", program);
  }
  int error = 0;
  ssize_t n = ::read(report[0], &error, sizeof error);
  ::close(report[0]);
  if (n == sizeof error) {
    ::waitpid(pid, nullptr, 0);
    Error e = ErrnoError(error, "execute", program);
    if (error == ENOENT || error == ENOTDIR) e.slug = "process.not_found";
    if (error == EACCES || error == ENOEXEC) e = MakeError(Code::kForbidden, "process.denied", StrCat("cannot execute ", program, ": ", std::strerror(error)));
    return e;
  }
  return pid;
}

#pragma GCC diagnostic pop

Result<WaitStatus> Wait(int pid, std::optional<std::chrono::milliseconds> limit) {
  if (limit) {
    Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (fd) {
      pollfd p{fd.get(), POLLIN, 0};
      int ready;
      do ready = ::poll(&p, 1, static_cast<int>(limit->count()));
      while (ready < 0 && errno == EINTR);
      if (ready == 0) return MakeError(Code::kTimeout, "process.timeout", StrCat("process ", pid, " did not end in time"));
    }
  }
  int status;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return ErrnoError(errno, "wait for process", StrCat(pid));
  return Decode(status);
}

std::optional<std::pair<int, WaitStatus>> ReapOne() {
  int status;
  int pid;
  do pid = ::waitpid(-1, &status, WNOHANG);
  while (pid < 0 && errno == EINTR);
  if (pid <= 0) return std::nullopt;
  return std::make_pair(pid, Decode(status));
}

bool HasChildren() {
  siginfo_t info;
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void SendSignal(int pid, int signal) { ::kill(pid, signal); }

std::optional<ProcessId> Identify(int pid) {
  std::string stat = ReadProc(StrCat("/proc/", pid, "/stat"));
  auto fields = StatFields(stat);
  if (fields.size() < 20) return std::nullopt;
  return ProcessId{pid, static_cast<uint64_t>(ParseInt(fields[19]).value_or(0))};
}

bool IsAlive(const ProcessId& id) {
  std::string stat = ReadProc(StrCat("/proc/", id.pid, "/stat"));
  auto fields = StatFields(stat);
  if (fields.size() < 20) return false;
  return fields[0] != "Z" && fields[0] != "X" && ParseInt(fields[19]) == static_cast<int64_t>(id.started);
}

ProcessId Self() { return Identify(::getpid()).value_or(ProcessId{::getpid(), 0}); }

Result<bool> ForkDetached() {
  int pid = ::fork();
  if (pid < 0) return ErrnoError(errno, "fork", "");
  if (pid > 0) return false;
  ::setsid();
  ::signal(SIGCHLD, SIG_DFL);
  return true;
}

void YieldToOthers() { (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10); }

void IgnoreChildren() { ::signal(SIGCHLD, SIG_IGN); }

void SilenceStandardStreams() {
  int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  if (null > 2) ::close(null);
}

void ProcessExit(int status) { ::_exit(status); }

Result<std::pair<Fd, Fd>> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return ErrnoError(errno, "open a pipe", "");
  return std::make_pair(Fd(ends[0]), Fd(ends[1]));
}

void BecomeSubreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<int> Descendants() {
  std::map<int, std::vector<int>> children;
  std::set<int> zombies;
  for (int pid : AllProcesses()) {
    std::string stat = ReadProc(StrCat("/proc/", pid, "/stat"));
    auto fields = StatFields(stat);
    if (fields.size() < 2) continue;
    if (auto parent = ParseInt(fields[1])) children[static_cast<int>(*parent)].push_back(pid);
    if (fields[0] == "Z" || fields[0] == "X") zombies.insert(pid);
  }
  std::vector<int> found, todo = {::getpid()};
  while (!todo.empty()) {
    int pid = todo.back();
    todo.pop_back();
    for (int child : children[pid]) {
      todo.push_back(child);
      if (!zombies.count(child)) found.push_back(child);
    }
  }
  return found;
}

std::vector<int> ProcessesWith(const std::string& name, const std::string& value) {
  std::string wanted = StrCat(name, "=", value);
  std::vector<int> found;
  for (int pid : AllProcesses()) {
    std::string env = ReadProc(StrCat("/proc/", pid, "/environ"));
    for (std::string_view pair : Split(env, '\0'))
      if (pair == wanted) {
        found.push_back(pid);
        break;
      }
  }
  return found;
}

Usage Measure(const std::vector<int>& pids) {
  Usage usage;
  static const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (int pid : pids) {
    std::string stat = ReadProc(StrCat("/proc/", pid, "/stat"));
    auto fields = StatFields(stat);
    if (fields.size() < 22) continue;
    ++usage.processes;
    usage.cpu_seconds += static_cast<double>(ParseInt(fields[11]).value_or(0) + ParseInt(fields[12]).value_or(0)) / ticks;
    auto line = [](const std::string& text, std::string_view key) -> uint64_t {
      size_t at = text.find(key);
      if (at == std::string::npos) return 0;
      size_t digit = text.find_first_of("0123456789", at + key.size());
      size_t end = text.find_first_not_of("0123456789", digit);
      return digit == std::string::npos ? 0 : static_cast<uint64_t>(ParseInt(std::string_view(text).substr(digit, end - digit)).value_or(0));
    };
    uint64_t pss = line(ReadProc(StrCat("/proc/", pid, "/smaps_rollup")), "\nPss:") * 1024;
    usage.memory += pss ? pss : static_cast<uint64_t>(ParseInt(fields[21]).value_or(0)) * 4096;
    std::string io = ReadProc(StrCat("/proc/", pid, "/io"));
    usage.read_bytes += line(io, "\nread_bytes:");
    usage.written_bytes += line(io, "\nwrite_bytes:");
  }
  return usage;
}

uint64_t OutOfMemoryKills() {
  std::string text = ReadProc("/proc/vmstat");
  size_t at = text.find("\noom_kill ");
  if (at == std::string::npos) return 0;
  std::string_view rest = std::string_view(text).substr(at + 10);
  return static_cast<uint64_t>(ParseInt(rest.substr(0, rest.find('\n'))).value_or(0));
}

std::optional<std::string> GetEnv(const std::string& name) {
  const char* value = ::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> out;
  for (char** pair = environ; pair && *pair; ++pair) {
    std::string_view text = *pair;
    size_t equals = text.find('=');
    if (equals != std::string_view::npos) out[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return out;
}

std::optional<std::string> FindProgram(const std::string& name, const std::string& path) {
  if (name.empty()) return std::nullopt;
  auto usable = [](const std::string& p) {
    auto stat = StatPath(p);
    return stat.ok() && stat->type == FileType::kFile && ::access(p.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return usable(name) ? std::optional(name) : std::nullopt;
  for (std::string_view folder : Split(path, ':')) {
    std::string candidate = JoinPath(folder.empty() ? "." : folder, name);
    if (usable(candidate)) return candidate;
  }
  return std::nullopt;
}

std::string ExecutablePath() { return ReadLink("/proc/self/exe").ValueOr(""); }

std::string HostName() {
  char buffer[256] = {};
  ::gethostname(buffer, sizeof buffer - 1);
  return buffer;
}

std::string UserName() {
  if (auto user = GetEnv("USER"); user && !user->empty()) return *user;
  return StrCat("uid", ::getuid());
}

unsigned UserId() { return ::geteuid(); }

unsigned GroupId() { return ::getegid(); }

std::string HomeFolder() {
  if (auto home = GetEnv("HOME"); home && !home->empty()) return *home;
  return "/";
}

unsigned CoreCount() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN));
}

uint64_t TotalMemory() { return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE)); }

}  // namespace ferry::os
