#include "environment/conda/conda_builder.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "environment/choose.h"
#include "environment/conda/fallback.h"
#include "environment/conda/prefix.h"
#include "environment/conda/rattler.h"
#include "environment/conda_spec.h"
#include "environment/installed.h"
#include "environment/interpreter.h"
#include "environment/pip.h"
#include "environment/requirement.h"
#include "environment/step.h"
#include "environment/venv/venv_builder.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::environment {
namespace {

// Tried in this order.
constexpr std::array<const char*, 3> kTools = {"micromamba", "mamba", "conda"};
constexpr const char* kDefaultChannel = "conda-forge";

class CondaBuilder : public Builder {
 public:
  explicit CondaBuilder(Settings settings) : settings_(std::move(settings)) {}

  Result<Ready> Build(const Job& job) override {
    auto log = [&](const std::string& text) {
      if (job.log) job.log(text);
    };
    std::optional<model::Lock> locked;
    if (!job.definition.lock.is_null()) {
      TRY(locked, model::LockFromJson(job.definition.lock));
      if (locked->kind != "conda")
        return MakeError(Code::kInvalid, "environment.lock", StrCat("a conda environment is built from a lock of kind 'conda', not '", locked->kind, "'"),
                         "lock.kind");
    }
    TRY(std::vector<std::string> specs, Specs(job.definition));
    if (!locked) TRY_VOID(CheckPip(job));
    TRY(auto requirements, ParseRequirements(job.definition.conda.pip));
    PipTarget target;
    target.prefix = job.folder;
    target.python = os::JoinPath(job.folder, "bin/python");
    if (auto uv = FindTool("uv", settings_.path)) target.uv = *uv;
    bool wants_pip =
        std::any_of(requirements.begin(), requirements.end(), [](const Requirement& requirement) { return requirement.kind != Requirement::Kind::kOption; });
    auto names = [&](std::string_view name) {
      return std::any_of(specs.begin(), specs.end(), [&](const std::string& spec) { return ParseCondaSpec(spec)->name == name; });
    };
    if (wants_pip && !locked) {
      if (!names("python")) specs.push_back("python");
      if (target.uv.empty() && !names("pip")) specs.push_back("pip");
    }
    Ready ready;
    ready.lock.kind = "conda";
    ready.lock.platform = kPlatform;

    auto made = MakePrefix(job, specs, locked);
    if (!made.ok() && made.error().slug == "environment.no_channel" && !locked) {
      if (settings_.strict) {
        Error error = made.error();
        error.message += "; the setting 'strict' forbids to build conda specifications from PyPI";
        return error;
      }
      return FromPypi(job, made.error());
    }
    if (!made.ok()) return made.error();
    for (const std::string& note : *made) {
      log(note);
      ready.lock.notes.push_back(note);
    }

    TRY(auto conda_packages, ReadPrefix(job.folder));
    ready.folder = job.folder;
    ready.path = {os::JoinPath(job.folder, "bin")};
    ready.variables = {{"CONDA_PREFIX", job.folder}};
    for (const model::LockedPackage& package : conda_packages)
      if (package.name == "python") ready.lock.python = package.version;
    if (ready.lock.python.empty())
      return MakeError(Code::kInvalid, "environment.no_python",
                       "the specification has no python: add 'python' to the conda dependencies, so that a script can be started", "dependencies");
    ready.interpreter = target.python;
    TRY(target.site_packages, SitePackages(job.folder));
    TRY(auto before, ReadInstalled(target.site_packages));

    PipOutcome outcome;
    if (locked) {
      std::erase_if(locked->packages, [](const auto& package) { return package.source != "pypi"; });
      TRY(outcome, InstallLocked(job, settings_, target, locked->packages));
    } else {
      TRY(outcome, InstallPip(job, settings_, target, {}));
    }
    ready.lock.notes.insert(ready.lock.notes.end(), outcome.notes.begin(), outcome.notes.end());
    ready.lock.packages = std::move(conda_packages);
    TRY(auto after, ReadInstalled(target.site_packages));
    for (model::LockedPackage& package : after) {
      if (std::any_of(before.begin(), before.end(), [&](const auto& old) { return old.name == package.name && old.version == package.version; })) continue;
      if (auto origin = outcome.origins.find(package.name); origin != outcome.origins.end()) {
        if (package.url.empty()) package.url = origin->second.url;
        if (package.sha256.empty()) package.sha256 = origin->second.sha256;
      }
      // What pip put over a conda package is what is imported.
      std::erase_if(ready.lock.packages, [&](const auto& old) { return model::NormalPackageName(old.name) == package.name; });
      ready.lock.packages.push_back(std::move(package));
    }
    std::sort(ready.lock.packages.begin(), ready.lock.packages.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return ready;
  }

  Result<void> Relocate(const Ready& ready, const std::string& before) override { return RelocatePrefix(ready.folder, before, settings_.sdk); }

 private:
  static Result<std::vector<std::string>> Specs(const model::Environment& definition) {
    std::vector<std::string> specs;
    std::set<std::string> seen;
    for (size_t i = 0; i < definition.conda.dependencies.size(); ++i) {
      const std::string& line = definition.conda.dependencies[i];
      bool address = line.find("://") != std::string::npos;
      std::string text(Trim(std::string_view(line).substr(0, address ? std::string::npos : line.find('#'))));
      if (text.empty()) continue;
      auto spec = ParseCondaSpec(text);
      if (!spec.ok())
        return MakeError(spec.error().code, spec.error().slug, StrCat("conda line ", i + 1, ": ", spec.error().message), StrCat("conda line ", i + 1));
      if (seen.insert(text).second) specs.push_back(std::move(text));
    }
    return specs;
  }

  // Solves and installs, or installs what is locked. Notes.
  Result<std::vector<std::string>> MakePrefix(const Job& job, const std::vector<std::string>& specs, const std::optional<model::Lock>& locked) {
    std::vector<std::string> channels = job.definition.conda.channels;
    if (channels.empty() && !locked) {
      if (job.log) job.log(StrCat("the specification names no channel; ", kDefaultChannel, " is used"));
      channels = {kDefaultChannel};
    }
    std::vector<model::LockedPackage> exact;
    if (locked)
      for (const model::LockedPackage& package : locked->packages) {
        if (package.source != "conda") continue;
        if (package.url.empty())
          return MakeError(Code::kInvalid, "environment.lock", StrCat("the lock does not say where '", package.name, "' came from"), "lock.packages");
        exact.push_back(package);
      }
    for (const char* name : kTools)
      if (auto tool = FindTool(name, settings_.path)) return WithTool(job, name, *tool, channels, specs, locked ? &exact : nullptr);
    return WithRattler(job, channels, specs, locked ? &exact : nullptr);
  }

  Result<std::vector<std::string>> WithRattler(const Job& job, const std::vector<std::string>& channels, const std::vector<std::string>& specs,
                                               const std::vector<model::LockedPackage>* exact) {
    TRY(Rattler rattler, FindOrInstallRattler(job, settings_));
    Json request = Json::MakeObject({{"prefix", job.folder}, {"platform", kPlatform}, {"channels", channels}, {"specs", specs}});
    request.Set("cache", os::JoinPath(settings_.cache.empty() ? settings_.tools : settings_.cache, "conda"));
    request.Set("alias", os::GetEnv("CONDA_CHANNEL_ALIAS").value_or(""));
    if (exact) {
      Json packages = Json::MakeArray();
      for (const model::LockedPackage& package : *exact)
        packages.Push(Json::MakeObject({{"name", package.name}, {"url", package.url}, {"sha256", package.sha256}, {"channel", package.channel}}));
      request.Set("explicit", std::move(packages));
    }
    Step step;
    step.tool = "rattler";
    step.argv = {rattler.python, "-I", rattler.driver};
    step.folder = settings_.tools;
    step.input = request.Dump();
    TRY_VOID(RunStep(job, settings_, step));
    return std::vector<std::string>{};
  }

  Result<std::vector<std::string>> WithTool(const Job& job, const std::string& name, const std::string& program, const std::vector<std::string>& channels,
                                            const std::vector<std::string>& specs, const std::vector<model::LockedPackage>* exact) {
    if (job.log) job.log(StrCat("Solving with ", program));
    std::string file = job.folder + (exact ? ".explicit.txt" : ".specs.txt"), text;
    if (exact) {
      text = "@EXPLICIT\n";
      for (const model::LockedPackage& package : *exact) text += package.url + "\n";
    } else {
      for (const std::string& spec : specs) text += spec + "\n";
    }
    TRY_VOID(os::WriteFile(file, text, 0600));
    Step step;
    step.tool = name;
    step.argv = {program, "create", "-y", "-p", job.folder, "--file", file};
    if (!exact) {
      step.argv.push_back("--override-channels");
      for (const std::string& channel : channels) step.argv.insert(step.argv.end(), {"-c", channel});
    }
    // Nobody waits for minutes for a channel that is not there.
    step.variables = {{"CONDA_REMOTE_CONNECT_TIMEOUT_SECS", "5"}, {"CONDA_REMOTE_READ_TIMEOUT_SECS", "20"}, {"CONDA_REMOTE_MAX_RETRIES", "1"},
                      {"MAMBA_REMOTE_CONNECT_TIMEOUT_SECS", "5"}, {"MAMBA_REMOTE_MAX_RETRIES", "1"},        {"MAMBA_NO_BANNER", "1"}};
    auto ran = RunStep(job, settings_, step);
    (void)os::RemoveFile(file);
    if (!ran.ok()) {
      Error error = ran.error();
      if (error.slug == "environment.unreachable") error.slug = "environment.no_channel";
      return error;
    }
    if (exact) TRY_VOID(CheckHashes(job.folder, *exact));
    return std::vector<std::string>{};
  }

  static Result<void> CheckHashes(const std::string& folder, const std::vector<model::LockedPackage>& exact) {
    TRY(auto installed, ReadPrefix(folder));
    for (const model::LockedPackage& want : exact)
      for (const model::LockedPackage& have : installed)
        if (have.name == want.name && !have.sha256.empty() && !want.sha256.empty() && have.sha256 != want.sha256)
          return MakeError(Code::kInvalid, "environment.hash",
                           StrCat("the hash of '", want.name, "' is not the one of the lock: expected sha256 ", want.sha256, ", got ", have.sha256), "lock");
    return {};
  }

  Result<Ready> FromPypi(const Job& job, const Error& why) {
    auto fallback = InPipsWords(job.definition);
    if (!fallback.ok()) {
      Error error = fallback.error();
      if (error.slug == "environment.not_mappable") error.message = StrCat(why.message, ", and ", error.message);
      return error;
    }
    std::vector<std::string> notes = {StrCat(why.message, ": this environment was built from PyPI instead, without conda's packages")};
    notes.insert(notes.end(), fallback->notes.begin(), fallback->notes.end());
    for (const std::string& note : notes)
      if (job.log) job.log(note);
    TRY_VOID(os::RemoveAll(job.folder));
    Job own{fallback->definition, job.folder, job.mark, job.log, job.stopping, job.context};
    auto built = MakeVenvBuilder(settings_)->Build(own);
    if (!built.ok()) {
      // The user wrote conda's line, not ours.
      Error error = built.error();
      for (const auto& [number, conda] : fallback->lines) {
        std::string ours = NameLine("pip", number, fallback->definition.conda.pip[number - 1]);
        if (size_t at = error.message.find(ours); at != std::string::npos) {
          error.message.replace(at, ours.size(), conda);
          error.field = conda.substr(0, conda.find(" '"));
        }
      }
      if (error.code != Code::kCanceled) error.message = StrCat(why.message, "; from PyPI: ", error.message);
      return error;
    }
    built->lock.notes.insert(built->lock.notes.begin(), notes.begin(), notes.end());
    return built;
  }

  Settings settings_;
};

}  // namespace

std::unique_ptr<Builder> MakeCondaBuilder(Settings settings) { return std::make_unique<CondaBuilder>(std::move(settings)); }

}  // namespace ferry::environment
