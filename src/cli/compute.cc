// Compute targets: what there is, what it does and why, what it cost; and removing them.
#include "cli/compute.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/interrupt.h"

namespace ferry::cli {
namespace {

using std::chrono::milliseconds;

constexpr auto kPatience = std::chrono::minutes(30);
constexpr milliseconds kFirstPause{50}, kLongestPause{1000};
constexpr size_t kMostNamed = 10;

const Columns& TargetColumns() {
  static const Columns columns = {{"TARGET", "name", Style::kPlain, Align::kLeft, true},
                                  {"TYPE", "type"},
                                  {"SIZE", "vm_size"},
                                  {"PRIORITY", "vm_priority"},
                                  {"NODES", "nodes", Style::kPlain, Align::kRight},
                                  {"OF", "range", Style::kPlain, Align::kRight},
                                  {"RUNNING", "running", Style::kPlain, Align::kRight},
                                  {"WAITING", "waiting", Style::kPlain, Align::kRight},
                                  {"STATE", "state"}};
  return columns;
}

const Json& Member(const Json& value, std::string_view key) {
  static const Json none;
  const Json* found = value.Find(key);
  return found ? *found : none;
}

std::string Plural(int64_t n, std::string_view word) { return StrCat(n, " ", word, n == 1 ? "" : "s"); }

bool IsElastic(const Json& target) { return target.Find("max_nodes") && target.GetInt("max_nodes") > 0; }

// The targets with what a table shows beside their own members.
Json TableRows(const Json& targets) {
  Json rows = targets;
  for (Json& target : rows.as_array()) {
    const Json status = Member(target, "status"), runs = Member(target, "runs");
    if (status.is_object()) target.Set("nodes", status.GetInt("current_node_count"));
    if (IsElastic(target)) target.Set("range", StrCat(target.GetInt("min_nodes"), "-", target.GetInt("max_nodes")));
    if (runs.is_object()) target.Set("running", runs.GetStrings("running").size()).Set("waiting", runs.GetInt("waiting"));
    const std::string state = target.GetString("provisioning_state"), allocation = status.GetString("allocation_state");
    target.Set("state", state == "Succeeded" && allocation == "Resizing" ? allocation : state);
  }
  return rows;
}

// "1 idle, 2 running"; "" for none.
std::string NodeStates(const Json& counts) {
  std::vector<std::string> parts;
  for (const char* state : {"running", "idle", "preparing", "leaving", "unusable", "preempted"})
    if (int64_t n = counts.GetInt(state); n > 0) parts.push_back(StrCat(n, " ", state));
  return Join(parts, ", ");
}

std::string Nodes(const Json& target) {
  const Json& status = Member(target, "status");
  if (!status.is_object()) return {};
  const int64_t current = status.GetInt("current_node_count"), wanted = status.GetInt("target_node_count", current);
  std::string text = StrCat(current);
  if (IsElastic(target)) text += StrCat(" of ", target.GetInt("min_nodes"), " to ", target.GetInt("max_nodes"));
  if (wanted != current) text += StrCat(", going to ", wanted);
  if (std::string states = NodeStates(Member(status, "node_state_counts")); !states.empty()) text += StrCat(" (", states, ")");
  return text;
}

std::string Details(const Json& target) {
  std::string out;
  const Json &status = Member(target, "status"), &runs = Member(target, "runs");
  AddLine(out, "target", target.GetString("name"));
  const std::string provider = target.GetString("provider");
  AddLine(out, "type", StrCat(target.GetString("type"), provider.empty() ? "" : StrCat(" (provider ", provider, ")")));
  AddLine(out, "description", target.GetString("description"));
  AddLine(out, "state", target.GetString("provisioning_state"));
  AddLine(out, "error", target.GetString("provisioning_errors"));
  if (std::string size = target.GetString("vm_size"); !size.empty()) AddLine(out, "size", StrCat(size, ", ", target.GetString("vm_priority")));
  AddLine(out, "limits", target.GetString("limits"));
  AddLine(out, "oversubscribed", target.GetString("oversubscribed"));
  AddLine(out, "nodes", Nodes(target));
  if (IsElastic(target)) {
    AddLine(out, "idle", StrCat("a node leaves after ", FormatDuration(Duration(target.GetInt("idle_seconds_before_scaledown") * 1'000'000))));
    if (int64_t slots = target.GetInt("slots_per_node", 1); slots != 1) AddLine(out, "at once", StrCat(Plural(slots, "run"), " on a node"));
  }
  AddLine(out, "why", target.GetString("reason"));
  if (const Json& errors = Member(status, "errors"); errors.is_array())
    for (const Json& error : errors.as_array()) AddLine(out, "error", StrCat(error.GetString("code"), ": ", error.GetString("message")));
  if (runs.is_object()) {
    std::vector<std::string> running = runs.GetStrings("running");
    const size_t all = running.size();
    if (all > kMostNamed) running.resize(kMostNamed);
    AddLine(out, "running", all == 0 ? "nothing" : StrCat(Join(running, ", "), all > kMostNamed ? StrCat(", and ", all - kMostNamed, " more") : ""));
    AddLine(out, "waiting", runs.GetInt("waiting") == 0 ? "nothing" : Plural(runs.GetInt("waiting"), "run"));
  }
  for (const char* map : {"tags", "recorded"}) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : target.GetStringMap(map)) pairs.push_back(StrCat(key, "=", value));
    AddLine(out, map, Join(pairs, ", "));
  }
  if (const Json& created = Member(target, "created"); created.is_string())
    AddLine(out, "created", StrCat(RenderCell(created, Style::kAgo, Now()), target.GetString("user").empty() ? "" : StrCat(" by ", target.GetString("user"))));
  return out;
}

