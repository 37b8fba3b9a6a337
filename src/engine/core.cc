#include "engine/core.h"

#include "base/text.h"

namespace ferry::engine {

using model::Attempt;
using model::AttemptKey;
using model::Lease;
using model::LeaseOf;
using model::Run;

const char* PlantName(Plant plant) {
  static constexpr const char* kNames[] = {
      "none",      "act-before-commit", "fence-skipped",     "terminal-not-final",  "forget-stop",        "keep-after-failed", "submit-twice",
      "slot-leak", "ignore-vanished",   "retry-without-end", "agent-forgets-early", "agent-loses-events", "wrong-exit"};
  static_assert(std::size(kNames) == kPlantCount);
  return kNames[static_cast<size_t>(plant)];
}

Core::Core(store::Store& store, CoreSettings settings) : store_(store), settings_(settings) {}

Result<void> Core::Recover(Time now) {
  // What is known of the nodes' connections outlives a failed commit; at the start there is nothing of it.
  std::map<std::string, NodeState> before = std::move(nodes_);
  live_.clear();
  nodes_.clear();
  leased_.clear();
  index_ = {};
  targets_.clear();
  std::map<std::string, Cluster> clusters = std::move(clusters_);
  clusters_.clear();
  due_.clear();
  for_batch_.clear();
  staged_.clear();
  staged_puts_.clear();
  staged_erased_.clear();
  touched_.clear();
  staged_effects_.clear();
  effects_.clear();

  store::Query query{"target", {}, {{"", "key"}, false}, {}, 1000};
  for (;;) {
    TRY(store::Page page, store_.Find(query));
    for (const store::Document& document : page.documents) {
      TRY(Json json, ParseJson(document.body, "a target in the store"));
      TRY(targets_[document.key], model::TargetFromJson(json));
      if (targets_[document.key].kind != model::TargetKind::kElastic) continue;
      due_.insert(document.key);
      Cluster& cluster = clusters_[document.key];
      // What was learnt of the provider outlives a failed commit too.
      if (auto it = clusters.find(document.key); it != clusters.end()) cluster.decisions = std::move(it->second.decisions);
    }
    if (page.next.empty()) break;
    query.cursor = page.next;
  }

  query = {"node", {}, {{"", "key"}, false}, {}, 1000};
  for (;;) {
    TRY(store::Page page, store_.Find(query));
    for (const store::Document& document : page.documents) {
      TRY(Json json, ParseJson(document.body, "a node in the store"));
      NodeState state;
      if (auto it = before.find(document.key); it != before.end()) state = it->second;
      state.record = model::NodeFromJson(json);
      if (!state.seen) state.seen = now;
      if (state.record.leaving || !state.open) WantNode(state.record, effects_);
      nodes_[state.record.name] = std::move(state);
    }
    if (page.next.empty()) break;
    query.cursor = page.next;
  }

  query = {"run", {{{"", "live"}, store::Op::kEq, {int64_t{1}}}}, {{"", "key"}, false}, {}, 1000};
  for (;;) {
    TRY(store::Page page, store_.Find(query));
    for (const store::Document& document : page.documents) {
      TRY(Run run, RunFromDocument(document));
      if (settings_.plant == Plant::kForgetStopOnRecovery)
        if (auto* stopping = std::get_if<model::Stopping>(&run.attempt().phase)) run.attempt().phase = model::Running{stopping->lease};
      if (const Lease* lease = LeaseOf(run.attempt().phase)) {
        leased_[lease->node].insert(run.id);
        if (!IsBatch(KeyOf(run))) index_.Occupy(lease->node, {run.id, run.attempt().gpus});
      } else if (std::holds_alternative<model::Queued>(run.attempt().phase)) {
        Wait(run);
      }
      WantFor(run, effects_);
      live_[run.id] = std::move(run);
    }
    if (page.next.empty()) break;
    query.cursor = page.next;
  }
  for (auto& [name, node] : nodes_)
    if (!IsBatch(node.record.target)) Place(node, now);
  // A cluster that was made for a run goes with it, whenever that was.
  for (auto& [key, target] : targets_)
    if (!target.run.empty() && !live_.count(target.run) && target.state != model::Provisioning::kDeleting) Remove(target, now);
  return {};
}

bool Core::IsBatch(const std::string& target) const {
  auto it = targets_.find(target);
  return it != targets_.end() && it->second.kind == model::TargetKind::kBatch;
}

void Core::Wait(const Run& run) {
  std::string key = KeyOf(run);
  if (IsBatch(key)) {
    for_batch_.insert(run.id);
    return;
  }
  scheduler::Demand demand{run.id, key, run.priority, run.created.micros, run.spec.gpus};
  demand.seconds = run.spec.max_duration_seconds;
  index_.Wait(demand);
  if (clusters_.count(key)) due_.insert(key);
}

Result<Json> Core::Apply(const Input& input, Time now) {
  return std::visit([&](const auto& i) { return On(i, now); }, input);
}

Result<void> Core::Commit(Time now) {
  for (const scheduler::Placement& placement : index_.Decide(now)) {
    Run& run = live_.at(placement.run);
    const scheduler::Share& share = placement.shares[0];
    run.attempt().gpus = share.gpus;
    Step(run, model::Place{{share.node, nodes_.at(share.node).record.generation}}, now);
  }
  for (const std::string& target : std::exchange(due_, {})) Scale(target, now);
  // A batch system does its own queueing: the attempt is its own node there.
  for (const std::string& id : std::exchange(for_batch_, {})) {
    auto it = live_.find(id);
    if (it == live_.end() || !std::holds_alternative<model::Queued>(it->second.attempt().phase)) continue;
    Run& run = it->second;
    Step(run, model::Place{{StrCat(KeyOf(run), ".", AttemptKey{run.id, run.attempt().number}.run, ".", run.attempt().number), 1}}, now);
  }
  for (const auto& [id, everything] : touched_) {
    const Run& run = live_.at(id);
    Stage(PutRun(run, everything));
    staged_effects_.push_back(RunChanged{id, model::IsTerminal(run)});
    WantFor(run, staged_effects_);
  }
  if (settings_.plant == Plant::kActBeforeCommit) effects_ = staged_effects_;
  if (!staged_.empty()) {
    if (auto committed = store_.Commit(staged_); !committed.ok()) {
      if (settings_.plant != Plant::kKeepAfterFailedCommit) {
        std::vector<Effect> early = std::move(effects_);
        FERRY_CHECK(Recover(now).ok());
        if (settings_.plant == Plant::kActBeforeCommit) effects_.insert(effects_.end(), early.begin(), early.end());
        return committed;
      }
      staged_.clear();
      staged_puts_.clear();
      staged_erased_.clear();
      touched_.clear();
      staged_effects_.clear();
      return committed;
    }
  }
  effects_.insert(effects_.end(), staged_effects_.begin(), staged_effects_.end());
  for (const auto& [id, everything] : touched_)
    if (auto it = live_.find(id); model::IsTerminal(it->second)) live_.erase(it);
  staged_.clear();
  staged_puts_.clear();
  staged_erased_.clear();
  touched_.clear();
  staged_effects_.clear();
  return {};
}

std::vector<Effect> Core::TakeEffects() { return std::exchange(effects_, {}); }

void Core::Stage(store::Put put) {
  auto key = std::make_pair(put.table, put.document.key);
  staged_erased_.erase(key);
  auto [it, fresh] = staged_puts_.try_emplace(key, staged_.size());
  if (fresh) {
    staged_.push_back(std::move(put));
    return;
  }
  auto& earlier = std::get<store::Put>(staged_[it->second]);
  if (put.attribute_kinds.empty()) {
    earlier.document = std::move(put.document);
  } else {
    earlier = std::move(put);
  }
}

void Core::StageErase(const std::string& table, const std::string& key) {
  staged_puts_.erase({table, key});
  staged_erased_.insert({table, key});
  staged_.push_back(store::Erase{table, key});
}

std::optional<std::string> Core::Staged(const std::string& table, const std::string& key) const {
  auto it = staged_puts_.find({table, key});
  if (it == staged_puts_.end()) return std::nullopt;
  return std::get<store::Put>(staged_[it->second]).document.body;
}

Result<std::optional<Json>> Core::Document(const std::string& table, const std::string& key) const {
  if (staged_erased_.count({table, key})) return std::optional<Json>();
  std::optional<std::string> body = Staged(table, key);
  if (!body) {
    TRY(auto document, store_.Get(table, key));
    if (!document) return std::optional<Json>();
    body = std::move(document->body);
  }
  TRY(Json json, ParseJson(*body, StrCat("a ", table, " in the store")));
  return std::optional<Json>(std::move(json));
}

Result<std::vector<std::string>> Core::KeysBelow(const std::string& table, const std::string& prefix, size_t limit) const {
  std::set<std::string> keys;
  for (auto it = staged_puts_.lower_bound({table, prefix}); it != staged_puts_.end() && keys.size() < limit; ++it) {
    if (it->first.first != table || !it->first.second.starts_with(prefix)) break;
    keys.insert(it->first.second);
  }
  store::Query query{table, {{{"", "key"}, store::Op::kPrefix, {prefix}}}, {{"", "key"}, false}, {}, 1000};
  for (;;) {
    TRY(store::Page page, store_.Find(query));
    for (const store::Document& document : page.documents)
      if (keys.size() < limit && !staged_erased_.count({table, document.key})) keys.insert(document.key);
    if (page.next.empty() || keys.size() >= limit) return std::vector(keys.begin(), keys.end());
    query.cursor = page.next;
  }
}

void Core::Touch(const Run& run, bool everything) { touched_[run.id] |= everything; }

void Core::Step(Run& run, const model::AttemptInput& input, Time now) {
  Attempt& attempt = run.attempt();
  std::optional<Lease> before;
  if (const Lease* lease = LeaseOf(attempt.phase)) before = *lease;
  if (!model::Advance(attempt, input, now)) return;
  run.changed = now;
  const Lease* after = LeaseOf(attempt.phase);
  if (!before && after) {
    index_.Unwait(run.id);
    leased_[after->node].insert(run.id);
    if (!IsBatch(KeyOf(run))) {
      Time until = run.spec.max_duration_seconds ? now + std::chrono::seconds(run.spec.max_duration_seconds) : Time{};
      index_.Occupy(after->node, {run.id, attempt.gpus, 0, 0, until});
      Place(nodes_.at(after->node), now);
    }
  }
  if (model::IsEnded(attempt)) {
    index_.Unwait(run.id);
    for_batch_.erase(run.id);
    if (before && settings_.plant != Plant::kSlotLeak) index_.Release(before->node, run.id);
    if (std::string key = KeyOf(run); clusters_.count(key)) due_.insert(key);
    if (before) {
      leased_[before->node].erase(run.id);
      if (auto node = nodes_.find(before->node); node != nodes_.end() && !IsBatch(KeyOf(run))) Place(node->second, now);
      staged_effects_.push_back(Tell{before->node, model::Forget{{run.id, attempt.number}}});
      if (IsBatch(KeyOf(run))) {
        staged_effects_.push_back(StopBatch{KeyOf(run), {run.id, attempt.number}});
        nodes_.erase(before->node);
        staged_puts_.erase({"node", before->node});
        staged_.push_back(store::Erase{"node", before->node});
      }
    }
    auto reason = std::get<model::Ended>(attempt.phase).reason;
    bool again = model::Describe(reason).retry == model::RetryClass::kInfrastructure && !run.cancel_asked && attempt.number < run.spec.max_attempts;
    if (again) {
      Attempt next;
      next.number = attempt.number + 1;
      next.entered[0] = now;
      run.attempts.push_back(std::move(next));
      Wait(run);
    } else if (auto target = targets_.find(KeyOf(run)); target != targets_.end() && target->second.run == run.id) {
      Remove(target->second, now);
    }
  }
  Touch(run, false);
}

void Core::WantFor(const Run& run, std::vector<Effect>& out) const {
  const Attempt& attempt = run.attempt();
  AttemptKey key{run.id, attempt.number};
  if (auto* placed = std::get_if<model::Placed>(&attempt.phase)) {
    if (IsBatch(KeyOf(run))) out.push_back(LaunchBatch{KeyOf(run), placed->lease.node, key});
    out.push_back(Tell{placed->lease.node, model::Assign{key, placed->lease.generation, run.experiment, run.workspace, {}, run.spec, attempt.gpus}});
  }
  if (auto* stopping = std::get_if<model::Stopping>(&attempt.phase)) {
    out.push_back(Tell{stopping->lease.node, model::Stop{key, stopping->lease.generation}});
    // Still in the batch system's queue: nobody is there to be told.
    auto node = nodes_.find(stopping->lease.node);
    if (IsBatch(KeyOf(run)) && (node == nodes_.end() || !node->second.session)) out.push_back(StopBatch{KeyOf(run), key});
  }
}

std::vector<Effect> Core::Wanted(const std::string& node) const {
  std::vector<Effect> out;
  if (auto it = leased_.find(node); it != leased_.end())
    for (const std::string& run : it->second) WantFor(live_.at(run), out);
  return out;
}

Result<Run*> Core::Find(const std::string& id, std::optional<Run>& loaded) {
  if (auto it = live_.find(id); it != live_.end()) return &it->second;
  TRY(auto json, Document("run", id));
  if (!json) return MakeError(Code::kNotFound, "run.not_found", StrCat("there is no run '", id.substr(0, 300), "'"), "run");
  TRY(Run run, model::RunFromJson(*json));
  loaded = std::move(run);
  return &*loaded;
}

std::optional<Lease> Core::LeaseFor(const AttemptKey& key) const {
  auto it = live_.find(key.run);
  if (it == live_.end() || it->second.attempt().number != key.attempt) return std::nullopt;
  const Lease* lease = LeaseOf(it->second.attempt().phase);
  return lease ? std::optional(*lease) : std::nullopt;
}

std::string Core::Explain(const std::string& id, Time now) const {
  auto it = live_.find(id);
  if (it == live_.end()) return {};
  const Run& run = it->second;
  const Attempt& attempt = run.attempt();
  std::string text;
  if (std::holds_alternative<model::Queued>(attempt.phase)) {
    text = StrCat("it waits because ", index_.Explain(id));
    if (auto cluster = clusters_.find(KeyOf(run)); cluster != clusters_.end()) {
      const autoscaler::Fleet& fleet = cluster->second.fleet;
      int there = fleet.count(autoscaler::NodeState::kIdle) + fleet.count(autoscaler::NodeState::kBusy);
      if (there == 0) text = StrCat("it waits because '", run.target, "' has no node yet");
      if (!cluster->second.reason.empty()) text += StrCat("; '", run.target, "': ", cluster->second.reason);
    }
    // The index knows targets by their keys.
    const std::string key = StrCat("'", KeyOf(run), "'");
    for (size_t at; (at = text.find(key)) != std::string::npos && key != StrCat("'", run.target, "'");)
      text.replace(at, key.size(), StrCat("'", run.target, "'"));
  } else if (std::holds_alternative<model::Driven>(attempt.phase)) {
    text = "it is interactive: it runs until its client completes, fails or cancels it";
  } else {
    const Lease& lease = *LeaseOf(attempt.phase);
    switch (attempt.phase.index()) {
      case 1:
        text = IsBatch(KeyOf(run)) ? StrCat("it was handed to the batch system of '", run.target, "' and waits in its queue")
                                   : StrCat("it was given to node '", lease.node, "', which has not answered yet");
        break;
      case 2: text = StrCat("node '", lease.node, "' ", model::PreparationText(run)); break;
      case 3: text = StrCat("the script runs on node '", lease.node, "'"); break;
      case 4: text = StrCat("the script has ended; node '", lease.node, "' collects logs and outputs"); break;
      default: text = StrCat("node '", lease.node, "' was told to stop it and has not confirmed yet");
    }
    auto node = nodes_.find(lease.node);
    if (node != nodes_.end() && now - node->second.seen > settings_.node_quiet) text += StrCat("; the node was not seen since ", FormatTime(node->second.seen));
  }
  if (attempt.number > 1) text += StrCat(" (attempt ", attempt.number, ")");
  return text;
}

std::optional<Time> Core::NextDeadline() const {
  std::optional<Time> next;
  for (const auto& [name, node] : nodes_) {
    auto leased = leased_.find(name);
    if ((leased == leased_.end() || leased->second.empty()) && !node.record.provided) continue;
    Time at = node.seen + settings_.node_grace;
    if (!next || at < *next) next = at;
  }
  for (const auto& [key, cluster] : clusters_)
    if (cluster.next && (!next || *cluster.next < *next)) next = cluster.next;
  return next;
}

void Core::Fence(NodeState& node, Time now) {
  if (node.record.handle.empty()) {
    ++node.record.generation;
    Stage(PutNode(node.record));
  }
  node.open = false;
  node.seen = now;
  if (!IsBatch(node.record.target)) Place(node, now);
  std::set<std::string> runs = leased_[node.record.name];
  for (const std::string& id : runs) Step(live_.at(id), model::NodeGivenUp{}, now);
}

void Core::GiveUp(NodeState& node, Time now) {
  Fence(node, now);
  if (node.record.provided) Leave(node, now);
}

Result<Json> Core::On(const Tick&, Time now) {
  std::vector<std::string> lost;
  for (auto& [name, node] : nodes_) {
    if (now - node.seen > settings_.node_quiet && node.open) {
      node.open = false;
      if (!IsBatch(node.record.target)) Place(node, now);
    }
    if (node.record.provided && (node.record.leaving || !node.open) && now - node.asked_again >= settings_.provider_patience) {
      node.asked_again = now;
      WantNode(node.record, staged_effects_);
    }
    auto leased = leased_.find(name);
    bool working = leased != leased_.end() && !leased->second.empty();
    Duration grace = settings_.plant == Plant::kRetryWithoutEnd ? settings_.node_quiet : settings_.node_grace;
    // A job that waits in a batch system's queue is not lost: its system tells.
    if (!node.record.handle.empty() && !node.session) continue;
    bool missing = node.record.provided && node.record.arrived && !node.record.leaving && !node.open;
    if ((working || missing) && now - node.seen >= grace) {
      lost.push_back(name);
    }
  }
  for (const std::string& name : lost)
    if (auto it = nodes_.find(name); it != nodes_.end()) {
      if (settings_.plant == Plant::kRetryWithoutEnd)
        for (const std::string& id : std::set(leased_[name])) Step(live_.at(id), model::NodeGivenUp{}, now);
      else
        GiveUp(it->second, now);
    }
  for (const auto& [key, cluster] : clusters_) due_.insert(key);
  // A launch or a stop that did not come through is asked for again.
  for (const auto& [name, target] : targets_) {
    if (target.kind != model::TargetKind::kBatch) continue;
    for (const auto& [id, run] : live_) {
      const Lease* lease = LeaseOf(run.attempt().phase);
      bool asking = std::holds_alternative<model::Placed>(run.attempt().phase) ? lease && !nodes_.count(lease->node)
                                                                               : std::holds_alternative<model::Stopping>(run.attempt().phase);
      if (asking && KeyOf(run) == name) WantFor(run, staged_effects_);
    }
  }
  return Json();
}

}  // namespace ferry::engine
