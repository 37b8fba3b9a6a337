// A cold pass over many nodes and waiting runs, then one event after another: a run ends, the next is placed, another arrives.
//   scheduler_bench [NODES] [WAITING] [EVENTS]
#include <chrono>
#include <cstdio>
#include <deque>
#include <random>

#include "base/text.h"
#include "scheduler/index.h"

using namespace ferry;

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 10'000;
  const int waiting = argc > 2 ? std::atoi(argv[2]) : 100'000;
  const int events = argc > 3 ? std::atoi(argv[3]) : 200'000;
  auto clock = [] { return std::chrono::steady_clock::now(); };
  auto micros = [](auto from, auto to) { return std::chrono::duration<double, std::micro>(to - from).count(); };
  for (bool gangs : {false, true}) {
    std::mt19937 random(1);
    int64_t order = 0;
    auto demand = [&] {
      scheduler::Demand d{StrCat("experiment_1763190000_", order), "cluster", 0, order};
      ++order;
      if (gangs && random() % 10 == 0) d.nodes = 2 + static_cast<int>(random() % 15);
      if (gangs && random() % 4 == 0) d.seconds = 60 * (1 + static_cast<int64_t>(random() % 4));
      return d;
    };
    scheduler::Index index;
    auto start = clock();
    for (int i = 0; i < nodes; ++i) {
      std::string name = StrCat("cluster-", i);
      index.SetNode({name, "cluster", 1, {}});
      index.SetOpen(name, true);
    }
    for (int i = 0; i < waiting; ++i) index.Wait(demand());
    auto filled = clock();
    std::deque<scheduler::Placement> running;
    for (auto& placement : index.Decide(Time{1})) running.push_back(std::move(placement));
    auto placed = clock();
    size_t cold = running.size(), made = 0;
    for (int i = 0; i < events && !running.empty(); ++i) {
      std::swap(running.front(), running[random() % running.size()]);
      scheduler::Placement ended = std::move(running.front());
      running.pop_front();
      for (const auto& share : ended.shares) index.Release(share.node, ended.run);
      index.Wait(demand());
      for (auto& placement : index.Decide(Time{1 + i})) {
        running.push_back(std::move(placement));
        ++made;
      }
    }
    auto done = clock();
    std::printf("%-12s filling %8.1f ms   cold pass %8.1f ms for %zu placements   event %6.2f us, %zu placements\n", gangs ? "with gangs" : "single runs",
                micros(start, filled) / 1000, micros(filled, placed) / 1000, cold, micros(placed, done) / events, made);
  }
}
