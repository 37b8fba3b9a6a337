#include "cli/upload.h"

#include <algorithm>

#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::cli {
namespace {

constexpr size_t kMostFiles = 1'000'000;
constexpr int kDeepest = 64;

transfer::UploadOptions Options(const transfer::OnUpload& on_progress) {
  transfer::UploadOptions options;
  options.threads = std::clamp(os::CoreCount(), 1u, 2u);
  options.on_progress = on_progress;
  return options;
}

Result<void> Walk(const std::string& folder, const std::string& prefix, int depth, std::string_view option, std::vector<transfer::File>& files) {
  auto refuse = [&](std::string message) { return MakeError(Code::kInvalid, "upload.path", std::move(message), std::string(option)); };
  if (depth > kDeepest) return refuse(StrCat(folder, " is nested deeper than ", kDeepest, " folders"));
  TRY(auto entries, os::ListFolder(folder));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const os::DirEntry& entry : entries) {
    const std::string path = os::JoinPath(folder, entry.name), name = prefix + entry.name;
    if (entry.type == os::FileType::kFolder) {
      TRY_VOID(Walk(path, name + "/", depth + 1, option, files));
      continue;
    }
    TRY(os::Stat stat, os::StatPath(path));
    if (stat.type != os::FileType::kFile) return refuse(StrCat(path, " is neither a file nor a folder"));
    if (files.size() == kMostFiles) return refuse(StrCat(folder, " holds more than ", kMostFiles, " files"));
    TRY(Digest digest, os::HashFile(path));
    files.push_back({digest, stat.size, path, name});
  }
  return {};
}

}  // namespace

Result<void> UploadSnapshot(Session& session, const std::string& folder, const snapshot::Manifest& manifest, const transfer::OnUpload& on_progress) {
  std::vector<transfer::File> files;
  for (const snapshot::Entry& entry : manifest.entries)
    if (entry.type == snapshot::Entry::Type::kFile) files.push_back({entry.digest, entry.size, os::JoinPath(folder, entry.path), entry.path});
  const std::string text = manifest.Text();
  transfer::UploadOptions options = Options(on_progress);
  options.last = &text;
  TRY([[maybe_unused]] auto left_out, transfer::Upload(BlobLink(session), files, options));
  return {};
}

Result<std::vector<transfer::File>> FilesBelow(const std::string& path, std::string_view option) {
  auto stat = os::StatPath(path);
  if (!stat.ok() && stat.error().code == Code::kNotFound)
    return MakeError(Code::kNotFound, "upload.not_found", StrCat(option, ": there is no file or folder '", path, "'"), std::string(option));
  if (!stat.ok()) return stat.error();
  std::vector<transfer::File> files;
  if (stat->type == os::FileType::kFile) {
    TRY(Digest digest, os::HashFile(path));
    files.push_back({digest, stat->size, path, path.substr(path.rfind('/') + 1)});
    return files;
  }
  TRY_VOID(Walk(path, "", 0, option, files));
  if (files.empty()) return MakeError(Code::kInvalid, "upload.path", StrCat(option, ": there are no files in '", path, "'"), std::string(option));
  return files;
}

Result<void> UploadContent(Session& session, const std::vector<transfer::File>& files, const transfer::OnUpload& on_progress) {
  TRY([[maybe_unused]] auto left_out, transfer::Upload(BlobLink(session), files, Options(on_progress)));
  return {};
}

Json FileList(const std::vector<transfer::File>& files, const std::string& prefix) {
  Json list = Json::MakeArray();
  for (const transfer::File& file : files)
    list.Push(Json::MakeObject({{"path", prefix.empty() ? file.name : StrCat(prefix, "/", file.name)}, {"digest", file.digest.Hex()}, {"size", file.size}}));
  return list;
}

}  // namespace ferry::cli
