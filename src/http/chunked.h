// The chunked transfer coding, taken apart at any cut of the input; both the server and the client read bodies with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ferry::http {

class ChunkReader {
 public:
  enum class Step {
    kPiece,  // `piece` holds bytes of the body
    kMore,   // the input is used up
    kEnd,    // the body is complete; the rest of the input belongs to the next message
    kBad,    // not chunked coding, or a chunk head or trailer over its bound
  };

  // Takes bytes off the front of `input`. `piece` points into the input. Call until kMore, then again with fresh input.
  Step Next(std::string_view& input, std::string_view& piece);

 private:
  enum class At { kSize, kExtension, kSizeEnd, kData, kDataReturn, kDataEnd, kTrailer, kTrailerLine, kTrailerEnd, kLastEnd, kDone, kBad };
  Step Byte(char c);

  At at_ = At::kSize;
  uint64_t left_ = 0;    // of the chunk's data
  unsigned digits_ = 0;  // of the chunk's size
  unsigned extra_ = 0;   // bytes of extensions and trailers, bounded
};

// Appends the head of a chunk of `size` bytes; its data and "\r\n" follow.
void AppendChunkHead(std::string& out, uint64_t size);

}  // namespace ferry::http
