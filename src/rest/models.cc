// The registry of models: registering from a run's files or from uploaded ones, lists, single versions, their files.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "engine/tables.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

using model::ModelFile;
using model::RegisteredModel;

constexpr size_t kLongestText = 255, kLongestDescription = 64u << 10;

struct Asked {
  std::string workspace;
  model::AssetReference reference;
};

Result<Asked> AskedFor(const Call& call) {
  TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
  TRY(auto reference, model::ParseAssetReference(call.params.at("name"), call.head.Query("version")));
  TRY_VOID(model::CheckName("name", reference.name));
  return Asked{std::move(workspace), std::move(reference)};
}

Result<RegisteredModel> Find(const Parts& parts, const Asked& asked) {
  int64_t version = asked.reference.version;
  if (!version) {
    TRY(auto name, Stored(parts, "model_name", engine::AssetNameKey(asked.workspace, asked.reference.name)));
    if (name) version = model::AssetNameFromJson(*name).latest;
  }
  TRY(auto json, Stored(parts, "model", engine::ModelKey(asked.workspace, asked.reference.name, version)));
  if (!json)
    return MakeError(
        Code::kNotFound, "model.not_found",
        StrCat("there is no model '", asked.reference.name, "'", asked.reference.version ? StrCat(" with version ", asked.reference.version) : std::string(),
               " in workspace '", asked.workspace, "'"),
        "name");
  return model::ModelFromJson(*json);
}

Result<std::string> ManifestOf(const Parts& parts, const RegisteredModel& found) {
  auto digest = Digest::FromHex(found.manifest);
  if (!digest) return MakeError(Code::kInternal, "model.manifest", StrCat("model '", found.name, ":", found.version, "' has no list of files"));
  TRY(auto reader, parts.blobs.Open(*digest));
  if (reader->size() > model::kMaxModelManifest) return MakeError(Code::kInternal, "model.manifest", "the list of a model's files is too large");
  return reader->Read(0, reader->size());
}

Error TooManyFiles() {
  return MakeError(Code::kTooLarge, "model.too_many_files", StrCat("a model has at most ", model::kMaxModelFiles, " files; put them into one archive"),
                   "files");
}

// Files that were uploaded before, as the request lists them.
Result<std::vector<ModelFile>> FilesOf(const Parts& parts, const Json& list) {
  if (!list.is_array() || list.as_array().empty())
    return MakeError(Code::kInvalid, "model.files", "files must be a list of {\"path\", \"digest\", \"size\"} with at least one in it", "files");
  if (list.as_array().size() > model::kMaxModelFiles) return TooManyFiles();
  std::vector<ModelFile> files;
  std::set<std::string> paths;
  for (size_t i = 0; i < list.as_array().size(); ++i) {
    const Json& item = list.as_array()[i];
    std::string at = StrCat("files[", i, "]");
    auto fail = [&](const char* member, std::string_view why) {
      return MakeError(Code::kInvalid, "model.files", StrCat(at, ".", member, " ", why), StrCat(at, ".", member));
    };
    std::string path = item.GetString("path");
    while (path.starts_with("./")) path.erase(0, 2);
    if (!logs::IsSafePath(path))
      return fail("path", StrCat("is '", path.substr(0, 200), "'; expected a path inside the model, without '..' or a slash at its beginning"));
    if (!paths.insert(path).second) return fail("path", StrCat("is '", path.substr(0, 200), "', which another file has already"));
    auto digest = Digest::FromHex(item.GetString("digest"));
    if (!digest) return fail("digest", "must be 64 lower-case hex digits");
    const Json* size = item.Find("size");
    if (!size || !size->is_int() || size->as_int() < 0) return fail("size", "must be the file's size in bytes");
    auto reader = parts.blobs.Open(*digest);
    if (!reader.ok() && reader.error().code != Code::kNotFound) return reader.error();
    if (!reader.ok())
      return MakeError(Code::kNotFound, "blob.not_found", StrCat(at, ": the content ", digest->Hex(), " of '", path.substr(0, 200), "' was not uploaded"),
                       StrCat(at, ".digest"));
    if ((*reader)->size() != static_cast<uint64_t>(size->as_int()))
      return fail("size", StrCat("is ", size->as_int(), "; the content that was uploaded has ", (*reader)->size(), " bytes"));
    files.push_back({std::move(path), *digest, (*reader)->size()});
  }
  // A path cannot be a file and a folder.
  for (const std::string& path : paths)
    for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      if (paths.count(path.substr(0, slash)))
        return MakeError(Code::kInvalid, "model.files", StrCat("files has '", path.substr(0, slash), "' as a file and as a folder"), "files");
  return files;
}

