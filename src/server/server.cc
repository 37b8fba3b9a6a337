#include "server/server.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "blob/files/file_blob_store.h"
#include "compute/process/process_provider.h"
#include "engine/engine.h"
#include "http/server.h"
#include "logs/log_store.h"
#include "os/file.h"
#include "os/log.h"
#include "os/process.h"
#include "rest/handlers.h"
#include "rest/service.h"
#include "series/series.h"
#include "server/files.h"
#include "server/local_agent.h"
#include "server/providers.h"
#include "store/sqlite/sqlite_store.h"

namespace ferry::server {
namespace {

constexpr unsigned kWorkers = 8;  // threads for what waits on a datastore

// Made once: the key of run and node tokens.
Result<std::string> ReadSecret(const std::string& path) {
  if (auto text = os::ReadFile(path, 4096); text.ok() && text->size() >= 32) return text;
  std::string secret = RandomHex(32);
  TRY_VOID(os::WriteFileAtomic(path, secret, 0600));
  return secret;
}

class RunningServer : public Server {
 public:
  Result<void> Open(const Settings& settings, const std::string& version, std::string_view agent_program) {
    settings_ = settings;
    TRY_VOID(os::MakeFolders(settings.home, 0700));
    // Whoever only looks whether a server runs holds the lock for a moment.
    auto lock = os::FileLock::Take(Path("server.lock"), false);
    for (int i = 0; i < 50 && !lock.ok() && lock.error().slug == "file.locked"; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      lock = os::FileLock::Take(Path("server.lock"), false);
    }
    if (!lock.ok()) {
      if (lock.error().slug != "file.locked") return lock.error();
      return MakeError(Code::kConflict, "server.running", StrCat("a Ferry server already runs on ", settings.home, "; see: ferry server status"));
    }
    lock_.emplace(std::move(*lock));
    TRY(std::string secret, ReadSecret(Path("secret")));
    TRY(store_, store::OpenSqliteStore(Path("ferry.db"), engine::Tables()));
    TRY(series_, series::SeriesStore::Open({Path("series")}));
    TRY(logs_, logs::LogStore::Open(Path("runs")));
    TRY(blobs_, blob::OpenFileBlobStore(Path("blobs")));
    access_ = std::make_unique<rest::Access>(*store_, secret);
    feed_ = std::make_unique<rest::Feed>(*store_, *logs_, *series_);

    engine::Hooks hooks;
    hooks.tell = [this](const std::string& node, const model::AgentMessage& message) {
      auto* assign = std::get_if<model::Assign>(&message);
      channels_.Tell(node, assign ? model::AgentMessage(access_->Completed(*assign)) : message);
    };
    hooks.run_changed = [this](const std::string& run, bool) { feed_->RunChanged(run); };
    hooks.access_changed = [this] {
      if (auto loaded = access_->Reload(); !loaded.ok()) os::Log(os::Level::kError, "users and tokens could not be read", {{"error", loaded.error().message}});
    };
    providers_ = std::make_unique<Providers>([this](const model::TargetRecord& target) { return MakeProvider(target); });
    hooks.compute = [this](const engine::Effect& effect) { providers_->Do(effect); };
    engine::CoreSettings core;
    core.node_grace = std::chrono::seconds(settings.node_grace_seconds);
    TRY(engine_, engine::Engine::Start(*store_, core, hooks));
    series_->OnChange([this](const std::vector<std::string>& runs) { MetricsMoved(runs); });
    TRY_VOID(FirstStart());
    TRY_VOID(access_->Reload());

    // What a killed server had half of.
    TRY_VOID(os::RemoveAll(Path("uploads")));
    workers_ = std::make_unique<rest::Workers>(kWorkers);
    service_ = std::make_unique<rest::Service>(rest::Parts{*store_, *engine_, *blobs_, *series_, *logs_, *access_, channels_, *feed_, version, settings.home,
                                                           [this] { RequestEnd(); }, *workers_,
                                                           [this](const model::Datastore& datastore) {
                                                             return OpenFiles({*store_, *blobs_, *engine_, settings_.home, Path("uploads")}, datastore);
                                                           }});
    http::Settings http;
    http.address = settings.address;
    http.threads = static_cast<unsigned>(settings.threads);
    if (!settings.tls_certificate.empty()) http.tls = http::TlsFiles{settings.tls_certificate, settings.tls_key};
    uint16_t last = settings.port ? static_cast<uint16_t>(settings.port) : LastPort();
    http.port = last;
    auto listening = http::Server::Start(http, *service_);
    if (!listening.ok() && !settings.port && last) {
      http.port = 0;
      listening = http::Server::Start(http, *service_);
    }
    if (!listening.ok()) return listening.error();
    http_ = std::move(*listening);
    std::string host = settings.address == "0.0.0.0"                     ? "127.0.0.1"
                       : settings.address == "::"                        ? "[::1]"
                       : settings.address.find(':') != std::string::npos ? StrCat("[", settings.address, "]")
                                                                         : settings.address;
    url_ = StrCat(http.tls ? "https" : "http", "://", host, ":", http_->port());
    local_url_ = url_;
    if (http.tls || settings.address.compare(0, 4, "127.") != 0) {
      // The local agent and command line stay on loopback, whatever name the certificate is for.
      http::Settings local = http;
      local.address = "127.0.0.1";
      local.port = 0;
      local.tls.reset();
      TRY(local_http_, http::Server::Start(local, *service_));
      local_url_ = StrCat("http://127.0.0.1:", local_http_->port());
    }
    Json about = Json::MakeObject({{"url", url_}, {"local_url", local_url_}, {"pid", os::Self().pid}, {"version", version}, {"home", settings.home}});
    TRY_VOID(os::WriteFileAtomic(Path("server.json"), about.DumpPretty(), 0600, false));
    TRY_VOID(os::WriteFileAtomic(Path("server.pid"), StrCat(os::Self().pid, "\n"), 0644, false));

    summaries_ = std::jthread([this](std::stop_token stop) { SummaryLoop(stop); });
    agent_options_ = {"--environment-cache-gb",   StrCat(settings.environment_cache_gb),
                      "--environment-cache-days", StrCat(settings.environment_cache_days),
                      "--conda-strict",           settings.conda_strict ? "true" : "false",
                      "--container-engine",       settings.container_engine,
                      "--image-aliases",          settings.image_aliases};
    // Before anything is started: a child that has the file open for writing until it runs keeps others from running it.
    TRY(agent_file_, PutAgent(settings.home, agent_program));
    if (settings.agent) {
      int slots = settings.slots ? static_cast<int>(settings.slots) : static_cast<int>(os::CoreCount());
      std::vector<std::string> options = {"--slots", StrCat(slots)};
      options.insert(options.end(), agent_options_.begin(), agent_options_.end());
      local_agent_ = std::make_unique<LocalAgent>(settings.home, agent_program, access_->NodeToken("local"), std::move(options));
    }
    providers_->Start(*engine_);
    os::Log(os::Level::kInfo, "serving", {{"url", url_}, {"version", version}});
    return {};
  }

