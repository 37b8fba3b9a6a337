#include "data/s3/sign.h"

#include "base/hash.h"
#include "base/text.h"

namespace ferry::data {
namespace {

std::string Hmac(std::string_view key, std::string_view text) { return *FromHex(HmacHex(key, text)); }

// The signature is over escapes in capitals.
std::string Encode(std::string_view text) {
  std::string out = EncodePercent(text);
  for (size_t at = 0; (at = out.find('%', at)) != std::string::npos; at += 3)
    for (size_t i = at + 1; i < at + 3; ++i)
      if (out[i] >= 'a' && out[i] <= 'f') out[i] = static_cast<char>(out[i] - 'a' + 'A');
  return out;
}

}  // namespace

std::string EncodeQuery(const std::map<std::string, std::string>& query) {
  std::string out;
  for (const auto& [name, value] : query) out += StrCat(out.empty() ? "" : "&", Encode(name), "=", Encode(value));
  return out;
}

std::string EncodePath(std::string_view path) {
  std::string out;
  bool first = true;
  for (std::string_view part : Split(path, '/')) {
    out += StrCat(first ? "" : "/", Encode(part));
    first = false;
  }
  return out;
}

std::string S3Date(Time time) {
  std::string out;
  for (char c : FormatTime(time).substr(0, 19))
    if (c != '-' && c != ':') out += c;
  return out + "Z";
}

std::string Sign(const S3Request& request, const S3Credentials& credentials, Time time) {
  std::string headers, names;
  for (const auto& [name, value] : request.headers) {
    headers += StrCat(name, ":", Trim(value), "\n");
    names += StrCat(names.empty() ? "" : ";", name);
  }
  std::string canonical = StrCat(request.method, "\n", request.path, "\n", EncodeQuery(request.query), "\n", headers, "\n", names, "\n", request.payload_hash);
  std::string date = S3Date(time), day = date.substr(0, 8);
  std::string scope = StrCat(day, "/", credentials.region, "/s3/aws4_request");
  std::string text = StrCat("AWS4-HMAC-SHA256\n", date, "\n", scope, "\n", HashBytes(canonical).Hex());
  std::string key = Hmac(Hmac(Hmac(Hmac(StrCat("AWS4", credentials.secret_key), day), credentials.region), "s3"), "aws4_request");
  return StrCat("AWS4-HMAC-SHA256 Credential=", credentials.access_key, "/", scope, ",SignedHeaders=", names, ",Signature=", HmacHex(key, text));
}

}  // namespace ferry::data
