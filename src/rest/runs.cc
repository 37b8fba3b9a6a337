// Runs: submission, lists, single runs, updates.
#include <algorithm>

#include "base/text.h"
#include "engine/tables.h"
#include "rest/filter.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

constexpr const char* kDefaultWorkspace = "default";

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

bool RelativeInside(std::string_view path) { return logs::IsSafePath(path); }

Result<model::Run> RunFromRequest(const Parts& parts, const Call& call, const Json& body) {
  static const std::vector<std::string> known = {"id",     "workspace",    "experiment", "name",     "description", "parent",      "target",
                                                 "script", "arguments",    "command",    "snapshot", "interpreter", "environment", "max_duration_seconds",
                                                 "gpus",   "max_attempts", "source",     "priority", "tags",        "properties"};
  for (const auto& [key, value] : body.as_object())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      auto close = ClosestWord(key, known);
      return MakeError(Code::kInvalid, "field.unknown",
                       StrCat("'", key.substr(0, 80), "' is not a field of a run", close ? StrCat("; did you mean '", *close, "'?") : std::string()),
                       key.substr(0, 80));
    }
  for (const char* text : {"id", "workspace", "experiment", "name", "description", "parent", "target", "script", "snapshot", "interpreter", "source"})
    if (const Json* v = body.Find(text); v && !v->is_string() && !v->is_null())
      return MakeError(Code::kInvalid, "field.type", StrCat(text, " must be a text, not ", v->TypeName()), text);
  for (const char* number : {"max_duration_seconds", "gpus", "max_attempts", "priority"})
    if (const Json* v = body.Find(number); v && !v->is_int() && !v->is_null())
      return MakeError(Code::kInvalid, "field.type", StrCat(number, " must be a whole number, not ", v->TypeName()), number);

  model::Run run;
  run.workspace = body.GetString("workspace", kDefaultWorkspace);
  run.experiment = body.GetString("experiment");
  TRY_VOID(model::CheckName("workspace", run.workspace, 32));
  TRY_VOID(model::CheckName("experiment", run.experiment));
  run.id = body.GetString("id");
  if (run.id.empty()) run.id = StrCat(run.experiment.substr(0, 200), "_", Now().micros / 1'000'000, "_", RandomHex(4));
  TRY_VOID(model::CheckName("id", run.id));
  run.name = body.GetString("name");
  run.description = body.GetString("description");
  if (run.name.size() > 255 || run.description.size() > 65536)
    return MakeError(Code::kTooLarge, "field.too_long", "name has at most 255 bytes and description 64 KB", run.name.size() > 255 ? "name" : "description");
  run.parent = body.GetString("parent");
  if (!run.parent.empty()) TRY_VOID(model::CheckName("parent", run.parent));
  run.target = body.GetString("target", "local");
  TRY_VOID(model::CheckName("target", run.target));
  if (run.target != "local")
    return MakeError(Code::kNotFound, "target.not_found", StrCat("there is no compute target '", run.target, "'; this version of Ferry knows 'local'"),
                     "target");
  run.user = call.identity.user;
  run.spec.script = body.GetString("script");
  TRY(run.spec.arguments, Texts(body, "arguments"));
  TRY(run.spec.command, Texts(body, "command"));
  if (run.spec.script.empty() == run.spec.command.empty())
    return MakeError(Code::kInvalid, "run.script_or_command", "exactly one of 'script' and 'command' must be given", "script");
  if (!run.spec.script.empty() && !RelativeInside(run.spec.script))
    return MakeError(Code::kInvalid, "run.script_path",
                     StrCat("script '", run.spec.script.substr(0, 200), "' must be a path inside the source directory, without '..'"), "script");
  if (!run.spec.command.empty() && run.spec.command[0].empty()) return MakeError(Code::kInvalid, "run.command", "the command's program is empty", "command[0]");
  run.spec.snapshot = body.GetString("snapshot");
  if (!run.spec.snapshot.empty()) {
    auto digest = Digest::FromHex(run.spec.snapshot);
    if (!digest) return MakeError(Code::kInvalid, "run.snapshot", "snapshot must be 64 hex digits", "snapshot");
    TRY(std::vector<bool> has, parts.blobs.Has(std::span(&*digest, 1)));
    if (!has[0]) return MakeError(Code::kNotFound, "snapshot.not_found", StrCat("snapshot ", run.spec.snapshot, " was not uploaded"), "snapshot");
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
  run.request = HashBytes(body.Dump()).Hex();
  return run;
}

}  // namespace

void SubmitRun(const Parts& parts, Call call, http::Responder responder) {
  auto body = BodyObject(call);
  if (!body.ok()) return Answer(responder, body.error());
  auto run = RunFromRequest(parts, call, *body);
  if (!run.ok()) return Answer(responder, run.error());
  parts.engine.Do(engine::Submit{std::move(*run)}, [responder](Result<Json> result) {
    bool created = result.ok() && result->GetBool("created");
    Answer(responder, result, created ? 201 : 200);
  });
}

void ListRuns(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    store::Query query;
    query.table = "run";
    for (const char* column : {"experiment", "status", "target", "parent", "user", "workspace", "type"}) {
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
  if (!model::IsTerminal(*run)) {
    std::string text;
    parts.engine.Look([&](const engine::Core& core) { text = core.Explain(run->id, Now()); });
    view.Set("waiting", text);
  }
  Answer(responder, view);
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

void UpdateRun(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::Update> {
    TRY(Json body, BodyObject(call));
    engine::Update update;
    update.run = call.params["id"];
    TRY(update.set_tags, StringMap(body, "tags", 500, 64u << 10));
    TRY(update.add_properties, StringMap(body, "properties", 1000, 64u << 10));
    TRY(update.remove_tags, Texts(body, "remove_tags"));
    for (const auto& [key, value] : body.as_object()) {
      if (key == "tags" || key == "properties" || key == "remove_tags") continue;
      if (key == "name" && value.is_string() && value.as_string().size() <= 255)
        update.name = value.as_string();
      else if (key == "description" && value.is_string() && value.as_string().size() <= 65536)
        update.description = value.as_string();
      else if (key == "archived" && value.is_bool())
        update.archived = value.as_bool();
      else
        return MakeError(
            Code::kInvalid, "field.unknown",
            StrCat("'", key.substr(0, 80), "' cannot be changed so; expected name, description (texts), archived (a boolean), tags, remove_tags or properties"),
            key.substr(0, 80));
    }
    return update;
  };
  auto update = build();
  if (!update.ok()) return Answer(responder, update.error());
  parts.engine.Do(std::move(*update), [responder](Result<Json> result) { Answer(responder, result); });
}

void CancelRun(const Parts& parts, Call call, http::Responder responder) {
  parts.engine.Do(engine::Cancel{call.params["id"]}, [responder](Result<Json> result) { Answer(responder, result); });
}

void EvictRun(const Parts& parts, Call call, http::Responder responder) {
  parts.engine.Do(engine::Evict{call.params["id"]}, [responder](Result<Json> result) { Answer(responder, result); });
}

}  // namespace ferry::rest
