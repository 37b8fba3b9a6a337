#include "environment/venv/venv_builder.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "environment/choose.h"
#include "environment/conda_spec.h"
#include "environment/installed.h"
#include "environment/interpreter.h"
#include "environment/pip.h"
#include "environment/requirement.h"
#include "environment/step.h"
#include "environment/venv/relocate.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::environment {
namespace {

class VenvBuilder : public Builder {
 public:
  explicit VenvBuilder(Settings settings) : settings_(std::move(settings)) {}

  Result<Ready> Build(const Job& job) override {
    TRY(PythonPin pin, FindPythonPin(job.definition));
    std::optional<model::Lock> locked;
    if (!job.definition.lock.is_null()) {
      TRY(locked, model::LockFromJson(job.definition.lock));
      if (locked->kind != "venv")
        return MakeError(Code::kInvalid, "environment.lock", StrCat("a virtual environment is built from a lock of kind 'venv', not '", locked->kind, "'"),
                         "lock.kind");
    } else if (!pin.conda_only.empty()) {
      return MakeError(Code::kInvalid, "environment.conda_only",
                       StrCat("a virtual environment has no conda packages, and the specification asks for '", pin.conda_only[0], "'"), "dependencies");
    }
    if (!locked) TRY_VOID(CheckPip(job));
    Ready ready;
    ready.lock.kind = "venv";
    ready.lock.platform = kPlatform;
    auto note = [&](std::string text) {
      if (job.log) job.log(text);
      ready.lock.notes.push_back(std::move(text));
    };
    TRY(Interpreter base, locked ? LockedInterpreter(*locked, note) : FindInterpreter(settings_, pin.clauses, pin.text));
    if (job.log) job.log(StrCat("Python ", base.version, " at ", base.path));

    PipTarget target;
    target.prefix = job.folder;
    target.python = os::JoinPath(job.folder, "bin/python");
    // What uv can still make environments for.
    if (auto uv = FindTool("uv", settings_.path); uv && CompareVersions(base.version, "3.8") >= 0) target.uv = *uv;
    TRY_VOID(Create(job, base, target.uv));
    TRY(target.site_packages, SitePackages(job.folder));
    TRY(auto given, ReadInstalled(target.site_packages));
    PipOutcome outcome;
    if (locked) {
      std::erase_if(locked->packages, [](const auto& package) { return package.source == "given"; });
      TRY(outcome, InstallLocked(job, settings_, target, locked->packages));
    } else {
      std::vector<std::string> extra;
      if (!pin.pip.empty()) extra.push_back(pin.pip);
      TRY(outcome, InstallPip(job, settings_, target, extra));
    }
    ready.lock.notes.insert(ready.lock.notes.end(), outcome.notes.begin(), outcome.notes.end());

    ready.folder = job.folder;
    ready.interpreter = target.python;
    ready.path = {os::JoinPath(job.folder, "bin")};
    ready.variables = {{"VIRTUAL_ENV", job.folder}};
    ready.lock.python = base.version;
    TRY(ready.lock.packages, ReadInstalled(target.site_packages));
    for (model::LockedPackage& package : ready.lock.packages) {
      bool came = std::any_of(given.begin(), given.end(), [&](const auto& old) { return old.name == package.name && old.version == package.version; });
      if (came) package.source = "given";
      if (auto origin = outcome.origins.find(package.name); origin != outcome.origins.end()) {
        package.source = "pypi";
        if (package.url.empty()) package.url = origin->second.url;
        if (package.sha256.empty()) package.sha256 = origin->second.sha256;
      }
    }
    return ready;
  }

  Result<void> Relocate(const Ready& ready, const std::string& before) override {
    TRY_VOID(CheckBase(ready));
    return RelocateFiles(ready.folder, before, settings_.sdk);
  }

 private:
  // The lock's own version where the node has it; else one of the same minor version, and the notes say so.
  Result<Interpreter> LockedInterpreter(const model::Lock& lock, const std::function<void(std::string)>& note) {
    std::string exact = StrCat("==", lock.python);
    std::string minor = lock.python.substr(0, lock.python.find('.', lock.python.find('.') + 1));
    auto found = FindInterpreter(settings_, exact, StrCat("python==", lock.python));
    if (found.ok()) return found;
    auto close = FindInterpreter(settings_, StrCat("=", minor), StrCat("python=", minor));
    if (!close.ok()) return found.error();
    note(StrCat("the lock was made with Python ", lock.python, ", which this node does not have; ", close->version, " is used"));
    return close;
  }

  Result<void> Create(const Job& job, const Interpreter& base, const std::string& uv) {
    Step step;
    step.folder = job.folder.substr(0, job.folder.rfind('/'));
    if (step.folder.empty()) step.folder = "/";
    if (!uv.empty()) {
      step.tool = "uv";
      step.argv = {uv, "venv", "--no-progress", "--no-project", "--no-python-downloads", "--python", base.path, job.folder};
    } else {
      step.tool = "venv";
      step.argv = {base.path, "-m", "venv", job.folder};
    }
    return RunStep(job, settings_, step);
  }

  // The interpreter that the environment's links lead to must be the one it was made for.
  Result<void> CheckBase(const Ready& ready) {
    auto invalid = [&](std::string_view why) {
      return MakeError(Code::kInvalid, "environment.relocate", StrCat("the environment has to be built on this node: ", why));
    };
    auto real = os::RealPath(ready.interpreter);
    if (!real.ok()) return invalid(StrCat("its interpreter, Python ", ready.lock.python, ", is not at the same place here"));
    if (real->starts_with(ready.folder + "/")) return invalid("it carries a copy of its interpreter");
    std::string version = VersionOf(settings_, *real);
    if (version == ready.lock.python) return {};
    if (!version.empty()) return invalid(StrCat("its interpreter is Python ", ready.lock.python, ", and ", *real, " is ", version));
    return invalid(StrCat(*real, " is no working Python"));
  }

  Settings settings_;
};

}  // namespace

std::unique_ptr<Builder> MakeVenvBuilder(Settings settings) { return std::make_unique<VenvBuilder>(std::move(settings)); }

}  // namespace ferry::environment
