// What S3 answers, as values: the few elements of its XML that matter, and its dates. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace ferry::data {

struct S3Object {
  std::string key;
  uint64_t size = 0;
  Time modified;
};

struct S3Page {
  std::vector<S3Object> objects;
  std::string next;  // a continuation token; empty: this was the last
};

// The text of the first element of this name, with entities resolved.
std::optional<std::string> Element(std::string_view xml, std::string_view name);
// A page of ListObjectsV2 with encoding-type=url. kInternal "s3.answer" for anything else.
Result<S3Page> ReadPage(std::string_view xml);
// "Wed, 12 Oct 2009 17:50:00 GMT"; zero for anything else.
Time ReadHttpDate(std::string_view text);

}  // namespace ferry::data
