// The Python interpreters of a node.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "environment/builder.h"

namespace ferry::environment {

struct Interpreter {
  std::string path;     // the program itself, behind any version manager's shim
  std::string version;  // "3.11.2"
};

// Every interpreter on settings.path, the ones behind a version manager's shims too, in the order of the PATH. Each is asked once for its version; the
// answer is kept in settings.cache until the program changes.
std::vector<Interpreter> FindInterpreters(const Settings& settings);

// The first that satisfies `clauses` (CondaSpec::version), also among those uv knows of. kInvalid "environment.python" names the pin, as `text`, and every
// interpreter there is. A pin is never relaxed.
Result<Interpreter> FindInterpreter(const Settings& settings, const std::string& clauses, const std::string& text);

// "3.11.2"; "" when it is no working Python. Kept like the above.
std::string VersionOf(const Settings& settings, const std::string& interpreter);

// A program on the PATH; behind a shim the program that the shim would start, or any that it could.
std::optional<std::string> FindTool(const std::string& name, const std::string& path);

}  // namespace ferry::environment
