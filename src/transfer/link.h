// The way to a server's blobs: a command and an agent each bring a connection of their own, and routes of their own.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "http/client.h"

namespace ferry::transfer {

struct Link {
  // One exchange. A status over 299 is the error that the server sent. For one thread at a time.
  std::function<Result<http::Reply>(http::Call)> exchange;
  std::string blobs;  // the routes: "/api/v1/blobs"
  bool near = false;  // the server is on this machine: what comes from it need not be compressed
};

// The link over a client, which outlives it.
Link LinkOver(http::Client& client, std::string blobs);

// An exchange with JSON both ways; null: no body. The path goes behind `link.blobs`.
Result<Json> Ask(const Link& link, std::string method, const std::string& path, const Json& body = {});

}  // namespace ferry::transfer
