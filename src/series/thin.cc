#include "series/thin.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ferry::series {

Thinner::Thinner(int64_t count, size_t limit)
    : count_(count), limit_(limit == 0 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(std::min<size_t>(limit, size_t{1} << 40))) {
  if (count_ > limit_) buckets_ = std::max<int64_t>(0, (limit_ - 2) / 2);
  kept_.reserve(static_cast<size_t>(std::min(count_, limit_)));
}

void Thinner::Add(Point point) {
  int64_t index = next_++;
  if (count_ <= limit_) return kept_.push_back(std::move(point));
  if (index == count_ - 1) {
    CloseBucket();
    return kept_.push_back(std::move(point));
  }
  if (index == 0) {
    if (limit_ >= 2) kept_.push_back(std::move(point));
    return;
  }
  if (buckets_ == 0) return;
  // Of the points between the first and the last, in 128 bits so that no count overflows.
  auto bucket = static_cast<int64_t>(static_cast<__int128>(index - 1) * buckets_ / (count_ - 2));
  if (bucket != bucket_) {
    CloseBucket();
    bucket_ = bucket;
  }
  if (std::isnan(point.value) || !point.json.empty()) {
    if (other_.index < 0) other_ = {index, std::move(point)};
    return;
  }
  if (minimum_.index < 0 || point.value < minimum_.point.value) minimum_ = {index, point};
  if (maximum_.index < 0 || point.value > maximum_.point.value) maximum_ = {index, std::move(point)};
}

void Thinner::CloseBucket() {
  if (minimum_.index >= 0) {
    bool one = minimum_.index == maximum_.index;
    if (minimum_.index > maximum_.index) std::swap(minimum_, maximum_);
    kept_.push_back(std::move(minimum_.point));
    if (!one) kept_.push_back(std::move(maximum_.point));
  } else if (other_.index >= 0) {
    kept_.push_back(std::move(other_.point));
  }
  minimum_ = maximum_ = other_ = Held();
}

std::vector<Point> Thinner::Take() { return std::move(kept_); }

}  // namespace ferry::series
