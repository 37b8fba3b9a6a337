// The process that owns one attempt: it starts the script, owns its output, its process tree and its exit record, and takes what the script logs.
// It depends on nobody: agent and server may die and be replaced while it goes on.
//
// Its folder (an attempt's, on the node):
//   launch.json      what to start; written by the agent before
//   supervisor.lock  held while it lives
//   supervisor.json  its pid, just before the script runs; there is never a second one
//   std_log.txt      the script's stdout and stderr, in order
//   spool            what the script logged, a JSON record a line, each acknowledged to the script once it is here
//   exit.json        how the script ended, once it and all its descendants are gone
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/attempt.h"

namespace ferry::agent {

struct Launch {
  std::string name;  // the attempt's; every process of it carries FERRY_ATTEMPT=name
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::string folder;  // working directory
  std::string token;   // what the script must show to log
  std::string first_line;  // written to the log before the script starts; may be empty
  int64_t max_duration_seconds = 0;
  int64_t stop_grace_seconds = 10;  // between SIGTERM and SIGKILL
  int64_t sample_seconds = 10;      // between samples of what the script uses; 0: none
  std::vector<int> gpus;
};
Json ToJson(const Launch& launch);
Launch LaunchFromJson(const Json& json);

// The lock that a supervisor holds while it lives, and what one says that finds it held.
inline constexpr const char* kSupervisorLock = "supervisor.lock";
inline constexpr const char* kSupervisorBusy = "another supervisor has this attempt";

// `ferry-agent supervise FOLDER`: detaches, starts the script and returns in the caller's process once it runs (or could not be started: the text
// on stderr says why). Never returns in the supervisor itself. Returns the exit status.
int Supervise(const std::string& folder);

}  // namespace ferry::agent
