// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto json = ParseJson(text); json.ok()) {
    std::string once = json->Dump();
    auto again = ParseJson(once);
    FERRY_CHECK(again.ok() && again->Dump() == once);
    FERRY_CHECK(ParseJson(json->DumpPretty()).ok());
  }
  return 0;
}
