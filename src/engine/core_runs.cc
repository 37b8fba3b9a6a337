// Inputs that concern runs: submission, cancellation, updates, and what agents say.
#include "base/text.h"
#include "engine/core.h"

namespace ferry::engine {

using model::AttemptKey;
using model::Lease;
using model::LeaseOf;
using model::Run;

namespace {
Json Acknowledge(const Run& run, bool created) {
  return Json::MakeObject({{"id", run.id},
                           {"experiment", run.experiment},
                           {"workspace", run.workspace},
                           {"number", run.number},
                           {"status", model::StatusName(model::StatusOf(run))},
                           {"created", created}});
}
Json IdAndStatus(const Run& run) { return Json::MakeObject({{"id", run.id}, {"status", model::StatusName(model::StatusOf(run))}}); }
Error HasEnded(const Run& run) {
  return MakeError(Code::kConflict, "run.ended", StrCat("run '", run.id, "' has already ended: ", model::StatusName(model::StatusOf(run))), "run");
}
}  // namespace

Result<Json> Core::On(const Submit& input, Time now) {
  const Run& wanted = input.run;
  std::optional<Run> loaded;
  if (settings_.plant != Plant::kSubmitTwice) {
    if (auto found = Find(wanted.id, loaded); found.ok()) {
      const Run& there = **found;
      if (there.request == wanted.request) return Acknowledge(there, false);
      return MakeError(Code::kConflict, "run.exists", StrCat("run '", wanted.id, "' exists already and was submitted with other content"), "id");
    } else if (found.error().code != Code::kNotFound) {
      return found.error();
    }
  }

  TRY(auto workspace, Document("workspace", wanted.workspace));
  if (!workspace)
    return MakeError(Code::kNotFound, "workspace.not_found",
                     StrCat("there is no workspace '", wanted.workspace, "'; create it with: ferry workspace create -w ", wanted.workspace), "workspace");
  TRY(auto experiment_json, Document("experiment", ExperimentKey(wanted.workspace, wanted.experiment)));
  model::Experiment experiment;
  if (experiment_json) {
    experiment = model::ExperimentFromJson(*experiment_json);
  } else {
    experiment.workspace = wanted.workspace;
    experiment.name = wanted.experiment;
    experiment.id = HashBytes(ExperimentKey(wanted.workspace, wanted.experiment)).Hex().substr(0, 32);
    experiment.created = now;
  }

  TRY_VOID(CheckTarget(wanted, input.cluster));
  Run run = wanted;
  if (input.environment) {
    TRY(auto registered, Register(*input.environment, now));
    run.spec.needs->name = input.environment->name;
    run.spec.needs->version = std::to_string(registered.first);
  }
  run.number = ++experiment.runs;
  run.created = run.changed = now;
  run.attempts = {model::Attempt{}};
  if (run.spec.interactive) run.attempts[0].phase = model::Driven{};
  run.attempts[0].entered[run.attempts[0].phase.index()] = now;
  Stage(PutExperiment(experiment));
  if (auto old = live_.find(run.id); old != live_.end()) {
    if (const Lease* lease = LeaseOf(old->second.attempt().phase)) {
      index_.Release(lease->node, run.id);
      leased_[lease->node].erase(run.id);
    }
  }
  if (input.cluster) AddTarget(*input.cluster, now);
  if (!run.spec.interactive) Wait(run);
  Touch(run, true);
  Json reply = Acknowledge(run, true);
  live_[run.id] = std::move(run);
  return reply;
}

Result<Json> Core::On(const Cancel& input, Time now) {
  std::optional<Run> loaded;
  TRY(Run * run, Find(input.run, loaded));
  if (loaded && settings_.plant == Plant::kTerminalNotFinal) {
    run->attempt().phase = model::Ended{model::EndReason::kCanceled, std::nullopt, {}};
    Stage(PutRun(*run, false));
    return Json();
  }
  if (loaded || model::IsTerminal(*run)) return HasEnded(*run);
  if (!run->cancel_asked) {
    run->cancel_asked = now;
    Touch(*run, false);
  }
  Step(*run, model::CancelAsked{}, now);
  return IdAndStatus(*run);
}

Result<Json> Core::On(const Complete& input, Time now) {
  std::optional<Run> loaded;
  TRY(Run * run, Find(input.run, loaded));
  if (model::IsTerminal(*run)) {
    if (model::StatusOf(*run) == model::Status::kCompleted) return IdAndStatus(*run);
    return HasEnded(*run);
  }
  if (!run->spec.interactive)
    return MakeError(Code::kConflict, "run.not_interactive",
                     StrCat("run '", input.run, "' is not interactive: it is complete when its script ends; stop it with cancel or fail"), "run");
  Step(*run, model::Completed{}, now);
  return IdAndStatus(*run);
}

Result<Json> Core::On(const Fail& input, Time now) {
  std::optional<Run> loaded;
  TRY(Run * run, Find(input.run, loaded));
  if (auto* ended = std::get_if<model::Ended>(&run->attempt().phase)) {
    if (ended->reason == model::EndReason::kFailedByUser) return IdAndStatus(*run);
    return HasEnded(*run);
  }
  if (run->cancel_asked) return MakeError(Code::kConflict, "run.canceled", StrCat("run '", input.run, "' is being canceled"), "run");
  Step(*run, model::FailAsked{input.message, input.code}, now);
  return IdAndStatus(*run);
}

Result<Json> Core::On(const Evict& input, Time now) {
  std::optional<Run> loaded;
  TRY(Run * run, Find(input.run, loaded));
  if (loaded || !LeaseOf(run->attempt().phase)) return MakeError(Code::kConflict, "run.not_placed", StrCat("run '", input.run, "' is on no node"), "run");
  Step(*run, model::EvictAsked{}, now);
  return IdAndStatus(*run);
}

Result<void> Core::ApplyUpdate(Run& run, const Update& update, Time now) {
  for (const auto& [key, value] : update.add_properties)
    if (auto it = run.properties.find(key); it != run.properties.end() && it->second != value)
      return MakeError(Code::kConflict, "property.immutable",
                       StrCat("property '", key, "' of run '", run.id, "' is '", it->second, "' already; properties cannot be changed"),
                       StrCat("properties.", key));
  if (update.snapshot && run.spec.snapshot != *update.snapshot) {
    if (!run.spec.interactive || !run.spec.snapshot.empty())
      return MakeError(
          Code::kConflict, "run.snapshot_fixed",
          StrCat("run '", run.id, run.spec.interactive ? "' has a snapshot already" : "' is not interactive: its snapshot is the one it was submitted with"),
          "snapshot");
    run.spec.snapshot = *update.snapshot;
  }
  for (const auto& [key, value] : update.set_tags) run.tags[key] = value;
  for (const std::string& key : update.remove_tags) run.tags.erase(key);
  for (const auto& [key, value] : update.add_properties) run.properties[key] = value;
  if (run.tags.size() > 500 || run.properties.size() > 1000)
    return MakeError(Code::kTooLarge, "run.too_many_tags", StrCat("run '", run.id, "' would have more than 500 tags or 1,000 properties"), "tags");
  if (update.name) run.name = *update.name;
  if (update.description) run.description = *update.description;
  if (update.archived) run.archived = *update.archived;
  run.changed = now;
  return {};
}

Result<Json> Core::On(const Update& input, Time now) {
  std::optional<Run> loaded;
  TRY(Run * run, Find(input.run, loaded));
  Run changed = *run;
  TRY_VOID(ApplyUpdate(changed, input, now));
  if (loaded) {
    Stage(PutRun(changed, true));
    staged_effects_.push_back(RunChanged{changed.id, true});
  } else {
    *run = changed;
    Touch(*run, true);
  }
  return model::RunView(changed);
}

Result<Json> Core::On(const AddArtifact& input, Time now) {
  Artifact artifact = input.artifact;
  std::optional<Run> loaded;
  TRY([[maybe_unused]] Run * run, Find(artifact.run, loaded));
  std::string key = StrCat(artifact.run, "/", artifact.path);
  TRY(auto there, Document("artifact", key));
  if (there) {
    TRY(Artifact before, ArtifactFromJson(*there));
    if (before.digest == artifact.digest) return there->Set("created", false);
    if (!input.overwrite)
      return MakeError(Code::kConflict, "artifact.exists",
                       StrCat("run '", artifact.run, "' has a file '", artifact.path, "' with another content already; give overwrite to replace it"), "path");
  }
  // A path is a file or a folder, or nobody could download both.
  auto clash = [&](std::string_view path, const char* is) {
    return MakeError(Code::kConflict, "artifact.exists", StrCat("'", path, "' is a ", is, " of run '", artifact.run, "' already"), "path");
  };
  for (size_t slash = artifact.path.find('/'); slash != std::string::npos; slash = artifact.path.find('/', slash + 1)) {
    std::string folder = artifact.path.substr(0, slash);
    TRY(auto file, Document("artifact", StrCat(artifact.run, "/", folder)));
    if (file) return clash(folder, "file");
  }
  TRY(auto below, KeysBelow("artifact", StrCat(key, "/"), 1));
  if (!below.empty()) return clash(artifact.path, "folder");
  artifact.time = now;
  Stage(PutArtifact(artifact));
  return ToJson(artifact).Set("created", true);
}

// A request of an agent that was overtaken by a later one says nothing that still holds.
Result<void> Core::CheckSequence(NodeState& node, int64_t session, int64_t sequence) {
  if (session < node.session || (session == node.session && sequence <= node.sequence))
    return MakeError(Code::kConflict, "agent.stale", StrCat("node '", node.record.name, "' has sent a later request"), "sequence");
  node.session = session;
  node.sequence = sequence;
  return {};
}

Result<Json> Core::On(const AgentHello& input, Time now) {
  const model::Hello& hello = input.hello;
  if (clusters_.count(hello.target) && !nodes_.count(hello.node))
    return MakeError(Code::kConflict, "node.unknown", StrCat("'", hello.target, "' has no node '", hello.node, "' any more"), "node");
  auto [it, fresh] = nodes_.try_emplace(hello.node);
  NodeState& node = it->second;
  if (!fresh && node.record.target != hello.target)
    return MakeError(Code::kConflict, "node.exists", StrCat("node '", hello.node, "' belongs to target '", node.record.target, "'"), "node");
  TRY_VOID(CheckSequence(node, hello.session, hello.sequence));
  // A known node without a generation has lost its disk, and with it whatever it was given, told or not.
  if (!fresh && hello.generation == 0 && !IsBatch(hello.target) && (!node.record.provided || node.record.arrived)) Fence(node, now);
  model::NodeRecord record = node.record;
  record.name = hello.node;
  record.target = hello.target;
  record.slots = hello.slots;
  record.gpus = hello.gpus;
  // A batch system's node is known before it speaks, and only for as long as its attempt lasts.
  if (IsBatch(hello.target) && leased_[hello.node].empty()) {
    nodes_.erase(it);
    leased_.erase(hello.node);
    return MakeError(Code::kConflict, "node.done", StrCat("the attempt that node '", hello.node, "' was started for has ended"), "node");
  }
  if (record.provided && !record.arrived) {
    record.arrived = now;
    clusters_[record.target].fleet.Made();
  }
  if (fresh || record != node.record) {
    node.record = record;
    Stage(PutNode(record));
  }
  node.seen = now;
  node.open = true;
  if (!IsBatch(record.target)) Place(node, now);
  Json reply = Json::MakeObject({{"generation", record.generation}, {"protocol", model::kProtocol}});
  bool fenced = hello.generation != 0 && hello.generation != record.generation && settings_.plant != Plant::kFenceSkipped;
  if (fenced) {
    reply.Set("fenced", true);
    return reply;
  }
  std::set<AttemptKey> inventory(hello.inventory.begin(), hello.inventory.end());
  std::set<std::string> leased = leased_[hello.node];
  for (const std::string& id : leased) {
    Run& run = live_.at(id);
    AttemptKey key{id, run.attempt().number};
    if (inventory.count(key) || settings_.plant == Plant::kIgnoreVanished) continue;
    Step(run, model::Vanished{}, now);
  }
  for (const AttemptKey& key : hello.inventory) {
    auto lease = LeaseFor(key);
    if (!lease || lease->node != hello.node) staged_effects_.push_back(Tell{hello.node, model::Forget{key}});
  }
  for (Effect& effect : Wanted(hello.node)) staged_effects_.push_back(std::move(effect));
  return reply;
}

Result<Json> Core::On(const AgentReport& input, Time now) {
  auto node = nodes_.find(input.node);
  if (node == nodes_.end()) return MakeError(Code::kConflict, "agent.unknown", StrCat("node '", input.node, "' has not said hello"), "node");
  if (input.generation != node->second.record.generation && settings_.plant != Plant::kFenceSkipped)
    return MakeError(Code::kConflict, "agent.fenced",
                     StrCat("node '", input.node, "' was given up on: its generation is ", node->second.record.generation, ", not ", input.generation),
                     "generation");
  TRY_VOID(CheckSequence(node->second, input.session, input.sequence));
  node->second.seen = now;
  auto current = [&](const AttemptKey& key) -> Run* {
    auto it = live_.find(key.run);
    if (it == live_.end()) return nullptr;
    if (it->second.attempt().number != key.attempt && settings_.plant != Plant::kWrongExit && settings_.plant != Plant::kFenceSkipped) return nullptr;
    const Lease* lease = LeaseOf(it->second.attempt().phase);
    bool holds = lease && lease->node == input.node && lease->generation == input.generation;
    if (!holds && settings_.plant != Plant::kFenceSkipped && settings_.plant != Plant::kWrongExit) return nullptr;
    return &it->second;
  };
  for (const auto& [key, artifact] : input.artifacts)
    if (current(key)) Stage(PutArtifact(artifact));
  for (const model::Facts& facts : input.facts)
    if (Run* run = current(facts.key)) TakeFacts(*run, facts, now);
  for (const auto& [key, update] : input.updates)
    if (Run* run = current(key)) {
      Run changed = *run;
      if (ApplyUpdate(changed, update, now).ok()) {
        *run = std::move(changed);
        Touch(*run, true);
      }
    }
  for (const model::AgentEvent& event : input.events) {
    if (Run* run = current(event.key)) {
      Step(*run, event.input, now);
    } else {
      staged_effects_.push_back(Tell{input.node, model::Forget{event.key}});
    }
  }
  return Json::MakeObject({{"ok", true}});
}

Result<Json> Core::On(const MetricsChanged& input, Time) {
  staged_.push_back(store::PutAttributes{"run", input.run, input.attributes});
  return Json();
}

Result<Json> Core::On(const BatchLaunched& input, Time now) {
  auto lease = LeaseFor(input.key);
  auto run = live_.find(input.key.run);
  if (!lease || !IsBatch(KeyOf(run->second))) {
    staged_effects_.push_back(StopBatch{input.target, input.key});
    return Json();
  }
  NodeState& node = nodes_[lease->node];
  if (node.record.handle == input.handle) return Json();
  node.record.name = lease->node;
  node.record.target = KeyOf(run->second);
  node.record.handle = input.handle;
  if (!node.seen) node.seen = now;
  Stage(PutNode(node.record));
  return Json();
}

Result<Json> Core::On(const BatchGone& input, Time now) {
  auto lease = LeaseFor(input.key);
  if (!lease) return Json();
  Step(live_.at(input.key.run), model::NodeGivenUp{}, now);
  return Json();
}

}  // namespace ferry::engine
