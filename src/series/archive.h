// What has been folded out of the journal: chunks of points, a summary per metric and the writers' positions, in a SQLite file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "series/series.h"
#include "sqlite/database.h"
#include "sqlite/pool.h"

namespace ferry::series {

// A packed piece of a series.
struct Chunk {
  std::shared_ptr<const std::string> bytes;
  int64_t count = 0;
};

// What is recorded of a writer.
struct Recorded {
  uint64_t end = 0;
  std::string run;  // goes with this run when it is erased
};

// One step from the journal into the archive.
struct Fold {
  struct Metric {
    std::string run;
    Summary summary;   // with the chunks counted in
    int64_t base = 0;  // points that the archive has already
    std::vector<Chunk> chunks;
  };
  std::vector<Metric> metrics;
  std::map<std::string, Recorded> positions;
  std::set<std::string> erased;  // runs to forget
  uint64_t journal = 0;          // the last journal that this holds
};

class Archive {
 public:
  // Opens or creates the file. kConflict "series.newer_schema" when a newer Ferry wrote it.
  static Result<std::unique_ptr<Archive>> Open(const std::string& path);

  // These three are called by one thread.
  //
  // The summary; a count of 0 when the metric is not known.
  Result<Summary> LoadSummary(const std::string& run, const std::string& metric);
  Result<std::optional<Recorded>> LoadPosition(const std::string& source);
  // All of it, durably, or nothing. Small chunks at the end of a series are merged with what follows.
  Result<void> Save(const Fold& fold);

  // The last journal that the archive holds; 0: none.
  Result<uint64_t> FoldedJournal();

  // A consistent look, from any thread.
  class View {
   public:
    // Ordered by name.
    Result<std::vector<Summary>> Summaries(const std::string& run);
    // Number and kind of the points of a metric; a count of 0 when it is not known.
    Result<Summary> Count(const std::string& run, const std::string& metric);
    // Calls `visit` with the points of index `from` to before `to`, in order. Returns how many there were.
    Result<int64_t> Points(const std::string& run, const std::string& metric, int64_t from, int64_t to, const std::function<void(Point)>& visit);

   private:
    friend class Archive;
    View(sqlite::ReaderPool::Lease reader, sqlite::Transaction transaction) : reader_(std::move(reader)), transaction_(std::move(transaction)) {}
    sqlite::ReaderPool::Lease reader_;
    sqlite::Transaction transaction_;
  };
  Result<View> Look();

 private:
  explicit Archive(std::unique_ptr<sqlite::Database> writer);
  Result<void> SaveMetric(const Fold::Metric& metric);
  Result<void> EraseRun(const std::string& run);

  std::unique_ptr<sqlite::Database> writer_;
  sqlite::ReaderPool readers_;
};

}  // namespace ferry::series
