// What an interpreter that is there already consists of: its version and packages.
#pragma once

#include <string>

#include "base/result.h"
#include "model/environment.h"

namespace ferry::environment {

// A lock of kind "existing". `interpreter` is a path. The interpreter is started once and asked for its version and folders of packages; what lies in
// them is read here. The answer is kept in `cache` and holds until the interpreter or one of the folders changes, so that asking again starts nothing and
// costs a few looks at the disk. A version manager's shim is asked every time: pass what stands behind it. kInvalid "interpreter.broken" when it is no
// working Python. Safe to call from several threads.
Result<model::Lock> Inspect(const std::string& interpreter, const std::string& cache);

}  // namespace ferry::environment
