// What a node asks for to stage the data of an attempt that it holds, and what it brings back. Datastores are opened here and nowhere else: a node never
// learns how.
#include <algorithm>

#include "base/text.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

constexpr size_t kMostScanned = 100'000;

// The run of an attempt that the caller's node holds.
Result<model::Run> HeldRun(const Parts& parts, const Call& call, const model::AttemptKey& key) {
  auto lease = parts.engine.LeaseFor(key);
  if (!lease || lease->node != call.identity.node)
    return MakeError(Code::kConflict, "agent.not_held", StrCat("node '", call.identity.node, "' does not hold attempt '", key.Name().substr(0, 300), "'"),
                     "run");
  return LoadRun(parts, key.run);
}

Result<model::AttemptKey> KeyOfQuery(const Call& call) {
  TRY(int64_t attempt, IntParameter(call, "attempt", 1, 1, 1'000'000));
  return model::AttemptKey{call.head.Query("run"), static_cast<int>(attempt)};
}

// One path of an input, with its datastore's files.
struct InputPath {
  model::DataPath path;
  model::Datastore datastore;
  std::shared_ptr<data::FileStore> files;
  std::string what;  // for messages
};

Result<InputPath> FindInput(const Parts& parts, const model::Run& run, const std::string& name, int64_t index) {
  auto input = run.spec.data.find(name);
  if (input == run.spec.data.end() || index < 0 || index >= static_cast<int64_t>(input->second.paths.size()))
    return MakeError(Code::kNotFound, "data.not_found", StrCat("run '", run.id, "' has no path ", index, " of an input '", name.substr(0, 255), "'"), "input");
  InputPath found;
  found.path = input->second.paths[static_cast<size_t>(index)];
  if (!found.path.url.empty()) return MakeError(Code::kInvalid, "data.url", "a url is fetched by the node itself", "index");
  found.what = StrCat("path '", found.path.path, "' of datastore '", found.path.datastore, "'");
  TRY(found.datastore, FindDatastore(parts, run.workspace, found.path.datastore, "datastore"));
  TRY(found.files, FilesOf(parts, found.datastore));
  return found;
}

// Whether a file of the store belongs to what the input names.
bool Belongs(const std::string& wanted, const std::string& path) {
  if (model::IsGlob(wanted)) return model::MatchesGlob(wanted, path);
  return wanted.empty() || path == wanted || (path.size() > wanted.size() && path.starts_with(wanted) && path[wanted.size()] == '/');
}

// What a path without a glob names. kNotFound "data.not_found".
Result<const char*> KindOf(const InputPath& input) {
  const std::string& path = input.path.path;
  if (model::IsGlob(path)) return "glob";
  if (path.empty()) return "folder";
  auto file = input.files->Stat(path);
  if (file.ok()) return "file";
  if (file.error().code != Code::kNotFound) return file.error();
  if (data::LocalFiles* local = input.files->local())
    if (auto place = local->PlaceOf(path); place.ok() && place->folder) return "folder";
  TRY(auto below, input.files->List(path + "/", "", 1));
  if (!below.empty()) return "folder";
  return MakeError(Code::kNotFound, "data.not_found", StrCat("there is no ", input.what), "path");
}

