// AWS Signature Version 4 for S3: how a request proves who sends it. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/time.h"

namespace ferry::data {

struct S3Request {
  std::string method;
  std::string path;                            // encoded: "/bucket/a%20b"
  std::map<std::string, std::string> query;    // not encoded
  std::map<std::string, std::string> headers;  // names in lower case; what is signed, host among them
  std::string payload_hash;                    // SHA-256 of the body, hex
};

struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string region;
};

// "a=b&c=d%20e", in the order of the names.
std::string EncodeQuery(const std::map<std::string, std::string>& query);
// A path of keys with '/' kept.
std::string EncodePath(std::string_view path);
// "20130524T000000Z"
std::string S3Date(Time time);
// The value of the header "authorization". The headers hold "x-amz-date" as S3Date(time).
std::string Sign(const S3Request& request, const S3Credentials& credentials, Time time);

}  // namespace ferry::data
