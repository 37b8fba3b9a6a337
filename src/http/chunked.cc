#include "http/chunked.h"

#include <algorithm>
#include <charconv>

namespace ferry::http {
namespace {

constexpr unsigned kMaxDigits = 15;
constexpr unsigned kMaxExtra = 16u << 10;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ChunkReader::Step ChunkReader::Next(std::string_view& input, std::string_view& piece) {
  for (;;) {
    if (at_ == At::kDone) return Step::kEnd;
    if (at_ == At::kBad) return Step::kBad;
    if (input.empty()) return Step::kMore;
    if (at_ == At::kData) {
      size_t n = static_cast<size_t>(std::min<uint64_t>(left_, input.size()));
      piece = input.substr(0, n);
      input.remove_prefix(n);
      left_ -= n;
      if (left_ == 0) at_ = At::kDataReturn;
      return Step::kPiece;
    }
    char c = input.front();
    input.remove_prefix(1);
    if (Byte(c) == Step::kBad) at_ = At::kBad;
  }
}

// Everything but data. Returns kBad or kMore.
ChunkReader::Step ChunkReader::Byte(char c) {
  auto expect = [&](char wanted, At next) {
    at_ = next;
    return c == wanted ? Step::kMore : Step::kBad;
  };
  switch (at_) {
    case At::kSize:
      if (int digit = HexDigit(c); digit >= 0) {
        if (++digits_ > kMaxDigits) return Step::kBad;
        left_ = left_ * 16 + static_cast<unsigned>(digit);
        return Step::kMore;
      }
      if (digits_ == 0) return Step::kBad;
      if (c == '\r') return expect('\r', At::kSizeEnd);
      at_ = At::kExtension;
      return c == ';' || c == ' ' || c == '\t' ? Step::kMore : Step::kBad;
    case At::kExtension:
      if (c == '\r') at_ = At::kSizeEnd;
      return c == '\n' || ++extra_ > kMaxExtra ? Step::kBad : Step::kMore;
    case At::kSizeEnd: digits_ = 0; return expect('\n', left_ == 0 ? At::kTrailer : At::kData);
    case At::kDataReturn: return expect('\r', At::kDataEnd);
    case At::kDataEnd: return expect('\n', At::kSize);
    case At::kTrailer:
      if (c == '\r') return expect('\r', At::kLastEnd);
      at_ = At::kTrailerLine;
      [[fallthrough]];
    case At::kTrailerLine:
      if (c == '\r') at_ = At::kTrailerEnd;
      return c == '\n' || ++extra_ > kMaxExtra ? Step::kBad : Step::kMore;
    case At::kTrailerEnd: return expect('\n', At::kTrailer);
    case At::kLastEnd: return expect('\n', At::kDone);
    case At::kData:
    case At::kDone:
    case At::kBad: break;
  }
  return Step::kBad;
}

void AppendChunkHead(std::string& out, uint64_t size) {
  char digits[16];
  auto end = std::to_chars(digits, digits + sizeof digits, size, 16).ptr;
  out.append(digits, end);
  out.append("\r\n", 2);
}

}  // namespace ferry::http
