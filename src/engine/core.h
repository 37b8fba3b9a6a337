// The engine without its thread: inputs in, staged changes, one durable commit, wanted effects out.
// Used by the server's engine thread and, unchanged, by the simulation. One caller at a time. Reads no clock and no random source.
//
// The life of a batch: Apply() any number of inputs, Commit() once, then the replies may be given and TakeEffects() done. Nothing of a batch is
// visible outside before Commit() succeeded. A failed commit forgets the batch by reading the store again, which is also how a start begins.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "autoscaler/fleet.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/tables.h"
#include "model/access.h"
#include "model/message.h"
#include "model/run.h"
#include "model/target.h"
#include "scheduler/index.h"
#include "store/store.h"

namespace ferry::engine {

// --- inputs
// A new run: everything set but number, times and attempts. The same id with the same `request` is the same run.
struct Submit {
  model::Run run;
  // The run's own definition, to be registered with it: everything set but version and time. The run gets the version.
  std::optional<model::EnvironmentRecord> environment = {};
  // A cluster for this run alone, made with it and removed after it: everything set but times. The run's target is its name.
  std::optional<model::TargetRecord> cluster = {};
};
struct Cancel {
  std::string run;
};
// Rehearses losing the node: the attempt is stopped as preempted and the run comes back by itself.
struct Evict {
  std::string run;
};
// The client of an interactive run says that it is complete. kConflict "run.not_interactive" for another run that has not ended.
struct Complete {
  std::string run;
};
// The run failed, a user says: an interactive one ends at once, another is stopped first.
struct Fail {
  std::string run;
  std::string message;
  std::string code = {};
};
struct Update {
  std::string run;
  std::map<std::string, std::string> set_tags;
  std::vector<std::string> remove_tags;
  std::map<std::string, std::string> add_properties;  // immutable: an existing key with another value is a conflict
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<bool> archived;
  std::optional<std::string> snapshot = {};  // of an interactive run that has none
};
// A file that a client gives a run, whatever its status; the content is there. The same content again is the same file; another needs `overwrite`, else it
// is kConflict "artifact.exists".
struct AddArtifact {
  Artifact artifact;
  bool overwrite = false;
};
struct AgentHello {
  model::Hello hello;
};
// What an agent reports, after logs and metrics of the same report are durable.
struct AgentReport {
  std::string node;
  int64_t generation = 0;
  int64_t session = 0;  // see model::Hello
  int64_t sequence = 0;
  std::vector<model::AgentEvent> events;
  std::vector<std::pair<model::AttemptKey, Artifact>> artifacts;
  std::vector<std::pair<model::AttemptKey, Update>> updates;  // tags and properties that the script set
  std::vector<model::Facts> facts;
};
// The metric summaries of a run changed; `attributes` are kinds metric.latest, metric.min and metric.max.
struct MetricsChanged {
  std::string run;
  std::vector<store::Attribute> attributes;
};
struct CreateWorkspace {
  model::Workspace workspace;
  bool exist_ok = false;
};
struct UpdateWorkspace {
  std::string name;
  std::map<std::string, std::string> set_tags;
  std::vector<std::string> remove_tags;
  std::map<std::string, std::string> set_properties;
  std::optional<std::string> description;
  std::optional<std::string> friendly_name;
  std::optional<std::string> default_datastore;
};
// With its empty experiments, its environments and its secrets. kConflict "workspace.not_empty" while it has runs, models or datasets.
struct DeleteWorkspace {
  std::string name;
};
// One that is there stays as it is.
struct CreateExperiment {
  model::Experiment experiment;
};
struct UpdateExperiment {
  std::string workspace;
  std::string name;
  std::map<std::string, std::string> set_tags;
  std::vector<std::string> remove_tags;
  std::optional<std::string> description;
  std::optional<bool> archived;
  std::optional<std::string> new_name;  // only while it has no runs
};
// kConflict "experiment.not_empty" while it has runs.
struct DeleteExperiment {
  std::string workspace;
  std::string name;
};
// Makes a compute target: everything set but times. An existing one of the same name is a conflict.
// Sets a secret: everything set but the times, its value sealed. One of the same name is replaced.
struct SetSecret {
  model::Secret secret;
};
struct DeleteSecret {
  std::string workspace;
  std::string name;
};
// Makes a compute target. An existing one of the same name is a conflict.
struct CreateTarget {
  model::TargetRecord target;
};
struct UpdateTarget {
  std::string target;  // key
  std::optional<int> min_nodes;
  std::optional<int> max_nodes;
  std::optional<int64_t> idle_seconds;
  std::optional<std::string> description;
  std::map<std::string, std::string> set_tags;
  std::vector<std::string> remove_tags;
};
// Removes it once its nodes are gone. One that has runs is a conflict, unless `cancel` ends them.
struct DeleteTarget {
  std::string target;
  bool cancel = false;
};
// How far its making has come.
struct TargetProvisioned {
  std::string target;
  model::Provisioning state = model::Provisioning::kSucceeded;
  std::string error;
};
// What a provider says: the node is on its way; it could not be made; it is gone; these are all there are.
struct NodeMade {
  std::string node;
};
struct NodeFailed {
  std::string node;
  std::string message;
};
struct NodeGone {
  std::string node;
};
struct NodesListed {
  std::string target;
  std::vector<std::string> nodes;
  Time asked;  // when it was asked: what came later may be missing
};
// Takes a node away, as the owner of a low-priority machine does: what runs on it is stopped and comes back by itself.
struct EvictNode {
  std::string node;
};
// A BatchSystem has taken the attempt.
struct BatchLaunched {
  model::AttemptKey key;
  std::string target;
  std::string handle;
};
// The BatchSystem no longer has the job of this attempt, or could not take it.
struct BatchGone {
  model::AttemptKey key;
};
// Adds the user, or gives one that is there another role.
struct AddUser {
  model::User user;
};
struct RemoveUser {
  std::string name;
};
struct AddToken {
  model::Token token;
};
struct RevokeToken {
  std::string id;
};
// A definition under a name: everything set but version and time. One that has the hash of the latest version is that version.
struct RegisterEnvironment {
  model::EnvironmentRecord environment;
};
// Takes a version out of the registry, or all of them (0). Runs keep what they were given.
struct DeleteEnvironment {
  std::string workspace;
  std::string name;
  int64_t version = 0;
};
// A node has built an environment: everything set but the times. A second build replaces the first, unless only the first has an archive; the reply's
// `replaced` is the digest of an archive that nothing names any more.
struct NoteBuild {
  model::BuildRecord build;
};
// These archives are gone.
struct DropArchives {
  std::vector<model::BuildRecord> builds;
};
// A new version of a model: everything set but version and times. Its files are there already.
struct RegisterModel {
  model::RegisteredModel model;
};
struct UpdateModel {
  std::string workspace;
  std::string name;
  int64_t version = 0;  // 0: the latest
  std::map<std::string, std::string> set_tags;
  std::vector<std::string> remove_tags;
  std::map<std::string, std::string> add_properties;  // immutable, as a run's are
  std::vector<std::pair<std::string, std::string>> add_datasets;
  std::optional<std::string> description;
  std::optional<std::string> framework;
  std::optional<std::string> framework_version;
  std::optional<std::string> sample_input_dataset;
  std::optional<std::string> sample_output_dataset;
  std::optional<model::ModelResources> resources;
};
// Forgets a version. Its number is not given again; its files stay for who else has them.
struct DeleteModel {
  std::string workspace;
  std::string name;
  int64_t version = 0;
};
// A definition, with or without a name: everything set but id, version and times. The same definition without a name is the same dataset; under its name
// it is the latest version, with what it says of description and tags. Another definition under a name needs `create_new_version`.
struct SaveDataset {
  model::Dataset dataset;
  bool create_new_version = false;
};
struct UpdateDataset {
  std::string workspace;
  std::string name;
  int64_t version = 0;  // 0: the latest
  std::map<std::string, std::string> set_tags;
  std::vector<std::string> remove_tags;
  std::optional<std::string> description;
  std::optional<bool> archived;
  std::optional<std::string> deprecated_by;  // "": no longer
};
// All versions lose their name. Their ids stay good.
struct UnregisterDataset {
  std::string workspace;
  std::string name;
};
// Registers the datastore: everything set but its time, its secret sealed. One of the same name is replaced with `overwrite`, else a conflict.
struct RegisterDatastore {
  model::Datastore datastore;
  bool overwrite = false;
};
// What is in it stays where it is.
struct DeleteDatastore {
  std::string workspace;
  std::string name;
};
struct SetDefaultDatastore {
  std::string workspace;
  std::string name;
};
// Files of the workspace's own store whose content is there: all of them or none. One that is there with the same content is left as it is; with another,
// and without `overwrite`, it is a conflict.
struct AddFiles {
  std::vector<model::FileRecord> files;
  bool overwrite = false;
};
struct Tick {};

using Input =
    std::variant<Submit, Cancel, Evict, Complete, Fail, Update, AddArtifact, AgentHello, AgentReport, MetricsChanged, CreateWorkspace, CreateExperiment,
                 CreateTarget, BatchLaunched, BatchGone, AddUser, RemoveUser, AddToken, RevokeToken, RegisterEnvironment, DeleteEnvironment, NoteBuild,
                 DropArchives, RegisterModel, UpdateModel, DeleteModel, SaveDataset, UpdateDataset, UnregisterDataset, UpdateWorkspace, DeleteWorkspace,
                 UpdateExperiment, DeleteExperiment, SetSecret, DeleteSecret, RegisterDatastore, DeleteDatastore, SetDefaultDatastore, AddFiles, UpdateTarget,
                 DeleteTarget, TargetProvisioned, NodeMade, NodeFailed, NodeGone, NodesListed, EvictNode, Tick>;

// --- effects: wanted because of what is committed; doing one twice is harmless
struct Tell {
  std::string node;
  model::AgentMessage message;
};
struct RunChanged {
  std::string run;
  bool terminal = false;
};
struct AccessChanged {};  // users or tokens
struct CreateNode {       // NodeProvider::Create, then the input NodeMade or NodeFailed
  std::string target;
  std::string node;
  model::TargetRecord record;
};
struct DestroyNode {  // NodeProvider::Destroy, then the input NodeGone
  std::string target;
  std::string node;
  model::TargetRecord record;
};
struct LaunchBatch {  // BatchSystem::Launch, then the input BatchLaunched, or BatchGone when it refuses for good
  std::string target;
  std::string node;
  model::AttemptKey key;
};
struct StopBatch {  // BatchSystem::Stop, then the input BatchGone
  std::string target;
  model::AttemptKey key;
};
using Effect = std::variant<Tell, RunChanged, AccessChanged, CreateNode, DestroyNode, LaunchBatch, StopBatch>;

// Faults that the simulation plants to prove that it would find them. Never set outside tests.
enum class Plant {
  kNone,
  kActBeforeCommit,        // effects leave before the commit
  kFenceSkipped,           // reports of a given-up generation are taken
  kTerminalNotFinal,       // a cancel still changes a run that has ended
  kForgetStopOnRecovery,   // a restart forgets what was being stopped
  kKeepAfterFailedCommit,  // memory keeps what the store refused
  kSubmitTwice,            // the same id submitted twice starts anew
  kSlotLeak,               // an ended attempt keeps its slot
  kIgnoreVanished,         // an attempt that its node lost is waited for
  kRetryWithoutEnd,        // a second attempt begins while the first may live
  kAgentForgetsEarly,      // the agent drops its record before the server has it
  kAgentLosesEvents,       // the agent drops an event once sent, answered or not
  kWrongExit,              // an exit is taken from whichever attempt reported last
};
inline constexpr int kPlantCount = 13;
const char* PlantName(Plant plant);

struct CoreSettings {
  // A node with work that is not seen for this long is given up on.
  Duration node_grace = std::chrono::minutes(5);
  // A node not seen for this long gets nothing new, and is shown as not seen.
  Duration node_quiet = std::chrono::seconds(45);
  // A provider that was told to make or remove a node is told again after this long.
  Duration provider_patience = std::chrono::seconds(60);
  Plant plant = Plant::kNone;
};

class Core {
 public:
  Core(store::Store& store, CoreSettings settings);

