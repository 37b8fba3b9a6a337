#include "scheduler/index.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace ferry::scheduler {
namespace {

constexpr int64_t kNotCounted = std::numeric_limits<int64_t>::max() / 2;

Room Less(Room room, const Room& taken) {
  room.slots -= taken.slots;
  room.gpus -= taken.gpus;
  if (room.cores < kNotCounted) room.cores -= taken.cores;
  if (room.memory < kNotCounted) room.memory -= taken.memory;
  return room;
}

Room Least(const Room& a, const Room& b) {
  return {std::min(a.slots, b.slots), std::min(a.gpus, b.gpus), std::min(a.cores, b.cores), std::min(a.memory, b.memory)};
}

Room NeedOf(const Hold& hold) { return {1, static_cast<int>(hold.gpus.size()), hold.cores, hold.memory}; }

}  // namespace

Index::Shape Index::ShapeOf(const Demand& demand) {
  return {{1, demand.gpus, demand.cores, demand.memory}, std::max(1, demand.nodes), demand.seconds};
}

Index::Target* Index::Unlist(Slot& slot) {
  if (!slot.known) return nullptr;
  Target& target = targets_[slot.node.target];
  if (slot.listed) {
    auto room = target.rooms.find(*slot.listed);
    room->second.erase(slot.node.name);
    if (room->second.empty()) target.rooms.erase(room);
    slot.listed.reset();
  }
  if (slot.end) {
    target.ends.erase({*slot.end, slot.node.name});
    slot.end.reset();
  }
  if (slot.open) {
    --target.open;
    target.slots -= slot.node.slots;
    target.held -= static_cast<int>(slot.runs.size());
    if (slot.runs.empty()) --target.idle;
  }
  return &target;
}

void Index::List(Slot& slot) {
  if (!slot.known) return;
  const std::string& name = slot.node.name;
  Target& target = targets_[slot.node.target];
  slot.all = {slot.node.slots, static_cast<int>(slot.node.gpus.size()), slot.node.cores ? slot.node.cores : kNotCounted,
              slot.node.memory ? slot.node.memory : kNotCounted};
  slot.left = slot.all;
  Room around = slot.reserved ? Less(slot.all, target.reserving_need) : slot.all;
  Time end{};
  bool end_known = !slot.runs.empty();
  for (const auto& [run, held] : slot.runs) {
    slot.left = Less(slot.left, NeedOf(held.hold));
    if (held.passing) around = Less(around, NeedOf(held.hold));
    end_known = end_known && held.hold.until;
    end = std::max(end, held.hold.until);
  }
  // A node may have lost devices that a run still holds.
  slot.left.gpus = 0;
  for (int gpu : slot.node.gpus) slot.left.gpus += !slot.busy_gpus.count(gpu);
  if (end_known) {
    slot.end = end;
    target.ends.insert({end, name});
  }
  dirty_.insert(slot.node.target);
  if (!slot.open) return;
  ++target.open;
  target.slots += slot.node.slots;
  target.held += static_cast<int>(slot.runs.size());
  if (slot.runs.empty()) ++target.idle;
  Room listed = slot.reserved ? Least(slot.left, around) : slot.left;
  if (listed.slots <= 0) return;
  slot.listed = listed;
  target.rooms[listed].insert(name);
}

void Index::SetNode(const Node& node) {
  Slot& slot = nodes_[node.name];
  if (Target* target = Unlist(slot)) {
    if (slot.reserved) target->reserved.erase(node.name);
    slot.reserved = slot.reserved && slot.node.target == node.target;
    target->nodes.erase(node.name);
    target->searched = false;
  }
  slot.node = node;
  slot.known = true;
  Target& target = targets_[node.target];
  target.nodes.insert(node.name);
  target.searched = false;
  if (slot.reserved) target.reserved.insert(node.name);
  List(slot);
}

void Index::SetOpen(const std::string& node, bool open) {
  Slot& slot = nodes_[node];
  if (slot.open == open) return;
  if (Target* target = Unlist(slot)) target->searched = false;
  slot.open = open;
  List(slot);
}

