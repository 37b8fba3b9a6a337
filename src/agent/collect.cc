#include "agent/collect.h"

#include "base/time.h"
#include "base/utf8.h"
#include "os/file.h"
#include "transfer/upload.h"

namespace ferry::agent {
namespace {

struct Found {
  std::string path;  // the artifact's
  std::string file;  // on the disk
  os::Stat stat;
};

void Walk(const std::string& root, const std::string& folder, const std::string& prefix, std::vector<Found>& out, int depth = 0) {
  auto entries = os::ListFolder(folder);
  if (!entries.ok() || depth > 64) return;
  for (const os::DirEntry& entry : *entries) {
    std::string path = os::JoinPath(folder, entry.name), name = os::JoinPath(prefix, entry.name);
    if (entry.type == os::FileType::kFolder) {
      Walk(root, path, name, out, depth + 1);
      continue;
    }
    if (entry.type == os::FileType::kLink) {
      auto real = os::RealPath(path);
      if (!real.ok() || real->compare(0, root.size() + 1, root + "/") != 0) continue;
    }
    auto stat = os::StatPath(path);
    if (stat.ok() && stat->type == os::FileType::kFile) out.push_back({ToUtf8(name), path, *stat});
  }
}

}  // namespace

Result<std::vector<Collected>> CollectOutputs(const AttemptFolder& folder, const transfer::Link& link, CollectedBefore& before, bool settled) {
  std::vector<Found> found;
  auto root = os::RealPath(folder.Path("work"));
  if (root.ok() && os::Exists(folder.Path("work/outputs"))) Walk(*root, folder.Path("work/outputs"), "outputs", found);
  auto staged = os::RealPath(folder.Path("artifacts"));
  if (staged.ok()) Walk(*staged, folder.Path("artifacts"), "", found);

  std::vector<transfer::File> fresh;
  std::vector<const Found*> origin;
  int64_t now = Now().micros * 1000;
  for (const Found& file : found) {
    if (settled && now - file.stat.mtime_ns < 2'000'000'000) continue;
    auto seen = before.files.find(file.path);
    if (seen != before.files.end() && seen->second.mtime_ns == file.stat.mtime_ns && seen->second.size == file.stat.size) continue;
    auto digest = os::HashFile(file.file);
    if (!digest.ok()) continue;
    fresh.push_back({*digest, file.stat.size, file.file, file.path});
    origin.push_back(&file);
  }
  std::vector<Collected> uploaded;
  if (fresh.empty()) return uploaded;

  // What is written to between the look and the read is left to the next round.
  transfer::UploadOptions options;
  options.leave_out_changed = true;
  TRY(auto left_out, transfer::Upload(link, fresh, options));
  for (size_t i = 0; i < fresh.size(); ++i) {
    if (left_out.contains(fresh[i].digest)) continue;
    before.files[fresh[i].name] = {origin[i]->stat.mtime_ns, fresh[i].size, fresh[i].digest};
    uploaded.push_back({fresh[i].name, fresh[i].digest, fresh[i].size});
  }
  return uploaded;
}

}  // namespace ferry::agent
