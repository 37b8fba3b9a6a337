// What agents say. A report's logs and metrics are durable before its events reach the engine, and all of it before it is answered.
#include <atomic>

#include "base/text.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

// The file of a run that holds what exactly was in its environment.
constexpr const char* kLockPath = "environment/lock.json";

Result<void> CheckNode(const Call& call, const std::string& node) {
  if (node == call.identity.node) return {};
  return MakeError(Code::kForbidden, "agent.other_node", StrCat("the token belongs to node '", call.identity.node, "', not to '", node.substr(0, 100), "'"),
                   "node");
}

model::AttemptKey KeyOf(const Json& item) { return {item.GetString("run"), static_cast<int>(item.GetInt("attempt", 1))}; }

const Json::Array& ListOf(const Json& body, std::string_view key) {
  static const Json::Array none;
  const Json* list = body.Find(key);
  return list && list->is_array() ? list->as_array() : none;
}

// A report on its way: what waits for its metrics to be durable.
struct Pending {
  Pending(const Parts& p, http::Responder r) : parts(&p), responder(std::move(r)) {}
  const Parts* parts;
  http::Responder responder;
  engine::AgentReport report;
  std::vector<std::string> ended;     // attempts whose logs must reach the disk
  std::vector<std::string> measured;  // runs whose metric summaries are final now
  std::atomic<size_t> waiting{1};
  std::mutex mutex;
  std::optional<Error> failed;
};

void Finish(const std::shared_ptr<Pending>& pending) {
  const Parts& parts = *pending->parts;
  if (pending->failed) return Answer(pending->responder, *pending->failed);
  if (!pending->ended.empty())
    if (auto synced = parts.logs.Sync(pending->ended); !synced.ok()) return Answer(pending->responder, synced.error());
  for (const std::string& run : pending->measured)
    if (auto summaries = parts.series.Summaries(run); summaries.ok())
      if (auto attributes = MetricAttributes(*summaries); !attributes.empty())
        parts.engine.Do(engine::MetricsChanged{run, std::move(attributes)}, [](const Result<Json>&) {});
  parts.engine.Do(std::move(pending->report), [pending](Result<Json> result) { Answer(pending->responder, result); });
}

void Done(const std::shared_ptr<Pending>& pending, const Result<void>& result) {
  if (!result.ok()) {
    std::lock_guard lock(pending->mutex);
    if (!pending->failed) pending->failed = result.error();
  }
  if (--pending->waiting == 0) Finish(pending);
}

}  // namespace

void AgentCommands(const Parts& parts, Call call, http::Responder responder) {
  if (auto node = CheckNode(call, call.head.Query("node")); !node.ok()) return Answer(responder, node.error());
  int64_t protocol = ParseInt(call.head.Query("protocol", "0")).value_or(0);
  if (protocol != model::kProtocol)
    return Answer(responder, MakeError(Code::kConflict, "agent.protocol",
                                       StrCat("this server speaks protocol ", model::kProtocol, " and the agent ", protocol,
                                              "; the agent finishes what it has and must be upgraded for more"),
                                       "protocol"));
  parts.channels.Open(call.identity.node, responder.Begin(200, {{"content-type", "text/event-stream"}, {"cache-control", "no-store"}}));
}

void AgentHello(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<model::Hello> {
    TRY(Json body, BodyObject(call));
    TRY(model::Hello hello, model::HelloFromJson(body));
    TRY_VOID(CheckNode(call, hello.node));
    return hello;
  };
  auto hello = build();
  if (!hello.ok()) return Answer(responder, hello.error());
  parts.engine.Do(engine::AgentHello{std::move(*hello)}, [responder](Result<Json> result) { Answer(responder, result); });
}

