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

bool Index::InOrder::operator()(const Demand* a, const Demand* b) const {
  if (a->priority != b->priority) return a->priority > b->priority;
  if (a->order != b->order) return a->order < b->order;
  return a->run < b->run;
}

Index::Shape Index::ShapeOf(const Demand& demand) { return {{1, demand.gpus, demand.cores, demand.memory}, std::max(1, demand.nodes), demand.seconds}; }

void Index::MakeDirty(Target& target) {
  if (!std::exchange(target.dirty, true)) dirty_.push_back(&target);
}

void Index::Unlist(Slot& slot) {
  if (!slot.target) return;
  Target& target = *slot.target;
  if (slot.listed) {
    auto room = target.rooms.find(*slot.listed);
    room->second.erase(&slot);
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
}

void Index::List(Slot& slot) {
  if (!slot.target) return;
  Target& target = *slot.target;
  slot.all = {slot.node.slots, static_cast<int>(slot.node.gpus.size()), slot.node.cores ? slot.node.cores : kNotCounted,
              slot.node.memory ? slot.node.memory : kNotCounted};
  slot.left = slot.all;
  Room around = slot.all;
  if (slot.reserved) around = Less(around, ShapeOf(*target.reserving).need);
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
    target.ends.insert({end, slot.node.name});
  }
  MakeDirty(target);
  if (!slot.open) return;
  ++target.open;
  target.slots += slot.node.slots;
  target.held += static_cast<int>(slot.runs.size());
  if (slot.runs.empty()) ++target.idle;
  Room listed = slot.reserved ? Least(slot.left, around) : slot.left;
  if (listed.slots <= 0) return;
  slot.listed = listed;
  target.rooms[listed].insert(&slot);
}

void Index::SetNode(const Node& node) {
  Slot& slot = nodes_[node.name];
  Target* before = slot.target;
  Unlist(slot);
  slot.target = &targets_[node.target];
  if (before && before != slot.target) {
    before->nodes.erase(&slot);
    before->reserved.erase(&slot);
    before->searched = slot.reserved = false;
  }
  slot.node = node;
  slot.target->nodes.insert(&slot);
  slot.target->searched = false;
  List(slot);
}

void Index::SetOpen(const std::string& node, bool open) {
  Slot& slot = nodes_[node];
  if (slot.open == open) return;
  Unlist(slot);
  slot.open = open;
  if (slot.target) slot.target->searched = false;
  List(slot);
}

void Index::RemoveNode(const std::string& node) {
  auto it = nodes_.find(node);
  if (it == nodes_.end()) return;
  Unlist(it->second);
  if (Target* target = it->second.target) {
    target->nodes.erase(&it->second);
    target->reserved.erase(&it->second);
    MakeDirty(*target);
  }
  nodes_.erase(it);
}

void Index::Wait(const Demand& demand) {
  Unwait(demand.run);
  const Demand& kept = demands_[demand.run] = demand;
  Target& target = targets_[demand.target];
  target.queue[ShapeOf(kept)].insert(&kept);
  MakeDirty(target);
}

void Index::Unwait(const std::string& run) {
  auto it = demands_.find(run);
  if (it == demands_.end()) return;
  const Demand& demand = it->second;
  Target& target = targets_[demand.target];
  if (target.reserving == &demand) Unreserve(target);
  auto shape = target.queue.find(ShapeOf(demand));
  shape->second.erase(&demand);
  if (shape->second.empty()) target.queue.erase(shape);
  MakeDirty(target);
  demands_.erase(it);
}

void Index::Take(Slot& slot, Hold hold, bool passing) {
  Unlist(slot);
  Slot::Held& held = slot.runs[hold.run];
  for (int gpu : held.hold.gpus) slot.busy_gpus.erase(gpu);
  slot.busy_gpus.insert(hold.gpus.begin(), hold.gpus.end());
  held.hold = std::move(hold);
  held.passing = held.passing || passing;
  List(slot);
}

void Index::Occupy(const std::string& node, const Hold& hold) { Take(nodes_[node], hold, false); }

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

void Index::Reserve(Slot& slot, bool reserved) {
  Unlist(slot);
  slot.reserved = reserved;
  for (auto& [run, held] : slot.runs) held.passing = false;
  reserved ? (void)slot.target->reserved.insert(&slot) : (void)slot.target->reserved.erase(&slot);
  List(slot);
}

