// Does what the engine wants of node providers, on a few threads: one call at a time for a node, the latest wish last. What comes of it goes back to the
// engine as an input. Nothing is kept here that a restart would lose: the engine wants again what was not done.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "compute/node_provider.h"
#include "engine/engine.h"

namespace ferry::server {

class Providers {
 public:
  // The provider for a target, or why there is none.
  using Make = std::function<Result<std::unique_ptr<compute::NodeProvider>>(const model::TargetRecord& target)>;
  explicit Providers(Make make) : make_(std::move(make)) {}
  ~Providers() { Stop(); }

  // Takes an effect of the engine's. Never blocks; may be called before Start.
  void Do(const engine::Effect& effect);
  // Begins to work, and to compare what the providers have with what the engine knows.
  void Start(engine::Engine& engine);
  void Stop();

 private:
  struct Wish {
    bool create = false;
    std::string node;
    model::TargetRecord target;
  };
  void Work(std::stop_token stop);
  void Compare(std::stop_token stop);
  Result<std::shared_ptr<compute::NodeProvider>> ProviderOf(const model::TargetRecord& target);

  Make make_;
  engine::Engine* engine_ = nullptr;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> order_;       // nodes with a wish, in the order of the first
  std::map<std::string, Wish> wishes_;  // the latest of each
  std::set<std::string> at_work_;       // nodes that a thread is busy with
  std::map<std::string, std::shared_ptr<compute::NodeProvider>> providers_;
  std::vector<std::jthread> threads_;
};

}  // namespace ferry::server
