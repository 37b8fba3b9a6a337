// libFuzzer: see tools/fuzz.
#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <string_view>

#include "http/client.h"
#include "http/request_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  http::RequestParser parser(64u << 10, "127.0.0.1");
  boost::beast::error_code error;
  size_t used = 0;
  while (used < text.size() && !parser.is_header_done()) {
    size_t n = parser.put(boost::asio::const_buffer(text.data() + used, text.size() - used), error);
    if (error || n == 0) break;
    used += n;
  }
  (void)http::ParseUrl(text);
  http::Head head;
  (void)http::SplitTarget(text, head);
  return 0;
}
