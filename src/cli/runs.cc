// Looking at runs and changing them.
#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "cli/colour.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/width.h"

namespace ferry::cli {
namespace {

constexpr int64_t kPage = 1000;

const Columns& RunColumns() {
  static const Columns columns = {{"RUN", "id", Style::kPlain, Align::kLeft, true},
                                  {"STATUS", "status", Style::kStatus},
                                  {"EXPERIMENT", "experiment"},
                                  {"CREATED", "created", Style::kAgo},
                                  {"DURATION", "duration", Style::kDuration, Align::kRight},
                                  {"TARGET", "target"},
                                  {"USER", "user"},
                                  {"NAME", "shown_name"}};
  return columns;
}

// On a terminal, columns that would say nothing give their place to the others.
Columns ColumnsFor(const Context& context, const Json& rows) {
  Columns columns = RunColumns();
  if (!context.streams.out_terminal.is_tty) return columns;
  auto all = [&](auto holds) { return std::all_of(rows.as_array().begin(), rows.as_array().end(), holds); };
  if (all([](const Json& run) { return run.GetString("shown_name").empty(); })) std::erase_if(columns, [](const Column& c) { return c.path == "shown_name"; });
  if (all([](const Json& run) { return run.GetString("target") == "local"; })) std::erase_if(columns, [](const Column& c) { return c.path == "target"; });
  if (context.arguments.Has("experiment-name")) std::erase_if(columns, [](const Column& c) { return c.path == "experiment"; });
  return columns;
}

// The runs with what a table shows beside their own members.
Json TableRows(const Json& runs) {
  Json rows = runs;
  for (Json& run : rows.as_array()) {
    run.Set("duration", SecondsBetween(run, "started", "ended"));
    if (run.GetString("name") != run.GetString("id")) run.Set("shown_name", run.GetString("name"));
  }
  return rows;
}

std::string RunPath(const Context& context, std::string_view below = {}) {
  std::string path = ApiPath({"runs", context.arguments.Get("run")});
  return below.empty() ? path : StrCat(path, "/", below);
}

std::string Shown(const Json& view, std::string_view key, Style style = Style::kPlain) {
  const Json* value = view.Find(key);
  return value && !value->is_null() ? RenderCell(*value, style, Now()) : std::string();
}

// A word as a shell would want it, where that matters.
std::string Quoted(const std::string& word) {
  bool plain = !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%") == std::string::npos;
  return plain ? word : StrCat("'", word, "'");
}

std::string Details(const Json& view, bool colour) {
  std::string out;
  std::string status = view.GetString("status");
  AddLine(out, "run", view.GetString("id"));
  if (view.GetString("name") != view.GetString("id")) AddLine(out, "name", Shown(view, "name"));
  AddLine(out, "description", Shown(view, "description"));
  if (colour) status = Paint(status, status == "Completed" ? Colour::kGreen : status == "Failed" || status == "NotResponding" ? Colour::kRed : Colour::kYellow);
  AddLine(out, "status", status);
  if (const Json* end = view.Find("end"); end && view.GetString("status") != "Completed") AddLine(out, "why", OneLine(end->GetString("text")));
  AddLine(out, "waiting", Shown(view, "waiting"));
  AddLine(out, "experiment", StrCat(Shown(view, "experiment"), view.GetInt("number") ? StrCat(" (number ", view.GetInt("number"), ")") : std::string()));
  AddLine(out, "workspace", Shown(view, "workspace"));
  AddLine(out, "parent", Shown(view, "parent"));
  AddLine(out, "target", StrCat(Shown(view, "target"), view.GetString("node").empty() ? "" : StrCat(", node ", view.GetString("node"))));
  AddLine(out, "user", Shown(view, "user"));
  AddLine(out, "created", StrCat(Shown(view, "created", Style::kTime), " (", Shown(view, "created", Style::kAgo), ")"));
  AddLine(out, "started", Shown(view, "started", Style::kTime));
  AddLine(out, "ended", Shown(view, "ended", Style::kTime));
  if (Json seconds = SecondsBetween(view, "started", "ended"); !seconds.is_null()) AddLine(out, "duration", RenderCell(seconds, Style::kDuration, {}));
  if (view.GetInt("attempt") > 1) AddLine(out, "attempt", std::to_string(view.GetInt("attempt")));
  if (const Json* spec = view.Find("spec")) {
    std::vector<std::string> words;
    if (std::string script = spec->GetString("script"); !script.empty()) words.push_back(Quoted(script));
    for (const char* key : {"arguments", "command"})
      for (const std::string& word : spec->GetStrings(key)) words.push_back(Quoted(word));
    AddLine(out, "runs", OneLine(Join(words, " ")));
    AddLine(out, "snapshot", spec->GetString("snapshot"));
  }
  if (const Json* environment = view.Find("environment")) {
    std::string text = StrCat(environment->GetString("name"), " version ", environment->GetString("version"));
    if (environment->GetBool("locked")) text += ", with exact versions";
    if (std::string how = environment->GetString("how"); !how.empty()) text += StrCat(" (", how, ")");
    AddLine(out, "environment", OneLine(text));
    AddLine(out, "note", OneLine(environment->GetString("note")));
  }
  AddLine(out, "tags", Shown(view, "tags"));
  AddLine(out, "properties", Shown(view, "properties"));
  int preparation = 0;
  if (const Json* stages = view.Find("stages"); stages && stages->is_array())
    for (const Json& stage : stages->as_array()) {
      Json seconds = SecondsBetween(stage, "start", "end");
      AddLine(out, StrCat("  ", stage.GetString("name")), seconds.is_null() ? std::string("-") : RenderCell(seconds, Style::kDuration, {}));
      // The parts of this attempt's preparation.
      if (stage.GetString("name") != "Preparing") continue;
      ++preparation;
      const Json* clocks = view.Find("clocks");
      for (const Json& clock : clocks && clocks->is_array() ? clocks->as_array() : Json::Array{}) {
        if (clock.GetInt("attempt") != preparation) continue;
        Json took = SecondsBetween(clock, "start", "end");
        AddLine(out, StrCat("    ", clock.GetString("name")), took.is_null() ? std::string("-") : RenderCell(took, Style::kDuration, {}));
      }
    }
  return out;
}

// Prints a run: lines for people, the value for programs.
Result<int> ShowView(Context& context, const Json& view) { return context.Tell(view, Details(view, context.streams.out_terminal.colour)); }

// Does something to the run and tells its status.
Result<int> PostAndTell(Context& context, std::string_view verb, std::string_view told) {
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("POST", RunPath(context, verb)));
  std::string status = answer.GetString("status");
  return context.Tell(answer, StrCat(context.arguments.Get("run"), ": ", told, status.empty() ? "" : StrCat(" (", status, ")"), "\n"));
}

Result<int> SetArchived(Context& context, bool archived) {
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("PATCH", RunPath(context), Json::MakeObject({{"archived", archived}})));
  return context.Tell(answer, StrCat(context.arguments.Get("run"), archived ? ": archived\n" : ": restored\n"));
}

}  // namespace

