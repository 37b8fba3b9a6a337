#include <chrono>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "os/file.h"
#include "os/program.h"
#include "snapshot/snapshot.h"

namespace ferry::snapshot {

namespace {

constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(20);

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// What git says of a folder. Empty fields: unknown.
struct Repository {
  std::string address;
  std::string branch;
  std::string commit;
  std::string dirty;  // "True" or "False"
};

// The nearest ".git" at or above the folder.
std::optional<std::string> FindDotGit(const std::string& folder) {
  auto real = os::RealPath(folder);
  if (!real.ok()) return std::nullopt;
  for (std::string at = *real;;) {
    std::string path = os::JoinPath(at, ".git");
    if (os::Exists(path)) return path;
    if (at.empty() || at == "/") return std::nullopt;
    const size_t slash = at.rfind('/');
    at.resize(slash == 0 ? 1 : slash);
  }
}

bool Mentions(const std::string& path, std::initializer_list<std::string_view> words) {
  auto text = os::ReadFile(path, 4u << 20);
  if (!text.ok()) return false;
  const std::string lower = ToLower(*text);
  for (std::string_view word : words)
    if (lower.find(word) != std::string::npos) return true;
  return false;
}

// The value of `key` in the section whose head, between the brackets, is `section`. Plain values only: none when it is
// quoted, escaped or continued.
std::optional<std::string> ConfigValue(std::string_view config, std::string_view section, std::string_view key, bool& odd) {
  std::optional<std::string> value;
  bool inside = false;
  for (std::string_view line : Split(config, '\n')) {
    line = Trim(line);
    if (line.starts_with('[')) {
      const size_t close = line.rfind(']');
      inside = close != std::string_view::npos && line.substr(1, close - 1) == section;
      if (inside && close + 1 < line.size()) odd = true;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || equals == std::string_view::npos || ToLower(Trim(line.substr(0, equals))) != key) continue;
    const std::string_view text = Trim(line.substr(equals + 1));
    if (text.find_first_of("\"\\;#") != std::string_view::npos) odd = true;
    // git takes the first address of a remote and the last value of anything else.
    if (!value || key != "url") value = std::string(text);
  }
  return value;
}

// The address of the branch's remote as the files say it; none in `odd` cases, in which git must be asked.
std::optional<std::string> AddressFromFiles(const std::string& dot_git, const std::string& branch, bool& odd) {
  auto stat = os::StatPath(dot_git);
  odd = true;
  if (!stat.ok() || stat->type != os::FileType::kFolder) return std::nullopt;
  for (const char* name : {"GIT_DIR", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_COMMON_DIR"})
    if (!Environment(name).empty()) return std::nullopt;
  if (os::Exists(os::JoinPath(dot_git, "config.worktree")) || os::Exists(os::JoinPath(dot_git, "remotes")) ||
      os::Exists(os::JoinPath(dot_git, "branches/origin")))
    return std::nullopt;
  const std::string home = Environment("HOME"), xdg = Environment("XDG_CONFIG_HOME");
  for (const std::string& path : {std::string("/etc/gitconfig"), home + "/.gitconfig", (xdg.empty() ? home + "/.config" : xdg) + "/git/config"})
    if (Mentions(path, {"insteadof", "[include", "[remote", "[branch"})) return std::nullopt;
  auto config = os::ReadFile(os::JoinPath(dot_git, "config"), 4u << 20);
  if (!config.ok() || Mentions(os::JoinPath(dot_git, "config"), {"insteadof", "[include"})) return std::nullopt;
  odd = false;
  std::string remote = "origin";
  if (!branch.empty()) remote = ConfigValue(*config, StrCat("branch \"", branch, "\""), "remote", odd).value_or(remote);
  auto address = ConfigValue(*config, StrCat("remote \"", remote, "\""), "url", odd);
  // git falls back to the only remote there is, and to other things still.
  if (!address && config->find("[remote ") != std::string::npos) odd = true;
  return address;
}

// One run of git tells branch, commit and whether anything changed.
bool AskStatus(const std::string& folder, Repository& repository) {
  auto status = os::RunProgram({"git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "."}, kPatience, folder);
  if (!status.ok() || status->status != 0) return false;
  repository.dirty = "False";
  for (std::string_view line : Split(status->output, '\n')) {
    if (line.starts_with("# branch.oid ")) {
      line.remove_prefix(13);
      if (line != "(initial)") repository.commit = line;
    } else if (line.starts_with("# branch.head ")) {
      line.remove_prefix(14);
      if (line != "(detached)") repository.branch = line;
    } else if (!line.empty() && line[0] != '#') {
      repository.dirty = "True";
      break;
    }
  }
  return true;
}

std::string AskAddress(const std::string& folder) {
  auto address = os::RunProgram({"git", "ls-remote", "--get-url"}, kPatience, folder);
  if (!address.ok() || address->status != 0) return {};
  const std::string text(Trim(address->output));
  // What git says when there is no remote at all.
  return text == "origin" ? std::string() : text;
}

// Removes the credentials of an address.
std::string WithoutCredentials(const std::string& address) {
  const size_t scheme = address.find("://");
  if (scheme == std::string::npos) return address;
  const size_t host = scheme + 3;
  const size_t end = address.find_first_of("/?#", host);
  const std::string_view authority = std::string_view(address).substr(host, end == std::string::npos ? end : end - host);
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return address;
  std::string kept;
  // The name in "ssh://git@host" is part of the address; anywhere else it may be a token.
  if (address.starts_with("ssh://") || address.starts_with("git+ssh://")) kept = StrCat(authority.substr(0, std::min(at, authority.find(':'))), "@");
  return StrCat(std::string_view(address).substr(0, host), kept, authority.substr(at + 1), end == std::string::npos ? "" : address.substr(end));
}

}  // namespace

std::map<std::string, std::string> GitFacts(const std::string& folder) {
  Repository given;
  given.address = Environment("AZUREML_GIT_REPOSITORY_URI");
  given.branch = Environment("AZUREML_GIT_BRANCH");
  given.commit = Environment("AZUREML_GIT_COMMIT");
  given.dirty = Environment("AZUREML_GIT_DIRTY");
  const bool all_given = !given.address.empty() && !given.branch.empty() && !given.commit.empty() && !given.dirty.empty();

  Repository found;
  if (!all_given) {
    auto dot_git = FindDotGit(folder);
    if ((dot_git || !Environment("GIT_DIR").empty()) && AskStatus(folder, found) && given.address.empty()) {
      bool odd = !dot_git;
      if (dot_git) found.address = AddressFromFiles(*dot_git, found.branch, odd).value_or("");
      if (odd) found.address = AskAddress(folder);
    }
  }

  std::map<std::string, std::string> facts;
  auto put = [&](const std::string& first, const std::string& second, std::initializer_list<const char*> names) {
    const std::string& value = first.empty() ? second : first;
    if (value.empty()) return;
    for (const char* name : names) facts[name] = value;
  };
  put(WithoutCredentials(given.address), WithoutCredentials(found.address), {"azureml.git.repository_uri", "mlflow.source.git.repoURL"});
  put(given.branch, found.branch, {"azureml.git.branch", "mlflow.source.git.branch"});
  put(given.commit, found.commit, {"azureml.git.commit", "mlflow.source.git.commit"});
  put(given.dirty, found.dirty, {"azureml.git.dirty"});
  put(Environment("AZUREML_GIT_BUILD_ID"), {}, {"azureml.git.build_id"});
  put(Environment("AZUREML_GIT_BUILD_URI"), {}, {"azureml.git.build_uri"});
  return facts;
}

}  // namespace ferry::snapshot
