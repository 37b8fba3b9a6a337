// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "rest/feed.h"
#include "rest/filter.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)rest::ParseFilter(text);
  (void)rest::ParseOrder(text);
  auto offsets = rest::Feed::ParseId(text);
  FERRY_CHECK(rest::Feed::ParseId(rest::Feed::FormatId(offsets)) == offsets);
  return 0;
}
