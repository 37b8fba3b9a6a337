// Points down to a number a chart can show, in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "series/series.h"

namespace ferry::series {

// Takes `count` points in order and keeps at most `limit` of them: the first, the last, and of each of equal-sized buckets between them the
// minimum and the maximum. NaN and points with JSON are neither, and stand for a bucket only when it has nothing else.
class Thinner {
 public:
  // `limit` 0: keep all.
  Thinner(int64_t count, size_t limit);
  void Add(Point point);
  // REQUIRES: `count` points were added.
  std::vector<Point> Take();

 private:
  void CloseBucket();

  struct Held {
    int64_t index = -1;
    Point point;
  };
  const int64_t count_;
  const int64_t limit_;
  int64_t buckets_ = 0;
  int64_t next_ = 0;    // index of the next point
  int64_t bucket_ = 0;  // the bucket being filled
  Held minimum_, maximum_, other_;
  std::vector<Point> kept_;
};

}  // namespace ferry::series
