// A control group (version 2) of one's own for a process and all it starts, where the system permits it. Without one everything works the same;
// with one nothing can hide, and an out-of-memory kill is counted where it happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/file.h"

namespace ferry::os {

class Cgroup {
 public:
  // Makes a group below this process's own; nothing when that is not permitted.
  static std::optional<Cgroup> Make(const std::string& name);
  // Removes the group of that name which a process left that was killed. Nothing may run in it any more.
  static void Discard(const std::string& name);
  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&&) noexcept = default;
  // Removes the group; what still runs in it is moved to nobody and must be gone before.
  ~Cgroup();

  // The group's folder, for SpawnOptions::join_fd.
  const Fd& join() const { return join_; }
  // Ends every process in it at once.
  void Kill();
  // How many of its processes were killed for memory; nothing when the group does not count memory.
  std::optional<uint64_t> OutOfMemoryKills() const;

 private:
  Cgroup(std::string path, Fd join) : path_(std::move(path)), join_(std::move(join)) {}
  std::string path_;
  Fd join_;
};

}  // namespace ferry::os
