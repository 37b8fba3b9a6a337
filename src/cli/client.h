// The server as a command sees it: found by environment or data folder, started when it is the user's own and does not run, asked over one
// kept connection. For one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "http/client.h"
#include "transfer/link.h"

namespace ferry::cli {

// The data folder: FERRY_HOME, else ~/.ferry.
std::string HomeOfFerry();
// The path with the user's home folder as "~".
std::string ShortPath(const std::string& path);

// Where a server is, and the token for it.
struct Address {
  std::string url;
  std::string token;
  std::string home;  // of this user's own server; empty when FERRY_URL names it
  int pid = 0;       // of this user's own server

  // What environment and data folder say. kNotFound "server.none" when no server has written its address there; kInvalid
  // "server.address" for a file that is not readable as one.
  static Result<Address> Find();
};

struct SessionSettings {
  std::string user_agent = "ferry";
  std::function<void(std::string_view)> note;   // takes a line for the user; may be empty
  std::function<void(std::string_view)> debug;  // takes a line per request; may be empty
  // Starts this user's own server and returns when it is healthy. Empty: `<this binary> server start --quiet`.
  std::function<Result<void>()> start;
};

class Session {
 public:
  // Finds the server; starts this user's own when there is none, once, whoever else does the same now.
  static Result<std::unique_ptr<Session>> Open(SessionSettings settings);
  // The same, and never starts one. kNotFound "server.none".
  static Result<std::unique_ptr<Session>> OpenRunning(SessionSettings settings);

  const std::string& url() const { return address_.url; }
  // Ends calls in flight and refuses later ones with "http.stopped".
  void set_stop(std::stop_token stop) { stop_ = std::move(stop); }

  // One exchange. A status over 299 is the error that the server sent; another protocol is kConflict "server.protocol". The first call of a
  // session starts this user's own server when it is gone.
  Result<http::Reply> Do(http::Call call);
  // The same with JSON bodies.
  Result<Json> Get(const std::string& path);
  Result<Json> Send(const std::string& method, const std::string& path, const Json& body = Json::MakeObject());
  // The members of the lists named `list` of every page.
  Result<Json> GetAll(const std::string& path, std::vector<std::pair<std::string, std::string>> parameters, const char* list);
  // Server-sent events; see http::Client.
  Result<void> Events(const std::string& path, const std::string& last_id, const std::function<bool(const http::Event&)>& on_event);

  // Looks again where the server is, after it could not be reached: one that was started anew has another port.
  void Relocate();

 private:
  Session(Address address, SessionSettings settings);
  void Connect();
  Result<http::Reply> Exchange(const http::Call& call);
  // Whether the process of this user's own server is gone, or the server at least.
  bool IsGone() const;
  bool HoldsNoLock() const;
  static Result<Address> Start(const SessionSettings& settings);

  Address address_;
  SessionSettings settings_;
  std::stop_token stop_;
  std::unique_ptr<http::Client> client_;
  bool reached_ = false;  // an answer came at least once
};

// The session as the way to the server's blobs; it outlives the link.
transfer::Link BlobLink(Session& session);

// Whether trying again may help: the server could not be reached, fell silent or is not ready.
bool IsConnectionError(const Error& error);

// "/api/v1/" and the parts, percent-encoded, with a slash between them.
std::string ApiPath(std::initializer_list<std::string_view> parts);
// A path of several names below: each name is encoded, the slashes stay.
std::string EncodePath(std::string_view path);
// "?a=b&c=d" of those with a value; "" without any.
std::string QueryText(const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace ferry::cli
