// tools/simulate: runs seeds of the simulation and says which fail.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulation/simulation.h"

int main(int argc, char** argv) {
  using namespace ferry;
  simulation::Options options;
  uint64_t first = 1, count = 1000;
  bool one = false;
  for (int i = 1; i < argc; ++i) {
    auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (!std::strcmp(argv[i], "--seeds"))
      count = std::strtoull(value(), nullptr, 10);
    else if (!std::strcmp(argv[i], "--first"))
      first = std::strtoull(value(), nullptr, 10);
    else if (!std::strcmp(argv[i], "--seed"))
      first = std::strtoull(value(), nullptr, 10), count = 1, one = true;
    else if (!std::strcmp(argv[i], "--runs"))
      options.runs = std::atoi(value());
    else if (!std::strcmp(argv[i], "--nodes"))
      options.nodes = std::atoi(value());
    else if (!std::strcmp(argv[i], "--trace"))
      options.trace = true;
    else if (!std::strcmp(argv[i], "--plant")) {
      const char* name = value();
      for (int p = 0; p < engine::kPlantCount; ++p)
        if (!std::strcmp(name, engine::PlantName(static_cast<engine::Plant>(p)))) options.plant = static_cast<engine::Plant>(p);
    } else {
      std::fprintf(stderr, "usage: simulate [--seeds N] [--first N] [--seed N] [--runs N] [--nodes N] [--plant NAME] [--trace]\n");
      return 2;
    }
  }
  uint64_t failed = 0, steps = 0, commits = 0, crashes = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    options.seed = seed;
    auto outcome = simulation::Simulate(options);
    steps += outcome.steps;
    commits += outcome.commits;
    crashes += outcome.crashes;
    if (!outcome.ok) {
      ++failed;
      std::printf("%s\n", outcome.violation.c_str());
      if (failed >= 10) break;
    }
  }
  std::printf("%llu seeds, %llu failed; %llu steps, %llu commits, %llu crashes of the server\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(failed), static_cast<unsigned long long>(steps), static_cast<unsigned long long>(commits),
              static_cast<unsigned long long>(crashes));
  (void)one;
  return failed ? 1 : 0;
}
