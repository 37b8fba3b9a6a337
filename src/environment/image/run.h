// A script inside a container: how it is started and how what is left of it is removed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "environment/builder.h"
#include "environment/image/engine.h"

namespace ferry::environment {

struct RunPlan {
  Engine engine;
  std::string name;               // the container's, see ContainerName
  std::string work;               // the attempt's working folder: the script's working directory, under the same path inside
  std::vector<std::string> argv;  // the script's
  std::map<std::string, std::string> variables;
  std::vector<std::string> later;    // names of variables that whoever starts the process will set: FERRY_RUN_SOCKET
  std::vector<std::string> folders;  // mounted under the same path, to write to: the attempt's artifacts
  std::vector<std::string>
      collected;    // folders below `work` that the agent collects; they exist. Only these are written to outside when volumes are not shared
  std::string sdk;  // mounted under the same path, to read; in front of PYTHONPATH
  std::vector<int> gpus;
  double cpus = 0;      // 0: no limit
  uint64_t memory = 0;  // bytes; 0: no limit
  unsigned uid = 0, gid = 0;
};

// What to start, and its variables on top of the agent's own. The values of the script's variables are in the process's environment, never on its
// command line: but for those that the engine itself would obey (PATH, HOME, LD_LIBRARY_PATH, ...).
struct ContainerStart {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
};
// Pure. The container's process answers for the script: it forwards SIGTERM once, ends with the script's exit status (128 + n for a signal n) and is gone
// after it. 125: the engine could not start it. kInvalid for what cannot be done, with its field.
Result<ContainerStart> ContainerCommand(const Ready& ready, const model::DockerSection& docker, const RunPlan& plan);

// "ferry-" and the attempt's name, as engines take it.
std::string ContainerName(std::string_view attempt);
// Ends the container and removes it, whatever state it is in. Success when there is none.
std::vector<std::string> EndCommand(const Engine& engine, const std::string& name);
Result<void> EndContainer(const Engine& engine, const std::string& name);

}  // namespace ferry::environment
