#include "data/artifacts/artifact_store.h"

#include <map>

#include "base/json.h"
#include "base/text.h"

namespace ferry::data {
namespace {

constexpr std::string_view kRoot = "ExperimentRun/dcid.";

class ArtifactStore final : public FileStore {
 public:
  ArtifactStore(store::Store& store, blob::BlobStore& blobs, std::string workspace) : store_(store), blobs_(blobs), workspace_(std::move(workspace)) {}

  Result<std::vector<FileInfo>> List(const std::string& prefix, const std::string& after, size_t limit) override {
    std::vector<FileInfo> out;
    // Rows are "RUN/PATH", in the order that the whole paths have.
    std::string rows;
    if (prefix.starts_with(kRoot))
      rows = prefix.substr(kRoot.size());
    else if (!kRoot.starts_with(prefix))
      return out;
    std::string from;
    if (after.starts_with(kRoot))
      from = after.substr(kRoot.size());
    else if (after > kRoot)
      return out;
    std::map<std::string, bool> ours;
    store::Query query{"artifact", {{{"", "key"}, store::Op::kPrefix, {rows}}}, {{"", "key"}, false}, {}, 1000};
    if (!from.empty()) query.where.push_back({{"", "key"}, store::Op::kGt, {from}});
    for (;;) {
      TRY(store::Page page, store_.Find(query));
      std::string skip;
      for (const store::Document& document : page.documents) {
        std::string run = document.key.substr(0, document.key.find('/'));
        auto known = ours.find(run);
        if (known == ours.end()) {
          TRY(bool is_ours, IsOurs(run));
          known = ours.emplace(run, is_ours).first;
        }
        if (!known->second) {
          // Behind all of its rows: '0' comes after '/'.
          skip = run + "0";
          break;
        }
        TRY(FileInfo file, Read(document));
        out.push_back(std::move(file));
        if (out.size() >= limit) return out;
      }
      if (skip.empty() && page.next.empty()) return out;
      if (skip.empty()) {
        query.cursor = page.next;
      } else {
        query.cursor.clear();
        query.where.resize(1);
        query.where.push_back({{"", "key"}, store::Op::kGe, {skip}});
      }
    }
  }

  Result<FileInfo> Stat(const std::string& path) override {
    TRY_VOID(CheckFilePath(path, "path"));
    if (!path.starts_with(kRoot)) return NoSuchFile(path);
    std::string key = path.substr(kRoot.size());
    TRY(auto document, store_.Get("artifact", key));
    if (!document) return NoSuchFile(path);
    TRY(bool is_ours, IsOurs(key.substr(0, key.find('/'))));
    if (!is_ours) return NoSuchFile(path);
    return Read(*document);
  }

  Result<std::unique_ptr<Reader>> Open(const std::string& path) override {
    TRY(FileInfo file, Stat(path));
    return blobs_.Open(*file.digest);
  }

  Result<std::unique_ptr<Writer>> Create(const std::string&) override {
    return MakeError(Code::kForbidden, "datastore.read_only",
                     "this datastore shows what runs produced and cannot be written to; upload to a run, or to another datastore", "path");
  }

 private:
  Result<bool> IsOurs(const std::string& run) {
    TRY(auto document, store_.Get("run", run));
    if (!document) return false;
    TRY(Json json, ParseJson(document->body, "a run in the store"));
    return json.GetString("workspace") == workspace_;
  }
  static Result<FileInfo> Read(const store::Document& document) {
    TRY(Json json, ParseJson(document.body, "an artifact in the store"));
    auto digest = Digest::FromHex(json.GetString("digest"));
    if (!digest) return MakeError(Code::kInternal, "artifact.unreadable", "an artifact in the store has no digest");
    return FileInfo{StrCat(kRoot, document.key), static_cast<uint64_t>(json.GetInt("size")), Time{json.GetInt("time")}, *digest};
  }

  store::Store& store_;
  blob::BlobStore& blobs_;
  const std::string workspace_;
};

}  // namespace

std::unique_ptr<FileStore> OpenArtifactStore(store::Store& store, blob::BlobStore& blobs, std::string workspace) {
  return std::make_unique<ArtifactStore>(store, blobs, std::move(workspace));
}

}  // namespace ferry::data
