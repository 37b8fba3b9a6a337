// From an assignment to a running supervisor: working copy, interpreter, variables, start.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "agent/folder.h"
#include "agent/supervisor.h"
#include "base/result.h"
#include "http/client.h"
#include "model/message.h"

namespace ferry::agent {

// The program behind a name such as "python", found once.
struct Interpreter {
  std::string path;     // the program itself, behind any version manager's shim
  std::string version;  // "3.11.7"
  std::string found;    // how: "'python' on the PATH"
};

class Preparer {
 public:
  struct Settings {
    std::string home;
    std::function<Result<void>(const std::string& folder, const Launch& launch)> launch;  // starts a supervisor
    std::string sdk;                                                                      // folder put in front of PYTHONPATH; empty: none
    std::function<http::ClientSettings()> server;
  };
  explicit Preparer(Settings settings) : settings_(std::move(settings)) {}

  // Makes the attempt run. Success: its supervisor runs. The failure says why in words for the user.
  // Safe from several threads. `stopping` is asked between steps.
  std::optional<model::PrepareFailed> Prepare(const model::Assign& assign, const std::function<bool()>& stopping);

  // Makes a spare working copy of a large snapshot while nothing runs, so that its next run starts at once.
  void MakeSpare(const std::string& snapshot);
  // Keeps the 64 cached snapshots that came last. Call while nothing is prepared.
  void DropOldSnapshots();

 private:
  Result<void> WorkingCopy(const std::string& snapshot, const std::string& folder);
  Result<std::string> CachedCopy(const std::string& snapshot);
  Result<Interpreter> FindInterpreter(const std::string& wanted, const std::map<std::string, std::string>& environment);
  std::map<std::string, std::string> EnvironmentFor(const model::Assign& assign, const AttemptFolder& folder) const;

  Settings settings_;
  std::mutex snapshot_mutex_;
  std::mutex interpreter_mutex_;
  std::map<std::string, Interpreter> interpreters_;
};

// `$NAME` and `${NAME}` from the variables; what is not set stays as it is, "$$" is one dollar.
std::string ExpandVariables(const std::string& text, const std::map<std::string, std::string>& variables);

}  // namespace ferry::agent