void Index::Unreserve(Target& target) {
  while (!target.reserved.empty()) Reserve(**target.reserved.begin(), false);
  target.reserving = nullptr;
  target.searched = false;
}

std::vector<Index::Slot*> Index::Choose(const Target& target, const Shape& shape, bool reserved) const {
  std::vector<Slot*> nodes;
  const size_t wanted = static_cast<size_t>(shape.nodes);
  if (reserved)
    for (Slot* slot : target.reserved)
      if (nodes.size() < wanted && slot->open && slot->left.Holds(shape.need)) nodes.push_back(slot);
  for (const auto& [room, slots] : target.rooms) {
    if (nodes.size() == wanted) break;
    if (!room.Holds(shape.need)) continue;
    for (Slot* slot : slots) {
      if (nodes.size() == wanted) break;
      if (!reserved || !slot->reserved) nodes.push_back(slot);  // the reserved ones were looked at above
    }
  }
  if (nodes.size() < wanted) nodes.clear();
  return nodes;
}

void Index::ReserveFor(Target& target, const Demand& demand, const Shape& shape) {
  if (target.reserving != &demand) {
    target.reserving = &demand;
    target.searched = false;
  }
  const size_t wanted = static_cast<size_t>(shape.nodes);
  // What fits now comes before what may fit one day.
  std::vector<Slot*> fitting;
  for (const auto& [room, slots] : target.rooms) {
    if (!room.Holds(shape.need)) continue;
    for (Slot* slot : slots) {
      if (fitting.size() == wanted) break;
      if (!slot->reserved) fitting.push_back(slot);
    }
  }
  for (Slot* slot : fitting) {
    if (target.reserved.size() >= wanted) {
      auto other = std::find_if(target.reserved.begin(), target.reserved.end(), [&](const Slot* held) { return !held->open || !held->left.Holds(shape.need); });
      if (other == target.reserved.end()) return;
      Reserve(**other, false);
    }
    Reserve(*slot, true);
  }
  if (target.reserved.size() >= wanted || target.searched) return;
  auto consider = [&](Slot& slot) {
    if (target.reserved.size() < wanted && !slot.reserved && slot.open && slot.all.Holds(shape.need)) Reserve(slot, true);
  };
  std::vector<Slot*> soonest;
  for (const auto& [end, name] : target.ends)
    if (soonest.size() < wanted) soonest.push_back(&nodes_.at(name));
  for (Slot* slot : soonest) consider(*slot);
  for (Slot* slot : target.nodes) {
    if (target.reserved.size() >= wanted) break;
    consider(*slot);
  }
  target.searched = true;
}

std::optional<Time> Index::BeginsBy(const Target& target, const Shape& shape) const {
  int missing = shape.nodes;
  for (const Slot* slot : target.reserved) missing -= slot->open && slot->left.Holds(shape.need);
  if (missing <= 0) return std::nullopt;
  for (const auto& [end, name] : target.ends) {
    const Slot& slot = nodes_.at(name);
    if (!slot.open || !slot.all.Holds(shape.need) || slot.left.Holds(shape.need)) continue;
    if (--missing == 0) return end;
  }
  return std::nullopt;
}

Placement Index::Put(Target& target, const Demand& demand, std::vector<Slot*> nodes, Time now) {
  std::sort(nodes.begin(), nodes.end(), ByName());
  bool own = target.reserving == &demand;
  Placement placement{demand.run, {}};
  Time until = demand.seconds ? now + std::chrono::seconds(demand.seconds) : Time{};
  for (Slot* slot : nodes) {
    Hold hold{demand.run, {}, demand.cores, demand.memory, until};
    for (int gpu : slot->node.gpus)
      if (static_cast<int>(hold.gpus.size()) < demand.gpus && !slot->busy_gpus.count(gpu)) hold.gpus.push_back(gpu);
    placement.shares.push_back({slot->node.name, hold.gpus});
    Take(*slot, std::move(hold), slot->reserved && !own);
  }
  Unwait(placement.run);
  return placement;
}

