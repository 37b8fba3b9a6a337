#include "environment/step.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <thread>

#include "base/text.h"
#include "environment/requirement.h"
#include "os/process.h"
#include "os/watched.h"

namespace ferry::environment {
namespace {

// What Explain gets to see of a tool's output: its beginning, where some say what they are about to fail with, and its end.
constexpr size_t kFirst = 100, kLast = 300;

// Would make Python or a tool look at another environment than ours, or carry the agent's own secrets.
constexpr std::array<std::string_view, 16> kAstray = {
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "CONDA_SHLVL",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
    "UV_PROJECT_ENVIRONMENT",
    "UV_SYSTEM_PYTHON",
    "UV_PYTHON",
    "PYENV_VERSION",
};

void EndMarked(const std::string& mark) {
  if (mark.empty()) return;
  int self = os::Self().pid;
  // What is killed may have started something a moment before.
  for (int round = 0; round < 100; ++round) {
    auto left = os::ProcessesWith("FERRY_ATTEMPT", mark);
    std::erase(left, self);
    if (left.empty()) return;
    for (int pid : left) os::SendSignal(pid, 9);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

std::map<std::string, std::string> ToolVariables(const Job& job, const Settings& settings) {
  std::map<std::string, std::string> variables = os::Environment();
  std::erase_if(variables, [](const auto& item) {
    return item.first.starts_with("FERRY_") || item.first.starts_with("AZUREML_") || std::find(kAstray.begin(), kAstray.end(), item.first) != kAstray.end();
  });
  variables["PATH"] = settings.path;
  variables["FERRY_ATTEMPT"] = job.mark;
  variables["PYTHONUNBUFFERED"] = "1";
  variables["PYTHONUTF8"] = "1";
  variables["PIP_DISABLE_PIP_VERSION_CHECK"] = "1";
  variables["PIP_NO_INPUT"] = "1";
  variables["NO_COLOR"] = "1";
  return variables;
}

Result<void> RunStep(const Job& job, const Settings& settings, const Step& step) {
  Error stopped = MakeError(Code::kCanceled, "environment.stopped", "the build was stopped");
  if (job.stopping && job.stopping()) return stopped;
  std::vector<std::string> first, last;
  size_t next = 0;
  os::WatchedCommand command;
  command.argv = step.argv;
  command.environment = ToolVariables(job, settings);
  for (const auto& [name, value] : step.variables) (*command.environment)[name] = value;
  command.folder = step.folder;
  command.input = step.input;
  command.stopping = job.stopping;
  command.line = [&](std::string_view line) {
    if (step.take && step.take(line)) return;
    std::string shown = WithoutCredentials(line);
    if (job.log) job.log(shown);
    if (first.size() < kFirst)
      first.push_back(std::move(shown));
    else if (last.size() < kLast)
      last.push_back(std::move(shown));
    else
      last[next++ % kLast] = std::move(shown);
  };
  auto ended = os::RunWatched(command);
  if (!ended.ok() && ended.error().code == Code::kCanceled) {
    EndMarked(job.mark);
    return stopped;
  }
  if (!ended.ok()) return ended.error();
  // A stop that came while it was ending is one all the same.
  if (job.stopping && job.stopping()) return stopped;
  if (ended->code == 0 && ended->signal == 0) return {};
  std::rotate(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(last.size() < kLast ? 0 : next % kLast), last.end());
  first.insert(first.end(), std::make_move_iterator(last.begin()), std::make_move_iterator(last.end()));
  return Explain(step.definition ? *step.definition : job.definition, step.tool, first, ended->signal ? 128 + ended->signal : ended->code);
}

}  // namespace ferry::environment
