// py-rattler, the conda solver and installer as a Python package, in a virtual environment of Ferry's own.
#pragma once

#include <string>

#include "base/result.h"
#include "environment/builder.h"

namespace ferry::environment {

struct Rattler {
  std::string python;  // the interpreter of the tool's environment
  std::string driver;  // our program that it runs
};
// Installs it below settings.tools unless it is there. One process does it and the others wait; it is there whole or not at all.
Result<Rattler> FindOrInstallRattler(const Job& job, const Settings& settings);

}  // namespace ferry::environment
