// The open command streams of agents: what the engine tells a node leaves here. Telling a node that is not connected does nothing; its next hello
// has everything said again. Safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/server.h"
#include "model/message.h"

namespace ferry::rest {

class AgentChannels {
 public:
  // Replaces an older stream of the same node.
  void Open(const std::string& node, std::shared_ptr<http::Stream> stream);
  void Tell(const std::string& node, const model::AgentMessage& message);
  // Keeps idle streams alive through whatever stands between.
  void Heartbeat();
  bool Connected(const std::string& node) const;
  void CloseAll();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<http::Stream>> streams_;
};

}  // namespace ferry::rest
