#include "series/archive.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "series/chunk.h"

namespace ferry::series {

using sqlite::Statement;
using sqlite::Transaction;

namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kCacheBytes = 2 << 20;
constexpr size_t kReaders = 3;
// A last chunk below this is unpacked and packed again with the points that follow.
constexpr size_t kSmallChunk = 2048;

constexpr char kTables[] = R"(
CREATE TABLE metric (
  id INTEGER PRIMARY KEY, run TEXT NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL, count INTEGER NOT NULL,
  minimum REAL, maximum REAL, last_step INTEGER NOT NULL,
  step INTEGER NOT NULL, time INTEGER NOT NULL, value REAL, json TEXT NOT NULL,
  UNIQUE (run, name));
CREATE TABLE chunk (
  metric INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, points BLOB NOT NULL,
  PRIMARY KEY (metric, first)) WITHOUT ROWID;
CREATE TABLE position (source TEXT NOT NULL PRIMARY KEY, end INTEGER NOT NULL, run TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX position_run ON position (run);
CREATE TABLE folded (journal INTEGER NOT NULL);
INSERT INTO folded VALUES (0);
PRAGMA user_version = 1;
)";

constexpr char kSummaryColumns[] = "name, kind, count, minimum, maximum, last_step, step, time, value, json";

// A null stands for NaN.
double RealOrNan(const Statement& row, int column) {
  return row.ColumnType(column) == sqlite::Type::kNull ? std::numeric_limits<double>::quiet_NaN() : row.Real(column);
}

Summary ReadSummary(const Statement& row) {
  Summary summary;
  summary.metric = row.Text(0);
  summary.kind = static_cast<Kind>(row.Int(1));
  summary.count = row.Int(2);
  summary.minimum = RealOrNan(row, 3);
  summary.maximum = RealOrNan(row, 4);
  summary.last_step = row.Int(5);
  summary.latest = {row.Int(6), {row.Int(7)}, RealOrNan(row, 8), std::string(row.Text(9))};
  return summary;
}

Error BadChunk(const sqlite::Database& database, int64_t metric) {
  return MakeError(Code::kInternal, "series.bad_chunk", StrCat("a chunk of the metric ", metric, " in ", database.path(), " cannot be read"));
}

}  // namespace

Archive::Archive(std::unique_ptr<sqlite::Database> writer)
    : writer_(std::move(writer)), readers_(writer_->path(), {.slug = "series", .cache_bytes = kCacheBytes}, kReaders) {}

Result<std::unique_ptr<Archive>> Archive::Open(const std::string& path) {
  TRY(auto writer, sqlite::Database::Open(path, {.slug = "series", .cache_bytes = kCacheBytes}));
  TRY(int64_t version, writer->QueryInt("PRAGMA user_version"));
  if (version > kVersion)
    return MakeError(Code::kConflict, "series.newer_schema",
                     StrCat(path, " was written by a newer Ferry (layout ", version, ", this one reads up to ", kVersion, ")"));
  if (version == 0) {
    TRY(auto transaction, Transaction::Begin(*writer, Transaction::Mode::kWrite));
    TRY_VOID(writer->Exec(kTables));
    TRY_VOID(transaction.Commit());
  }
  return std::unique_ptr<Archive>(new Archive(std::move(writer)));
}

Result<Summary> Archive::LoadSummary(const std::string& run, const std::string& metric) {
  TRY(auto statement, writer_->Prepare(StrCat("SELECT ", kSummaryColumns, " FROM metric WHERE run = ?1 AND name = ?2")));
  statement.BindText(1, run).BindText(2, metric);
  TRY(bool row, statement.Step());
  if (row) return ReadSummary(statement);
  Summary summary;
  summary.metric = metric;
  return summary;
}

Result<std::optional<Recorded>> Archive::LoadPosition(const std::string& source) {
  TRY(auto statement, writer_->Prepare("SELECT end, run FROM position WHERE source = ?1"));
  statement.BindText(1, source);
  TRY(bool row, statement.Step());
  if (!row) return std::optional<Recorded>();
  return std::optional(Recorded{static_cast<uint64_t>(statement.Int(0)), std::string(statement.Text(1))});
}

Result<uint64_t> Archive::FoldedJournal() {
  TRY(int64_t journal, writer_->QueryInt("SELECT journal FROM folded"));
  return static_cast<uint64_t>(journal);
}

Result<void> Archive::Save(const Fold& fold) {
  TRY(auto transaction, Transaction::Begin(*writer_, Transaction::Mode::kWrite));
  for (const Fold::Metric& metric : fold.metrics) TRY_VOID(SaveMetric(metric));
  for (const auto& [source, recorded] : fold.positions) {
    TRY(auto statement, writer_->Prepare("INSERT INTO position (source, end, run) VALUES (?1, ?2, ?3)"
                                         " ON CONFLICT (source) DO UPDATE SET end = excluded.end, run = excluded.run"));
    statement.BindText(1, source).BindInt(2, static_cast<int64_t>(recorded.end)).BindText(3, recorded.run);
    TRY_VOID(statement.Run());
  }
  for (const std::string& run : fold.erased) TRY_VOID(EraseRun(run));
  {
    TRY(auto statement, writer_->Prepare("UPDATE folded SET journal = ?1"));
    statement.BindInt(1, static_cast<int64_t>(fold.journal));
    TRY_VOID(statement.Run());
  }
  return transaction.Commit();
}

