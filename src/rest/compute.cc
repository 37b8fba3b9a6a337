// Compute targets: what there is, what it is doing and why, what it cost.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "engine/tables.h"
#include "model/vm_size.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

using autoscaler::NodeState;

// What may be sent where, as Azure's tables have it; Ferry says yes to more. Printed by everyone and asked by nobody else: what is refused is refused by it.
struct Capability {
  const char* target;
  const char* gpu;
  bool hyperdrive;
  bool automl;
  bool pipelines;
};
constexpr Capability kCapabilities[] = {
    {"local", "maybe", true, true, true},        {"AmlCompute", "yes", true, true, true},         {"BatchAI", "yes", true, true, true},
    {"VirtualMachine", "yes", true, true, true}, {"ComputeInstance", "yes", true, true, true},    {"ContainerInstance", "no", false, false, false},
    {"Databricks", "no", false, true, true},     {"DataLakeAnalytics", "no", false, false, true}, {"HDInsight", "no", false, false, true},
    {"Batch", "no", false, false, true},
};

// Kinds that Azure has and this version does not: their word and what they are called.
std::string NotYet(std::string_view type) {
  static const std::map<std::string, std::string> kinds = {{"VirtualMachine", "a remote machine over SSH"},
                                                           {"ComputeInstance", "a compute instance"},
                                                           {"ContainerInstance", "a container instance"},
                                                           {"HDInsight", "HDInsight"},
                                                           {"Databricks", "Databricks"},
                                                           {"DataLakeAnalytics", "Data Lake Analytics"},
                                                           {"Batch", "Azure Batch"},
                                                           {"Kubernetes", "Kubernetes"}};
  auto it = kinds.find(std::string(type));
  return it == kinds.end() ? std::string() : it->second;
}

Result<int64_t> Whole(const Json& body, std::string_view key, int64_t other, int64_t low, int64_t high) {
  const Json* value = body.Find(key);
  if (!value || value->is_null()) return other;
  if (!value->is_int() || value->as_int() < low || value->as_int() > high)
    return MakeError(Code::kInvalid, "field.range", StrCat(key, " is ", value->Dump().substr(0, 40), "; expected a whole number from ", low, " to ", high),
                     std::string(key));
  return value->as_int();
}

Result<model::VmSize> SizeOf(const std::string& name) {
  if (auto size = model::FindVmSize(name)) return *size;
  std::vector<std::string> known;
  for (const model::VmSize& size : model::VmSizes()) known.push_back(size.name);
  auto close = ClosestWord(name, known);
  return MakeError(
      Code::kInvalid, "target.vm_size",
      StrCat("vm_size '", name.substr(0, 80), "' is not known", close ? StrCat("; did you mean '", *close, "'?") : std::string(), "; see: ferry compute sizes"),
      "vm_size");
}

Json Local(const std::string& workspace) {
  return Json::MakeObject({{"name", "local"},
                           {"workspace", workspace},
                           {"type", "local"},
                           {"provider", ""},
                           {"provisioning_state", "Succeeded"},
                           {"provisioning_errors", Json()},
                           {"tags", Json::MakeObject({})},
                           {"description", "this machine"},
                           {"recorded", Json::MakeObject({})}});
}

