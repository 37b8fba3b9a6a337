// Submitting: the source directory as a snapshot, the run as one request that can be sent twice.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/configuration.h"
#include "cli/context.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/upload.h"
#include "model/run.h"
#include "os/file.h"
#include "os/process.h"
#include "snapshot/snapshot.h"

namespace ferry::cli {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// How long a server that went away in the middle is waited for.
constexpr milliseconds kPatience{30000};

Error BadScript(std::string message) { return MakeError(Code::kInvalid, "script.invalid", std::move(message), "SCRIPT"); }

// The source directory, with links resolved.
Result<std::string> SourceFolder(const std::string& given) {
  auto stat = os::StatPath(given);
  if (!stat.ok() && stat.error().code == Code::kNotFound)
    return MakeError(Code::kNotFound, "source.not_found", StrCat("there is no folder '", given, "' to take the source from"), "--source-directory");
  if (!stat.ok()) return stat.error();
  if (stat->type != os::FileType::kFolder)
    return MakeError(Code::kInvalid, "source.not_a_folder", StrCat("the source directory '", given, "' is not a folder"), "--source-directory");
  return os::RealPath(given);
}

// A path without "." and "..", as far as its text tells; nothing when it climbs above its beginning.
std::optional<std::string> Normalize(std::string_view path) {
  std::vector<std::string> parts;
  for (std::string_view part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (parts.empty()) return std::nullopt;
      parts.pop_back();
      continue;
    }
    parts.emplace_back(part);
  }
  return Join(parts, "/");
}

// The script relative to the folder.
Result<std::string> ScriptInside(const std::string& folder, const std::string& script) {
  if (script.empty()) return BadScript("the script's name is empty");
  std::optional<std::string> inside;
  if (script.starts_with('/')) {
    auto real = os::RealPath(script);
    std::string whole = real.ok() ? *real : script;
    std::string prefix = folder == "/" ? folder : StrCat(folder, "/");
    if (whole.starts_with(prefix)) inside = Normalize(whole.substr(prefix.size()));
  } else {
    inside = Normalize(script);
  }
  if (!inside || inside->empty()) return BadScript(StrCat("the script '", script, "' is outside of the source directory ", folder));
  auto stat = os::StatPath(os::JoinPath(folder, *inside));
  if (!stat.ok() && stat.error().code == Code::kNotFound) {
    // A path from here instead of from the source directory is a common slip.
    std::string hint;
    if (auto real = os::RealPath(script); real.ok() && real->starts_with(StrCat(folder, "/")))
      hint = StrCat("; a script is named from there: '", real->substr(folder.size() + 1), "'");
    return MakeError(Code::kNotFound, "script.not_found", StrCat("there is no script '", script, "' in the source directory ", folder, hint), "SCRIPT");
  }
  if (!stat.ok()) return stat.error();
  if (stat->type != os::FileType::kFile) return BadScript(StrCat("the script '", script, "' is not a file"));
  return *inside;
}

// The file that remembers the hashes of this folder's files; "" when there is no place for it.
std::string CacheFile(const std::string& folder) {
  std::string cache = os::JoinPath(HomeOfFerry(), "cache");
  if (!os::Exists(cache)) {
    if (!os::MakeFolders(HomeOfFerry(), 0700).ok() || !os::MakeFolders(cache, 0700).ok()) return {};
  }
  return os::JoinPath(cache, StrCat("scan-", HashBytes(folder).Hex().substr(0, 16)));
}

// One submission: the request, and the folder behind its snapshot.
class Submission {
 public:
  Submission(Context& context, Json request, std::string folder) : context_(context), request_(std::move(request)), folder_(std::move(folder)) {}

  // Reads the folder and sets the request's snapshot.
  Result<void> Scan(const std::string& script) {
    TRY(scan_, snapshot::Scan({.folder = folder_, .cache_file = CacheFile(folder_), .threads = 0}));
    const auto& entries = scan_.manifest.entries;
    if (!script.empty() && std::none_of(entries.begin(), entries.end(), [&](const snapshot::Entry& e) { return e.path == script || IsAbove(e, script); }))
      return BadScript(
          StrCat("the script '", script, "' is left out of the snapshot", scan_.ignore_file.empty() ? std::string() : StrCat(" by ", scan_.ignore_file)));
    request_.Set("snapshot", scan_.manifest.Id().Hex());
    return {};
  }
  // Reads the folder of an image's build context and names its snapshot in the environment.
  Result<void> ScanContext(const std::string& folder, const std::string& dockerfile) {
    context_folder_ = folder;
    context_dockerfile_ = dockerfile;
    TRY(context_scan_, snapshot::Scan({.folder = folder, .cache_file = CacheFile(folder), .threads = 0}));
    Json context = Json::MakeObject({{"snapshot", context_scan_.manifest.Id().Hex()}});
    context.SetIf("dockerfilePath", dockerfile);
    request_.Find("environment_definition")->Find("docker")->Set("buildContext", std::move(context));
    return {};
  }
  void SetProperties(const std::map<std::string, std::string>& properties) { request_.Set("properties", properties); }
  const std::vector<std::string>& notes() const { return scan_.notes; }

