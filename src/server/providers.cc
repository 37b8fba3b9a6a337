#include "server/providers.h"

#include "base/text.h"
#include "os/log.h"

namespace ferry::server {
namespace {

constexpr int kThreads = 4;
constexpr auto kLongestCall = std::chrono::minutes(5);
constexpr auto kBetweenLooks = std::chrono::seconds(30);

void Ignore(const Result<Json>&) {}

}  // namespace

void Providers::Do(const engine::Effect& effect) {
  Wish wish;
  if (auto* create = std::get_if<engine::CreateNode>(&effect))
    wish = {true, create->node, create->record};
  else if (auto* destroy = std::get_if<engine::DestroyNode>(&effect))
    wish = {false, destroy->node, destroy->record};
  else
    return;
  std::lock_guard lock(mutex_);
  std::string node = wish.node;
  if (wishes_.insert_or_assign(node, std::move(wish)).second) order_.push_back(node);
  changed_.notify_all();
}

void Providers::Start(engine::Engine& engine) {
  engine_ = &engine;
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this](std::stop_token stop) { Work(stop); });
  threads_.emplace_back([this](std::stop_token stop) { Compare(stop); });
}

void Providers::Stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  changed_.notify_all();
  threads_.clear();
}

Result<std::shared_ptr<compute::NodeProvider>> Providers::ProviderOf(const model::TargetRecord& target) {
  std::string key = target.Key();
  {
    std::lock_guard lock(mutex_);
    if (auto it = providers_.find(key); it != providers_.end()) return it->second;
  }
  TRY(auto made, make_(target));
  std::lock_guard lock(mutex_);
  return providers_.try_emplace(key, std::move(made)).first->second;
}

void Providers::Work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    auto ready = [&] { return std::find_if(order_.begin(), order_.end(), [&](const std::string& node) { return !at_work_.count(node); }); };
    if (!changed_.wait(lock, stop, [&] { return ready() != order_.end(); })) return;
    auto it = ready();
    std::string node = *it;
    order_.erase(it);
    Wish wish = std::move(wishes_.at(node));
    wishes_.erase(node);
    at_work_.insert(node);
    lock.unlock();
    compute::CallContext call{std::chrono::steady_clock::now() + kLongestCall, stop};
    auto provider = ProviderOf(wish.target);
    Result<void> done = provider.ok() ? (wish.create ? (*provider)->Create(node, call) : (*provider)->Destroy(node, call)) : Result<void>(provider.error());
    if (!done.ok())
      os::Log(os::Level::kWarning, wish.create ? "a node could not be made" : "a node could not be removed", {{"node", node}, {"error", done.error().message}});
    if (wish.create && done.ok())
      engine_->Do(engine::NodeMade{node}, Ignore);
    else if (wish.create)
      engine_->Do(engine::NodeFailed{node, done.error().message}, Ignore);
    else if (done.ok())
      engine_->Do(engine::NodeGone{node}, Ignore);
    lock.lock();
    at_work_.erase(node);
    changed_.notify_all();
  }
}

void Providers::Compare(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::vector<model::TargetRecord> targets;
    Time asked = Now();
    engine_->Look([&](const engine::Core& core) {
      for (const auto& [key, target] : core.targets())
        if (target.kind == model::TargetKind::kElastic) targets.push_back(target);
    });
    for (const model::TargetRecord& target : targets) {
      auto provider = ProviderOf(target);
      if (!provider.ok()) continue;
      auto nodes = (*provider)->List({std::chrono::steady_clock::now() + kLongestCall, stop});
      if (nodes.ok()) engine_->Do(engine::NodesListed{target.Key(), std::move(*nodes), asked}, Ignore);
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kBetweenLooks, [] { return false; });
  }
}

}  // namespace ferry::server
