// Inputs that concern compute targets, and how elastic ones grow and shrink.
#include "base/text.h"
#include "engine/core.h"

namespace ferry::engine {

using model::NodeRecord;
using model::Provisioning;
using model::TargetKind;
using model::TargetRecord;

namespace {

constexpr size_t kDecisionsKept = 100;

Error NoTarget(const std::string& key) {
  return MakeError(Code::kNotFound, "target.not_found", StrCat("there is no compute target '", key.substr(key.find('.') + 1), "'"), "target");
}

}  // namespace

autoscaler::Rules Core::RulesOf(const TargetRecord& target) {
  autoscaler::Rules rules;
  rules.min = target.min_nodes;
  rules.max = target.max_nodes;
  rules.idle = std::chrono::seconds(target.idle_seconds);
  return rules;
}

const std::set<std::string>* Core::RunsOn(const std::string& node) const {
  auto it = leased_.find(node);
  return it == leased_.end() || it->second.empty() ? nullptr : &it->second;
}

void Core::WantNode(const NodeRecord& record, std::vector<Effect>& out) const {
  auto target = targets_.find(record.target);
  if (!record.provided || target == targets_.end()) return;
  if (record.leaving)
    out.push_back(DestroyNode{record.target, record.name, target->second});
  else
    out.push_back(CreateNode{record.target, record.name, target->second});
}

void Core::Place(Core::NodeState& node, Time now) {
  NodeRecord& record = node.record;
  index_.SetNode({record.name, record.target, record.slots, record.gpus});
  index_.SetOpen(record.name, node.open && !record.leaving && !record.evicting && (!record.provided || record.arrived));
  auto cluster = clusters_.find(record.target);
  if (!record.provided || cluster == clusters_.end()) return;
  bool busy = RunsOn(record.name) != nullptr;
  if (busy != static_cast<bool>(record.busy_since)) {
    if (!busy) record.busy_micros += (now - record.busy_since).count();
    record.busy_since = busy ? now : Time{};
    Stage(PutNode(record));
  }
  // One that cannot be seen serves nobody.
  autoscaler::NodeState state = record.leaving       ? autoscaler::NodeState::kLeaving
                                : !record.arrived    ? autoscaler::NodeState::kComing
                                : busy || !node.open ? autoscaler::NodeState::kBusy
                                                     : autoscaler::NodeState::kIdle;
  if (!busy && record.arrived && record.evicting && !record.leaving) return Leave(node, now);
  cluster->second.fleet.Set(record.name, state, state == autoscaler::NodeState::kComing ? record.asked : now);
  due_.insert(record.target);
}

void Core::Leave(Core::NodeState& node, Time now) {
  if (node.record.leaving) return;
  node.record.leaving = true;
  node.asked_again = now;
  Stage(PutNode(node.record));
  Place(node, now);
  WantNode(node.record, staged_effects_);
}

void Core::Scale(const std::string& key, Time now) {
  auto found = targets_.find(key);
  if (found == targets_.end() || found->second.kind != TargetKind::kElastic) return;
  TargetRecord& target = found->second;
  if (target.state == Provisioning::kDeleting) return EraseIfEmpty(key);
  Cluster& cluster = clusters_[key];
  scheduler::Index::Lack lack = index_.LackOf(key, {target.slots, 0, 0, 0}, target.max_nodes);
  autoscaler::Decision decision = cluster.fleet.Decide(RulesOf(target), {lack.nodes, lack.waiting, lack.first, lack.first_nodes}, now);
  cluster.reason = decision.reason;
  cluster.next = decision.next;
  for (const std::string& name : decision.give_up) {
    cluster.fleet.Failed(now, StrCat("node '", name, "' has not come"));
    Leave(nodes_.at(name), now);
  }
  for (const std::string& name : decision.remove) Leave(nodes_.at(name), now);
  for (int i = 0; i < decision.add; ++i) {
    Core::NodeState node;
    node.record.name = StrCat(key, "-", ++target.made);
    node.record.target = key;
    node.record.slots = target.slots;
    node.record.provided = true;
    node.record.vm_size = target.vm_size;
    node.record.price = target.price;
    node.record.asked = node.seen = node.asked_again = now;
    Stage(PutNode(node.record));
    auto& placed = nodes_[node.record.name] = std::move(node);
    Place(placed, now);
    WantNode(placed.record, staged_effects_);
  }
  if (decision.add > 0) Stage(PutTarget(target));
  due_.erase(key);
  if (int change = decision.add - static_cast<int>(decision.remove.size() + decision.give_up.size()); decision.add || !decision.remove.empty()) {
    cluster.decisions.push_back({now, decision.reason, change});
    if (cluster.decisions.size() > kDecisionsKept) cluster.decisions.erase(cluster.decisions.begin());
  }
}

void Core::AddTarget(TargetRecord target, Time now) {
  target.created = target.modified = now;
  std::string key = target.Key();
  Stage(PutTarget(target));
  if (target.kind == TargetKind::kElastic) {
    clusters_[key];
    due_.insert(key);
  }
  targets_[key] = std::move(target);
}

Result<void> Core::CheckTarget(const model::Run& run, const std::optional<TargetRecord>& made_with_it) const {
  if (run.target == "local" || (made_with_it && made_with_it->name == run.target)) return {};
  auto it = targets_.find(KeyOf(run));
  if (it == targets_.end()) {
    std::string known = "'local'";
    for (const auto& [key, target] : targets_)
      if (target.workspace == run.workspace && target.run.empty() && target.state != Provisioning::kDeleting && known.size() < 500)
        known += StrCat(", '", target.name, "'");
    return MakeError(Code::kNotFound, "target.not_found",
                     StrCat("there is no compute target '", run.target, "' in workspace '", run.workspace, "'; there are ", known), "target");
  }
  if (it->second.state == Provisioning::kDeleting)
    return MakeError(Code::kConflict, "target.deleting", StrCat("compute target '", run.target, "' is being deleted"), "target");
  if (it->second.state == Provisioning::kFailed)
    return MakeError(Code::kConflict, "target.failed", StrCat("compute target '", run.target, "' could not be made: ", it->second.error), "target");
  return {};
}

Result<Json> Core::On(const CreateTarget& input, Time now) {
  if (input.target.name == "local" || targets_.count(input.target.Key()))
    return MakeError(Code::kConflict, "target.exists", StrCat("compute target '", input.target.name, "' exists already"), "name");
  TRY(auto workspace, Document("workspace", input.target.workspace));
  if (!workspace) return MakeError(Code::kNotFound, "workspace.not_found", StrCat("there is no workspace '", input.target.workspace, "'"), "workspace");
  AddTarget(input.target, now);
  return model::TargetView(targets_.at(input.target.Key()));
}

Result<Json> Core::On(const UpdateTarget& input, Time now) {
  auto it = targets_.find(input.target);
  if (it == targets_.end()) return NoTarget(input.target);
  TargetRecord changed = it->second;
  if (changed.state == Provisioning::kDeleting)
    return MakeError(Code::kConflict, "target.deleting", StrCat("compute target '", changed.name, "' is being deleted"), "target");
  if (input.min_nodes) changed.min_nodes = *input.min_nodes;
  if (input.max_nodes) changed.max_nodes = *input.max_nodes;
  if (input.idle_seconds) changed.idle_seconds = *input.idle_seconds;
  if (input.description) changed.description = *input.description;
  for (const auto& [key, value] : input.set_tags) changed.tags[key] = value;
  for (const std::string& key : input.remove_tags) changed.tags.erase(key);
  if (changed.kind == TargetKind::kElastic && (changed.min_nodes < 0 || changed.max_nodes < changed.min_nodes))
    return MakeError(Code::kInvalid, "target.nodes",
                     StrCat("min_nodes would be ", changed.min_nodes, " and max_nodes ", changed.max_nodes, "; expected 0 <= min_nodes <= max_nodes"),
                     input.min_nodes ? "min_nodes" : "max_nodes");
  changed.modified = now;
  it->second = changed;
  Stage(PutTarget(changed));
  if (clusters_.count(input.target)) due_.insert(input.target);
  return model::TargetView(changed);
}

Result<Json> Core::On(const DeleteTarget& input, Time now) {
  auto it = targets_.find(input.target);
  if (it == targets_.end()) return NoTarget(input.target);
  std::vector<std::string> runs;
  for (const auto& [id, run] : live_)
    if (KeyOf(run) == input.target) runs.push_back(id);
  if (!runs.empty() && !input.cancel)
    return MakeError(Code::kConflict, "target.in_use",
                     StrCat("compute target '", it->second.name, "' has ", runs.size(), " run(s) that have not ended, '", runs[0],
                            "' among them; cancel them first, or delete it with its runs"),
                     "target");
  Json view = model::TargetView(it->second);
  for (const std::string& id : runs) TRY_VOID(On(Cancel{id}, now));
  Remove(targets_.at(input.target), now);
  view.Set("provisioning_state", model::ProvisioningName(Provisioning::kDeleting));
  return view;
}

void Core::Remove(TargetRecord& target, Time now) {
  const std::string key = target.Key();
  target.state = Provisioning::kDeleting;
  target.modified = now;
  Stage(PutTarget(target));
  if (clusters_.count(key)) due_.insert(key);
  for (auto& [name, node] : nodes_)
    if (node.record.target == key && node.record.provided) Leave(node, now);
  if (target.kind != TargetKind::kElastic) EraseIfEmpty(key);
}

void Core::EraseIfEmpty(const std::string& key) {
  auto it = targets_.find(key);
  if (it == targets_.end() || it->second.state != Provisioning::kDeleting) return;
  for (const auto& [name, node] : nodes_)
    if (node.record.target == key && node.record.provided) return;
  for (const auto& [id, run] : live_)
    if (KeyOf(run) == key && !model::IsTerminal(run)) return;
  std::vector<std::string> joined;
  for (const auto& [name, node] : nodes_)
    if (node.record.target == key) joined.push_back(name);
  for (const std::string& name : joined) {
    index_.RemoveNode(name);
    nodes_.erase(name);
    StageErase("node", name);
  }
  StageErase("target", key);
  clusters_.erase(key);
  targets_.erase(it);
}

Result<Json> Core::On(const TargetProvisioned& input, Time now) {
  auto it = targets_.find(input.target);
  if (it == targets_.end() || it->second.state == Provisioning::kDeleting) return Json();
  it->second.state = input.state;
  it->second.error = input.error;
  it->second.modified = now;
  Stage(PutTarget(it->second));
  return model::TargetView(it->second);
}

Result<Json> Core::On(const NodeMade& input, Time now) {
  if (auto it = nodes_.find(input.node); it != nodes_.end()) it->second.asked_again = now;
  return Json();
}

Result<Json> Core::On(const NodeFailed& input, Time now) {
  auto it = nodes_.find(input.node);
  if (it == nodes_.end() || !it->second.record.provided || it->second.record.arrived || it->second.record.leaving) return Json();
  auto cluster = clusters_.find(it->second.record.target);
  if (cluster != clusters_.end()) cluster->second.fleet.Failed(now, input.message);
  // Whatever there is of it goes.
  Leave(it->second, now);
  return Json();
}

Result<Json> Core::On(const NodeGone& input, Time now) {
  auto it = nodes_.find(input.node);
  if (it == nodes_.end() || !it->second.record.provided) return Json();
  Core::NodeState& node = it->second;
  if (!node.record.leaving) {
    // Nobody asked for that.
    Fence(node, now);
    Leave(node, now);
    return Json();
  }
  Fence(node, now);
  const NodeRecord record = node.record;
  if (record.arrived) {
    int64_t busy = record.busy_micros + (record.busy_since ? (now - record.busy_since).count() : 0);
    Stage(PutUsage({record.name, record.target, record.vm_size, record.price, record.asked, record.arrived, now, busy}));
  }
  StageErase("node", record.name);
  index_.RemoveNode(record.name);
  leased_.erase(record.name);
  nodes_.erase(it);
  if (auto cluster = clusters_.find(record.target); cluster != clusters_.end()) cluster->second.fleet.Remove(record.name);
  due_.insert(record.target);
  return Json();
}

Result<Json> Core::On(const NodesListed& input, Time now) {
  auto target = targets_.find(input.target);
  if (target == targets_.end()) return Json();
  std::set<std::string> there(input.nodes.begin(), input.nodes.end());
  // What is there and nobody knows goes; what should be there and is not is gone.
  for (const std::string& name : there)
    if (!nodes_.count(name)) staged_effects_.push_back(DestroyNode{input.target, name, target->second});
  std::vector<std::string> gone;
  for (const auto& [name, node] : nodes_)
    if (node.record.target == input.target && node.record.provided && node.record.arrived && node.record.arrived < input.asked && !there.count(name))
      gone.push_back(name);
  for (const std::string& name : gone) {
    TRY_VOID(On(NodeGone{name}, now));
  }
  return Json();
}

Result<Json> Core::On(const EvictNode& input, Time now) {
  auto it = nodes_.find(input.node);
  if (it == nodes_.end() || !it->second.record.provided)
    return MakeError(Code::kNotFound, "node.not_found", StrCat("there is no node '", input.node, "' that could be taken away"), "node");
  Json runs = Json::MakeArray();
  for (const std::string& id : std::set(leased_[input.node])) {
    Step(live_.at(id), model::EvictAsked{}, now);
    runs.Push(id);
  }
  Core::NodeState& node = nodes_.at(input.node);
  node.record.evicting = true;
  Stage(PutNode(node.record));
  Place(node, now);
  return Json::MakeObject({{"node", input.node}, {"runs", std::move(runs)}});
}

}  // namespace ferry::engine
