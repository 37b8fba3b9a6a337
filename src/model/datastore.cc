#include "model/datastore.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::model {
namespace {

constexpr const char* kKinds[] = {"own", "artifacts", "folder", "s3"};

}  // namespace

const char* DatastoreKindName(DatastoreKind kind) { return kKinds[static_cast<int>(kind)]; }

std::optional<DatastoreKind> DatastoreKindFromName(std::string_view name) {
  for (int i = 0; i < 4; ++i)
    if (name == kKinds[i]) return static_cast<DatastoreKind>(i);
  return std::nullopt;
}

Json ToJson(const Datastore& store) {
  Json json = Json::MakeObject(
      {{"workspace", store.workspace}, {"name", store.name}, {"kind", DatastoreKindName(store.kind)}, {"type", store.type}, {"created", store.created.micros}});
  json.SetIf("folder", store.folder).SetIf("endpoint", store.endpoint).SetIf("bucket", store.bucket).SetIf("prefix", store.prefix);
  json.SetIf("region", store.region).SetIf("access_key", store.access_key).SetIf("secret_key", store.secret_key);
  json.SetIf("description", store.description).SetIf("user", store.user);
  if (!store.azure.empty()) json.Set("azure", store.azure);
  if (!store.tags.empty()) json.Set("tags", store.tags);
  return json;
}

Result<Datastore> DatastoreFromJson(const Json& json) {
  Datastore store;
  store.workspace = json.GetString("workspace");
  store.name = json.GetString("name");
  auto kind = DatastoreKindFromName(json.GetString("kind"));
  if (!kind)
    return MakeError(Code::kInvalid, "datastore.kind", StrCat("kind is '", json.GetString("kind"), "'; expected own, artifacts, folder or s3"), "kind");
  store.kind = *kind;
  store.type = json.GetString("type");
  store.folder = json.GetString("folder");
  store.endpoint = json.GetString("endpoint");
  store.bucket = json.GetString("bucket");
  store.prefix = json.GetString("prefix");
  store.region = json.GetString("region");
  store.access_key = json.GetString("access_key");
  store.secret_key = json.GetString("secret_key");
  store.azure = json.GetStringMap("azure");
  store.description = json.GetString("description");
  store.tags = json.GetStringMap("tags");
  store.user = json.GetString("user");
  store.created = Time{json.GetInt("created")};
  return store;
}

Json DatastoreView(const Datastore& store, bool is_default) {
  Json json = Json::MakeObject({{"name", store.name},
                                {"workspace", store.workspace},
                                {"kind", DatastoreKindName(store.kind)},
                                {"type", store.type},
                                {"default", is_default},
                                {"description", store.description},
                                {"tags", store.tags},
                                {"azure", store.azure},
                                {"user", store.user},
                                {"created", store.created ? Json(FormatTime(store.created)) : Json()}});
  json.SetIf("folder", store.folder).SetIf("endpoint", store.endpoint).SetIf("bucket", store.bucket).SetIf("prefix", store.prefix);
  return json.SetIf("region", store.region).SetIf("access_key", store.access_key);
}

const std::map<std::string, DatastoreKind>& OwnDatastores() {
  static const std::map<std::string, DatastoreKind> own = {{kDefaultDatastore, DatastoreKind::kOwn},
                                                           {"workspacefilestore", DatastoreKind::kOwn},
                                                           {"workspaceworkingdirectory", DatastoreKind::kOwn},
                                                           {"workspaceartifactstore", DatastoreKind::kArtifacts}};
  return own;
}

Json ToJson(const FileRecord& file) {
  return Json::MakeObject({{"workspace", file.workspace},
                           {"datastore", file.datastore},
                           {"path", file.path},
                           {"digest", file.digest.Hex()},
                           {"size", file.size},
                           {"time", file.time.micros}});
}

Result<FileRecord> FileFromJson(const Json& json) {
  auto digest = Digest::FromHex(json.GetString("digest"));
  if (!digest) return MakeError(Code::kInvalid, "file.digest", "a file's digest must be 64 lower-case hex digits", "digest");
  const Json* size = json.Find("size");
  if (!size || !size->is_int() || size->as_int() < 0) return MakeError(Code::kInvalid, "file.size", "a file's size must be a whole number of bytes", "size");
  return FileRecord{json.GetString("workspace"),           json.GetString("datastore"), json.GetString("path"), *digest,
                    static_cast<uint64_t>(size->as_int()), Time{json.GetInt("time")}};
}

Result<void> CheckDatastoreName(std::string_view name, std::string_view field) {
  auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (!name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), fits)) return {};
  return MakeError(Code::kInvalid, "datastore.name", StrCat(field, " is '", name.substr(0, 80), "'; expected 1 to 255 letters, digits and '_'"),
                   std::string(field));
}

}  // namespace ferry::model
