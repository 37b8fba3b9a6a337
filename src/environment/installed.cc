#include "environment/installed.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "environment/requirement.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

constexpr uint64_t kLargestRecord = 4u << 20;

// "Name: numpy" of the headers; they end at the first empty line.
std::string Header(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (Trim(line).empty()) return {};
    if (line.starts_with(key)) return std::string(Trim(line.substr(key.size())));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

std::string ReadHead(const std::string& path) {
  auto file = os::Open(path, os::OpenMode::kRead);
  if (!file.ok()) return {};
  return os::ReadAt(*file, 0, 4096).ValueOr("");
}

void ReadAddress(const std::string& record, model::LockedPackage& package) {
  auto text = os::ReadFile(os::JoinPath(record, "direct_url.json"), kLargestRecord);
  if (!text.ok()) return;
  auto json = ParseJson(*text);
  if (!json.ok()) return;
  package.url = PlainAddress(json->GetString("url"));
  if (const Json* archive = json->Find("archive_info")) {
    if (const Json* hashes = archive->Find("hashes")) package.sha256 = hashes->GetString("sha256");
    if (std::string hash = archive->GetString("hash"); package.sha256.empty() && hash.starts_with("sha256=")) package.sha256 = hash.substr(7);
  }
  if (const Json* vcs = json->Find("vcs_info"))
    if (std::string commit = vcs->GetString("commit_id"); !commit.empty()) package.url = StrCat(vcs->GetString("vcs"), "+", package.url, "@", commit);
}

}  // namespace

Result<std::vector<model::LockedPackage>> ReadInstalled(const std::string& site_packages) {
  TRY(auto entries, os::ListFolder(site_packages));
  std::vector<model::LockedPackage> out;
  for (const os::DirEntry& entry : entries) {
    bool dist = entry.name.ends_with(".dist-info"), egg = entry.name.ends_with(".egg-info");
    // pip renames to "~name" what it is about to remove.
    if ((!dist && !egg) || entry.name.starts_with("~")) continue;
    std::string path = os::JoinPath(site_packages, entry.name);
    std::string head = ReadHead(dist ? path + "/METADATA" : entry.type == os::FileType::kFile ? path : path + "/PKG-INFO");
    model::LockedPackage package;
    package.name = model::NormalPackageName(Header(head, "Name:"));
    package.version = Header(head, "Version:");
    std::string stem = entry.name.substr(0, entry.name.size() - (dist ? 10 : 9));
    size_t dash = stem.find('-');
    if (package.name.empty()) package.name = model::NormalPackageName(stem.substr(0, dash));
    if (package.version.empty() && dash != std::string::npos) package.version = stem.substr(dash + 1, stem.find('-', dash + 1) - dash - 1);
    if (package.name.empty()) continue;
    package.source = "pypi";
    if (dist) ReadAddress(path, package);
    out.push_back(std::move(package));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

Result<std::string> SitePackages(const std::string& prefix) {
  std::string lib = os::JoinPath(prefix, "lib");
  TRY(auto entries, os::ListFolder(lib));
  for (const os::DirEntry& entry : entries) {
    std::string folder = StrCat(lib, "/", entry.name, "/site-packages");
    if (entry.name.starts_with("python") && entry.type == os::FileType::kFolder && os::Exists(folder)) return folder;
  }
  return MakeError(Code::kNotFound, "environment.no_python", StrCat("there is no Python in ", prefix));
}

}  // namespace ferry::environment
