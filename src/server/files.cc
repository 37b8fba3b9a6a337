#include "server/files.h"

#include "base/text.h"
#include "data/artifacts/artifact_store.h"
#include "data/folder/folder_store.h"
#include "data/own/own_store.h"
#include "data/s3/s3_store.h"
#include "os/file.h"

namespace ferry::server {
namespace {

bool Contains(const std::string& outer, const std::string& inner) {
  return outer == inner || outer == "/" || (inner.size() > outer.size() && inner.compare(0, outer.size(), outer) == 0 && inner[outer.size()] == '/');
}

Result<std::shared_ptr<data::FileStore>> OpenFolder(const FileParts& parts, const std::string& folder) {
  TRY(auto store, data::OpenFolderStore(folder));
  // The server's own folder holds its secret, and everybody's data.
  TRY(data::LocalPlace place, store->local()->PlaceOf(""));
  const std::string& real = place.path;
  TRY(std::string home, os::RealPath(parts.home));
  if (Contains(real, home) || Contains(home, real))
    return MakeError(Code::kForbidden, "datastore.folder", StrCat("the folder '", folder, "' holds the server's own data, or is part of it; choose another"),
                     "folder");
  return std::shared_ptr<data::FileStore>(std::move(store));
}

}  // namespace

Result<std::shared_ptr<data::FileStore>> OpenFiles(const FileParts& parts, const model::Datastore& datastore) {
  switch (datastore.kind) {
    case model::DatastoreKind::kOwn: {
      data::OwnSettings settings{datastore.workspace, datastore.name, parts.scratch, {}};
      settings.add = [&engine = parts.engine](std::vector<model::FileRecord> files, bool overwrite) -> Result<void> {
        auto added = engine.DoAndWait(engine::AddFiles{std::move(files), overwrite});
        return added.ok() ? Result<void>() : Result<void>(added.error());
      };
      return std::shared_ptr<data::FileStore>(data::OpenOwnStore(parts.store, parts.blobs, std::move(settings)));
    }
    case model::DatastoreKind::kArtifacts: return std::shared_ptr<data::FileStore>(data::OpenArtifactStore(parts.store, parts.blobs, datastore.workspace));
    case model::DatastoreKind::kFolder: return OpenFolder(parts, datastore.folder);
    case model::DatastoreKind::kS3:
      return std::shared_ptr<data::FileStore>(data::OpenS3Store(
          {datastore.endpoint, datastore.bucket, datastore.prefix, datastore.region, datastore.access_key, datastore.secret_key, parts.scratch}));
  }
  return MakeError(Code::kInternal, "datastore.kind", "a kind of datastore that nothing opens");
}

}  // namespace ferry::server
