#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "snapshot/paths.h"
#include "snapshot/snapshot.h"

namespace ferry::snapshot {

namespace {

constexpr std::string_view kHead = "ferry-snapshot 1\n";
constexpr size_t kLongestPath = 4096;
constexpr size_t kLongestName = 255;
// Keeps sums of sizes far from overflowing.
constexpr uint64_t kLargest = 1ull << 60;

Error Wrong(std::string message) { return MakeError(Code::kInvalid, "snapshot.manifest", StrCat("the snapshot manifest is not valid: ", message)); }

bool NeedsEscape(char c) { return c == '\\' || c == '\n' || c == '\t'; }

void AppendEscaped(std::string& out, std::string_view text) {
  size_t plain = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!NeedsEscape(text[i])) continue;
    out.append(text, plain, i - plain);
    out += text[i] == '\\' ? "\\\\" : text[i] == '\n' ? "\\n" : "\\t";
    plain = i + 1;
  }
  out.append(text, plain, text.size() - plain);
}

std::optional<std::string> Unescape(std::string_view text) {
  if (std::none_of(text.begin(), text.end(), NeedsEscape)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (!NeedsEscape(text[i])) {
      out += text[i];
      continue;
    }
    if (text[i] != '\\' || ++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case '\\': out += '\\'; break;
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      default: return std::nullopt;
    }
  }
  return out;
}

constexpr char kHex[] = "0123456789abcdef";

void AppendHex(std::string& out, const Digest& digest) {
  char hex[64];
  for (size_t i = 0; i < 32; ++i) {
    hex[2 * i] = kHex[digest.bytes[i] >> 4];
    hex[2 * i + 1] = kHex[digest.bytes[i] & 15];
  }
  out.append(hex, sizeof hex);
}

// The values of the lower-case hex digits, 16 for every other byte.
constexpr auto kHexValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(16);
  for (uint8_t i = 0; i < 16; ++i) values[static_cast<unsigned char>(kHex[i])] = i;
  return values;
}();

// REQUIRES: 64 bytes.
bool ParseHex(std::string_view hex, Digest& digest) {
  unsigned wrong = 0;
  for (size_t i = 0; i < 32; ++i) {
    const unsigned high = kHexValues[static_cast<unsigned char>(hex[2 * i])], low = kHexValues[static_cast<unsigned char>(hex[2 * i + 1])];
    wrong |= high | low;
    digest.bytes[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return wrong < 16;
}

bool IsSafeName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." && name.find('\0') == std::string_view::npos;
}

// The form in which std::to_string writes it.
std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || v > kLargest) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return v;
}

Result<Entry> ParseLine(std::string_view line) {
  if (line.size() < 3 || line[1] != ' ') return Wrong("a line is no entry");
  Entry entry;
  const char kind = line[0];
  line.remove_prefix(2);
  std::string_view path = line;
  if (kind == 'f' || kind == 'x') {
    entry.executable = kind == 'x';
    const size_t space = line.size() > 65 && line[64] == ' ' ? line.find(' ', 65) : std::string_view::npos;
    if (space == std::string_view::npos) return Wrong("a file has no hash, size and path");
    auto size = ParseSize(line.substr(65, space - 65));
    if (!size || !ParseHex(line.substr(0, 64), entry.digest)) return Wrong("a file has no hash and size");
    entry.size = *size;
    path = line.substr(space + 1);
  } else if (kind == 'l') {
    entry.type = Entry::Type::kLink;
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return Wrong("a link has no target");
    path = line.substr(0, tab);
    auto target = Unescape(line.substr(tab + 1));
    if (!target) return Wrong("a link's target is not escaped rightly");
    entry.target = std::move(*target);
  } else if (kind == 'd') {
    entry.type = Entry::Type::kFolder;
  } else {
    return Wrong("a line is no entry");
  }
  auto plain = Unescape(path);
  if (!plain) return Wrong("a path is not escaped rightly");
  entry.path = std::move(*plain);
  return entry;
}

}  // namespace

