// A run's files in TensorBoard, brought here while it writes them.
#include <chrono>

#include "base/hash.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/download.h"
#include "cli/interrupt.h"
#include "model/reason.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPause{2000};
constexpr milliseconds kEndLimit{10000};
constexpr int kTerminate = 15;

// What is new of the run's logs and outputs.
Result<void> Bring(Context& context, Session& session, const std::string& run, const std::string& folder) {
  const std::string artifacts = ApiPath({"runs", run, "artifacts"});
  for (const char* prefix : {"logs/", "outputs/"}) {
    Download what{artifacts, "artifacts", artifacts, {{"prefix", prefix}}};
    what.progress = false;
    TRY([[maybe_unused]] Json files, DownloadAll(context, session, what, folder));
  }
  return DownloadStreams(session, run, "logs/", folder);
}

bool HasEnded(const Json& view) {
  auto status = model::StatusFromName(view.GetString("status"));
  return status && model::IsTerminal(*status);
}

}  // namespace

Result<int> MonitorTensorBoard(Context& context) {
  const std::string run = context.arguments.Get("run");
  TRY(Session * session, context.Server());
  TRY(Json view, session->Get(ApiPath({"runs", run})));
  auto program = os::FindProgram("tensorboard", os::GetEnv("PATH").value_or(""));
  if (!program)
    return MakeError(Code::kNotFound, "tensorboard.none", "the program tensorboard is not on the PATH; bring it with: pip install tensorboard", "PATH");
  const bool own_folder = !context.arguments.Has("local-directory");
  const std::string folder =
      own_folder ? os::JoinPath(os::GetEnv("TMPDIR").value_or("/tmp"), StrCat("ferry-tensorboard-", RandomHex(6))) : context.arguments.Get("local-directory");
  TRY_VOID(os::MakeFolders(folder, own_folder ? 0700 : 0755));
  auto clean = [&] {
    if (own_folder) (void)os::RemoveAll(folder);
  };
  if (auto brought = Bring(context, *session, run, folder); !brought.ok()) {
    clean();
    return brought.error();
  }
  Interrupt interrupt;
  os::SpawnOptions options;
  options.argv = {*program, "--logdir", folder};
  options.die_with_parent = true;
  auto pid = os::Spawn(options);
  if (!pid.ok()) {
    clean();
    return pid.error();
  }
  session->set_stop(interrupt.token());
  context.Note(StrCat("files of run ", run, " are in ", folder, "; Ctrl-C ends"));
  std::optional<os::WaitStatus> ended;
  while (!interrupt.pressed() && !ended) {
    if (auto status = os::Wait(*pid, milliseconds(0)); status.ok()) {
      ended = *status;
      break;
    }
    interrupt.Sleep(kPause);
    if (interrupt.pressed() || HasEnded(view)) continue;
    // A server that is away for a while is asked again.
    if (auto now = session->Get(ApiPath({"runs", run})); now.ok() && Bring(context, *session, run, folder).ok()) view = std::move(*now);
  }
  if (!ended) {
    os::SendSignal(*pid, kTerminate);
    (void)os::Wait(*pid, kEndLimit);
  }
  clean();
  if (!ended) return 130;
  if (ended->code || ended->signal)
    return MakeError(Code::kInternal, "tensorboard.failed",
                     StrCat("tensorboard ended with ", ended->signal ? "signal " : "status ", ended->signal ? ended->signal : ended->code));
  return 0;
}

}  // namespace ferry::cli
