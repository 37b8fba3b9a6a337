// What a conda package is called on PyPI. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ferry::environment {

struct PypiName {
  enum class Kind {
    kSame,      // nothing is known: it is tried under its own name
    kMapped,    // it has another name, or is known to have this one
    kNeedless,  // it chooses among conda's builds and says nothing to pip; `why` tells
    kNone,      // no Python package: PyPI has no such thing
  };
  Kind kind = Kind::kSame;
  std::string name;
  std::string why;
};
// `conda_name` in lower case.
PypiName NameOnPypi(std::string_view conda_name);

}  // namespace ferry::environment
