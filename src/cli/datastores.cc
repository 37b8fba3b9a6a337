// Datastores: attaching them, and their files up and down.
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/download.h"
#include "cli/upload.h"
#include "model/datastore.h"
#include "os/file.h"

namespace ferry::cli {
namespace {

constexpr size_t kPiece = 1u << 20;
constexpr size_t kMostNamed = 10;

const Columns& DatastoreColumns() {
  static const Columns columns = {{"DATASTORE", "name", Style::kPlain, Align::kLeft, true},
                                  {"KIND", "kind"},
                                  {"TYPE", "type"},
                                  {"DEFAULT", "default"},
                                  {"PLACE", "place"},
                                  {"STANDS FOR", "stands_for"}};
  return columns;
}

// What of Azure's a datastore stands for: "account/container", or "".
std::string StandsFor(const Json& store) {
  const Json* azure = store.Find("azure");
  const std::string account = azure ? azure->GetString("account_name") : "", container = azure ? azure->GetString("container_name") : "";
  return account.empty() || container.empty() ? account : StrCat(account, "/", container);
}

// The datastores with what a table shows beside their own members.
Json TableRows(const Json& stores) {
  Json rows = stores.is_array() ? stores : Json(Json::Array{stores});
  for (Json& store : rows.as_array()) {
    std::string place = store.GetString("folder");
    if (std::string bucket = store.GetString("bucket"); !bucket.empty())
      place = StrCat(store.GetString("endpoint"), "/", bucket, store.GetString("prefix").empty() ? "" : "/", store.GetString("prefix"));
    store.Set("place", place).Set("stands_for", StandsFor(store));
  }
  return rows;
}

Result<int> ShowStores(Context& context, const Json& stores) {
  const Json rows = TableRows(stores);
  return context.Show(stores, &DatastoreColumns(), &rows);
}

Result<std::string> StorePath(const Context& context, std::string_view below = {}) {
  TRY(std::string workspace, context.Workspace());
  return StrCat(ApiPath({"datastores", context.arguments.Get("name")}), below, QueryText({{"workspace", workspace}}));
}

Result<int> Attach(Context& context, Json request) {
  const Arguments& given = context.arguments;
  TRY_VOID(model::CheckDatastoreName(given.Get("name"), "--name"));
  TRY(std::string workspace, context.Workspace());
  TRY(auto tags, KeyValues(given.All("tag"), "--tag", true));
  if (given.Has("container-name") && !given.Has("account-name"))
    return MakeError(Code::kInvalid, "args.missing", "--container-name needs --account-name: scripts name both", given.group);
  request.Set("workspace", workspace).SetIf("description", given.Get("description"));
  if (given.Has("account-name"))
    request.Set("azure", Json::MakeObject({{"account_name", given.Get("account-name")}, {"container_name", given.Get("container-name")}}));
  if (!tags.empty()) request.Set("tags", tags);
  if (given.Has("overwrite")) request.Set("overwrite", true);
  if (given.Has("skip-validation")) request.Set("skip_validation", true);
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("PUT", ApiPath({"datastores", given.Get("name")}), request));
  return ShowStores(context, answer);
}

// "a/b/", "/a" and "./a" as "a/b" and "a".
std::string Trimmed(std::string_view path) {
  std::vector<std::string> parts;
  for (std::string_view part : Split(path, '/'))
    if (!part.empty() && part != ".") parts.emplace_back(part);
  return Join(parts, "/");
}

// One file as a stream. kConflict "upload.changed" when it grows or shrinks meanwhile.
Result<void> SendFile(Session& session, const std::string& route, const transfer::File& file) {
  TRY(os::Fd fd, os::Open(file.path, os::OpenMode::kRead));
  uint64_t at = 0;
  http::Call call;
  call.method = "PUT";
  call.path = route;
  call.body_source = [&]() -> Result<std::string> {
    TRY(std::string piece, os::ReadAt(fd, at, kPiece, file.path));
    at += piece.size();
    if (at > file.size || (piece.empty() && at != file.size)) return transfer::ChangedError(file);
    return piece;
  };
  TRY([[maybe_unused]] http::Reply reply, session.Do(std::move(call)));
  return {};
}

}  // namespace

