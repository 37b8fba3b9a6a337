#include "series/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "os/file.h"
#include "series/archive.h"
#include "series/chunk.h"
#include "series/journal.h"
#include "series/thin.h"

namespace ferry::series {

namespace {

constexpr std::array<const char*, 7> kKindNames{"scalar", "text", "row", "table", "list", "image", "system"};

// A chunk is sealed at either bound.
constexpr int64_t kChunkPoints = 4096;
constexpr size_t kChunkBytes = 32 << 10;
// Journal bytes that share one fsync at most.
constexpr size_t kGroupBytes = 1 << 20;
// Appends waiting to be written; more are refused.
constexpr size_t kQueueBytes = 64 << 20;
// What is kept in memory before it is folded, and what an entry costs beside its points.
constexpr size_t kTailBytes = 8 << 20;
constexpr size_t kTailEntryBytes = 700;
constexpr size_t kPositionBytes = 250;
// After a failed fold this much more has to come before the next try.
constexpr uint64_t kRetryBytes = 1 << 20;

bool IsScalar(Kind kind) { return kind == Kind::kScalar || kind == Kind::kSystem; }

// The points of one metric that the archive does not have yet, and its summary over all.
struct Tail {
  Summary summary;
  int64_t base = 0;  // points that the archive has
  std::vector<Chunk> sealed;
  ChunkWriter open;

  // Returns by how much the tail grew.
  size_t Add(const Batch& batch) {
    size_t before = open.bytes().size(), grown = 0;
    if (summary.count == 0) {
      summary.kind = batch.kind;
      summary.last_step = std::numeric_limits<int64_t>::min();
      summary.minimum = summary.maximum = std::numeric_limits<double>::quiet_NaN();
    }
    for (const Point& point : batch.points) {
      open.Add(point);
      summary.last_step = std::max(summary.last_step, point.step);
      if (point.json.empty() && !std::isnan(point.value)) {
        if (!(summary.minimum <= point.value)) summary.minimum = point.value;
        if (!(summary.maximum >= point.value)) summary.maximum = point.value;
      }
      if (open.count() >= kChunkPoints || open.bytes().size() >= kChunkBytes) {
        grown += open.bytes().size() - before;
        before = 0;
        int64_t count = open.count();
        sealed.push_back({std::make_shared<const std::string>(open.Take()), count});
      }
    }
    summary.count += static_cast<int64_t>(batch.points.size());
    summary.latest = batch.points.back();
    return grown + open.bytes().size() - before;
  }

  std::vector<Chunk> Chunks() const {
    std::vector<Chunk> chunks = sealed;
    if (open.count() > 0) chunks.push_back({std::make_shared<const std::string>(open.bytes()), open.count()});
    return chunks;
  }
};

using Tails = std::map<std::string, std::map<std::string, Tail>>;

class JournaledSeriesStore final : public SeriesStore {
 public:
  JournaledSeriesStore(Settings settings, std::unique_ptr<Archive> archive)
      : settings_(std::move(settings)), archive_(std::move(archive)), fold_at_(settings_.journal_bytes) {}

  ~JournaledSeriesStore() override {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(queue_mutex_);
      stopping_ = true;
    }
    queued_.notify_one();
    thread_.join();
  }

  // Replays the journals that the archive does not hold, and starts the thread.
  Result<void> Start() {
    TRY(uint64_t folded, archive_->FoldedJournal());
    TRY(auto numbers, Journal::List(settings_.folder));
    for (uint64_t number : numbers) {
      if (number <= folded) {
        TRY_VOID(Journal::Remove(settings_.folder, number));
        continue;
      }
      TRY(Journal journal, Journal::Replay(settings_.folder, number, [&](Append append) -> Result<void> {
            TRY_VOID(Touch(append));
            Apply(append);
            return {};
          }));
      journal_bytes_ += journal.size();
      journal_.emplace(std::move(journal));
      live_.push_back(number);
    }
    if (!journal_) TRY_VOID(OpenJournal(folded + 1));
    thread_ = std::thread([this] { Work(); });
    return {};
  }

