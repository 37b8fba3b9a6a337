#include "environment/pip.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "environment/installed.h"
#include "environment/pip_settings.h"
#include "environment/requirement.h"
#include "environment/step.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::environment {
namespace {

using Kind = Requirement::Kind;

constexpr int kDeepest = 10;
constexpr uint64_t kLargestFile = 8u << 20;

// What the tool gets: a requirements file whose lines are those of the specification, so that its messages name them.
class Plan {
 public:
  explicit Plan(const Job& job) : job_(job) {}

  // Lines that the specification does not have go behind its own.
  void AddExtra(const std::string& line) {
    extra_.push_back(line);
    ++wanted_;
  }

  Result<void> AddSection(const std::vector<std::string>& lines) {
    TRY(auto requirements, ParseRequirements(lines));
    lines_.resize(lines.size());
    for (const Requirement& requirement : requirements) {
      std::string text;
      // Nobody needs to be told twice, and pip's time grows with the square of their number.
      if (!seen_.insert(requirement.text).second) continue;
      TRY_VOID(Take(requirement, job_.context, 0, text));
      lines_[requirement.line - 1] = std::move(text);
    }
    return {};
  }

  // Only what says where packages come from, and what Ferry provides itself.
  Result<void> AddOptions(const std::vector<Requirement>& requirements) {
    for (const Requirement& requirement : requirements) {
      bool option = requirement.kind == Kind::kOption && requirement.option != "--require-hashes";
      if (!option && !IsAzureml(requirement.name)) continue;
      std::string text;
      TRY_VOID(Take(requirement, job_.context, 0, text));
      if (!text.empty()) extra_.push_back(std::move(text));
    }
    return {};
  }

