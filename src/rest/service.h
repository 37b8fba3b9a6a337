// The routes under /api/v1 and beside it, as one http::Service: a table of method, path, need and handler (service.cc), handlers by noun
// (runs.cc, run_changes.cc, logs.cc, metrics.cc, blobs.cc, environments.cc, models.cc, datasets.cc, agents.cc, admin.cc, workspaces.cc, secrets.cc,
// datastores.cc, files.cc, run_data.cc, agent_data.cc). Translates between the wire and the engine; decides nothing itself.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "blob/blob_store.h"
#include "data/file_store.h"
#include "engine/engine.h"
#include "http/server.h"
#include "logs/log_store.h"
#include "rest/access.h"
#include "rest/channels.h"
#include "rest/feed.h"
#include "rest/workers.h"
#include "series/series.h"
#include "store/store.h"

namespace ferry::rest {

// What the handlers work on. All outlive the service.
struct Parts {
  store::Store& store;
  engine::Engine& engine;
  blob::BlobStore& blobs;
  series::SeriesStore& series;
  logs::LogStore& logs;
  Access& access;
  AgentChannels& channels;
  Feed& feed;
  std::string version;
  std::string home;                // the data folder, for what people are told
  std::function<void()> shutdown;  // ends the server, soon
  Workers& workers;
  // The files of a datastore whose secret is open. May block.
  std::function<Result<std::shared_ptr<data::FileStore>>(const model::Datastore& datastore)> open_files;
};

// A request as handlers see it.
struct Call {
  http::Head head;
  std::string body;
  std::map<std::string, std::string> params;  // of the path, decoded
  Identity identity;
};

struct Route {
  const char* method;
  const char* path;  // "/api/v1/runs/{id}", "{path...}" takes the rest
  Need need;
  RunToken run_token;
  uint64_t body_limit;
  void (*handler)(const Parts& parts, Call call, http::Responder responder);
  // Instead of handler: takes the body as it arrives.
  std::unique_ptr<http::BodySink> (*sink)(const Parts& parts, const Call& call) = nullptr;
};

// Every route there is. The one place that decides who may do what; docs and tests read it.
const std::vector<Route>& Routes();

class Service : public http::Service {
 public:
  explicit Service(Parts parts) : parts_(std::move(parts)) {}
  std::variant<http::Buffered, std::unique_ptr<http::BodySink>, http::Response> Admit(const http::Head& head) override;
  void Handle(http::Head head, std::string body, http::Responder responder) override;

  struct Counters {
    std::atomic<uint64_t> requests{0};
    std::atomic<uint64_t> refused{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  // What a run token stands for while its attempt lives. kUnauthorized "auth.run_ended" or "auth.unknown".
  Result<void> ActAsUser(Identity& identity) const;
  // The route and the call for it, or the answer that refuses.
  std::variant<std::pair<const Route*, Call>, http::Response> Resolve(const http::Head& head);
  Parts parts_;
  Counters counters_;
};

// --- for handlers
http::Response JsonResponse(int status, const Json& json);
http::Response ErrorResponse(const Error& error);
// Sends a value or its error.
void Answer(const http::Responder& responder, const Result<Json>& result, int status = 200);
// The body as an object. kInvalid "json.malformed" or "body.not_object".
Result<Json> BodyObject(const Call& call);
// A query parameter as a whole number within bounds. kInvalid names it.
Result<int64_t> IntParameter(const Call& call, std::string_view name, int64_t other, int64_t low, int64_t high);
// The workspace that a request is about: `given`, else the one its token is bound to, else "default". kForbidden for one its token may not touch.
Result<std::string> WorkspaceOf(const Call& call, std::string_view given);
// The run of the path, as committed. kNotFound.
Result<model::Run> LoadRun(const Parts& parts, const std::string& id);

}  // namespace ferry::rest
