#include "base/time.h"

#include <cstdio>
#include <ctime>

namespace ferry {

Time Now() { return {std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count()}; }

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
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                static_cast<int>(fraction));
  return buffer;
}

std::optional<Time> ParseTime(std::string_view text) {
  // "dddd-dd-dd[T ]dd:dd:dd"
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    bool fits = kForm[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kForm[i] || (kForm[i] == 'T' && text[i] == ' ');
    if (!fits) return std::nullopt;
  }
  auto number = [&](size_t at, size_t digits) {
    int value = 0;
    for (size_t i = at; i < at + digits; ++i) value = value * 10 + (text[i] - '0');
    return value;
  };
  std::tm tm{};
  tm.tm_year = number(0, 4) - 1900;
  tm.tm_mon = number(5, 2) - 1;
  tm.tm_mday = number(8, 2);
  tm.tm_hour = number(11, 2);
  tm.tm_min = number(14, 2);
  tm.tm_sec = number(17, 2);
  if (tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60) return std::nullopt;
  std::string_view rest = text.substr(kForm.size());
  int64_t fraction = 0;
  if (!rest.empty() && rest[0] == '.') {
    size_t i = 1;
    int64_t scale = 100'000;
    for (; i < rest.size() && rest[i] >= '0' && rest[i] <= '9'; ++i) {
      fraction += (rest[i] - '0') * scale;
      scale /= 10;
    }
    if (i == 1) return std::nullopt;
    rest = rest.substr(i);
  }
  if (!rest.empty() && rest != "Z" && rest != "+00:00") return std::nullopt;
  // timegm makes 30 February the 2nd of March: a day that changed was none.
  int month = tm.tm_mon, day = tm.tm_mday, second = tm.tm_sec;
  int64_t seconds = timegm(&tm);
  if (second < 60 && (tm.tm_mon != month || tm.tm_mday != day)) return std::nullopt;
  return Time{seconds * 1'000'000 + fraction};
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
    std::snprintf(buffer, sizeof buffer, "%lld h %02lld m", static_cast<long long>(s / 3600), static_cast<long long>(s / 60 % 60));
  return buffer;
}

}  // namespace ferry