Result<int> ListRuns(Context& context) {
  const Arguments& given = context.arguments;
  TRY(std::string workspace, context.Workspace());
  const bool all = given.Has("all");
  const int64_t wanted = given.Number("last");
  if (wanted == 0 && !all) return MakeError(Code::kInvalid, "args.value", "--last is '0'; expected a whole number from 1", "run list");
  if (given.Has("parent-run-id") && given.Has("pipeline-run-id") && given.Get("parent-run-id") != given.Get("pipeline-run-id"))
    return MakeError(Code::kInvalid, "args.value", "--parent-run-id and --pipeline-run-id name two runs; a run belongs to one", "run list");
  std::vector<std::pair<std::string, std::string>> filters = {
      {"workspace", workspace},
      {"experiment", given.Get("experiment-name")},
      {"status", given.Get("status")},
      {"target", given.Get("compute-target-name")},
      {"parent", given.Get(given.Has("pipeline-run-id") ? "pipeline-run-id" : "parent-run-id")},
      {"user", given.Get("user")},
      {"tag", Join(given.All("tags"), ",")},
      {"archived", given.Has("archived") ? "true" : ""},
      {"filter", given.Get("filter")},
      {"order", given.Get("order")},
  };
  TRY(Session * session, context.Server());
  Json runs = Json::MakeArray();
  std::string next = given.Get("cursor");
  do {
    const int64_t left = wanted - static_cast<int64_t>(runs.as_array().size());
    auto parameters = filters;
    parameters.emplace_back("limit", std::to_string(all ? kPage : std::min(kPage, left)));
    parameters.emplace_back("cursor", next);
    TRY(Json page, session->Get("/api/v1/runs" + QueryText(parameters)));
    if (Json* list = page.Find("runs"); list && list->is_array())
      for (Json& run : list->as_array()) runs.Push(std::move(run));
    next = page.GetString("next");
  } while (!next.empty() && (all || static_cast<int64_t>(runs.as_array().size()) < wanted));

  if (given.Has("minimal")) {
    for (Json& run : runs.as_array())
      std::erase_if(run.as_object(),
                    [](const Json::Member& member) { return member.first != "id" && member.first != "experiment" && member.first != "status"; });
  }
  Json value = given.Has("cursor") ? Json::MakeObject({{"runs", runs}, {"next", next.empty() ? Json() : Json(next)}}) : runs;
  Json rows = TableRows(runs);
  if (context.ForPeople() && runs.as_array().empty()) context.Note("no runs");
  Columns columns = ColumnsFor(context, rows);
  if (given.Has("minimal")) std::erase_if(columns, [](const Column& c) { return c.path != "id" && c.path != "experiment" && c.path != "status"; });
  TRY(int status, context.Show(value, &columns, &rows));
  if (context.ForPeople() && !next.empty()) {
    if (given.Has("cursor"))
      context.Note(StrCat("more: --cursor ", next));
    else if (context.streams.out_terminal.is_tty)
      context.Note("there are more: --last N or --all");
  }
  return status;
}