Error NoSuchPath(const Parts& parts, const model::Run& run, const std::string& path) {
  std::string there;
  size_t shown = 0;
  if (auto page = parts.store.Find({"artifact", {{{"", "run"}, store::Op::kEq, {run.id}}}, {{"", "key"}, false}, {}, 11}); page.ok())
    for (const store::Document& document : page->documents) {
      if (shown++ == 10) {
        there += ", ...";
        break;
      }
      there += StrCat(there.empty() ? "" : ", ", document.key.substr(run.id.size() + 1));
    }
  return MakeError(Code::kNotFound, "model.path",
                   StrCat("run '", run.id, "' has no file or folder '", path.substr(0, 300), "'",
                          there.empty() ? std::string("; it has no files yet") : StrCat("; it has: ", there)),
                   "path");
}

// A file or a folder of a run, under its own last name.
Result<std::vector<ModelFile>> FilesOfRun(const Parts& parts, const model::Run& run, std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  while (path.ends_with('/')) path.pop_back();
  if (!logs::IsSafePath(path))
    return MakeError(Code::kInvalid, "model.path",
                     StrCat("path is '", path.substr(0, 200), "'; expected a file or folder of the run, such as outputs/model.pkl, without '..'"), "path");
  size_t folder = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  std::vector<ModelFile> files;
  auto add = [&](const Json& json) -> Result<void> {
    TRY(engine::Artifact artifact, engine::ArtifactFromJson(json));
    files.push_back({artifact.path.substr(folder), artifact.digest, artifact.size});
    return {};
  };
  TRY(auto file, Stored(parts, "artifact", StrCat(run.id, "/", path)));
  if (file) TRY_VOID(add(*file));
  store::Query query{"artifact", {{{"", "key"}, store::Op::kPrefix, {StrCat(run.id, "/", path, "/")}}}, {{"", "key"}, false}, {}, 1000};
  do {
    if (file) break;
    TRY(store::Page page, parts.store.Find(query));
    for (const store::Document& document : page.documents) {
      TRY(Json json, ParseJson(document.body, "an artifact in the store"));
      TRY_VOID(add(json));
    }
    query.cursor = page.next;
    if (files.size() > model::kMaxModelFiles) return TooManyFiles();
  } while (!query.cursor.empty());
  if (files.empty()) return NoSuchPath(parts, run, path);
  return files;
}

Result<std::vector<std::pair<std::string, std::string>>> DatasetsOf(const Parts& parts, const std::string& workspace, const Json& body, std::string_view key) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const Json* list = body.Find(key);
  if (!list || list->is_null()) return pairs;
  auto fail = [&](std::string field) {
    return MakeError(Code::kInvalid, "model.datasets", StrCat(field, " must be a pair of texts: what the dataset was used for, and its id"), field);
  };
  if (!list->is_array()) return MakeError(Code::kInvalid, "field.type", StrCat(key, " must be a list, not ", list->TypeName()), std::string(key));
  if (list->as_array().size() > 1000) return MakeError(Code::kTooLarge, "field.too_many", StrCat(key, " has more than 1000 entries"), std::string(key));
  for (size_t i = 0; i < list->as_array().size(); ++i) {
    const Json& pair = list->as_array()[i];
    std::string field = StrCat(key, "[", i, "]");
    if (!pair.is_array() || pair.as_array().size() != 2) return fail(field);
    const Json &scenario = pair.as_array()[0], &id = pair.as_array()[1];
    if (!scenario.is_string() || !id.is_string() || scenario.as_string().empty() || scenario.as_string().size() > kLongestText) return fail(field);
    TRY_VOID(CheckDatasetThere(parts, workspace, id.as_string(), field));
    std::pair<std::string, std::string> one(scenario.as_string(), id.as_string());
    if (std::find(pairs.begin(), pairs.end(), one) == pairs.end()) pairs.push_back(std::move(one));
  }
  return pairs;
}

Result<std::optional<std::string>> SampleOf(const Parts& parts, const std::string& workspace, const Json& body, const char* key) {
  TRY(auto id, MaybeText(body, key, kLongestText));
  if (id && !id->empty()) TRY_VOID(CheckDatasetThere(parts, workspace, *id, key));
  return id;
}

