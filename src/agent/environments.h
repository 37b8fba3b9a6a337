// The environments of a node: each made once, shared by every attempt that needs it, kept until room is needed.
//   environments/KEY/            one that is whole has ready.json, written last
//   environments/KEY/build.log   how it was made
//   environments/KEY/used        touched at every use
//   environments/KEY.log         the log of a build that goes on, or that was interrupted
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "environment/builder.h"
#include "model/environment.h"

namespace ferry::agent {

// An environment on the disk, as the decision to remove it sees it.
struct KeptEnvironment {
  std::string key;
  uint64_t bytes = 0;
  Time used;
  bool in_use = false;
};
// Those to remove, least recently used first: older than `max_age`, and as many more as it takes to stay within `max_bytes`. Never one in use.
// 0: no limit.
std::vector<std::string> EnvironmentsToRemove(std::vector<KeptEnvironment> kept, uint64_t max_bytes, Duration max_age, Time now);

class Environments {
 public:
  struct Settings {
    std::string home;  // the agent's
    uint64_t max_bytes = 0;
    Duration max_age{};
    // Makes one; called in a thread of its own.
    std::function<Result<environment::Ready>(const environment::Job& job)> build;
    // The environment as it was built elsewhere, put at job.folder; kNotFound: nobody has it. May be empty.
    std::function<Result<environment::Ready>(const std::string& key, const environment::Job& job)> fetch;
    // One is removed: what of it lies elsewhere than in its folder. May be empty.
    std::function<void(const std::string& key, const environment::Ready& ready)> remove;
    // What was built here, so that others can have it; after the builders' answers. May be empty.
    std::function<void(const std::string& key, const environment::Ready& ready, Duration took)> publish;
  };
  enum class How { kFound, kBuilt, kWaited, kFetched };
  struct Use {
    environment::Ready ready;
    How how = How::kFound;
  };
  struct Request {
    std::string key;
    const model::Environment& definition;
    std::string user;               // the attempt's name; the environment stays until it is released
    std::string log_file;           // where the build's log is linked to as soon as there is one
    bool may_build = true;          // false: kNotFound unless it is here
    std::string context;            // see environment::Job
    std::function<void()> waiting;  // called once the log is linked
    std::function<bool()> stopping;
  };

  explicit Environments(Settings settings);
  ~Environments();  // ends the builds that go on

  // Removes what an interrupted build left and ends its processes. `users`: attempts that go on, with the keys of what they use. Call first.
  void Begin(const std::vector<std::pair<std::string, std::string>>& users);
  // Blocks until it is here. One build for all who ask; it ends early only when nobody waits for it any more.
  Result<Use> Get(const Request& request);
  void Release(const std::string& user);
  // Removes what is too old or too much. Returns the keys. With `dry` nothing is removed.
  std::vector<KeptEnvironment> Prune(bool dry);

 private:
  struct Build {
    int waiting = 0;
    bool stop = false;
    bool done = false;
    bool fetched = false;
    Result<environment::Ready> result = MakeError(Code::kInternal, "environment.build", "not built");
    std::condition_variable changed;
  };
  std::string Folder(const std::string& key) const;
  std::string Log(const std::string& key) const;
  // Reads it from the disk when it is not known.
  std::shared_ptr<const environment::Ready> Find(const std::string& key);  // REQUIRES: mutex_ held
  void Make(const std::string& key, model::Environment definition, std::string context, std::shared_ptr<Build> build, uint64_t thread);

  Settings settings_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const environment::Ready>> ready_;
  std::map<std::string, std::shared_ptr<Build>> builds_;
  std::map<std::string, std::string> users_;  // attempt -> key
  std::map<uint64_t, std::thread> threads_;
  std::vector<uint64_t> ended_;  // of those, to be joined
  uint64_t begun_ = 0;
};

}  // namespace ferry::agent
