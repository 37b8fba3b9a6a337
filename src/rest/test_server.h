// A whole server without its process: memory store, engine, blobs, series, logs, feed and routes behind a real socket. For tests of rest/.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/text.h"
#include "blob/files/file_blob_store.h"
#include "blob/pack.h"
#include "data/artifacts/artifact_store.h"
#include "data/folder/folder_store.h"
#include "data/own/own_store.h"
#include "engine/tables.h"
#include "http/client.h"
#include "rest/handlers.h"
#include "rest/service.h"
#include "store/memory/memory_store.h"

namespace ferry::rest {

inline bool Eventually(const std::function<bool()>& condition) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "rest_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    store_ = store::OpenMemoryStore(engine::Tables());
    series_ = std::move(*series::SeriesStore::Open({folder_ + "/series"}));
    logs_ = std::move(*logs::LogStore::Open(folder_ + "/runs"));
    blobs_ = std::move(*blob::OpenFileBlobStore(folder_ + "/blobs"));
    access_ = std::make_unique<Access>(*store_, "secret");
    feed_ = std::make_unique<Feed>(*store_, *logs_, *series_);
    engine::Hooks hooks;
    hooks.tell = [this](const std::string& node, const model::AgentMessage& message) {
      auto* assign = std::get_if<model::Assign>(&message);
      channels_.Tell(node, assign ? model::AgentMessage(access_->Completed(*assign)) : message);
    };
    hooks.run_changed = [this](const std::string& run, bool) { feed_->RunChanged(run); };
    hooks.access_changed = [this] { ASSERT_TRUE(access_->Reload().ok()); };
    engine_ = std::move(*engine::Engine::Start(*store_, {}, hooks));
    series_->OnChange([this](const std::vector<std::string>& runs) {
      for (const std::string& run : runs) feed_->MetricsChanged(run);
    });
    ASSERT_TRUE(engine_->DoAndWait(engine::CreateWorkspace{{"default", "", "", {}, {}}, true}).ok());
    owner_ = NewUser("olga", model::Role::kOwner);
    contributor_ = NewUser("carl", model::Role::kContributor);
    reader_ = NewUser("rita", model::Role::kReader);
    service_ = std::make_unique<Service>(Parts{*store_, *engine_, *blobs_, *series_, *logs_, *access_, channels_, *feed_, "9.9.9", folder_,
                                               [this] { shutdown_asked_ = true; }, workers_,
                                               [this](const model::Datastore& datastore) { return OpenFiles(datastore); }});
    http::Settings settings;
    settings.stream_buffer = 8u << 20;
    http_ = std::move(*http::Server::Start(settings, *service_));
  }
  void TearDown() override {
    channels_.CloseAll();
    feed_->Stop();
    http_->Shutdown(std::chrono::seconds(2));
    engine_.reset();
    http_.reset();
    std::filesystem::remove_all(folder_);
  }

  Result<std::shared_ptr<data::FileStore>> OpenFiles(const model::Datastore& datastore) {
    if (datastore.kind == model::DatastoreKind::kFolder) {
      TRY(auto store, data::OpenFolderStore(datastore.folder));
      return std::shared_ptr<data::FileStore>(std::move(store));
    }
    if (datastore.kind == model::DatastoreKind::kArtifacts)
      return std::shared_ptr<data::FileStore>(data::OpenArtifactStore(*store_, *blobs_, datastore.workspace));
    if (datastore.kind == model::DatastoreKind::kS3) {
      seen_secret_ = datastore.secret_key;
      return MakeError(Code::kUnavailable, "http.unreachable", "there is no bucket here");
    }
    auto add = [this](std::vector<model::FileRecord> files, bool overwrite) -> Result<void> {
      auto added = engine_->DoAndWait(engine::AddFiles{std::move(files), overwrite});
      return added.ok() ? Result<void>() : Result<void>(added.error());
    };
    return std::shared_ptr<data::FileStore>(data::OpenOwnStore(*store_, *blobs_, {datastore.workspace, datastore.name, folder_ + "/uploads", add}));
  }
  std::string NewUser(const std::string& name, model::Role role) {
    EXPECT_TRUE(engine_->DoAndWait(engine::AddUser{{name, role, {}}}).ok());
    std::string token = Access::NewToken();
    EXPECT_TRUE(engine_->DoAndWait(engine::AddToken{{"token-" + name, Access::DigestOf(token), name, "", {}, {}, {}}}).ok());
    return token;
  }

  http::ClientSettings ClientOf(const std::string& token) {
    http::ClientSettings settings;
    settings.base = StrCat("http://127.0.0.1:", http_->port());
    settings.token = token;
    return settings;
  }
  http::Reply Ask(const std::string& token, const std::string& method, const std::string& path, const std::string& body = {},
                  std::vector<std::pair<std::string, std::string>> headers = {}) {
    http::Client client(ClientOf(token));
    http::Call call;
    call.method = method;
    call.path = path;
    call.body = body;
    call.headers = std::move(headers);
    auto reply = client.Do(call);
    EXPECT_TRUE(reply.ok()) << method << " " << path << ": " << (reply.ok() ? "" : reply.error().message);
    return reply.ok() ? *reply : http::Reply{};
  }
  // The body of a 2xx answer.
  Json Get(const std::string& path) { return Good(Ask(owner_, "GET", path)); }
  Json Post(const std::string& path, const std::string& body) { return Good(Ask(owner_, "POST", path, body)); }
  static Json Good(const http::Reply& reply) {
    EXPECT_EQ(reply.status / 100, 2) << reply.body;
    auto json = ParseJson(reply.body);
    EXPECT_TRUE(json.ok()) << reply.body;
    return json.ok() ? *json : Json();
  }
  // "404 run.not_found", also checking the form of an error.
  static std::string ErrorOf(const http::Reply& reply) {
    auto json = ParseJson(reply.body);
    const Json* error = json.ok() ? json->Find("error") : nullptr;
    if (!error) return StrCat(reply.status, " without an error: ", reply.body);
    EXPECT_FALSE(error->GetString("code").empty());
    EXPECT_FALSE(error->GetString("message").empty());
    return StrCat(reply.status, " ", error->GetString("slug"));
  }

  // A run that node "local" works on, with its lease.
  void Hello(int slots = 100) {
    model::Hello hello;
    hello.node = hello.target = "local";
    hello.slots = slots;
    hello.session = 1;
    hello.sequence = ++sequence_;
    Good(Ask(access_->NodeToken("local"), "POST", "/api/v1/agent/hello", model::ToJson(hello).Dump()));
  }
  void Submit(const std::string& id, const std::string& more = "") {
    Post("/api/v1/runs", StrCat(R"({"id":")", id, R"(","experiment":"e","command":["true"])", more, "}"));
  }
  http::Reply Report(const std::string& parts) {
    return Ask(access_->NodeToken("local"), "POST", "/api/v1/agent/report",
               StrCat(R"({"node":"local","generation":1,"session":1,"sequence":)", ++sequence_, ",", parts, "}"));
  }
  void Happen(const std::string& run, const std::string& event, const std::string& more = "") {
    EXPECT_EQ(Report(StrCat(R"("events":[{"run":")", run, R"(","attempt":1,"event":")", event, "\"", more, "}]")).status, 200);
  }
  void Log(const std::string& run, uint64_t offset, const std::string& text, const std::string& stream = "user_logs/std_log.txt") {
    std::string data;
    AppendJsonString(data, text);
    EXPECT_EQ(Report(StrCat(R"("logs":[{"run":")", run, R"(","attempt":1,"stream":")", stream, R"(","offset":)", offset, ",\"data\":", data, "}]")).status,
              200);
  }
  void End(const std::string& run, int code = 0) {
    Happen(run, "Exited", StrCat(R"(,"exit":{"code":)", code, "}"));
    Happen(run, "Collected");
  }
  Digest AddBlob(const std::string& bytes) {
    std::string pack(blob::kPackMagic);
    Digest digest = HashBytes(bytes);
    blob::AppendRecord(pack, digest, bytes);
    auto sink = blobs_->AddPack();
    EXPECT_TRUE((*sink)->Write(pack).ok());
    EXPECT_TRUE((*sink)->Finish().ok());
    return digest;
  }
  Digest AddLargeBlob(const std::string& bytes) {
    Digest digest = HashBytes(bytes);
    EXPECT_TRUE(blobs_->AddPart(digest, 0, bytes).ok());
    EXPECT_TRUE(blobs_->FinishParts(digest, bytes.size()).ok());
    return digest;
  }

  std::string folder_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<series::SeriesStore> series_;
  std::unique_ptr<logs::LogStore> logs_;
  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<Access> access_;
  AgentChannels channels_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<engine::Engine> engine_;
  Workers workers_{2};
  std::string seen_secret_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<http::Server> http_;
  std::string owner_, contributor_, reader_;
  std::atomic<bool> shutdown_asked_{false};
  int64_t sequence_ = 0;
};

}  // namespace ferry::rest
