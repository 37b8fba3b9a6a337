#include "series/chunk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "series/journal.h"
#include "series/thin.h"

namespace ferry::series {
namespace {

bool Same(const Point& a, const Point& b) {
  return a.step == b.step && a.time == b.time && std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value) && a.json == b.json;
}

std::vector<Point> Extremes() {
  constexpr int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  constexpr double inf = std::numeric_limits<double>::infinity();
  return {{0, {0}, 0, ""},
          {high, {high}, inf, ""},
          {low, {low}, -inf, "{}"},
          {-1, {1}, std::nan(""), ""},
          {0, {0}, -0.0, ""},
          {1, {1}, 5e-324, "x"},
          {1, {1}, 1.7e308, ""},
          {1, {1}, 1.7e308, ""},
          {2, {2}, 0.1f, ""},
          {low, {high}, 1, ""},
          {high, {low}, 2, std::string("\0\xff", 2)}};
}

TEST(Chunk, RoundTripsEveryBit) {
  std::vector<Point> points = Extremes();
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    Point point{static_cast<int64_t>(random() >> (random() % 64)),
                {static_cast<int64_t>(random() >> (random() % 64))},
                std::bit_cast<double>(random() << (random() % 64)),
                ""};
    if (i % 50 == 0) point.json = std::string(random() % 300, 'j');
    points.push_back(point);
  }
  ChunkWriter writer;
  for (const Point& point : points) writer.Add(point);
  EXPECT_EQ(writer.count(), static_cast<int64_t>(points.size()));
  std::string bytes = writer.Take();
  EXPECT_EQ(writer.count(), 0);
  ChunkReader reader(bytes);
  Point read;
  for (const Point& point : points) {
    ASSERT_TRUE(reader.Next(read));
    ASSERT_TRUE(Same(point, read));
  }
  EXPECT_FALSE(reader.Next(read));
  EXPECT_FALSE(reader.damaged());
}

TEST(Chunk, SurvivesDamage) {
  ChunkWriter writer;
  for (const Point& point : Extremes()) writer.Add(point);
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = writer.bytes();
    bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    ChunkReader reader(bytes);
    int count = 0;
    for (Point point; reader.Next(point);) ++count;
    EXPECT_LE(count, 200);
  }
}

TEST(Chunk, RecordsRoundTripAndSurviveDamage) {
  Append append{{{"run", "loss", Kind::kScalar, Extremes()}, {"", "", Kind::kImage, {}}}, {"source", ~uint64_t{0}}};
  std::string record = EncodeRecord(append);
  auto read = DecodeRecord(record);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->position.end, ~uint64_t{0});
  ASSERT_EQ(read->batches.size(), 2u);
  EXPECT_EQ(read->batches[0].points.size(), Extremes().size());
  EXPECT_EQ(read->batches[1].kind, Kind::kImage);
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = record;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)DecodeRecord(std::string_view(bytes).substr(0, random() % (bytes.size() + 1)));
  }
}

std::vector<Point> Thin(const std::vector<Point>& points, size_t limit) {
  Thinner thinner(static_cast<int64_t>(points.size()), limit);
  for (const Point& point : points) thinner.Add(point);
  return thinner.Take();
}

TEST(Thin, KeepsFirstLastMinimumAndMaximum) {
  std::mt19937 random(9);
  for (size_t count : {1u, 2u, 5u, 100u, 1001u, 20'000u})
    for (size_t limit : {0u, 1u, 2u, 3u, 4u, 5u, 100u, 999u, 50'000u}) {
      std::vector<Point> points;
      for (size_t i = 0; i < count; ++i) points.push_back({static_cast<int64_t>(i), {0}, static_cast<double>(random() % 1000000), ""});
      auto thin = Thin(points, limit);
      if (limit == 0 || count <= limit) {
        EXPECT_EQ(thin.size(), count);
        continue;
      }
      EXPECT_LE(thin.size(), limit);
      EXPECT_EQ(thin.back().step, points.back().step);
      if (limit >= 2) {
        EXPECT_EQ(thin.front().step, 0);
      }
      for (size_t i = 1; i < thin.size(); ++i) EXPECT_LT(thin[i - 1].step, thin[i].step);
      if (limit < 4) continue;
      auto by_value = [](const Point& a, const Point& b) { return a.value < b.value; };
      EXPECT_EQ(std::min_element(thin.begin(), thin.end(), by_value)->value, std::min_element(points.begin(), points.end(), by_value)->value);
      EXPECT_EQ(std::max_element(thin.begin(), thin.end(), by_value)->value, std::max_element(points.begin(), points.end(), by_value)->value);
      if (count > limit * 4) {
        EXPECT_GE(thin.size(), limit - 3);
      }
    }
}

TEST(Thin, ShowsThatABucketHadOnlyNan) {
  std::vector<Point> points(1000, Point{0, {0}, std::nan(""), ""});
  auto thin = Thin(points, 100);
  EXPECT_EQ(thin.size(), 2u + 49u);
  points[500].value = 7;
  thin = Thin(points, 100);
  EXPECT_EQ(std::count_if(thin.begin(), thin.end(), [](const Point& point) { return point.value == 7; }), 1);
}

}  // namespace
}  // namespace ferry::series
