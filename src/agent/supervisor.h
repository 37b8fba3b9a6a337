// The process that owns one attempt: it starts the script, owns its output, its process tree and its exit record, and takes what the script logs.
// It depends on nobody: agent and server may die and be replaced while it goes on.
//
// Its folder (an attempt's, on the node):
//   supervisor.json  its pid, once the script runs
//   std_log.txt      the script's stdout and stderr, in order
//   spool            what the script logged, a JSON record a line, each acknowledged to the script once it is here
//   exit.json        how the script ended, once it and all its descendants are gone
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/attempt.h"

namespace ferry::agent {

struct Launch {
  std::string name;  // the attempt's; every process of it carries FERRY_ATTEMPT=name
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // on top of InheritedEnvironment()
  std::string folder;                              // working directory
  std::string token;                               // what the script must show to log
  // Ends the container that `argv` starts; empty: it starts none. The engine's process hands SIGTERM on to the script, and its end is the container's.
  std::vector<std::string> end_container;
  std::string first_line;  // written to the log before the script starts; may be empty
  int64_t max_duration_seconds = 0;
  int64_t stop_grace_seconds = 10;  // between SIGTERM and SIGKILL
  int64_t sample_seconds = 10;      // between samples of what the script uses; 0: none
  std::vector<int> gpus;
};
// What the kernel counted of processes that it killed for memory.
struct MemoryKills {
  std::optional<uint64_t> group;  // in the script's own control group, when that counts
  uint64_t before = 0;            // on the whole machine, when the script began
  uint64_t after = 0;             // and when it had ended
};
// Whether the script died for want of memory. `killed`: the supervisor itself has sent SIGKILL.
bool DiedOfMemory(int signal, bool killed, const MemoryKills& kills);
// What every script inherits from the agent: everything but Ferry's own variables.
std::map<std::string, std::string> InheritedEnvironment();
Json ToJson(const Launch& launch);
Launch LaunchFromJson(const Json& json);

// Becomes the supervisor of an attempt, in this process, which has no threads and is nobody's to wait for. `answer` is called once: with "" when the
// script runs, else with why it does not. Returns when the script and everything it started are gone and the record is written.
int SuperviseHere(const std::string& folder, const Launch& launch, const std::function<void(const std::string& error)>& answer);

}  // namespace ferry::agent
