#include "simulation/simulation.h"

#include <cstdio>
#include <deque>

#include "base/text.h"
#include "compute/fake/fake.h"
#include "engine/tables.h"
#include "simulation/world.h"
#include "store/memory/memory_store.h"

namespace ferry::simulation {

using engine::Plant;
using model::AttemptKey;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

class World {
 public:
  explicit World(const Options& options) : options_(options), random_(options.seed), store_(store::OpenMemoryStore(engine::Tables())) {
    settings_.node_grace = seconds(75);
    settings_.node_quiet = seconds(40);
    settings_.plant = options.plant;
  }

  Outcome Play() {
    engine::Core setup(store_, settings_);
    (void)setup.Apply(engine::CreateWorkspace{{"default", "", "", {}, {}}, true}, clock_.now());
    model::TargetRecord cluster;
    cluster.workspace = "default";
    cluster.name = "cluster";
    cluster.kind = model::TargetKind::kElastic;
    cluster.min_nodes = static_cast<int>(random_.Between(0, 1));
    cluster.max_nodes = options_.nodes - 1;
    cluster.idle_seconds = random_.Between(5, 120);
    cluster.price = 1;
    (void)setup.Apply(engine::CreateTarget{cluster}, clock_.now());
    model::TargetRecord batch;
    batch.workspace = "default";
    batch.name = "batch";
    batch.kind = model::TargetKind::kBatch;
    (void)setup.Apply(engine::CreateTarget{batch}, clock_.now());
    (void)setup.Commit(clock_.now());
    ConnectCompute();
    for (const char* name : {"local", "local-too", "local-three"}) {
      SimNode& node = nodes_.emplace_back();
      node.name = name;
      node.target = "local";
      node.slots = static_cast<int>(random_.Between(1, 3));
      StartAgent(node);
    }
    StartServer();
    SchedulePoll();
    faults_until_ = clock_.now() + minutes(random_.Between(5, 20));
    for (int i = 0; i < options_.runs; ++i) {
      std::string id = StrCat("run_", i);
      clock_.After(seconds(random_.Between(0, 300)), [this, id] { ClientSubmit(id); });
      if (random_.Chance(0.3)) clock_.After(seconds(random_.Between(1, 500)), [this, id] { ClientCancel(id); });
      for (int evictions = 0; evictions < 3; ++evictions)
        if (random_.Chance(0.3)) clock_.After(seconds(random_.Between(1, 500)), [this, id] { ClientEvict(id); });
      if (random_.Chance(0.05)) clock_.After(seconds(random_.Between(1, 500)), [this, id] { ClientFail(id); });
    }
    for (int i = 0; i < kInteractive; ++i) {
      std::string id = StrCat("driven_", i);
      clock_.After(seconds(random_.Between(0, 300)), [this, id] { ClientSubmit(id); });
      clock_.After(seconds(random_.Between(1, 500)), [this, id] { ClientComplete(id); });
      if (random_.Chance(0.2)) clock_.After(seconds(random_.Between(1, 500)), [this, id] { ClientCancel(id); });
      if (random_.Chance(0.2)) clock_.After(seconds(random_.Between(1, 500)), [this, id] { ClientFail(id); });
      if (random_.Chance(0.2)) clock_.After(seconds(random_.Between(1, 500)), [this, id] { ClientEvict(id); });
    }
    ScheduleFault();
    ScheduleTick();
    Time give_up = faults_until_ + std::chrono::hours(8);
    while (outcome_.ok && clock_.now() < give_up && !AtRest()) {
      if (!clock_.Step()) break;
      ++outcome_.steps;
    }
    if (outcome_.ok) CheckEnd();
    return outcome_;
  }

 private:
  void Trace(const std::string& text) {
    if (options_.trace) std::fprintf(stderr, "%s %s\n", FormatTime(clock_.now()).c_str(), text.c_str());
  }
  void Violation(const std::string& text) {
    if (!outcome_.ok) return;
    outcome_.ok = false;
    outcome_.violation = StrCat("seed ", options_.seed, " at ", FormatTime(clock_.now()), ": ", text);
    Trace(StrCat("VIOLATION ", text));
  }
  bool Faulty() const { return clock_.now() < faults_until_; }
  Duration Delay() { return milliseconds(random_.Between(1, 40)); }

