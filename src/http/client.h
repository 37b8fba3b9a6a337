// HTTP/1.1 client over blocking sockets: keep-alive, TLS, streamed bodies both ways, server-sent events.
// A Client is used by one thread at a time; make one per thread. No Boost, no global state; light enough for the agent.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ferry::http {

struct Url {
  std::string scheme;  // "http", "https" or "unix" (unix:///path/to/socket)
  std::string host;
  uint16_t port = 0;
  std::string path;
};
// kInvalid "url.invalid".
Result<Url> ParseUrl(std::string_view text);

struct ClientSettings {
  std::string base;   // "http://127.0.0.1:8472"
  std::string token;  // sent as "Authorization: Bearer ..." when not empty
  std::string user_agent = "ferry";
  std::string ca_file;  // PEM of an authority to trust beside the system's; empty: the system's alone
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds io_timeout{60000};  // without a byte
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

struct Call {
  std::string method = "GET";
  std::string path;  // with the query
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // Instead of `body`: called until it returns an empty string; sent chunked.
  std::function<Result<std::string>()> body_source;
  // Instead of Reply::body (2xx only): receives the body as it arrives. Returning an error ends the call with it.
  std::function<Result<void>(std::string_view)> body_sink;
};

// One server-sent event.
struct Event {
  std::string event;
  std::string id;
  std::string data;
};

class Client {
 public:
  explicit Client(ClientSettings settings);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // One exchange. A reply of any status is success here. A connection that the server closed while idle is opened anew, once, and only when
  // nothing of the request was answered. kUnavailable "http.unreachable" names the address; kTimeout "http.timeout"; `stop` interrupts within
  // 50 ms (kUnavailable "http.stopped").
  Result<Reply> Do(const Call& call, std::stop_token stop = {});

  // Reads server-sent events until the stream ends (success), an error, or `on_event` returns false (success; the connection closes).
  // `last_id` is sent as Last-Event-ID. Comments (heartbeats) keep the timeout away and are not reported. A status over 299 is its error
  // (ErrorFromReply).
  Result<void> Events(const std::string& path, const std::string& last_id, const std::function<bool(const Event&)>& on_event, std::stop_token stop = {});

  // Closes the kept connection, if any.
  void Close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The Error a Ferry server put into a reply ({"error": {"code", "slug", "message", "field"}}), or one made from the status.
Error ErrorFromReply(const Reply& reply);

}  // namespace ferry::http
