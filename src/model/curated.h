// The environments that Ferry brings along, under names that nobody else may give, and Azure's names that stand for them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/registry.h"

namespace ferry::model {

struct Curated {
  EnvironmentRecord record;
  std::string alias;  // the name asked for, when it stands for the record's
  std::string note;   // for an alias: one sentence on what it really contains
};

// The curated environment of this name, whatever its case, in this version (0: the latest). A name of Azure's takes any version, since its numbers
// mean nothing here.
std::optional<Curated> FindCurated(std::string_view name, int64_t version);
// The latest of each, then the names of Azure's that are known one by one.
std::vector<Curated> AllCurated();

}  // namespace ferry::model
