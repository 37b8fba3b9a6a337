#include "series/chunk.h"

#include <bit>
#include <cstring>
#include <utility>

namespace ferry::series {

namespace {

// A point begins with one byte: bit 0, a step difference other than 1 follows; bit 1, a JSON text follows; bits 2 to 4, how many low bytes
// of the value's difference are zero; bits 5 to 7, how many bytes of it follow, less one.
constexpr unsigned kStepFollows = 1, kJsonFollows = 2;

uint64_t ZigZag(uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
uint64_t UnZigZag(uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

}  // namespace

void AppendVarint(std::string& out, uint64_t value) {
  char buffer[10];
  size_t size = 0;
  while (value >= 0x80) {
    buffer[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  buffer[size++] = static_cast<char>(value);
  out.append(buffer, size);
}

void AppendText(std::string& out, std::string_view text) {
  AppendVarint(out, text.size());
  out += text;
}

std::optional<uint64_t> TakeVarint(std::string_view& in) {
  uint64_t value = 0;
  for (unsigned i = 0; i < in.size() && i < 10; ++i) {
    auto byte = static_cast<unsigned char>(in[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      in.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> TakeText(std::string_view& in) {
  auto size = TakeVarint(in);
  if (!size || *size > in.size()) return std::nullopt;
  std::string_view text = in.substr(0, *size);
  in.remove_prefix(*size);
  return text;
}

void ChunkWriter::Add(const Point& point) {
  auto step = static_cast<uint64_t>(point.step), time = static_cast<uint64_t>(point.time.micros);
  auto value = std::bit_cast<uint64_t>(point.value);
  uint64_t difference = value ^ value_;
  unsigned low = difference ? static_cast<unsigned>(std::countr_zero(difference)) / 8 : 7;
  unsigned high = difference ? static_cast<unsigned>(std::countl_zero(difference)) / 8 : 0;
  unsigned size = difference ? 8 - low - high : 1;
  unsigned head = low << 2 | (size - 1) << 5;
  if (step - step_ != 1) head |= kStepFollows;
  if (!point.json.empty()) head |= kJsonFollows;
  bytes_ += static_cast<char>(head);
  if (head & kStepFollows) AppendVarint(bytes_, ZigZag(step - step_));
  AppendVarint(bytes_, ZigZag(time - time_));
  uint64_t shifted = difference >> (8 * low);
  char raw[8];
  for (unsigned i = 0; i < size; ++i) raw[i] = static_cast<char>(shifted >> (8 * i));
  bytes_.append(raw, size);
  if (head & kJsonFollows) AppendText(bytes_, point.json);
  step_ = step;
  time_ = time;
  value_ = value;
  ++count_;
}

std::string ChunkWriter::Take() {
  std::string bytes = std::move(bytes_);
  *this = ChunkWriter();
  return bytes;
}

bool ChunkReader::Next(Point& point) {
  if (in_.empty() || damaged_) return false;
  damaged_ = true;
  auto head = static_cast<unsigned char>(in_[0]);
  in_.remove_prefix(1);
  uint64_t step = 1;
  if (head & kStepFollows) {
    auto taken = TakeVarint(in_);
    if (!taken) return false;
    step = UnZigZag(*taken);
  }
  auto time = TakeVarint(in_);
  unsigned low = head >> 2 & 7, size = (head >> 5) + 1u;
  if (!time || in_.size() < size || low + size > 8) return false;
  uint64_t difference = 0;
  for (unsigned i = 0; i < size; ++i) difference |= static_cast<uint64_t>(static_cast<unsigned char>(in_[i])) << (8 * i);
  in_.remove_prefix(size);
  step_ += step;
  time_ += UnZigZag(*time);
  value_ ^= difference << (8 * low);
  point.step = static_cast<int64_t>(step_);
  point.time.micros = static_cast<int64_t>(time_);
  point.value = std::bit_cast<double>(value_);
  point.json.clear();
  if (head & kJsonFollows) {
    auto json = TakeText(in_);
    if (!json) return false;
    point.json = *json;
  }
  damaged_ = false;
  return true;
}

}  // namespace ferry::series