Result<int> AttachFolderStore(Context& context) {
  const std::string folder = context.arguments.Get("folder");
  if (!folder.starts_with('/'))
    return MakeError(Code::kInvalid, "args.value", StrCat("--folder is '", folder, "'; expected an absolute path of the server's machine"),
                     context.arguments.group);
  return Attach(context, Json::MakeObject({{"kind", "folder"}, {"folder", folder}}));
}

Result<int> AttachS3(Context& context) {
  const Arguments& given = context.arguments;
  Json request = Json::MakeObject({{"kind", "s3"}, {"bucket", given.Get("bucket")}});
  request.SetIf("endpoint", given.Get("endpoint")).SetIf("prefix", Trimmed(given.Get("prefix"))).SetIf("region", given.Get("region"));
  request.SetIf("access_key", given.Get("access-key"));
  if (given.Has("access-key") != given.Has("secret-key-file"))
    return MakeError(Code::kInvalid, "args.missing", "--access-key and --secret-key-file belong together", given.group);
  if (given.Has("secret-key-file")) {
    TRY(std::string secret, ReadSecret(context, given.Get("secret-key-file")));
    request.Set("secret_key", std::move(secret));
  }
  return Attach(context, std::move(request));
}

Result<int> AttachAzure(Context& context) {
  const Arguments& given = context.arguments;
  const std::string name = given.Get("name");
  TRY_VOID(model::CheckDatastoreName(name, "--name"));
  std::string account = given.Get("account-name"), container = given.Get("container-name");
  if (given.Has("share-name")) container = given.Get("share-name");
  if (given.Has("file-system")) container = given.Get("file-system");
  // A data lake of the first kind has no containers.
  if (given.Has("store-name")) account = given.Get("store-name");
  const std::string wanted = container.empty() ? account : StrCat(account, "/", container);
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json stores, session->GetAll("/api/v1/datastores", {{"workspace", workspace}}, "datastores"));
  const Json* found = nullptr;
  std::string known;
  size_t count = 0;
  for (const Json& store : stores.as_array()) {
    const std::string stands_for = StandsFor(store);
    if (stands_for == wanted && (!found || store.GetString("name") == name)) found = &store;
    if (!stands_for.empty() && ++count <= kMostNamed) known += StrCat(known.empty() ? "" : ", ", "'", stands_for, "' as '", store.GetString("name"), "'");
  }
  if (!found)
    return MakeError(Code::kNotFound, "datastore.azure",
                     StrCat("no datastore of workspace '", workspace, "' stands for '", wanted,
                            "', and Azure's storage is not reached from here; attached are: ", known.empty() ? "none" : known,
                            count > kMostNamed ? ", ..." : "", "; attach one in its place: ferry datastore attach-folder -n ", name, " --folder /PATH -a ",
                            account, container.empty() ? "" : " -c ", container, " (or attach-s3)"),
                     "--account-name");
  if (found->GetString("name") != name)
    context.Note(StrCat("'", wanted, "' is attached as datastore '", found->GetString("name"), "', not as '", name, "': scripts find it under that name"));
  return ShowStores(context, *found);
}

Result<int> DetachDatastore(Context& context) {
  TRY(std::string path, StorePath(context));
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("DELETE", path));
  return context.Tell(answer, StrCat("detached ", context.arguments.Get("name"), "\n"));
}

Result<int> ListDatastores(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json stores, session->GetAll("/api/v1/datastores", {{"workspace", workspace}}, "datastores"));
  return ShowStores(context, stores);
}

Result<int> ShowDatastore(Context& context) {
  TRY(std::string path, StorePath(context));
  TRY(Session * session, context.Server());
  TRY(Json store, session->Get(path));
  return ShowStores(context, store);
}

