#include "environment/interpreter.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/text.h"
#include "environment/conda_spec.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::environment {
namespace {

constexpr size_t kMostCandidates = 200;
constexpr auto kPatience = std::chrono::seconds(30);

// "python", "python3", "python3.11".
bool IsPythonName(std::string_view name) {
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  return name.find_first_not_of("0123456789.") == std::string_view::npos && !name.starts_with(".") && !name.ends_with(".");
}

bool IsScript(const std::string& path) {
  auto file = os::Open(path, os::OpenMode::kRead);
  if (!file.ok()) return false;
  auto head = os::ReadAt(*file, 0, 2);
  return head.ok() && *head == "#!";
}

bool IsShims(std::string_view folder) { return folder.ends_with("/shims"); }

// The folders with the real programs of a version manager: ROOT/versions/*/bin (pyenv) and ROOT/installs/python/*/bin (asdf, mise). What pyenv is set to
// comes first, then the newest.
std::vector<std::string> BehindShims(const std::string& shims) {
  std::string root = shims.substr(0, shims.rfind('/'));
  std::vector<std::pair<std::string, std::string>> found;
  for (const char* below : {"/versions", "/installs/python"})
    if (auto entries = os::ListFolder(root + below); entries.ok())
      for (const os::DirEntry& entry : *entries) found.emplace_back(entry.name, StrCat(root, below, "/", entry.name, "/bin"));
  std::vector<std::string> set;
  if (auto text = os::ReadFile(root + "/version", 4096); text.ok())
    for (std::string_view line : Split(*text, '\n')) set.emplace_back(Trim(line));
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    auto place = [&](const std::string& name) { return std::find(set.begin(), set.end(), name) - set.begin(); };
    if (place(a.first) != place(b.first)) return place(a.first) < place(b.first);
    int order = CompareVersions(a.first, b.first);
    return order != 0 ? order > 0 : a.first < b.first;
  });
  std::vector<std::string> folders;
  for (auto& [name, folder] : found) folders.push_back(std::move(folder));
  return folders;
}

// What programs the PATH leads to, without starting any.
std::vector<std::string> Candidates(const std::string& path) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  auto look = [&](const std::string& folder) {
    auto entries = os::ListFolder(folder);
    if (!entries.ok()) return;
    std::vector<std::string> names;
    for (const os::DirEntry& entry : *entries)
      if (IsPythonName(entry.name)) names.push_back(entry.name);
    // "python3" before "python", so that an old "python" does not come first; then the newest.
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      auto rank = [](const std::string& name) { return name == "python3" ? 0 : name == "python" ? 1 : 2; };
      return rank(a) != rank(b) ? rank(a) < rank(b) : CompareVersions(a.substr(6), b.substr(6)) > 0;
    });
    for (const std::string& name : names) {
      auto program = os::FindProgram(os::JoinPath(folder, name), "");
      auto real = program ? os::RealPath(*program) : Result<std::string>(MakeError(Code::kNotFound, "", ""));
      if (real.ok() && out.size() < kMostCandidates && seen.insert(*real).second) out.push_back(*program);
    }
  };
  for (std::string_view part : Split(path, ':')) {
    std::string folder(part);
    if (!folder.starts_with("/")) continue;
    if (!IsShims(folder))
      look(folder);
    else
      for (const std::string& behind : BehindShims(folder)) look(behind);
  }
  return out;
}

// Versions that were asked for before, by path and what the file looked like.
class Known {
 public:
  explicit Known(const std::string& cache) : file_(cache.empty() ? "" : os::JoinPath(cache, "interpreters.json")) {
    if (file_.empty()) return;
    auto text = os::ReadFile(file_, 1u << 20);
    if (!text.ok()) return;
    if (auto json = ParseJson(*text); json.ok()) versions_ = json->GetStringMap("versions");
  }
  ~Known() {
    if (!changed_ || versions_.size() > 1000) return;
    (void)os::MakeFolders(file_.substr(0, file_.rfind('/')));
    (void)os::WriteFileAtomic(file_, Json::MakeObject({{"versions", versions_}}).Dump(), 0644, false);
  }