  // Forgets memory and reads what is live from the store. Also the beginning.
  Result<void> Recover(Time now);

  // Applies to memory and stages. The reply holds only once Commit succeeded. An error changes nothing.
  Result<Json> Apply(const Input& input, Time now);
  // Places what can be placed, then commits all that is staged. On failure memory equals the store again.
  Result<void> Commit(Time now);
  std::vector<Effect> TakeEffects();

  // When a Tick is next of use.
  std::optional<Time> NextDeadline() const;

  // One sentence on what a live run waits for or does; "" for a run that is not live.
  std::string Explain(const std::string& run, Time now) const;
  const std::map<std::string, model::Run>& live() const { return live_; }
  // The lease that may write for this attempt, if it is live.
  std::optional<model::Lease> LeaseFor(const model::AttemptKey& key) const;
  struct NodeState {
    model::NodeRecord record;
    Time seen;
    bool open = false;    // has said hello since the start and was seen lately
    int64_t session = 0;  // the latest request's
    int64_t sequence = 0;
    Time asked_again;  // when its provider was told last
  };
  const std::map<std::string, NodeState>& nodes() const { return nodes_; }
  const std::map<std::string, model::TargetRecord>& targets() const { return targets_; }
  // An elastic target's nodes as the autoscaler sees them, and what it decided lately.
  struct Cluster {
    autoscaler::Fleet fleet;
    struct Decided {
      Time time;
      std::string reason;
      int change = 0;
    };
    std::vector<Decided> decisions;  // that changed something, the newest last
    std::string reason;              // of the last, whether it changed anything or not
    std::optional<Time> next;
  };
  const std::map<std::string, Cluster>& clusters() const { return clusters_; }
  const scheduler::Index& index() const { return index_; }
  const std::set<std::string>* RunsOn(const std::string& node) const;
  // What the node should be doing, said whole: for a node that has just connected.
  std::vector<Effect> Wanted(const std::string& node) const;

