// A conda specification in pip's words, for when no channel answers. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/environment.h"

namespace ferry::environment {

struct Fallback {
  model::Environment definition;  // python, pip and pip's packages only; the lines of the pip section keep their numbers
  std::vector<std::string> notes;
  std::map<size_t, std::string> lines;  // pip line number -> "conda line 2 'pytorch=1.6'", for the lines that were conda's
};
// kUnavailable "environment.not_mappable" names every package that PyPI has no counterpart of.
Result<Fallback> InPipsWords(const model::Environment& definition);

}  // namespace ferry::environment
