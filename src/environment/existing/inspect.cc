#include "environment/existing/inspect.h"

#include <chrono>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "environment/installed.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::environment {
namespace {

constexpr size_t kMostFolders = 200;

constexpr const char* kQuestion =
    "import json, os, sys\n"
    "print(json.dumps({'version': '%d.%d.%d' % sys.version_info[:3], 'folders': [os.path.abspath(p) for p in sys.path if p]}))\n";

// What tells that a file or folder has changed.
std::string Look(const std::string& path) {
  auto stat = os::StatPath(path);
  return stat.ok() ? StrCat(stat->inode, "|", stat->size, "|", stat->mtime_ns) : "none";
}

Result<Json> Ask(const std::string& interpreter) {
  auto broken = [&](std::string_view why) {
    return MakeError(Code::kInvalid, "interpreter.broken", StrCat("'", interpreter, "' is no working Python: ", why), "interpreterPath");
  };
  auto said = os::OutputOf({interpreter, "-c", kQuestion}, std::chrono::seconds(60), "/");
  if (!said.ok()) return broken(said.error().message);
  // A site's own start-up files may print too; the answer is the last line.
  std::string_view text = Trim(*said);
  size_t newline = text.rfind('\n');
  auto json = ParseJson(newline == std::string_view::npos ? text : text.substr(newline + 1));
  if (!json.ok() || json->GetString("version").empty()) return broken("it does not tell its version");
  return json;
}

}  // namespace

Result<model::Lock> Inspect(const std::string& interpreter, const std::string& cache) {
  std::string file = cache.empty() ? "" : StrCat(cache, "/existing/", HashBytes(interpreter).Hex().substr(0, 32), ".json");
  std::string look = Look(interpreter);
  std::string pythonpath = os::GetEnv("PYTHONPATH").value_or("");
  Json known;
  if (!file.empty())
    if (auto text = os::ReadFile(file, 64u << 20); text.ok())
      if (auto json = ParseJson(*text); json.ok() && json->GetString("look") == look && json->GetString("pythonpath") == pythonpath) known = std::move(*json);

  if (!known.is_null()) {
    bool same = true;
    for (const auto& [folder, was] : known.GetStringMap("folders")) same = same && Look(folder) == was;
    if (same)
      if (const Json* lock = known.Find("lock"))
        if (auto read = model::LockFromJson(*lock); read.ok()) return read;
  }
  TRY(Json said, Ask(interpreter));
  model::Lock lock;
  lock.kind = "existing";
  lock.python = said.GetString("version");
  lock.platform = kPlatform;
  std::map<std::string, std::string> folders;
  std::map<std::string, model::LockedPackage> packages;
  for (const std::string& folder : said.GetStrings("folders")) {
    if (folders.size() >= kMostFolders || folders.count(folder)) continue;
    // Looked at first: what changes while it is read is read again the next time.
    folders[folder] = Look(folder);
    auto installed = ReadInstalled(folder);
    if (!installed.ok()) continue;
    for (model::LockedPackage& package : *installed) {
      package.source = "given";
      std::string name = package.name;
      // The first on the path is the one that is imported.
      packages.emplace(std::move(name), std::move(package));
    }
  }
  for (auto& [name, package] : packages) lock.packages.push_back(std::move(package));

  bool shim = false;
  if (auto program = os::Open(interpreter, os::OpenMode::kRead); program.ok()) shim = os::ReadAt(*program, 0, 2).ValueOr("") == "#!";
  if (!file.empty() && !shim) {
    Json keep = Json::MakeObject({{"look", look}, {"pythonpath", pythonpath}, {"folders", folders}, {"lock", model::ToJson(lock)}});
    (void)os::MakeFolders(os::JoinPath(cache, "existing"));
    (void)os::WriteFileAtomic(file, keep.Dump(), 0644, false);
  }
  return lock;
}

}  // namespace ferry::environment
