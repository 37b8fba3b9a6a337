// The engine thread: the one place where state changes. Inputs that wait together share one commit; replies are given and effects done after it.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/core.h"

namespace ferry::engine {

// Who does the effects. Called on the engine thread, after the commit; must not block.
struct Hooks {
  std::function<void(const std::string& node, const model::AgentMessage& message)> tell;
  std::function<void(const std::string& run, bool terminal)> run_changed;
  std::function<void()> access_changed;
  // CreateNode, DestroyNode, LaunchBatch and StopBatch: what leaves for providers and batch systems.
  std::function<void(const Effect& effect)> compute;
};

class Engine {
 public:
  using Reply = std::function<void(Result<Json>)>;

  // Recovers from the store and begins.
  static Result<std::unique_ptr<Engine>> Start(store::Store& store, CoreSettings settings, Hooks hooks);
  // Answers what was asked before, then ends.
  ~Engine();

  // Any thread. `reply` is called on the engine thread once the input is durable, or has failed.
  void Do(Input input, Reply reply);
  // The same, waiting for the reply. Not from the engine thread.
  Result<Json> DoAndWait(Input input);
  // Runs `look` on the engine thread between batches, and waits.
  void Look(const std::function<void(const Core& core)>& look);

  // The lease that may write for the attempt, as last committed. Any thread.
  std::optional<model::Lease> LeaseFor(const model::AttemptKey& key) const;
  // For whom an attempt that a node holds works, and where. Any thread.
  struct Owner {
    std::string user;
    std::string workspace;
  };
  std::optional<Owner> OwnerOf(const model::AttemptKey& key) const;

  struct Counts {
    uint64_t inputs = 0;
    uint64_t commits = 0;
    uint64_t failed_commits = 0;
    size_t live = 0;
    size_t queued = 0;
  };
  Counts counts() const;

 private:
  Engine(store::Store& store, CoreSettings settings, Hooks hooks);
  void Run();
  void Batch(std::vector<std::pair<Input, Reply>>& batch);
  void DoEffects();
  void NoteLease(const std::string& run);

  Hooks hooks_;
  Core core_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<Input, Reply>> inbox_;
  std::vector<std::function<void(const Core&)>> looks_;
  bool stop_ = false;
  Counts counts_;
  mutable std::shared_mutex lease_mutex_;
  struct Leased {
    int attempt = 0;
    model::Lease lease;
    Owner owner;
  };
  std::map<std::string, Leased> leases_;
  std::thread thread_;
};

}  // namespace ferry::engine
