// Runs: submission, lists, single runs, updates.
#include <algorithm>

#include "base/text.h"
#include "engine/tables.h"
#include "rest/filter.h"
#include "rest/handlers.h"

namespace ferry::rest {

Result<std::map<std::string, std::string>> StringMap(const Json& body, std::string_view key, size_t max_items, size_t max_value) {
  std::map<std::string, std::string> out;
  const Json* value = body.Find(key);
  if (!value || value->is_null()) return out;
  if (!value->is_object())
    return MakeError(Code::kInvalid, "field.type", StrCat(key, " must be an object of texts, not ", value->TypeName()), std::string(key));
  for (const auto& [name, item] : value->as_object()) {
    std::string field = StrCat(key, ".", name.substr(0, 80));
    if (name.empty() || name.size() > 255) return MakeError(Code::kInvalid, "field.name", StrCat(field, ": a name has 1 to 255 characters"), field);
    std::string text;
    if (item.is_string())
      text = item.as_string();
    else if (item.is_number() || item.is_bool())
      text = item.Dump();
    else if (!item.is_null())
      return MakeError(Code::kInvalid, "field.type", StrCat(field, " must be a text, not ", item.TypeName()), field);
    if (text.size() > max_value) return MakeError(Code::kTooLarge, "field.too_long", StrCat(field, " is longer than ", max_value, " bytes"), field);
    out[name] = std::move(text);
  }
  if (out.size() > max_items) return MakeError(Code::kTooLarge, "field.too_many", StrCat(key, " has more than ", max_items, " entries"), std::string(key));
  return out;
}

Result<std::vector<std::string>> Texts(const Json& body, std::string_view key) {
  std::vector<std::string> out;
  const Json* value = body.Find(key);
  if (!value || value->is_null()) return out;
  if (!value->is_array()) return MakeError(Code::kInvalid, "field.type", StrCat(key, " must be a list, not ", value->TypeName()), std::string(key));
  size_t bytes = 0;
  for (size_t i = 0; i < value->as_array().size(); ++i) {
    const Json& item = value->as_array()[i];
    std::string field = StrCat(key, "[", i, "]");
    if (item.is_string())
      out.push_back(item.as_string());
    else if (item.is_number() || item.is_bool())
      out.push_back(item.Dump());
    else
      return MakeError(Code::kInvalid, "field.type", StrCat(field, " must be a text, not ", item.TypeName()), field);
    if (out.back().find('\0') != std::string::npos) return MakeError(Code::kInvalid, "field.zero", StrCat(field, " has a zero byte"), field);
    bytes += out.back().size();
  }
  if (out.size() > 10000 || bytes > (1u << 20))
    return MakeError(Code::kTooLarge, "field.too_long", StrCat(key, " is longer than 10,000 entries or 1 MB"), std::string(key));
  return out;
}

Result<void> CheckSnapshot(const Parts& parts, const std::string& id) {
  auto digest = Digest::FromHex(id);
  if (!digest) return MakeError(Code::kInvalid, "run.snapshot", "snapshot must be 64 hex digits", "snapshot");
  TRY(std::vector<bool> has, parts.blobs.Has(std::span(&*digest, 1)));
  if (!has[0]) return MakeError(Code::kNotFound, "snapshot.not_found", StrCat("snapshot ", id, " was not uploaded"), "snapshot");
  return {};
}

namespace {

bool RelativeInside(std::string_view path) { return logs::IsSafePath(path); }

// A parent is a run of the same workspace.
Result<void> CheckParent(const Parts& parts, const model::Run& run) {
  TRY_VOID(model::CheckName("parent", run.parent));
  auto parent = LoadRun(parts, run.parent);
  if (!parent.ok() && parent.error().code != Code::kNotFound) return parent.error();
  if (parent.ok() && parent->workspace == run.workspace) return {};
  return MakeError(Code::kNotFound, "run.parent", StrCat("there is no run '", run.parent, "' in workspace '", run.workspace, "' to be the parent"), "parent");
}

// What the run needs, by definition or by name. A definition is registered with the run: under its own name, else under the experiment's.
Result<void> SetNeeds(const Parts& parts, const Json& body, engine::Submit& submit) {
  model::RunSpec& spec = submit.run.spec;
  const Json* definition = body.Find("environment_definition");
  if (definition && definition->is_null()) definition = nullptr;
  std::string name = body.GetString("environment_name");
  if (!definition && name.empty()) return {};
  if (definition && !name.empty())
    return MakeError(Code::kInvalid, "run.environment_twice", "only one of 'environment_definition' and 'environment_name' can be given", "environment_name");
  if (definition) {
    TRY(spec.needs, DefinitionFromRequest(parts, *definition, "environment_definition"));
    name = spec.needs->name;
    if (name.empty()) name = model::EnvironmentNameOfExperiment(submit.run.experiment);
  }
  FoundEnvironment found;
  if (!definition || model::IsReservedEnvironmentName(name)) {
    TRY(auto reference, model::ParseEnvironmentReference(name, definition ? "environment_definition.name" : "environment_name"));
    TRY(found, FindEnvironment(parts, submit.run.workspace, reference, definition ? "environment_definition.name" : "environment_name"));
    if (definition && found.record.hash != model::DefinitionHash(*spec.needs))
      return MakeError(
          Code::kInvalid, "environment.reserved",
          StrCat("environment_definition is another than that of '", name.substr(0, 100), "', whose name is Ferry's own: give it a name of its own"),
          "environment_definition.name");
    spec.needs = found.record.definition;
    spec.environment_note = found.note;
    if (!found.note.empty()) submit.run.properties["ferry.environment.alias"] = found.note;
  } else {
    TRY_VOID(model::CheckEnvironmentName(name, "environment_definition.name"));
    model::EnvironmentRecord record;
    record.workspace = submit.run.workspace;
    record.name = name;
    record.definition = *spec.needs;
    record.hash = model::DefinitionHash(record.definition);
    record.key = model::BuildKey(record.definition);
    record.user = submit.run.user;
    submit.environment = std::move(record);
  }
  spec.environment_key = model::BuildKey(*spec.needs);
  // The run's own variables come first.
  for (const auto& [variable, value] : spec.needs->variables) spec.environment.try_emplace(variable, value);
  if (!spec.interpreter.empty() && !spec.needs->user_managed)
    return MakeError(Code::kInvalid, "run.interpreter_twice",
                     "'interpreter' cannot be given with an environment that is built; only with one whose userManagedDependencies is true", "interpreter");
  return {};
}

Result<std::vector<std::string>> WatchedFolders(const Json& body) {
  const Json* given = body.Find("watch");
  if (!given || given->is_null()) return model::RunSpec{}.watch;
  TRY(std::vector<std::string> folders, Texts(body, "watch"));
  if (folders.size() > 100) return MakeError(Code::kTooLarge, "field.too_many", "watch has more than 100 entries", "watch");
  for (size_t i = 0; i < folders.size(); ++i) {
    std::string& folder = folders[i];
    while (folder.starts_with("./")) folder.erase(0, 2);
    while (folder.ends_with('/')) folder.pop_back();
    if (!RelativeInside(folder))
      return MakeError(Code::kInvalid, "run.watch",
                       StrCat("watch[", i, "] is '", folder.substr(0, 200), "'; expected a path inside the working folder, without '..'"),
                       StrCat("watch[", i, "]"));
  }
  return folders;
}

Result<engine::Submit> SubmitFromRequest(const Parts& parts, const Call& call, Json body) {
  static const std::vector<std::string> known = {"id",
                                                 "workspace",
                                                 "experiment",
                                                 "name",
                                                 "description",
                                                 "parent",
                                                 "type",
                                                 "interactive",
                                                 "target",
                                                 "cluster",
                                                 "script",
                                                 "arguments",
                                                 "command",
                                                 "snapshot",
                                                 "interpreter",
                                                 "environment",
                                                 "max_duration_seconds",
                                                 "gpus",
                                                 "max_attempts",
                                                 "source",
                                                 "priority",
                                                 "tags",
                                                 "properties",
                                                 "environment_definition",
                                                 "environment_name",
                                                 "watch",
                                                 "collect_outputs",
                                                 "keep_snapshot",
                                                 "auto_prepare",
                                                 "run_configuration",
                                                 "data",
                                                 "outputs"};
  for (const auto& [key, value] : body.as_object())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      auto close = ClosestWord(key, known);
      return MakeError(Code::kInvalid, "field.unknown",
                       StrCat("'", key.substr(0, 80), "' is not a field of a run", close ? StrCat("; did you mean '", *close, "'?") : std::string()),
                       key.substr(0, 80));
    }
  for (const char* text : {"id", "workspace", "experiment", "name", "description", "parent", "type", "target", "script", "snapshot", "interpreter", "source",
                           "environment_name", "run_configuration"})
    if (const Json* v = body.Find(text); v && !v->is_string() && !v->is_null())
      return MakeError(Code::kInvalid, "field.type", StrCat(text, " must be a text, not ", v->TypeName()), text);
  for (const char* number : {"max_duration_seconds", "gpus", "max_attempts", "priority"})
    if (const Json* v = body.Find(number); v && !v->is_int() && !v->is_null())
      return MakeError(Code::kInvalid, "field.type", StrCat(number, " must be a whole number, not ", v->TypeName()), number);

