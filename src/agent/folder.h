// What an agent keeps on its node's disk: who it is, and one folder per attempt (see supervisor.h for the supervisor's part of it).
//   node.json                 the generation
//   attempts/NAME/assign.json what was assigned
//   attempts/NAME/work/       the working copy of the snapshot; the script's working directory
//   attempts/NAME/artifacts/  files that the script uploaded
//   attempts/NAME/failed.json why it could not be started
//   attempts/NAME/stop        present once it was told to stop
//   attempts/NAME/sent.json   how much of each stream the server has
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/core.h"
#include "base/json.h"
#include "base/result.h"
#include "os/process.h"

namespace ferry::agent {

class AttemptFolder {
 public:
  AttemptFolder(const std::string& home, const model::AttemptKey& key);
  const std::string& path() const { return path_; }
  std::string Path(std::string_view name) const;

  Result<void> Keep(const model::Assign& assign) const;
  void NoteFailed(const model::PrepareFailed& failure) const;
  void NoteStop() const;
  std::optional<model::Exit> ReadExit() const;
  // The supervisor, once it has written who it is.
  std::optional<os::ProcessId> Supervisor() const;
  // Ends every process of the attempt at once.
  void KillAll() const;

 private:
  std::string name_;
  std::string path_;
};

// Everything that earlier agents left under `home`. Folders without a readable assignment are removed: they were never acknowledged.
std::vector<Remains> ReadRemains(const std::string& home);

int64_t ReadGeneration(const std::string& home);
Result<void> WriteGeneration(const std::string& home, int64_t generation);

}  // namespace ferry::agent
