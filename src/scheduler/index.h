// Which waiting run goes to which node. Pure: an index value that deltas update, decisions out; no clock, no I/O, no threads.
// Nothing here rescans the world: a decision costs as much as the placements it makes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ferry::scheduler {

struct Node {
  std::string name;
  std::string target;
  int slots = 1;          // runs at once
  std::vector<int> gpus;  // device numbers
};

struct Demand {
  std::string run;
  std::string target;
  int priority = 0;   // higher first
  int64_t order = 0;  // then first come
  int gpus = 0;
};

struct Placement {
  std::string run;
  std::string node;
  std::vector<int> gpus;
};

class Index {
 public:
  // Adds a node or changes its size. What it holds stays held.
  void SetNode(const Node& node);
  // A node that is not open gets nothing new.
  void SetOpen(const std::string& node, bool open);
  void Wait(const Demand& demand);
  void Unwait(const std::string& run);
  // The run holds a slot and these devices of the node until Release. The node may be unknown as yet.
  void Occupy(const std::string& node, const std::string& run, const std::vector<int>& gpus);
  void Release(const std::string& node, const std::string& run);

  // What to place now. Changes nothing: the caller commits each and then calls Unwait and Occupy.
  std::vector<Placement> Decide() const;

  // One sentence on why a waiting run waits; "" when it does not wait.
  std::string Explain(const std::string& run) const;

  size_t waiting() const { return demands_.size(); }
  size_t held(const std::string& node) const;
  std::optional<Node> Find(const std::string& node) const;

 private:
  struct Held {
    Node node;
    bool known = false;
    bool open = false;
    std::map<std::string, std::vector<int>> runs;
    std::set<int> busy_gpus;
  };
  using Key = std::tuple<int, int64_t, std::string>;  // -priority, order, run
  std::vector<int> FreeGpus(const Held& held) const;

  std::map<std::string, Held> nodes_;
  std::map<std::string, std::set<std::string>> by_target_;
  std::map<std::string, std::set<Key>> queues_;
  std::map<std::string, Demand> demands_;
};

}  // namespace ferry::scheduler