  void Add(Append append, std::function<void(Result<void>)> done) override {
    std::erase_if(append.batches, [](const Batch& batch) { return batch.points.empty(); });
    Entry entry;
    entry.record = EncodeRecord(append);
    entry.done = std::move(done);
    if (entry.record.size() > kMostRecordBytes) {
      entry.refused = MakeError(Code::kTooLarge, "series.too_large", StrCat("one append is larger than ", FormatBytes(kMostRecordBytes)));
      entry.record.clear();
    }
    Enqueue(std::move(entry));
  }

  Result<Read> Points(const std::string& run, const std::string& metric, size_t limit, int64_t from_index) override {
    Read read;
    from_index = std::max<int64_t>(0, from_index);
    // A second look when the run was erased between the tail and the archive.
    for (int attempt = 0; attempt < 2; ++attempt) {
      Kind kind = Kind::kScalar;
      int64_t base = 0;
      std::vector<Chunk> chunks;
      bool in_tail = false;
      {
        std::lock_guard lock(mutex_);
        if (const Tail* tail = FindTail(run, metric)) {
          in_tail = true;
          kind = tail->summary.kind;
          base = tail->base;
          read.total = tail->summary.count;
          chunks = tail->Chunks();
        }
      }
      TRY(auto view, archive_->Look());
      if (!in_tail) {
        TRY(Summary archived, view.Count(run, metric));
        kind = archived.kind;
        base = read.total = archived.count;
      }
      int64_t from = std::min(from_index, read.total);
      if (!IsScalar(kind) && limit > 0) from = std::max(from, read.total - static_cast<int64_t>(std::min<size_t>(limit, size_t{1} << 40)));
      Thinner thinner(read.total - from, limit);
      TRY(int64_t archived, view.Points(run, metric, from, base, [&](Point point) { thinner.Add(std::move(point)); }));
      if (archived != std::max<int64_t>(0, base - from)) continue;
      int64_t index = base;
      for (const Chunk& chunk : chunks) {
        ChunkReader reader(*chunk.bytes);
        for (Point point; reader.Next(point); ++index)
          if (index >= from) thinner.Add(point);
      }
      read.points = thinner.Take();
      return read;
    }
    return MakeError(Code::kUnavailable, "series.changing", StrCat("the metrics of ", run, " are being erased"));
  }

  Result<std::vector<Summary>> Summaries(const std::string& run) override {
    std::map<std::string, Summary> merged;
    {
      std::lock_guard lock(mutex_);
      if (auto found = tails_.find(run); found != tails_.end())
        for (const auto& [name, tail] : found->second)
          if (tail.summary.count > 0) merged.emplace(name, tail.summary);
    }
    TRY(auto view, archive_->Look());
    TRY(auto archived, view.Summaries(run));
    for (Summary& summary : archived) {
      auto [entry, added] = merged.try_emplace(summary.metric, summary);
      if (!added && entry->second.count < summary.count) entry->second = std::move(summary);
    }
    std::vector<Summary> summaries;
    for (auto& [name, summary] : merged) summaries.push_back(std::move(summary));
    return summaries;
  }

  void OnChange(std::function<void(const std::vector<std::string>&)> callback) override { on_change_ = std::move(callback); }

