// Nodes that are processes of this machine: an agent each, with a folder of its own. The default, needs nothing.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "compute/node_provider.h"

namespace ferry::compute {

struct ProcessSettings {
  std::string folder;    // one folder per node below it
  std::string program;   // ferry-agent
  std::string url_file;  // where agents find the server
  std::string target;    // key of the target that its nodes belong to
  int slots = 1;
  std::function<std::string(const std::string& node)> token;
  std::vector<std::string> options;  // further flags for the agents
};

class ProcessProvider : public NodeProvider {
 public:
  explicit ProcessProvider(ProcessSettings settings) : settings_(std::move(settings)) {}
  // An agent that is there and does not run any more is started again.
  Result<void> Create(const std::string& node, const CallContext& call) override;
  Result<void> Destroy(const std::string& node, const CallContext& call) override;
  Result<std::vector<std::string>> List(const CallContext& call) override;

 private:
  ProcessSettings settings_;
  std::mutex mutex_;
  std::map<std::string, int> children_;  // agents that this process started and has to wait for
};

}  // namespace ferry::compute
