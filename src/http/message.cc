#include "http/message.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace ferry::http {
namespace {

std::string_view Reason(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Payload Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return status < 400 ? "OK" : "Error";
  }
}

bool EqualNoCase(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

bool IsConnectionHeader(std::string_view name) {
  switch (name.size()) {
    case 10: return EqualNoCase(name, "connection") || EqualNoCase(name, "keep-alive");
    case 14: return EqualNoCase(name, "content-length");
    case 17: return EqualNoCase(name, "transfer-encoding");
    default: return false;
  }
}

void AppendNumber(std::string& out, uint64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// Line breaks would let a value begin headers of its own.
void AppendClean(std::string& out, std::string_view text) {
  constexpr std::string_view kBreaks("\r\n\0", 3);
  if (text.find_first_of(kBreaks) == std::string_view::npos) {
    out.append(text);
    return;
  }
  for (char c : text) out.push_back(kBreaks.find(c) == std::string_view::npos ? c : ' ');
}

std::optional<std::string> DecodeQuery(std::string_view text) {
  if (text.find_first_of("%+") == std::string_view::npos) return std::string(text);
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return DecodePercent(spaced);
}

// Calls `line` for each line of `text`; "\n", "\r\n" and "\r" end lines.
template <typename Line>
void EachLine(std::string_view text, Line line) {
  for (;;) {
    size_t end = text.find_first_of("\r\n");
    line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n' ? end + 2 : end + 1);
  }
}

}  // namespace

std::string Head::Header(std::string_view name) const {
  auto at = headers.find(std::string(name));
  return at == headers.end() ? std::string() : at->second;
}

std::string Head::Query(std::string_view name, std::string_view other) const {
  auto [first, last] = query.equal_range(std::string(name));
  return first == last ? std::string(other) : std::prev(last)->second;
}

std::vector<std::string> Head::QueryAll(std::string_view name) const {
  std::vector<std::string> values;
  auto [first, last] = query.equal_range(std::string(name));
  for (; first != last; ++first) values.push_back(first->second);
  return values;
}

bool SplitTarget(std::string_view target, Head& head) {
  if (size_t scheme = target.find("://"); scheme != std::string_view::npos && !target.starts_with('/')) {
    target.remove_prefix(scheme + 3);
    size_t slash = target.find_first_of("/?");
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  size_t mark = target.find('?');
  head.path = target.substr(0, mark);
  if (head.path.empty()) head.path = "/";
  if (head.path.front() != '/' && head.path != "*") return false;
  if (mark == std::string_view::npos) return true;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    size_t amp = rest.find('&');
    std::string_view part = rest.substr(0, amp);
    rest = amp == std::string_view::npos ? std::string_view() : rest.substr(amp + 1);
    if (part.empty()) continue;
    size_t equals = part.find('=');
    auto name = DecodeQuery(part.substr(0, equals));
    auto value = DecodeQuery(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1));
    if (!name || !value) return false;
    head.query.emplace(std::move(*name), std::move(*value));
  }
  return true;
}

void AppendHead(std::string& out, int status, const std::vector<std::pair<std::string, std::string>>& headers, const HeadOptions& options) {
  out += "HTTP/1.1 ";
  AppendNumber(out, static_cast<uint64_t>(std::clamp(status, 100, 999)));
  out += ' ';
  out += Reason(status);
  out += "\r\n";
  for (const auto& [name, value] : headers) {
    if (IsConnectionHeader(name)) continue;
    AppendClean(out, name);
    out += ": ";
    AppendClean(out, value);
    out += "\r\n";
  }
  if (options.framing == Framing::kLength) {
    out += "Content-Length: ";
    AppendNumber(out, options.length);
    out += "\r\n";
  } else if (options.framing == Framing::kChunked) {
    out += "Transfer-Encoding: chunked\r\n";
  }
  if (options.close)
    out += "Connection: close\r\n";
  else if (options.keep_alive)
    out += "Connection: keep-alive\r\n";
  out += "\r\n";
}

Response ErrorResponse(const Error& error, int status) {
  Response response;
  response.status = status != 0 ? status : HttpStatus(error.code);
  response.headers.emplace_back("Content-Type", "application/json");
  response.body = Json::MakeObject(
                      {{"error", Json::MakeObject({{"code", CodeName(error.code)}, {"slug", error.slug}, {"message", error.message}, {"field", error.field}})}})
                      .Dump();
  return response;
}

std::string FormatEvent(std::string_view event, std::string_view id, std::string_view data) {
  std::string out;
  out.reserve(event.size() + id.size() + data.size() + 32);
  auto field = [&](std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    AppendClean(out, value);
    out += '\n';
  };
  if (!event.empty()) field("event", event);
  if (!id.empty()) field("id", id);
  EachLine(data, [&](std::string_view line) {
    out += "data: ";
    out += line;
    out += '\n';
  });
  out += '\n';
  return out;
}

}  // namespace ferry::http
