// A whole Ferry in one thread and in simulated time: the production engine, scheduler and agent code between a store, nodes and a network that
// fail on purpose. Everything follows from the seed, so a failing seed reproduces exactly.
#pragma once

#include <cstdint>
#include <string>

#include "engine/core.h"

namespace ferry::simulation {

struct Options {
  uint64_t seed = 1;
  int runs = 12;
  int nodes = 3;
  engine::Plant plant = engine::Plant::kNone;
  bool trace = false;  // prints every step to stderr
};

struct Outcome {
  bool ok = true;
  std::string violation;  // what was found, with the simulated time
  uint64_t steps = 0;
  uint64_t commits = 0;
  uint64_t crashes = 0;  // of the server
  uint64_t lost_messages = 0;
};

// Runs one seed to its end: faults for a while, then none until everything has come to rest.
Outcome Simulate(const Options& options);

}  // namespace ferry::simulation