  // What the script of an attempt does: the same whenever it is asked.
  model::Exit ScriptExit(const AttemptKey& key) const {
    Random r(HashOf(key));
    model::Exit exit;
    if (r.Chance(0.6)) exit.code = static_cast<int>(r.Between(1, 100));
    return exit;
  }
  Duration ScriptTime(const AttemptKey& key) const {
    Random r(HashOf(key) + 1);
    return r.Chance(0.1) ? minutes(r.Between(4, 10)) : seconds(r.Between(0, 90));
  }
  uint64_t HashOf(const AttemptKey& key) const { return std::hash<std::string>()(StrCat(key.run, "/", key.attempt, "/", options_.seed)); }

  // --- the server
  void StartServer() {
    core_ = std::make_unique<engine::Core>(store_, settings_);
    if (!core_->Recover(clock_.now()).ok()) Violation("the server could not recover");
    ++server_incarnation_;
    for (SimNode& node : nodes_) node.welcomed = false;
    DoEffects();
  }

  void Crash(const char* where) {
    Trace(StrCat("server crashes ", where));
    ++outcome_.crashes;
    inbox_.clear();
    StartServer();
  }

  using Reply = std::function<void(const Result<Json>&)>;
  void ToServer(engine::Input input, Reply reply) {
    inbox_.push_back({std::move(input), std::move(reply)});
    if (inbox_.size() == 1) clock_.After(milliseconds(1), [this] { ServerStep(); });
  }

  void ServerStep() {
    if (inbox_.empty()) return;
    auto batch = std::exchange(inbox_, {});
    if (Faulty() && random_.Chance(0.003)) return Crash("before a batch");
    std::vector<std::pair<Reply, Result<Json>>> replies;
    for (auto& [input, reply] : batch) {
      auto result = core_->Apply(input, clock_.now());
      replies.emplace_back(reply, std::move(result));
    }
    bool failed = Faulty() && random_.Chance(0.03);
    if (failed) store_.FailNext();
    bool crash_early = Faulty() && random_.Chance(0.003);
    if (crash_early) {
      if (options_.plant == Plant::kActBeforeCommit) {
        store_.FailNext();
        (void)core_->Commit(clock_.now());
        DoEffects();
      }
      return Crash("before a commit");
    }
    auto committed = core_->Commit(clock_.now());
    ++outcome_.commits;
    CheckStore();
    if (!committed.ok()) {
      CheckMemory();
      if (options_.plant == Plant::kActBeforeCommit) DoEffects();
      for (auto& [reply, result] : replies) reply(committed.error());
      DoEffects();
      return;
    }
    if (Faulty() && random_.Chance(0.003)) return Crash("after a commit");
    for (auto& [reply, result] : replies) reply(result);
    DoEffects();
  }

  // --- providers and batch systems
  void ConnectCompute() {
    auto refuses = [this] { return Faulty() && random_.Chance(0.1); };
    provider_.refuses = batch_.refuses = refuses;
    provider_.on_create = [this](const std::string& name) {
      clock_.After(seconds(random_.Between(1, 60)), [this, name] {
        if (!Provided().count(name)) return;
        SimNode* node = FindNode(name);
        if (!node) {
          node = &nodes_.emplace_back();
          node->name = name;
          node->target = "default.cluster";
          node->slots = static_cast<int>(random_.Between(1, 3));
        }
        node->exists = true;
        if (!node->agent) StartAgent(*node);
      });
    };
    provider_.on_destroy = [this](const std::string& name) {
      if (SimNode* node = FindNode(name)) Wipe(*node, false);
    };
    batch_.on_launch = [this](const compute::LaunchSpec& spec) {
      clock_.After(seconds(random_.Between(1, 200)), [this, spec] {
        if (!batch_.Begin(spec.attempt)) return;
        SimNode& node = nodes_.emplace_back();
        node.name = spec.node;
        node.target = "default.batch";
        node.batch = true;
        node.attempt = spec.attempt;
        StartAgent(node);
        // Some jobs the system loses by itself.
        if (Faulty() && random_.Chance(0.1))
          clock_.After(seconds(random_.Between(1, 100)), [this, &node] {
            batch_.End(node.attempt, "node failure");
            Wipe(node, false);
          });
      });
    };
    batch_.on_stop = [this](const std::string& attempt) {
      for (SimNode& node : nodes_)
        if (node.batch && node.attempt == attempt) Wipe(node, false);
    };
  }

