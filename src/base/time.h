// Time as values: a wall-clock instant in microseconds since 1970 (UTC), its text forms, and the clock seam that makes
// every decision simulable.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ferry {

using Duration = std::chrono::microseconds;

// An instant, UTC. Zero means "not yet".
struct Time {
  int64_t micros = 0;

  auto operator<=>(const Time&) const = default;
  explicit operator bool() const { return micros != 0; }
  Time operator+(Duration d) const { return {micros + d.count()}; }
  Time operator-(Duration d) const { return {micros - d.count()}; }
  Duration operator-(Time other) const { return Duration(micros - other.micros); }
};

// The system's wall clock.
Time Now();
// "2026-11-15T10:41:07.123456Z". Empty for the zero time.
std::string FormatTime(Time time);
// Reads what FormatTime writes, with or without the fraction, with Z or +00:00.
std::optional<Time> ParseTime(std::string_view text);
// "850 ms", "3.2 s", "4 m 05 s", "2 h 03 m": for people.
std::string FormatDuration(Duration duration);

}  // namespace ferry
