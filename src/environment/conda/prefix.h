// A conda environment on the disk: what its records say, and how it is moved.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/environment.h"

namespace ferry::environment {

// The packages of conda-meta/*.json, by name.
Result<std::vector<model::LockedPackage>> ReadPrefix(const std::string& folder);

// Rewrites every file whose record says that it holds the folder's path, and the scripts that pip wrote. kInvalid "environment.relocate" when a path is
// too long for a program that holds it. Files are replaced, never written to: they may be shared with a cache.
Result<void> RelocatePrefix(const std::string& folder, const std::string& before, const std::string& sdk);

// `bytes` of a program with each text that begins with `before` replaced, at the same length. `room`: the length of the path that the package was made
// with. Nothing when there is no room.
Result<std::string> ReplaceInProgram(const std::string& bytes, const std::string& before, const std::string& after, size_t room);

}  // namespace ferry::environment