  // Hands the run over. A server that goes away in the middle is waited for; the same request is the same run.
  Result<Json> Send(Session& session, Interrupt& interrupt) {
    std::optional<Steady::time_point> deadline;
    milliseconds pause{100};
    bool scanned_again = false;
    for (;;) {
      sent_ = 0;
      auto answer = Try(session);
      if (answer.ok() || interrupt.pressed()) return answer;
      const Error& error = answer.error();
      if (error.slug == "upload.changed" && !scanned_again) {
        scanned_again = true;
        context_.Note(StrCat(error.message, "; reading the folder again"));
        TRY_VOID(Scan(request_.GetString("script")));
        if (!context_folder_.empty()) TRY_VOID(ScanContext(std::string(context_folder_), std::string(context_dockerfile_)));
        continue;
      }
      if (error.slug == "upload.changed")
        return MakeError(error.code, error.slug,
                         StrCat("'", error.field, "' keeps changing while it is sent; leave it out with .amlignore, or submit when it rests"), error.field);
      if (!IsConnectionError(error)) return answer;
      // As long as bytes arrive, the patience begins anew.
      if (!deadline || sent_ > 0) {
        deadline = Steady::now() + kPatience;
        pause = milliseconds(100);
        context_.Note(StrCat(error.message, "; trying again"));
      }
      if (Steady::now() + pause > *deadline)
        return MakeError(error.code, error.slug,
                         StrCat("gave up after ", kPatience.count() / 1000, " s: ", error.message, "; submitting again with --run-id ",
                                request_.GetString("id"), " is safe"));
      interrupt.Sleep(pause);
      pause = std::min(pause * 2, milliseconds(1000));
      session.Relocate();
    }
  }

 private:
  static bool IsAbove(const snapshot::Entry& entry, const std::string& script) {
    return entry.type == snapshot::Entry::Type::kLink && script.starts_with(StrCat(entry.path, "/"));
  }

  Result<Json> Try(Session& session) {
    if (!context_folder_.empty()) TRY_VOID(UploadSnapshot(session, context_folder_, context_scan_.manifest, [](const transfer::UploadProgress&) {}));
    // Most snapshots are there already: the run is sent first, and the content only when it is asked for.
    auto answer = session.Send("POST", "/api/v1/runs", request_);
    if (answer.ok() || answer.error().slug != "snapshot.not_found" || !request_.Find("snapshot")) return answer;
    StatusLine line(context_.streams.err_terminal, context_.streams.err);
    const bool shown = context_.streams.err_terminal.rewrites && !context_.quiet();
    auto last = Steady::now();
    TRY_VOID(UploadSnapshot(session, folder_, scan_.manifest, [&](const transfer::UploadProgress& progress) {
      sent_ = progress.bytes;
      if (!shown || Steady::now() - last < milliseconds(100)) return;
      last = Steady::now();
      line.Update("Uploading",
                  StrCat(progress.files, " of ", progress.all_files, " files, ", FormatBytes(progress.bytes), " of ", FormatBytes(progress.all_bytes)));
    }));
    line.Clear();
    return session.Send("POST", "/api/v1/runs", request_);
  }

  Context& context_;
  Json request_;
  std::string folder_;  // empty: no snapshot
  snapshot::ScanResult scan_;
  std::string context_folder_, context_dockerfile_;  // of an image's build context; empty: none
  snapshot::ScanResult context_scan_;
  uint64_t sent_ = 0;  // of the upload in the last try
};