void Index::RemoveNode(const std::string& node) {
  auto it = nodes_.find(node);
  if (it == nodes_.end()) return;
  if (Target* target = Unlist(it->second)) {
    target->nodes.erase(node);
    target->reserved.erase(node);
    dirty_.insert(it->second.node.target);
  }
  nodes_.erase(it);
}

void Index::Wait(const Demand& demand) {
  Unwait(demand.run);
  demands_[demand.run] = demand;
  targets_[demand.target].queue[ShapeOf(demand)].insert(KeyOf(demand));
  dirty_.insert(demand.target);
}

void Index::Unwait(const std::string& run) {
  auto it = demands_.find(run);
  if (it == demands_.end()) return;
  Target& target = targets_[it->second.target];
  auto shape = target.queue.find(ShapeOf(it->second));
  shape->second.erase(KeyOf(it->second));
  if (shape->second.empty()) target.queue.erase(shape);
  if (target.reserving == run) Unreserve(target);
  dirty_.insert(it->second.target);
  demands_.erase(it);
}

void Index::Occupy(const std::string& node, const Hold& hold) {
  Slot& slot = nodes_[node];
  Unlist(slot);
  Slot::Held& held = slot.runs[hold.run];
  for (int gpu : held.hold.gpus) slot.busy_gpus.erase(gpu);
  held.hold = hold;
  slot.busy_gpus.insert(hold.gpus.begin(), hold.gpus.end());
  List(slot);
}

void Index::Release(const std::string& node, const std::string& run) {
  auto it = nodes_.find(node);
  if (it == nodes_.end()) return;
  Slot& slot = it->second;
  auto held = slot.runs.find(run);
  if (held == slot.runs.end()) return;
  Unlist(slot);
  for (int gpu : held->second.hold.gpus) slot.busy_gpus.erase(gpu);
  slot.runs.erase(held);
  List(slot);
}

void Index::Reserve(Target& target, const std::string& node, bool reserved) {
  Slot& slot = nodes_.at(node);
  Unlist(slot);
  slot.reserved = reserved;
  for (auto& [run, held] : slot.runs) held.passing = false;
  reserved ? (void)target.reserved.insert(node) : (void)target.reserved.erase(node);
  List(slot);
}

void Index::Unreserve(Target& target) {
  while (!target.reserved.empty()) Reserve(target, std::string(*target.reserved.begin()), false);
  target.reserving.clear();
  target.searched = false;
}

std::vector<std::string> Index::Choose(const Target& target, const Shape& shape, bool reserved) const {
  std::vector<std::string> nodes;
  const size_t wanted = static_cast<size_t>(shape.nodes);
  if (reserved)
    for (const std::string& name : target.reserved) {
      const Slot& slot = nodes_.at(name);
      if (nodes.size() < wanted && slot.open && slot.left.Holds(shape.need)) nodes.push_back(name);
    }
  for (const auto& [room, names] : target.rooms) {
    if (nodes.size() == wanted) break;
    if (!room.Holds(shape.need)) continue;
    for (const std::string& name : names) {
      if (nodes.size() == wanted) break;
      if (reserved && nodes_.at(name).reserved) continue;  // looked at above
      nodes.push_back(name);
    }
  }
  if (nodes.size() < wanted) nodes.clear();
  return nodes;
}

void Index::ReserveFor(Target& target, const Demand& demand, const Shape& shape) {
  if (target.reserving != demand.run) {
    target.reserving = demand.run;
    target.reserving_need = shape.need;
    target.searched = false;
  }
  const size_t wanted = static_cast<size_t>(shape.nodes);
  // What fits now comes before what may fit one day.
  std::vector<std::string> fitting;
  for (const auto& [room, names] : target.rooms) {
    if (!room.Holds(shape.need)) continue;
    for (const std::string& name : names)
      if (!nodes_.at(name).reserved && fitting.size() < wanted) fitting.push_back(name);
  }
  for (const std::string& name : fitting) {
    if (target.reserved.size() >= wanted) {
      auto other = std::find_if(target.reserved.begin(), target.reserved.end(), [&](const std::string& held) {
        const Slot& slot = nodes_.at(held);
        return !slot.open || !slot.left.Holds(shape.need);
      });
      if (other == target.reserved.end()) return;
      Reserve(target, std::string(*other), false);
    }
    Reserve(target, name, true);
  }
  if (target.reserved.size() >= wanted || target.searched) return;
  auto consider = [&](const std::string& name) {
    const Slot& slot = nodes_.at(name);
    if (!slot.reserved && slot.open && slot.all.Holds(shape.need)) Reserve(target, std::string(name), true);
  };
  std::vector<std::string> soonest;
  for (const auto& [end, name] : target.ends)
    if (soonest.size() < wanted) soonest.push_back(name);
  for (const std::string& name : soonest)
    if (target.reserved.size() < wanted) consider(name);
  for (const std::string& name : target.nodes) {
    if (target.reserved.size() >= wanted) break;
    consider(name);
  }
  target.searched = true;
}

