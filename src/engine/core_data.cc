// Inputs that concern datastores and the files of the workspace's own.
#include "base/text.h"
#include "engine/core.h"

namespace ferry::engine {

Result<Json> Core::On(const RegisterDatastore& input, Time now) {
  model::Datastore datastore = input.datastore;
  TRY_VOID(FindWorkspace(datastore.workspace));
  if (model::OwnDatastores().count(datastore.name))
    return MakeError(Code::kConflict, "datastore.exists", StrCat("every workspace has a datastore '", datastore.name, "' of its own, which cannot be replaced"),
                     "name");
  TRY(auto there, Document("datastore", DatastoreKey(datastore.workspace, datastore.name)));
  if (there && !input.overwrite)
    return MakeError(Code::kConflict, "datastore.exists",
                     StrCat("there is a datastore '", datastore.name, "' in workspace '", datastore.workspace, "' already; it is replaced only with overwrite"),
                     "name");
  datastore.created = there ? Time{there->GetInt("created")} : now;
  Stage(PutDatastore(datastore));
  return Json::MakeObject({{"created", !there}});
}

Result<Json> Core::On(const DeleteDatastore& input, Time) {
  if (model::OwnDatastores().count(input.name))
    return MakeError(Code::kConflict, "datastore.own", StrCat("datastore '", input.name, "' belongs to every workspace and cannot be removed"), "name");
  TRY(auto there, Document("datastore", DatastoreKey(input.workspace, input.name)));
  if (!there)
    return MakeError(Code::kNotFound, "datastore.not_found", StrCat("there is no datastore '", input.name, "' in workspace '", input.workspace, "'"), "name");
  StageErase("datastore", DatastoreKey(input.workspace, input.name));
  TRY(model::Workspace workspace, FindWorkspace(input.workspace));
  if (workspace.default_datastore == input.name) {
    workspace.default_datastore.clear();
    Stage(PutWorkspace(workspace));
  }
  return Json::MakeObject({{"name", input.name}});
}

Result<Json> Core::On(const SetDefaultDatastore& input, Time) {
  TRY(model::Workspace workspace, FindWorkspace(input.workspace));
  TRY(auto there, Document("datastore", DatastoreKey(input.workspace, input.name)));
  if (!there && !model::OwnDatastores().count(input.name))
    return MakeError(Code::kNotFound, "datastore.not_found", StrCat("there is no datastore '", input.name, "' in workspace '", input.workspace, "'"), "name");
  workspace.default_datastore = input.name;
  Stage(PutWorkspace(workspace));
  return Json::MakeObject({{"name", input.name}});
}

Result<Json> Core::On(const AddFiles& input, Time now) {
  std::vector<model::FileRecord> fresh;
  for (const model::FileRecord& file : input.files) {
    TRY(auto there, Document("file", FileKey(file.workspace, file.datastore, file.path)));
    if (there && there->GetString("digest") == file.digest.Hex()) continue;
    if (there && !input.overwrite)
      return MakeError(Code::kConflict, "file.exists",
                       StrCat("there is a file '", file.path.substr(0, 300), "' with other content in datastore '", file.datastore,
                              "' already; it is replaced only with overwrite"),
                       "path");
    fresh.push_back(file);
    fresh.back().time = now;
  }
  for (const model::FileRecord& file : fresh) Stage(PutFile(file));
  return Json::MakeObject({{"added", fresh.size()}, {"files", input.files.size()}});
}

}  // namespace ferry::engine
