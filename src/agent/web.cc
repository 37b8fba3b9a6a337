#include "agent/web.h"

#include "base/text.h"
#include "http/client.h"

namespace ferry::agent {
namespace {

constexpr int kMostRedirections = 10;

// "https://host:port" and the rest, without a fragment.
std::pair<std::string, std::string> SplitUrl(std::string_view url) {
  url = url.substr(0, url.find('#'));
  size_t host = url.find("//");
  size_t path = host == std::string_view::npos ? std::string_view::npos : url.find_first_of("/?", host + 2);
  if (path == std::string_view::npos) return {std::string(url), "/"};
  return {std::string(url.substr(0, path)), StrCat(url[path] == '?' ? "/" : "", url.substr(path))};
}

// Where a redirection leads from `base` and `path`.
std::string Resolve(const std::string& base, const std::string& path, const std::string& location) {
  if (location.find("://") != std::string::npos) return location;
  if (location.starts_with("//")) return base.substr(0, base.find("//")) + location;
  if (location.starts_with('/')) return base + location;
  std::string folder = path.substr(0, path.find('?'));
  return StrCat(base, folder.substr(0, folder.rfind('/') + 1), location);
}

}  // namespace

std::string NameOfUrl(std::string_view url) {
  auto [base, path] = SplitUrl(url);
  path = path.substr(0, path.find('?'));
  std::string name = DecodePercent(path.substr(path.rfind('/') + 1)).value_or("");
  if (name.empty() || name == "." || name == ".." || name.size() > 200) return "download";
  for (unsigned char c : name)
    if (c < 0x20 || c == 0x7F || c == '/') return "download";
  return name;
}

Result<void> FetchUrl(const std::string& url, const std::function<Result<void>(std::string_view)>& write) {
  std::string at = url;
  for (int i = 0; i <= kMostRedirections; ++i) {
    if (!at.starts_with("http://") && !at.starts_with("https://"))
      return MakeError(Code::kInvalid, "url.scheme", StrCat("'", url, "' leads to '", at.substr(0, 200), "', which is neither http nor https"));
    auto [base, path] = SplitUrl(at);
    http::ClientSettings settings;
    settings.base = base;
    http::Client client(settings);
    http::Call call;
    call.path = path;
    call.body_sink = write;
    auto reply = client.Do(call);
    if (!reply.ok()) {
      if (!reply.error().slug.starts_with("http.")) return reply.error();
      return MakeError(Code::kUnavailable, "url.unreachable", StrCat("'", url, "' cannot be fetched: ", reply.error().message));
    }
    if (reply->status >= 200 && reply->status < 300) return {};
    auto location = reply->headers.find("location");
    if (reply->status >= 300 && reply->status < 400 && location != reply->headers.end()) {
      at = Resolve(base, path, location->second);
      continue;
    }
    std::string message = StrCat("'", url, "' cannot be fetched: its server answers ", reply->status);
    if (reply->status >= 500 || reply->status == 429) return MakeError(Code::kUnavailable, "url.unreachable", message);
    return MakeError(reply->status == 404 ? Code::kNotFound : Code::kForbidden, "url.refused", message);
  }
  return MakeError(Code::kInvalid, "url.redirections", StrCat("'", url, "' leads elsewhere more than ", kMostRedirections, " times"));
}

}  // namespace ferry::agent