  // "" when it is no working Python.
  std::string Version(const std::string& path) {
    auto stat = os::StatPath(path);
    if (!stat.ok()) return {};
    std::string key = StrCat(path, "|", stat->inode, "|", stat->size, "|", stat->mtime_ns);
    if (auto it = versions_.find(key); it != versions_.end()) return it->second;
    auto said = os::OutputOf({path, "-S", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"}, kPatience);
    std::string version = said.ok() ? std::string(Trim(*said)) : "";
    if (version.find_first_not_of("0123456789.") != std::string::npos) version.clear();
    versions_[key] = version;
    changed_ = !file_.empty();
    return version;
  }

 private:
  std::string file_;
  std::map<std::string, std::string> versions_;
  bool changed_ = false;
};

// "3.8" of "=3.8": a hint at which programs to ask first. A range has none: the first on the PATH that is in it will do.
std::string Hint(const std::string& clauses) {
  if (!clauses.starts_with("=")) return {};
  size_t digit = clauses.find_first_of("0123456789");
  if (digit == std::string::npos) return {};
  auto parts = Split(std::string_view(clauses).substr(digit), '.');
  if (parts.size() < 2) return {};
  return StrCat(parts[0], ".", parts[1].substr(0, std::min(parts[1].find_first_not_of("0123456789"), parts[1].size())));
}

}  // namespace

std::optional<std::string> FindTool(const std::string& name, const std::string& path) {
  for (std::string_view part : Split(path, ':')) {
    std::string folder(part);
    auto found = folder.starts_with("/") ? os::FindProgram(os::JoinPath(folder, name), "") : std::nullopt;
    if (!found) continue;
    if (!IsShims(folder) || !IsScript(*found)) return found;
    for (const std::string& behind : BehindShims(folder))
      if (auto real = os::FindProgram(os::JoinPath(behind, name), "")) return real;
  }
  return std::nullopt;
}

std::string VersionOf(const Settings& settings, const std::string& interpreter) { return Known(settings.cache).Version(interpreter); }

std::vector<Interpreter> FindInterpreters(const Settings& settings) {
  Known known(settings.cache);
  std::vector<Interpreter> out;
  for (const std::string& path : Candidates(settings.path))
    if (std::string version = known.Version(path); !version.empty()) out.push_back({path, version});
  return out;
}

Result<Interpreter> FindInterpreter(const Settings& settings, const std::string& clauses, const std::string& text) {
  Known known(settings.cache);
  std::vector<std::string> candidates = Candidates(settings.path);
  if (std::string hint = Hint(clauses); !hint.empty())
    std::stable_partition(candidates.begin(), candidates.end(),
                          [&](const std::string& path) { return path.ends_with("/python" + hint) || path.find("/" + hint + ".") != std::string::npos; });
  std::vector<std::string> found;
  for (const std::string& path : candidates) {
    std::string version = known.Version(path);
    if (version.empty()) continue;
    // Python 2 is taken only by those who ask for it.
    if (clauses.empty() ? version.starts_with("3.") : Satisfies(version, clauses)) return Interpreter{path, version};
    found.push_back(StrCat(version, " (", path, ")"));
  }
  if (auto uv = FindTool("uv", settings.path)) {
    std::string wanted = Hint(clauses);
    auto said = os::OutputOf({*uv, "python", "find", "--no-python-downloads", "--no-project", wanted.empty() ? "3" : wanted}, kPatience);
    std::string path = said.ok() ? std::string(Trim(*said)) : "";
    std::string version = path.starts_with("/") ? known.Version(path) : "";
    if (!version.empty() && Satisfies(version, clauses)) return Interpreter{path, version};
  }
  std::sort(found.begin(), found.end(),
            [](const std::string& a, const std::string& b) { return CompareVersions(a.substr(0, a.find(' ')), b.substr(0, b.find(' '))) < 0; });
  return MakeError(Code::kInvalid, "environment.python",
                   StrCat("no interpreter on this node is '", text.empty() ? "python" : text, "'; ",
                          found.empty() ? "there is no Python on the PATH" : "found: ", Join(found, ", ")),
                   text.empty() ? "" : "python");
}

}  // namespace ferry::environment
