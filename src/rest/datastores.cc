// The registry of datastores.
#include <algorithm>

#include "base/text.h"
#include "engine/tables.h"
#include "http/client.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

// The workspace of the path's datastore, which exists.
Result<model::Workspace> Workspace(const Parts& parts, const Call& call, std::string_view given) {
  TRY(std::string name, WorkspaceOf(call, given.empty() ? std::string_view(call.head.Query("workspace")) : given));
  TRY(auto document, parts.store.Get("workspace", name));
  if (!document) return MakeError(Code::kNotFound, "workspace.not_found", StrCat("there is no workspace '", name, "'"), "workspace");
  TRY(Json json, ParseJson(document->body, "a workspace in the store"));
  return model::WorkspaceFromJson(json);
}

model::Datastore OwnDatastore(const std::string& workspace, const std::string& name, model::DatastoreKind kind) {
  model::Datastore datastore;
  datastore.workspace = workspace;
  datastore.name = name;
  datastore.kind = kind;
  if (name == "workspacefilestore" || name == "workspaceworkingdirectory") datastore.type = "AzureFile";
  return datastore;
}

Json ViewOf(const model::Datastore& datastore, const model::Workspace& workspace) {
  std::string chosen = workspace.default_datastore.empty() ? model::kDefaultDatastore : workspace.default_datastore;
  return model::DatastoreView(datastore, datastore.name == chosen);
}

Result<std::string> Text(const Json& body, std::string_view key, size_t most) {
  const Json* value = body.Find(key);
  if (!value || value->is_null()) return std::string();
  if (!value->is_string()) return MakeError(Code::kInvalid, "field.type", StrCat(key, " must be a text, not ", value->TypeName()), std::string(key));
  if (value->as_string().size() > most) return MakeError(Code::kTooLarge, "field.too_long", StrCat(key, " is longer than ", most, " bytes"), std::string(key));
  if (value->as_string().find('\0') != std::string::npos) return MakeError(Code::kInvalid, "field.zero", StrCat(key, " has a zero byte"), std::string(key));
  return value->as_string();
}

Result<void> TakeFolder(const Call& call, const Json& body, model::Datastore& datastore) {
  if (call.identity.kind != Identity::Kind::kUser || call.identity.role != model::Role::kOwner)
    return MakeError(Code::kForbidden, "auth.forbidden", "a folder of the server's machine is made a datastore by an owner alone", "kind");
  TRY(datastore.folder, Text(body, "folder", 4096));
  while (datastore.folder.size() > 1 && datastore.folder.ends_with('/')) datastore.folder.pop_back();
  if (!datastore.folder.starts_with('/'))
    return MakeError(Code::kInvalid, "datastore.folder",
                     StrCat("folder is '", datastore.folder.substr(0, 200), "'; expected an absolute path of a folder on the server's machine"), "folder");
  return {};
}

