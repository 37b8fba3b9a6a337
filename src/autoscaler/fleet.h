// How many nodes a cluster should have. Pure: the nodes as a value that deltas update, what waits, the rules and the time in; a decision with its reason
// out. It costs as much as the nodes it adds or removes.
//
// It adds what the waiting runs need and the nodes that are there cannot serve, at once. It removes a node only when it has had no work for as long as the
// rules say, so that it never thrashes, and never one that has work. A provider that fails is asked again later and later.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"

namespace ferry::autoscaler {

struct Rules {
  int min = 0;
  int max = 1;
  Duration idle = std::chrono::seconds(1800);      // without work for so long: may go
  Duration arrival = std::chrono::minutes(10);     // a node that has not come after so long is given up on
  Duration first_pause = std::chrono::seconds(5);  // after a failure; doubled for each further one
  Duration longest_pause = std::chrono::minutes(5);
};

enum class NodeState {
  kComing,   // asked for, not here yet
  kIdle,     // here, without work
  kBusy,     // has work
  kLeaving,  // gets nothing new and goes as soon as its work is done
};

// What the runs that wait need: scheduler::Index::LackOf.
struct Need {
  int nodes = 0;        // that would hold them all
  size_t waiting = 0;   // runs
  std::string first;    // the first of them
  int first_nodes = 1;  // that it needs
};

struct Decision {
  int add = 0;
  std::vector<std::string> remove;   // idle: leave now
  std::vector<std::string> give_up;  // never came
  std::string reason;                // of what is done, or of why nothing more is; for people
  std::optional<Time> next;          // decide again then, if nothing else happens before
};

// The nodes of one cluster.
class Fleet {
 public:
  // The node is in this state since `since`. Said again: since before.
  void Set(const std::string& node, NodeState state, Time since);
  void Remove(const std::string& node);
  // The provider could not make a node; it made one.
  void Failed(Time now, std::string message);
  void Made();

  int count(NodeState state) const { return counts_[static_cast<int>(state)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  int failures() const { return failures_; }
  const std::string& last_failure() const { return message_; }

  // Changes nothing: what was decided is told by Set when it is done.
  Decision Decide(const Rules& rules, const Need& need, Time now) const;

 private:
  struct Known {
    NodeState state;
    Time since;
  };
  std::optional<Time> PausedUntil(const Rules& rules) const;

  std::map<std::string, Known> nodes_;
  std::set<std::pair<Time, std::string>> by_since_[4];
  int counts_[4] = {};
  int failures_ = 0;
  Time failed_;
  std::string message_;
};

}  // namespace ferry::autoscaler