// What of the server's machine is a target without having been made as one.
Error InPlace(const Context& context) {
  return MakeError(
      Code::kConflict, "compute.in_place",
      StrCat("compute target 'local' is the server's own machine and cannot be ", context.arguments.group.ends_with("detach") ? "detached" : "deleted"),
      "--name");
}

}  // namespace

Result<std::string> TargetPath(const Context& context, std::string_view name, std::string_view below,
                               std::vector<std::pair<std::string, std::string>> parameters) {
  TRY(std::string workspace, context.Workspace());
  parameters.insert(parameters.begin(), {"workspace", workspace});
  return StrCat(ApiPath({"computetargets", name}), below, QueryText(parameters));
}

Result<Json> Targets(Session& session, const std::string& workspace, bool counted) {
  TRY(Json targets, session.GetAll("/api/v1/computetargets", {{"workspace", workspace}}, "computetargets"));
  if (!counted) return targets;
  Json out = Json::MakeArray();
  for (Json& target : targets.as_array()) {
    if (target.Find("status")) {
      out.Push(std::move(target));
      continue;
    }
    auto whole = session.Get(StrCat(ApiPath({"computetargets", target.GetString("name")}), QueryText({{"workspace", workspace}})));
    if (whole.ok())
      out.Push(std::move(*whole));
    else if (whole.error().code != Code::kNotFound)  // gone meanwhile
      return whole.error();
  }
  return out;
}

Result<int> TellTarget(Context& context, const Json& target) { return context.Tell(target, Details(target)); }

Result<Json> WaitWhile(Context& context, Session& session, const std::string& name, std::string_view state) {
  TRY(std::string path, TargetPath(context, name));
  Interrupt interrupt;
  session.set_stop(interrupt.token());
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string told;
  for (milliseconds pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto target = session.Get(path);
    if (interrupt.pressed())
      return MakeError(Code::kCanceled, "target.wait", StrCat("not waiting any longer; '", name, "' is still ", told, ", see: ferry compute show ", name));
    if (!target.ok() && target.error().code == Code::kNotFound) return Json();
    if (!target.ok()) return target.error();
    const std::string now = target->GetString("provisioning_state");
    if (now != told) context.Note(StrCat(name, ": ", now));
    told = now;
    if (now != state) return target;
    if (std::chrono::steady_clock::now() > deadline)
      return MakeError(Code::kTimeout, "target.wait", StrCat("compute target '", name, "' is still ", now, " after 30 minutes"), "--name");
    interrupt.Sleep(pause);
  }
}

