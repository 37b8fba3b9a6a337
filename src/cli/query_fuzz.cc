// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "cli/query.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  static const Json input = *ParseJson(R"({"runs":[{"id":"a","n":1,"tags":{"x":"y"}},{"id":"b","n":2.5,"tags":null}],"next":null})");
  if (size > 500) return 0;
  if (auto query = cli::Query::Parse({reinterpret_cast<const char*>(data), size}); query.ok()) (void)query->Apply(input);
  return 0;
}