 private:
  Result<Json> On(const Submit& input, Time now);
  Result<Json> On(const Cancel& input, Time now);
  Result<Json> On(const Evict& input, Time now);
  Result<Json> On(const Complete& input, Time now);
  Result<Json> On(const Fail& input, Time now);
  Result<Json> On(const Update& input, Time now);
  Result<Json> On(const AddArtifact& input, Time now);
  Result<Json> On(const AgentHello& input, Time now);
  Result<Json> On(const AgentReport& input, Time now);
  Result<Json> On(const MetricsChanged& input, Time now);
  Result<Json> On(const CreateWorkspace& input, Time now);
  Result<Json> On(const UpdateWorkspace& input, Time now);
  Result<Json> On(const DeleteWorkspace& input, Time now);
  Result<Json> On(const CreateExperiment& input, Time now);
  Result<Json> On(const UpdateExperiment& input, Time now);
  Result<Json> On(const DeleteExperiment& input, Time now);
  Result<Json> On(const SetSecret& input, Time now);
  Result<Json> On(const DeleteSecret& input, Time now);
  Result<Json> On(const CreateTarget& input, Time now);
  Result<Json> On(const UpdateTarget& input, Time now);
  Result<Json> On(const DeleteTarget& input, Time now);
  Result<Json> On(const TargetProvisioned& input, Time now);
  Result<Json> On(const NodeMade& input, Time now);
  Result<Json> On(const NodeFailed& input, Time now);
  Result<Json> On(const NodeGone& input, Time now);
  Result<Json> On(const NodesListed& input, Time now);
  Result<Json> On(const EvictNode& input, Time now);
  Result<Json> On(const BatchLaunched& input, Time now);
  Result<Json> On(const BatchGone& input, Time now);
  Result<Json> On(const AddUser& input, Time now);
  Result<Json> On(const RemoveUser& input, Time now);
  Result<Json> On(const AddToken& input, Time now);
  Result<Json> On(const RevokeToken& input, Time now);
  Result<Json> On(const RegisterEnvironment& input, Time now);
  Result<Json> On(const DeleteEnvironment& input, Time now);
  Result<Json> On(const NoteBuild& input, Time now);
  Result<Json> On(const DropArchives& input, Time now);
  Result<Json> On(const RegisterModel& input, Time now);
  Result<Json> On(const UpdateModel& input, Time now);
  Result<Json> On(const DeleteModel& input, Time now);
  Result<Json> On(const SaveDataset& input, Time now);
  Result<Json> On(const UpdateDataset& input, Time now);
  Result<Json> On(const UnregisterDataset& input, Time now);
  Result<Json> On(const RegisterDatastore& input, Time now);
  Result<Json> On(const DeleteDatastore& input, Time now);
  Result<Json> On(const SetDefaultDatastore& input, Time now);
  Result<Json> On(const AddFiles& input, Time now);
  Result<Json> On(const Tick& input, Time now);

