// Builds virtual environments: an interpreter of the node and packages from PyPI, with uv where the node has it.
#pragma once

#include <memory>

#include "environment/builder.h"

namespace ferry::environment {

// For definitions of nothing but python, pip and pip's packages, and for locks of kind "venv". Safe to call from several threads.
std::unique_ptr<Builder> MakeVenvBuilder(Settings settings);

}  // namespace ferry::environment
