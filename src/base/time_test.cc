#include "base/time.h"

#include <gtest/gtest.h>

#include <random>

namespace ferry {
namespace {

TEST(Time, RoundTrips) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    Time time{static_cast<int64_t>(random() % 253402300800000000ULL)};
    if (!time) continue;
    ASSERT_EQ(ParseTime(FormatTime(time)), time) << FormatTime(time);
  }
  EXPECT_EQ(FormatTime({}), "");
  EXPECT_EQ(FormatTime({1}), "1970-01-01T00:00:00.000001Z");
  EXPECT_EQ(FormatTime({-1}), "1969-12-31T23:59:59.999999Z");
}

TEST(Time, Forms) {
  Time t{1793702467'000000};
  EXPECT_EQ(FormatTime(t).substr(0, 10), "2026-11-03");
  std::string base = FormatTime(t).substr(0, 19);
  for (const std::string& text : {base, base + "Z", base + "+00:00", base + ".0Z", base + ".000000Z", base + ".0000000009Z"})
    EXPECT_EQ(ParseTime(text), t) << text;
  std::string space = base;
  space[10] = ' ';
  EXPECT_EQ(ParseTime(space), t);
  EXPECT_EQ(ParseTime(base + ".25Z"), t + std::chrono::milliseconds(250));
}

TEST(Time, Refused) {
  for (const char* bad :
       {"", "2026", "2026-11-15", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-32T00:00:00Z", "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z",
        "2026-11-15T24:00:00Z", "2026-11-15T00:60:00Z", "2026-11-15T00:00:61Z", "2026-11-15T00:00:00+01:00", "2026-11-15T00:00:00Zx", "2026-11-15T-1:-1:-1Z",
        "2026-11-15T 1: 2: 3Z", "-026-11-15T00:00:00Z", "2026-11-15x00:00:00Z", "2026-11-15T00:00:00.Z"})
    EXPECT_FALSE(ParseTime(bad)) << bad;
  EXPECT_TRUE(ParseTime("2024-02-29T00:00:00Z"));
}

TEST(Time, FormatDuration) {
  using namespace std::chrono_literals;
  EXPECT_EQ(FormatDuration(0us), "0 ms");
  EXPECT_EQ(FormatDuration(850ms), "850 ms");
  EXPECT_EQ(FormatDuration(3200ms), "3.2 s");
  EXPECT_EQ(FormatDuration(245s), "4 m 05 s");
  EXPECT_EQ(FormatDuration(7380s), "2 h 03 m");
}

}  // namespace
}  // namespace ferry
