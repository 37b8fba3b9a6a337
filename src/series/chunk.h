// Points as compact bytes: step and time as differences, the value as what differs from the value before. About 4 to 12 bytes
// for a scalar. Also the variable-length integers and texts that the journal's records are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "series/series.h"

namespace ferry::series {

void AppendVarint(std::string& out, uint64_t value);
void AppendText(std::string& out, std::string_view text);
// Take from the front of `in`; nothing when it is damaged.
std::optional<uint64_t> TakeVarint(std::string_view& in);
std::optional<std::string_view> TakeText(std::string_view& in);

// Packs points one after the other.
class ChunkWriter {
 public:
  void Add(const Point& point);
  const std::string& bytes() const { return bytes_; }
  int64_t count() const { return count_; }
  // Hands the bytes out and starts a new chunk.
  std::string Take();

 private:
  std::string bytes_;
  int64_t count_ = 0;
  uint64_t step_ = 0;
  uint64_t time_ = 0;
  uint64_t value_ = 0;
};

// Unpacks what a ChunkWriter packed. The bytes must outlive it.
class ChunkReader {
 public:
  explicit ChunkReader(std::string_view bytes) : in_(bytes) {}
  // False at the end, and where the bytes are damaged.
  bool Next(Point& point);
  bool damaged() const { return damaged_; }

 private:
  std::string_view in_;
  bool damaged_ = false;
  uint64_t step_ = 0;
  uint64_t time_ = 0;
  uint64_t value_ = 0;
};

}  // namespace ferry::series