  std::set<std::string> Provided() {
    auto refuses = std::exchange(provider_.refuses, nullptr);
    auto nodes = provider_.List({});
    provider_.refuses = std::move(refuses);
    return {nodes->begin(), nodes->end()};
  }

  SimNode* FindNode(const std::string& name) {
    for (SimNode& node : nodes_)
      if (node.name == name) return &node;
    return nullptr;
  }

  // Everything of the node is gone: processes, disk, agent.
  void Wipe(SimNode& node, bool comes_back) {
    Trace(StrCat(node.name, " is gone with its disk"));
    node.agent.reset();
    ++node.incarnation;
    for (auto& [key, process] : node.processes) process.alive = false;
    node.processes.clear();
    node.disk.clear();
    node.generation = 0;
    node.exists = comes_back;
  }

  // As the server's rim does: asks for the state of every job that is known.
  void SchedulePoll() {
    clock_.After(seconds(20), [this] {
      std::vector<compute::Handle> handles;
      std::vector<AttemptKey> keys;
      for (const auto& [id, run] : core_->live()) {
        const model::Lease* lease = model::LeaseOf(run.attempt().phase);
        auto node = lease ? core_->nodes().find(lease->node) : core_->nodes().end();
        if (node == core_->nodes().end() || node->second.record.handle.empty()) continue;
        handles.push_back(node->second.record.handle);
        keys.push_back({id, run.attempt().number});
      }
      auto states = batch_.Poll(handles, {});
      for (size_t i = 0; states.ok() && i < keys.size(); ++i)
        if ((*states)[i] == compute::JobState::kGone) ToServer(engine::BatchGone{keys[i]}, [](const Result<Json>&) {});
      if (auto nodes = provider_.List({}); nodes.ok()) ToServer(engine::NodesListed{"default.cluster", *nodes, clock_.now()}, [](const Result<Json>&) {});
      SchedulePoll();
    });
  }

  void DoCompute(const engine::Effect& effect) {
    auto ignore = [](const Result<Json>&) {};
    if (auto* create = std::get_if<engine::CreateNode>(&effect)) {
      if (auto made = provider_.Create(create->node, {}); made.ok())
        ToServer(engine::NodeMade{create->node}, ignore);
      else if (random_.Chance(0.5))  // otherwise it hangs
        ToServer(engine::NodeFailed{create->node, made.error().message}, ignore);
    }
    if (auto* destroy = std::get_if<engine::DestroyNode>(&effect))
      if (provider_.Destroy(destroy->node, {}).ok()) ToServer(engine::NodeGone{destroy->node}, ignore);
    if (auto* stop = std::get_if<engine::StopBatch>(&effect))
      if (batch_.Stop(stop->key.Name(), {}).ok()) ToServer(engine::BatchGone{stop->key}, [](const Result<Json>&) {});
    if (auto* launch = std::get_if<engine::LaunchBatch>(&effect)) {
      auto handle = batch_.Launch({launch->key.Name(), launch->node}, {});
      if (handle.ok()) ToServer(engine::BatchLaunched{launch->key, launch->target, *handle}, [](const Result<Json>&) {});
    }
  }

  void DoEffects() {
    for (engine::Effect& effect : core_->TakeEffects()) {
      auto* tell = std::get_if<engine::Tell>(&effect);
      if (!tell) {
        DoCompute(effect);
        continue;
      }
      for (SimNode& node : nodes_)
        if (node.name == tell->node) SendToAgent(node, tell->message);
    }
  }

  void ScheduleTick() {
    clock_.After(seconds(5), [this] {
      ToServer(engine::Tick{}, [](const Result<Json>&) {});
      ScheduleTick();
    });
  }

  // --- the network
  bool Cut(const SimNode& node) const { return clock_.now() < node.cut_until; }
  bool Lost(const SimNode& node) {
    bool lost = Cut(node) || (Faulty() && random_.Chance(0.05));
    outcome_.lost_messages += lost;
    return lost;
  }