  Result<void> Erase(const std::string& run) override {
    FERRY_CHECK(std::this_thread::get_id() != thread_.get_id());
    std::mutex mutex;
    std::condition_variable ended;
    std::optional<Result<void>> outcome;
    Entry entry;
    entry.erase = run;
    entry.done = [&](Result<void> result) {
      std::lock_guard lock(mutex);
      outcome = std::move(result);
      ended.notify_one();
    };
    Enqueue(std::move(entry));
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return outcome.has_value(); });
    return *outcome;
  }

 private:
  // Something for the thread to do: an append, or a run to erase.
  struct Entry {
    std::string record;
    std::optional<std::string> erase;
    std::optional<Error> refused;
    std::function<void(Result<void>)> done;
  };

  void Enqueue(Entry entry) {
    {
      std::lock_guard lock(queue_mutex_);
      if (queue_bytes_ + entry.record.size() > kQueueBytes && !entry.erase && !entry.refused) {
        entry.refused = MakeError(Code::kUnavailable, "series.overloaded", "too many points are waiting to be written");
        entry.record = {};
      }
      queue_bytes_ += entry.record.size();
      queue_.push_back(std::move(entry));
    }
    queued_.notify_one();
  }

  // Everything below runs on the thread (or before it starts). It alone changes the tails, so it reads them without the lock.

  void Work() {
    for (;;) {
      std::vector<Entry> group;
      {
        std::unique_lock lock(queue_mutex_);
        queued_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        size_t bytes = 0;
        bool erases = queue_.front().erase.has_value();
        while (!queue_.empty() && queue_.front().erase.has_value() == erases && bytes < kGroupBytes) {
          bytes += queue_.front().record.size();
          group.push_back(std::move(queue_.front()));
          queue_.pop_front();
        }
        queue_bytes_ -= bytes;
      }
      if (group[0].erase) {
        EraseGroup(group);
      } else {
        WriteGroup(group);
        if (journal_bytes_ >= fold_at_ || tail_bytes_ >= kTailBytes + retry_bytes_) FoldOrRetryLater();
      }
    }
  }

  // One write and one fsync for all of them.
  void WriteGroup(std::vector<Entry>& group) {
    std::vector<std::optional<Append>> appends(group.size());
    std::vector<Result<void>> results(group.size());
    std::vector<bool> shares(group.size());  // ends as the write does
    std::map<std::string, uint64_t> pending;
    std::string records;
    for (size_t i = 0; i < group.size(); ++i) {
      if (group[i].refused) {
        results[i] = *group[i].refused;
        continue;
      }
      appends[i] = DecodeRecord(group[i].record);
      FERRY_CHECK(appends[i].has_value());
      const Position& position = appends[i]->position;
      auto touched = Touch(*appends[i]);
      if (!touched.ok()) {
        results[i] = touched;
        appends[i].reset();
        continue;
      }
      if (position.source.empty() && appends[i]->batches.empty()) {
        appends[i].reset();
        continue;
      }
      if (!position.source.empty()) {
        auto known = positions_.find(position.source);
        auto waiting = pending.find(position.source);
        if ((known != positions_.end() && position.end <= known->second.end) || (waiting != pending.end() && position.end <= waiting->second)) {
          shares[i] = waiting != pending.end();
          appends[i].reset();
          continue;
        }
        pending[position.source] = position.end;
      }
      shares[i] = true;
      records += group[i].record;
      group[i].record = {};
    }
    Result<void> written;
    if (!records.empty()) {
      written = journal_->Write(records);
      if (written.ok()) journal_bytes_ += records.size();
    }
    std::set<std::string> runs;
    if (written.ok()) {
      std::lock_guard lock(mutex_);
      for (auto& append : appends) {
        if (!append) continue;
        Apply(*append);
        for (Batch& batch : append->batches) runs.insert(std::move(batch.run));
      }
    }
    for (size_t i = 0; i < group.size(); ++i)
      if (group[i].done) group[i].done(shares[i] ? written : results[i]);
    if (on_change_ && !runs.empty()) on_change_({runs.begin(), runs.end()});
  }

  void EraseGroup(std::vector<Entry>& group) {
    std::set<std::string> runs;
    for (const Entry& entry : group) runs.insert(*entry.erase);
    auto result = FoldNow(std::move(runs));
    for (Entry& entry : group) entry.done(result);
  }

  // Loads what the archive knows of the append's metrics and source, so that applying it cannot fail.
  Result<void> Touch(const Append& append) {
    for (const Batch& batch : append.batches) {
      if (FindTail(batch.run, batch.metric)) continue;
      TRY(Summary summary, archive_->LoadSummary(batch.run, batch.metric));
      std::lock_guard lock(mutex_);
      Tail& tail = tails_[batch.run][batch.metric];
      tail.base = summary.count;
      tail.summary = std::move(summary);
      tail_bytes_ += kTailEntryBytes + batch.run.size() + 2 * batch.metric.size();
    }
    const std::string& source = append.position.source;
    if (!source.empty() && !positions_.contains(source)) {
      TRY(auto recorded, archive_->LoadPosition(source));
      positions_[source] = recorded.value_or(Recorded());
      tail_bytes_ += kPositionBytes + source.size();
    }
    return {};
  }

  // REQUIRES: Touch succeeded; mutex_ is held once the thread runs.
  void Apply(const Append& append) {
    for (const Batch& batch : append.batches) tail_bytes_ += tails_[batch.run][batch.metric].Add(batch);
    if (!append.position.source.empty())
      positions_[append.position.source] = {append.position.end, append.batches.empty() ? std::string() : append.batches[0].run};
  }

  const Tail* FindTail(const std::string& run, const std::string& metric) const {
    auto by_run = tails_.find(run);
    if (by_run == tails_.end()) return nullptr;
    auto found = by_run->second.find(metric);
    return found == by_run->second.end() ? nullptr : &found->second;
  }

  Result<void> OpenJournal(uint64_t number) {
    TRY(Journal journal, Journal::Create(settings_.folder, number));
    journal_.emplace(std::move(journal));
    live_.push_back(number);
    return {};
  }

  void FoldOrRetryLater() {
    if (FoldNow({}).ok()) return;
    fold_at_ = journal_bytes_ + kRetryBytes;
    retry_bytes_ = tail_bytes_ + kRetryBytes > kTailBytes ? tail_bytes_ + kRetryBytes - kTailBytes : 0;
  }

  // Moves all tails into the archive and forgets the runs. A new journal comes first: should a failed commit turn out to have
  // reached the disk after all, nothing written later stands in a journal that it declares done.
  Result<void> FoldNow(std::set<std::string> erased) {
    Fold fold;
    fold.journal = journal_->number();
    TRY_VOID(OpenJournal(fold.journal + 1));
    for (const auto& [run, metrics] : tails_) {
      if (erased.contains(run)) continue;
      for (const auto& [name, tail] : metrics)
        if (tail.summary.count > tail.base) fold.metrics.push_back({run, tail.summary, tail.base, tail.Chunks()});
    }
    for (const auto& [source, recorded] : positions_)
      if (recorded.end > 0) fold.positions.emplace(source, recorded);
    fold.erased = std::move(erased);
    TRY_VOID(archive_->Save(fold));
    {
      std::lock_guard lock(mutex_);
      tails_.clear();
    }
    positions_.clear();
    tail_bytes_ = 0;
    journal_bytes_ = journal_->size();
    fold_at_ = settings_.journal_bytes;
    retry_bytes_ = 0;
    for (uint64_t number : live_)
      if (number <= fold.journal) (void)Journal::Remove(settings_.folder, number);
    std::erase_if(live_, [&](uint64_t number) { return number <= fold.journal; });
    return {};
  }

  const Settings settings_;
  std::unique_ptr<Archive> archive_;
  std::function<void(const std::vector<std::string>&)> on_change_;

  std::mutex queue_mutex_;
  std::condition_variable queued_;
  std::deque<Entry> queue_;
  size_t queue_bytes_ = 0;
  bool stopping_ = false;

  std::mutex mutex_;  // of tails_
  Tails tails_;

  // The thread's own.
  std::map<std::string, Recorded> positions_;  // of the sources met since the last fold
  std::optional<Journal> journal_;             // the one that is written
  std::vector<uint64_t> live_;                 // journals that the archive does not hold
  uint64_t journal_bytes_ = 0;                 // in all of those
  uint64_t fold_at_;
  size_t tail_bytes_ = 0;
  size_t retry_bytes_ = 0;
  std::thread thread_;
};

}  // namespace

const char* KindName(Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::optional<Kind> KindFromName(std::string_view name) {
  for (size_t i = 0; i < kKindNames.size(); ++i)
    if (name == kKindNames[i]) return static_cast<Kind>(i);
  return std::nullopt;
}

Result<std::unique_ptr<SeriesStore>> SeriesStore::Open(Settings settings) {
  TRY_VOID(os::MakeFolders(settings.folder));
  TRY(auto archive, Archive::Open(os::JoinPath(settings.folder, "series.db")));
  auto store = std::make_unique<JournaledSeriesStore>(std::move(settings), std::move(archive));
  TRY_VOID(store->Start());
  return std::unique_ptr<SeriesStore>(std::move(store));
}

}  // namespace ferry::series
