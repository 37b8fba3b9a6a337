#include "environment/venv/relocate.h"

#include <algorithm>

#include "base/text.h"
#include "environment/installed.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

constexpr uint64_t kLargestScript = 4u << 20;
// Linux cuts the first line of a script after this.
constexpr size_t kLongestShebang = 127;

bool IsPathEnd(char c) { return std::string_view("/ \t\n\r\"';:)").find(c) != std::string_view::npos; }

// A first line that the kernel takes: a path with spaces, or a long one, is started through sh.
std::string ProperShebang(const std::string& text) {
  size_t end = text.find('\n');
  if (!text.starts_with("#!/") || end == std::string::npos || text.starts_with("#!/bin/sh")) return text;
  std::string path = text.substr(2, end - 2);
  if (path.find(' ') == std::string::npos && path.size() + 2 <= kLongestShebang) return text;
  return StrCat("#!/bin/sh\n'''exec' \"", path, "\" \"$0\" \"$@\"\n' '''\n", text.substr(end + 1));
}

// A shell's assignment, "VIRTUAL_ENV=/path" or "setenv VIRTUAL_ENV /path", whose path needs quotes now.
std::string QuotedAssignments(const std::string& text, const std::string& folder) {
  if (folder.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/._-+:@") == std::string::npos) return text;
  std::string quoted = "'";
  for (char c : folder) quoted += c == '\'' ? "'\"'\"'" : std::string(1, c);
  quoted += "'";
  std::string out;
  for (std::string_view line : Split(text, '\n')) {
    bool plain =
        line.ends_with(folder) && line.size() > folder.size() && (line[line.size() - folder.size() - 1] == '=' || line[line.size() - folder.size() - 1] == ' ');
    out += StrCat(out.empty() ? "" : "\n", plain ? line.substr(0, line.size() - folder.size()) : line, plain ? quoted : "");
  }
  return out;
}

Result<void> Rewrite(const std::string& path, const std::string& before, const std::string& after) {
  auto stat = os::StatPath(path, false);
  if (!stat.ok() || stat->type != os::FileType::kFile || stat->size > kLargestScript) return {};
  TRY(std::string text, os::ReadFile(path, kLargestScript));
  if (text.find('\0') != std::string::npos) return {};
  bool ours = text.starts_with("#!" + before + "/");
  std::string changed = ReplacedPath(text, before, after);
  if (ours) changed = ProperShebang(changed);
  if (path.find("/bin/activate") != std::string::npos && changed != text) changed = QuotedAssignments(changed, after);
  if (changed == text) return {};
  return os::WriteFileAtomic(path, changed, stat->mode, false);
}

}  // namespace

std::string ReplacedPath(const std::string& text, const std::string& before, const std::string& after) {
  std::string out;
  size_t at = 0;
  for (;;) {
    size_t found = text.find(before, at);
    if (found == std::string::npos) break;
    size_t end = found + before.size();
    bool whole = end == text.size() || IsPathEnd(text[end]);
    out += text.substr(at, found - at);
    out += whole ? after : before;
    at = end;
  }
  return out + text.substr(at);
}

Result<void> RelocateFiles(const std::string& folder, const std::string& before, const std::string& sdk) {
  TRY(std::string site_packages, SitePackages(folder));
  if (folder != before) {
    TRY(auto programs, os::ListFolder(os::JoinPath(folder, "bin")));
    for (const os::DirEntry& entry : programs) TRY_VOID(Rewrite(StrCat(folder, "/bin/", entry.name), before, folder));
    if (std::string cfg = os::JoinPath(folder, "pyvenv.cfg"); os::Exists(cfg)) TRY_VOID(Rewrite(cfg, before, folder));
    TRY(auto entries, os::ListFolder(site_packages));
    for (const os::DirEntry& entry : entries)
      if (entry.name.ends_with(".pth")) TRY_VOID(Rewrite(os::JoinPath(site_packages, entry.name), before, folder));
  }
  std::string own = os::JoinPath(site_packages, "ferry.pth");
  if (!sdk.empty() && os::Exists(own)) TRY_VOID(os::WriteFileAtomic(own, sdk + "\n", 0644, false));
  return {};
}

}  // namespace ferry::environment
