// From an assignment to a running supervisor: working copy, interpreter, variables, start.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/environments.h"
#include "agent/folder.h"
#include "agent/stage.h"
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
  model::Lock lock;     // what it has
};

// When a working copy was whole and nobody had it yet.
struct CopyMark {
  int64_t ctime_ns = 0;  // of a file made then; 0: there is no copy
  uint64_t inode = 0;    // of its folder
  Time real;
  std::chrono::steady_clock::time_point steady{};
};

// What came of a preparation.
struct Preparation {
  std::optional<model::PrepareFailed> failed;  // none: the supervisor runs
  std::vector<model::Clock> clocks;
  model::EnvironmentUse environment;
  std::vector<model::DataUse> data;
  CopyMark copy;
};

class Preparer {
 public:
  struct Settings {
    std::string home;
    std::function<Result<void>(const std::string& folder, const Launch& launch)> launch;  // starts a supervisor
    std::string sdk;                                                                      // folder put in front of PYTHONPATH; empty: none
    std::function<http::ClientSettings()> server;
    environment::Settings environment;
    uint64_t environment_bytes = 0;  // kept on the disk; 0: no limit
    Duration environment_age{};      // kept since the last use; 0: no limit
  };
  struct Watch {
    std::function<bool()> stopping;                           // asked between steps, and while it waits
    std::function<void(const Preparation& so_far)> building;  // the build's log, or that of its data, can be read from now on
    std::function<void(std::chrono::milliseconds)> wait;      // before something is tried again
  };
  explicit Preparer(Settings settings);

  // What attempts that go on use. Call before anything else.
  void Begin(const std::vector<std::pair<std::string, std::string>>& users) { environments_.Begin(users); }
  // Makes the attempt run, or says why it does not in words for the user. Safe from several threads.
  Preparation Prepare(const model::Assign& assign, const Watch& watch);
  // Brings the attempt's data outputs to their datastores; see Stager.
  Result<std::vector<model::DataUse>> Upload(const model::Assign& assign, const StageWatch& watch) const { return stager_.Upload(assign, watch); }
  // The attempt is over: its environment may go.
  void Release(const model::AttemptKey& key) { environments_.Release(key.Name()); }

  // The attempt has ended and nothing of it lives: its working copy serves the next run of the same snapshot, if it is large.
  void GiveBack(const std::string& snapshot, const std::string& folder, const CopyMark& mark);
  // Folders of copies beyond `kept`, or of other snapshots than the one given back last. The caller removes them.
  std::vector<std::string> TakeOldSpares(size_t kept);
  // Keeps the 64 cached snapshots that came last, and the environments that the limits allow. Call while nothing is prepared.
  void DropOld();

 private:
  // Where a script runs: what to start it with.
  struct Place {
    environment::Ready ready;
    std::string told;  // for the log's first line
  };
  Result<void> WorkingCopy(const std::string& snapshot, const std::string& folder, CopyMark& mark);
  bool TakeSpare(const std::string& snapshot, const std::string& folder);
  bool IsLarge(const std::string& cached);
  Result<std::string> CachedCopy(const std::string& snapshot);
  Result<Interpreter> FindInterpreter(const std::string& wanted, const std::map<std::string, std::string>& environment);
  Result<void> FindEnvironment(const model::Assign& assign, const Watch& watch, Place& place, Preparation& made);
  // The digest of the lock, which the server has from now on.
  Result<std::string> KeepLock(const model::Lock& lock);
  environment::Builder& BuilderOf(std::string_view kind);
  Result<environment::Ready> Build(const environment::Job& job);
  Result<environment::Ready> Fetch(const std::string& key, const environment::Job& job);
  void Publish(const std::string& key, const environment::Ready& ready, Duration took);
  std::map<std::string, std::string> EnvironmentFor(const model::Assign& assign, const AttemptFolder& folder, const environment::Ready& ready) const;
  // Makes the launch one of a container that runs the same.
  Result<void> PutInContainer(const model::Assign& assign, const AttemptFolder& folder, const environment::Ready& ready, const Staged& staged,
                              Launch& launch) const;

  Settings settings_;
  const Stager stager_;
  std::mutex snapshot_mutex_;
  std::mutex spare_mutex_;
  std::vector<std::pair<std::string, std::string>> spares_;  // snapshot and folder, the newest first
  std::map<std::string, bool> large_;
  uint64_t spare_count_ = 0;
  std::mutex interpreter_mutex_;
  std::map<std::string, Interpreter> interpreters_;
  std::mutex lock_mutex_;
  std::map<std::string, std::string> kept_locks_;  // text -> digest
  std::unique_ptr<environment::Builder> venv_, conda_, image_;
  Environments environments_;  // last: its builds use the rest
};

// `$NAME` and `${NAME}` from the variables; what is not set stays as it is, "$$" is one dollar.
std::string ExpandVariables(const std::string& text, const std::map<std::string, std::string>& variables);

}  // namespace ferry::agent
