// Makes and removes nodes: machines, containers or processes that run a long-lived agent. The agent dials the server by itself; nothing here waits for
// it. Implemented by compute/fake today; process, container and ssh providers come behind the same three calls.
// Safe to call from several threads. Keeps nothing that a restart would lose.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace ferry::compute {

// How long a call that can leave the machine may take, and who may end it early.
struct CallContext {
  std::chrono::steady_clock::time_point deadline;
  std::stop_token stop;
};

class NodeProvider {
 public:
  virtual ~NodeProvider() = default;
  // Makes a node. Idempotent on `node`: one that is there already is success. Returns once it is on its way.
  virtual Result<void> Create(const std::string& node, const CallContext& call) = 0;
  // Removes a node and all that runs on it. Unknown nodes are success.
  virtual Result<void> Destroy(const std::string& node, const CallContext& call) = 0;
  // The names of all nodes that exist or are on their way.
  virtual Result<std::vector<std::string>> List(const CallContext& call) = 0;
};

}  // namespace ferry::compute