  ~RunningServer() override {
    if (providers_) providers_->Stop();
    local_agent_.reset();
    if (summaries_.joinable()) {
      summaries_.request_stop();
      summary_changed_.notify_all();
      summaries_.join();
    }
    channels_.CloseAll();
    if (feed_) feed_->Stop();
    if (local_http_) local_http_->Shutdown(std::chrono::seconds(5));
    if (http_) http_->Shutdown(std::chrono::seconds(5));
    workers_.reset();
    // What waits for its metrics goes on to feed and engine: those end after it.
    series_.reset();
    engine_.reset();
    local_http_.reset();
    http_.reset();
    if (!url_.empty()) {
      (void)os::RemoveFile(Path("server.pid"));
      os::Log(os::Level::kInfo, "ended", {});
    }
  }

  const std::string& url() const override { return url_; }

  void WaitForEnd() override {
    std::unique_lock lock(end_mutex_);
    end_changed_.wait(lock, [this] { return end_; });
  }

  void RequestEnd() override {
    std::lock_guard lock(end_mutex_);
    end_ = true;
    end_changed_.notify_all();
  }

 private:
  std::string Path(std::string_view name) const { return os::JoinPath(settings_.home, name); }

  Result<std::unique_ptr<compute::NodeProvider>> MakeProvider(const model::TargetRecord& target) {
    if (target.provider != "process")
      return MakeError(Code::kInvalid, "target.provider", StrCat("provider '", target.provider, "' is not part of this version of Ferry yet."), "provider");
    compute::ProcessSettings process;
    process.folder = Path("nodes");
    process.program = agent_file_;
    process.url_file = Path("server.json");
    process.target = target.Key();
    process.slots = target.slots;
    process.token = [this](const std::string& node) { return access_->NodeToken(node); };
    process.options = agent_options_;
    process.options.insert(process.options.end(), {"--gpus", "none"});
    return std::unique_ptr<compute::NodeProvider>(std::make_unique<compute::ProcessProvider>(std::move(process)));
  }

