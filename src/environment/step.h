// One program of a build: what it says goes to the build's log as it comes, and a failure becomes one sentence.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "environment/builder.h"

namespace ferry::environment {

struct Step {
  std::string tool;  // for Explain: "uv", "pip", "rattler", "conda", "podman", ...
  std::vector<std::string> argv;
  std::map<std::string, std::string> variables;  // besides those every tool gets
  std::string folder;                            // working directory
  std::string input;
  std::function<bool(std::string_view line)> take;  // sees each line first; true: it is no line for the log
  const model::Environment* definition = nullptr;   // what Explain is to name lines of; null: the job's
};
// Runs it to its end. A status that is not 0 is Explain's error. kCanceled "environment.stopped" when the job was stopped: then every process with the
// job's mark is gone.
Result<void> RunStep(const Job& job, const Settings& settings, const Step& step);

// The variables of the agent without those that would lead a tool astray, with settings.path and the job's mark.
std::map<std::string, std::string> ToolVariables(const Job& job, const Settings& settings);

}  // namespace ferry::environment