Result<int> ListTargets(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  const bool table = context.format() == Format::kTable;
  TRY(Json targets, Targets(*session, workspace, table));
  if (!table) return context.Show(targets);
  const Json rows = TableRows(targets);
  return context.Show(targets, &TargetColumns(), &rows);
}

Result<int> ShowTarget(Context& context) {
  TRY(std::string path, TargetPath(context, context.arguments.Get("name")));
  TRY(Session * session, context.Server());
  TRY(Json target, session->Get(path));
  return TellTarget(context, target);
}

Result<int> RemoveTarget(Context& context) {
  const std::string name = context.arguments.Get("name");
  if (name == "local") return InPlace(context);
  TRY(std::string path, TargetPath(context, name, {}, {{"cancel", context.arguments.Has("cancel-runs") ? "true" : ""}}));
  TRY(Session * session, context.Server());
  auto sent = session->Send("DELETE", path);
  if (!sent.ok() && sent.error().slug == "target.in_use" && !context.azure)
    return MakeError(sent.error().code, sent.error().slug, StrCat(sent.error().message, ": ferry compute delete ", name, " --cancel-runs"), sent.error().field);
  if (!sent.ok()) return sent.error();
  if (context.arguments.Has("no-wait")) return context.Tell(*sent, StrCat("deleting ", name, "\n"));
  TRY(Json left, WaitWhile(context, *session, name, "Deleting"));
  if (!left.is_null())
    return MakeError(Code::kConflict, "target.delete", StrCat("compute target '", name, "' is ", left.GetString("provisioning_state"), " and not gone"),
                     "--name");
  return context.Tell(*sent, StrCat("deleted ", name, "\n"));
}

Result<int> DetachTarget(Context& context) {
  const std::string name = context.arguments.Get("name");
  if (name == "local") return InPlace(context);
  TRY(std::string path, TargetPath(context, name));
  TRY(Session * session, context.Server());
  TRY([[maybe_unused]] Json target, session->Get(path));
  return MakeError(Code::kConflict, "compute.made_here",
                   StrCat("compute target '", name, "' cannot be detached: it was made here; delete it: ferry computetarget delete -n ", name), "--name");
}

Result<int> TargetCredentials(Context& context) {
  TRY(std::string path, TargetPath(context, context.arguments.Get("name")));
  TRY(Session * session, context.Server());
  TRY(Json target, session->Get(path));
  return MakeError(Code::kNotFound, "compute.no_credentials",
                   StrCat("compute target '", target.GetString("name"), "' has no credentials: its agents have tokens of their own"), "--name");
}

Result<int> ListTargetNodes(Context& context) {
  static const Columns columns = {{"NODE", "name", Style::kPlain, Align::kLeft, true},
                                  {"STATE", "state"},
                                  {"RUNS", "runs"},
                                  {"SIZE", "vm_size"},
                                  {"ARRIVED", "arrived", Style::kAgo},
                                  {"SEEN", "seen", Style::kAgo}};
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json nodes, session->GetAll(ApiPath({"computetargets", context.arguments.Get("name"), "nodes"}), {{"workspace", workspace}}, "nodes"));
  if (context.ForPeople() && nodes.as_array().empty()) context.Note("no nodes");
  return context.Show(nodes, &columns);
}

