// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "snapshot/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto manifest = snapshot::Manifest::Parse(text); manifest.ok()) {
    FERRY_CHECK(manifest->Text() == text);
    FERRY_CHECK(manifest->Check().ok());
  }
  return 0;
}
