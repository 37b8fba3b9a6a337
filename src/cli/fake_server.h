// A server for the tests of cli/: blobs, runs and events in memory, with the answers of the real one. What it was asked is kept.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "blob/pack.h"
#include "cli/context.h"
#include "http/server.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::cli {

class FakeServer : public http::Service {
 public:
  FakeServer() { Start(0); }
  ~FakeServer() override { Stop(); }

  void Start(uint16_t port) {
    http::Settings settings;
    settings.port = port;
    auto server = http::Server::Start(settings, *this);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
    port_ = server_->port();
  }
  void Stop() {
    if (!server_) return;
    server_->Shutdown(std::chrono::milliseconds(0));
    server_.reset();
    held_.clear();
  }
  void Restart() {
    Stop();
    Start(port_);
  }
  std::string url() const { return StrCat("http://127.0.0.1:", port_); }
  uint16_t port() const { return port_; }

  // Answers a request before the fake does; nothing: the fake goes on.
  std::function<std::optional<http::Response>(const http::Head&, const std::string& body)> before;
  // A request for which this holds is never answered.
  std::function<bool(const http::Head&)> hold;
  // The events of a run, by the Last-Event-ID; ends the stream unless `stay` is true.
  std::function<std::string(const std::string& last_id)> events;
  bool events_stay = false;

  std::vector<Json> posted() const {
    std::lock_guard lock(mutex_);
    return posted_;
  }
  std::vector<std::string> requests() const {
    std::lock_guard lock(mutex_);
    return requests_;
  }
  std::map<std::string, std::string> blobs() const {
    std::lock_guard lock(mutex_);
    return blobs_;
  }
  std::vector<std::string> order() const {
    std::lock_guard lock(mutex_);
    return order_;
  }
  size_t count(std::string_view start) const {
    size_t n = 0;
    for (const std::string& request : requests()) n += request.starts_with(start);
    return n;
  }
  void AddBlob(const std::string& content) {
    std::lock_guard lock(mutex_);
    blobs_[HashBytes(content).Hex()] = content;
  }
  // What arrived of a large blob.
  std::map<std::string, std::string> parts;
  Json run_view = Json::MakeObject();

  std::variant<http::Buffered, std::unique_ptr<http::BodySink>, http::Response> Admit(const http::Head&) override { return http::Buffered{1u << 30}; }

  void Handle(http::Head head, std::string body, http::Responder responder) override {
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(StrCat(head.method, " ", head.path));
      tokens_.insert(head.Header("authorization"));
    }
    if (before)
      if (auto response = before(head, body)) return responder.Send(*response);
    if (hold && hold(head)) {
      std::lock_guard lock(mutex_);
      if (head.path == "/api/v1/runs" && head.method == "POST") posted_.push_back(*ParseJson(body));
      held_.push_back(responder);
      return;
    }
    if (head.path.ends_with("/events") && events) {
      auto stream = responder.Begin(200, {{"content-type", "text/event-stream"}});
      stream->Write(events(head.Header("last-event-id")));
      std::lock_guard lock(mutex_);
      if (events_stay) streams_.push_back(stream);
      return;
    }
    responder.Send(Answer(head, body));
  }

  static http::Response Ok(const Json& json, int status = 200) { return {status, {{"content-type", "application/json"}}, json.Dump()}; }
  static http::Response Fails(Code code, std::string slug, std::string message) {
    return Ok(Json::MakeObject({{"error", Json::MakeObject({{"code", CodeName(code)}, {"slug", slug}, {"message", message}})}}), HttpStatus(code));
  }
  std::set<std::string> tokens() const {
    std::lock_guard lock(mutex_);
    return tokens_;
  }

 private:
  http::Response Answer(const http::Head& head, const std::string& body) {
    std::lock_guard lock(mutex_);
    auto parts_of = Split(head.path, '/');
    if (head.path == "/healthz") return Ok(Json::MakeObject());
    if (head.path == "/api/v1/runs" && head.method == "POST") {
      Json run = *ParseJson(body);
      posted_.push_back(run);
      std::string snapshot = run.GetString("snapshot");
      if (!snapshot.empty() && !blobs_.count(snapshot)) return Fails(Code::kNotFound, "snapshot.not_found", "snapshot was not uploaded");
      return Ok(Json::MakeObject({{"id", run.GetString("id")},
                                  {"experiment", run.GetString("experiment")},
                                  {"workspace", run.GetString("workspace")},
                                  {"number", 1},
                                  {"status", "Queued"},
                                  {"created", true}}),
                201);
    }
    if (head.path == "/api/v1/blobs/missing") {
      Json request = *ParseJson(body);
      Json missing = Json::MakeArray();
      for (const std::string& hex : request.GetStrings("digests"))
        if (!blobs_.count(hex)) missing.Push(hex);
      return Ok(Json::MakeObject({{"missing", std::move(missing)}}));
    }
    if (head.path == "/api/v1/blobs/pack") {
      size_t added = 0;
      blob::PackParser parser([&](const Digest& digest, std::string_view raw, std::string_view) -> Result<void> {
        blobs_[digest.Hex()] = raw;
        order_.push_back(digest.Hex());
        ++added;
        return {};
      });
      auto written = parser.Write(body);
      if (written.ok()) written = parser.Finish();
      if (!written.ok()) return Fails(written.error().code, written.error().slug, written.error().message);
      return Ok(Json::MakeObject({{"added", added}}));
    }
    if (head.path == "/api/v1/blobs/fetch") {
      std::string pack(blob::kPackMagic);
      Json request = *ParseJson(body);
      for (const std::string& hex : request.GetStrings("digests")) blob::AppendRecord(pack, *Digest::FromHex(hex), blobs_.at(hex));
      return {200, {}, pack};
    }
    if (head.path.starts_with("/api/v1/blobs/") && parts_of.size() >= 5) {
      std::string hex(parts_of[4]);
      if (parts_of.size() == 5) return {200, {}, blobs_.at(hex)};
      if (head.method == "GET") return Ok(Json::MakeObject({{"size", parts[hex].size()}}));
      if (head.method == "PUT") {
        if (head.Query("offset") != std::to_string(parts[hex].size())) return Fails(Code::kConflict, "blob.offset", "another offset is wanted");
        parts[hex] += body;
        return Ok(Json::MakeObject({{"size", parts[hex].size()}}));
      }
      if (HashBytes(parts[hex]).Hex() != hex) return Fails(Code::kInvalid, "blob.corrupt", "the parts are another blob");
      blobs_[hex] = parts[hex];
      order_.push_back(hex);
      parts.erase(hex);
      return Ok(Json::MakeObject());
    }
    if (head.path.ends_with("/metrics") || head.path.ends_with("/artifacts")) return Ok(Json::MakeObject());
    if (head.path.starts_with("/api/v1/runs/") && parts_of.size() == 5 && !run_view.as_object().empty()) return Ok(run_view);
    return Fails(Code::kNotFound, "run.not_found", StrCat("there is nothing at ", head.path));
  }

  mutable std::mutex mutex_;
  std::unique_ptr<http::Server> server_;
  uint16_t port_ = 0;
  std::vector<Json> posted_;
  std::vector<std::string> requests_;
  std::map<std::string, std::string> blobs_;
  std::vector<std::string> order_;  // blobs as they came
  std::set<std::string> tokens_;
  std::vector<http::Responder> held_;
  std::vector<std::shared_ptr<http::Stream>> streams_;
};