// The part of the request that script and command share.
Result<Json> CommonRequest(Context& context, const std::string& folder, const Plan& plan) {
  const Arguments& given = context.arguments;
  TRY(std::string workspace, context.Workspace());
  TRY(auto tags, KeyValues(given.All("tag"), "--tag", true));
  TRY(auto environment, KeyValues(given.All("env"), "--env", false));
  environment.insert(plan.config.environment.variables.begin(), plan.config.environment.variables.end());
  std::string experiment = given.Get("experiment-name");
  if (experiment.empty()) {
    TRY(FolderSettings settings, context.Folder());
    experiment = settings.experiment;
  }
  if (experiment.empty()) experiment = ExperimentFrom(folder);
  TRY_VOID(model::CheckName("experiment", experiment));
  std::string id = given.Get("run-id");
  if (id.empty()) id = StrCat(experiment.substr(0, 200), "_", Now().micros / 1'000'000, "_", RandomHex(4));
  TRY_VOID(model::CheckName("run id", id));

  Json request = Json::MakeObject({{"id", id}, {"workspace", workspace}, {"experiment", experiment}, {"target", plan.config.target}});
  request.SetIf("name", given.Get("name")).SetIf("description", given.Get("description")).SetIf("parent", given.Get("parent-run-id"));
  const bool own_limit = given.Has("max-run-duration-seconds");
  if (int64_t seconds = own_limit ? given.Number("max-run-duration-seconds") : plan.config.max_run_duration_seconds)
    request.Set("max_duration_seconds", seconds);
  if (int64_t gpus = given.Number("gpus")) request.Set("gpus", gpus);
  if (!tags.empty()) request.Set("tags", tags);
  if (!environment.empty()) request.Set("environment", environment);
  AddPlan(plan, request);
  return request;
}

// Sends the run and, unless --async, follows it.
Result<int> SendAndFollow(Context& context, Json request, const std::string& folder, const std::string& script, const Plan& plan) {
  const std::string id = request.GetString("id");
  if (!folder.empty()) request.Set("source", folder.substr(folder.rfind('/') + 1));
  std::map<std::string, std::string> facts;
  std::thread git;
  if (!folder.empty()) git = std::thread([&] { facts = snapshot::GitFacts(folder); });
  Submission submission(context, std::move(request), folder);
  auto scanned = folder.empty() ? Result<void>() : submission.Scan(script);
  if (git.joinable()) git.join();
  if (!scanned.ok()) return scanned.error();
  if (!plan.context.empty()) TRY_VOID(submission.ScanContext(plan.context, plan.config.environment.docker.context_dockerfile));
  if (!facts.empty()) submission.SetProperties(facts);
  for (const std::string& note : submission.notes()) context.Note(note);

  TRY(Session * session, context.Server());
  Interrupt interrupt;
  session->set_stop(interrupt.token());
  auto answer = submission.Send(*session, interrupt);
  if (interrupt.pressed() && !answer.ok()) {
    context.streams.err(StrCat("\ninterrupted; whether it was submitted tells: ferry run show -r ", id, "\n"));
    return 130;
  }
  if (!answer.ok()) return answer.error();
  if (context.arguments.Has("async")) {
    TRY(int told, context.Tell(*answer, StrCat(id, "\n")));
    if (context.ForPeople() && context.streams.out_terminal.is_tty) context.Note(StrCat("follow it with: ferry run monitor-logs -r ", id));
    return told;
  }
  // Whoever detaches has the run's id already.
  TRY_VOID(context.Record(*answer));
  context.Note(StrCat("run ", id));
  return Follow(context, *session, id, interrupt);
}

}  // namespace

Result<int> SubmitScript(Context& context) {
  const Arguments& given = context.arguments;
  if (!given.Has("SCRIPT") && !given.Has("run-configuration-name"))
    return MakeError(Code::kInvalid, "args.missing", "SCRIPT is missing, and no run configuration (-c) names one", given.group);
  TRY(std::string folder, SourceFolder(given.Get("source-directory")));
  TRY(Plan plan, PlanSubmission(context, folder, given.Get("SCRIPT")));
  std::string script;
  if (plan.config.command.empty()) {
    TRY(script, ScriptInside(folder, plan.config.script));
  }
  TRY(Json request, CommonRequest(context, folder, plan));
  if (script.empty()) {
    request.Set("command", plan.config.command);
  } else {
    request.Set("script", script);
    const auto& arguments = given.rest.empty() ? plan.config.arguments : given.rest;
    if (!arguments.empty()) request.Set("arguments", arguments);
  }
  return SendAndFollow(context, std::move(request), folder, script, plan);
}

Result<int> SubmitCommand(Context& context) {
  const Arguments& given = context.arguments;
  std::string folder;
  if (given.Has("source-directory")) {
    TRY(folder, SourceFolder(given.Get("source-directory")));
  }
  const std::string source = folder.empty() ? os::CurrentFolder() : folder;
  TRY(Plan plan, PlanSubmission(context, source, given.rest.empty() ? std::string() : given.rest[0]));
  TRY(Json request, CommonRequest(context, source, plan));
  request.Set("command", given.rest);
  return SendAndFollow(context, std::move(request), folder, "", plan);
}

}  // namespace ferry::cli