  for (const char* flag : {"interactive", "collect_outputs", "keep_snapshot", "auto_prepare"})
    if (const Json* v = body.Find(flag); v && !v->is_bool() && !v->is_null())
      return MakeError(Code::kInvalid, "field.type", StrCat(flag, " must be true or false, not ", v->TypeName()), flag);
  if (Json* definition = body.Find("environment_definition")) SealPassword(parts, *definition);

  engine::Submit submit;
  model::Run& run = submit.run;
  TRY(run.workspace, WorkspaceOf(call, body.GetString("workspace")));
  run.experiment = body.GetString("experiment");
  TRY_VOID(model::CheckName("experiment", run.experiment));
  run.id = body.GetString("id");
  if (run.id.empty()) run.id = StrCat(run.experiment.substr(0, 200), "_", Now().micros / 1'000'000, "_", RandomHex(4));
  TRY_VOID(model::CheckName("id", run.id));
  run.name = body.GetString("name");
  run.description = body.GetString("description");
  if (run.name.size() > 255 || run.description.size() > 65536)
    return MakeError(Code::kTooLarge, "field.too_long", "name has at most 255 bytes and description 64 KB", run.name.size() > 255 ? "name" : "description");
  run.parent = body.GetString("parent");
  if (!run.parent.empty()) TRY_VOID(CheckParent(parts, run));
  run.type = body.GetString("type", run.type);
  TRY_VOID(model::CheckName("type", run.type, 64));
  run.target = body.GetString("target", "local");
  TRY_VOID(model::CheckName("target", run.target));
  if (run.target == "containerinstance")
    return MakeError(Code::kInvalid, "target.not_yet", "a container instance is not part of this version of Ferry yet.", "target");
  if (run.target == "amlcompute") {
    run.user = call.identity.user;
    TRY(submit.cluster, ClusterOfRun(body, run));
    run.target = submit.cluster->name;
  } else if (const Json* cluster = body.Find("cluster"); cluster && !cluster->is_null()) {
    return MakeError(Code::kInvalid, "run.cluster", "'cluster' belongs to target 'amlcompute'", "cluster");
  }
  run.user = call.identity.user;
  run.spec.script = body.GetString("script");
  TRY(run.spec.arguments, Texts(body, "arguments"));
  TRY(run.spec.command, Texts(body, "command"));
  run.spec.interactive = body.GetBool("interactive");
  if (run.spec.interactive) {
    if (!run.spec.script.empty() || !run.spec.command.empty() || !run.spec.arguments.empty())
      return MakeError(Code::kInvalid, "run.interactive", "an interactive run is driven by its client: it has no script, no command and no arguments",
                       "interactive");
  } else if (run.spec.script.empty() == run.spec.command.empty()) {
    return MakeError(Code::kInvalid, "run.script_or_command", "exactly one of 'script' and 'command' must be given", "script");
  }
  if (!run.spec.script.empty() && !RelativeInside(run.spec.script))
    return MakeError(Code::kInvalid, "run.script_path",
                     StrCat("script '", run.spec.script.substr(0, 200), "' must be a path inside the source directory, without '..'"), "script");
  if (!run.spec.command.empty() && run.spec.command[0].empty()) return MakeError(Code::kInvalid, "run.command", "the command's program is empty", "command[0]");
  run.spec.snapshot = body.GetString("snapshot");
  if (!run.spec.snapshot.empty()) {
    TRY_VOID(CheckSnapshot(parts, run.spec.snapshot));
  } else if (!run.spec.script.empty()) {
    return MakeError(Code::kInvalid, "run.no_snapshot", "a script needs a snapshot of its source directory", "snapshot");
  }
  run.spec.interpreter = body.GetString("interpreter");
  run.spec.source = body.GetString("source");
  TRY(run.spec.environment, StringMap(body, "environment", 1000, 128u << 10));
  for (const auto& [name, value] : run.spec.environment)
    if (name.find('=') != std::string::npos || name.find('\0') != std::string::npos || value.find('\0') != std::string::npos)
      return MakeError(Code::kInvalid, "run.environment", StrCat("environment variable '", name, "' has '=' or a zero byte in it"), "environment");
  run.spec.max_duration_seconds = body.GetInt("max_duration_seconds");
  run.spec.gpus = static_cast<int>(body.GetInt("gpus"));
  run.spec.max_attempts = static_cast<int>(body.GetInt("max_attempts", 3));
  run.priority = static_cast<int>(body.GetInt("priority"));
  auto within = [](std::string_view name, int64_t value, int64_t low, int64_t high) -> Result<void> {
    if (value >= low && value <= high) return {};
    return MakeError(Code::kInvalid, "field.range", StrCat(name, " is ", value, "; expected ", low, " to ", high), std::string(name));
  };
  TRY_VOID(within("max_duration_seconds", run.spec.max_duration_seconds, 0, 100LL * 365 * 86400));
  TRY_VOID(within("gpus", body.GetInt("gpus"), 0, 1024));
  TRY_VOID(within("max_attempts", body.GetInt("max_attempts", 3), 1, 1000));
  TRY_VOID(within("priority", body.GetInt("priority"), -1000, 1000));
  TRY(run.tags, StringMap(body, "tags", 500, 64u << 10));
  TRY(run.properties, StringMap(body, "properties", 1000, 64u << 10));
  TRY(run.spec.watch, WatchedFolders(body));
  run.spec.collect_outputs = body.GetBool("collect_outputs", true);
  run.spec.keep_snapshot = body.GetBool("keep_snapshot", true);
  run.spec.auto_prepare = body.GetBool("auto_prepare", true);
  run.spec.run_configuration = body.GetString("run_configuration").substr(0, 255);
  TRY_VOID(SetNeeds(parts, body, submit));
  TRY_VOID(SetData(parts, body, run));
  run.request = HashBytes(body.Dump()).Hex();
  return submit;
}

// The digest of the newest lock that a node has reported for the run, or "".
std::string LockOf(const model::Run& run) {
  for (auto attempt = run.attempts.rbegin(); attempt != run.attempts.rend(); ++attempt)
    if (!attempt->environment.lock.empty()) return attempt->environment.lock;
  return {};
}

// The run again: the same spec, with the exact versions that the first one had.
Result<engine::Submit> SubmitAgain(const Parts& parts, const Call& call) {
  TRY(Json body, BodyObject(call));
  for (const auto& [key, value] : body.as_object())
    if (key != "id" || !value.is_string())
      return MakeError(Code::kInvalid, "field.unknown", StrCat("'", key.substr(0, 80), "' is not a field of a rerun; expected id (a text)"), key.substr(0, 80));
  TRY(model::Run before, LoadRun(parts, call.params.at("id")));
  if (before.spec.interactive)
    return MakeError(Code::kConflict, "run.interactive", StrCat("run '", before.id, "' was interactive: it has no script to run again"), "run");
  if (!before.spec.keep_snapshot && !before.spec.snapshot.empty())
    return MakeError(
        Code::kConflict, "run.snapshot_not_kept",
        StrCat("run '", before.id, "' was submitted with snapshotProject false, so its source directory is not there to run again; submit it anew"), "run");
  engine::Submit submit;
  model::Run& run = submit.run;
  run.id = body.GetString("id");
  if (run.id.empty()) run.id = StrCat(before.experiment.substr(0, 200), "_", Now().micros / 1'000'000, "_", RandomHex(4));
  TRY_VOID(model::CheckName("id", run.id));
  run.workspace = before.workspace;
  run.experiment = before.experiment;
  run.name = before.name;
  run.description = before.description;
  run.type = before.type;
  run.target = before.target;
  run.user = call.identity.user;
  run.spec = before.spec;
  run.priority = before.priority;
  run.tags = before.tags;
  for (const auto& [key, value] : before.properties)
    if (!key.starts_with("ferry.") || key == "ferry.environment.alias") run.properties[key] = value;
  run.properties["ferry.rerun_of"] = before.id;
  if (std::string lock = LockOf(before); run.spec.needs && !lock.empty() && !run.spec.environment_key.empty()) {
    TRY(run.spec.needs->lock, ReadLock(parts, lock));
    run.spec.environment_key = model::BuildKey(*run.spec.needs);
  }
  run.request = HashBytes(StrCat("rerun/", before.id)).Hex();
  return submit;
}

void Do(const Parts& parts, Result<engine::Submit> submit, const http::Responder& responder) {
  if (!submit.ok()) return Answer(responder, submit.error());
  parts.engine.Do(std::move(*submit), [responder](Result<Json> result) {
    bool created = result.ok() && result->GetBool("created");
    Answer(responder, result, created ? 201 : 200);
  });
}

}  // namespace

