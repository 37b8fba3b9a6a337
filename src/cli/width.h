// Text as a terminal shows it: columns instead of bytes. Wide characters take two columns, combining ones none.
#pragma once

#include <string>
#include <string_view>

namespace ferry::cli {

// The text on one line and without anything a terminal would act upon: line ends and tabs become spaces, other control characters
// and bytes that are not UTF-8 become U+FFFD. Safe to print whatever a run or a user put into it.
std::string OneLine(std::string_view text);

// Columns of a text as OneLine gives it.
int DisplayWidth(std::string_view text);

// The text cut to `width` columns, the last of which is then an ellipsis. Shorter text is left as it is.
std::string Shorten(std::string_view text, int width);

// Reads one character at `at` and moves `at` beyond it. Bytes that are not UTF-8 are U+FFFD, one at a time; `valid` says so.
char32_t NextCharacter(std::string_view text, size_t& at, bool* valid = nullptr);

}  // namespace ferry::cli
