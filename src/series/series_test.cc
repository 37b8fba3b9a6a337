#include "series/series.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/text.h"
#include "os/file.h"
#include "series/journal.h"

namespace ferry::series {
namespace {

Result<void> AddAndWait(SeriesStore& store, Append append) {
  std::promise<Result<void>> promise;
  auto future = promise.get_future();
  store.Add(std::move(append), [&](Result<void> result) { promise.set_value(std::move(result)); });
  return future.get();
}

Append Scalars(std::string run, std::string metric, int64_t first, int64_t count, Position position = {}) {
  Batch batch{std::move(run), std::move(metric), Kind::kScalar, {}};
  for (int64_t i = first; i < first + count; ++i) batch.points.push_back({i, {1'000'000 + i}, std::sin(static_cast<double>(i)), ""});
  return {{std::move(batch)}, std::move(position)};
}

class SeriesTest : public testing::Test {
 protected:
  SeriesTest() : folder_(testing::TempDir() + "ferry_series_XXXXXX") { FERRY_CHECK(::mkdtemp(folder_.data())); }
  ~SeriesTest() override {
    store_.reset();
    (void)os::RemoveAll(folder_);
  }
  void Open(uint64_t journal_bytes = 16u << 20) {
    store_.reset();
    auto store = SeriesStore::Open({folder_, journal_bytes});
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
  }
  void Add(Append append) {
    auto result = AddAndWait(*store_, std::move(append));
    ASSERT_TRUE(result.ok()) << result.error().message;
  }
  std::vector<Point> All(const std::string& run, const std::string& metric) { return store_->Points(run, metric, 0)->points; }
  int64_t Count(const std::string& run, const std::string& metric) { return store_->Points(run, metric, 1)->total; }
  std::string LastJournal() {
    uint64_t number = Journal::List(folder_)->back();
    std::string digits = StrCat(number);
    return os::JoinPath(folder_, "journal-" + std::string(12 - digits.size(), '0') + digits);
  }