Result<void> TakeBucket(const Json& body, model::Datastore& datastore) {
  TRY(datastore.endpoint, Text(body, "endpoint", 1024));
  while (datastore.endpoint.ends_with('/')) datastore.endpoint.pop_back();
  auto url = http::ParseUrl(datastore.endpoint);
  if (!url.ok() || (url->scheme != "http" && url->scheme != "https") || (!url->path.empty() && url->path != "/") ||
      datastore.endpoint.find('@') != std::string::npos)
    return MakeError(Code::kInvalid, "datastore.endpoint",
                     StrCat("endpoint is '", datastore.endpoint.substr(0, 200), "'; expected the address of an S3 service, such as https://host:port"),
                     "endpoint");
  TRY(datastore.bucket, Text(body, "bucket", 255));
  auto fits = [](unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-'; };
  const std::string& bucket = datastore.bucket;
  if (bucket.size() < 3 || bucket.size() > 63 || !std::all_of(bucket.begin(), bucket.end(), fits) || bucket[0] == '.' || bucket.find("..") != std::string::npos)
    return MakeError(Code::kInvalid, "datastore.bucket",
                     StrCat("bucket is '", bucket.substr(0, 80), "'; expected 3 to 63 lower-case letters, digits, '-' and '.'"), "bucket");
  TRY(datastore.prefix, Text(body, "prefix", 512));
  while (datastore.prefix.starts_with('/')) datastore.prefix.erase(0, 1);
  while (datastore.prefix.ends_with('/')) datastore.prefix.pop_back();
  if (!datastore.prefix.empty()) TRY_VOID(data::CheckFilePath(datastore.prefix, "prefix"));
  TRY(datastore.region, Text(body, "region", 64));
  if (datastore.region.empty()) datastore.region = "us-east-1";
  TRY(datastore.access_key, Text(body, "access_key", 256));
  TRY(datastore.secret_key, Text(body, "secret_key", 1024));
  if (datastore.access_key.empty() != datastore.secret_key.empty())
    return MakeError(Code::kInvalid, "datastore.keys", "access_key and secret_key are given together, or neither for a bucket that is open to everybody",
                     datastore.access_key.empty() ? "access_key" : "secret_key");
  return {};
}

Result<model::Datastore> DatastoreFromRequest(const Call& call, const std::string& workspace, const Json& body) {
  static const std::vector<std::string> known = {"workspace",  "kind", "folder", "endpoint",    "bucket", "prefix",    "region",         "access_key",
                                                 "secret_key", "type", "azure",  "description", "tags",   "overwrite", "skip_validation"};
  for (const auto& [key, value] : body.as_object())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      auto close = ClosestWord(key, known);
      return MakeError(Code::kInvalid, "field.unknown",
                       StrCat("'", key.substr(0, 80), "' is not a field of a datastore", close ? StrCat("; did you mean '", *close, "'?") : std::string()),
                       key.substr(0, 80));
    }
  for (const char* flag : {"overwrite", "skip_validation"})
    if (const Json* v = body.Find(flag); v && !v->is_bool() && !v->is_null())
      return MakeError(Code::kInvalid, "field.type", StrCat(flag, " must be true or false, not ", v->TypeName()), flag);
  model::Datastore datastore;
  datastore.workspace = workspace;
  datastore.name = call.params.at("name");
  TRY_VOID(model::CheckDatastoreName(datastore.name, "name"));
  datastore.user = call.identity.user;
  auto kind = model::DatastoreKindFromName(body.GetString("kind"));
  if (!kind || *kind == model::DatastoreKind::kArtifacts)
    return MakeError(Code::kInvalid, "datastore.kind", StrCat("kind is '", body.GetString("kind").substr(0, 80), "'; expected own, folder or s3"), "kind");
  datastore.kind = *kind;
  TRY(std::string type, Text(body, "type", 64));
  if (!type.empty()) datastore.type = type;
  TRY(datastore.description, Text(body, "description", 65536));
  TRY(datastore.tags, StringMap(body, "tags", 500, 64u << 10));
  TRY(datastore.azure, StringMap(body, "azure", 100, 4096));
  if (datastore.kind == model::DatastoreKind::kFolder) TRY_VOID(TakeFolder(call, body, datastore));
  if (datastore.kind == model::DatastoreKind::kS3) TRY_VOID(TakeBucket(body, datastore));
  return datastore;
}

}  // namespace

Result<model::Datastore> FindDatastore(const Parts& parts, const std::string& workspace, const std::string& name, std::string_view field) {
  if (auto own = model::OwnDatastores().find(name); own != model::OwnDatastores().end()) return OwnDatastore(workspace, name, own->second);
  TRY(auto document, parts.store.Get("datastore", engine::DatastoreKey(workspace, name)));
  if (document) {
    TRY(Json json, ParseJson(document->body, "a datastore in the store"));
    return model::DatastoreFromJson(json);
  }
  std::string names = model::kDefaultDatastore;
  TRY(store::Page page, parts.store.Find({"datastore", {{{"", "workspace"}, store::Op::kEq, {workspace}}}, {{"", "key"}, false}, {}, 10}));
  for (const store::Document& other : page.documents) names += StrCat(", ", other.key.substr(workspace.size() + 1));
  return MakeError(
      Code::kNotFound, "datastore.not_found",
      StrCat("there is no datastore '", name.substr(0, 255), "' in workspace '", workspace, "'; there are ", names, page.next.empty() ? "" : ", ..."),
      std::string(field));
}

Result<std::shared_ptr<data::FileStore>> FilesOf(const Parts& parts, model::Datastore datastore) {
  if (!datastore.secret_key.empty()) {
    TRY(datastore.secret_key, parts.access.Opened(datastore.secret_key));
  }
  return parts.open_files(datastore);
}

void AnswerLater(const Parts& parts, const http::Responder& responder, std::function<Result<Json>()> work, int status) {
  if (!parts.workers.Post([responder, work = std::move(work), status] { Answer(responder, work(), status); }))
    Answer(responder, MakeError(Code::kUnavailable, "server.busy", "too many requests for datastores wait already; try again"));
}

