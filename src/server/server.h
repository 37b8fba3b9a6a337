// The server process: opens the stores, starts the engine, the routes and the local agent, and ends in order. The only place that knows every
// concrete type.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/settings.h"

namespace ferry::server {

class Server {
 public:
  // Recovers from whatever the data folder holds and serves. kConflict "server.running" when another server holds the folder.
  // `agent_program` is the static agent's bytes.
  static Result<std::unique_ptr<Server>> Start(const Settings& settings, const std::string& version, std::string_view agent_program);
  virtual ~Server() = default;
  virtual const std::string& url() const = 0;
  // Blocks until someone asks for the end: a signal, or POST /api/v1/shutdown.
  virtual void WaitForEnd() = 0;
  virtual void RequestEnd() = 0;
};

}  // namespace ferry::server