Result<int> ShowRun(Context& context) {
  TRY(Session * session, context.Server());
  TRY(Json view, session->Get(RunPath(context)));
  return ShowView(context, view);
}

Result<int> CancelRun(Context& context) { return PostAndTell(context, "cancel", "cancel asked for"); }
Result<int> EvictRun(Context& context) { return PostAndTell(context, "evict", "taken off its node"); }

Result<int> UpdateRun(Context& context) {
  const Arguments& given = context.arguments;
  TRY(auto tags, KeyValues(given.All("add-tag"), "--add-tag", true));
  TRY(auto properties, KeyValues(given.All("set-property"), "--set-property", false));
  Json change = Json::MakeObject();
  if (!tags.empty()) change.Set("tags", tags);
  if (given.Has("remove-tag")) change.Set("remove_tags", given.All("remove-tag"));
  if (!properties.empty()) change.Set("properties", properties);
  if (given.Has("name")) change.Set("name", given.Get("name"));
  if (given.Has("description")) change.Set("description", given.Get("description"));
  if (change.as_object().empty())
    return MakeError(Code::kInvalid, "args.missing", "run update needs something to change: --add-tag, --remove-tag, --set-property, --name or --description",
                     "run update");
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("PATCH", RunPath(context), change));
  return context.Tell(answer, StrCat(given.Get("run"), ": updated\n"));
}

Result<int> ArchiveRun(Context& context) { return SetArchived(context, true); }
Result<int> RestoreRun(Context& context) { return SetArchived(context, false); }

Result<int> ExplainRun(Context& context) {
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Get(RunPath(context, "explain")));
  return context.Tell(answer, StrCat(answer.GetString("status"), ": ", OneLine(answer.GetString("explanation")), "\n"));
}

Result<int> RerunRun(Context& context) {
  TRY(Session * session, context.Server());
  Json request = Json::MakeObject();
  request.SetIf("id", context.arguments.Get("run-id"));
  TRY(Json answer, session->Send("POST", RunPath(context, "rerun"), request));
  const std::string id = answer.GetString("id");
  if (context.arguments.Has("async")) return context.Tell(answer, StrCat(id, "\n"));
  TRY_VOID(context.Record(answer));
  context.Note(StrCat("run ", id));
  Interrupt interrupt;
  session->set_stop(interrupt.token());
  return Follow(context, *session, id, interrupt);
}

Result<int> ShowMetrics(Context& context) {
  static const Columns summary = {{"METRIC", "name"},
                                  {"LATEST", "latest", Style::kPlain, Align::kRight},
                                  {"STEP", "latest_step", Style::kPlain, Align::kRight},
                                  {"MIN", "min", Style::kPlain, Align::kRight},
                                  {"MAX", "max", Style::kPlain, Align::kRight},
                                  {"COUNT", "count", Style::kPlain, Align::kRight},
                                  {"LOGGED", "latest_time", Style::kAgo}};
  static const Columns points = {
      {"STEP", "step", Style::kPlain, Align::kRight}, {"TIME", "time", Style::kTime}, {"VALUE", "value", Style::kPlain, Align::kRight}};
  TRY(Session * session, context.Server());
  std::string name = context.arguments.Get("name");
  const bool one = !name.empty();
  TRY(Json answer, session->Get(one ? StrCat(RunPath(context, "metrics"), "/", EncodePath(name), "?limit=", context.arguments.Number("last"))
                                    : RunPath(context, "metrics")));
  const Json* found = answer.Find(one ? "points" : "metrics");
  Json rows = found && found->is_array() ? *found : Json::MakeArray();
  if (context.ForPeople() && rows.as_array().empty()) context.Note("nothing was logged");
  return context.Show(one ? answer : rows, one ? &points : &summary, &rows);
}

Result<int> ListFiles(Context& context) {
  static const Columns columns = {{"PATH", "path", Style::kPlain, Align::kLeft, true}, {"SIZE", "size", Style::kBytes, Align::kRight}};
  TRY(Session * session, context.Server());
  TRY(Json files, session->GetAll(RunPath(context, "artifacts"), {{"prefix", context.arguments.Get("prefix")}}, "artifacts"));
  if (context.ForPeople() && files.as_array().empty()) context.Note("no files");
  return context.Show(files, &columns);
}

}  // namespace ferry::cli