  std::string folder_;
  std::unique_ptr<SeriesStore> store_;
};

TEST_F(SeriesTest, KeepsEveryKindInOrder) {
  for (uint64_t journal_bytes : {uint64_t{16} << 20, uint64_t{1}}) {
    Open(journal_bytes);
    std::string run = StrCat("run", journal_bytes);
    for (int kind = 0; kind < 7; ++kind) {
      auto k = static_cast<Kind>(kind);
      EXPECT_EQ(KindFromName(KindName(k)), k);
      Batch batch{run, KindName(k), k, {}};
      for (int i = 0; i < 3; ++i)
        batch.points.push_back({i, {100 + i}, kind == 0 || kind == 6 ? i + 0.5 : 0.0, kind == 0 || kind == 6 ? "" : StrCat("{\"i\":", i, "}")});
      Add({{batch}, {}});
    }
    Open(journal_bytes);
    auto summaries = *store_->Summaries(run);
    ASSERT_EQ(summaries.size(), 7u);
    EXPECT_EQ(summaries[0].metric, "image");
    for (const Summary& summary : summaries) {
      EXPECT_EQ(KindName(summary.kind), summary.metric);
      EXPECT_EQ(summary.count, 3);
      auto points = All(run, summary.metric);
      ASSERT_EQ(points.size(), 3u);
      EXPECT_EQ(points[1].time.micros, 101);
      EXPECT_EQ(points[2].json, summary.latest.json);
    }
    EXPECT_EQ(All(run, "row")[2].json, "{\"i\":2}");
    EXPECT_EQ(All(run, "scalar")[2].value, 2.5);
    // The latest of what is no scalar; the kind of the first point stays.
    auto two = *store_->Points(run, "table", 2);
    ASSERT_EQ(two.points.size(), 2u);
    EXPECT_EQ(two.points[0].step, 1);
    EXPECT_EQ(two.total, 3);
    Add({{{run, "table", Kind::kScalar, {{7, {7}, 7, ""}}}}, {}});
    EXPECT_EQ(All(run, "table").back().value, 7);
    EXPECT_EQ(store_->Summaries(run)->back().kind, Kind::kText);
    EXPECT_EQ((*store_->Summaries(run))[5].kind, Kind::kTable);
  }
  EXPECT_FALSE(KindFromName("nothing").has_value());
}

TEST_F(SeriesTest, AnswersForTheUnknown) {
  Open();
  EXPECT_EQ(store_->Points("no", "no", 10)->total, 0);
  EXPECT_TRUE(store_->Summaries("no")->empty());
  EXPECT_TRUE(store_->Erase("no").ok());
  Add({});
  Add({{{"run", "empty", Kind::kScalar, {}}}, {}});
  EXPECT_TRUE(store_->Summaries("run")->empty());
}

TEST_F(SeriesTest, SummarizesNanAndInfinities) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (bool folded : {false, true}) {
    Open(folded ? 1 : 16u << 20);
    std::string run = folded ? "f" : "j";
    Add({{{run, "only_nan", Kind::kScalar, {{5, {1}, nan, ""}, {3, {2}, nan, ""}}},
          {run, "both", Kind::kScalar, {{1, {1}, nan, ""}, {9, {2}, inf, ""}, {4, {3}, -2, ""}}},
          {run, "low", Kind::kScalar, {{1, {1}, -inf, ""}}},
          {run, "text", Kind::kText, {{1, {1}, 0, "\"a\""}}}},
         {}});
    Add({{{run, "both", Kind::kScalar, {{5, {4}, nan, ""}}}}, {}});
    Open();
    auto s = *store_->Summaries(run);
    ASSERT_EQ(s.size(), 4u);
    EXPECT_EQ(s[0].metric, "both");
    EXPECT_EQ(s[0].minimum, -2);
    EXPECT_EQ(s[0].maximum, inf);
    EXPECT_TRUE(std::isnan(s[0].latest.value));
    EXPECT_EQ(s[0].latest.step, 5);
    EXPECT_EQ(s[0].last_step, 9);
    EXPECT_EQ(s[0].count, 4);
    EXPECT_EQ(s[1].minimum, -inf);
    EXPECT_EQ(s[1].maximum, -inf);
    EXPECT_TRUE(std::isnan(s[2].minimum) && std::isnan(s[2].maximum));
    EXPECT_EQ(s[2].last_step, 5);
    EXPECT_TRUE(std::isnan(s[3].minimum));
  }
}

TEST_F(SeriesTest, ThinsAndSkips) {
  for (uint64_t journal_bytes : {uint64_t{16} << 20, uint64_t{20'000}}) {
    Open(journal_bytes);
    std::string run = StrCat("run", journal_bytes);
    Append append = Scalars(run, "loss", 0, 10'000);
    append.batches[0].points[1234].value = 50;
    append.batches[0].points[8765].value = -50;
    for (int64_t first = 0; first < 10'000; first += 1000) {
      Append part;
      part.batches.push_back({run, "loss", Kind::kScalar, {append.batches[0].points.begin() + first, append.batches[0].points.begin() + first + 1000}});
      Add(part);
    }
    auto thin = *store_->Points(run, "loss", 100);
    EXPECT_EQ(thin.total, 10'000);
    EXPECT_LE(thin.points.size(), 100u);
    EXPECT_GE(thin.points.size(), 95u);
    EXPECT_EQ(thin.points.front().step, 0);
    EXPECT_EQ(thin.points.back().step, 9999);
    auto has = [&](int64_t step) { return std::any_of(thin.points.begin(), thin.points.end(), [&](const Point& point) { return point.step == step; }); };
    EXPECT_TRUE(has(1234) && has(8765));
    for (int64_t from : {int64_t{-5}, int64_t{0}, int64_t{1}, int64_t{4096}, int64_t{9500}, int64_t{9999}, int64_t{10'000}, int64_t{20'000}}) {
      auto rest = *store_->Points(run, "loss", 0, from);
      EXPECT_EQ(rest.total, 10'000);
      int64_t start = std::clamp<int64_t>(from, 0, 10'000);
      ASSERT_EQ(static_cast<int64_t>(rest.points.size()), 10'000 - start);
      if (!rest.points.empty()) {
        EXPECT_EQ(rest.points.front().step, start);
      }
    }
  }
}

TEST_F(SeriesTest, DropsWhatItHasByPosition) {
  Open();
  Add(Scalars("run", "loss", 0, 10, {"attempt 1", 100}));
  Add(Scalars("run", "loss", 0, 10, {"attempt 1", 100}));
  Add(Scalars("run", "loss", 0, 5, {"attempt 1", 50}));
  Add(Scalars("run", "loss", 10, 10, {"attempt 1", 200}));
  EXPECT_EQ(Count("run", "loss"), 20);
  Open(1);
  Add(Scalars("run", "loss", 10, 10, {"attempt 1", 200}));
  EXPECT_EQ(Count("run", "loss"), 20);
  Add(Scalars("other", "loss", 0, 1, {"attempt 2", 1}));
  Open(1);
  Add(Scalars("run", "loss", 10, 10, {"attempt 1", 200}));
  Add(Scalars("other", "loss", 0, 1, {"attempt 2", 1}));
  EXPECT_EQ(Count("run", "loss"), 20);
  Add(Scalars("run", "loss", 20, 1, {"attempt 1", 201}));
  Add(Scalars("run", "loss", 0, 1));
  Add(Scalars("run", "loss", 0, 1));
  EXPECT_EQ(Count("run", "loss"), 23);
  EXPECT_EQ(Count("other", "loss"), 1);
}

// Many copies of each append at once: each counts once, whether its first copy is written or still waits.
TEST_F(SeriesTest, DropsCopiesThatWaitTogether) {
  Open(4000);
  std::atomic<int> waiting = 0;
  for (uint64_t i = 1; i <= 200; ++i)
    for (int copy = 0; copy < 3; ++copy) {
      ++waiting;
      store_->Add(Scalars("run", "loss", static_cast<int64_t>(i), 1, {"attempt", i}), [&](Result<void> result) {
        EXPECT_TRUE(result.ok());
        --waiting;
      });
    }
  while (waiting > 0) std::this_thread::yield();
  EXPECT_EQ(Count("run", "loss"), 200);
}

TEST_F(SeriesTest, FoldedEqualsUnfolded) {
  std::mt19937 random(11);
  std::vector<Append> appends;
  for (int i = 0; i < 300; ++i) {
    Append append = Scalars(StrCat("run", random() % 4), StrCat("m", random() % 3), static_cast<int64_t>(random() % 1000),
                            1 + static_cast<int64_t>(random() % (i % 40 == 0 ? 6000 : 20)));
    if (i % 7 == 0) append.batches.push_back({"run1", "text", Kind::kText, {{i, {i}, 0, StrCat("\"", std::string(random() % 4000, 'x'), "\"")}}});
    appends.push_back(append);
  }
  auto dump = [&] {
    std::string out;
    for (int r = 0; r < 4; ++r) {
      auto summaries = store_->Summaries(StrCat("run", r));
      for (const Summary& s : *summaries) {
        out +=
            StrCat(r, s.metric, " ", s.count, " ", s.minimum, " ", s.maximum, " ", s.last_step, " ", s.latest.step, " ", s.latest.value, s.latest.json, "\n");
        for (const Point& point : All(StrCat("run", r), s.metric)) out += StrCat(point.step, ",", point.time.micros, ",", point.value, ",", point.json, ";");
        auto thin = store_->Points(StrCat("run", r), s.metric, 50, 17);
        for (const Point& point : thin->points) out += StrCat(point.step, ",", point.value, ";");
      }
    }
    return out;
  };
  std::vector<std::string> dumps;
  for (uint64_t journal_bytes : {uint64_t{64} << 20, uint64_t{1}, uint64_t{5'000}, uint64_t{100'000}}) {
    store_.reset();
    (void)os::RemoveAll(folder_);
    Open(journal_bytes);
    for (const Append& append : appends) Add(append);
    dumps.push_back(dump());
    Open(journal_bytes);
    dumps.push_back(dump());
  }
  for (const std::string& one : dumps) EXPECT_TRUE(one == dumps[0]);
  EXPECT_GT(dumps[0].size(), 100'000u);
}

TEST_F(SeriesTest, CutsATornTail) {
  Open();
  Add(Scalars("run", "loss", 0, 10));
  uint64_t whole = os::StatPath(LastJournal())->size;
  Add(Scalars("run", "loss", 10, 10));
  store_.reset();
  std::string bytes = *os::ReadFile(LastJournal());
  std::vector<std::string> torn{bytes.substr(0, bytes.size() - 1), bytes.substr(0, whole + 3), bytes.substr(0, whole) + std::string(500, '\0'),
                                bytes.substr(0, whole) + std::string(500, '\xff')};
  std::string flipped = bytes;
  flipped[whole + 20] ^= 1;
  torn.push_back(flipped);
  for (const std::string& one : torn) {
    ASSERT_TRUE(os::WriteFileAtomic(LastJournal(), one).ok());
    Open();
    EXPECT_EQ(Count("run", "loss"), 10);
    Add(Scalars("run", "loss", 10, 1));
    Open();
    EXPECT_EQ(Count("run", "loss"), 11);
    store_.reset();
  }
  ASSERT_TRUE(os::WriteFileAtomic(LastJournal(), "fer").ok());
  Open();
  EXPECT_EQ(Count("run", "loss"), 0);
  store_.reset();
  ASSERT_TRUE(os::WriteFileAtomic(LastJournal(), "something else entirely").ok());
  EXPECT_EQ(SeriesStore::Open({folder_, 1000}).error().slug, "series.bad_journal");
}

TEST_F(SeriesTest, KillLosesNothingAcknowledged) {
  for (uint64_t journal_bytes : {uint64_t{16} << 20, uint64_t{3000}, uint64_t{1}}) {
    store_.reset();
    (void)os::RemoveAll(folder_);
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    pid_t child = ::fork();
    if (child == 0) {
      auto store = SeriesStore::Open({folder_, journal_bytes});
      for (int64_t i = 0; store.ok(); ++i) {
        if (!AddAndWait(**store, Scalars("run", "loss", i, 1, {"attempt", static_cast<uint64_t>(i + 1)})).ok()) break;
        if (::write(pipe[1], &i, sizeof i) != sizeof i) break;
      }
      ::_exit(1);
    }
    ::close(pipe[1]);
    int64_t acknowledged = -1;
    for (int64_t i; acknowledged < 150 && ::read(pipe[0], &i, sizeof i) == sizeof i;) acknowledged = i;
    ::kill(child, SIGKILL);
    for (int64_t i; ::read(pipe[0], &i, sizeof i) == sizeof i;) acknowledged = i;
    ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
    ASSERT_GE(acknowledged, 150);
    Open(journal_bytes);
    auto points = All("run", "loss");
    ASSERT_GT(static_cast<int64_t>(points.size()), acknowledged);
    for (size_t i = 0; i < points.size(); ++i) ASSERT_EQ(points[i].step, static_cast<int64_t>(i));
    // The writer sends again from what it saw acknowledged.
    Add(Scalars("run", "loss", acknowledged, 1, {"attempt", static_cast<uint64_t>(acknowledged + 1)}));
    EXPECT_EQ(Count("run", "loss"), static_cast<int64_t>(points.size()));
  }
}

TEST_F(SeriesTest, Erases) {
  for (uint64_t journal_bytes : {uint64_t{16} << 20, uint64_t{1}}) {
    Open(journal_bytes);
    Add(Scalars("a", "loss", 0, 10, {"attempt a", 5}));
    Add(Scalars("b", "loss", 0, 10));
    Add(Scalars("a", "loss", 10, 10));
    EXPECT_TRUE(store_->Erase("a").ok());
    EXPECT_EQ(Count("a", "loss"), 0);
    EXPECT_TRUE(store_->Summaries("a")->empty());
    Open(journal_bytes);
    EXPECT_EQ(Count("a", "loss"), 0);
    EXPECT_EQ(Count("b", "loss"), 10);
    Add(Scalars("a", "loss", 0, 3, {"attempt a", 5}));
    EXPECT_EQ(Count("a", "loss"), 3);
    EXPECT_TRUE(store_->Erase("a").ok());
    EXPECT_TRUE(store_->Erase("b").ok());
  }
}

TEST_F(SeriesTest, TellsWhichRunsChanged) {
  Open();
  std::mutex mutex;
  std::set<std::string> changed;
  store_->OnChange([&](const std::vector<std::string>& runs) {
    std::lock_guard lock(mutex);
    changed.insert(runs.begin(), runs.end());
  });
  Append append = Scalars("a", "loss", 0, 1);
  append.batches.push_back({"b", "loss", Kind::kScalar, {{}}});
  Add(append);
  Add(Scalars("c", "loss", 0, 1));
  store_.reset();
  EXPECT_EQ(changed, (std::set<std::string>{"a", "b", "c"}));
}

// Readers beside writers and folds: a series only ever grows, and always from its start without a hole.
TEST_F(SeriesTest, ReadsWhileItIsWritten) {
  Open(4000);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      int64_t latest = 0;
      std::string run = StrCat("run", r);
      while (!stop) {
        auto read = store_->Points(run, "loss", 0);
        ASSERT_TRUE(read.ok()) << read.error().message;
        ASSERT_EQ(static_cast<int64_t>(read->points.size()), read->total);
        ASSERT_GE(read->total, latest);
        latest = read->total;
        for (size_t i = 0; i < read->points.size(); ++i) ASSERT_EQ(read->points[i].step, static_cast<int64_t>(i));
        auto summaries = store_->Summaries(run);
        ASSERT_TRUE(summaries.ok());
        if (latest > 0) {
          ASSERT_GE(summaries->at(0).count, latest);
        }
      }
    });
  std::vector<std::thread> writers;
  for (int w = 0; w < 3; ++w)
    writers.emplace_back([&, w] {
      for (int64_t i = 0; i < 150; ++i) ASSERT_TRUE(AddAndWait(*store_, Scalars(StrCat("run", w), "loss", i * 3, 3)).ok());
    });
  writers.emplace_back([&] {
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(AddAndWait(*store_, Scalars("gone", "loss", 0, 3)).ok());
      ASSERT_TRUE(store_->Erase("gone").ok());
    }
  });
  for (auto& writer : writers) writer.join();
  stop = true;
  for (auto& thread : threads) thread.join();
  for (int w = 0; w < 3; ++w) EXPECT_EQ(Count(StrCat("run", w), "loss"), 450);
}

// In a child whose files may not grow beyond a bound.
TEST_F(SeriesTest, FullDiskLeavesNothingOfTheAppend) {
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto store = SeriesStore::Open({folder_, 16u << 20});
    if (!store.ok()) ::_exit(2);
    rlimit limit{30'000, 30'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (!AddAndWait(**store, Scalars("run", "loss", 0, 100, {"attempt", 1})).ok()) ::_exit(3);
    if (AddAndWait(**store, Scalars("run", "loss", 100, 10'000, {"attempt", 2})).ok()) ::_exit(4);
    if ((*store)->Points("run", "loss", 0)->total != 100) ::_exit(5);
    if (!AddAndWait(**store, Scalars("run", "loss", 100, 100, {"attempt", 2})).ok()) ::_exit(6);
    if ((*store)->Points("run", "loss", 0)->total != 200) ::_exit(7);
    // A fold has no room either; it leaves everything as it was.
    for (int i = 0; i < 20; ++i) (void)AddAndWait(**store, Scalars(StrCat("other", i), "loss", 0, 100));
    if ((*store)->Points("run", "loss", 0)->total != 200) ::_exit(8);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  Open();
  EXPECT_EQ(Count("run", "loss"), 200);
  Add(Scalars("run", "loss", 200, 10'000));
  EXPECT_EQ(Count("run", "loss"), 10'200);
}

TEST_F(SeriesTest, FailedFoldKeepsEverythingAndIsTriedAgain) {
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto store = SeriesStore::Open({folder_, 60'000});
    if (!store.ok()) ::_exit(2);
    // Room for the journal, none for the database's log.
    rlimit limit{80'000, 80'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int64_t added = 0;
    while (added < 200 && AddAndWait(**store, Scalars(StrCat("run", added), "loss", 0, 60)).ok()) ++added;
    for (int64_t i = 0; i < added; ++i)
      if ((*store)->Points(StrCat("run", i), "loss", 0)->total != 60) ::_exit(4);
    std::string told = StrCat(added);
    rlimit open{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &open);
    if (!os::WriteFileAtomic(os::JoinPath(folder_, "added"), told).ok()) ::_exit(5);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  int64_t added = *ParseInt(*os::ReadFile(os::JoinPath(folder_, "added")));
  EXPECT_GT(added, 50);
  Open(1);
  Add(Scalars("more", "loss", 0, 1));
  for (int64_t i = 0; i < added; ++i) ASSERT_EQ(Count(StrCat("run", i), "loss"), 60) << i;
  Open();
  for (int64_t i = 0; i < added; ++i) ASSERT_EQ(Count(StrCat("run", i), "loss"), 60) << i;
  EXPECT_LE(Journal::List(folder_)->size(), 1u);
}

}  // namespace
}  // namespace ferry::series
