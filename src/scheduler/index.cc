#include "scheduler/index.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::scheduler {

void Index::SetNode(const Node& node) {
  Held& held = nodes_[node.name];
  if (held.known && held.node.target != node.target) by_target_[held.node.target].erase(node.name);
  held.node = node;
  held.known = true;
  by_target_[node.target].insert(node.name);
}

void Index::SetOpen(const std::string& node, bool open) { nodes_[node].open = open; }

void Index::Wait(const Demand& demand) {
  Unwait(demand.run);
  demands_[demand.run] = demand;
  queues_[demand.target].insert({-demand.priority, demand.order, demand.run});
}

void Index::Unwait(const std::string& run) {
  auto it = demands_.find(run);
  if (it == demands_.end()) return;
  queues_[it->second.target].erase({-it->second.priority, it->second.order, run});
  demands_.erase(it);
}

void Index::Occupy(const std::string& node, const std::string& run, const std::vector<int>& gpus) {
  Held& held = nodes_[node];
  held.runs[run] = gpus;
  held.busy_gpus.insert(gpus.begin(), gpus.end());
}

void Index::Release(const std::string& node, const std::string& run) {
  auto it = nodes_.find(node);
  if (it == nodes_.end()) return;
  auto held = it->second.runs.find(run);
  if (held == it->second.runs.end()) return;
  for (int gpu : held->second) it->second.busy_gpus.erase(gpu);
  it->second.runs.erase(held);
}

std::vector<int> Index::FreeGpus(const Held& held) const {
  std::vector<int> free;
  for (int gpu : held.node.gpus)
    if (!held.busy_gpus.count(gpu)) free.push_back(gpu);
  return free;
}

std::vector<Placement> Index::Decide() const {
  std::vector<Placement> placements;
  for (const auto& [target, queue] : queues_) {
    if (queue.empty()) continue;
    auto names = by_target_.find(target);
    if (names == by_target_.end()) continue;
    struct Room {
      const Held* held;
      int slots;
      std::vector<int> gpus;
    };
    std::vector<Room> rooms;
    for (const std::string& name : names->second) {
      const Held& held = nodes_.at(name);
      int free = held.node.slots - static_cast<int>(held.runs.size());
      if (held.open && free > 0) rooms.push_back({&held, free, FreeGpus(held)});
    }
    size_t next_room = 0;
    for (const Key& key : queue) {
      const Demand& demand = demands_.at(std::get<2>(key));
      Room* chosen = nullptr;
      if (demand.gpus == 0) {
        while (next_room < rooms.size() && rooms[next_room].slots == 0) ++next_room;
        if (next_room < rooms.size()) chosen = &rooms[next_room];
      } else {
        for (Room& room : rooms)
          if (room.slots > 0 && room.gpus.size() >= static_cast<size_t>(demand.gpus)) {
            chosen = &room;
            break;
          }
      }
      // First come, first served within a target: who cannot be placed holds back those behind.
      if (!chosen) break;
      Placement placement{demand.run, chosen->held->node.name, {}};
      placement.gpus.assign(chosen->gpus.begin(), chosen->gpus.begin() + demand.gpus);
      chosen->gpus.erase(chosen->gpus.begin(), chosen->gpus.begin() + demand.gpus);
      --chosen->slots;
      placements.push_back(std::move(placement));
    }
  }
  return placements;
}

std::string Index::Explain(const std::string& run) const {
  auto it = demands_.find(run);
  if (it == demands_.end()) return {};
  const Demand& demand = it->second;
  auto names = by_target_.find(demand.target);
  size_t known = 0, open = 0, most_gpus = 0;
  int slots = 0, held = 0;
  if (names != by_target_.end())
    for (const std::string& name : names->second) {
      const Held& node = nodes_.at(name);
      ++known;
      if (!node.open) continue;
      ++open;
      slots += node.node.slots;
      held += static_cast<int>(node.runs.size());
      most_gpus = std::max(most_gpus, node.node.gpus.size());
    }
  if (known == 0) return StrCat("no node of '", demand.target, "' has connected yet");
  if (open == 0) return StrCat("no node of '", demand.target, "' is connected");
  if (static_cast<size_t>(demand.gpus) > most_gpus)
    return StrCat("it needs ", demand.gpus, " GPU(s) on one node and the largest node of '", demand.target, "' has ", most_gpus);
  const auto& queue = queues_.at(demand.target);
  auto position = std::distance(queue.begin(), queue.find({-demand.priority, demand.order, run}));
  if (held >= slots) return StrCat("all ", slots, " slot(s) of '", demand.target, "' are in use and ", position, " run(s) are ahead of it");
  if (position > 0) return StrCat(position, " run(s) are ahead of it on '", demand.target, "'");
  if (demand.gpus > 0) return StrCat("it waits for ", demand.gpus, " free GPU(s) on one node of '", demand.target, "'");
  return "it is about to be placed";
}

size_t Index::held(const std::string& node) const {
  auto it = nodes_.find(node);
  return it == nodes_.end() ? 0 : it->second.runs.size();
}

std::optional<Node> Index::Find(const std::string& node) const {
  auto it = nodes_.find(node);
  if (it == nodes_.end() || !it->second.known) return std::nullopt;
  return it->second.node;
}

}  // namespace ferry::scheduler
