#include "base/utf8.h"

#include <cstdint>

namespace ferry {
namespace {

// The length of the character at the beginning of `text`; 0 when there is none.
size_t CharacterLength(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  auto follows = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xBF) { return byte(i) >= low && byte(i) <= high; };
  uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    uint8_t low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    uint8_t low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = static_cast<uint8_t>(text[i]) < 0x80 ? 1 : CharacterLength(text.substr(i));
    if (!length) return false;
    i += length;
  }
  return true;
}

std::string ToUtf8(std::string text) {
  if (IsUtf8(text)) return text;
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t length = CharacterLength(std::string_view(text).substr(i));
    if (length)
      out.append(text, i, length);
    else
      out += "\xEF\xBF\xBD";
    i += length ? length : 1;
  }
  return out;
}

size_t CutCharacter(std::string_view text) {
  for (size_t n = 1; n <= 3 && n <= text.size(); ++n) {
    std::string_view tail = text.substr(text.size() - n);
    if ((static_cast<uint8_t>(tail[0]) & 0xC0) == 0x80) continue;
    // Whatever the first byte is, the lowest or the highest of all following bytes may stand behind it.
    for (const char* rest : {"\x80\x80\x80", "\xBF\xBF\xBF"})
      if (CharacterLength(std::string(tail) + rest) > n) return n;
    return 0;
  }
  return 0;
}

}  // namespace ferry