bool IsSafePath(std::string_view path) {
  if (path.empty() || path.size() > kLongestPath) return false;
  for (;;) {
    const size_t slash = path.find('/');
    if (!IsSafeName(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool IsSafeTarget(std::string_view path, std::string_view target) {
  if (target == ".") return true;
  auto depth = std::count(path.begin(), path.end(), '/');
  while (target == ".." || target.starts_with("../")) {
    if (depth-- == 0) return false;
    target.remove_prefix(std::min<size_t>(3, target.size()));
    if (target.empty()) return true;
  }
  return IsSafePath(target);
}

uint64_t Manifest::TotalBytes() const {
  uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.size;
  return total;
}

std::string Manifest::Text() const {
  std::string out;
  size_t room = kHead.size();
  for (const Entry& entry : entries) room += 96 + entry.path.size() + entry.target.size();
  out.reserve(room);
  out += kHead;
  for (const Entry& entry : entries) {
    switch (entry.type) {
      case Entry::Type::kFile: {
        out += entry.executable ? "x " : "f ";
        AppendHex(out, entry.digest);
        out += ' ';
        char number[20];
        out.append(number, std::to_chars(number, number + sizeof number, entry.size).ptr);
        out += ' ';
        AppendEscaped(out, entry.path);
        break;
      }
      case Entry::Type::kLink:
        out += "l ";
        AppendEscaped(out, entry.path);
        out += '\t';
        AppendEscaped(out, entry.target);
        break;
      case Entry::Type::kFolder:
        out += "d ";
        AppendEscaped(out, entry.path);
        break;
    }
    out += '\n';
  }
  return out;
}

Digest Manifest::Id() const { return HashBytes(Text()); }

Result<void> Manifest::Check() const {
  uint64_t total = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (!IsSafePath(entry.path)) return Wrong("a path is not safe");
    if (i > 0 && !(entries[i - 1].path < entry.path)) return Wrong("its paths are not in order");
    if (entry.type == Entry::Type::kLink ? !IsSafeTarget(entry.path, entry.target) : !entry.target.empty())
      return Wrong(StrCat("the link ", entry.path, " leaves the snapshot"));
    if (entry.type != Entry::Type::kFile && (entry.size != 0 || entry.executable || entry.digest != Digest()))
      return Wrong("an entry without content has content");
    if (entry.size > kLargest || (total += entry.size) > kLargest) return Wrong("its sizes are impossible");
  }
  auto is_entry = [this](std::string_view path) {
    auto at = std::lower_bound(entries.begin(), entries.end(), path, [](const Entry& entry, std::string_view p) { return entry.path < p; });
    return at != entries.end() && at->path == path;
  };
  // Neighbours mostly share their folder, which need be looked at once only.
  std::string_view last;
  for (const Entry& entry : entries) {
    std::string_view above = entry.path;
    for (size_t slash; (slash = above.rfind('/')) != std::string_view::npos;) {
      above = above.substr(0, slash);
      if (above == last) break;
      if (is_entry(above)) return Wrong(StrCat("something lies below ", above, ", which is no folder"));
    }
    const size_t slash = entry.path.rfind('/');
    last = slash == std::string::npos ? std::string_view() : std::string_view(entry.path).substr(0, slash);
  }
  return {};
}

Result<Manifest> Manifest::Parse(std::string_view text) {
  if (!text.starts_with(kHead)) return Wrong("it does not begin as one");
  text.remove_prefix(kHead.size());
  Manifest manifest;
  manifest.entries.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')));
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    if (newline == std::string_view::npos) return Wrong("its last line does not end");
    TRY(Entry entry, ParseLine(text.substr(0, newline)));
    manifest.entries.push_back(std::move(entry));
    text.remove_prefix(newline + 1);
  }
  TRY_VOID(manifest.Check());
  return manifest;
}

}  // namespace ferry::snapshot