  // A live run, or one read from the store into `loaded`. kNotFound "run.not_found".
  Result<model::Run*> Find(const std::string& run, std::optional<model::Run>& loaded);
  Result<void> CheckOtherOwner(const std::string& name, const char* what) const;
  Result<void> ApplyUpdate(model::Run& run, const Update& update, Time now);
  Result<void> CheckWorkspace(const std::string& workspace) const;
  // What is known of the name; an empty one when nothing is. `table` is "model_name" or "dataset_name".
  Result<model::AssetName> AssetNameOf(const char* table, const std::string& workspace, const std::string& name) const;
  // kNotFound "model.not_found" or "dataset.not_found".
  Result<model::RegisteredModel> FindModel(const std::string& workspace, const std::string& name, int64_t version) const;
  Result<model::Dataset> FindDataset(const std::string& workspace, const std::string& name, int64_t version) const;
  // The version that the definition has under its name, given now or before, and whether it is new.
  Result<std::pair<int64_t, bool>> Register(const model::EnvironmentRecord& environment, Time now);
  void TakeFacts(model::Run& run, const model::Facts& facts, Time now);
  Result<void> CheckSequence(NodeState& node, int64_t session, int64_t sequence);
  void Step(model::Run& run, const model::AttemptInput& input, Time now);
  void Wait(const model::Run& run);
  void Touch(const model::Run& run, bool everything);
  std::optional<std::string> Staged(const std::string& table, const std::string& key) const;
  Result<std::optional<Json>> Document(const std::string& table, const std::string& key) const;
  // Keys that begin so, with what this batch has changed; at most `limit`.
  Result<std::vector<std::string>> KeysBelow(const std::string& table, const std::string& prefix, size_t limit) const;
  // kNotFound "workspace.not_found" or "experiment.not_found".
  Result<model::Workspace> FindWorkspace(const std::string& name) const;
  Result<model::Experiment> FindExperiment(const std::string& workspace, const std::string& name) const;
  void Stage(store::Put put);
  void StageErase(const std::string& table, const std::string& key);
  void WantFor(const model::Run& run, std::vector<Effect>& out) const;
  // Nothing that the node still does counts any more.
  void Fence(NodeState& node, Time now);
  // Fences it, and has a provided node made anew.
  void GiveUp(NodeState& node, Time now);
  static std::string KeyOf(const model::Run& run) { return model::TargetKey(run.workspace, run.target); }
  bool IsBatch(const std::string& target) const;
  // Effects that make the provider's nodes what they should be.
  void WantNode(const model::NodeRecord& record, std::vector<Effect>& out) const;
  // Whether runs may be sent there. kNotFound "target.not_found", kConflict "target.deleting" or "target.failed".
  Result<void> CheckTarget(const model::Run& run, const std::optional<model::TargetRecord>& made_with_it) const;
  void AddTarget(model::TargetRecord target, Time now);
  // The node's place in index and fleet after a change of it.
  void Place(NodeState& node, Time now);
  // The node gets nothing new and goes.
  void Leave(NodeState& node, Time now);
  void Scale(const std::string& target, Time now);
  // Its nodes leave; with the last of them it is gone.
  void Remove(model::TargetRecord& target, Time now);
  void EraseIfEmpty(const std::string& target);
  static autoscaler::Rules RulesOf(const model::TargetRecord& target);

  store::Store& store_;
  CoreSettings settings_;
  std::map<std::string, model::Run> live_;
  std::map<std::string, NodeState> nodes_;
  std::map<std::string, std::set<std::string>> leased_;  // node -> runs
  std::map<std::string, model::TargetRecord> targets_;
  std::map<std::string, Cluster> clusters_;
  std::set<std::string> due_;        // clusters to be looked at with the next commit
  std::set<std::string> for_batch_;  // runs to be handed to their batch system at the next commit
  scheduler::Index index_;

  // The batch: documents by (table, key) in the order of their first change, and what it touches.
  std::vector<store::Change> staged_;
  std::map<std::pair<std::string, std::string>, size_t> staged_puts_;
  std::set<std::pair<std::string, std::string>> staged_erased_;
  std::map<std::string, bool> touched_;  // runs; whether tags, properties and parameters changed too
  std::vector<Effect> staged_effects_;
  std::vector<Effect> effects_;
};

}  // namespace ferry::engine