  void SendToAgent(SimNode& node, const model::AgentMessage& message) {
    if (Lost(node)) return;
    int copies = Faulty() && random_.Chance(0.05) ? 2 : 1;
    uint64_t incarnation = node.incarnation;
    for (int i = 0; i < copies; ++i)
      clock_.After(i == 0 ? Delay() : seconds(random_.Between(1, 30)), [this, &node, message, incarnation] {
        if (node.agent && node.incarnation == incarnation) Do(node, node.agent->OnMessage(message));
      });
  }

  // One request of an agent at a time; an unanswered one is given up after a while and the connection counts as lost.
  void FromAgent(SimNode& node, engine::Input input, std::function<void(const Result<Json>&)> answered) {
    node.waiting = true;
    uint64_t incarnation = node.incarnation;
    auto done = std::make_shared<bool>(false);
    clock_.After(seconds(10), [this, &node, incarnation, done] {
      if (*done || node.incarnation != incarnation || !node.agent) return;
      *done = true;
      node.waiting = false;
      // The command stream may take a while to notice; until then the same report is tried again.
      if (random_.Chance(0.3)) node.welcomed = false;
      AgentTurn(node);
    });
    auto reply = [this, &node, incarnation, done, answered](const Result<Json>& result) {
      if (Lost(node)) return;
      clock_.After(Delay(), [this, &node, incarnation, done, answered, result] {
        if (*done || node.incarnation != incarnation || !node.agent) return;
        *done = true;
        node.waiting = false;
        answered(result);
        if (node.agent) AgentTurn(node);
      });
    };
    uint64_t server = server_incarnation_;
    bool lost = Lost(node);
    // Some of what seems lost comes late, on the old connection, when the world has moved on.
    if (lost && std::holds_alternative<engine::AgentReport>(input) && random_.Chance(0.6))
      clock_.After(seconds(random_.Between(60, 240)), [this, input, server] {
        if (server == server_incarnation_) ToServer(input, [](const Result<Json>&) {});
      });
    if (lost) return;
    clock_.After(Delay(), [this, input, reply, server] {
      if (server == server_incarnation_) ToServer(input, reply);
    });
    if (Faulty() && random_.Chance(0.03))
      clock_.After(seconds(random_.Between(1, 60)), [this, input, server] {
        if (server == server_incarnation_) ToServer(input, [](const Result<Json>&) {});
      });
  }

  // --- agents
  void StartAgent(SimNode& node) {
    ++node.incarnation;
    node.agent = std::make_unique<agent::Core>(agent::CoreFaults{options_.plant == Plant::kAgentForgetsEarly, options_.plant == Plant::kAgentLosesEvents});
    node.session = clock_.now().micros + static_cast<int64_t>(node.incarnation);
    node.sequence = 0;
    node.waiting = node.welcomed = false;
    std::vector<agent::Remains> remains;
    for (auto& [key, r] : node.disk) remains.push_back(r);
    Do(node, node.agent->Adopt(remains, node.generation));
    AgentTurn(node);
    Heartbeat(node, node.incarnation);
  }

  void Heartbeat(SimNode& node, uint64_t incarnation) {
    clock_.After(seconds(15), [this, &node, incarnation] {
      if (node.incarnation != incarnation || !node.agent) return;
      if (node.agent->Pending().empty() || random_.Chance(0.5)) node.welcomed = false;
      AgentTurn(node);
      Heartbeat(node, incarnation);
    });
  }

  void AgentTurn(SimNode& node) {
    if (!node.agent || node.waiting) return;
    if (!node.welcomed) {
      model::Hello hello{node.name, node.target, node.generation, node.slots, {}, node.agent->Inventory(), node.session, ++node.sequence};
      FromAgent(node, engine::AgentHello{hello}, [this, &node](const Result<Json>& result) {
        if (!result.ok()) {
          // A batch system's node whose attempt is over ends itself.
          if (result.error().slug == "node.done") {
            batch_.End(node.attempt);
            Wipe(node, false);
          }
          return;
        }
        node.welcomed = true;
        if (Provided().count(node.name) && result->GetBool("fenced") == false) arrived_.insert(node.name);
        node.generation = result->GetInt("generation");
        Do(node, node.agent->OnWelcome(node.generation, result->GetBool("fenced")));
      });
      return;
    }
    auto events = node.agent->Pending();
    if (events.empty()) {
      // A one-shot agent ends with its work, once all of it is answered.
      if (node.batch && node.generation && node.agent->size() == 0 && !node.started.empty()) {
        batch_.End(node.attempt);
        Wipe(node, false);
      }
      return;
    }
    node.agent->OnSent();
    engine::AgentReport report{node.name, node.generation, node.session, ++node.sequence, events, {}, {}, {}};
    FromAgent(node, report, [this, &node, events](const Result<Json>& result) {
      if (!result.ok()) {
        node.welcomed = false;
        return;
      }
      Do(node, node.agent->OnAnswered(events));
    });
  }

