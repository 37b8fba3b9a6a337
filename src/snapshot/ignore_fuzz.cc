// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "snapshot/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  // The rules, a zero byte, and a path to ask for.
  size_t zero = text.find('\0');
  snapshot::IgnoreRules rules(text.substr(0, zero));
  std::string_view path = zero == std::string_view::npos ? "a/b.txt" : text.substr(zero + 1).substr(0, 300);
  (void)rules.Ignored(path, false);
  (void)rules.Ignored(path, true);
  return 0;
}