std::optional<Time> Index::BeginsBy(const Target& target, const Shape& shape) const {
  int missing = shape.nodes;
  for (const std::string& name : target.reserved) {
    const Slot& slot = nodes_.at(name);
    if (slot.open && slot.left.Holds(shape.need)) --missing;
  }
  if (missing <= 0) return std::nullopt;
  for (const auto& [end, name] : target.ends) {
    const Slot& slot = nodes_.at(name);
    if (!slot.open || !slot.all.Holds(shape.need) || slot.left.Holds(shape.need)) continue;
    if (--missing == 0) return end;
  }
  return std::nullopt;
}

Placement Index::Put(Demand demand, std::vector<std::string> nodes, Time now) {
  std::sort(nodes.begin(), nodes.end());
  bool own = targets_[demand.target].reserving == demand.run;
  Unwait(demand.run);
  Placement placement{demand.run, {}};
  for (const std::string& name : nodes) {
    Slot& slot = nodes_.at(name);
    Hold hold{demand.run, {}, demand.cores, demand.memory, demand.seconds ? now + std::chrono::seconds(demand.seconds) : Time{}};
    for (int gpu : slot.node.gpus)
      if (static_cast<int>(hold.gpus.size()) < demand.gpus && !slot.busy_gpus.count(gpu)) hold.gpus.push_back(gpu);
    placement.shares.push_back({name, hold.gpus});
    if (!own && slot.reserved) slot.runs[demand.run].passing = true;
    Occupy(name, hold);
  }
  return placement;
}

void Index::DecideFor(Target& target, Time now, std::vector<Placement>& out) {
  while (!target.queue.empty()) {
    auto first = target.queue.begin();
    for (auto it = target.queue.begin(); it != target.queue.end(); ++it)
      if (*it->second.begin() < *first->second.begin()) first = it;
    Shape shape = first->first;
    const Demand& demand = demands_.at(std::get<2>(*first->second.begin()));
    if (!target.reserving.empty() && target.reserving != demand.run) Unreserve(target);
    if (auto nodes = Choose(target, shape, true); !nodes.empty()) {
      out.push_back(Put(demand, nodes, now));
      continue;
    }
    // Nothing is free: there is nothing to go around.
    if (target.rooms.empty() && target.reserved.empty()) return;
    ReserveFor(target, demand, shape);
    std::optional<Time> begins = BeginsBy(target, shape);
    const Key* best = nullptr;
    std::vector<std::string> best_nodes;
    for (const auto& [other, keys] : target.queue) {
      if (other == shape || (best && *best < *keys.begin())) continue;
      bool borrows = other.seconds > 0 && begins && now + std::chrono::seconds(other.seconds) <= *begins;
      if (auto nodes = Choose(target, other, borrows); !nodes.empty()) {
        best = &*keys.begin();
        best_nodes = std::move(nodes);
      }
    }
    if (!best) return;
    out.push_back(Put(demands_.at(std::get<2>(*best)), best_nodes, now));
  }
  Unreserve(target);
}

std::vector<Placement> Index::Decide(Time now) {
  std::vector<Placement> placements;
  for (const std::string& name : std::exchange(dirty_, {})) DecideFor(targets_[name], now, placements);
  dirty_.clear();
  return placements;
}