  void Do(SimNode& node, const std::vector<agent::Action>& actions) {
    for (const agent::Action& action : actions) {
      uint64_t incarnation = node.incarnation;
      auto later = [this, &node, incarnation](Duration delay, std::function<std::vector<agent::Action>(agent::Core&)> what) {
        clock_.After(delay, [this, &node, incarnation, what] {
          if (node.incarnation != incarnation || !node.agent) return;
          Do(node, what(*node.agent));
          AgentTurn(node);
        });
      };
      if (auto* keep = std::get_if<agent::Keep>(&action)) {
        node.disk[keep->assign.key] = {keep->assign, false, std::nullopt, std::nullopt, false};
        AttemptKey key = keep->assign.key;
        later(milliseconds(1), [key](agent::Core& core) { return core.OnKept(key); });
      } else if (auto* prepare = std::get_if<agent::Prepare>(&action)) {
        AttemptKey key = prepare->key;
        clock_.After(milliseconds(random_.Between(5, 3000)), [this, &node, incarnation, key] {
          if (node.incarnation != incarnation || !node.agent || !node.agent->Holds(key)) return;
          if (node.agent->Stopping(key)) {
            Do(node, node.agent->OnFailed(key, {model::EndReason::kCanceled, "stopped while preparing"}));
          } else if (random_.Chance(0.03)) {
            model::PrepareFailed failure{model::EndReason::kPreparationFailed, "simulated"};
            node.disk[key].failed = failure;
            Do(node, node.agent->OnFailed(key, failure));
          } else {
            Launch(node, key);
            Do(node, node.agent->OnStarted(key));
          }
          AgentTurn(node);
        });
      } else if (auto* kill = std::get_if<agent::Kill>(&action)) {
        node.disk[kill->key].stop = true;
        End(node, kill->key, true);
      } else if (auto* collect = std::get_if<agent::Collect>(&action)) {
        AttemptKey key = collect->key;
        later(milliseconds(random_.Between(1, 500)), [key](agent::Core& core) { return core.OnCollected(key); });
      } else if (auto* remove = std::get_if<agent::Remove>(&action)) {
        End(node, remove->key, true);
        node.processes.erase(remove->key);
        node.disk.erase(remove->key);
      }
    }
  }

  void Launch(SimNode& node, const AttemptKey& key) {
    if (node.disk[key].launched) return;
    node.disk[key].launched = true;
    int64_t generation = node.disk[key].assign.generation;
    CheckLaunch(node, key, generation);
    node.processes[key] = {generation, true, false};
    started_.insert(key);
    node.started.insert(key);
    Trace(StrCat(node.name, " starts ", key.Name()));
    clock_.After(ScriptTime(key), [this, &node, key] { End(node, key, false); });
  }

  // The process ends by itself or is killed; its supervisor writes the record.
  void End(SimNode& node, const AttemptKey& key, bool killed) {
    auto it = node.processes.find(key);
    if (it == node.processes.end() || !it->second.alive) return;
    it->second.alive = false;
    model::Exit exit = ScriptExit(key);
    if (killed) {
      exit = {};
      exit.signal = 15;
    }
    exits_[key] = exit;
    node.disk[key].exit = exit;
    Trace(StrCat(node.name, killed ? " kills " : " ends ", key.Name()));
    if (node.agent) {
      Do(node, node.agent->OnExited(key, exit));
      AgentTurn(node);
    }
  }

  // --- clients
  static constexpr int kInteractive = 2;  // runs, beside the others

  model::Run Wanted(const std::string& id) const {
    model::Run run;
    run.id = id;
    run.workspace = "default";
    run.experiment = "e";
    static constexpr const char* kTargets[] = {"local", "local", "cluster", "batch"};
    run.target = kTargets[std::hash<std::string>()(StrCat(id, options_.seed)) % 4];
    run.spec.interactive = id.starts_with("driven_");
    if (!run.spec.interactive) run.spec.script = "train.py";
    run.spec.max_attempts = 20;
    run.request = StrCat("request of ", id);
    return run;
  }

