#include "cli/width.h"

#include <algorithm>
#include <iterator>

namespace ferry::cli {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";

struct Range {
  char32_t first, last;
};

// Ordered. Marks that combine with the character before, joiners and variation selectors.
constexpr Range kZero[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},   {0x06D6, 0x06DC}, {0x0900, 0x0902},
    {0x093C, 0x093C}, {0x0941, 0x0948}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E},   {0x1160, 0x11FF}, {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x2064},   {0x2066, 0x206F},   {0x20D0, 0x20FF}, {0x302A, 0x302D},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}, {0xE0000, 0xE0FFF},
};

// Ordered. East Asian wide and full-width characters, emoji.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x23F0, 0x23F0},   {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},
    {0x26CE, 0x26CE},   {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},   {0x26FA, 0x26FA},   {0x26FD, 0x26FD},
    {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},   {0x2757, 0x2757},
    {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
    {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A},
    {0x1F200, 0x1F320}, {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0},
    {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F567}, {0x1F57A, 0x1F57A},
    {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6DF}, {0x1F6EB, 0x1F6EC},
    {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7EB}, {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

template <size_t N>
bool In(const Range (&ranges)[N], char32_t c) {
  const Range* found = std::upper_bound(std::begin(ranges), std::end(ranges), c, [](char32_t v, const Range& r) { return v < r.first; });
  return found != std::begin(ranges) && c <= (found - 1)->last;
}

int CharacterWidth(char32_t c) {
  if (c < 0x300) return 1;
  if (In(kZero, c)) return 0;
  return In(kWide, c) ? 2 : 1;
}

// Control characters, and the marks that turn the direction of the text around them.
bool IsControl(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069); }

}  // namespace

char32_t NextCharacter(std::string_view text, size_t& at, bool* valid) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(at++);
  if (valid) *valid = true;
  if (lead < 0x80) return lead;
  int more = lead >= 0xF0 && lead < 0xF5 ? 3 : lead >= 0xE0 && lead < 0xF0 ? 2 : lead >= 0xC2 && lead < 0xE0 ? 1 : 0;
  char32_t c = more == 3 ? lead & 0x07u : more == 2 ? lead & 0x0Fu : lead & 0x1Fu;
  bool good = more > 0 && at + static_cast<size_t>(more) <= text.size();
  for (int i = 0; good && i < more; ++i) {
    good = (byte(at + static_cast<size_t>(i)) & 0xC0) == 0x80;
    c = (c << 6) | (byte(at + static_cast<size_t>(i)) & 0x3Fu);
  }
  static constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (!good || c < kLeast[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
    if (valid) *valid = false;
    return kReplacement;
  }
  at += static_cast<size_t>(more);
  return c;
}

std::string OneLine(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t start = at;
    bool valid;
    char32_t c = NextCharacter(text, at, &valid);
    if (c == '\n' || c == '\t' || c == '\r') {
      out += ' ';
    } else if (!valid || IsControl(c)) {
      out += kReplacementBytes;
    } else {
      out.append(text, start, at - start);
    }
  }
  return out;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) width += CharacterWidth(NextCharacter(text, at));
  return width;
}

std::string Shorten(std::string_view text, int width) {
  if (width <= 0) return {};
  size_t fits = 0;  // bytes that leave room for the ellipsis
  int used = 0;
  for (size_t at = 0; at < text.size();) {
    used += CharacterWidth(NextCharacter(text, at));
    if (used <= width - 1) fits = at;
    if (used > width) return std::string(text.substr(0, fits)) + "…";
  }
  return std::string(text);
}

}  // namespace ferry::cli