Result<std::optional<model::ModelResources>> ResourcesOf(const Json& body) {
  const Json* given = body.Find("resources");
  if (!given || given->is_null()) return std::optional<model::ModelResources>();
  if (!given->is_object()) return MakeError(Code::kInvalid, "field.type", StrCat("resources must be an object, not ", given->TypeName()), "resources");
  for (const auto& [key, value] : given->as_object()) {
    if (key != "cpu" && key != "memory_in_gb" && key != "gpu")
      return MakeError(Code::kInvalid, "field.unknown", StrCat("'", key.substr(0, 80), "' is not a field of resources; expected cpu, memory_in_gb or gpu"),
                       StrCat("resources.", key.substr(0, 80)));
    bool whole = key == "gpu";
    double number = value.is_number() ? value.as_double() : -1;
    if (value.is_null() || (number >= 0 && number <= 1e6 && (!whole || value.is_int()))) continue;
    std::string field = StrCat("resources.", key);
    return MakeError(Code::kInvalid, "model.resources", StrCat(field, " must be a ", whole ? "whole number" : "number", " from 0 to 1,000,000"), field);
  }
  return std::optional(model::ModelResources{given->GetDouble("cpu"), given->GetDouble("memory_in_gb"), given->GetInt("gpu")});
}

Result<RegisteredModel> ModelFromRequest(const Parts& parts, const Call& call) {
  TRY(Json body, BodyObject(call));
  TRY_VOID(CheckKnown(body, "a model",
                      {"name", "workspace", "description", "tags", "properties", "framework", "framework_version", "run", "experiment", "datasets",
                       "sample_input_dataset", "sample_output_dataset", "resources", "path", "files"}));
  RegisteredModel made;
  TRY(std::string given, TextOf(body, "workspace", kLongestText));
  TRY(made.workspace, WorkspaceOf(call, given));
  TRY(made.name, TextOf(body, "name", 10 * kLongestText));
  TRY_VOID(model::CheckName("name", made.name));
  TRY(made.description, TextOf(body, "description", kLongestDescription));
  TRY(made.tags, StringMap(body, "tags", 500, 64u << 10));
  TRY(made.properties, StringMap(body, "properties", 1000, 64u << 10));
  TRY(made.framework, TextOf(body, "framework", kLongestText));
  TRY(made.framework_version, TextOf(body, "framework_version", kLongestText));
  TRY(made.run, TextOf(body, "run", kLongestText));
  TRY(made.experiment, TextOf(body, "experiment", kLongestText));
  if (!made.experiment.empty()) TRY_VOID(model::CheckName("experiment", made.experiment));
  TRY(made.datasets, DatasetsOf(parts, made.workspace, body, "datasets"));
  TRY(auto sample_input, SampleOf(parts, made.workspace, body, "sample_input_dataset"));
  TRY(auto sample_output, SampleOf(parts, made.workspace, body, "sample_output_dataset"));
  made.sample_input_dataset = sample_input.value_or("");
  made.sample_output_dataset = sample_output.value_or("");
  TRY(made.resources, ResourcesOf(body));
  made.user = call.identity.user;

  TRY(std::string path, TextOf(body, "path", 4096));
  const Json* listed = body.Find("files");
  if (listed && listed->is_null()) listed = nullptr;
  if (path.empty() == !listed)
    return MakeError(Code::kInvalid, "model.path_or_files", "exactly one of 'path' (with 'run') and 'files' must be given", path.empty() ? "path" : "files");
  std::vector<ModelFile> files;
  std::optional<model::Run> run;
  if (!made.run.empty()) {
    TRY(run, LoadRun(parts, made.run));
    if (run->workspace != made.workspace)
      return MakeError(Code::kNotFound, "run.not_found", StrCat("there is no run '", made.run, "' in workspace '", made.workspace, "'"), "run");
    made.experiment = run->experiment;
  }
  if (listed) {
    TRY(files, FilesOf(parts, *listed));
  } else {
    if (!run) return MakeError(Code::kInvalid, "model.path", "path names a file or folder of a run; give 'run' with it", "run");
    TRY(files, FilesOfRun(parts, *run, path));
  }
  made.file_count = static_cast<int64_t>(files.size());
  for (const ModelFile& file : files) made.size += file.size;
  std::string manifest = model::ModelManifest(std::move(files));
  if (manifest.size() > model::kMaxModelManifest) return TooManyFiles();
  TRY(made.manifest, KeepBytes(parts, manifest));
  return made;
}

Result<engine::UpdateModel> UpdateFromRequest(const Parts& parts, const Call& call) {
  TRY(Json body, BodyObject(call));
  TRY_VOID(CheckKnown(body, "a change to a model",
                      {"workspace", "description", "set_tags", "remove_tags", "add_properties", "add_datasets", "framework", "framework_version",
                       "sample_input_dataset", "sample_output_dataset", "resources"}));
  TRY(std::string given, TextOf(body, "workspace", kLongestText));
  TRY(Asked asked, AskedFor(call));
  engine::UpdateModel update;
  TRY(update.workspace, WorkspaceOf(call, given.empty() ? asked.workspace : given));
  update.name = asked.reference.name;
  update.version = asked.reference.version;
  TRY(update.description, MaybeText(body, "description", kLongestDescription));
  TRY(update.set_tags, StringMap(body, "set_tags", 500, 64u << 10));
  TRY(update.remove_tags, Texts(body, "remove_tags"));
  TRY(update.add_properties, StringMap(body, "add_properties", 1000, 64u << 10));
  TRY(update.add_datasets, DatasetsOf(parts, update.workspace, body, "add_datasets"));
  TRY(update.framework, MaybeText(body, "framework", kLongestText));
  TRY(update.framework_version, MaybeText(body, "framework_version", kLongestText));
  TRY(update.sample_input_dataset, SampleOf(parts, update.workspace, body, "sample_input_dataset"));
  TRY(update.sample_output_dataset, SampleOf(parts, update.workspace, body, "sample_output_dataset"));
  TRY(update.resources, ResourcesOf(body));
  return update;
}

}  // namespace

