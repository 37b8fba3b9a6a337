// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "base/text.h"
#include "base/time.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto decoded = DecodePercent(text)) FERRY_CHECK(DecodePercent(EncodePercent(*decoded)) == decoded);
  if (auto time = ParseTime(text); time && *time) FERRY_CHECK(ParseTime(FormatTime(*time)) == time);
  (void)Digest::FromHex(text);
  (void)ParseDouble(text);
  (void)ClosestWord(text, {"port", "address"});
  return 0;
}