std::string Index::Explain(const std::string& run) const {
  auto it = demands_.find(run);
  if (it == demands_.end()) return {};
  const Demand& demand = it->second;
  const Target& target = targets_.at(demand.target);
  if (target.nodes.empty()) return StrCat("no node of '", demand.target, "' has connected yet");
  if (target.open == 0) return StrCat("no node of '", demand.target, "' is connected");
  const Shape shape = ShapeOf(demand);
  int capable = 0, free = 0;
  Room largest{0, 0, 0, 0};
  for (const std::string& name : target.nodes) {
    const Slot& slot = nodes_.at(name);
    if (!slot.open) continue;
    largest.gpus = std::max(largest.gpus, slot.all.gpus);
    largest.cores = std::max(largest.cores, slot.all.cores);
    largest.memory = std::max(largest.memory, slot.all.memory);
    capable += slot.all.Holds(shape.need);
    free += slot.left.Holds(shape.need);
  }
  if (demand.gpus > largest.gpus)
    return StrCat("it needs ", demand.gpus, " GPU(s) on one node and the largest node of '", demand.target, "' has ", largest.gpus);
  if (demand.cores > largest.cores)
    return StrCat("it needs ", demand.cores / 1000.0, " cores on one node and the largest node of '", demand.target, "' has ", largest.cores / 1000.0);
  if (demand.memory > largest.memory)
    return StrCat("it needs ", demand.memory, " MiB on one node and the largest node of '", demand.target, "' has ", largest.memory);
  int64_t ahead = 0;
  for (const auto& [other, keys] : target.queue) ahead += std::distance(keys.begin(), keys.lower_bound(KeyOf(demand)));
  if (ahead > 0 && target.held >= target.slots)
    return StrCat("all ", target.slots, " slot(s) of '", demand.target, "' are in use and ", ahead, " run(s) are ahead of it");
  if (ahead > 0) {
    std::string why = StrCat(ahead, " run(s) are ahead of it on '", demand.target, "'");
    if (!target.reserving.empty() && target.reserving != run) why += StrCat(", and '", target.reserving, "' holds ", target.reserved.size(), " node(s)");
    return why;
  }
  if (shape.nodes > 1)
    return StrCat("it needs ", shape.nodes, " nodes of '", demand.target, "' at once and ", free, " of ", capable, " are free; those are held for it");
  if (target.held >= target.slots) return StrCat("all ", target.slots, " slot(s) of '", demand.target, "' are in use and 0 run(s) are ahead of it");
  if (demand.gpus > 0) return StrCat("it waits for ", demand.gpus, " free GPU(s) on one node of '", demand.target, "'");
  if (free == 0) return StrCat("no node of '", demand.target, "' has room for it now");
  return "it is about to be placed";
}

Index::Lack Index::LackOf(const std::string& name, const Room& size, int most) const {
  Lack lack;
  auto it = targets_.find(name);
  if (it == targets_.end()) return lack;
  const Target& target = it->second;
  lack.idle = target.idle;
  int64_t nodes = 0;
  const Key* first = nullptr;
  for (const auto& [shape, keys] : target.queue) {
    lack.waiting += keys.size();
    if (!first || *keys.begin() < *first) {
      first = &*keys.begin();
      lack.first_nodes = shape.nodes;
    }
    // So many of the shape fit one node; a gang's lie on as many nodes as it has.
    int64_t each = size.slots;
    if (shape.need.gpus > 0) each = std::min<int64_t>(each, size.gpus / shape.need.gpus);
    if (shape.need.cores > 0 && size.cores > 0) each = std::min(each, size.cores / shape.need.cores);
    if (shape.need.memory > 0 && size.memory > 0) each = std::min(each, size.memory / shape.need.memory);
    each = std::max<int64_t>(each, 1);
    int64_t count = static_cast<int64_t>(keys.size());
    nodes += shape.nodes == 1 ? (count + each - 1) / each : std::max<int64_t>(shape.nodes, (count * shape.nodes + each - 1) / each);
  }
  if (first) lack.first = std::get<2>(*first);
  lack.nodes = static_cast<int>(std::min<int64_t>(nodes, most));
  return lack;
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
