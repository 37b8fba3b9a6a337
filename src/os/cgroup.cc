#include "os/cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace ferry::os {
namespace {

// The folder of this process's group in the version 2 hierarchy; empty when there is none that can be written to.
std::string OwnGroup() {
  auto text = ReadFile("/proc/self/cgroup", 65536);
  if (!text.ok()) return {};
  for (std::string_view line : Split(*text, '\n')) {
    if (line.substr(0, 3) != "0::") continue;
    for (const char* root : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
      std::string path = StrCat(root, line.substr(3));
      while (path.size() > 1 && path.back() == '/') path.pop_back();
      if (::access(StrCat(path, "/cgroup.procs").c_str(), W_OK) == 0) return path;
    }
  }
  return {};
}

// Where the group of that name is; "" when groups are not permitted.
std::string PathOf(const std::string& name) {
  static const std::string own = OwnGroup();
  return own.empty() ? own : StrCat(own, "/ferry-", name);
}
}  // namespace

void Cgroup::Discard(const std::string& name) {
  if (std::string path = PathOf(name); !path.empty()) ::rmdir(path.c_str());
}

std::optional<Cgroup> Cgroup::Make(const std::string& name) {
  std::string path = PathOf(name);
  if (path.empty()) return std::nullopt;
  if (::mkdir(path.c_str(), 0755) < 0) return std::nullopt;
  auto join = Open(path, OpenMode::kRead);
  if (!join.ok()) {
    ::rmdir(path.c_str());
    return std::nullopt;
  }
  return Cgroup(std::move(path), std::move(*join));
}

Cgroup::~Cgroup() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

void Cgroup::Kill() { (void)WriteFile(StrCat(path_, "/cgroup.kill"), "1"); }

std::optional<uint64_t> Cgroup::OutOfMemoryKills() const {
  auto text = ReadFile(StrCat(path_, "/memory.events"), 65536);
  if (!text.ok()) return std::nullopt;
  for (std::string_view line : Split(*text, '\n'))
    if (line.substr(0, 9) == "oom_kill ")
      if (auto count = ParseInt(line.substr(9))) return static_cast<uint64_t>(*count);
  return std::nullopt;
}

}  // namespace ferry::os