// What runs and waits on a target, and what its nodes do. On the engine's thread.
void AddStatus(const engine::Core& core, const std::string& key, Json& view) {
  Json running = Json::MakeArray();
  int64_t waiting = 0;
  for (const auto& [id, run] : core.live()) {
    if (model::TargetKey(run.workspace, run.target) != key || run.spec.interactive) continue;
    if (std::holds_alternative<model::Queued>(run.attempt().phase))
      ++waiting;
    else
      running.Push(id);
  }
  view.Set("runs", Json::MakeObject({{"running", std::move(running)}, {"waiting", waiting}}));
  auto cluster = core.clusters().find(key);
  auto target = core.targets().find(key);
  if (cluster == core.clusters().end() || target == core.targets().end()) return;
  const autoscaler::Fleet& fleet = cluster->second.fleet;
  int preparing = 0, unusable = 0, busy = 0, current = 0, preempted = 0;
  Time changed = target->second.created;
  for (const auto& [name, node] : core.nodes()) {
    if (node.record.target != key) continue;
    changed = std::max(changed, std::max(node.record.asked, node.record.arrived));
    if (node.record.leaving) continue;
    current += static_cast<bool>(node.record.arrived);
    preempted += node.record.evicting;
    if (!node.record.arrived)
      ++preparing;
    else if (!node.open)
      ++unusable;
    else
      busy += core.RunsOn(name) != nullptr;
  }
  int leaving = fleet.count(NodeState::kLeaving);
  Json errors = Json();
  if (fleet.failures() > 0) {
    errors = Json::MakeArray();
    errors.Push(Json::MakeObject({{"code", "ProviderFailed"}, {"message", fleet.last_failure()}}));
  }
  view.Set("status", Json::MakeObject({{"current_node_count", current},
                                       {"target_node_count", current + preparing},
                                       {"allocation_state", preparing + leaving > 0 ? "Resizing" : "Steady"},
                                       {"allocation_state_transition_time", FormatTime(changed)},
                                       {"node_state_counts", Json::MakeObject({{"idle", fleet.count(NodeState::kIdle)},
                                                                               {"running", busy},
                                                                               {"preparing", preparing},
                                                                               {"unusable", unusable},
                                                                               {"leaving", leaving},
                                                                               {"preempted", preempted}})},
                                       {"errors", std::move(errors)}}));
  view.Set("reason", cluster->second.reason);
  view.Set("limits", "not enforced: processes of this machine share its cores and memory");
}

// A target of the path, in the workspace asked for.
Result<std::string> KeyOf(const Call& call) {
  TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
  return model::TargetKey(workspace, call.params.at("name"));
}

Error NoTarget(const Call& call) {
  return MakeError(Code::kNotFound, "target.not_found", StrCat("there is no compute target '", call.params.at("name").substr(0, 80), "'"), "target");
}

Result<model::TargetRecord> TargetFromRequest(const Call& call, const Json& body) {
  TRY_VOID(CheckKnown(body, "a compute target",
                      {"workspace", "name", "type", "provider", "vm_size", "vm_priority", "min_nodes", "max_nodes", "idle_seconds_before_scaledown",
                       "slots_per_node", "tags", "description", "recorded"}));
  model::TargetRecord target;
  TRY(std::string workspace, TextOf(body, "workspace", 32));
  TRY(target.workspace, WorkspaceOf(call, workspace));
  TRY(target.name, TextOf(body, "name", 200));
  TRY_VOID(model::CheckTargetName(target.name, "name"));
  TRY(target.type, TextOf(body, "type", 100));
  if (std::string what = NotYet(target.type); !what.empty())
    return MakeError(Code::kInvalid, "target.not_yet", StrCat(what, " is not part of this version of Ferry yet."), "type");
  if (target.type != "AmlCompute" && target.type != "BatchAI")
    return MakeError(Code::kInvalid, "target.type", StrCat("type is '", target.type.substr(0, 80), "'; expected AmlCompute or BatchAI"), "type");
  TRY(target.provider, TextOf(body, "provider", 100));
  if (target.provider.empty()) target.provider = "process";
  if (target.provider != "process")
    return MakeError(Code::kInvalid, "target.provider",
                     target.provider == "container" || target.provider == "ssh"
                         ? StrCat("provider '", target.provider, "' is not part of this version of Ferry yet.")
                         : StrCat("provider is '", target.provider.substr(0, 80), "'; expected process"),
                     "provider");
  target.kind = model::TargetKind::kElastic;
  TRY(std::string size, TextOf(body, "vm_size", 100));
  TRY(model::VmSize found, SizeOf(size.empty() ? "Standard_NC6" : size));
  target.vm_size = found.name;
  target.price = found.price;
  TRY(std::string priority, TextOf(body, "vm_priority", 40));
  if (!priority.empty() && priority != "dedicated" && priority != "lowpriority")
    return MakeError(Code::kInvalid, "target.vm_priority", StrCat("vm_priority is '", priority, "'; expected dedicated or lowpriority"), "vm_priority");
  target.low_priority = priority == "lowpriority";
  if (target.low_priority) target.price = std::round(target.price * 200) / 1000;
  TRY(int64_t min, Whole(body, "min_nodes", 0, 0, 1000));
  TRY(int64_t max, Whole(body, "max_nodes", 4, 0, 1000));
  if (min > max)
    return MakeError(Code::kInvalid, "target.nodes", StrCat("min_nodes is ", min, " and max_nodes ", max, "; expected min_nodes <= max_nodes"), "min_nodes");
  target.min_nodes = static_cast<int>(min);
  target.max_nodes = static_cast<int>(max);
  TRY(target.idle_seconds, Whole(body, "idle_seconds_before_scaledown", 1800, 0, 30LL * 86400));
  TRY(int64_t slots, Whole(body, "slots_per_node", 1, 1, 1000));
  target.slots = static_cast<int>(slots);
  TRY(target.tags, StringMap(body, "tags", 500, 64u << 10));
  TRY(target.recorded, StringMap(body, "recorded", 100, 4096));
  TRY(target.description, TextOf(body, "description", 65536));
  target.user = call.identity.user;
  return target;
}

}  // namespace

