// Azure's machine sizes as a table: what a node of that name has, and what an hour of it is said to cost.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace ferry::model {

struct VmSize {
  std::string name;  // as Azure writes it; compared without regard to case
  int cores = 1;
  double memory_gb = 1;
  int gpus = 0;
  int64_t disk_mb = 0;
  double price = 0;  // US dollars an hour, dedicated, as listed some day; for comparing, not for billing
};

const std::vector<VmSize>& VmSizes();
std::optional<VmSize> FindVmSize(std::string_view name);
Json ToJson(const VmSize& size);

}  // namespace ferry::model