void SubmitRun(const Parts& parts, Call call, http::Responder responder) {
  auto body = BodyObject(call);
  if (!body.ok()) return Answer(responder, body.error());
  Do(parts, SubmitFromRequest(parts, call, std::move(*body)), responder);
}

void RerunRun(const Parts& parts, Call call, http::Responder responder) { Do(parts, SubmitAgain(parts, call), responder); }

void ShowLock(const Parts& parts, Call call, http::Responder responder) {
  auto show = [&]() -> Result<Json> {
    TRY(model::Run run, LoadRun(parts, call.params["id"]));
    std::string lock = LockOf(run);
    if (lock.empty())
      return MakeError(Code::kNotFound, "lock.not_found", StrCat("run '", run.id, "' has no lock: its environment was not prepared, or it asked for none"),
                       "run");
    return ReadLock(parts, lock);
  };
  Answer(responder, show());
}

void ListRuns(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    store::Query query;
    query.table = "run";
    if (std::string given = call.head.Query("workspace"); !given.empty() || !call.identity.workspace.empty()) {
      TRY(std::string workspace, WorkspaceOf(call, given));
      query.where.push_back({{"", "workspace"}, store::Op::kEq, {workspace}});
    }
    for (const char* column : {"experiment", "status", "target", "parent", "user", "type"}) {
      std::string value = call.head.Query(column);
      if (value.empty()) continue;
      if (std::string_view(column) == "status" && !model::StatusFromName(value))
        return MakeError(Code::kInvalid, "status.unknown", StrCat("'", value.substr(0, 40), "' is not a status of runs"), "status");
      query.where.push_back({{"", column}, store::Op::kEq, {value}});
    }
    std::string archived = call.head.Query("archived", "false");
    if (archived == "false" || archived == "true")
      query.where.push_back({{"", "archived"}, store::Op::kEq, {int64_t{archived == "true"}}});
    else if (archived != "any")
      return MakeError(Code::kInvalid, "parameter.invalid", StrCat("archived is '", archived.substr(0, 40), "'; expected true, false or any"), "archived");
    std::string tag = call.head.Query("tag");
    for (std::string_view one : Split(tag, ',')) {
      if (one.empty()) continue;
      size_t equals = one.find('=');
      if (equals == std::string_view::npos)
        query.where.push_back({{"tag", std::string(one)}, store::Op::kExists, {}});
      else
        query.where.push_back({{"tag", std::string(one.substr(0, equals))}, store::Op::kEq, {std::string(one.substr(equals + 1))}});
    }
    if (std::string filter = call.head.Query("filter"); !filter.empty()) {
      TRY(auto conditions, ParseFilter(filter));
      for (auto& condition : conditions) query.where.push_back(std::move(condition));
    }
    if (std::string group = call.head.Query("group"); !group.empty()) {
      static const std::vector<std::string> columns = {"status", "experiment", "target", "user", "workspace", "type", "parent"};
      if (std::find(columns.begin(), columns.end(), group) == columns.end())
        return MakeError(Code::kInvalid, "parameter.invalid", StrCat("group is '", group.substr(0, 40), "'; expected one of ", Join(columns, ", ")), "group");
      TRY(auto counts, parts.store.Count(query, group));
      Json groups = Json::MakeArray();
      for (const auto& [value, count] : counts) {
        const auto* text = std::get_if<std::string>(&value);
        groups.Push(Json::MakeObject({{"value", text ? Json(*text) : Json()}, {"count", count}}));
      }
      return Json::MakeObject({{"group", group}, {"groups", std::move(groups)}});
    }
    TRY(query.order, ParseOrder(call.head.Query("order", "-created")));
    TRY(int64_t limit, IntParameter(call, "limit", 50, 1, 1000));
    query.limit = static_cast<size_t>(limit);
    query.cursor = call.head.Query("cursor");
    TRY(store::Page page, parts.store.Find(query));
    Json runs = Json::MakeArray();
    for (const store::Document& document : page.documents) {
      TRY(model::Run run, engine::RunFromDocument(document));
      runs.Push(model::RunView(run));
    }
    return Json::MakeObject({{"runs", std::move(runs)}, {"next", page.next.empty() ? Json() : Json(page.next)}});
  };
  Answer(responder, list());
}