Result<model::TargetRecord> ClusterOfRun(const Json& body, const model::Run& run) {
  const Json* given = body.Find("cluster");
  const Json none = Json::MakeObject({});
  if (given && !given->is_null() && !given->is_object())
    return MakeError(Code::kInvalid, "field.type", StrCat("cluster must be an object, not ", given->TypeName()), "cluster");
  const Json& wanted = given && given->is_object() ? *given : none;
  TRY_VOID(CheckKnown(wanted, "the cluster of a run", {"vm_size", "vm_priority", "max_nodes", "name", "retain"}));
  model::TargetRecord target;
  target.workspace = run.workspace;
  TRY(target.name, TextOf(wanted, "name", 200));
  if (target.name.empty()) target.name = run.id;
  target.kind = model::TargetKind::kElastic;
  target.type = "AmlCompute";
  target.provider = "process";
  TRY(std::string size, TextOf(wanted, "vm_size", 100));
  if (size.empty())
    return MakeError(Code::kInvalid, "target.vm_size", "target 'amlcompute' makes a cluster for the run and needs cluster.vm_size", "cluster.vm_size");
  TRY(model::VmSize found, SizeOf(size));
  target.vm_size = found.name;
  target.price = found.price;
  TRY(int64_t max, Whole(wanted, "max_nodes", 1, 1, 1000));
  target.max_nodes = static_cast<int>(max);
  target.idle_seconds = 120;
  target.run = run.id;
  target.user = run.user;
  return target;
}

void ListTargets(const Parts& parts, Call call, http::Responder responder) {
  auto workspace = WorkspaceOf(call, call.head.Query("workspace"));
  if (!workspace.ok()) return Answer(responder, workspace.error());
  Json targets = Json::MakeArray();
  parts.engine.Look([&](const engine::Core& core) {
    Json local = Local(*workspace);
    AddStatus(core, "local", local);
    targets.Push(std::move(local));
    for (const auto& [key, target] : core.targets()) {
      if (target.workspace != *workspace) continue;
      Json view = model::TargetView(target);
      AddStatus(core, key, view);
      targets.Push(std::move(view));
    }
  });
  Answer(responder, Json::MakeObject({{"computetargets", std::move(targets)}}));
}

void AddTarget(const Parts& parts, Call call, http::Responder responder) {
  auto body = BodyObject(call);
  if (!body.ok()) return Answer(responder, body.error());
  auto target = TargetFromRequest(call, *body);
  if (!target.ok()) return Answer(responder, target.error());
  parts.engine.Do(engine::CreateTarget{std::move(*target)}, [responder](Result<Json> made) { Answer(responder, made, 201); });
}

void ShowTarget(const Parts& parts, Call call, http::Responder responder) {
  auto key = KeyOf(call);
  if (!key.ok()) return Answer(responder, key.error());
  std::optional<Json> view;
  parts.engine.Look([&](const engine::Core& core) {
    auto it = core.targets().find(*key);
    if (*key == "local")
      view = Local("");
    else if (it != core.targets().end())
      view = model::TargetView(it->second);
    if (view) AddStatus(core, *key, *view);
  });
  if (!view) return Answer(responder, NoTarget(call));
  Answer(responder, std::move(*view));
}

