// What a line of a conda specification asks for, and whether a version satisfies it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ferry::environment {

// "conda-forge::numpy>=1.20,<2 py38_0".
struct CondaSpec {
  std::string channel;  // "" for any
  std::string name;     // lower case; "" when the line is a package's address
  std::string version;  // clauses with operators: "=1.20" (that and what it begins), "==1.20.3", ">=1.20,<2|==3", "1.20.*"; "" for any
  std::string build;    // "" for any; may hold '*'
  std::string other;    // what else stands in brackets: "md5=..."
};
// kInvalid "environment.dependency" when it cannot be read.
Result<CondaSpec> ParseCondaSpec(std::string_view line);

// Whether `version` ("3.11.2") satisfies the clauses of CondaSpec::version. Exact for versions of numbers with an optional "rc1"; an unknown form never
// matches.
bool Satisfies(std::string_view version, std::string_view clauses);
// Less than, equal to or greater than 0, as versions compare: 3.9 < 3.10 and 3.13.0rc1 < 3.13.0.
int CompareVersions(std::string_view a, std::string_view b);

// The clauses as pip writes them: "=1.20" is "==1.20.*". kInvalid "environment.dependency" when pip has no words for it (alternatives).
Result<std::string> PipClauses(std::string_view clauses);

}  // namespace ferry::environment
