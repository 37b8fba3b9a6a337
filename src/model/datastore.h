// Where data is kept, under a name: the workspace's own store, a folder, or an S3-compatible store. Pure values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace ferry::model {

// Own: files of this server, by content. Artifacts: what runs produced, read only. Folder: of the server's machine. S3: a bucket.
enum class DatastoreKind { kOwn, kArtifacts, kFolder, kS3 };
const char* DatastoreKindName(DatastoreKind kind);
std::optional<DatastoreKind> DatastoreKindFromName(std::string_view name);

struct Datastore {
  std::string workspace;
  std::string name;
  DatastoreKind kind = DatastoreKind::kOwn;
  std::string type = "AzureBlob";  // what Azure's users read in `datastore_type`
  std::string folder;              // kFolder: an absolute path
  std::string endpoint;            // kS3: "https://host:port"
  std::string bucket;
  std::string prefix;  // within the bucket, without a slash at its ends
  std::string region;
  std::string access_key;
  std::string secret_key;                    // sealed, but in the hands of who opens the store
  std::map<std::string, std::string> azure;  // account_name, container_name and others that were said and mean nothing here
  std::string description;
  std::map<std::string, std::string> tags;
  std::string user;
  Time created;

  bool operator==(const Datastore&) const = default;
};
// Whole, with the sealed secret: for the store, never for clients.
Json ToJson(const Datastore& datastore);
Result<Datastore> DatastoreFromJson(const Json& json);
// What clients see.
Json DatastoreView(const Datastore& datastore, bool is_default);

// The four that every workspace has, by Azure's names. The first is the default.
const std::map<std::string, DatastoreKind>& OwnDatastores();
inline constexpr const char* kDefaultDatastore = "workspaceblobstore";

// A file of the workspace's own store: a path, and the blob that is its content.
struct FileRecord {
  std::string workspace;
  std::string datastore;
  std::string path;
  Digest digest;
  uint64_t size = 0;
  Time time;

  bool operator==(const FileRecord&) const = default;
};
Json ToJson(const FileRecord& file);
Result<FileRecord> FileFromJson(const Json& json);

// Letters, digits and '_', 1 to 255. kInvalid "datastore.name".
Result<void> CheckDatastoreName(std::string_view name, std::string_view field);

}  // namespace ferry::model
