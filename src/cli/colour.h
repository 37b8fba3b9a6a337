// The few colours the command line uses, as ANSI sequences.
#pragma once

#include <string>
#include <string_view>

namespace ferry::cli {

enum class Colour { kNone, kBold, kDim, kRed, kGreen, kYellow, kBlue, kCyan };

// The text between the colour's sequence and the reset; the text itself for kNone.
inline std::string Paint(std::string_view text, Colour colour) {
  static constexpr std::string_view kSequences[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[36m"};
  std::string out;
  if (colour == Colour::kNone) return out.assign(text);
  out.append(kSequences[static_cast<int>(colour)]).append(text).append("\x1b[0m");
  return out;
}

}  // namespace ferry::cli