void ShowRun(const Parts& parts, Call call, http::Responder responder) {
  auto run = LoadRun(parts, call.params["id"]);
  if (!run.ok()) return Answer(responder, run.error());
  Json view = model::RunView(*run);
  if (run->spec.needs) view.Find("environment")->Set("definition", model::ToJson(*run->spec.needs));
  if (!model::IsTerminal(*run)) {
    std::string text;
    parts.engine.Look([&](const engine::Core& core) { text = core.Explain(run->id, Now()); });
    view.Set("waiting", text);
  }
  Answer(responder, view);
}

void ShowDefinition(const Parts& parts, Call call, http::Responder responder) {
  auto run = LoadRun(parts, call.params["id"]);
  if (!run.ok()) return Answer(responder, run.error());
  Answer(responder, model::DefinitionView(*run));
}

void ExplainRun(const Parts& parts, Call call, http::Responder responder) {
  auto run = LoadRun(parts, call.params["id"]);
  if (!run.ok()) return Answer(responder, run.error());
  std::string text;
  if (model::IsTerminal(*run))
    text = StrCat("it has ended: ", model::EndText(*run));
  else
    parts.engine.Look([&](const engine::Core& core) { text = core.Explain(run->id, Now()); });
  Answer(responder, Json::MakeObject({{"id", run->id}, {"status", model::StatusName(model::StatusOf(*run))}, {"explanation", text}}));
}

}  // namespace ferry::rest
