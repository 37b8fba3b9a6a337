// Metric series: what scripts log, kept compactly per (run, metric) and read down-sampled.
// One implementation (series/series.cc): a journal with one fsync a batch, and sealed chunks in a database file of its own.
// Safe to call from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace ferry::series {

// One logged value. A scalar has `value`; a row, table, list, text or image reference has `json` instead (its JSON text) and
// `kind` says which. The points of a metric keep the order in which they were logged.
struct Point {
  int64_t step = 0;
  Time time;
  double value = 0;
  std::string json;
};

// What log(), log_row() ... made of a metric. A metric keeps the kind of its first point; "scalar" points that meet another kind
// are kept as they come and the kind stays.
enum class Kind : uint8_t { kScalar, kText, kRow, kTable, kList, kImage, kSystem };
const char* KindName(Kind kind);
std::optional<Kind> KindFromName(std::string_view name);

// Points of one metric as they arrive.
struct Batch {
  std::string run;
  std::string metric;
  Kind kind = Kind::kScalar;
  std::vector<Point> points;
};

// Where a writer stands, so that the same bytes sent twice count once: the source ("attempt 1 of run X") and the position after
// this append. An append whose `end` is not beyond what is recorded for `source` is acknowledged and dropped whole.
// An empty source is never deduplicated.
struct Position {
  std::string source;
  uint64_t end = 0;
};

struct Append {
  std::vector<Batch> batches;
  Position position;
};

// Kept apart from the points, so that listing never reads history. Minimum and maximum ignore NaN and points with JSON; both are NaN
// when nothing else came. `last_step` is the largest step, `latest` the point that came last.
struct Summary {
  std::string metric;
  Kind kind = Kind::kScalar;
  int64_t count = 0;
  Point latest;
  double minimum = 0;
  double maximum = 0;
  int64_t last_step = 0;
};

struct Settings {
  std::string folder;
  // The journal is folded into chunks once it is this large, or earlier when what it holds takes too much memory.
  uint64_t journal_bytes = 16u << 20;
};

class SeriesStore {
 public:
  // Opens or creates the folder and replays what the journal holds.
  static Result<std::unique_ptr<SeriesStore>> Open(Settings settings);
  virtual ~SeriesStore() = default;

  // Durable (fsync) when `done` is called, on a thread of the store's own; appends that wait at the same time share one fsync.
  // A failure leaves nothing of this append behind. kUnavailable "series.overloaded" when too much waits already, kTooLarge
  // "series.too_large" for one append over 256 MB, kExhausted "file.disk_full" when the disk is full.
  virtual void Add(Append append, std::function<void(Result<void>)> done) = 0;

  // The points of a metric, at most `limit` of them (0: all); none for an unknown metric. Beyond that, scalars are thinned to
  // buckets that keep each bucket's minimum and maximum and the very first and last point; other kinds keep the latest.
  // `from_index` skips points already read.
  struct Read {
    std::vector<Point> points;
    int64_t total = 0;  // of the metric, before skipping and thinning: the next read's from_index
  };
  virtual Result<Read> Points(const std::string& run, const std::string& metric, size_t limit, int64_t from_index = 0) = 0;

  // Every metric of a run, ordered by name.
  virtual Result<std::vector<Summary>> Summaries(const std::string& run) = 0;

  // Called after each durable append with the runs that changed, from the store's thread. Set once, before the first Add.
  virtual void OnChange(std::function<void(const std::vector<std::string>& runs)> callback) = 0;

  // Forgets a run with the positions of its writers; durable when it returns. Unknown runs are success.
  // REQUIRES: not called from a callback of this store.
  virtual Result<void> Erase(const std::string& run) = 0;
};

}  // namespace ferry::series