  // Sends until it is acknowledged, as a client does; sometimes twice.
  void ClientSubmit(const std::string& id) {
    auto acknowledged = [this, id](const Result<Json>& result) {
      if (!result.ok()) return;
      acknowledged_.insert(id);
      if (result->GetBool("created")) {
        if (created_.count(id)) Violation(StrCat("run ", id, " was created twice"));
        created_.insert(id);
      }
    };
    if (!(Faulty() && random_.Chance(0.1))) ToServer(engine::Submit{Wanted(id)}, acknowledged);
    if (random_.Chance(0.1)) ToServer(engine::Submit{Wanted(id)}, acknowledged);
    clock_.After(seconds(random_.Between(5, 20)), [this, id] {
      if (!acknowledged_.count(id)) ClientSubmit(id);
    });
    if (random_.Chance(0.1)) clock_.After(seconds(random_.Between(30, 200)), [this, id, acknowledged] { ToServer(engine::Submit{Wanted(id)}, acknowledged); });
  }

  void ClientCancel(const std::string& id) {
    ToServer(engine::Cancel{id}, [this, id](const Result<Json>& result) {
      if (result.ok()) canceled_.insert(id);
    });
  }
  void ClientFail(const std::string& id) {
    ToServer(engine::Fail{id, "simulated"}, [this, id](const Result<Json>& result) {
      if (result.ok()) failed_.insert(id);
    });
  }
  // An interactive run has nobody else to end it: says so until the server has heard it.
  void ClientComplete(const std::string& id) {
    auto done = std::make_shared<bool>(false);
    ToServer(engine::Complete{id}, [this, id, done](const Result<Json>& result) {
      *done = result.ok() || result.error().slug == "run.ended";
      if (result.ok()) completed_.insert(id);
    });
    clock_.After(seconds(random_.Between(5, 20)), [this, id, done] {
      if (!*done) ClientComplete(id);
    });
  }
  void ClientEvict(const std::string& id) {
    if (auto nodes = Provided(); !nodes.empty() && random_.Chance(0.5)) {
      auto node = std::next(nodes.begin(), random_.Between(0, static_cast<int64_t>(nodes.size()) - 1));
      return ToServer(engine::EvictNode{*node}, [](const Result<Json>&) {});
    }
    ToServer(engine::Evict{id}, [](const Result<Json>&) {});
  }

  // --- faults
  void ScheduleFault() {
    clock_.After(seconds(random_.Between(2, 60)), [this] {
      if (!Faulty()) {
        for (SimNode& node : nodes_) {
          node.cut_until = {};
          if (!node.agent && node.exists) StartAgent(node);
        }
        return;
      }
      std::vector<SimNode*> there;
      for (SimNode& node : nodes_)
        if (node.exists) there.push_back(&node);
      SimNode& node = *there[static_cast<size_t>(random_.Between(0, static_cast<int64_t>(there.size()) - 1))];
      switch (random_.Between(0, 6)) {
        case 0:
          Trace(StrCat("agent of ", node.name, " is killed"));
          node.agent.reset();
          ++node.incarnation;
          clock_.After(seconds(random_.Between(1, 60)), [this, &node] {
            if (!node.agent && node.exists) StartAgent(node);
          });
          break;
        case 1:
          node.cut_until = clock_.now() + seconds(random_.Between(5, 60));
          Trace(StrCat(node.name, " is cut off"));
          break;
        case 2:
        case 5:  // longer than the grace: it will be given up on while its scripts go on
          node.cut_until = clock_.now() + minutes(random_.Between(2, 8));
          Trace(StrCat(node.name, " is cut off for long"));
          break;
        case 3:
          if (node.batch) {
            batch_.End(node.attempt, "node failure");
            Wipe(node, false);
            break;
          }
          Wipe(node, true);
          clock_.After(seconds(random_.Between(1, 300)), [this, &node] {
            if (!node.agent && node.exists) StartAgent(node);
          });
          break;
        case 4:  // one attempt's folder is lost, the node's identity is not
          node.agent.reset();
          ++node.incarnation;
          for (const auto& [key, remains] : std::map(node.disk)) {
            // What the server was never told of cannot be told from what never arrived.
            auto run = Stored().find(key.run);
            if (run == stored_.end() || run->second.attempt().number != key.attempt || run->second.attempt().phase.index() < 2) continue;
            Trace(StrCat(node.name, " loses the folder of ", key.Name()));
            node.disk.erase(key);
            node.processes.erase(key);
          }
          clock_.After(seconds(random_.Between(1, 30)), [this, &node] {
            if (!node.agent && node.exists) StartAgent(node);
          });
          break;
        default: Crash("at any moment"); break;
      }
      ScheduleFault();
    });
  }

