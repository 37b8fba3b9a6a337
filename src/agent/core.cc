#include "agent/core.h"

#include <algorithm>

namespace ferry::agent {

using model::AgentEvent;
using model::AttemptKey;

namespace {
bool IsLast(const model::AttemptInput& input) { return std::holds_alternative<model::Collected>(input) || std::holds_alternative<model::PrepareFailed>(input); }
}  // namespace

void Core::Say(const AttemptKey&, State& state, model::AttemptInput input) { state.pending.push_back(std::move(input)); }

std::vector<Action> Core::Adopt(const std::vector<Remains>& remains, int64_t generation) {
  generation_ = generation;
  std::vector<Action> actions;
  for (const Remains& r : remains) {
    const AttemptKey& key = r.assign.key;
    State& state = attempts_[key];
    state.assign = r.assign;
    state.stop = r.stop;
    Say(key, state, model::Accepted{});
    if (r.failed) {
      state.phase = Phase::kDone;
      Say(key, state, *r.failed);
    } else if (r.exit) {
      state.phase = Phase::kCollecting;
      Say(key, state, model::Exited{*r.exit});
      actions.push_back(Collect{key, r.stop});
    } else if (r.launched) {
      state.phase = Phase::kRunning;
      Say(key, state, model::Started{});
      if (r.stop) actions.push_back(Kill{key});
    } else {
      state.phase = Phase::kPreparing;
      actions.push_back(Prepare{key});
    }
  }
  return actions;
}

std::vector<Action> Core::OnMessage(const model::AgentMessage& message) {
  if (auto* assign = std::get_if<model::Assign>(&message)) {
    if (assign->generation > generation_ && early_.size() < 10'000) early_.push_back(*assign);
    if (assign->generation != generation_ || done_.count(assign->key)) return {};
    // One that could not be kept, for want of room perhaps, is tried again whenever it is said again.
    if (auto it = attempts_.find(assign->key); it != attempts_.end() && it->second.phase != Phase::kKeeping) return {};
    State& state = attempts_[assign->key];
    state.assign = *assign;
    return {Keep{*assign}};
  }
  if (auto* stop = std::get_if<model::Stop>(&message)) {
    auto it = attempts_.find(stop->key);
    if (it == attempts_.end()) {
      AgentEvent event{stop->key, model::Collected{}};
      done_.insert(stop->key);
      strays_.push_back(std::move(event));
      return {};
    }
    if (it->second.stop) return {};
    it->second.stop = true;
    if (it->second.phase == Phase::kRunning) return {Kill{stop->key}};
    if (it->second.phase == Phase::kCollecting) return {Collect{stop->key, true}};
    return {};
  }
  const AttemptKey& key = std::get<model::Forget>(message).key;
  std::erase_if(strays_, [&](const AgentEvent& event) { return event.key == key; });
  if (!attempts_.count(key)) return {};
  return Drop(key);
}

std::vector<Action> Core::Drop(const AttemptKey& key) {
  attempts_.erase(key);
  done_.insert(key);
  if (done_.size() > 100'000) done_.erase(done_.begin());
  return {Remove{key}};
}

std::vector<Action> Core::OnKept(const AttemptKey& key) {
  auto it = attempts_.find(key);
  if (it == attempts_.end() || it->second.phase != Phase::kKeeping) return {};
  it->second.phase = Phase::kPreparing;
  Say(key, it->second, model::Accepted{});
  if (it->second.stop) {
    it->second.phase = Phase::kCollecting;
    return {Collect{key, true}};
  }
  return {Prepare{key}};
}

std::vector<Action> Core::OnStarted(const AttemptKey& key) {
  auto it = attempts_.find(key);
  if (it == attempts_.end() || it->second.phase != Phase::kPreparing) return {};
  it->second.phase = Phase::kRunning;
  Say(key, it->second, model::Started{});
  if (it->second.stop) return {Kill{key}};
  return {};
}

std::vector<Action> Core::OnFailed(const AttemptKey& key, const model::PrepareFailed& failure) {
  auto it = attempts_.find(key);
  if (it == attempts_.end() || it->second.phase != Phase::kPreparing) return {};
  it->second.phase = Phase::kDone;
  Say(key, it->second, failure);
  return {};
}

std::vector<Action> Core::OnExited(const AttemptKey& key, const model::Exit& exit) {
  auto it = attempts_.find(key);
  if (it == attempts_.end() || (it->second.phase != Phase::kRunning && it->second.phase != Phase::kPreparing)) return {};
  it->second.phase = Phase::kCollecting;
  Say(key, it->second, model::Exited{exit});
  if (faults_.forget_early) {
    attempts_.erase(it);
    return {Remove{key}};
  }
  return {Collect{key, it->second.stop}};
}

std::vector<Action> Core::OnCollected(const AttemptKey& key, std::string problem) {
  auto it = attempts_.find(key);
  if (it == attempts_.end() || it->second.phase != Phase::kCollecting) return {};
  it->second.phase = Phase::kDone;
  Say(key, it->second, model::Collected{std::move(problem)});
  return {};
}

std::vector<Action> Core::OnWelcome(int64_t generation, bool fenced) {
  std::vector<Action> actions;
  if (fenced || generation != generation_) {
    for (auto it = attempts_.begin(); it != attempts_.end();) {
      if (it->second.assign.generation == generation) {
        ++it;
        continue;
      }
      actions.push_back(Remove{it->first});
      done_.insert(it->first);
      it = attempts_.erase(it);
    }
    strays_.clear();
  }
  generation_ = generation;
  for (const model::Assign& assign : std::exchange(early_, {}))
    for (Action& action : OnMessage(assign)) actions.push_back(std::move(action));
  return actions;
}

std::vector<AgentEvent> Core::Pending() const {
  std::vector<AgentEvent> events = strays_;
  for (const auto& [key, state] : attempts_)
    for (const model::AttemptInput& input : state.pending) events.push_back({key, input});
  return events;
}

std::vector<Action> Core::OnAnswered(const std::vector<AgentEvent>& events) {
  std::vector<Action> actions;
  std::map<AttemptKey, size_t> answered;
  bool strays = false;
  for (const AgentEvent& event : events) {
    if (attempts_.count(event.key))
      ++answered[event.key];
    else
      strays = true;
  }
  if (strays)
    std::erase_if(strays_, [&](const AgentEvent& stray) {
      return std::any_of(events.begin(), events.end(), [&](const AgentEvent& event) { return event.key == stray.key; });
    });
  for (const auto& [key, count] : answered) {
    State& state = attempts_.at(key);
    size_t n = std::min(count, state.pending.size());
    bool last = false;
    for (size_t i = 0; i < n; ++i) last |= IsLast(state.pending[i]);
    state.pending.erase(state.pending.begin(), state.pending.begin() + static_cast<ptrdiff_t>(n));
    if (last)
      for (Action& action : Drop(key)) actions.push_back(std::move(action));
  }
  return actions;
}

void Core::OnSent() {
  if (!faults_.lose_events) return;
  for (auto& [key, state] : attempts_) state.pending.clear();
}

std::vector<AttemptKey> Core::Inventory() const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, state] : attempts_)
    if (state.phase != Phase::kKeeping) keys.push_back(key);
  return keys;
}

bool Core::Stopping(const AttemptKey& key) const {
  auto it = attempts_.find(key);
  return it != attempts_.end() && it->second.stop;
}

}  // namespace ferry::agent
