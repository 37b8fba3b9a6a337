#include "autoscaler/fleet.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::autoscaler {
namespace {

std::string Nodes(int count) { return StrCat(count, count == 1 ? " node" : " nodes"); }

}  // namespace

void Fleet::Set(const std::string& node, NodeState state, Time since) {
  auto [it, fresh] = nodes_.try_emplace(node, Known{state, since});
  if (!fresh) {
    if (it->second.state == state) return;
    int before = static_cast<int>(it->second.state);
    by_since_[before].erase({it->second.since, node});
    --counts_[before];
    it->second = {state, since};
  }
  by_since_[static_cast<int>(state)].insert({since, node});
  ++counts_[static_cast<int>(state)];
}

void Fleet::Remove(const std::string& node) {
  auto it = nodes_.find(node);
  if (it == nodes_.end()) return;
  int state = static_cast<int>(it->second.state);
  by_since_[state].erase({it->second.since, node});
  --counts_[state];
  nodes_.erase(it);
}

void Fleet::Failed(Time now, std::string message) {
  ++failures_;
  failed_ = now;
  message_ = std::move(message);
}

void Fleet::Made() {
  failures_ = 0;
  message_.clear();
}

std::optional<Time> Fleet::PausedUntil(const Rules& rules) const {
  if (failures_ == 0) return std::nullopt;
  Duration pause = rules.first_pause * (int64_t{1} << std::min(failures_ - 1, 20));
  return failed_ + std::min(pause, rules.longest_pause);
}

Decision Fleet::Decide(const Rules& rules, const Need& need, Time now) const {
  Decision decision;
  auto later = [&](Time at) {
    if (!decision.next || at < *decision.next) decision.next = at;
  };
  const int coming = count(NodeState::kComing), idle = count(NodeState::kIdle), busy = count(NodeState::kBusy);

  for (const auto& [since, node] : by_since_[static_cast<int>(NodeState::kComing)]) {
    if (now - since < rules.arrival) {
      later(since + rules.arrival);
      break;
    }
    decision.give_up.push_back(node);
  }
  const int given_up = static_cast<int>(decision.give_up.size());
  const int there = coming - given_up + idle + busy;
  const int wanted = std::clamp(busy + need.nodes, std::min(rules.min, rules.max), rules.max);

  if (there < wanted) {
    auto paused = PausedUntil(rules);
    if (paused && now < *paused) {
      later(*paused);
      decision.reason =
          StrCat(Nodes(wanted - there), " short: the provider failed ", failures_ == 1 ? std::string("once") : StrCat(failures_, " times in a row"), " (",
                 message_, "); it is asked again in ", FormatDuration(*paused - now));
      return decision;
    }
    // Who failed is first asked for one.
    decision.add = failures_ > 0 ? 1 : wanted - there;
    // A node that leaves is still there; a provider may have room for no more than max.
    decision.add = std::min(decision.add, std::max(0, rules.max - there));
    if (decision.add > 0) {
      std::string why =
          need.nodes > 0 && busy + need.nodes > rules.min
              ? StrCat("run '", need.first, "' needs ", need.first_nodes, need.waiting > 1 ? StrCat(", ", need.waiting, " runs wait,") : std::string(), " and ",
                       idle, idle == 1 ? " is" : " are", " idle", coming - given_up > 0 ? StrCat(", ", coming - given_up, " coming") : std::string())
              : StrCat("min_nodes is ", rules.min, " and ", there, there == 1 ? " is" : " are", " there");
      decision.reason = StrCat("+", Nodes(decision.add), " because ", why);
      if (busy + need.nodes > rules.max) decision.reason += StrCat("; no more because max_nodes is ", rules.max);
    }
    return decision;
  }

  // Beyond max a node goes as soon as it has no work; beyond what is wanted once it has had none for long.
  const int surplus = there - wanted;
  int over = there - rules.max, removed = 0;
  Duration longest{0};
  for (const auto& [since, node] : by_since_[static_cast<int>(NodeState::kIdle)]) {
    if (removed >= surplus) break;
    if (over <= 0 && now - since < rules.idle) {
      later(since + rules.idle);
      break;
    }
    longest = std::max(longest, now - since);
    decision.remove.push_back(node);
    ++removed;
    --over;
  }
  if (removed > 0) {
    decision.reason = StrCat("-", Nodes(removed), " because ",
                             there > rules.max ? StrCat("max_nodes is ", rules.max, " and ", there, " are there")
                                               : StrCat(removed == 1 ? "it has" : "they have", " had no work for ", FormatDuration(rules.idle)));
  } else if (need.nodes > 0 && busy + need.nodes > rules.max) {
    decision.reason = StrCat("no more nodes because max_nodes is ", rules.max, " and ", busy, busy == 1 ? " is" : " are", " busy");
  } else if (need.nodes > 0 && coming > 0) {
    decision.reason = StrCat("nothing more: ", Nodes(coming), " coming");
  } else if (idle > 0 && surplus > 0 && decision.next) {
    decision.reason = StrCat("nothing: ", Nodes(idle), " idle, the first may go in ", FormatDuration(*decision.next - now));
  } else {
    decision.reason = StrCat("nothing: ", busy, " busy, ", idle, " idle");
  }
  return decision;
}

}  // namespace ferry::autoscaler
