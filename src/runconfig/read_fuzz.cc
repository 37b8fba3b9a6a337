// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "runconfig/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  auto node = yaml::Parse({reinterpret_cast<const char*>(data), size}, "f");
  if (!node.ok()) return 0;
  // Half of the files that it names are there, and hold its own text.
  const std::string text(reinterpret_cast<const char*>(data), size);
  int asked = 0;
  auto reading = runconfig::Read(*node, "f", [&](const std::string&) -> Result<std::string> {
    if (asked++ % 2 == 0 && asked < 20) return text;
    return MakeError(Code::kNotFound, "file.not_found", "there is none");
  });
  for (const auto& problem : reading.errors) FERRY_CHECK(!Text(problem).empty());
  if (reading.errors.empty()) (void)runconfig::Resolved(reading.config).Dump();
  return 0;
}
