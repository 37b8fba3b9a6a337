#include "data/s3/answer.h"

#include <array>

#include "base/text.h"

namespace ferry::data {
namespace {

std::string Unescape(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t step = 1;
    char c = text[i];
    if (c == '&') {
      for (const auto& [entity, plain] : kEntities)
        if (text.compare(i, entity.size(), entity) == 0) {
          c = plain;
          step = entity.size();
        }
      size_t end = text.find(';', i);
      if (step == 1 && text.compare(i, 2, "&#") == 0 && end != std::string_view::npos && end - i < 10) {
        std::string_view digits = text.substr(i + 2, end - i - 2);
        auto code = digits.starts_with('x') ? std::optional<int64_t>() : ParseInt(digits);
        if (code && *code > 0 && *code < 128) {
          c = static_cast<char>(*code);
          step = end - i + 1;
        }
      }
    }
    out += c;
    i += step;
  }
  return out;
}

}  // namespace

std::optional<std::string> Element(std::string_view xml, std::string_view name) {
  std::string open = StrCat("<", name, ">"), close = StrCat("</", name, ">");
  size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return std::nullopt;
  begin += open.size();
  size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return Unescape(xml.substr(begin, end - begin));
}

Result<S3Page> ReadPage(std::string_view xml) {
  auto bad = [](std::string_view why) { return MakeError(Code::kInternal, "s3.answer", StrCat("the S3 service's list of files cannot be read: ", why)); };
  if (xml.find("<ListBucketResult") == std::string_view::npos) return bad("it is no list");
  S3Page page;
  constexpr std::string_view kOpen = "<Contents>", kClose = "</Contents>";
  for (size_t at = 0; (at = xml.find(kOpen, at)) != std::string_view::npos;) {
    size_t end = xml.find(kClose, at);
    if (end == std::string_view::npos) return bad("it is cut off");
    std::string_view item = xml.substr(at, end - at);
    auto key = Element(item, "Key"), size = Element(item, "Size"), modified = Element(item, "LastModified");
    // Their form of percent-encoding has '+' for a blank.
    std::string text = key.value_or("");
    for (char& c : text)
      if (c == '+') c = ' ';
    auto decoded = DecodePercent(text);
    auto bytes = ParseInt(size.value_or(""));
    if (!key || !decoded || !bytes || *bytes < 0) return bad("a file has no key or no size");
    page.objects.push_back({*decoded, static_cast<uint64_t>(*bytes), ParseTime(modified.value_or("")).value_or(Time{})});
    at = end;
  }
  if (Element(xml, "IsTruncated").value_or("") == "true") {
    page.next = Element(xml, "NextContinuationToken").value_or("");
    if (page.next.empty()) return bad("it goes on, but does not say where");
  }
  return page;
}

Time ReadHttpDate(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  // "Wed, 12 Oct 2009 17:50:00 GMT"
  if (text.size() != 29 || !text.ends_with(" GMT")) return {};
  size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return {};
  std::string number = std::to_string(month / 3 + 1);
  return ParseTime(StrCat(text.substr(12, 4), "-", number.size() < 2 ? "0" : "", number, "-", text.substr(5, 2), "T", text.substr(17, 8), "Z"))
      .value_or(Time{});
}

}  // namespace ferry::data