void ListDatastores(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(model::Workspace workspace, Workspace(parts, call, {}));
    TRY(int64_t limit, IntParameter(call, "limit", 1000, 1, 10000));
    std::string cursor = call.head.Query("cursor");
    Json datastores = Json::MakeArray();
    // The four stand on the first page.
    if (cursor.empty())
      for (const auto& [name, kind] : model::OwnDatastores()) datastores.Push(ViewOf(OwnDatastore(workspace.name, name, kind), workspace));
    TRY(store::Page page,
        parts.store.Find({"datastore", {{{"", "workspace"}, store::Op::kEq, {workspace.name}}}, {{"", "key"}, false}, cursor, static_cast<size_t>(limit)}));
    for (const store::Document& document : page.documents) {
      TRY(Json json, ParseJson(document.body, "a datastore in the store"));
      TRY(model::Datastore datastore, model::DatastoreFromJson(json));
      datastores.Push(ViewOf(datastore, workspace));
    }
    return Json::MakeObject({{"datastores", std::move(datastores)}, {"next", page.next.empty() ? Json() : Json(page.next)}});
  };
  Answer(responder, list());
}

void ShowDatastore(const Parts& parts, Call call, http::Responder responder) {
  auto show = [&]() -> Result<Json> {
    TRY(model::Workspace workspace, Workspace(parts, call, {}));
    TRY(model::Datastore datastore, FindDatastore(parts, workspace.name, call.params["name"], "name"));
    return ViewOf(datastore, workspace);
  };
  Answer(responder, show());
}

void RegisterDatastore(const Parts& parts, Call call, http::Responder responder) {
  struct Wanted {
    model::Workspace workspace;
    model::Datastore datastore;
    bool overwrite = false;
    bool look = true;
  };
  auto build = [&]() -> Result<Wanted> {
    TRY(Json body, BodyObject(call));
    Wanted wanted;
    TRY(wanted.workspace, Workspace(parts, call, body.GetString("workspace")));
    TRY(wanted.datastore, DatastoreFromRequest(call, wanted.workspace.name, body));
    wanted.overwrite = body.GetBool("overwrite");
    wanted.look = !body.GetBool("skip_validation") && wanted.datastore.kind != model::DatastoreKind::kOwn;
    return wanted;
  };
  auto wanted = build();
  if (!wanted.ok()) return Answer(responder, wanted.error());
  auto keep = [&parts, wanted = *wanted, responder]() {
    auto work = [&]() -> Result<std::pair<Json, bool>> {
      if (wanted.look) {
        TRY(auto files, parts.open_files(wanted.datastore));
        TRY(auto some, files->List("", "", 1));
      }
      engine::RegisterDatastore input{wanted.datastore, wanted.overwrite};
      input.datastore.secret_key = wanted.datastore.secret_key.empty() ? "" : parts.access.Sealed(wanted.datastore.secret_key);
      std::string workspace = wanted.workspace.name, name = wanted.datastore.name;
      TRY(Json done, parts.engine.DoAndWait(std::move(input)));
      TRY(model::Datastore datastore, FindDatastore(parts, workspace, name, "name"));
      return std::pair(ViewOf(datastore, wanted.workspace), done.GetBool("created"));
    };
    auto kept = work();
    if (!kept.ok()) return Answer(responder, kept.error());
    Answer(responder, kept->first, kept->second ? 201 : 200);
  };
  if (!parts.workers.Post(keep)) Answer(responder, MakeError(Code::kUnavailable, "server.busy", "too many requests for datastores wait already; try again"));
}

void DeleteDatastore(const Parts& parts, Call call, http::Responder responder) {
  auto workspace = Workspace(parts, call, {});
  if (!workspace.ok()) return Answer(responder, workspace.error());
  parts.engine.Do(engine::DeleteDatastore{workspace->name, call.params["name"]}, [responder](Result<Json> result) { Answer(responder, result); });
}

void SetDefaultDatastore(const Parts& parts, Call call, http::Responder responder) {
  auto body = BodyObject(call);
  auto workspace = body.ok() ? Workspace(parts, call, body->GetString("workspace")) : Result<model::Workspace>(body.error());
  if (!workspace.ok()) return Answer(responder, workspace.error());
  parts.engine.Do(engine::SetDefaultDatastore{workspace->name, call.params["name"]}, [responder](Result<Json> result) { Answer(responder, result); });
}

}  // namespace ferry::rest