Result<Json> ListInput(const Parts& parts, const Call& call) {
  TRY(Json body, BodyObject(call));
  TRY(model::Run run, HeldRun(parts, call, {body.GetString("run"), static_cast<int>(body.GetInt("attempt", 1))}));
  TRY(InputPath input, FindInput(parts, run, body.GetString("input"), body.GetInt("index")));
  const std::string& path = input.path.path;
  int64_t limit = std::clamp<int64_t>(body.GetInt("limit", 1000), 0, 10'000);
  TRY(std::string kind, KindOf(input));
  Json answer = Json::MakeObject({{"kind", kind}, {"next", Json()}});
  if (data::LocalFiles* local = input.files->local())
    if (auto place = local->PlaceOf(model::FolderOfGlob(path)); place.ok())
      answer.Set("local", Json::MakeObject({{"path", place->path},
                                            {"machine", place->machine},
                                            {"device", static_cast<int64_t>(place->device)},
                                            {"inode", static_cast<int64_t>(place->inode)}}));
  Json files = Json::MakeArray();
  auto add = [&](const data::FileInfo& file) {
    Json item = Json::MakeObject({{"path", file.path}, {"size", file.size}});
    if (file.digest) item.Set("digest", file.digest->Hex());
    files.Push(std::move(item));
  };
  if (kind == "file") {
    TRY(data::FileInfo file, input.files->Stat(path));
    add(file);
  } else if (limit > 0) {
    // All that every match begins with.
    std::string prefix = kind == "glob" ? path.substr(0, path.find_first_of("*?")) : path.empty() ? "" : path + "/";
    std::string after = body.GetString("cursor");
    size_t scanned = 0;
    for (;;) {
      size_t wanted = static_cast<size_t>(limit) - files.as_array().size();
      TRY(auto page, input.files->List(prefix, after, wanted));
      for (const data::FileInfo& file : page)
        if (Belongs(path, file.path)) add(file);
      if (page.size() < wanted) break;
      after = page.back().path;
      scanned += page.size();
      if (files.as_array().size() >= static_cast<size_t>(limit) || scanned >= kMostScanned) {
        answer.Set("next", after);
        break;
      }
    }
  }
  answer.Set("files", std::move(files));
  return answer;
}

struct Output {
  model::DataOutput output;
  model::Datastore datastore;
  std::string folder;  // in the datastore
};

Result<Output> FindOutput(const Parts& parts, const model::Run& run, const std::string& name) {
  auto found = run.spec.outputs.find(name);
  if (found == run.spec.outputs.end())
    return MakeError(Code::kNotFound, "data.not_found", StrCat("run '", run.id, "' has no output '", name.substr(0, 255), "'"), "output");
  Output output{found->second, {}, model::FilledPath(found->second, name, run.id)};
  TRY(output.datastore, FindDatastore(parts, run.workspace, output.output.datastore, "datastore"));
  return output;
}

Result<Digest> HashOf(data::FileStore& files, const std::string& path) {
  TRY(auto reader, files.Open(path));
  Sha256 hash;
  for (uint64_t at = 0; at < reader->size();) {
    TRY(std::string piece, reader->Read(at, 1u << 20));
    if (piece.empty()) break;
    hash.Update(piece);
    at += piece.size();
  }
  return hash.Finish();
}

// One file of an output. One that is there already with the same content is success, so that an upload can be done again.
class OutputUpload : public http::BodySink {
 public:
  OutputUpload(const Parts& parts, const Call& call) : parts_(parts) {
    auto begin = [&]() -> Result<std::shared_ptr<data::Writer>> {
      TRY(model::AttemptKey key, KeyOfQuery(call));
      TRY(model::Run run, HeldRun(parts, call, key));
      TRY(Output output, FindOutput(parts, run, call.head.Query("output")));
      overwrite_ = output.output.overwrite;
      path_ = StrCat(output.folder, "/", call.head.Query("path"));
      TRY_VOID(data::CheckFilePath(path_, "path"));
      TRY(files_, FilesOf(parts, output.datastore));
      TRY(auto writer, files_->Create(path_));
      return Holding(std::move(writer), files_);
    };
    writer_ = begin();
  }
  Result<void> Write(std::string_view bytes) override {
    if (!writer_.ok()) return writer_.error();
    hash_.Update(bytes);
    return (*writer_)->Write(bytes);
  }
  void Finish(http::Responder responder) override {
    if (!writer_.ok()) return Answer(responder, writer_.error());
    auto work = [writer = *writer_, files = files_, path = path_, overwrite = overwrite_, digest = hash_.Finish()]() -> Result<Json> {
      auto written = writer->Finish(overwrite);
      if (!written.ok() && written.error().slug == "file.exists")
        if (auto there = HashOf(*files, path); there.ok() && *there == digest) return Json::MakeObject({{"path", path}, {"added", 0}});
      if (!written.ok()) return written.error();
      return Json::MakeObject({{"path", path}, {"added", 1}});
    };
    AnswerLater(parts_, responder, work);
  }

 private:
  const Parts& parts_;
  bool overwrite_ = false;
  std::string path_;
  std::shared_ptr<data::FileStore> files_;
  Sha256 hash_;
  Result<std::shared_ptr<data::Writer>> writer_ = std::shared_ptr<data::Writer>();
};

}  // namespace

void AgentInput(const Parts& parts, Call call, http::Responder responder) {
  AnswerLater(parts, responder, [&parts, call] { return ListInput(parts, call); });
}

void AgentReadFile(const Parts& parts, Call call, http::Responder responder) {
  auto work = [&parts, call, responder] {
    std::string path = call.head.Query("path");
    auto open = [&]() -> Result<std::shared_ptr<data::FileStore>> {
      TRY(model::AttemptKey key, KeyOfQuery(call));
      TRY(model::Run run, HeldRun(parts, call, key));
      TRY(int64_t index, IntParameter(call, "index", 0, 0, 1'000'000));
      TRY(InputPath input, FindInput(parts, run, call.head.Query("input"), index));
      if (!Belongs(input.path.path, path))
        return MakeError(Code::kForbidden, "data.other_path", StrCat("'", path.substr(0, 300), "' is not part of ", input.what), "path");
      return input.files;
    };
    SendFile(parts, call, responder, open(), path);
  };
  if (!parts.workers.Post(work)) Answer(responder, MakeError(Code::kUnavailable, "server.busy", "too many requests for datastores wait already; try again"));
}

std::unique_ptr<http::BodySink> AgentWriteFile(const Parts& parts, const Call& call) { return std::make_unique<OutputUpload>(parts, call); }

void AgentOutput(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<std::variant<Json, engine::AddFiles>> {
    TRY(Json body, BodyObject(call));
    TRY(model::Run run, HeldRun(parts, call, {body.GetString("run"), static_cast<int>(body.GetInt("attempt", 1))}));
    TRY(Output output, FindOutput(parts, run, body.GetString("output")));
    bool by_content = output.datastore.kind == model::DatastoreKind::kOwn;
    Json* files = body.Find("files");
    if (!files) return std::variant<Json, engine::AddFiles>(Json::MakeObject({{"by_content", by_content}, {"path", output.folder}}));
    if (files->is_array())
      for (Json& file : files->as_array())
        if (file.is_object()) file.Set("path", StrCat(output.folder, "/", file.GetString("path")));
    TRY(engine::AddFiles input, FilesFromRequest(parts, output.datastore, files));
    input.overwrite = output.output.overwrite;
    return std::variant<Json, engine::AddFiles>(std::move(input));
  };
  auto built = build();
  if (!built.ok()) return Answer(responder, built.error());
  if (auto* json = std::get_if<Json>(&*built)) return Answer(responder, *json);
  parts.engine.Do(std::move(std::get<engine::AddFiles>(*built)), [responder](Result<Json> result) { Answer(responder, result); });
}

}  // namespace ferry::rest
