#include "http/client.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/json.h"
#include "base/text.h"
#include "http/chunked.h"
#include "http/event_reader.h"
#include "http/wire.h"
#include "os/socket.h"

namespace ferry::http {
namespace {

constexpr size_t kReadSize = 64u << 10;
constexpr size_t kMaxHead = 256u << 10;
constexpr uint64_t kMaxBody = 1u << 30;  // of a reply held in memory
constexpr std::string_view kHeadEnd = "\r\n\r\n";

using Sink = std::function<Result<void>(std::string_view)>;

Error BadUrl(std::string_view text, std::string_view why) { return MakeError(Code::kInvalid, "url.invalid", StrCat("\"", text, "\" is no address: ", why)); }
Error BadReply(std::string_view why) { return MakeError(Code::kInternal, "http.bad_reply", StrCat("the server's reply is malformed: ", why)); }

std::optional<uint64_t> ParseNumber(std::string_view text, int base = 10) {
  uint64_t number = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (ec != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

// Whether a text can stand in a request head without beginning a line of its own.
bool IsOneLine(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos; }

bool HasHeader(const Call& call, std::string_view lower) {
  return std::any_of(call.headers.begin(), call.headers.end(), [&](const auto& header) { return ToLower(header.first) == lower; });
}

// A status line and headers, without their blank line.
Result<void> ParseHead(std::string_view text, Reply& reply, bool& http11) {
  size_t line_end = text.find("\r\n");
  std::string_view line = text.substr(0, line_end);
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ') return BadReply("it does not begin with an HTTP/1 status line");
  auto status = ParseNumber(line.substr(9, 3));
  if (!status || *status < 100 || (line.size() > 12 && line[12] != ' ')) return BadReply("its status is no number");
  http11 = line[7] != '0';
  reply.status = static_cast<int>(*status);
  reply.headers.clear();
  while (line_end != std::string_view::npos) {
    text.remove_prefix(line_end + 2);
    line_end = text.find("\r\n");
    line = text.substr(0, line_end);
    if (line.empty()) continue;
    size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos) return BadReply("a header has no name");
    std::string value(Trim(line.substr(colon + 1)));
    auto [at, fresh] = reply.headers.try_emplace(ToLower(line.substr(0, colon)), value);
    if (!fresh) at->second += ", " + value;
  }
  return {};
}

Code CodeFromStatus(int status) {
  switch (status) {
    case 401: return Code::kUnauthorized;
    case 403: return Code::kForbidden;
    case 404:
    case 410: return Code::kNotFound;
    case 409:
    case 412: return Code::kConflict;
    case 413:
    case 431: return Code::kTooLarge;
    case 429:
    case 502:
    case 503: return Code::kUnavailable;
    case 408:
    case 504: return Code::kTimeout;
    case 507: return Code::kExhausted;
    default: return status >= 400 && status < 500 ? Code::kInvalid : Code::kInternal;
  }
}

}  // namespace

Result<Url> ParseUrl(std::string_view text) {
  Url url;
  size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return BadUrl(text, "it needs http://, https:// or unix:// in front");
  if (!IsOneLine(text) || text.find(' ') != std::string_view::npos) return BadUrl(text, "it has blanks or line breaks");
  url.scheme = ToLower(text.substr(0, scheme));
  std::string_view rest = text.substr(scheme + 3);
  if (url.scheme == "unix") {
    if (!rest.starts_with('/') || rest.size() < 2) return BadUrl(text, "unix:// is followed by an absolute path");
    url.path = rest;
    return url;
  }
  if (url.scheme != "http" && url.scheme != "https") return BadUrl(text, "only http, https and unix are known");
  size_t slash = rest.find_first_of("/?#");
  std::string_view authority = rest.substr(0, slash);
  url.path = slash == std::string_view::npos ? "/" : rest.substr(slash);
  if (url.path.front() != '/') return BadUrl(text, "a path begins with /");
  if (authority.find('@') != std::string_view::npos) return BadUrl(text, "a user name is not taken here");
  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    size_t close = authority.find(']');
    if (close == std::string_view::npos) return BadUrl(text, "a ] is missing");
    url.host = authority.substr(1, close - 1);
    std::string_view after = authority.substr(close + 1);
    has_port = after.starts_with(':');
    if (!after.empty() && !has_port) return BadUrl(text, "only a port may follow ]");
    if (has_port) port = after.substr(1);
  } else {
    size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    has_port = colon != std::string_view::npos;
    if (has_port) port = authority.substr(colon + 1);
  }
  if (url.host.empty()) return BadUrl(text, "it has no host");
  url.port = url.scheme == "https" ? 443 : 80;
  if (has_port) {
    auto number = ParseNumber(port);
    if (!number || *number == 0 || *number > 65535) return BadUrl(text, "its port is no number from 1 to 65535");
    url.port = static_cast<uint16_t>(*number);
  }
  return url;
}

struct Client::Impl {
  explicit Impl(ClientSettings given) : settings(std::move(given)), url(ParseUrl(settings.base)) {
    if (!url.ok()) return;
    if (url->scheme != "unix") {
      prefix = url->path;
      while (prefix.ends_with('/')) prefix.pop_back();
    }
    const bool bracket = url->host.find(':') != std::string::npos;
    host = url->scheme == "unix" ? "localhost" : StrCat(bracket ? "[" : "", url->host, bracket ? "]" : "");
    if (url->port != 0 && url->port != (url->scheme == "https" ? 443 : 80)) host += StrCat(":", url->port);
  }

