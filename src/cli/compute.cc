// Compute targets. This version has one, 'local'; other kinds come later.
#include <map>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"

namespace ferry::cli {
namespace {

const Columns& TargetColumns() {
  static const Columns columns = {{"TARGET", "name", Style::kPlain, Align::kLeft, true},
                                  {"TYPE", "type"},
                                  {"STATE", "provisioning_state"},
                                  {"NODES", "nodes", Style::kPlain, Align::kRight},
                                  {"CONNECTED", "connected", Style::kPlain, Align::kRight},
                                  {"SLOTS", "slots", Style::kPlain, Align::kRight},
                                  {"GPUS", "gpus", Style::kPlain, Align::kRight},
                                  {"RUNNING", "running", Style::kPlain, Align::kRight}};
  return columns;
}

// Every target, by name: what its nodes are together.
Result<std::map<std::string, Json>> Targets(Session& session) {
  std::map<std::string, Json> targets;
  auto target = [&](const std::string& name) -> Json& {
    auto [at, fresh] = targets.try_emplace(name);
    if (fresh)
      at->second = Json::MakeObject({{"name", name},
                                     {"type", name == "local" ? "Local" : "Nodes"},
                                     {"provisioning_state", "Succeeded"},
                                     {"nodes", 0},
                                     {"connected", 0},
                                     {"slots", 0},
                                     {"gpus", 0},
                                     {"running", 0}});
    return at->second;
  };
  target("local");
  TRY(Json nodes, session.GetAll("/api/v1/nodes", {}, "nodes"));
  for (const Json& node : nodes.as_array()) {
    Json& one = target(node.GetString("target"));
    one.Set("nodes", one.GetInt("nodes") + 1);
    one.Set("connected", one.GetInt("connected") + node.GetBool("connected"));
    for (const char* key : {"slots", "gpus", "running"}) one.Set(key, one.GetInt(key) + node.GetInt(key));
  }
  return targets;
}

// The target that --name names. kNotFound "compute.not_found" names those there are.
Result<Json> Target(Context& context) {
  TRY(Session * session, context.Server());
  TRY(auto targets, Targets(*session));
  const std::string name = context.arguments.Get("name");
  if (auto found = targets.find(name); found != targets.end()) return found->second;
  std::vector<std::string> known;
  known.reserve(targets.size());
  for (const auto& [key, value] : targets) known.push_back(StrCat("'", key, "'"));
  return MakeError(Code::kNotFound, "compute.not_found", StrCat("there is no compute target '", name, "'; there is ", Join(known, ", ")), "--name");
}

}  // namespace

Result<int> ListTargets(Context& context) {
  TRY(Session * session, context.Server());
  TRY(auto targets, Targets(*session));
  Json list = Json::MakeArray();
  for (auto& [name, target] : targets) list.Push(std::move(target));
  return context.Show(list, &TargetColumns());
}

Result<int> ShowTarget(Context& context) {
  TRY(Json target, Target(context));
  return context.Show(target, &TargetColumns());
}

Result<int> RemoveTarget(Context& context) {
  TRY(Json target, Target(context));
  return MakeError(Code::kConflict, "compute.in_place",
                   StrCat("compute target '", target.GetString("name"), "' is the server's own nodes and cannot be ",
                          context.arguments.group.ends_with("detach") ? "detached" : "deleted"),
                   "--name");
}

Result<int> TargetCredentials(Context& context) {
  TRY(Json target, Target(context));
  return MakeError(Code::kNotFound, "compute.no_credentials",
                   StrCat("compute target '", target.GetString("name"), "' has no credentials: its agents have tokens of their own"), "--name");
}

}  // namespace ferry::cli
