#include "base/time.h"

#include <cstdio>
#include <ctime>

namespace ferry {

Time Now() {
  return {std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count()};
}

std::string FormatTime(Time time) {
  if (!time) return {};
  int64_t seconds = time.micros / 1'000'000;
  int64_t fraction = time.micros % 1'000'000;
  if (fraction < 0) {
    fraction += 1'000'000;
    --seconds;
  }
  std::time_t t = seconds;
  std::tm tm{};
  gmtime_r(&t, &tm);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, static_cast<int>(fraction));
  return buffer;
}

std::optional<Time> ParseTime(std::string_view text) {
  std::string copy(text);
  std::tm tm{};
  int used = 0;
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2d%*[T ]%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                  &tm.tm_min, &tm.tm_sec, &used) != 6 || used == 0)
    return std::nullopt;
  if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 ||
      tm.tm_sec > 60)
    return std::nullopt;
  tm.tm_year -= 1900;
  tm.tm_mon -= 1;
  std::string_view rest = std::string_view(copy).substr(static_cast<size_t>(used));
  int64_t fraction = 0;
  if (!rest.empty() && rest[0] == '.') {
    size_t i = 1;
    int64_t scale = 100'000;
    for (; i < rest.size() && rest[i] >= '0' && rest[i] <= '9'; ++i) {
      fraction += (rest[i] - '0') * scale;
      scale /= 10;
    }
    rest = rest.substr(i);
  }
  if (!rest.empty() && rest != "Z" && rest != "+00:00") return std::nullopt;
  return Time{static_cast<int64_t>(timegm(&tm)) * 1'000'000 + fraction};
}

std::string FormatDuration(Duration duration) {
  char buffer[64];
  int64_t us = duration.count();
  int64_t s = us / 1'000'000;
  if (us < 1'000'000)
    std::snprintf(buffer, sizeof buffer, "%lld ms", static_cast<long long>(us / 1000));
  else if (s < 60)
    std::snprintf(buffer, sizeof buffer, "%.1f s", static_cast<double>(us) / 1e6);
  else if (s < 3600)
    std::snprintf(buffer, sizeof buffer, "%lld m %02lld s", static_cast<long long>(s / 60), static_cast<long long>(s % 60));
  else
    std::snprintf(buffer, sizeof buffer, "%lld h %02lld m", static_cast<long long>(s / 3600),
                  static_cast<long long>(s / 60 % 60));
  return buffer;
}

}  // namespace ferry