  std::string Text() const {
    std::string out;
    for (const auto* part : {&lines_, &extra_})
      for (const std::string& line : *part) out += line + "\n";
    return out;
  }
  bool empty() const { return wanted_ == 0; }
  size_t size() const { return wanted_; }
  bool azureml() const { return azureml_; }
  bool hashed() const { return hashed_; }
  const std::vector<std::string>& uv_arguments() const { return uv_arguments_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Error Refuse(const Requirement& requirement, std::string_view why) const {
    return MakeError(Code::kInvalid, "environment.requirement", StrCat(NameLine("pip", requirement.line, requirement.text), ": ", why),
                     StrCat("pip line ", requirement.line));
  }

  static std::string Shown(const Requirement& requirement) { return WithoutCredentials(requirement.text.substr(0, requirement.text.find(" --hash"))); }

  // Absolute, with links resolved, inside the build context. Packages may lie anywhere on the node, but what is asked for must be in the specification.
  Result<std::string> Contained(const Requirement& requirement, const std::string& from) const {
    if (requirement.value.starts_with("/") && (requirement.kind == Kind::kPath || requirement.kind == Kind::kOption)) return requirement.value;
    if (requirement.value.starts_with("/")) return Refuse(requirement, "an absolute path means something else on every node; give a path in a build context");
    if (job_.context.empty())
      return Refuse(requirement, "a relative path needs a build context, and this environment has none; name the package by an address or an index");
    auto root = os::RealPath(job_.context);
    auto path = os::RealPath(os::JoinPath(from, requirement.value));
    if (!root.ok() || !path.ok()) return Refuse(requirement, "it is not in the build context");
    if (*path != *root && !path->starts_with(*root + "/")) return Refuse(requirement, "it leads out of the build context");
    return *path;
  }

  Result<void> Take(const Requirement& requirement, const std::string& from, int depth, std::string& out) {
    switch (requirement.kind) {
      case Kind::kPackage:
      case Kind::kAddress:
        if (IsAzureml(requirement.name)) {
          azureml_ = true;
          notes_.push_back(StrCat("'", Shown(requirement), "' is provided by Ferry's own azureml package"));
          return {};
        }
        if (requirement.kind == Kind::kAddress && requirement.value.find("://") == std::string::npos)
          return Refuse(requirement, "expected an address such as 'https://...' after '@'");
        hashed_ = hashed_ || requirement.hashed;
        ++wanted_;
        out = requirement.text;
        return {};
      case Kind::kPath: {
        TRY(std::string path, Contained(requirement, from));
        ++wanted_;
        out = StrCat("file://", EncodePath(path), requirement.text.substr(requirement.value.size()));
        return {};
      }
      case Kind::kEditable: {
        out = requirement.value;
        if (out.find("://") == std::string::npos) {
          TRY(std::string path, Contained(requirement, from));
          out = StrCat("file://", EncodePath(path));
        }
        notes_.push_back(StrCat("'", Shown(requirement), "' was installed as a copy: the folder it would lead to does not outlive the build"));
        ++wanted_;
        return {};
      }
      case Kind::kConstraints: {
        TRY(std::string path, Contained(requirement, from));
        out = StrCat("-c ", path);
        return {};
      }
      case Kind::kFile: return TakeFile(requirement, from, depth);
      case Kind::kOption: return TakeOption(requirement, from, out);
    }
    return {};
  }

  Result<void> TakeFile(const Requirement& requirement, const std::string& from, int depth) {
    TRY(std::string path, Contained(requirement, from));
    if (depth >= kDeepest) return Refuse(requirement, "files include each other more than 10 levels deep");
    auto text = os::ReadFile(path, kLargestFile);
    if (!text.ok()) return Refuse(requirement, text.error().message);
    std::vector<std::string> lines;
    for (std::string_view line : Split(*text, '\n')) lines.emplace_back(line);
    auto inner = ParseRequirements(lines);
    if (!inner.ok()) return Refuse(requirement, inner.error().message);
    for (const Requirement& one : *inner) {
      std::string line;
      if (auto taken = Take(one, path.substr(0, path.rfind('/')), depth + 1, line); !taken.ok()) return Refuse(requirement, taken.error().message);
      if (!line.empty()) extra_.push_back(std::move(line));
      if (extra_.size() > kMaxRequirements) return Refuse(requirement, "there are too many requirements in it");
    }
    return {};
  }

  Result<void> TakeOption(const Requirement& requirement, const std::string& from, std::string& out) {
    auto uv = [&](std::initializer_list<std::string> arguments) { uv_arguments_.insert(uv_arguments_.end(), arguments); };
    out = requirement.text;
    if (requirement.option == "--find-links" && requirement.value.find("://") == std::string::npos) {
      TRY(std::string path, Contained(requirement, from));
      out = StrCat("--find-links ", path);
    } else if (requirement.option == "--pre") {
      uv({"--prerelease", "allow"});
    } else if (requirement.option == "--trusted-host") {
      uv({"--allow-insecure-host", requirement.value});
    } else if (requirement.option == "--require-hashes") {
      hashed_ = true;
    } else if (requirement.option == "--extra-index-url") {
      // As pip does it: the best version of all indexes.
      uv({"--index-strategy", "unsafe-best-match"});
    }
    return {};
  }

  static std::string EncodePath(const std::string& path) {
    std::string out;
    for (std::string_view part : Split(path, '/')) out += StrCat(out.empty() && part.empty() ? "" : "/", EncodePercent(part));
    return out;
  }

  const Job& job_;
  std::vector<std::string> lines_, extra_, uv_arguments_, notes_;
  std::set<std::string> seen_;
  size_t wanted_ = 0;
  bool azureml_ = false, hashed_ = false;
};

// Options that only pip has words for.
std::string WithoutPipOptions(const std::string& text) {
  std::string out;
  for (std::string_view line : Split(text, '\n')) {
    bool only_pip =
        line == "--pre" || line == "--prefer-binary" || line == "--require-hashes" || line.starts_with("--trusted-host") || line.starts_with("--use-feature");
    out += StrCat(only_pip ? "" : line, "\n");
  }
  return out;
}

// "23.0.1" of the pip in the environment; "" for none.
std::string PipVersion(const std::string& site_packages) {
  auto installed = ReadInstalled(site_packages);
  if (!installed.ok()) return {};
  for (const model::LockedPackage& package : *installed)
    if (package.name == "pip") return package.version;
  return {};
}

void ReadReport(const std::string& path, PipOutcome& outcome) {
  auto text = os::ReadFile(path, 256u << 20);
  if (!text.ok()) return;
  auto json = ParseJson(*text, "pip's report");
  const Json* installs = json.ok() ? json->Find("install") : nullptr;
  if (!installs || !installs->is_array()) return;
  for (const Json& one : installs->as_array()) {
    const Json* metadata = one.Find("metadata");
    const Json* download = one.Find("download_info");
    if (!metadata || !download) continue;
    PipOutcome::Origin origin;
    origin.url = PlainAddress(download->GetString("url"));
    if (const Json* archive = download->Find("archive_info")) {
      if (const Json* hashes = archive->Find("hashes")) origin.sha256 = hashes->GetString("sha256");
      if (std::string hash = archive->GetString("hash"); origin.sha256.empty() && hash.starts_with("sha256=")) origin.sha256 = hash.substr(7);
    }
    outcome.origins[model::NormalPackageName(metadata->GetString("name"))] = std::move(origin);
  }
}

Result<PipOutcome> Install(const Job& job, const Settings& settings, const PipTarget& target, const Plan& plan, bool no_deps) {
  PipOutcome outcome;
  outcome.notes = plan.notes();
  for (const std::string& note : outcome.notes)
    if (job.log) job.log(note);
  if (plan.azureml() && !settings.sdk.empty()) TRY_VOID(os::WriteFileAtomic(os::JoinPath(target.site_packages, "ferry.pth"), settings.sdk + "\n", 0644, false));
  if (plan.empty()) return outcome;
  std::string requirements = os::JoinPath(target.prefix, "ferry-requirements.txt"), report = os::JoinPath(target.prefix, "ferry-report.json");
  // Indexes may carry passwords.
  TRY_VOID(os::WriteFile(requirements, target.uv.empty() ? plan.Text() : WithoutPipOptions(plan.Text()), 0600));
  Step step;
  step.folder = target.prefix;
  if (!target.uv.empty()) {
    step.tool = "uv";
    step.argv = {target.uv, "pip", "install", "--no-progress", "--python", target.python, "-r", requirements};
    if (plan.hashed()) step.argv.push_back("--require-hashes");
    step.argv.insert(step.argv.end(), plan.uv_arguments().begin(), plan.uv_arguments().end());
    step.variables = UvVariables(os::Environment());
  } else {
    std::string version = PipVersion(target.site_packages);
    if (version.empty())
      return MakeError(Code::kInvalid, "environment.no_pip",
                       "the environment has no pip and this node no uv: add 'pip' to the conda dependencies, or put uv on the node's PATH", "pip");
    step.tool = "pip";
    step.argv = {target.python, "-m", "pip", "install", "--progress-bar", "off", "-r", requirements};
    if (!settings.cache.empty()) step.argv.insert(step.argv.end(), {"--cache-dir", os::JoinPath(settings.cache, "pip")});
    // From 23 on pip tells where everything came from.
    if (auto dot = version.find('.'); ParseInt(version.substr(0, dot)).value_or(0) >= 23) step.argv.insert(step.argv.end(), {"--report", report});
  }
  if (no_deps) step.argv.push_back("--no-deps");
  if (job.log) job.log(StrCat("Installing ", plan.size(), plan.size() == 1 ? " requirement" : " requirements", " with ", step.tool));
  auto ran = RunStep(job, settings, step);
  if (ran.ok()) ReadReport(report, outcome);
  (void)os::RemoveFile(report);
  (void)os::RemoveFile(requirements);
  if (!ran.ok()) return ran.error();
  return outcome;
}

}  // namespace

Result<void> CheckPip(const Job& job) { return Plan(job).AddSection(job.definition.conda.pip); }

Result<PipOutcome> InstallPip(const Job& job, const Settings& settings, const PipTarget& target, const std::vector<std::string>& extra) {
  Plan plan(job);
  TRY_VOID(plan.AddSection(job.definition.conda.pip));
  // Where hashes are asked for they are asked for of every line, and these have none.
  Plan first(job);
  for (const std::string& line : extra) (plan.hashed() ? first : plan).AddExtra(line);
  TRY_VOID(Install(job, settings, target, first, false));
  return Install(job, settings, target, plan, false);
}

Result<PipOutcome> InstallLocked(const Job& job, const Settings& settings, const PipTarget& target, const std::vector<model::LockedPackage>& packages) {
  TRY(auto requirements, ParseRequirements(job.definition.conda.pip));
  Plan plan(job);
  TRY_VOID(plan.AddOptions(requirements));
  std::map<std::string, std::string> addresses;
  for (const Requirement& requirement : requirements)
    if (requirement.kind == Kind::kAddress && !requirement.name.empty()) addresses[requirement.name] = requirement.text;
  // pip takes hashes for all or for none.
  bool hashes = addresses.empty() && std::all_of(packages.begin(), packages.end(), [](const auto& package) { return !package.sha256.empty(); });
  for (const model::LockedPackage& package : packages) {
    std::string normal = model::NormalPackageName(package.name);
    if (auto it = addresses.find(normal); it != addresses.end())
      plan.AddExtra(package.url.starts_with("git+") ? StrCat(normal, " @ ", package.url) : it->second);
    else if (package.url.starts_with("file:"))
      return MakeError(Code::kInvalid, "environment.lock",
                       StrCat("the lock's package '", package.name, "' came from a folder (", package.url, "), so it cannot be installed again by its version"),
                       "lock");
    else
      plan.AddExtra(StrCat(normal, "==", package.version, hashes ? StrCat(" --hash=sha256:", package.sha256) : ""));
  }
  return Install(job, settings, target, plan, true);
}

}  // namespace ferry::environment
