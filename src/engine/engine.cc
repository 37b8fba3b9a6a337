#include "engine/engine.h"

#include <future>

namespace ferry::engine {

Engine::Engine(store::Store& store, CoreSettings settings, Hooks hooks) : hooks_(std::move(hooks)), core_(store, settings) {}

Result<std::unique_ptr<Engine>> Engine::Start(store::Store& store, CoreSettings settings, Hooks hooks) {
  std::unique_ptr<Engine> engine(new Engine(store, settings, std::move(hooks)));
  TRY_VOID(engine->core_.Recover(Now()));
  for (const auto& [id, run] : engine->core_.live()) engine->NoteLease(id);
  engine->counts_.live = engine->core_.live().size();
  // Nobody is connected yet; what is wanted of nodes is said again at each one's hello.
  for (Effect& effect : engine->core_.TakeEffects())
    if (!std::holds_alternative<Tell>(effect) && !std::holds_alternative<RunChanged>(effect) && engine->hooks_.compute) engine->hooks_.compute(effect);
  engine->thread_ = std::thread([e = engine.get()] { e->Run(); });
  return engine;
}

Engine::~Engine() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Engine::Do(Input input, Reply reply) {
  bool wake;
  {
    std::lock_guard lock(mutex_);
    wake = inbox_.empty();
    inbox_.emplace_back(std::move(input), std::move(reply));
  }
  if (wake) changed_.notify_one();
}

Result<Json> Engine::DoAndWait(Input input) {
  std::promise<Result<Json>> promise;
  auto future = promise.get_future();
  Do(std::move(input), [&](Result<Json> result) { promise.set_value(std::move(result)); });
  return future.get();
}

void Engine::Look(const std::function<void(const Core&)>& look) {
  std::promise<void> done;
  {
    std::lock_guard lock(mutex_);
    looks_.push_back([&](const Core& core) {
      look(core);
      done.set_value();
    });
  }
  changed_.notify_one();
  done.get_future().get();
}

std::optional<model::Lease> Engine::LeaseFor(const model::AttemptKey& key) const {
  std::shared_lock lock(lease_mutex_);
  auto it = leases_.find(key.run);
  if (it == leases_.end() || it->second.attempt != key.attempt) return std::nullopt;
  return it->second.lease;
}

std::optional<Engine::Owner> Engine::OwnerOf(const model::AttemptKey& key) const {
  std::shared_lock lock(lease_mutex_);
  auto it = leases_.find(key.run);
  if (it == leases_.end() || it->second.attempt != key.attempt) return std::nullopt;
  return it->second.owner;
}

void Engine::NoteLease(const std::string& run) {
  auto it = core_.live().find(run);
  const model::Lease* lease = it == core_.live().end() ? nullptr : model::LeaseOf(it->second.attempt().phase);
  std::unique_lock lock(lease_mutex_);
  if (lease)
    leases_[run] = {it->second.attempt().number, *lease, {it->second.user, it->second.workspace}};
  else
    leases_.erase(run);
}

Engine::Counts Engine::counts() const {
  std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.queued = inbox_.size();
  return counts;
}

void Engine::Run() {
  std::vector<std::pair<Input, Reply>> batch;
  std::vector<std::function<void(const Core&)>> looks;
  Time next_tick = Now() + std::chrono::seconds(5);
  for (;;) {
    batch.clear();
    looks.clear();
    {
      std::unique_lock lock(mutex_);
      auto wait = next_tick - Now();
      changed_.wait_for(lock, std::max(Duration(0), wait), [this] { return stop_ || !inbox_.empty() || !looks_.empty(); });
      batch.swap(inbox_);
      looks.swap(looks_);
      if (stop_ && batch.empty() && looks.empty()) return;
    }
    for (auto& look : looks) look(core_);
    if (Now() >= next_tick) {
      batch.emplace_back(Tick{}, [](const Result<Json>&) {});
      next_tick = Now() + std::chrono::seconds(5);
    }
    if (!batch.empty()) Batch(batch);
  }
}

void Engine::Batch(std::vector<std::pair<Input, Reply>>& batch) {
  Time now = Now();
  std::vector<Result<Json>> results;
  results.reserve(batch.size());
  for (auto& [input, reply] : batch) results.push_back(core_.Apply(input, now));
  auto committed = core_.Commit(now);
  {
    std::lock_guard lock(mutex_);
    counts_.inputs += batch.size();
    ++counts_.commits;
    counts_.failed_commits += !committed.ok();
    counts_.live = core_.live().size();
  }
  // Leases before replies: who is answered may write at once.
  DoEffects();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!committed.ok() && results[i].ok())
      batch[i].second(committed.error());
    else
      batch[i].second(std::move(results[i]));
  }
}

void Engine::DoEffects() {
  for (Effect& effect : core_.TakeEffects()) {
    if (auto* tell = std::get_if<Tell>(&effect)) {
      if (hooks_.tell) hooks_.tell(tell->node, tell->message);
    } else if (auto* changed = std::get_if<RunChanged>(&effect)) {
      NoteLease(changed->run);
      if (hooks_.run_changed) hooks_.run_changed(changed->run, changed->terminal);
    } else if (std::holds_alternative<AccessChanged>(effect)) {
      if (hooks_.access_changed) hooks_.access_changed();
    } else if (hooks_.compute) {
      hooks_.compute(effect);
    }
  }
}

}  // namespace ferry::engine
