#include "rest/channels.h"

namespace ferry::rest {

void AgentChannels::Open(const std::string& node, std::shared_ptr<http::Stream> stream) {
  std::shared_ptr<http::Stream> older;
  {
    std::lock_guard lock(mutex_);
    older = std::exchange(streams_[node], stream);
  }
  stream->Write(http::FormatEvent("open", "", "{}"));
}

void AgentChannels::Tell(const std::string& node, const model::AgentMessage& message) {
  std::shared_ptr<http::Stream> stream;
  {
    std::lock_guard lock(mutex_);
    auto it = streams_.find(node);
    if (it == streams_.end()) return;
    stream = it->second;
  }
  if (stream->Write(http::FormatEvent("message", "", model::ToJson(message).Dump()))) return;
  std::lock_guard lock(mutex_);
  if (auto it = streams_.find(node); it != streams_.end() && it->second == stream) streams_.erase(it);
}

void AgentChannels::Heartbeat() {
  std::lock_guard lock(mutex_);
  for (auto it = streams_.begin(); it != streams_.end();) it = it->second->Write(": still here\n\n") ? std::next(it) : streams_.erase(it);
}

bool AgentChannels::Connected(const std::string& node) const {
  std::lock_guard lock(mutex_);
  return streams_.count(node) > 0;
}

void AgentChannels::CloseAll() {
  std::lock_guard lock(mutex_);
  streams_.clear();
}

}  // namespace ferry::rest