void AgentReport(const Parts& parts, Call call, http::Responder responder) {
  auto pending = std::make_shared<Pending>(parts, responder);
  auto build = [&]() -> Result<void> {
    TRY(Json body, BodyObject(call));
    engine::AgentReport& report = pending->report;
    report.node = body.GetString("node");
    TRY_VOID(CheckNode(call, report.node));
    report.generation = body.GetInt("generation");
    report.session = body.GetInt("session");
    report.sequence = body.GetInt("sequence");
    // Only who holds the lease may write.
    auto holds = [&](const model::AttemptKey& key) {
      auto lease = parts.engine.LeaseFor(key);
      return lease && lease->node == report.node && lease->generation == report.generation;
    };
    Time now = Now();
    for (const Json& item : ListOf(body, "logs")) {
      model::AttemptKey key = KeyOf(item);
      const Json* data = item.Find("data");
      if (!data || !data->is_string() || !holds(key)) continue;
      TRY_VOID(parts.logs.Append(key.Name(), item.GetString("stream"), static_cast<uint64_t>(item.GetInt("offset")), data->as_string()));
    }
    for (const Json& item : ListOf(body, "records")) {
      model::AttemptKey key = KeyOf(item);
      if (!holds(key)) continue;
      auto position = static_cast<uint64_t>(item.GetInt("offset"));
      const Json* text = item.Find("text");
      if (!text || !text->is_string()) continue;
      engine::Update update;
      bool updated = false;
      for (std::string_view line : Split(text->as_string(), '\n')) {
        position += line.size() + 1;
        if (line.empty()) continue;
        auto record = ParseJson(line, "a record");
        // The supervisor took it, so a record that cannot be used is dropped here and never asked for again.
        if (!record.ok()) continue;
        auto batch = BatchFromRecord(key.run, *record, now);
        if (batch.ok() && *batch) {
          series::Append append{{std::move(**batch)}, {key.Name(), position}};
          ++pending->waiting;
          parts.series.Add(std::move(append), [pending](Result<void> done) { Done(pending, done); });
        } else if (const Json* tag = record->Find("tag"); tag && tag->is_string()) {
          const Json* value = record->Find("value");
          update.set_tags[tag->as_string().substr(0, 255)] = value && value->is_string()  ? value->as_string()
                                                             : value && !value->is_null() ? value->Dump()
                                                                                          : std::string();
          updated = true;
        } else if (record->Find("properties")) {
          for (const auto& [name, value] : record->Find("properties")->is_object() ? record->Find("properties")->as_object() : Json::Object{}) {
            update.add_properties[name.substr(0, 255)] = value.is_string() ? value.as_string() : value.Dump();
            updated = true;
          }
        }
      }
      if (updated) report.updates.emplace_back(key, std::move(update));
    }
    for (const Json& item : ListOf(body, "artifacts")) {
      TRY(engine::Artifact artifact, engine::ArtifactFromJson(item));
      if (!logs::IsSafePath(artifact.path))
        return MakeError(Code::kInvalid, "artifact.path", StrCat("'", artifact.path.substr(0, 200), "' is no path of an artifact"), "path");
      TRY(auto has, parts.blobs.Has(std::span(&artifact.digest, 1)));
      if (!has[0]) return MakeError(Code::kConflict, "artifact.no_blob", StrCat("the content of '", artifact.path, "' was not uploaded"), "digest");
      artifact.time = now;
      report.artifacts.emplace_back(KeyOf(item), std::move(artifact));
    }
    for (const Json& item : ListOf(body, "facts")) {
      TRY(model::Facts facts, model::FactsFromJson(item));
      const Json* use = item.Find("environment");
      // A lock comes whole, or as the digest of one that is here.
      if (const Json* lock = use ? use->Find("lock") : nullptr; lock && lock->is_object()) {
        TRY(facts.environment.lock, KeepLock(parts, *lock));
      }
      if (!facts.environment.lock.empty()) {
        auto digest = Digest::FromHex(facts.environment.lock);
        if (!digest) return MakeError(Code::kInvalid, "facts.lock", "environment.lock must be 64 hex digits or a lock", "environment.lock");
        auto reader = parts.blobs.Open(*digest);
        if (!reader.ok()) return MakeError(Code::kConflict, "facts.no_lock", StrCat("lock ", digest->Hex(), " was not uploaded"), "environment.lock");
        report.artifacts.emplace_back(facts.key, engine::Artifact{facts.key.run, kLockPath, *digest, (*reader)->size(), now});
      }
      report.facts.push_back(std::move(facts));
    }
    for (const Json& item : ListOf(body, "events")) {
      TRY(model::AgentEvent event, model::EventFromJson(item));
      if (std::holds_alternative<model::Collected>(event.input) && holds(event.key)) {
        pending->ended.push_back(event.key.Name());
        pending->measured.push_back(event.key.run);
      }
      report.events.push_back(std::move(event));
    }
    return {};
  };
  Done(pending, build());
}

}  // namespace ferry::rest