Result<int> ExplainTarget(Context& context) {
  TRY(std::string path, TargetPath(context, context.arguments.Get("name"), "/explain"));
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Get(path));
  std::string out;
  const std::string reason = answer.GetString("reason");
  AddLine(out, "now", reason.empty() ? "nothing to do" : reason);
  if (const Json& next = Member(answer, "next"); next.is_string()) AddLine(out, "next", StrCat("looked at again ", RenderCell(next, Style::kAgo, Now())));
  if (const Json& decisions = Member(answer, "decisions"); decisions.is_array())
    for (const Json& decision : decisions.as_array()) {
      const int64_t change = decision.GetInt("change");
      std::string why = decision.GetString("reason");
      // A reason may begin with the change itself.
      if (change != 0 && !why.starts_with('+') && !why.starts_with('-')) why = StrCat(change > 0 ? "+" : "", change, ": ", why);
      AddLine(out, RenderCell(Member(decision, "time"), Style::kTime, Now()), why);
    }
  return context.Tell(answer, out);
}

Result<int> EvictTarget(Context& context) {
  const std::string name = context.arguments.Get("name");
  TRY(std::string path, TargetPath(context, name, "/evict"));
  Json request = Json::MakeObject();
  request.SetIf("node", context.arguments.Get("node"));
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("POST", path, request));
  const auto runs = answer.GetStrings("runs");
  return context.Tell(answer, StrCat("evicting ", answer.GetString("node"), runs.empty() ? ", which runs nothing" : StrCat(": ", Join(runs, ", ")), "\n"));
}

Result<int> ShowCost(Context& context) {
  static const Columns columns = {{"TARGET", "name", Style::kPlain, Align::kLeft, true},     {"NODE TIME", "node_seconds", Style::kDuration, Align::kRight},
                                  {"BUSY", "busy_seconds", Style::kDuration, Align::kRight}, {"IDLE", "idle_seconds", Style::kDuration, Align::kRight},
                                  {"IDLE %", "idle_share", Style::kPlain, Align::kRight},    {"COST", "cost", Style::kPlain, Align::kRight}};
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json targets, session->GetAll("/api/v1/cost", {{"workspace", workspace}}, "targets"));
  Json rows = targets;
  Json total = Json::MakeObject({{"name", "total"}});
  for (const Json& row : targets.as_array())
    for (const char* key : {"node_seconds", "busy_seconds", "idle_seconds", "cost"}) total.Set(key, total.GetDouble(key) + row.GetDouble(key));
  if (rows.as_array().size() > 1) rows.Push(std::move(total));
  for (Json& row : rows.as_array())
    if (double all = row.GetDouble("node_seconds"); all > 0)
      row.Set("idle_share", static_cast<int64_t>(100 * std::clamp(row.GetDouble("idle_seconds") / all, 0.0, 1.0) + 0.5));
  if (context.ForPeople() && targets.as_array().empty()) context.Note("no node has been used yet");
  return context.Show(targets, &columns, &rows);
}

Result<int> ListSizes(Context& context) {
  static const Columns columns = {{"SIZE", "name", Style::kPlain, Align::kLeft, true},
                                  {"CORES", "vCPUs", Style::kPlain, Align::kRight},
                                  {"MEMORY GB", "memoryGB", Style::kPlain, Align::kRight},
                                  {"GPUS", "gpus", Style::kPlain, Align::kRight},
                                  {"PRICE AN HOUR", "price", Style::kPlain, Align::kRight}};
  TRY(Session * session, context.Server());
  TRY(Json sizes, session->GetAll("/api/v1/vmsizes", {}, "vmsizes"));
  return context.Show(sizes, &columns);
}

Result<int> ListCapabilities(Context& context) {
  static const Columns columns = {
      {"TARGET", "target", Style::kPlain, Align::kLeft, true}, {"GPU", "gpu"}, {"HYPERDRIVE", "hyperdrive"}, {"AUTOML", "automl"}, {"PIPELINES", "pipelines"}};
  TRY(Session * session, context.Server());
  TRY(Json table, session->GetAll("/api/v1/capabilities", {}, "capabilities"));
  Json rows = table;
  for (Json& row : rows.as_array())
    for (auto& [key, value] : row.as_object())
      if (value.is_bool()) value = value.as_bool() ? "yes" : "no";
  return context.Show(table, &columns, &rows);
}

}  // namespace ferry::cli
