#include "environment/conda/prefix.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "environment/requirement.h"
#include "environment/venv/relocate.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

constexpr uint64_t kLargestRecord = 64u << 20;

Result<std::vector<Json>> ReadRecords(const std::string& folder) {
  std::string meta = os::JoinPath(folder, "conda-meta");
  TRY(auto entries, os::ListFolder(meta));
  std::vector<Json> out;
  for (const os::DirEntry& entry : entries) {
    if (!entry.name.ends_with(".json") || entry.name.starts_with(".")) continue;
    TRY(std::string text, os::ReadFile(os::JoinPath(meta, entry.name), kLargestRecord));
    TRY(Json json, ParseJson(text, entry.name));
    if (!json.GetString("name").empty()) out.push_back(std::move(json));
  }
  return out;
}

Result<void> RewriteFile(const std::string& path, const std::string& before, const std::string& after, const std::string& placeholder, bool text) {
  auto stat = os::StatPath(path, false);
  if (!stat.ok() || stat->type != os::FileType::kFile) return {};
  TRY(std::string bytes, os::ReadFile(path));
  std::string changed;
  if (text) {
    changed = ReplacedPath(bytes, before, after);
  } else {
    auto replaced = ReplaceInProgram(bytes, before, after, placeholder.size());
    if (!replaced.ok())
      return MakeError(Code::kInvalid, "environment.relocate",
                       StrCat("the environment has to be built on this node: ", path, " has no room for the path ", after));
    changed = std::move(*replaced);
  }
  if (changed == bytes) return {};
  return os::WriteFileAtomic(path, changed, stat->mode, false);
}

}  // namespace

Result<std::vector<model::LockedPackage>> ReadPrefix(const std::string& folder) {
  TRY(auto records, ReadRecords(folder));
  std::vector<model::LockedPackage> out;
  for (const Json& record : records)
    out.push_back({record.GetString("name"), record.GetString("version"), "conda", record.GetString("build"), PlainAddress(record.GetString("channel")),
                   PlainAddress(record.GetString("url")), record.GetString("sha256")});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

Result<std::string> ReplaceInProgram(const std::string& bytes, const std::string& before, const std::string& after, size_t room) {
  std::string out = bytes;
  for (size_t at = 0; (at = out.find(before, at)) != std::string::npos;) {
    size_t end = out.find('\0', at);
    if (end == std::string::npos) return MakeError(Code::kInvalid, "prefix.room", "a path without an end");
    // The paths of one text, and the padding behind it that each of them left when it was made shorter.
    std::string text = out.substr(at, end - at), changed;
    size_t paths = 0;
    for (size_t from = 0;;) {
      size_t found = text.find(before, from);
      changed += text.substr(from, found - from);
      if (found == std::string::npos) break;
      changed += after;
      from = found + before.size();
      ++paths;
    }
    size_t padding = room > before.size() ? paths * (room - before.size()) : 0, have = 0;
    while (have < padding && end + have + 1 < out.size() && out[end + have + 1] == '\0') ++have;
    if (changed.size() > text.size() + have) return MakeError(Code::kInvalid, "prefix.room", "the path is too long");
    size_t keep = changed.size();
    changed.resize(std::max(text.size(), keep), '\0');
    out.replace(at, changed.size(), changed);
    at += keep;
  }
  return out;
}

Result<void> RelocatePrefix(const std::string& folder, const std::string& before, const std::string& sdk) {
  if (folder != before) {
    TRY(auto records, ReadRecords(folder));
    for (const Json& record : records) {
      const Json* data = record.Find("paths_data");
      const Json* paths = data ? data->Find("paths") : nullptr;
      if (!paths || !paths->is_array()) continue;
      for (const Json& path : paths->as_array()) {
        std::string placeholder = path.GetString("prefix_placeholder"), name = path.GetString("_path");
        if (placeholder.empty() || name.empty() || StrCat("/", name, "/").find("/../") != std::string::npos) continue;
        TRY_VOID(RewriteFile(os::JoinPath(folder, name), before, folder, placeholder, path.GetString("file_mode") != "binary"));
      }
    }
  }
  return RelocateFiles(folder, before, sdk);
}

}  // namespace ferry::environment
