// Text as others must be able to read it: UTF-8, without surrogates and overlong forms.
#pragma once

#include <string>
#include <string_view>

namespace ferry {

bool IsUtf8(std::string_view text);
// The text with every byte that belongs to no character replaced by U+FFFD.
std::string ToUtf8(std::string text);
// How many bytes at the end of the text, at most three, begin a character whose other bytes are yet to come.
size_t CutCharacter(std::string_view text);

}  // namespace ferry
