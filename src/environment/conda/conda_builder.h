// Builds conda environments: with micromamba, mamba or conda where the node has one, else with py-rattler, which Ferry installs for itself.
#pragma once

#include <memory>

#include "environment/builder.h"

namespace ferry::environment {

// For every specification, and for locks of kind "conda". Where no channel answers, the packages are taken from PyPI instead and the lock's notes say so,
// unless settings.strict. Safe to call from several threads and processes.
std::unique_ptr<Builder> MakeCondaBuilder(Settings settings);

}  // namespace ferry::environment
