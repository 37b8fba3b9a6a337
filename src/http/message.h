// The text forms of requests and responses, without any socket: targets, response heads, error bodies. Private to http/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/server.h"

namespace ferry::http {

// Splits a request target into `head.path` and `head.query`. False when the target is none or an escape in the query is broken.
bool SplitTarget(std::string_view target, Head& head);

// How the end of a response's body is told.
enum class Framing { kLength, kChunked, kClose, kNone };

// What the connection adds to a response head.
struct HeadOptions {
  Framing framing = Framing::kLength;
  uint64_t length = 0;      // for kLength
  bool close = false;       // the connection ends after this response
  bool keep_alive = false;  // say so: a HTTP/1.0 client asked for it
};

// Appends the status line and all headers with the blank line. Line breaks in header values become spaces; the connection's own headers
// (content-length, transfer-encoding, connection) are left out of `headers`.
void AppendHead(std::string& out, int status, const std::vector<std::pair<std::string, std::string>>& headers, const HeadOptions& options);

// Whether a response of this status may carry a body.
inline bool StatusHasBody(int status) { return status >= 200 && status != 204 && status != 304; }

// {"error": {"code", "slug", "message", "field"}} with the status of the code, or `status` when not 0.
Response ErrorResponse(const Error& error, int status = 0);

}  // namespace ferry::http