  uint16_t LastPort() const {
    auto text = os::ReadFile(Path("server.json"), 1u << 20);
    auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
    if (!json.ok()) return 0;
    std::string url = json->GetString("url");
    return static_cast<uint16_t>(ParseInt(std::string_view(url).substr(url.rfind(':') + 1)).value_or(0));
  }

  // The first start makes the default workspace, the owner and the token that the local command line finds.
  Result<void> FirstStart() {
    TRY(auto there, store_->Get("workspace", "default"));
    if (!there) {
      TRY(Json made, engine_->DoAndWait(engine::CreateWorkspace{{"default", "", "", {}, {}}, true}));
    }
    if (os::Exists(Path("admin.token"))) return {};
    TRY(auto admin, store_->Get("user", "admin"));
    if (!admin) {
      TRY(Json user, engine_->DoAndWait(engine::AddUser{{"admin", model::Role::kOwner, {}}}));
    }
    std::string token = rest::Access::NewToken();
    model::Token record;
    record.id = RandomHex(6);
    record.digest = rest::Access::DigestOf(token);
    record.user = "admin";
    record.label = "made at the first start";
    TRY(Json added, engine_->DoAndWait(engine::AddToken{record}));
    return os::WriteFileAtomic(Path("admin.token"), token + "\n", 0600);
  }

  void MetricsMoved(const std::vector<std::string>& runs) {
    {
      std::lock_guard lock(summary_mutex_);
      for (const std::string& run : runs) moved_.insert(run);
    }
    summary_changed_.notify_one();
    for (const std::string& run : runs) feed_->MetricsChanged(run);
  }

  // Brings metric summaries into the searchable store, a few times a second at most, so that a flood of points is a trickle of commits.
  void SummaryLoop(std::stop_token stop) {
    auto heartbeat = std::chrono::steady_clock::now();
    while (!stop.stop_requested()) {
      std::set<std::string> runs;
      {
        std::unique_lock lock(summary_mutex_);
        summary_changed_.wait_for(lock, std::chrono::seconds(10), [&] { return stop.stop_requested() || !moved_.empty(); });
        runs.swap(moved_);
      }
      for (const std::string& run : runs)
        if (auto summaries = series_->Summaries(run); summaries.ok())
          if (auto attributes = rest::MetricAttributes(*summaries); !attributes.empty())
            engine_->Do(engine::MetricsChanged{run, std::move(attributes)}, [](const Result<Json>&) {});
      if (std::chrono::steady_clock::now() >= heartbeat) {
        heartbeat = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        channels_.Heartbeat();
      }
      std::unique_lock lock(summary_mutex_);
      summary_changed_.wait_for(lock, std::chrono::milliseconds(250), [&] { return stop.stop_requested(); });
    }
  }

  Settings settings_;
  std::optional<os::FileLock> lock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<series::SeriesStore> series_;
  std::unique_ptr<logs::LogStore> logs_;
  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<rest::Access> access_;
  rest::AgentChannels channels_;
  std::unique_ptr<rest::Feed> feed_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<rest::Workers> workers_;
  std::unique_ptr<rest::Service> service_;
  std::unique_ptr<http::Server> http_;
  std::unique_ptr<http::Server> local_http_;  // plain, on loopback, when the other one is not
  std::unique_ptr<Providers> providers_;
  std::string agent_file_;
  std::vector<std::string> agent_options_;
  std::unique_ptr<LocalAgent> local_agent_;
  std::string url_;
  std::string local_url_;
  std::mutex summary_mutex_;
  std::condition_variable summary_changed_;
  std::set<std::string> moved_;
  std::jthread summaries_;
  std::mutex end_mutex_;
  std::condition_variable end_changed_;
  bool end_ = false;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(const Settings& settings, const std::string& version, std::string_view agent_program) {
  auto server = std::make_unique<RunningServer>();
  TRY_VOID(server->Open(settings, version, agent_program));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace ferry::server
