// Appends points to a series store and prints the rates.
//   series_bench FOLDER
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <future>
#include <thread>

#include "base/text.h"
#include "os/file.h"
#include "series/series.h"

using namespace ferry;
using namespace ferry::series;

namespace {

double Seconds(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double CpuSeconds() {
  timespec time;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

int64_t ResidentKilobytes() {
  auto status = os::ReadFile("/proc/self/status").ValueOr("");
  size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::atoll(status.c_str() + at + 6);
}

Append Points(std::string run, std::string metric, int64_t first, int64_t count) {
  Batch batch{std::move(run), std::move(metric), Kind::kScalar, {}};
  batch.points.reserve(static_cast<size_t>(count));
  for (int64_t i = first; i < first + count; ++i)
    batch.points.push_back({i, {1'700'000'000'000'000 + i * 1'013}, std::exp(-static_cast<double>(i) / 1e5) + 1e-3 * std::sin(static_cast<double>(i)), ""});
  return {{std::move(batch)}, {}};
}

void AddAndWait(SeriesStore& store, Append append) {
  std::promise<void> promise;
  store.Add(std::move(append), [&](Result<void> result) {
    FERRY_CHECK(result.ok());
    promise.set_value();
  });
  promise.get_future().get();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: series_bench FOLDER\n"), 2;
  std::string folder = os::JoinPath(argv[1], "series_bench");
  FERRY_CHECK(os::RemoveAll(folder).ok());
  FERRY_CHECK(os::MakeFolders(folder).ok());
  auto store = std::move(SeriesStore::Open({folder, 16u << 20})).value();

  constexpr int64_t kBatches = 3000;
  double cpu = CpuSeconds();
  double wall = Seconds([&] {
    for (int64_t i = 0; i < kBatches; ++i) AddAndWait(*store, Points(StrCat("run", i % 10), "loss", i / 10 * 1000, 1000));
  });
  cpu = CpuSeconds() - cpu;
  std::printf("batches of 1,000, one caller: %.0f points/s (%.2f s wall, %.2f s CPU for %lld points)\n", kBatches * 1000 / wall, wall, cpu,
              static_cast<long long>(kBatches * 1000));

  constexpr int kCallers = 32;
  constexpr int64_t kSingles = 1000;
  wall = Seconds([&] {
    std::vector<std::thread> callers;
    for (int c = 0; c < kCallers; ++c)
      callers.emplace_back([&, c] {
        for (int64_t i = 0; i < kSingles; ++i) AddAndWait(*store, Points(StrCat("single", c), "loss", i, 1));
      });
    for (auto& caller : callers) caller.join();
  });
  std::printf("single points, 32 callers: %.0f appends/s\n", kCallers * kSingles / wall);

  wall = Seconds([&] {
    for (int64_t i = 0; i < 2000; ++i) AddAndWait(*store, Points("one", "loss", i, 1));
  });
  std::printf("single points, one caller: %.0f appends/s\n", 2000 / wall);

  std::atomic<int64_t> waiting = 0;
  wall = Seconds([&] {
    for (int64_t i = 0; i < 100'000; ++i) {
      ++waiting;
      store->Add(Points(StrCat("wide", i), "loss", 0, 1), [&](Result<void> result) {
        FERRY_CHECK(result.ok());
        --waiting;
      });
      while (waiting > 1000) std::this_thread::yield();
    }
    while (waiting > 0) std::this_thread::yield();
  });
  std::printf("first point of 100,000 runs: %.0f appends/s\n", 100'000 / wall);

  for (size_t limit : {size_t{1000}, size_t{0}}) {
    size_t count = 0;
    wall = Seconds([&] { count = store->Points("run3", "loss", limit)->points.size(); });
    std::printf("read of 300,000 points, limit %zu: %zu points in %.1f ms\n", limit, count, wall * 1e3);
  }
  wall = Seconds([&] { FERRY_CHECK(store->Summaries("run3").ok()); });
  std::printf("summaries: %.2f ms; resident %lld KB\n", wall * 1e3, static_cast<long long>(ResidentKilobytes()));
  store.reset();
  wall = Seconds([&] { store = std::move(SeriesStore::Open({folder, 16u << 20})).value(); });
  auto size = os::StatPath(os::JoinPath(folder, "series.db"))->size;
  std::printf("reopen: %.1f ms; series.db %s\n", wall * 1e3, FormatBytes(size).c_str());
}
