// Processes: starting, watching and ending them and everything they started.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/file.h"

namespace ferry::os {

struct SpawnOptions {
  std::vector<std::string> argv;                                  // argv[0] is a path or a name on the PATH of `environment`
  std::optional<std::map<std::string, std::string>> environment;  // none: this process's
  std::string folder;                                             // working directory; empty: this one's
  int stdin_fd = -1;                                              // -1: /dev/null
  int stdout_fd = -1;                                             // -1: this one's
  int stderr_fd = -1;
  bool new_session = false;      // setsid: survives this process's terminal and group
  bool die_with_parent = false;  // SIGKILL when the thread that spawned it ends
  bool new_group = false;
  int join_fd = -1;  // a Cgroup's join(): the child is born in it where the kernel can do that
};
// Starts a program. A program that cannot be executed is kNotFound "process.not_found" or kForbidden "process.denied".
Result<int> Spawn(const SpawnOptions& options);

struct WaitStatus {
  int code = 0;
  int signal = 0;  // not 0: ended by it
};
// Waits for a child. kTimeout "process.timeout" after `limit`.
Result<WaitStatus> Wait(int pid, std::optional<std::chrono::milliseconds> limit = std::nullopt);
// Takes up one ended child, any, without waiting.
std::optional<std::pair<int, WaitStatus>> ReapOne();

// Whether any child, ended or not, is left. For a subreaper: whether anything it started lives.
bool HasChildren();

void SendSignal(int pid, int signal);  // a process that is gone is no error
// Names a process beyond the reuse of its number.
struct ProcessId {
  int pid = 0;
  uint64_t started = 0;  // kernel ticks since boot

  bool operator==(const ProcessId&) const = default;
};
std::optional<ProcessId> Identify(int pid);
bool IsAlive(const ProcessId& id);  // not gone and not a zombie
ProcessId Self();

// Forks. True in the child, which has a session of its own, and the default handling of signals. Call before any thread exists.
Result<bool> ForkDetached();
// Children are taken up by the kernel.
void IgnoreChildren();
// Points stdin, stdout and stderr at /dev/null.
void SilenceStandardStreams();
// The calling thread gets what processor time the others leave.
void YieldToOthers();
// Ends this process at once, without destructors.
[[noreturn]] void ProcessExit(int status);
// The two ends of a pipe: read, write.
Result<std::pair<Fd, Fd>> MakePipe();

// Orphans below this process become its children, however they detached themselves.
void BecomeSubreaper();
// Every living descendant of this process.
std::vector<int> Descendants();
// Every living process whose environment holds NAME=value.
std::vector<int> ProcessesWith(const std::string& name, const std::string& value);

// What a set of processes uses.
struct Usage {
  double cpu_seconds = 0;  // user and system, of those alive
  uint64_t memory = 0;     // proportional set size
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  int processes = 0;
};
Usage Measure(const std::vector<int>& pids);
// How often the kernel has killed for memory since boot.
uint64_t OutOfMemoryKills();

std::optional<std::string> GetEnv(const std::string& name);
std::map<std::string, std::string> Environment();
// The program as the PATH finds it, absolute; nothing when it is not there.
std::optional<std::string> FindProgram(const std::string& name, const std::string& path);
std::string ExecutablePath();  // of this process
std::string HostName();
std::string UserName();
unsigned UserId();  // the effective ones
unsigned GroupId();
std::string HomeFolder();
unsigned CoreCount();
uint64_t TotalMemory();

}  // namespace ferry::os
