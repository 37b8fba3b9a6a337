// A Store that forgets: for simulation and tests. Every query looks at every document of its table.
#pragma once

#include <memory>
#include <vector>

#include "store/store.h"

namespace ferry::store {

// Empty, with these tables. Aborts on a bad spec.
std::unique_ptr<Store> OpenMemoryStore(std::vector<TableSpec> tables);

}  // namespace ferry::store