  // --- what must always hold
  // The runs as committed; only what changed is read again.
  const std::map<std::string, model::Run>& Stored() {
    auto page = store_.Find({"run", {}, {{"", "key"}, false}, {}, 10000});
    std::set<std::string> there;
    changed_.clear();
    for (const store::Document& document : page->documents) {
      there.insert(document.key);
      std::string& body = bodies_[document.key];
      if (body == document.body) continue;
      body = document.body;
      changed_.insert(document.key);
      auto run = engine::RunFromDocument(document);
      if (run.ok()) stored_[document.key] = *run;
    }
    std::erase_if(stored_, [&](const auto& item) { return !there.count(item.first); });
    return stored_;
  }

  void CheckStore() {
    const auto& runs = Stored();
    for (const std::string& id : acknowledged_)
      if (!runs.count(id)) Violation(StrCat("acknowledged run ", id, " is lost"));
    for (const std::string& id : changed_) {
      const model::Run& run = runs.at(id);
      for (size_t i = 0; i + 1 < run.attempts.size(); ++i)
        if (!model::IsEnded(run.attempts[i])) Violation(StrCat("run ", id, " has two live attempts"));
      if (auto before = ended_.find(id); before != ended_.end() && !(before->second == run.attempts))
        Violation(StrCat("run ", id, " changed after it had ended"));
      if (model::IsTerminal(run)) {
        ended_.emplace(id, run.attempts);
      } else {
        auto live = core_->live().find(id);
        if (live != core_->live().end() && core_->Explain(id, clock_.now()).empty()) Violation(StrCat("run ", id, " waits for no reason"));
      }
      for (const model::Attempt& attempt : run.attempts)
        if (auto* ended = std::get_if<model::Ended>(&attempt.phase); ended && ended->exit) {
          auto world = exits_.find(AttemptKey{id, attempt.number});
          if (world == exits_.end() || !(world->second == *ended->exit))
            Violation(StrCat("attempt ", attempt.number, " of run ", id, " records an exit that its script did not have"));
        }
    }
  }

  // After a failed commit memory must equal the store.
  void CheckMemory() {
    const auto& runs = Stored();
    for (const auto& [id, run] : core_->live()) {
      auto it = runs.find(id);
      if (it == runs.end() || !(it->second.attempts == run.attempts)) Violation(StrCat("memory and store differ on run ", id, " after a failed commit"));
    }
  }

  void CheckLaunch(const SimNode& node, const AttemptKey& key, int64_t generation) {
    const auto& runs = Stored();
    auto it = runs.find(key.run);
    if (it == runs.end()) return Violation(StrCat(key.Name(), " was started but no such run is committed"));
    const model::Run& run = it->second;
    if (run.attempts.size() < static_cast<size_t>(key.attempt) ||
        std::holds_alternative<model::Queued>(run.attempts[static_cast<size_t>(key.attempt) - 1].phase))
      return Violation(StrCat(key.Name(), " was started but is not committed as placed"));
    if (started_.count(key)) Violation(StrCat(key.Name(), " was started twice"));
    auto record = store_.Get("node", node.name);
    for (const SimNode& other : nodes_)
      for (const auto& [k, process] : other.processes) {
        if (k.run != key.run || !process.alive) continue;
        auto document = store_.Get("node", other.name);
        int64_t current = (*document) ? model::NodeFromJson(*ParseJson((*document)->body)).generation : 0;
        if (process.generation == current) Violation(StrCat(key.Name(), " was started while ", k.Name(), " runs on ", other.name, ", which is not fenced"));
      }
    int running = 1;
    for (const auto& [k, process] : node.processes) running += process.alive && process.generation == generation;
    if (running > node.slots) Violation(StrCat("node ", node.name, " runs ", running, " scripts in ", node.slots, " slots"));
  }

