// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "http/event_reader.h"
#include "http/server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.empty()) return 0;
  size_t step = 1 + static_cast<unsigned char>(text[0]);
  text.remove_prefix(1);
  std::string cut, whole;
  std::function<bool(const http::Event&)> to_cut = [&](const http::Event& event) {
    return cut += event.event + "|" + event.id + "|" + event.data + "\n", true;
  };
  std::function<bool(const http::Event&)> to_whole = [&](const http::Event& event) {
    return whole += event.event + "|" + event.id + "|" + event.data + "\n", true;
  };
  http::EventReader pieces(to_cut), once(to_whole);
  bool ok = true;
  for (size_t at = 0; ok && at < text.size(); at += step) ok = pieces.Feed(text.substr(at, step)).ok();
  if (once.Feed(text).ok() && ok) FERRY_CHECK(cut == whole);
  return 0;
}