  // How far an exchange came: what decides whether it may be made again.
  struct Progress {
    bool answered = false;     // a byte of the reply arrived
    bool source_used = false;  // the body source gave something that is lost now
  };

  Result<Reply> Do(const Call& call, const Sink& sink, const std::stop_token& token);
  Result<Reply> Exchange(const Call& call, const Sink& sink, const os::StopSignal& stop, Progress& progress);
  Result<void> Open(const os::StopSignal& stop);
  Result<std::string> RequestHead(const Call& call) const;
  Result<bool> SendRequest(const Call& call, const os::StopSignal& stop, Progress& progress);
  Result<bool> ReadHead(Reply& reply, const os::StopSignal& stop, Progress& progress);
  Result<bool> ReadBody(const Call& call, const Reply& reply, const Sink& take, const os::StopSignal& stop);
  Result<size_t> Fill(const os::StopSignal& stop);
  std::string_view Unread() const { return std::string_view(buffer.get() + begin, end - begin); }
  Error CutOff() const { return MakeError(Code::kUnavailable, "http.cut_off", StrCat("the reply of ", settings.base, " was cut off")); }
  void Close() {
    wire.reset();
    begin = end = 0;
  }

  const ClientSettings settings;
  Result<Url> url;
  std::string prefix;  // of every path
  std::string host;    // the Host header
  std::unique_ptr<TlsContext> tls;
  std::unique_ptr<Wire> wire;  // kept between calls
  std::unique_ptr<char[]> buffer = std::make_unique<char[]>(kReadSize);
  size_t begin = 0;  // the unread part of `buffer`
  size_t end = 0;
};

Result<void> Client::Impl::Open(const os::StopSignal& stop) {
  if (url->scheme == "https" && !tls) {
    TRY(tls, TlsContext::Make(settings.ca_file));
  }
  begin = end = 0;
  TRY(wire, Wire::Open(*url, url->scheme == "https" ? tls.get() : nullptr, settings.connect_timeout, settings.io_timeout, stop));
  return {};
}

Result<size_t> Client::Impl::Fill(const os::StopSignal& stop) {
  if (begin == end) begin = end = 0;
  if (end == kReadSize) {
    std::memmove(buffer.get(), buffer.get() + begin, end - begin);
    end -= begin;
    begin = 0;
  }
  TRY(size_t n, wire->Read(buffer.get() + end, kReadSize - end, stop));
  end += n;
  return n;
}

Result<std::string> Client::Impl::RequestHead(const Call& call) const {
  if (!IsOneLine(call.method) || !IsOneLine(call.path) || call.path.find(' ') != std::string::npos)
    return MakeError(Code::kInvalid, "http.bad_path", StrCat("\"", call.path, "\" is no path to ask for"));
  std::string head;
  head.reserve(256 + call.path.size() + call.body.size());
  auto add = [&](std::string_view name, std::string_view value) {
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  };
  head += call.method;
  head += ' ';
  head += prefix;
  if (!call.path.starts_with('/')) head += '/';
  head += call.path;
  head += " HTTP/1.1\r\n";
  add("Host", host);
  if (!settings.user_agent.empty() && IsOneLine(settings.user_agent)) add("User-Agent", settings.user_agent);
  if (!settings.token.empty() && !HasHeader(call, "authorization")) {
    if (!IsOneLine(settings.token)) return MakeError(Code::kInvalid, "http.bad_header", "the token has line breaks");
    add("Authorization", "Bearer " + settings.token);
  }
  for (const auto& [name, value] : call.headers) {
    if (!IsOneLine(name) || !IsOneLine(value)) return MakeError(Code::kInvalid, "http.bad_header", StrCat("the header ", name, " has line breaks"));
    add(name, value);
  }
  if (call.body_source)
    add("Transfer-Encoding", "chunked");
  else if (!call.body.empty() || call.method == "POST" || call.method == "PUT" || call.method == "PATCH")
    add("Content-Length", std::to_string(call.body.size()));
  head += "\r\n";
  return head;
}

// Whether the whole request left. False when the server answered before that.
Result<bool> Client::Impl::SendRequest(const Call& call, const os::StopSignal& stop, Progress& progress) {
  TRY(std::string head, RequestHead(call));
  if (!call.body_source) {
    const bool large = call.body.size() > kReadSize;
    TRY_VOID(wire->Write(head, call.body, large, stop));
    return !large || !wire->HasInput();
  }
  TRY_VOID(wire->Write(head, {}, false, stop));
  std::string framed;
  for (;;) {
    progress.source_used = true;
    TRY(std::string piece, call.body_source());
    framed.clear();
    if (piece.empty()) {
      TRY_VOID(wire->Write("0\r\n\r\n", {}, false, stop));
      return true;
    }
    AppendChunkHead(framed, piece.size());
    piece += "\r\n";
    TRY_VOID(wire->Write(framed, piece, true, stop));
    if (wire->HasInput()) return false;
  }
}

// Whether the connection can be kept, as far as the head tells. Interim replies (1xx) are skipped.
Result<bool> Client::Impl::ReadHead(Reply& reply, const os::StopSignal& stop, Progress& progress) {
  std::string head;
  for (;;) {
    size_t searched = head.size() < 3 ? 0 : head.size() - 3;
    size_t before = head.size();
    head += Unread();
    size_t at = head.find(kHeadEnd, searched);
    if (at != std::string::npos) {
      begin += at + kHeadEnd.size() - before;
      head.resize(at);
      bool http11 = true;
      TRY_VOID(ParseHead(head, reply, http11));
      head.clear();
      if (reply.status < 200 && reply.status != 101) continue;
      auto connection = reply.headers.find("connection");
      std::string said = connection == reply.headers.end() ? "" : ToLower(connection->second);
      return http11 ? said.find("close") == std::string::npos : said.find("keep-alive") != std::string::npos;
    }
    begin = end;
    if (head.size() > kMaxHead) return BadReply("its head is too large");
    TRY(size_t n, Fill(stop));
    if (n > 0) progress.answered = true;
    if (n == 0 && !progress.answered)
      return MakeError(Code::kUnavailable, "http.unreachable", StrCat(settings.base, " closed the connection without an answer"));
    if (n == 0) return CutOff();
  }
}

// Whether the connection can be kept, as far as the body tells.
Result<bool> Client::Impl::ReadBody(const Call& call, const Reply& reply, const Sink& take, const os::StopSignal& stop) {
  if (call.method == "HEAD" || reply.status == 204 || reply.status == 304) return true;
  auto coding = reply.headers.find("transfer-encoding");
  auto length = reply.headers.find("content-length");
  const bool chunked = coding != reply.headers.end() && ToLower(coding->second).ends_with("chunked");
  std::optional<uint64_t> left;
  if (!chunked && coding == reply.headers.end() && length != reply.headers.end()) {
    left = ParseNumber(length->second);
    if (!left) return BadReply("its content-length is no number");
  }
  ChunkReader chunks;
  for (;;) {
    std::string_view input = Unread();
    if (chunked) {
      for (;;) {
        std::string_view piece;
        auto step = chunks.Next(input, piece);
        begin = end - input.size();
        if (step == ChunkReader::Step::kMore) break;
        if (step == ChunkReader::Step::kEnd) return true;
        if (step == ChunkReader::Step::kBad) return BadReply("its chunked coding is broken");
        TRY_VOID(take(piece));
      }
    } else if (!input.empty() || left == 0u) {
      size_t n = left ? static_cast<size_t>(std::min<uint64_t>(*left, input.size())) : input.size();
      begin += n;
      if (n > 0) TRY_VOID(take(input.substr(0, n)));
      if (left && (*left -= n) == 0) return true;
    }
    TRY(size_t n, Fill(stop));
    if (n == 0 && !chunked && !left) return false;
    if (n == 0) return CutOff();
  }
}

Result<Reply> Client::Impl::Exchange(const Call& call, const Sink& sink, const os::StopSignal& stop, Progress& progress) {
  if (!wire) TRY_VOID(Open(stop));
  Reply reply;
  bool keep = true;
  auto sent = SendRequest(call, stop, progress);
  if (!sent.ok()) {
    // A server that refuses a body answers and closes; what it said may still be there to read.
    if (sent.error().slug != "http.unreachable") return sent.error();
    auto head = ReadHead(reply, stop, progress);
    if (!head.ok()) return sent.error();
    keep = false;
  } else {
    TRY(keep, ReadHead(reply, stop, progress));
    keep = keep && *sent;
  }
  auto into_memory = [&](std::string_view bytes) -> Result<void> {
    if (reply.body.size() + bytes.size() > kMaxBody)
      return MakeError(Code::kTooLarge, "http.reply_too_large", StrCat("the reply is larger than ", FormatBytes(kMaxBody)));
    reply.body += bytes;
    return {};
  };
  const bool streamed = sink && reply.status >= 200 && reply.status < 300;
  TRY(bool whole, ReadBody(call, reply, streamed ? sink : Sink(into_memory), stop));
  if (!keep || !whole || begin != end) Close();
  return reply;
}

Result<Reply> Client::Impl::Do(const Call& call, const Sink& sink, const std::stop_token& token) {
  if (!url.ok()) return url.error();
  if (token.stop_requested()) return MakeError(Code::kUnavailable, "http.stopped", StrCat("stopped before talking to ", settings.base));
  os::StopSignal stop(token);
  if (wire && wire->HasInput()) Close();
  for (;;) {
    const bool reused = wire != nullptr;
    Progress progress;
    auto reply = Exchange(call, sink, stop, progress);
    if (reply.ok()) return reply;
    Close();
    const bool again = reused && !progress.answered && !progress.source_used && reply.error().slug == "http.unreachable";
    if (!again) return reply;
  }
}

Client::Client(ClientSettings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Reply> Client::Do(const Call& call, std::stop_token stop) { return impl_->Do(call, call.body_sink, stop); }

void Client::Close() { impl_->Close(); }

Result<void> Client::Events(const std::string& path, const std::string& last_id, const std::function<bool(const Event&)>& on_event, std::stop_token stop) {
  Call call;
  call.path = path;
  call.headers.emplace_back("Accept", "text/event-stream");
  call.headers.emplace_back("Cache-Control", "no-cache");
  if (!last_id.empty()) call.headers.emplace_back("Last-Event-ID", last_id);
  EventReader reader(on_event);
  bool enough = false;
  auto sink = [&](std::string_view bytes) -> Result<void> {
    TRY(bool more, reader.Feed(bytes));
    if (more) return {};
    enough = true;
    return MakeError(Code::kUnavailable, "http.enough", "the listener has seen enough");
  };
  auto reply = impl_->Do(call, sink, stop);
  if (enough) return {};
  if (!reply.ok()) return reply.error();
  if (reply->status > 299) return ErrorFromReply(*reply);
  return {};
}

Error ErrorFromReply(const Reply& reply) {
  auto document = ParseJson(reply.body, "the reply");
  const Json* error = document.ok() ? document->Find("error") : nullptr;
  if (error && error->is_object() && !error->GetString("slug").empty()) {
    return MakeError(CodeFromName(error->GetString("code")), error->GetString("slug"), error->GetString("message"), error->GetString("field"));
  }
  return MakeError(CodeFromStatus(reply.status), StrCat("http.status_", reply.status), StrCat("the server answered ", reply.status));
}

}  // namespace ferry::http
