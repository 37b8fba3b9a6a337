// Pushes what happens to runs to those who follow them: status, log bytes, metrics. One thread reads each new piece once and hands it to every
// follower that stands at the same place, so a thousand followers cost little more than one.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "http/server.h"
#include "logs/log_store.h"
#include "model/message.h"
#include "model/run.h"
#include "series/series.h"
#include "store/store.h"

namespace ferry::rest {

// What a follower of one run wants, and from where.
struct Following {
  std::string run;
  bool logs = true;
  bool metrics = false;
  bool all_streams = false;                 // every log stream, else the script's output and the log of its environment's build
  std::map<std::string, uint64_t> offsets;  // by "attempt/stream": where to go on
};

class Feed {
 public:
  Feed(store::Store& store, logs::LogStore& logs, series::SeriesStore& series);
  ~Feed();

  // Begins to push to the stream: events "status" (the run as clients see it), "log" ({"stream","attempt","offset","next","data"}: the bytes
  // from offset to next, as UTF-8), "metrics" (summaries) and, after the last, "end". Every event's id can be given back as Last-Event-ID. Ends with the run or
  // the stream.
  void Follow(Following following, std::shared_ptr<http::Stream> stream);
  // Every change of any run: events "run" with id, status and experiment.
  void FollowAll(std::shared_ptr<http::Stream> stream);

  // Something of the run changed. Any thread, cheap.
  void RunChanged(const std::string& run);
  void MetricsChanged(const std::string& run);
  void Stop();

  size_t followers() const;

  // The id of an event, and back.
  static std::string FormatId(const std::map<std::string, uint64_t>& offsets);
  static std::map<std::string, uint64_t> ParseId(std::string_view id);

 private:
  struct Follower {
    Following want;
    std::shared_ptr<http::Stream> stream;
    std::string last_status;  // the view sent last
    bool sent_metrics = false;
    bool gone = false;
  };
  struct Topic {
    std::list<Follower> followers;
    // By attempt. Made and destroyed without the lock: the log store calls back under its own.
    std::map<int, std::unique_ptr<logs::Subscription>> subscriptions;
    bool metrics_dirty = false;
  };
  // An event's data, made once for all followers at the same place.
  struct Piece {
    std::string data;
    uint64_t size = 0;  // of the log bytes in it
    bool more = false;  // the log goes on behind it
  };
  void Wake(const std::string& run);
  void Run();
  void Pump(const std::string& run);
  // Sends what is new; false once the follower has everything of an ended run or is gone.
  bool PumpOne(Topic& topic, Follower& follower, const model::Run* run, const std::string& view, std::map<std::string, Piece>& cache);
  // The log from `offset`; `complete` when no byte will come any more.
  Piece ReadPiece(const std::string& owner, const std::string& stream, int attempt, uint64_t offset, bool complete);

  store::Store& store_;
  logs::LogStore& logs_;
  series::SeriesStore& series_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Topic> topics_;
  std::set<std::string> dirty_;
  std::set<std::string> announced_;
  std::list<std::shared_ptr<http::Stream>> watchers_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ferry::rest
