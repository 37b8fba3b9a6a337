// Small text tools: concatenation, splitting, hex, percent-encoding, number parsing. No locale, no allocation surprises.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ferry {

namespace text_internal {
inline void Append(std::string& out, std::string_view v) { out.append(v); }
inline void Append(std::string& out, const char* v) { out.append(v); }
inline void Append(std::string& out, char v) { out.push_back(v); }
void AppendDouble(std::string& out, double v);
template <typename T>
requires(std::is_integral_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, bool>) void Append(std::string& out, T v) { out += std::to_string(v); }
template <typename T>
requires(std::is_same_v<T, bool>) void Append(std::string& out, T v) { out += v ? "true" : "false"; }
inline void Append(std::string& out, double v) { AppendDouble(out, v); }
}  // namespace text_internal

// Concatenates strings, characters and numbers. Doubles take their shortest form that reads back the same.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::string out;
  (text_internal::Append(out, parts), ...);
  return out;
}

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view Trim(std::string_view text);
std::string ToLower(std::string_view text);
std::string ToHex(std::string_view bytes);
std::optional<std::string> FromHex(std::string_view hex);
// Percent-encoding of everything but unreserved characters; DecodePercent refuses a broken escape.
std::string EncodePercent(std::string_view text);
std::optional<std::string> DecodePercent(std::string_view text);
// The whole text must be the number.
std::optional<int64_t> ParseInt(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);
// "12 B", "3.4 KB", "120.0 MB": for people, powers of 1000.
std::string FormatBytes(uint64_t bytes);
// The word of `known` closest to `word`, if it is close enough to be a misspelling.
std::optional<std::string> ClosestWord(std::string_view word, const std::vector<std::string>& known);

}  // namespace ferry