void Index::DecideFor(Target& target, Time now, std::vector<Placement>& out) {
  while (!target.queue.empty()) {
    auto first = target.queue.begin();
    for (auto it = std::next(first); it != target.queue.end(); ++it)
      if (InOrder()(*it->second.begin(), *first->second.begin())) first = it;
    const Shape shape = first->first;
    const Demand& demand = **first->second.begin();
    if (target.reserving && target.reserving != &demand) Unreserve(target);
    if (auto nodes = Choose(target, shape, true); !nodes.empty()) {
      out.push_back(Put(target, demand, std::move(nodes), now));
      continue;
    }
    // Nothing is free: there is nothing to go around.
    if (target.rooms.empty() && target.reserved.empty()) return;
    ReserveFor(target, demand, shape);
    std::optional<Time> begins = BeginsBy(target, shape);
    const Demand* best = nullptr;
    std::vector<Slot*> best_nodes;
    for (const auto& [other, waiting] : target.queue) {
      const Demand* head = *waiting.begin();
      if (other == shape || (best && InOrder()(best, head))) continue;
      bool borrows = other.seconds > 0 && begins && now + std::chrono::seconds(other.seconds) <= *begins;
      if (auto nodes = Choose(target, other, borrows); !nodes.empty()) {
        best = head;
        best_nodes = std::move(nodes);
      }
    }
    if (!best) return;
    out.push_back(Put(target, *best, std::move(best_nodes), now));
  }
  Unreserve(target);
}

std::vector<Placement> Index::Decide(Time now) {
  std::vector<Placement> placements;
  std::vector<Target*> dirty = std::exchange(dirty_, {});
  for (Target* target : dirty) DecideFor(*target, now, placements);
  for (Target* target : dirty) target->dirty = false;
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
  for (const Slot* slot : target.nodes) {
    if (!slot->open) continue;
    largest.gpus = std::max(largest.gpus, slot->all.gpus);
    largest.cores = std::max(largest.cores, slot->all.cores);
    largest.memory = std::max(largest.memory, slot->all.memory);
    capable += slot->all.Holds(shape.need);
    free += slot->left.Holds(shape.need);
  }
  if (demand.gpus > largest.gpus)
    return StrCat("it needs ", demand.gpus, " GPU(s) on one node and the largest node of '", demand.target, "' has ", largest.gpus);
  if (demand.cores > largest.cores)
    return StrCat("it needs ", demand.cores / 1000.0, " cores on one node and the largest node of '", demand.target, "' has ", largest.cores / 1000.0);
  if (demand.memory > largest.memory)
    return StrCat("it needs ", demand.memory, " MiB on one node and the largest node of '", demand.target, "' has ", largest.memory);
  int64_t ahead = 0;
  for (const auto& [other, waiting] : target.queue) ahead += std::distance(waiting.begin(), waiting.lower_bound(&demand));
  if (ahead > 0 && target.held >= target.slots)
    return StrCat("all ", target.slots, " slot(s) of '", demand.target, "' are in use and ", ahead, " run(s) are ahead of it");
  if (ahead > 0) {
    std::string why = StrCat(ahead, " run(s) are ahead of it on '", demand.target, "'");
    if (target.reserving) why += StrCat(", and '", target.reserving->run, "' holds ", target.reserved.size(), " node(s)");
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
  const Demand* first = nullptr;
  for (const auto& [shape, waiting] : target.queue) {
    lack.waiting += waiting.size();
    if (!first || InOrder()(*waiting.begin(), first)) first = *waiting.begin();
    // So many of the shape fit one node; a gang's lie on as many nodes as it has.
    int64_t each = size.slots;
    if (shape.need.gpus > 0) each = std::min<int64_t>(each, size.gpus / shape.need.gpus);
    if (shape.need.cores > 0 && size.cores > 0) each = std::min(each, size.cores / shape.need.cores);
    if (shape.need.memory > 0 && size.memory > 0) each = std::min(each, size.memory / shape.need.memory);
    each = std::max<int64_t>(each, 1);
    int64_t count = static_cast<int64_t>(waiting.size());
    nodes += shape.nodes == 1 ? (count + each - 1) / each : std::max<int64_t>(shape.nodes, (count * shape.nodes + each - 1) / each);
  }
  if (first) {
    lack.first = first->run;
    lack.first_nodes = std::max(1, first->nodes);
  }
  lack.nodes = static_cast<int>(std::min<int64_t>(nodes, most));
  return lack;
}

size_t Index::held(const std::string& node) const {
  auto it = nodes_.find(node);
  return it == nodes_.end() ? 0 : it->second.runs.size();
}

std::optional<Node> Index::Find(const std::string& node) const {
  auto it = nodes_.find(node);
  if (it == nodes_.end() || !it->second.target) return std::nullopt;
  return it->second.node;
}

}  // namespace ferry::scheduler
