// Fills a SQLite store with runs and prints what its queries cost.
//   store_bench FOLDER [RUNS]
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>

#include "base/text.h"
#include "os/file.h"
#include "store/sqlite/sqlite_store.h"

using namespace ferry;
using namespace ferry::store;

namespace {

double Milliseconds(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int64_t ResidentKilobytes() {
  auto status = os::ReadFile("/proc/self/status").ValueOr("");
  size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::atoll(status.c_str() + at + 6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: store_bench FOLDER [RUNS]\n"), 2;
  int64_t runs = argc > 2 ? std::atoll(argv[2]) : 100'000;
  FERRY_CHECK(os::MakeFolders(argv[1]).ok());
  std::string path = os::JoinPath(argv[1], "store_bench.db");
  for (const char* suffix : {"", "-wal", "-shm"}) FERRY_CHECK(os::RemoveFile(path + suffix).ok());
  std::vector<TableSpec> tables{
      {"run",
       {{"experiment", ColumnType::kText, true}, {"created", ColumnType::kInt, true}, {"status", ColumnType::kText, true}, {"user", ColumnType::kText, true}},
       {{"status", "created"}, {"experiment", "created"}}}};
  {
    auto store = std::move(OpenSqliteStore(path, tables)).value();
    std::mt19937 random(1);
    double fill = Milliseconds([&] {
      std::vector<Change> changes;
      for (int64_t i = 0; i < runs; ++i) {
        std::vector<Attribute> attributes{{"tag", "team", StrCat("team", random() % 20)},
                                          {"tag", "half", random() % 2 ? "yes" : "no"},
                                          {"metric.latest", "loss", static_cast<double>(random() % 1'000'000) / 1e6},
                                          {"metric.latest", "epoch", static_cast<int64_t>(random() % 100)},
                                          {"parameter", "lr", static_cast<double>(random() % 100) / 1e4}};
        if (i % 10'000 == 0) attributes.push_back({"tag", "rare", "yes"});
        if (i < runs / 20) attributes.push_back({"tag", "old", "yes"});
        changes.push_back(
            Put{"run",
                {StrCat("run_", 1'000'000 + (i * 7919) % 10'000'000),
                 std::string(800, 'x'),
                 {StrCat("experiment", random() % 50), 1'700'000'000'000'000 + i * 1'000'000, i % 50 ? "completed" : "failed", StrCat("user", random() % 30)}},
                {"tag", "metric.latest", "parameter"},
                attributes});
        if (changes.size() == 1000 || i + 1 == runs) {
          FERRY_CHECK(store->Commit(changes).ok());
          changes.clear();
        }
      }
    });
    std::printf("fill: %lld runs in %.0f ms\n", static_cast<long long>(runs), fill);
    std::vector<double> commits;
    for (int i = 0; i < 300; ++i)
      commits.push_back(Milliseconds([&] {
        std::vector<Change> changes{
            Put{"run", {StrCat("single_", i), std::string(800, 'x'), {"e", int64_t{i}, "queued", "u"}}, {"tag"}, {{"tag", "single", "1"}}}};
        FERRY_CHECK(store->Commit(changes).ok());
      }));
    std::sort(commits.begin(), commits.end());
    std::printf("commit of one run: median %.2f ms, p99 %.2f ms\n", commits[150], commits[297]);
  }
  auto store = std::move(OpenSqliteStore(path, tables)).value();
  malloc_trim(0);
  std::printf("file: %s, resident after reopening: %lld KB\n", FormatBytes(os::StatPath(path)->size).c_str(), static_cast<long long>(ResidentKilobytes()));
  Field created{"", "created"}, status{"", "status"}, loss{"metric.latest", "loss"};
  Condition team{{"tag", "team"}, Op::kEq, {"team3"}}, half{{"tag", "half"}, Op::kEq, {"yes"}}, rare{{"tag", "rare"}, Op::kEq, {"yes"}},
      old{{"tag", "old"}, Op::kEq, {"yes"}}, good{loss, Op::kLt, {0.01}}, failed{status, Op::kEq, {"failed"}},
      experiment{{"", "experiment"}, Op::kEq, {"experiment7"}}, user{{"", "user"}, Op::kEq, {"user5"}}, contains{{"tag", "team"}, Op::kContains, {"m1"}};
  struct Named {
    const char* name;
    Query query;
  };
  std::vector<Named> queries{{"newest", {"run", {}, {created, true}, "", 100}},
                             {"by key", {"run", {}, {{"", "key"}, false}, "", 100}},
                             {"status, newest", {"run", {failed}, {created, true}, "", 100}},
                             {"experiment, newest", {"run", {experiment}, {created, true}, "", 100}},
                             {"experiment and status, newest", {"run", {experiment, failed}, {created, true}, "", 100}},
                             {"user (no composite), newest", {"run", {user}, {created, true}, "", 100}},
                             {"tag 5%, newest", {"run", {team}, {created, true}, "", 100}},
                             {"tag 50%, newest", {"run", {half}, {created, true}, "", 100}},
                             {"tag rare, newest", {"run", {rare}, {created, true}, "", 100}},
                             {"tag of the oldest 5%, newest", {"run", {old}, {created, true}, "", 100}},
                             {"tag contains, newest", {"run", {contains}, {created, true}, "", 100}},
                             {"metric < 1%, newest", {"run", {good}, {created, true}, "", 100}},
                             {"best metric", {"run", {}, {loss, false}, "", 100}},
                             {"worst metric", {"run", {}, {loss, true}, "", 100}},
                             {"tag 5%, best metric", {"run", {team}, {loss, false}, "", 100}},
                             {"tag rare, best metric", {"run", {rare}, {loss, false}, "", 100}},
                             {"status, best metric", {"run", {failed}, {loss, false}, "", 100}},
                             {"experiment, best metric", {"run", {experiment}, {loss, false}, "", 100}},
                             {"two tags and metric, newest", {"run", {team, half, good}, {created, true}, "", 100}}};
  for (Named& named : queries) {
    double first = 0;
    std::vector<double> warm;
    size_t rows = 0;
    for (int i = 0; i < 21; ++i) {
      double ms = Milliseconds([&] { rows = store->Find(named.query)->documents.size(); });
      if (i == 0)
        first = ms;
      else
        warm.push_back(ms);
    }
    std::sort(warm.begin(), warm.end());
    Query deep = named.query;
    double page_ms = 0;
    int pages = 0;
    for (; pages < 20; ++pages) {
      Page page;
      page_ms = Milliseconds([&] { page = std::move(store->Find(deep)).value(); });
      if (page.next.empty()) break;
      deep.cursor = page.next;
    }
    std::printf("%-32s %4zu rows  first %6.2f ms  median %6.2f ms  page %2d %6.2f ms\n", named.name, rows, first, warm[10], pages, page_ms);
  }
  for (const char* group : {"", "status", "experiment"}) {
    Query all{"run", {}, {}, "", 0}, tagged{"run", {half}, {}, "", 0};
    std::printf("count by \"%s\": all %.1f ms, tag 50%% %.1f ms\n", group, Milliseconds([&] { (void)*store->Count(all, group); }),
                Milliseconds([&] { (void)*store->Count(tagged, group); }));
  }
  std::printf("resident after the queries: %lld KB\n", static_cast<long long>(ResidentKilobytes()));
}
