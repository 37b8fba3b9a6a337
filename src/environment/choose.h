// Which builder makes an environment. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/environment.h"

namespace ferry::environment {

struct Choice {
  enum class Kind { kVenv, kConda };
  Kind kind = Kind::kVenv;
  std::string why;  // a phrase for the build's log
};
// `pythons`: the versions of the interpreters on the node. A specification of nothing but python, pip and pip's packages is a virtual environment where
// an interpreter satisfies its pin; everything else is conda's. A lock is built by what made it.
Choice Choose(const model::Environment& definition, const std::vector<std::string>& pythons);

// The clauses of the specification's python ("=3.8"), "" for any; and the lines that only conda can meet.
struct PythonPin {
  std::string clauses;
  size_t line = 0;   // in the dependencies, counted from 1; 0: there is none
  std::string text;  // "python=3.8"
  std::vector<std::string> conda_only;
  std::string pip;  // "pip==20.1.*" when the specification asks for pip; "" otherwise
};
Result<PythonPin> FindPythonPin(const model::Environment& definition);

}  // namespace ferry::environment
