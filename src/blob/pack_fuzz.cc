// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "blob/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  // The first byte says how the rest is cut.
  if (text.empty()) return 0;
  size_t step = 1 + static_cast<unsigned char>(text[0]);
  text.remove_prefix(1);
  blob::PackParser parser([](const Digest& digest, std::string_view raw, std::string_view) -> Result<void> {
    FERRY_CHECK(HashBytes(raw) == digest);
    return {};
  });
  for (size_t at = 0; at < text.size(); at += step) {
    bool ok = parser.Write(text.substr(at, step)).ok();
    if (!ok) break;
  }
  (void)parser.Finish();
  return 0;
}