Result<void> Archive::SaveMetric(const Fold::Metric& metric) {
  const Summary& summary = metric.summary;
  int64_t id = 0;
  {
    TRY(auto statement, writer_->Prepare("INSERT INTO metric (run, name, kind, count, minimum, maximum, last_step, step, time, value, json)"
                                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (run, name) DO UPDATE SET"
                                         " kind = excluded.kind, count = excluded.count, minimum = excluded.minimum, maximum = excluded.maximum,"
                                         " last_step = excluded.last_step, step = excluded.step, time = excluded.time, value = excluded.value,"
                                         " json = excluded.json RETURNING id"));
    statement.BindText(1, metric.run).BindText(2, summary.metric).BindInt(3, static_cast<int64_t>(summary.kind)).BindInt(4, summary.count);
    statement.BindReal(5, summary.minimum).BindReal(6, summary.maximum).BindInt(7, summary.last_step);
    statement.BindInt(8, summary.latest.step).BindInt(9, summary.latest.time.micros).BindReal(10, summary.latest.value);
    statement.BindText(11, summary.latest.json);
    TRY([[maybe_unused]] bool row, statement.Step());
    id = statement.Int(0);
    TRY_VOID(statement.Run());
  }
  int64_t first = metric.base;
  std::vector<Chunk> chunks = metric.chunks;
  if (first > 0 && !chunks.empty()) {
    TRY(auto last, writer_->Prepare("SELECT first, points FROM chunk WHERE metric = ?1 ORDER BY first DESC LIMIT 1"));
    last.BindInt(1, id);
    TRY(bool row, last.Step());
    if (row && last.Blob(1).size() < kSmallChunk) {
      ChunkWriter merged;
      for (std::string_view bytes : {last.Blob(1), std::string_view(*chunks[0].bytes)}) {
        ChunkReader reader(bytes);
        for (Point point; reader.Next(point);) merged.Add(point);
        if (reader.damaged()) return BadChunk(*writer_, id);
      }
      first = last.Int(0);
      int64_t count = merged.count();
      chunks[0] = {std::make_shared<const std::string>(merged.Take()), count};
    }
  }
  for (const Chunk& chunk : chunks) {
    TRY(auto statement, writer_->Prepare("INSERT OR REPLACE INTO chunk (metric, first, count, points) VALUES (?1, ?2, ?3, ?4)"));
    statement.BindInt(1, id).BindInt(2, first).BindInt(3, chunk.count).BindBlob(4, *chunk.bytes);
    TRY_VOID(statement.Run());
    first += chunk.count;
  }
  if (first != summary.count) return BadChunk(*writer_, id);
  return {};
}

Result<void> Archive::EraseRun(const std::string& run) {
  for (const char* sql : {"DELETE FROM chunk WHERE metric IN (SELECT id FROM metric WHERE run = ?1)", "DELETE FROM metric WHERE run = ?1",
                          "DELETE FROM position WHERE run = ?1"}) {
    TRY(auto statement, writer_->Prepare(sql));
    statement.BindText(1, run);
    TRY_VOID(statement.Run());
  }
  return {};
}

Result<Archive::View> Archive::Look() {
  TRY(auto reader, readers_.Take());
  TRY(auto transaction, Transaction::Begin(*reader, Transaction::Mode::kRead));
  return View(std::move(reader), std::move(transaction));
}

Result<std::vector<Summary>> Archive::View::Summaries(const std::string& run) {
  TRY(auto statement, reader_->Prepare(StrCat("SELECT ", kSummaryColumns, " FROM metric WHERE run = ?1 ORDER BY name")));
  statement.BindText(1, run);
  std::vector<Summary> summaries;
  for (;;) {
    TRY(bool row, statement.Step());
    if (!row) return summaries;
    summaries.push_back(ReadSummary(statement));
  }
}

Result<Summary> Archive::View::Count(const std::string& run, const std::string& metric) {
  TRY(auto statement, reader_->Prepare("SELECT kind, count FROM metric WHERE run = ?1 AND name = ?2"));
  statement.BindText(1, run).BindText(2, metric);
  TRY(bool row, statement.Step());
  Summary summary;
  if (row) {
    summary.kind = static_cast<Kind>(statement.Int(0));
    summary.count = statement.Int(1);
  }
  return summary;
}

Result<int64_t> Archive::View::Points(const std::string& run, const std::string& metric, int64_t from, int64_t to, const std::function<void(Point)>& visit) {
  int64_t visited = 0;
  if (from >= to) return visited;
  TRY(auto statement, reader_->Prepare("SELECT chunk.first, chunk.count, chunk.points, chunk.metric FROM metric CROSS JOIN chunk"
                                       " WHERE metric.run = ?1 AND metric.name = ?2 AND chunk.metric = metric.id AND chunk.first < ?4 AND chunk.first >="
                                       " ifnull((SELECT max(before.first) FROM chunk before WHERE before.metric = metric.id AND before.first <= ?3), 0)"
                                       " ORDER BY chunk.first"));
  statement.BindText(1, run).BindText(2, metric).BindInt(3, from).BindInt(4, to);
  for (;;) {
    TRY(bool row, statement.Step());
    if (!row) return visited;
    ChunkReader reader(statement.Blob(2));
    int64_t index = statement.Int(0);
    for (Point point; reader.Next(point); ++index) {
      if (index < from || index >= to) continue;
      visit(std::move(point));
      ++visited;
    }
    if (reader.damaged() || index != statement.Int(0) + statement.Int(1)) return BadChunk(*reader_, statement.Int(3));
  }
}

}  // namespace ferry::series
