#include "environment/conda/rattler.h"

#include <chrono>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "environment/conda_spec.h"
#include "environment/interpreter.h"
#include "environment/venv/venv_builder.h"
#include "os/file.h"

extern "C" {
extern const char ferry_rattler_driver_begin[];
extern const char ferry_rattler_driver_end[];
}

namespace ferry::environment {
namespace {

// The release whose interface the driver knows.
constexpr const char* kRattler = "py-rattler==0.28.*";
constexpr const char* kPythons = ">=3.10";

Result<os::FileLock> TakeTurn(const Job& job, const std::string& path) {
  bool said = false;
  for (;;) {
    auto lock = os::FileLock::Take(path, false);
    if (lock.ok() || lock.error().slug != "file.locked") return lock;
    if (!said && job.log) job.log("Another build installs py-rattler; waiting for it");
    said = true;
    if (job.stopping && job.stopping()) return MakeError(Code::kCanceled, "environment.stopped", "the build was stopped");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace

Result<Rattler> FindOrInstallRattler(const Job& job, const Settings& settings) {
  std::string_view program(ferry_rattler_driver_begin, static_cast<size_t>(ferry_rattler_driver_end - ferry_rattler_driver_begin));
  std::string folder = os::JoinPath(settings.tools, "rattler");
  Rattler rattler{folder + "/bin/python", StrCat(settings.tools, "/rattler-", HashBytes(program).Hex().substr(0, 16), ".py")};
  TRY_VOID(os::MakeFolders(settings.tools));
  if (!os::Exists(rattler.driver)) TRY_VOID(os::WriteFileAtomic(rattler.driver, program, 0644, false));
  std::string whole = folder + "/ready.json";
  // An interpreter that is gone takes the tool with it.
  auto usable = [&] { return os::Exists(whole) && os::RealPath(rattler.python).ok(); };
  if (usable()) return rattler;
  TRY(os::FileLock turn, TakeTurn(job, folder + ".lock"));
  if (usable()) return rattler;
  if (job.log) job.log("Installing py-rattler, which solves conda specifications; this happens once on a node");
  TRY_VOID(os::RemoveAll(folder));
  model::Environment definition;
  definition.conda.dependencies = {StrCat("python", kPythons)};
  definition.conda.pip = {kRattler};
  Job own{definition, folder, job.mark, job.log, job.stopping, ""};
  auto built = MakeVenvBuilder(settings)->Build(own);
  if (!built.ok()) {
    (void)os::RemoveAll(folder);
    Error error = built.error();
    error.field.clear();
    if (error.code != Code::kCanceled)
      error.message = StrCat("py-rattler, which conda specifications need on a node without conda, could not be installed: ", error.message);
    return error;
  }
  TRY_VOID(os::WriteFileAtomic(whole, ToJson(*built).Dump()));
  return rattler;
}

}  // namespace ferry::environment
