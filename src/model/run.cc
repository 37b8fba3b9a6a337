#include "model/run.h"

#include <algorithm>

#include "base/text.h"
#include "model/datastore.h"

namespace ferry::model {

Status StatusOf(const Run& run) {
  const Phase& phase = run.attempt().phase;
  if (auto* ended = std::get_if<Ended>(&phase)) return Describe(ended->reason).status;
  if (auto* stopping = std::get_if<Stopping>(&phase)) {
    return stopping->why == EndReason::kCanceled ? Status::kCancelRequested : stopping->why == EndReason::kFailedByUser ? Status::kFinalizing : Status::kQueued;
  }
  if (std::holds_alternative<Queued>(phase)) return Status::kQueued;
  if (std::holds_alternative<Placed>(phase)) return Status::kStarting;
  if (std::holds_alternative<Preparing>(phase)) return Status::kPreparing;
  if (std::holds_alternative<Running>(phase) || std::holds_alternative<Driven>(phase)) return Status::kRunning;
  return Status::kFinalizing;
}

namespace {
Time Entered(const Attempt& attempt, size_t phase) { return attempt.entered[phase]; }
enum P : size_t { kQ, kPl, kPr, kR, kF, kS, kD, kE };

Time FirstOf(std::initializer_list<Time> times) {
  Time first;
  for (Time t : times)
    if (t && (!first || t < first)) first = t;
  return first;
}
}  // namespace

std::optional<Time> StartedAt(const Run& run) {
  Time t = Entered(run.attempt(), run.spec.interactive ? kD : kR);
  return t ? std::optional(t) : std::nullopt;
}

std::optional<Time> EndedAt(const Run& run) {
  Time t = Entered(run.attempt(), kE);
  return t ? std::optional(t) : std::nullopt;
}

std::string EndText(const Run& run) {
  auto* ended = std::get_if<Ended>(&run.attempt().phase);
  if (!ended) return {};
  std::string text = Describe(ended->reason).text;
  if (!ended->detail.empty()) text += StrCat(": ", ended->detail);
  return text;
}

std::vector<Stage> StagesOf(const Run& run) {
  std::vector<Stage> stages;
  for (const Attempt& a : run.attempts) {
    std::string cause = a.number == 1 ? std::string() : StrCat("attempt ", a.number);
    if (a.number > 1)
      if (auto* before = std::get_if<Ended>(&run.attempts[static_cast<size_t>(a.number) - 2].phase))
        cause += StrCat(", because ", Describe(before->reason).text);
    Time end = FirstOf({Entered(a, kE)});
    auto add = [&](const char* name, Time start, std::initializer_list<Time> ends, std::string why) {
      if (!start) return;
      Time until = FirstOf(ends);
      if (!until) until = end;
      stages.push_back({name, start, until, std::move(why)});
    };
    auto with = [&](std::string why) { return cause.empty() ? why : StrCat(cause, "; ", why); };
    add("Scaling", Entered(a, kQ), {Entered(a, kPl)}, with("waiting for a node"));
    add("Preparing", Entered(a, kPl), {Entered(a, kR), Entered(a, kF)}, with("snapshot and environment"));
    add("Running", Entered(a, kR), {Entered(a, kF)}, with("the script"));
    add("Running", Entered(a, kD), {}, "driven by its client");
    add("Post-Processing", Entered(a, kF), {}, with("collecting logs and outputs"));
  }
  return stages;
}

std::string PreparationText(const Run& run) {
  const auto& clocks = run.attempt().clocks;
  auto open = std::find_if(clocks.begin(), clocks.end(), [](const Clock& clock) { return !clock.end; });
  if (open != clocks.end() && open->name == "data")
    return StrCat("stages its data, since ", FormatTime(open->start), "; the log is azureml-logs/30_data_log.txt");
  if (open == clocks.end() || !run.spec.needs || (open->name != "environment" && open->name != "image")) return "prepares its snapshot and environment";
  const Environment& needs = *run.spec.needs;
  std::string name = needs.name.empty() ? run.spec.environment_key.substr(0, 12) : StrCat(needs.name, needs.version.empty() ? "" : ":", needs.version);
  return StrCat("builds its ", open->name, " '", name, "' or waits for its build, since ", FormatTime(open->start),
                "; the log is azureml-logs/20_image_build_log.txt");
}

Result<void> CheckName(std::string_view what, std::string_view name, size_t max_length) {
  auto fail = [&](std::string_view why) {
    std::string shown(name.substr(0, 60));
    return MakeError(Code::kInvalid, "name.invalid",
                     StrCat(what, " '", shown, "' ", why, "; expected letters, digits, '-', '_' and '.', beginning with a letter or digit, at most ",
                            max_length, " characters"),
                     std::string(what));
  };
  if (name.empty()) return fail("is empty");
  if (name.size() > max_length) return fail("is too long");
  auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (!alphanumeric(name[0])) return fail("begins with another character");
  for (char c : name)
    if (!alphanumeric(c) && c != '-' && c != '_' && c != '.') return fail("has another character");
  if (name.find("..") != std::string_view::npos) return fail("has '..' in it");
  return {};
}

Json ToJson(const RunSpec& spec) {
  Json json = Json::MakeObject();
  json.SetIf("script", spec.script);
  if (!spec.arguments.empty()) json.Set("arguments", spec.arguments);
  if (!spec.command.empty()) json.Set("command", spec.command);
  json.SetIf("snapshot", spec.snapshot).SetIf("interpreter", spec.interpreter).SetIf("source", spec.source);
  if (!spec.environment.empty()) json.Set("environment", spec.environment);
  if (spec.max_duration_seconds) json.Set("max_duration_seconds", spec.max_duration_seconds);
  if (spec.gpus) json.Set("gpus", spec.gpus);
  json.Set("max_attempts", spec.max_attempts);
  if (spec.needs) json.Set("needs", ToJson(*spec.needs, true));
  json.SetIf("environment_key", spec.environment_key).SetIf("environment_note", spec.environment_note);
  if (spec.watch != RunSpec{}.watch) json.Set("watch", spec.watch);
  for (const auto& [name, value] :
       {std::pair("collect_outputs", spec.collect_outputs), std::pair("keep_snapshot", spec.keep_snapshot), std::pair("auto_prepare", spec.auto_prepare)})
    if (!value) json.Set(name, false);
  if (spec.interactive) json.Set("interactive", true);
  json.SetIf("run_configuration", spec.run_configuration);
  if (!spec.data.empty()) json.Set("data", ToJson(spec.data));
  if (!spec.outputs.empty()) json.Set("outputs", ToJson(spec.outputs));
  return json;
}

Result<RunSpec> SpecFromJson(const Json& json) {
  RunSpec spec;
  spec.script = json.GetString("script");
  spec.arguments = json.GetStrings("arguments");
  spec.command = json.GetStrings("command");
  spec.snapshot = json.GetString("snapshot");
  spec.interpreter = json.GetString("interpreter");
  spec.source = json.GetString("source");
  spec.environment = json.GetStringMap("environment");
  spec.max_duration_seconds = json.GetInt("max_duration_seconds");
  spec.gpus = static_cast<int>(json.GetInt("gpus"));
  spec.max_attempts = static_cast<int>(json.GetInt("max_attempts", 3));
  if (const Json* needs = json.Find("needs")) {
    TRY(spec.needs, EnvironmentFromJson(*needs));
  }
  spec.environment_key = json.GetString("environment_key");
  spec.environment_note = json.GetString("environment_note");
  if (json.Find("watch")) spec.watch = json.GetStrings("watch");
  spec.collect_outputs = json.GetBool("collect_outputs", true);
  spec.keep_snapshot = json.GetBool("keep_snapshot", true);
  spec.auto_prepare = json.GetBool("auto_prepare", true);
  spec.interactive = json.GetBool("interactive");
  spec.run_configuration = json.GetString("run_configuration");
  if (const Json* data = json.Find("data")) {
    TRY(spec.data, DataInputsFromJson(*data, kDefaultDatastore));
  }
  if (const Json* outputs = json.Find("outputs")) {
    TRY(spec.outputs, DataOutputsFromJson(*outputs, kDefaultDatastore));
  }
  return spec;
}

Json ToJson(const Run& run) {
  Json json = Json::MakeObject({{"id", run.id},
                                {"workspace", run.workspace},
                                {"experiment", run.experiment},
                                {"number", run.number},
                                {"type", run.type},
                                {"target", run.target},
                                {"created", run.created.micros},
                                {"changed", run.changed.micros}});
  json.SetIf("name", run.name).SetIf("description", run.description).SetIf("parent", run.parent).SetIf("user", run.user);
  json.SetIf("request", run.request);
  json.Set("spec", ToJson(run.spec));
  if (run.priority) json.Set("priority", run.priority);
  if (run.cancel_asked) json.Set("cancel_asked", run.cancel_asked->micros);
  if (run.archived) json.Set("archived", true);
  if (!run.tags.empty()) json.Set("tags", run.tags);
  if (!run.properties.empty()) json.Set("properties", run.properties);
  Json attempts = Json::MakeArray();
  for (const Attempt& attempt : run.attempts) attempts.Push(ToJson(attempt));
  json.Set("attempts", std::move(attempts));
  return json;
}

Result<Run> RunFromJson(const Json& json) {
  Run run;
  run.id = json.GetString("id");
  run.workspace = json.GetString("workspace");
  run.experiment = json.GetString("experiment");
  run.number = json.GetInt("number");
  run.name = json.GetString("name");
  run.description = json.GetString("description");
  run.type = json.GetString("type", "azureml.scriptrun");
  run.parent = json.GetString("parent");
  run.target = json.GetString("target", "local");
  run.user = json.GetString("user");
  run.request = json.GetString("request");
  if (const Json* spec = json.Find("spec")) {
    TRY(run.spec, SpecFromJson(*spec));
  }
  run.priority = static_cast<int>(json.GetInt("priority"));
  run.created = Time{json.GetInt("created")};
  run.changed = Time{json.GetInt("changed")};
  if (const Json* asked = json.Find("cancel_asked"); asked && asked->is_int()) run.cancel_asked = Time{asked->as_int()};
  run.archived = json.GetBool("archived");
  run.tags = json.GetStringMap("tags");
  run.properties = json.GetStringMap("properties");
  if (const Json* attempts = json.Find("attempts"); attempts && attempts->is_array())
    for (const Json& item : attempts->as_array()) {
      TRY(Attempt attempt, AttemptFromJson(item));
      if (attempt.number != static_cast<int>(run.attempts.size()) + 1)
        return MakeError(Code::kInternal, "run.unreadable", StrCat("attempts of a run in the store are not in order: ", attempt.number));
      run.attempts.push_back(std::move(attempt));
    }
  if (run.id.empty() || run.attempts.empty()) return MakeError(Code::kInternal, "run.unreadable", "a run in the store has no id or no attempt");
  return run;
}

namespace {

Json SpecView(const RunSpec& spec) {
  Json json = ToJson(spec);
  for (const char* key : {"needs", "environment_key", "environment_note"}) json.Erase(key);
  return json;
}

Json EnvironmentView(const Run& run) {
  Json json = Json::MakeObject();
  if (run.spec.needs) {
    const Environment& needs = *run.spec.needs;
    json.Set("name", needs.name).Set("version", needs.version).Set("key", run.spec.environment_key).SetIf("note", run.spec.environment_note);
    if (!needs.lock.is_null()) json.Set("locked", true);
  }
  if (const EnvironmentUse& use = run.attempt().environment; !use.how.empty()) {
    json.Set("how", use.how).Set("seconds", use.seconds);
    json.SetIf("lock", use.lock);
  }
  return json;
}

const DataUse* UseOf(const Run& run, std::string_view name) {
  for (const DataUse& use : run.attempt().data)
    if (use.name == name) return &use;
  return nullptr;
}

Json InputDatasets(const Run& run) {
  Json list = Json::MakeArray();
  for (const auto& [name, input] : run.spec.data) {
    Json item = Json::MakeObject({{"name", name}, {"dataset", input.dataset.empty() ? Json() : Json(input.dataset)}, {"mode", DataModeName(input.mode)}});
    if (const DataUse* use = UseOf(run, name)) {
      item.Set("how", use->how).Set("files", use->files).Set("bytes", use->bytes);
      item.SetIf("path", use->path).SetIf("note", use->note);
    }
    list.Push(std::move(item));
  }
  return list;
}

Json OutputDatasets(const Run& run) {
  Json list = Json::MakeArray();
  for (const auto& [name, output] : run.spec.outputs) {
    Json item = Json::MakeObject({{"name", name}, {"datastore", output.datastore}, {"path", FilledPath(output, name, run.id)}});
    if (const DataUse* use = UseOf(run, name)) item.Set("how", use->how).Set("files", use->files).Set("bytes", use->bytes);
    list.Push(std::move(item));
  }
  return list;
}

}  // namespace

Json RunView(const Run& run) {
  auto time = [](std::optional<Time> t) { return t ? Json(FormatTime(*t)) : Json(); };
  Json json = Json::MakeObject({{"id", run.id},
                                {"workspace", run.workspace},
                                {"experiment", run.experiment},
                                {"number", run.number},
                                {"name", run.name.empty() ? run.id : run.name},
                                {"description", run.description},
                                {"type", run.type},
                                {"parent", run.parent.empty() ? Json() : Json(run.parent)},
                                {"target", run.target},
                                {"user", run.user},
                                {"status", StatusName(StatusOf(run))},
                                {"created", FormatTime(run.created)},
                                {"changed", FormatTime(run.changed)},
                                {"started", time(StartedAt(run))},
                                {"ended", time(EndedAt(run))},
                                {"archived", run.archived},
                                {"tags", run.tags},
                                {"properties", run.properties},
                                {"spec", SpecView(run.spec)},
                                {"priority", run.priority}});
  if (run.cancel_asked) json.Set("cancel_asked", FormatTime(*run.cancel_asked));
  const Attempt& attempt = run.attempt();
  if (auto* ended = std::get_if<Ended>(&attempt.phase)) {
    Json end = Json::MakeObject({{"reason", Describe(ended->reason).name}, {"text", EndText(run)}});
    end.SetIf("detail", ended->detail).SetIf("code", ended->code);
    if (ended->exit) end.Set("exit", ToJson(*ended->exit));
    json.Set("end", std::move(end));
  }
  if (const Lease* lease = LeaseOf(attempt.phase)) json.Set("node", lease->node);
  json.Set("attempt", attempt.number);
  Json attempts = Json::MakeArray();
  for (const Attempt& a : run.attempts) {
    Json item = Json::MakeObject({{"number", a.number}, {"phase", PhaseName(a.phase.index())}});
    if (auto* ended = std::get_if<Ended>(&a.phase)) item.Set("reason", Describe(ended->reason).name).SetIf("detail", ended->detail);
    attempts.Push(std::move(item));
  }
  json.Set("attempts", std::move(attempts));
  Json stages = Json::MakeArray();
  for (const Stage& stage : StagesOf(run)) {
    Json item = Json::MakeObject({{"name", stage.name}, {"start", FormatTime(stage.start)}, {"end", stage.end ? Json(FormatTime(stage.end)) : Json()}});
    item.SetIf("cause", stage.cause);
    stages.Push(std::move(item));
  }
  json.Set("stages", std::move(stages));
  if (run.spec.needs || !attempt.environment.how.empty()) json.Set("environment", EnvironmentView(run));
  Json clocks = Json::MakeArray();
  for (const Attempt& a : run.attempts)
    for (const Clock& clock : a.clocks)
      clocks.Push(Json::MakeObject(
          {{"name", clock.name}, {"attempt", a.number}, {"start", FormatTime(clock.start)}, {"end", clock.end ? Json(FormatTime(clock.end)) : Json()}}));
  if (!clocks.as_array().empty()) json.Set("clocks", std::move(clocks));
  if (!run.spec.data.empty()) json.Set("inputDatasets", InputDatasets(run));
  if (!run.spec.outputs.empty()) json.Set("outputDatasets", OutputDatasets(run));
  return json;
}

Json DefinitionView(const Run& run) {
  const RunSpec& spec = run.spec;
  auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  Json environment;
  if (spec.needs)
    environment =
        Json::MakeObject({{"name", spec.needs->name}, {"version", spec.needs->version}, {"key", spec.environment_key}, {"definition", ToJson(*spec.needs)}});
  return Json::MakeObject({{"id", run.id},
                           {"type", run.type},
                           {"interactive", spec.interactive},
                           {"target", run.target},
                           {"script", text(spec.script)},
                           {"arguments", spec.arguments},
                           {"command", spec.command},
                           {"snapshot", text(spec.snapshot)},
                           {"source", text(spec.source)},
                           {"interpreter", text(spec.interpreter)},
                           {"environment_variables", spec.environment},
                           {"environment", std::move(environment)},
                           {"max_duration_seconds", spec.max_duration_seconds},
                           {"max_attempts", spec.max_attempts},
                           {"priority", run.priority},
                           {"gpus", spec.gpus},
                           {"watch", spec.watch},
                           {"collect_outputs", spec.collect_outputs},
                           {"keep_snapshot", spec.keep_snapshot},
                           {"auto_prepare", spec.auto_prepare},
                           {"run_configuration", text(spec.run_configuration)},
                           {"data", Json::MakeObject()},
                           {"outputs", Json::MakeObject()}});
}

std::map<std::string, std::string> ParametersOf(const RunSpec& spec) {
  std::map<std::string, std::string> out;
  const auto& args = spec.script.empty() ? spec.command : spec.arguments;
  for (size_t i = 0; i < args.size() && out.size() < 200; ++i) {
    const std::string& arg = args[i];
    if (arg.size() < 3 || arg.compare(0, 2, "--") != 0) continue;
    size_t equals = arg.find('=');
    if (equals != std::string::npos) {
      out[arg.substr(2, equals - 2)] = arg.substr(equals + 1).substr(0, 500);
    } else if (i + 1 < args.size() && args[i + 1].compare(0, 2, "--") != 0) {
      out[arg.substr(2)] = args[i + 1].substr(0, 500);
      ++i;
    } else {
      out[arg.substr(2)] = "true";
    }
  }
  return out;
}

}  // namespace ferry::model