void UpdateTarget(const Parts& parts, Call call, http::Responder responder) {
  auto update = [&]() -> Result<engine::UpdateTarget> {
    TRY(Json body, BodyObject(call));
    TRY_VOID(CheckKnown(body, "a change of a compute target",
                        {"workspace", "min_nodes", "max_nodes", "idle_seconds_before_scaledown", "description", "set_tags", "remove_tags"}));
    engine::UpdateTarget out;
    TRY(out.target, KeyOf(call));
    if (const Json* v = body.Find("min_nodes"); v && !v->is_null()) {
      TRY(int64_t nodes, Whole(body, "min_nodes", 0, 0, 1000));
      out.min_nodes = static_cast<int>(nodes);
    }
    if (const Json* v = body.Find("max_nodes"); v && !v->is_null()) {
      TRY(int64_t nodes, Whole(body, "max_nodes", 0, 0, 1000));
      out.max_nodes = static_cast<int>(nodes);
    }
    if (const Json* v = body.Find("idle_seconds_before_scaledown"); v && !v->is_null()) {
      TRY(out.idle_seconds, Whole(body, "idle_seconds_before_scaledown", 0, 0, 30LL * 86400));
    }
    TRY(out.description, MaybeText(body, "description", 65536));
    TRY(out.set_tags, StringMap(body, "set_tags", 500, 64u << 10));
    TRY(out.remove_tags, Texts(body, "remove_tags"));
    return out;
  }();
  if (!update.ok()) return Answer(responder, update.error());
  parts.engine.Do(std::move(*update), [responder](Result<Json> changed) { Answer(responder, changed); });
}

void DeleteTarget(const Parts& parts, Call call, http::Responder responder) {
  auto key = KeyOf(call);
  if (!key.ok()) return Answer(responder, key.error());
  if (*key == "local") return Answer(responder, MakeError(Code::kInvalid, "target.local", "'local' is this machine and cannot be deleted", "target"));
  parts.engine.Do(engine::DeleteTarget{*key, call.head.Query("cancel") == "true"}, [responder](Result<Json> gone) { Answer(responder, gone); });
}

void ListTargetNodes(const Parts& parts, Call call, http::Responder responder) {
  auto key = KeyOf(call);
  if (!key.ok()) return Answer(responder, key.error());
  bool known = *key == "local";
  Json nodes = Json::MakeArray();
  parts.engine.Look([&](const engine::Core& core) {
    known = known || core.targets().count(*key);
    for (const auto& [name, node] : core.nodes()) {
      if (node.record.target != *key) continue;
      const std::set<std::string>* on = core.RunsOn(name);
      Json runs = Json::MakeArray();
      if (on)
        for (const std::string& run : *on) runs.Push(run);
      const char* state = node.record.leaving                            ? "leaving"
                          : node.record.provided && !node.record.arrived ? "preparing"
                          : !node.open                                   ? "unusable"
                          : on                                           ? "running"
                                                                         : "idle";
      nodes.Push(Json::MakeObject({{"name", name},
                                   {"state", state},
                                   {"runs", std::move(runs)},
                                   {"vm_size", node.record.vm_size},
                                   {"arrived", node.record.arrived ? Json(FormatTime(node.record.arrived)) : Json()},
                                   {"seen", FormatTime(node.seen)}}));
    }
  });
  if (!known) return Answer(responder, NoTarget(call));
  Answer(responder, Json::MakeObject({{"nodes", std::move(nodes)}}));
}

void ExplainTarget(const Parts& parts, Call call, http::Responder responder) {
  auto key = KeyOf(call);
  if (!key.ok()) return Answer(responder, key.error());
  std::optional<Json> out;
  parts.engine.Look([&](const engine::Core& core) {
    auto cluster = core.clusters().find(*key);
    if (cluster == core.clusters().end()) {
      if (*key == "local" || core.targets().count(*key))
        out = Json::MakeObject({{"reason", "its machines are given: it does not scale"}, {"next", Json()}, {"decisions", Json::MakeArray()}});
      return;
    }
    Json decisions = Json::MakeArray();
    for (const auto& decided : cluster->second.decisions)
      decisions.Push(Json::MakeObject({{"time", FormatTime(decided.time)}, {"reason", decided.reason}, {"change", decided.change}}));
    out = Json::MakeObject({{"reason", cluster->second.reason},
                            {"next", cluster->second.next ? Json(FormatTime(*cluster->second.next)) : Json()},
                            {"decisions", std::move(decisions)}});
  });
  if (!out) return Answer(responder, NoTarget(call));
  Answer(responder, std::move(*out));
}

