#include "store/memory/memory_store.h"

#include "store/conformance.h"

namespace ferry::store {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(StoreBackend{"memory", OpenMemoryStore}));

}  // namespace
}  // namespace ferry::store
