// What an agent decides, without doing it: messages and news in, actions and events out. Pure; the agent's loop and the simulation drive the same
// code. An attempt's events are kept until the server has answered them, so nothing is lost with a connection.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/message.h"

namespace ferry::agent {

// --- what the rim must do. Each is idempotent.
struct Keep {  // write the assignment to the disk; then call OnKept
  model::Assign assign;
};
struct Prepare {  // snapshot, interpreter, working folder; then launch; OnStarted, or OnFailed
  model::AttemptKey key;
};
struct Kill {  // end the process tree; OnExited follows
  model::AttemptKey key;
};
struct Collect {  // send what is left of logs, metrics and outputs; then OnCollected
  model::AttemptKey key;
  bool stopped = false;  // asked to end: logs and metrics, and the outputs that are there
};
struct Remove {  // kill what is left and remove the attempt's folder
  model::AttemptKey key;
};
using Action = std::variant<Keep, Prepare, Kill, Collect, Remove>;

// What is on the disk of an attempt when an agent begins.
struct Remains {
  model::Assign assign;
  bool launched = false;            // a supervisor was started
  std::optional<model::Exit> exit;  // the supervisor's record
  std::optional<model::PrepareFailed> failed;
  bool stop = false;
};

// Faults for the simulation; see engine::Plant.
struct CoreFaults {
  bool forget_early = false;
  bool lose_events = false;
};

class Core {
 public:
  explicit Core(CoreFaults faults = {}) : faults_(faults) {}

  // Takes up what an earlier process left. Call before anything else.
  std::vector<Action> Adopt(const std::vector<Remains>& remains, int64_t generation);

  std::vector<Action> OnMessage(const model::AgentMessage& message);
  std::vector<Action> OnKept(const model::AttemptKey& key);
  std::vector<Action> OnStarted(const model::AttemptKey& key);
  std::vector<Action> OnFailed(const model::AttemptKey& key, const model::PrepareFailed& failure);
  std::vector<Action> OnExited(const model::AttemptKey& key, const model::Exit& exit);
  // `problem`: see model::Collected.
  std::vector<Action> OnCollected(const model::AttemptKey& key, std::string problem = {});
  // The server's answer to a hello. Fenced: everything of an older generation ends here and now.
  std::vector<Action> OnWelcome(int64_t generation, bool fenced);

  // What to report now: every event that was not answered yet. Empty when there is nothing.
  std::vector<model::AgentEvent> Pending() const;
  // The server has these (the first `count` of what Pending gave).
  std::vector<Action> OnAnswered(const std::vector<model::AgentEvent>& events);
  // For CoreFaults::lose_events: the report was sent.
  void OnSent();

  std::vector<model::AttemptKey> Inventory() const;
  int64_t generation() const { return generation_; }
  bool Holds(const model::AttemptKey& key) const { return attempts_.count(key) > 0; }
  bool Stopping(const model::AttemptKey& key) const;
  size_t size() const { return attempts_.size(); }

 private:
  enum class Phase { kKeeping, kPreparing, kRunning, kCollecting, kDone };
  struct State {
    model::Assign assign;
    Phase phase = Phase::kKeeping;
    bool stop = false;
    std::vector<model::AttemptInput> pending;
  };
  void Say(const model::AttemptKey& key, State& state, model::AttemptInput input);
  std::vector<Action> Drop(const model::AttemptKey& key);

  CoreFaults faults_;
  int64_t generation_ = 0;
  std::map<model::AttemptKey, State> attempts_;
  // Events on attempts that are not held: a Stop for one that never came.
  std::vector<model::AgentEvent> strays_;
  // Assignments of a generation that the welcome on its way will give.
  std::vector<model::Assign> early_;
  // Done here already; a late Assign must not start them again.
  std::set<model::AttemptKey> done_;
};

}  // namespace ferry::agent