// A folder of its own, an environment that names the fake server, and what a command printed.
class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = StrCat(::testing::TempDir(), "ferry-cli-", RandomHex(6));
    ASSERT_TRUE(os::MakeFolders(folder_ + "/src").ok());
    ::setenv("FERRY_HOME", (folder_ + "/home").c_str(), 1);
    ::setenv("FERRY_URL", server_.url().c_str(), 1);
    ::setenv("FERRY_TOKEN", "secret", 1);
    ::unsetenv("FERRY_TOKEN_FILE");
    ::unsetenv("AZUREML_RUN_TOKEN");
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveAll(folder_).ok()); }

  void Write(const std::string& name, std::string_view content) {
    std::string path = os::JoinPath(folder_, name);
    ASSERT_TRUE(os::MakeFolders(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(os::WriteFileAtomic(path, content, 0644, false).ok());
  }

  int Run(std::vector<std::string> words) {
    {
      std::lock_guard lock(mutex_);
      out_.clear();
      err_.clear();
    }
    Streams streams{[this](std::string_view text) { Append(out_, text); },
                    [this](std::string_view text) { Append(err_, text); },
                    {},
                    {},
                    [this](uint64_t) -> Result<std::string> { return input_; }};
    return RunCommand(words, std::move(streams), {});
  }

  std::string out() {
    std::lock_guard lock(mutex_);
    return out_;
  }
  std::string err() {
    std::lock_guard lock(mutex_);
    return err_;
  }

  static std::string StatusEvent(const std::string& id, const Json& view) { return http::FormatEvent("status", id, view.Dump()); }
  static std::string LogEvent(const std::string& id, uint64_t offset, const std::string& data) {
    return http::FormatEvent("log", id, Json::MakeObject({{"stream", "user_logs/std_log.txt"}, {"attempt", 1}, {"offset", offset}, {"data", data}}).Dump());
  }
  static std::string EndEvent(const std::string& status) { return http::FormatEvent("end", "", Json::MakeObject({{"status", status}}).Dump()); }
  static Json View(const std::string& status) {
    return Json::MakeObject({{"id", "r1"}, {"status", status}, {"attempt", 1}, {"started", "2026-11-15T10:41:07Z"}, {"ended", "2026-11-15T10:41:10.5Z"}});
  }

  template <typename Condition>
  static bool Eventually(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  FakeServer server_;
  std::string folder_;
  std::string input_;  // what standard input holds

 private:
  void Append(std::string& to, std::string_view text) {
    std::lock_guard lock(mutex_);
    to += text;
  }
  std::mutex mutex_;
  std::string out_, err_;
};

}  // namespace ferry::cli
