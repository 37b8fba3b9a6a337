// The parts of the simulated world: a clock with an event queue, a random source, a store that fails, and nodes with disks and processes that
// outlive their agents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "agent/core.h"
#include "model/message.h"
#include "store/store.h"

namespace ferry::simulation {

// SplitMix64: small, seeded, the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0x1234567) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  int64_t Between(int64_t low, int64_t high) { return low + static_cast<int64_t>(Next() % static_cast<uint64_t>(high - low + 1)); }
  bool Chance(double p) { return static_cast<double>(Next() >> 11) * 0x1.0p-53 < p; }

 private:
  uint64_t state_;
};

class Clock {
 public:
  Time now() const { return now_; }
  void After(Duration delay, std::function<void()> what) { queue_.push({now_ + delay, order_++, std::move(what)}); }
  // Runs the next thing due; false when nothing is left.
  bool Step() {
    if (queue_.empty()) return false;
    Item item = queue_.top();
    queue_.pop();
    now_ = item.at;
    item.what();
    return true;
  }

 private:
  struct Item {
    Time at;
    uint64_t order;
    std::function<void()> what;
    bool operator<(const Item& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  Time now_{1'000'000'000'000'000};
  uint64_t order_ = 0;
  std::priority_queue<Item> queue_;
};

// Fails commits when told to; everything else goes through.
class FaultyStore : public store::Store {
 public:
  explicit FaultyStore(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}
  void FailNext() { fail_ = true; }
  Result<void> Commit(std::span<const store::Change> changes) override {
    if (std::exchange(fail_, false)) return MakeError(Code::kExhausted, "store.full", "simulated: the disk is full");
    return inner_->Commit(changes);
  }
  Result<std::optional<store::Document>> Get(std::string_view table, std::string_view key) override { return inner_->Get(table, key); }
  Result<store::Page> Find(const store::Query& query) override { return inner_->Find(query); }
  Result<std::vector<std::pair<store::Value, int64_t>>> Count(const store::Query& query, const std::string& group) override {
    return inner_->Count(query, group);
  }
  Result<std::vector<store::Attribute>> Attributes(std::string_view table, std::string_view key, std::string_view kind) override {
    return inner_->Attributes(table, key, kind);
  }

 private:
  std::unique_ptr<store::Store> inner_;
  bool fail_ = false;
};

// A script's process. It belongs to its supervisor, so it outlives the agent.
struct Process {
  int64_t generation = 0;
  bool alive = true;
  bool killed = false;
};

struct SimNode {
  std::string name;
  std::string target;
  int slots = 1;
  // On the disk.
  int64_t generation = 0;
  std::map<model::AttemptKey, agent::Remains> disk;
  std::map<model::AttemptKey, Process> processes;
  // The agent's process; none while it is down.
  std::unique_ptr<agent::Core> agent;
  int64_t session = 0;
  int64_t sequence = 0;
  bool waiting = false;   // a request is out
  bool welcomed = false;  // said hello since it began or lost its connection
  uint64_t incarnation = 0;
  Time cut_until;  // no network before this
  // A node of the batch system's: it lives for one attempt.
  bool batch = false;
  std::string attempt;
  std::set<model::AttemptKey> started;
  bool exists = true;  // a provider's node may not, or no longer
};

}  // namespace ferry::simulation