void EvictTarget(const Parts& parts, Call call, http::Responder responder) {
  auto key = KeyOf(call);
  if (!key.ok()) return Answer(responder, key.error());
  auto body = BodyObject(call);
  if (!body.ok()) return Answer(responder, body.error());
  auto node = TextOf(*body, "node", 300);
  if (!node.ok()) return Answer(responder, node.error());
  bool known = false;
  parts.engine.Look([&](const engine::Core& core) {
    known = core.clusters().count(*key);
    // Without a name one that works, so that there is something to see.
    if (!node->empty()) {
      auto it = core.nodes().find(*node);
      if (it == core.nodes().end() || it->second.record.target != *key) known = false;
      return;
    }
    for (const auto& [name, state] : core.nodes())
      if (state.record.target == *key && state.record.arrived && !state.record.leaving && (node->empty() || core.RunsOn(name))) *node = name;
  });
  if (!known) return Answer(responder, MakeError(Code::kNotFound, "node.not_found", "there is no such cluster, or it has no such node", "node"));
  if (node->empty())
    return Answer(responder,
                  MakeError(Code::kConflict, "target.no_nodes", StrCat("'", call.params.at("name"), "' has no node that could be taken away"), "node"));
  parts.engine.Do(engine::EvictNode{*node}, [responder](Result<Json> evicted) { Answer(responder, evicted); });
}

void ListVmSizes(const Parts&, Call, http::Responder responder) {
  Json sizes = Json::MakeArray();
  for (const model::VmSize& size : model::VmSizes()) sizes.Push(model::ToJson(size));
  Answer(responder, Json::MakeObject({{"vmsizes", std::move(sizes)}}));
}

void ListCapabilities(const Parts&, Call, http::Responder responder) {
  Json rows = Json::MakeArray();
  for (const Capability& row : kCapabilities)
    rows.Push(
        Json::MakeObject({{"target", row.target}, {"gpu", row.gpu}, {"hyperdrive", row.hyperdrive}, {"automl", row.automl}, {"pipelines", row.pipelines}}));
  Answer(responder, Json::MakeObject({{"capabilities", std::move(rows)}}));
}

void ShowCost(const Parts& parts, Call call, http::Responder responder) {
  auto workspace = WorkspaceOf(call, call.head.Query("workspace"));
  if (!workspace.ok()) return Answer(responder, workspace.error());
  struct Sum {
    double seconds = 0, busy = 0, cost = 0;
    int nodes = 0;
  };
  std::map<std::string, Sum> sums;
  auto add = [&](const std::string& key, Time arrived, Time gone, int64_t busy, double price) {
    if (!key.starts_with(*workspace + ".")) return;
    Sum& sum = sums[key.substr(workspace->size() + 1)];
    double seconds = static_cast<double>((gone - arrived).count()) / 1e6;
    sum.seconds += seconds;
    sum.busy += static_cast<double>(busy) / 1e6;
    sum.cost += seconds / 3600 * price;
    ++sum.nodes;
  };
  store::Query query{"usage", {}, {{"", "key"}, false}, {}, 1000};
  for (;;) {
    auto page = parts.store.Find(query);
    if (!page.ok()) return Answer(responder, page.error());
    for (const store::Document& document : page->documents)
      if (auto json = ParseJson(document.body); json.ok()) {
        model::NodeUsage usage = model::UsageFromJson(*json);
        add(usage.target, usage.arrived, usage.gone, usage.busy_micros, usage.price);
      }
    if (page->next.empty()) break;
    query.cursor = page->next;
  }
  Time now = Now();
  parts.engine.Look([&](const engine::Core& core) {
    for (const auto& [name, node] : core.nodes()) {
      const model::NodeRecord& record = node.record;
      if (record.provided && record.arrived)
        add(record.target, record.arrived, now, record.busy_micros + (record.busy_since ? (now - record.busy_since).count() : 0), record.price);
    }
  });
  Json targets = Json::MakeArray();
  for (const auto& [name, sum] : sums)
    targets.Push(Json::MakeObject({{"name", name},
                                   {"nodes", sum.nodes},
                                   {"node_seconds", sum.seconds},
                                   {"busy_seconds", sum.busy},
                                   {"idle_seconds", sum.seconds - sum.busy},
                                   {"cost", sum.cost}}));
  Answer(responder, Json::MakeObject({{"targets", std::move(targets)}}));
}

}  // namespace ferry::rest
