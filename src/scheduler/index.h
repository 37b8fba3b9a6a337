// Which waiting run goes to which nodes. Pure: an index value that deltas update, decisions out; no clock, no I/O, no threads.
// Nothing here rescans the world: nodes lie by the room they have, waiting runs by what they need, and a decision costs as much as the placements it
// makes.
//
// The order is priority, then first come. A run that needs several nodes gets all of them or none. The first in the queue that cannot be placed holds
// what fits it as it comes free, and others go around that: they take what it cannot use, what it leaves over, or, when they must end before it can
// begin, what it holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"

namespace ferry::scheduler {

// What a run takes of a node, or what a node has.
struct Room {
  int slots = 1;
  int gpus = 0;
  int64_t cores = 0;   // thousandths
  int64_t memory = 0;  // MiB

  bool Holds(const Room& need) const { return slots >= need.slots && gpus >= need.gpus && cores >= need.cores && memory >= need.memory; }
  auto operator<=>(const Room&) const = default;
};

struct Node {
  std::string name;
  std::string target;
  int slots = 1;          // runs at once
  std::vector<int> gpus;  // device numbers
  int64_t cores = 0;      // 0: not counted
  int64_t memory = 0;     // 0: not counted
};

struct Demand {
  std::string run;
  std::string target;
  int priority = 0;   // higher first
  int64_t order = 0;  // then first come
  int gpus = 0;       // on each node
  int nodes = 1;      // all of them or none
  int64_t cores = 0;
  int64_t memory = 0;
  int64_t seconds = 0;  // the longest it may take; 0: nobody knows
};

// What a run has of a node until Release.
struct Hold {
  std::string run;
  std::vector<int> gpus;
  int64_t cores = 0;
  int64_t memory = 0;
  Time until = {};  // when it must have ended; zero: nobody knows
};

struct Share {
  std::string node;
  std::vector<int> gpus;
};
struct Placement {
  std::string run;
  std::vector<Share> shares;  // one a node, by name
};

class Index {
 public:
  Index() = default;
  Index(Index&&) = default;
  Index& operator=(Index&&) = default;
  // Adds a node or changes its size. What it holds stays held.
  void SetNode(const Node& node);
  // A node that is not open gets nothing new.
  void SetOpen(const std::string& node, bool open);
  void RemoveNode(const std::string& node);
  void Wait(const Demand& demand);
  void Unwait(const std::string& run);
  // The node may be unknown as yet. Said again: replaced.
  void Occupy(const std::string& node, const Hold& hold);
  void Release(const std::string& node, const std::string& run);

  // Places what can be placed: takes it out of the queue and occupies its nodes.
  std::vector<Placement> Decide(Time now);

  // One sentence on why a waiting run waits; "" when it does not wait.
  std::string Explain(const std::string& run) const;

  size_t waiting() const { return demands_.size(); }
  size_t held(const std::string& node) const;
  std::optional<Node> Find(const std::string& node) const;
  // What the waiting runs of a target need.
  struct Lack {
    int nodes = 0;        // of `size` that would hold them all, `most` at the most
    int idle = 0;         // open nodes without a run
    size_t waiting = 0;   // runs
    std::string first;    // the first of them
    int first_nodes = 0;  // that it needs
  };
  Lack LackOf(const std::string& target, const Room& size, int most) const;

 private:
  struct Shape {
    Room need;
    int nodes = 1;
    int64_t seconds = 0;
    auto operator<=>(const Shape&) const = default;
  };
  struct InOrder {
    bool operator()(const Demand* a, const Demand* b) const;
  };
  struct Target;
  struct Slot {  // a node
    Node node;
    Target* target = nullptr;  // null: not known yet
    bool open = false;
    struct Held {
      Hold hold;
      bool passing = false;  // was given room around a reservation
    };
    std::map<std::string, Held> runs;
    std::set<int> busy_gpus;
    Room all;               // its size
    Room left;              // its size less what runs hold
    bool reserved = false;  // for the first of its target's queue
    std::optional<Room> listed;
    std::optional<Time> end;  // when its runs must have ended, when that is known of all
  };
  struct ByName {
    bool operator()(const Slot* a, const Slot* b) const { return a->node.name < b->node.name; }
  };
  using Slots = std::set<Slot*, ByName>;
  struct Target {
    std::map<Shape, std::set<const Demand*, InOrder>> queue;
    std::map<Room, Slots> rooms;                  // open nodes by the room that anybody may have
    Slots nodes;                                  // all that are known
    std::set<std::pair<Time, std::string>> ends;  // when nodes come free at the latest, where that is known
    const Demand* reserving = nullptr;            // the run that nodes are held for
    Slots reserved;                               // those nodes
    bool searched = false;                        // all nodes were looked at for it since they changed
    bool dirty = false;
    int open = 0;
    int idle = 0;   // open and without a run
    int slots = 0;  // of those that are open
    int held = 0;
  };

  static Shape ShapeOf(const Demand& demand);
  // Takes the node out of the lists of its target; List puts it in again. Every change of a node lies between the two.
  void Unlist(Slot& slot);
  void List(Slot& slot);
  void MakeDirty(Target& target);
  void Take(Slot& slot, Hold hold, bool passing);
  void Reserve(Slot& slot, bool reserved);
  void Unreserve(Target& target);
  // Nodes for a shape: of those listed, and of those reserved when `reserved` says so. Empty when there are too few.
  std::vector<Slot*> Choose(const Target& target, const Shape& shape, bool reserved) const;
  // Holds what fits the first of the queue, then what may fit it one day.
  void ReserveFor(Target& target, const Demand& demand, const Shape& shape);
  // When the first of the queue can begin at the latest, as far as it is known.
  std::optional<Time> BeginsBy(const Target& target, const Shape& shape) const;
  Placement Put(Target& target, const Demand& demand, std::vector<Slot*> nodes, Time now);
  void DecideFor(Target& target, Time now, std::vector<Placement>& out);

  // The lists above point into these, whose elements never move.
  std::unordered_map<std::string, Slot> nodes_;
  std::map<std::string, Target> targets_;
  std::unordered_map<std::string, Demand> demands_;
  std::vector<Target*> dirty_;
};

}  // namespace ferry::scheduler
