// The client side of `ferry`: every command that talks to a server, help, completion. `server` and `agent` are the binary's own and come through
// hooks, so that this module knows no server.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ferry::cli {

struct Hooks {
  // `ferry server [start|stop|status] ...` and `ferry agent ...`: the words behind the name; returns the exit status.
  std::function<int(const std::vector<std::string>& words)> server;
  std::function<int(const std::vector<std::string>& words)> agent;
  std::string version = "0.1.0";  // of this binary
};

// The whole program. Returns the exit status.
int Main(int argc, char** argv, const Hooks& hooks);

}  // namespace ferry::cli
