// A node's agent: dials the server, works on what it is assigned, reports until it is answered. The rim around agent::Core.
// Threads: one reads the server's commands, one watches the attempts' folders, a few prepare and collect, and the caller's sends reports.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/collect.h"
#include "agent/core.h"
#include "agent/folder.h"
#include "agent/nursery.h"
#include "agent/prepare.h"
#include "http/client.h"
#include "os/poll.h"

namespace ferry::agent {

struct AgentSettings {
  std::string home;
  std::string node = "local";
  std::string target = "local";
  int slots = 1;
  std::vector<int> gpus;
  // Where the server is: an address, or a file that holds one ("url" of server.json) and is read again at every dial.
  std::string url;
  std::string url_file;
  std::string token;
  std::string program;  // this program's path
  std::string sdk;
  environment::Settings environment;
  uint64_t environment_bytes = 0;
  Duration environment_age{};
};

class Agent {
 public:
  explicit Agent(AgentSettings settings);
  ~Agent();
  // Until `stop`. Scripts go on without it.
  Result<void> Run(std::stop_token stop);

 private:
  // One attempt as the rim sees it.
  struct Work {
    model::Assign assign;
    std::map<std::string, uint64_t> sent;  // stream -> bytes that the server has
    uint64_t spool_sent = 0;
    bool building = false;  // waits for an environment; the build's log is in its folder
    bool launched = false;
    bool collecting = false;
    bool outputs_done = false;
    bool said_collected = false;
    bool syncing = false;  // a pool thread looks at its outputs
    std::optional<os::ProcessId> supervisor;
    int watch = -1;
    std::vector<Collected> artifacts;  // at the server by content, not yet reported
    CollectedBefore before;
    std::chrono::steady_clock::time_point next_sync{};
    std::chrono::steady_clock::time_point next_look{};
    std::vector<std::string> log_files;  // below the folders that are watched
    std::optional<Preparation> facts;    // what to tell of the preparation; a failure is said once its log is at the server
    int facts_told = 0;                  // counts the changes of facts
    int facts_said = 0;                  // the one that the server has
    bool said_failed = false;
    std::string problem;  // what of its data outputs could not be stored
  };
  struct Report {
    std::string body;
    std::vector<model::AgentEvent> events;
    std::vector<std::tuple<model::AttemptKey, std::string, uint64_t>> streams;  // acknowledged positions; "" is the spool
    std::map<model::AttemptKey, size_t> artifacts;
    std::map<model::AttemptKey, int> facts;
    bool more = false;
    bool empty = true;
  };

  http::ClientSettings Server() const;
  void Do(const std::vector<Action>& actions);  // REQUIRES: mutex_ held
  void Post(std::function<void()> job);
  void PoolLoop();
  void LinkLoop(std::stop_token stop);
  void WatchLoop(std::stop_token stop);
  void CheckSupervisors();
  Result<void> StartSupervisor(const std::string& folder, const Launch& launch);
  void Tidy();
  void PrepareJob(model::AttemptKey key);
  void SyncJob(model::AttemptKey key, bool final);
  // Brings data outputs to their datastores, once the script has ended.
  void UploadOutputs(const model::AttemptKey& key);
  void BeginWatching(Work& work);
  void Dirty();  // REQUIRES: mutex_ held
  bool SendHello(http::Client& client, std::stop_token stop);
  bool SendReport(http::Client& client, std::stop_token stop);
  Report BuildReport();  // REQUIRES: mutex_ held
  // Adds what is unsent of one work; false when something did not fit.
  bool AddStreams(const model::AttemptKey& key, Work& work, Json& logs, Json& records, size_t& room, Report& report);

  AgentSettings settings_;
  std::mutex nursery_mutex_;
  std::shared_ptr<Nursery> nursery_;
  Preparer preparer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Core core_;
  std::map<model::AttemptKey, Work> works_;
  bool linked_ = false;  // the command stream is open
  bool welcomed_ = false;
  bool dirty_ = false;
  bool stop_ = false;
  int64_t session_ = 0;
  int64_t sequence_ = 0;
  std::mutex tidy_mutex_;
  std::atomic<uint64_t> trashed_{0};
  std::atomic<uint64_t> emptied_{0};
  os::FolderWatch watch_;
  os::Waker waker_;
  std::map<int, model::AttemptKey> watched_;
  int builds_watch_ = -1;  // the folder where the logs of builds grow

  std::mutex pool_mutex_;
  std::condition_variable pool_changed_;
  std::deque<std::function<void()>> jobs_;
  bool pool_stop_ = false;
  std::vector<std::thread> pool_;
};

}  // namespace ferry::agent
