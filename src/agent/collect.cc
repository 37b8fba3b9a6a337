#include "agent/collect.h"

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "blob/pack.h"
#include "os/file.h"

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

Result<Digest> HashFile(const std::string& path) {
  TRY(os::Fd fd, os::Open(path, os::OpenMode::kRead));
  Sha256 hash;
  for (uint64_t at = 0;;) {
    TRY(std::string bytes, os::ReadAt(fd, at, 1u << 20, path));
    if (bytes.empty()) return hash.Finish();
    hash.Update(bytes);
    at += bytes.size();
  }
}

Result<Json> Ask(http::Client& client, http::Call call) {
  TRY(http::Reply reply, client.Do(call));
  if (reply.status >= 300) return http::ErrorFromReply(reply);
  return ParseJson(reply.body, "the server's answer");
}

Result<void> UploadLarge(http::Client& client, const Digest& digest, const std::string& path, uint64_t size) {
  std::string base = StrCat("/api/v1/agent/blobs/", digest.Hex());
  TRY(Json there, Ask(client, {"GET", base + "/parts", {}, {}, {}, {}}));
  auto at = static_cast<uint64_t>(there.GetInt("size"));
  TRY(os::Fd fd, os::Open(path, os::OpenMode::kRead));
  while (at < size) {
    TRY(std::string bytes, os::ReadAt(fd, at, 8u << 20, path));
    if (bytes.empty()) break;
    uint64_t length = bytes.size();
    TRY_VOID([&]() -> Result<void> {
      auto done = Ask(client, {"PUT", StrCat(base, "/parts?offset=", at), {}, std::move(bytes), {}, {}});
      return done.ok() ? Result<void>() : Result<void>(done.error());
    }());
    at += length;
  }
  auto finished = Ask(client, {"POST", base + "/finish", {}, Json::MakeObject({{"size", size}}).Dump(), {}, {}});
  return finished.ok() ? Result<void>() : Result<void>(finished.error());
}

}  // namespace

Result<std::vector<Collected>> CollectOutputs(const AttemptFolder& folder, http::Client& client, CollectedBefore& before, bool settled) {
  std::vector<Found> found;
  auto root = os::RealPath(folder.Path("work"));
  if (root.ok() && os::Exists(folder.Path("work/outputs"))) Walk(*root, folder.Path("work/outputs"), "outputs", found);
  auto staged = os::RealPath(folder.Path("artifacts"));
  if (staged.ok()) Walk(*staged, folder.Path("artifacts"), "", found);

  std::vector<Collected> fresh;
  std::vector<size_t> origin;
  int64_t now = Now().micros * 1000;
  for (size_t i = 0; i < found.size(); ++i) {
    const Found& file = found[i];
    if (settled && now - file.stat.mtime_ns < 2'000'000'000) continue;
    auto seen = before.files.find(file.path);
    if (seen != before.files.end() && seen->second.mtime_ns == file.stat.mtime_ns && seen->second.size == file.stat.size) continue;
    auto digest = HashFile(file.file);
    if (!digest.ok()) continue;
    fresh.push_back({file.path, *digest, file.stat.size});
    origin.push_back(i);
  }
  if (fresh.empty()) return fresh;

  Json digests = Json::MakeArray();
  for (const Collected& file : fresh) digests.Push(file.digest.Hex());
  TRY(Json answer, Ask(client, {"POST", "/api/v1/agent/blobs/missing", {}, Json::MakeObject({{"digests", std::move(digests)}}).Dump(), {}, {}}));
  std::map<std::string, bool> missing;
  for (const std::string& hex : answer.GetStrings("missing")) missing[hex] = true;
  std::string pack(blob::kPackMagic);
  auto flush = [&]() -> Result<void> {
    if (pack.size() == blob::kPackMagic.size()) return {};
    auto done = Ask(client, {"POST", "/api/v1/agent/blobs/pack", {}, std::exchange(pack, std::string(blob::kPackMagic)), {}, {}});
    return done.ok() ? Result<void>() : Result<void>(done.error());
  };
  std::vector<Collected> uploaded;
  for (size_t i = 0; i < fresh.size(); ++i) {
    Collected& file = fresh[i];
    const Found& source = found[origin[i]];
    bool& needed = missing[file.digest.Hex()];
    if (needed) {
      if (file.size <= blob::kMaxPacked) {
        auto bytes = os::ReadFile(source.file, blob::kMaxPacked);
        // Written to between the look and the read: the next round has it.
        if (!bytes.ok() || HashBytes(*bytes) != file.digest) continue;
        blob::AppendRecord(pack, file.digest, *bytes);
        if (pack.size() > (16u << 20)) TRY_VOID(flush());
      } else if (auto sent = UploadLarge(client, file.digest, source.file, file.size); !sent.ok()) {
        if (sent.error().slug == "blob.corrupt") continue;
        return sent.error();
      }
      needed = false;
    }
    before.files[file.path] = {source.stat.mtime_ns, source.stat.size, file.digest};
    uploaded.push_back(file);
  }
  TRY_VOID(flush());
  return uploaded;
}

}  // namespace ferry::agent
