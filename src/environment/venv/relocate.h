// Moves an environment: everything in it that names its folder.
#pragma once

#include <string>

#include "base/result.h"

namespace ferry::environment {

// `folder` was `before`. Files are replaced, never written to: they may be shared with a cache.
Result<void> RelocateFiles(const std::string& folder, const std::string& before, const std::string& sdk);

// The text with `before` replaced where it is a whole path or begins one.
std::string ReplacedPath(const std::string& text, const std::string& before, const std::string& after);

}  // namespace ferry::environment