void ListModels(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    store::Query query{"model", {}, {{"", "created"}, true}, {}, 0};
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    query.where.push_back({{"", "workspace"}, store::Op::kEq, {workspace}});
    for (const char* column : {"name", "run", "framework"})
      if (std::string value = call.head.Query(column); !value.empty()) query.where.push_back({{"", column}, store::Op::kEq, {value}});
    std::string latest = call.head.Query("latest", "false");
    if (latest != "true" && latest != "false")
      return MakeError(Code::kInvalid, "parameter.invalid", StrCat("latest is '", latest.substr(0, 40), "'; expected true or false"), "latest");
    if (latest == "true") query.where.push_back({{"", "latest"}, store::Op::kEq, {int64_t{1}}});
    for (const char* kind : {"tag", "property"})
      for (auto& condition : AttributeConditions(call, kind, kind)) query.where.push_back(std::move(condition));
    if (std::string dataset = call.head.Query("dataset"); !dataset.empty()) query.where.push_back({{"dataset", dataset}, store::Op::kExists, {}});
    return ListAssets(parts, call, "models", std::move(query), [](const Json& json) { return model::ModelView(model::ModelFromJson(json)); });
  };
  Answer(responder, list());
}

void RegisterModel(const Parts& parts, Call call, http::Responder responder) {
  auto made = ModelFromRequest(parts, call);
  if (!made.ok()) return Answer(responder, made.error());
  parts.engine.Do(engine::RegisterModel{std::move(*made)}, [responder](Result<Json> result) { Answer(responder, result, 201); });
}

void ShowModel(const Parts& parts, Call call, http::Responder responder) {
  auto show = [&]() -> Result<Json> {
    TRY(Asked asked, AskedFor(call));
    TRY(RegisteredModel found, Find(parts, asked));
    return model::ModelView(found);
  };
  Answer(responder, show());
}

void UpdateModel(const Parts& parts, Call call, http::Responder responder) {
  auto update = UpdateFromRequest(parts, call);
  if (!update.ok()) return Answer(responder, update.error());
  parts.engine.Do(std::move(*update), [responder](Result<Json> result) { Answer(responder, result); });
}

void DeleteModel(const Parts& parts, Call call, http::Responder responder) {
  auto asked = AskedFor(call);
  if (!asked.ok()) return Answer(responder, asked.error());
  // "latest" is another one as soon as this is done, and a request may come twice.
  if (!asked->reference.version)
    return Answer(responder,
                  MakeError(Code::kInvalid, "model.version", "version must be given, as a number: a model is deleted version by version", "version"));
  parts.engine.Do(engine::DeleteModel{asked->workspace, asked->reference.name, asked->reference.version},
                  [responder](Result<Json> result) { Answer(responder, result); });
}

void ListModelFiles(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(Asked asked, AskedFor(call));
    TRY(RegisteredModel found, Find(parts, asked));
    TRY(std::string manifest, ManifestOf(parts, found));
    TRY(auto files, model::FilesOfManifest(manifest));
    Json out = Json::MakeArray();
    for (const ModelFile& file : files) out.Push(model::ToJson(file));
    return Json::MakeObject({{"files", std::move(out)}});
  };
  Answer(responder, list());
}

void ReadModelFile(const Parts& parts, Call call, http::Responder responder) {
  auto find = [&]() -> Result<ModelFile> {
    TRY(Asked asked, AskedFor(call));
    TRY(RegisteredModel found, Find(parts, asked));
    TRY(std::string manifest, ManifestOf(parts, found));
    TRY(auto file, model::FileOfManifest(manifest, call.params["path"]));
    if (!file)
      return MakeError(Code::kNotFound, "model.file_not_found",
                       StrCat("model '", found.name, ":", found.version, "' has no file '", call.params["path"].substr(0, 300), "'"), "path");
    return *file;
  };
  auto file = find();
  if (!file.ok()) return Answer(responder, file.error());
  SendBlob(parts, call, responder, file->digest, file->path);
}

}  // namespace ferry::rest
