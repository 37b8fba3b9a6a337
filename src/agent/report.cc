// The agent's requests: hello and report, one at a time, from one thread.
#include "agent/agent.h"
#include "base/text.h"
#include "base/utf8.h"
#include "os/file.h"
#include "os/log.h"

namespace ferry::agent {

using model::AttemptKey;
using Steady = std::chrono::steady_clock;

namespace {
constexpr size_t kRoom = 8u << 20;
constexpr size_t kPiece = 1u << 20;

Json FactsOf(const AttemptKey& key, int64_t generation, const Preparation& made) {
  Json clocks = Json::MakeArray();
  for (const model::Clock& clock : made.clocks) clocks.Push(model::ToJson(clock));
  Json facts = Json::MakeObject({{"run", key.run}, {"attempt", key.attempt}, {"generation", generation}, {"clocks", std::move(clocks)}});
  if (!made.data.empty()) {
    Json data = Json::MakeArray();
    for (const model::DataUse& use : made.data) data.Push(model::ToJson(use));
    facts.Set("data", std::move(data));
  }
  if (!made.environment.how.empty()) facts.Set("environment", model::ToJson(made.environment));
  return facts;
}
}  // namespace

bool Agent::SendHello(http::Client& client, std::stop_token stop) {
  model::Hello hello;
  {
    std::lock_guard lock(mutex_);
    hello = {settings_.node, settings_.target, core_.generation(), settings_.slots, settings_.gpus, core_.Inventory(), session_, ++sequence_};
  }
  auto reply = client.Do({"POST", "/api/v1/agent/hello", {}, model::ToJson(hello).Dump(), {}, {}}, stop);
  auto json = reply.ok() && reply->status == 200 ? ParseJson(reply->body) : Result<Json>(reply.ok() ? http::ErrorFromReply(*reply) : reply.error());
  if (!json.ok()) {
    os::Log(os::Level::kWarning, "the server did not take the hello", {{"error", json.error().message}});
    return false;
  }
  int64_t generation = json->GetInt("generation");
  if (generation != hello.generation)
    if (auto written = WriteGeneration(settings_.home, generation); !written.ok()) {
      os::Log(os::Level::kError, "the generation could not be kept", {{"error", written.error().message}});
      return false;
    }
  std::lock_guard lock(mutex_);
  bool fenced = json->GetBool("fenced");
  if (fenced) os::Log(os::Level::kWarning, "this node was given up on; what it worked on was given to others and ends here", {});
  welcomed_ = true;
  Do(core_.OnWelcome(generation, fenced));
  // A fenced node says hello again under its new generation to be told what to do.
  if (fenced) welcomed_ = false;
  return true;
}

bool Agent::AddStreams(const AttemptKey& key, Work& work, Json& logs, Json& records, size_t& room, Report& report) {
  AttemptFolder folder(settings_.home, key);
  bool all = true;
  auto read = [&](const std::string& file, uint64_t from, bool lines) -> std::string {
    if (room == 0) {
      all = false;
      return {};
    }
    auto fd = os::Open(file, os::OpenMode::kRead);
    if (!fd.ok()) return {};
    size_t want = std::min(room, kPiece);
    auto bytes = os::ReadAt(*fd, from, want + 1);
    if (!bytes.ok()) return {};
    if (bytes->size() > want) {
      bytes->resize(want);
      all = false;
    }
    if (lines) {
      size_t last = bytes->rfind('\n');
      bytes->resize(last == std::string::npos ? 0 : last + 1);
    }
    room -= std::min(room, bytes->size());
    return std::move(*bytes);
  };
  auto add_log = [&](const std::string& stream, const std::string& file) {
    uint64_t& sent = work.sent[stream];
    std::string bytes = read(file, sent, false);
    if (bytes.empty()) return;
    report.streams.emplace_back(key, stream, sent + bytes.size());
    logs.Push(Json::MakeObject({{"run", key.run}, {"attempt", key.attempt}, {"stream", stream}, {"offset", sent}, {"data", std::move(bytes)}}));
  };
  add_log("azureml-logs/20_image_build_log.txt", folder.Path("build_log.txt"));
  if (!work.assign.spec.data.empty() || !work.assign.spec.outputs.empty()) add_log("azureml-logs/30_data_log.txt", folder.Path("data_log.txt"));
  if (!work.launched) return all;
  add_log("user_logs/std_log.txt", folder.Path("std_log.txt"));
  // New files in the folders that are watched are looked for now and then, and once more at the end.
  if (work.collecting || Steady::now() >= work.next_look) {
    work.next_look = Steady::now() + std::chrono::milliseconds(500);
    work.log_files.clear();
    std::vector<std::string> todo = work.assign.spec.watch;
    while (!todo.empty() && work.log_files.size() < 1000) {
      std::string relative = todo.back();
      todo.pop_back();
      auto entries = os::ListFolder(folder.Path(StrCat("work/", relative)));
      if (!entries.ok()) continue;
      for (const os::DirEntry& entry : *entries) {
        std::string path = StrCat(relative, "/", entry.name);
        if (entry.type == os::FileType::kFolder) todo.push_back(path);
        if (entry.type == os::FileType::kFile) work.log_files.push_back(path);
      }
    }
  }
  for (const std::string& path : work.log_files) add_log(ToUtf8(path), folder.Path(StrCat("work/", path)));
  if (std::string text = read(folder.Path("spool"), work.spool_sent, true); !text.empty()) {
    report.streams.emplace_back(key, "", work.spool_sent + text.size());
    records.Push(Json::MakeObject({{"run", key.run}, {"attempt", key.attempt}, {"offset", work.spool_sent}, {"text", std::move(text)}}));
  }
  return all;
}

Agent::Report Agent::BuildReport() {
  Report report;
  Json logs = Json::MakeArray(), records = Json::MakeArray(), artifacts = Json::MakeArray(), facts = Json::MakeArray();
  size_t room = kRoom;
  // Those that have said "collected" first: their last bytes go with that word or before it.
  for (int round = 0; round < 2; ++round)
    for (auto& [key, work] : works_) {
      if ((!work.launched && !work.building && !work.facts) || work.said_collected != (round == 0)) continue;
      bool all = AddStreams(key, work, logs, records, room, report);
      report.more |= !all;
      if (work.facts && work.facts_said < work.facts_told) {
        facts.Push(FactsOf(key, work.assign.generation, *work.facts));
        report.facts[key] = work.facts_told;
      }
      // Why it failed comes after all that it has to show for it.
      if (all && work.facts && work.facts->failed && !work.said_failed) {
        work.said_failed = true;
        Do(core_.OnFailed(key, *work.facts->failed));
      }
      if (size_t count = work.artifacts.size()) {
        report.artifacts[key] = count;
        for (const Collected& file : work.artifacts)
          artifacts.Push(
              Json::MakeObject({{"run", key.run}, {"attempt", key.attempt}, {"path", file.path}, {"digest", file.digest.Hex()}, {"size", file.size}}));
      }
      if (all && work.collecting && work.outputs_done && !work.said_collected) {
        work.said_collected = true;
        Do(core_.OnCollected(key, work.problem));
      }
    }
  // Stopped before anything was started: nothing to collect.
  for (auto& [key, work] : works_)
    if (!work.launched && work.collecting && !work.said_collected) {
      work.said_collected = true;
      Do(core_.OnCollected(key));
    }
  report.events = core_.Pending();
  Json events = Json::MakeArray();
  for (const model::AgentEvent& event : report.events) events.Push(model::ToJson(event));
  report.empty = report.events.empty() && logs.as_array().empty() && records.as_array().empty() && artifacts.as_array().empty() && facts.as_array().empty();
  Json body = Json::MakeObject({{"node", settings_.node}, {"generation", core_.generation()}, {"session", session_}, {"sequence", ++sequence_}});
  body.Add("logs", std::move(logs))
      .Add("records", std::move(records))
      .Add("artifacts", std::move(artifacts))
      .Add("facts", std::move(facts))
      .Add("events", std::move(events));
  report.body = body.Dump();
  return report;
}

bool Agent::SendReport(http::Client& client, std::stop_token stop) {
  Report report;
  {
    std::lock_guard lock(mutex_);
    dirty_ = false;
    report = BuildReport();
    if (report.empty) return true;
  }
  auto reply = client.Do({"POST", "/api/v1/agent/report", {}, std::move(report.body), {}, {}}, stop);
  std::lock_guard lock(mutex_);
  if (!reply.ok() || reply->status != 200) {
    Error error = reply.ok() ? http::ErrorFromReply(*reply) : reply.error();
    os::Log(os::Level::kWarning, "the server did not take a report; it is said again", {{"error", error.message}});
    dirty_ = true;
    if (error.slug == "agent.fenced" || error.slug == "agent.unknown" || error.slug == "agent.stale") welcomed_ = false;
    return false;
  }
  std::set<AttemptKey> moved;
  for (auto& [key, stream, offset] : report.streams) {
    auto it = works_.find(key);
    if (it == works_.end()) continue;
    (stream.empty() ? it->second.spool_sent : it->second.sent[stream]) = offset;
    moved.insert(key);
  }
  for (auto& [key, count] : report.artifacts)
    if (auto it = works_.find(key); it != works_.end())
      it->second.artifacts.erase(it->second.artifacts.begin(),
                                 it->second.artifacts.begin() + static_cast<ptrdiff_t>(std::min(count, it->second.artifacts.size())));
  for (const auto& [key, told] : report.facts)
    if (auto it = works_.find(key); it != works_.end()) it->second.facts_said = told;
  Do(core_.OnAnswered(report.events));
  // So that a new agent does not send gigabytes again; what it says twice is dropped by the server.
  for (const AttemptKey& key : moved) {
    auto it = works_.find(key);
    if (it == works_.end() || it->second.said_collected) continue;
    Json sent = Json::MakeObject({{"", it->second.spool_sent}});
    for (const auto& [stream, offset] : it->second.sent) sent.Add(stream, offset);
    (void)os::WriteFileAtomic(AttemptFolder(settings_.home, key).Path("sent.json"), sent.Dump(), 0600, false);
  }
  if (report.more) dirty_ = true;
  return true;
}

}  // namespace ferry::agent
