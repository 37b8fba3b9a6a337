// The files of datastores: lists, bytes in and out.
#include "base/text.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

Result<model::Datastore> DatastoreOf(const Parts& parts, const Call& call, std::string_view workspace = {}) {
  TRY(std::string name, WorkspaceOf(call, workspace.empty() ? std::string_view(call.head.Query("workspace")) : workspace));
  return FindDatastore(parts, name, call.params.at("name"), "name");
}

Json FileView(const data::FileInfo& file) {
  Json json = Json::MakeObject({{"path", file.path}, {"size", file.size}, {"modified", file.modified ? Json(FormatTime(file.modified)) : Json()}});
  if (file.digest) json.Set("digest", file.digest->Hex());
  return json;
}

Result<bool> Overwrite(const Call& call) {
  std::string text = call.head.Query("overwrite", "false");
  if (text != "true" && text != "false")
    return MakeError(Code::kInvalid, "parameter.invalid", StrCat("overwrite is '", text.substr(0, 40), "'; expected true or false"), "overwrite");
  return text == "true";
}

class FileUpload : public http::BodySink {
 public:
  FileUpload(const Parts& parts, const Call& call) : parts_(parts) {
    auto begin = [&]() -> Result<std::shared_ptr<data::Writer>> {
      TRY(overwrite_, Overwrite(call));
      TRY(model::Datastore datastore, DatastoreOf(parts, call));
      TRY_VOID(data::CheckFilePath(call.params.at("path"), "path"));
      TRY(auto files, FilesOf(parts, datastore));
      TRY(auto writer, files->Create(call.params.at("path")));
      return Holding(std::move(writer), files);
    };
    writer_ = begin();
  }
  Result<void> Write(std::string_view bytes) override {
    if (!writer_.ok()) return writer_.error();
    return (*writer_)->Write(bytes);
  }
  void Finish(http::Responder responder) override {
    if (!writer_.ok()) return Answer(responder, writer_.error());
    auto work = [writer = *writer_, overwrite = overwrite_]() -> Result<Json> {
      TRY(data::FileInfo file, writer->Finish(overwrite));
      return FileView(file);
    };
    AnswerLater(parts_, responder, work, 201);
  }

 private:
  const Parts& parts_;
  bool overwrite_ = false;
  Result<std::shared_ptr<data::Writer>> writer_ = std::shared_ptr<data::Writer>();
};

}  // namespace

void ListFiles(const Parts& parts, Call call, http::Responder responder) {
  auto work = [&parts, call]() -> Result<Json> {
    TRY(model::Datastore datastore, DatastoreOf(parts, call));
    TRY(int64_t limit, IntParameter(call, "limit", 1000, 1, 10000));
    TRY(auto files, FilesOf(parts, datastore));
    TRY(auto page, files->List(call.head.Query("prefix"), call.head.Query("cursor"), static_cast<size_t>(limit)));
    Json list = Json::MakeArray();
    for (const data::FileInfo& file : page) list.Push(FileView(file));
    bool more = page.size() == static_cast<size_t>(limit);
    return Json::MakeObject({{"files", std::move(list)}, {"next", more ? Json(page.back().path) : Json()}});
  };
  AnswerLater(parts, responder, work);
}

void SendFile(const Parts& parts, const Call& call, const http::Responder& responder, const Result<std::shared_ptr<data::FileStore>>& files,
              const std::string& path) {
  auto open = [&]() -> Result<std::pair<std::shared_ptr<blob::Reader>, std::string>> {
    if (!files.ok()) return files.error();
    TRY_VOID(data::CheckFilePath(path, "path"));
    TRY(data::FileInfo file, (*files)->Stat(path));
    TRY(auto reader, (*files)->Open(path));
    std::string etag = file.digest ? file.digest->Hex() : StrCat(file.size, "-", file.modified.micros);
    return std::pair(Holding(std::move(reader), *files), etag);
  };
  auto opened = open();
  if (!opened.ok()) return Answer(responder, opened.error());
  SendBytes(call, responder, opened->first, opened->second, path, &parts.workers);
}

void ReadFile(const Parts& parts, Call call, http::Responder responder) {
  auto work = [&parts, call, responder] {
    auto datastore = DatastoreOf(parts, call);
    auto files = datastore.ok() ? FilesOf(parts, *datastore) : Result<std::shared_ptr<data::FileStore>>(datastore.error());
    SendFile(parts, call, responder, files, call.params.at("path"));
  };
  if (!parts.workers.Post(work)) Answer(responder, MakeError(Code::kUnavailable, "server.busy", "too many requests for datastores wait already; try again"));
}

std::unique_ptr<http::BodySink> WriteFile(const Parts& parts, const Call& call) { return std::make_unique<FileUpload>(parts, call); }

Result<engine::AddFiles> FilesFromRequest(const Parts& parts, const model::Datastore& datastore, const Json* list) {
  if (datastore.kind != model::DatastoreKind::kOwn)
    return MakeError(Code::kInvalid, "datastore.kind",
                     StrCat("datastore '", datastore.name, "' is of kind ", model::DatastoreKindName(datastore.kind),
                            "; files are added by content to one of kind own alone: send the file itself"),
                     "name");
  if (!list || !list->is_array()) return MakeError(Code::kInvalid, "field.type", "files must be a list of objects with path, digest and size", "files");
  if (list->as_array().size() > 100'000) return MakeError(Code::kTooLarge, "field.too_many", "at most 100,000 files in one request", "files");
  engine::AddFiles input;
  std::vector<Digest> digests;
  for (size_t i = 0; i < list->as_array().size(); ++i) {
    auto file = model::FileFromJson(list->as_array()[i]);
    if (!file.ok()) return MakeError(Code::kInvalid, file.error().slug, file.error().message, StrCat("files[", i, "].", file.error().field));
    TRY_VOID(data::CheckFilePath(file->path, StrCat("files[", i, "].path")));
    file->workspace = datastore.workspace;
    file->datastore = datastore.name;
    digests.push_back(file->digest);
    input.files.push_back(std::move(*file));
  }
  TRY(auto has, parts.blobs.Has(digests));
  for (size_t i = 0; i < digests.size(); ++i) {
    if (!has[i])
      return MakeError(Code::kConflict, "file.no_blob", StrCat("the content of '", input.files[i].path, "' was not uploaded"), StrCat("files[", i, "].digest"));
    // What the list says of its size must be so.
    TRY(auto reader, parts.blobs.Open(digests[i]));
    if (reader->size() != input.files[i].size)
      return MakeError(Code::kInvalid, "file.size",
                       StrCat("size of '", input.files[i].path, "' is ", input.files[i].size, "; its content has ", reader->size()),
                       StrCat("files[", i, "].size"));
  }
  return input;
}

void AddFiles(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::AddFiles> {
    TRY(Json body, BodyObject(call));
    TRY(model::Datastore datastore, DatastoreOf(parts, call, body.GetString("workspace")));
    TRY(engine::AddFiles input, FilesFromRequest(parts, datastore, body.Find("files")));
    input.overwrite = body.GetBool("overwrite");
    return input;
  };
  auto input = build();
  if (!input.ok()) return Answer(responder, input.error());
  parts.engine.Do(std::move(*input), [responder](Result<Json> result) { Answer(responder, result, 201); });
}

}  // namespace ferry::rest