  bool AtRest() {
    if (Faulty() || acknowledged_.size() < static_cast<size_t>(options_.runs + kInteractive)) return false;
    if (!core_->live().empty()) return false;
    for (const SimNode& node : nodes_)
      if ((node.exists && !node.agent) || !node.disk.empty()) return false;
    const model::TargetRecord& cluster = core_->targets().at("default.cluster");
    std::set<std::string> known;
    for (const auto& [name, node] : core_->nodes())
      if (node.record.provided) known.insert(name);
    return static_cast<int>(known.size()) == cluster.min_nodes && known == Provided();
  }

  void CheckEnd() {
    CheckStore();
    const auto& runs = Stored();
    for (const auto& [id, run] : runs) {
      if (!model::IsTerminal(run)) Violation(StrCat("run ", id, " never ended: ", core_->Explain(id, clock_.now())));
      if (canceled_.count(id) && model::StatusOf(run) != model::Status::kCanceled)
        Violation(StrCat("run ", id, " was acknowledged as canceled and ended as ", model::StatusName(model::StatusOf(run))));
      if (failed_.count(id) && !canceled_.count(id) && !run.cancel_asked && model::StatusOf(run) != model::Status::kFailed)
        Violation(StrCat("run ", id, " was acknowledged as failed and ended as ", model::StatusName(model::StatusOf(run))));
      if (completed_.count(id) && model::StatusOf(run) != model::Status::kCompleted)
        Violation(StrCat("run ", id, " was acknowledged as complete and ended as ", model::StatusName(model::StatusOf(run))));
      if (run.spec.interactive && run.attempts.size() != 1) Violation(StrCat("interactive run ", id, " was tried again"));
    }
    for (const SimNode& node : nodes_)
      if (!node.disk.empty()) Violation(StrCat("node ", node.name, " never forgot ", node.disk.begin()->first.Name()));
    for (const std::string& name : Provided())
      if (!core_->nodes().count(name)) Violation(StrCat("node ", name, " exists and nobody knows it"));
    int nodes = 0;
    for (const auto& [name, node] : core_->nodes()) nodes += node.record.provided;
    if (nodes != core_->targets().at("default.cluster").min_nodes)
      Violation(StrCat("the cluster has ", nodes, " nodes in the end: ", core_->clusters().at("default.cluster").reason));
    // Every second of a node that was there is accounted for.
    std::set<std::string> accounted;
    auto page = store_.Find({"usage", {}, {{"", "key"}, false}, {}, 10000});
    for (const store::Document& document : page->documents) {
      model::NodeUsage usage = model::UsageFromJson(*ParseJson(document.body));
      if (!accounted.insert(usage.node).second) Violation(StrCat("node ", usage.node, " is accounted for twice"));
      if (usage.busy_micros < 0 || usage.busy_micros > (usage.gone - usage.arrived).count())
        Violation(StrCat("node ", usage.node, " was busy for longer than it was there"));
    }
    for (const std::string& name : arrived_)
      if (!accounted.count(name) && !core_->nodes().count(name)) Violation(StrCat("node ", name, " was there and is not accounted for"));
  }

  Options options_;
  Random random_;
  Clock clock_;
  FaultyStore store_;
  compute::FakeNodeProvider provider_;
  compute::FakeBatchSystem batch_;
  engine::CoreSettings settings_;
  std::unique_ptr<engine::Core> core_;
  uint64_t server_incarnation_ = 0;
  std::vector<std::pair<engine::Input, Reply>> inbox_;
  std::deque<SimNode> nodes_;
  Time faults_until_;
  Outcome outcome_;
  std::map<std::string, std::string> bodies_;
  std::map<std::string, model::Run> stored_;
  std::set<std::string> changed_;
  std::set<std::string> acknowledged_, created_, canceled_, failed_, completed_;
  std::map<std::string, std::vector<model::Attempt>> ended_;
  std::set<AttemptKey> started_;
  std::map<AttemptKey, model::Exit> exits_;
  std::set<std::string> arrived_;  // the provider's nodes that were welcomed
};

}  // namespace

Outcome Simulate(const Options& options) { return World(options).Play(); }

}  // namespace ferry::simulation
