// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "yaml/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  auto node = yaml::Parse({reinterpret_cast<const char*>(data), size}, "f");
  if (!node.ok()) {
    FERRY_CHECK(node.error().message.starts_with("f:"));
    return 0;
  }
  // What was written as JSON reads as the same.
  Json json = yaml::ToJson(*node);
  (void)json.Dump();
  return 0;
}