Result<int> SetDefaultDatastore(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY([[maybe_unused]] Json answer,
      session->Send("POST", ApiPath({"datastores", context.arguments.Get("name"), "default"}), Json::MakeObject({{"workspace", workspace}})));
  return ShowDatastore(context);
}

Result<int> ShowDefaultDatastore(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json stores, session->GetAll("/api/v1/datastores", {{"workspace", workspace}}, "datastores"));
  for (const Json& store : stores.as_array())
    if (store.GetBool("default")) return ShowStores(context, store);
  return MakeError(Code::kNotFound, "datastore.no_default",
                   StrCat("workspace '", workspace, "' has no default datastore; name one with: ferry datastore set-default -n NAME"));
}

Result<int> UploadFiles(Context& context) {
  const Arguments& given = context.arguments;
  const std::string name = given.Get("name"), target = Trimmed(given.Get("target-path"));
  TRY(std::string workspace, context.Workspace());
  TRY(auto files, FilesBelow(given.Get("src-path"), "--src-path"));
  TRY(Session * session, context.Server());
  TRY(std::string path, StorePath(context));
  TRY(Json store, session->Get(path));
  StatusLine line(context.streams.err_terminal, context.streams.err);
  const bool shown = context.streams.err_terminal.rewrites && !context.quiet() && !given.Has("hide-progress");
  const Json list = FileList(files, target);
  if (store.GetString("kind") == "own") {
    TRY_VOID(UploadContent(*session, files, [&](const transfer::UploadProgress& progress) {
      if (shown) line.Update("Uploading", StrCat(progress.files, " of ", progress.all_files, " files, ", FormatBytes(progress.bytes)));
    }));
    line.Clear();
    Json request = Json::MakeObject({{"workspace", workspace}, {"files", list}, {"overwrite", given.Has("overwrite")}});
    TRY([[maybe_unused]] Json answer, session->Send("POST", ApiPath({"datastores", name, "files"}), request));
  } else {
    for (size_t i = 0; i < files.size(); ++i) {
      if (shown) line.Update("Uploading", StrCat(i, " of ", files.size(), " files"));
      TRY_VOID(SendFile(*session,
                        StrCat(ApiPath({"datastores", name, "files"}), "/", EncodePath(list.as_array()[i].GetString("path")),
                               QueryText({{"workspace", workspace}, {"overwrite", given.Has("overwrite") ? "true" : ""}})),
                        files[i]));
    }
    line.Clear();
  }
  uint64_t bytes = 0;
  for (const transfer::File& file : files) bytes += file.size;
  return context.Tell(
      list, StrCat(files.size(), files.size() == 1 ? " file in " : " files in ", name, target.empty() ? "" : ":", target, " (", FormatBytes(bytes), ")\n"));
}

Result<int> DownloadDatastore(Context& context) {
  const Arguments& given = context.arguments;
  const std::string folder = given.Get("target-path");
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  Download what;
  what.list = what.files = ApiPath({"datastores", given.Get("name"), "files"});
  what.key = "files";
  what.parameters = {{"workspace", workspace}, {"prefix", given.Get("prefix")}};
  what.overwrite = given.Has("overwrite");
  what.progress = !given.Has("hide-progress");
  TRY(Json files, DownloadAll(context, *session, what, folder));
  return context.Tell(files, DownloadedText(files, folder));
}

Result<int> ListDatastoreFiles(Context& context) {
  static const Columns columns = {
      {"PATH", "path", Style::kPlain, Align::kLeft, true}, {"SIZE", "size", Style::kBytes, Align::kRight}, {"MODIFIED", "modified", Style::kAgo}};
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json files, session->GetAll(ApiPath({"datastores", context.arguments.Get("name"), "files"}),
                                  {{"workspace", workspace}, {"prefix", context.arguments.Get("prefix")}}, "files"));
  if (context.ForPeople() && files.as_array().empty()) context.Note("no files");
  return context.Show(files, &columns);
}

}  // namespace ferry::cli
