// Logs and live events of runs.
#include "base/text.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

const std::vector<std::pair<std::string, std::string>> kEventHeaders = {
    {"content-type", "text/event-stream"}, {"cache-control", "no-store"}, {"x-accel-buffering", "no"}};

}  // namespace

void FollowRuns(const Parts& parts, Call, http::Responder responder) { parts.feed.FollowAll(responder.Begin(200, kEventHeaders)); }

void FollowRun(const Parts& parts, Call call, http::Responder responder) {
  auto run = LoadRun(parts, call.params["id"]);
  if (!run.ok()) return Answer(responder, run.error());
  Following following;
  following.run = run->id;
  following.logs = call.head.Query("logs", "1") != "0";
  following.metrics = call.head.Query("metrics") == "1";
  following.all_streams = call.head.Query("streams") == "all";
  std::string from = call.head.Header("last-event-id");
  if (from.empty()) from = call.head.Query("from");
  following.offsets = Feed::ParseId(from);
  parts.feed.Follow(std::move(following), responder.Begin(200, kEventHeaders));
}

void ListLogs(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(model::Run run, LoadRun(parts, call.params["id"]));
    Json streams = Json::MakeArray();
    for (int attempt = 1; attempt <= run.attempt().number; ++attempt) {
      TRY(auto infos, parts.logs.Streams(model::AttemptKey{run.id, attempt}.Name()));
      for (const logs::StreamInfo& info : infos) streams.Push(Json::MakeObject({{"name", info.name}, {"size", info.size}, {"attempt", attempt}}));
    }
    return Json::MakeObject({{"streams", std::move(streams)}});
  };
  Answer(responder, list());
}

void ReadLog(const Parts& parts, Call call, http::Responder responder) {
  auto read = [&]() -> Result<std::string> {
    TRY(model::Run run, LoadRun(parts, call.params["id"]));
    TRY(int64_t attempt, IntParameter(call, "attempt", run.attempt().number, 1, run.attempt().number));
    TRY(int64_t offset, IntParameter(call, "offset", 0, 0, INT64_MAX / 2));
    TRY(int64_t limit, IntParameter(call, "limit", 4 << 20, 1, 64 << 20));
    return parts.logs.Read(model::AttemptKey{run.id, static_cast<int>(attempt)}.Name(), call.params["path"], static_cast<uint64_t>(offset),
                           static_cast<size_t>(limit));
  };
  auto bytes = read();
  if (!bytes.ok()) return Answer(responder, bytes.error());
  responder.Send(
      {200, {{"content-type", "text/plain; charset=utf-8"}, {"x-content-type-options", "nosniff"}, {"cache-control", "no-store"}}, std::move(*bytes)});
}

}  // namespace ferry::rest
