// Installs the pip section of a specification with uv, where the node has it, or pip.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "environment/builder.h"

namespace ferry::environment {

struct PipTarget {
  std::string prefix;         // the environment's folder
  std::string python;         // its interpreter
  std::string site_packages;  // where its packages go
  std::string uv;             // the program; "" for the environment's own pip
};

struct PipOutcome {
  std::vector<std::string> notes;
  // By name, where the tool tells: where a package came from.
  struct Origin {
    std::string url, sha256;
  };
  std::map<std::string, Origin> origins;
};

// Whether the pip section can be read at all, before anything is made. Fails as InstallPip would.
Result<void> CheckPip(const Job& job);

// Installs `extra` and the definition's pip lines. azureml-core and its like are left out and Ferry's own package is made importable instead. Paths are
// taken from the job's context only: one that leads elsewhere is kInvalid "environment.requirement".
Result<PipOutcome> InstallPip(const Job& job, const Settings& settings, const PipTarget& target, const std::vector<std::string>& extra);

// Installs exactly these, with the definition's index options, and nothing that they depend on.
Result<PipOutcome> InstallLocked(const Job& job, const Settings& settings, const PipTarget& target, const std::vector<model::LockedPackage>& packages);

}  // namespace ferry::environment
