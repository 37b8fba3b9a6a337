// Datasets: which files of datastores or the web belong together, under a name and versions.
#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "os/file.h"

namespace ferry::cli {
namespace {

constexpr uint64_t kLongest = 1u << 20;

constexpr const char* kTemplate = R"({
  "schemaVersion": 1,
  "datasetType": "Tabular",
  "parameters": {
    "path": [
      {"datastoreName": "workspaceblobstore", "relativePath": "folder/*.csv"}
    ],
    "sourceType": "delimited_files",
    "separator": ",",
    "header": true,
    "encoding": "utf8",
    "includePath": false,
    "partitionFormat": null
  },
  "registration": {
    "name": "my_dataset",
    "description": "",
    "tags": {},
    "createNewVersion": true
  }
}
)";

const Columns& DatasetColumns() {
  static const Columns columns = {{"DATASET", "name", Style::kPlain, Align::kLeft, true},
                                  {"VERSION", "version", Style::kPlain, Align::kRight},
                                  {"TYPE", "type"},
                                  {"ID", "id", Style::kPlain, Align::kLeft, true},
                                  {"CREATED", "created", Style::kAgo},
                                  {"DESCRIPTION", "description"}};
  return columns;
}

// The description of a dataset in a file, read with the names of what is wrong.
class Description {
 public:
  Description(std::string file, Json json) : file_(std::move(file)), json_(std::move(json)) {}

  // The body of POST /datasets.
  Result<Json> Request() const {
    TRY_VOID(Known(json_, "", {"datasetType", "parameters", "registration", "schemaVersion", "timeSeries"}));
    TRY(std::string type, TypeOf());
    const Json* registration = json_.Find("registration");
    if (!registration || !registration->is_object()) return Wrong("registration", "an object with \"name\"", registration);
    TRY_VOID(Known(*registration, "registration.", {"name", "description", "tags", "createNewVersion"}));
    const Json* name = registration->Find("name");
    if (!name || !name->is_string() || name->as_string().empty()) return Wrong("registration.name", "a text", name);
    TRY(Json definition, Definition(type));
    Json request = Json::MakeObject({{"name", *name}, {"type", type}, {"definition", std::move(definition)}});
    request.SetIf("description", registration->GetString("description"));
    if (const Json* tags = registration->Find("tags"); tags && !tags->is_null()) {
      if (!tags->is_object()) return Wrong("registration.tags", "an object of texts", tags);
      request.Set("tags", *tags);
    }
    request.Set("create_new_version", registration->GetBool("createNewVersion"));
    return request;
  }

 private:
  Error Wrong(std::string_view field, std::string_view expected, const Json* found) const {
    return MakeError(Code::kInvalid, "dataset.description",
                     StrCat(file_, ": ", field, ": expected ", expected, ", found ",
                            !found || found->is_null() ? std::string("nothing")
                            : found->is_string()       ? StrCat("'", found->as_string(), "'")
                                                       : found->TypeName()),
                     std::string(field));
  }
  Result<void> Known(const Json& object, std::string_view prefix, const std::vector<std::string>& keys) const {
    if (!object.is_object()) return Wrong(prefix.empty() ? "the file" : prefix.substr(0, prefix.size() - 1), "an object", &object);
    for (const auto& [key, value] : object.as_object()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      auto close = ClosestWord(key, keys);
      return MakeError(
          Code::kInvalid, "dataset.description",
          StrCat(file_, ": ", prefix, key, " is not known", close ? StrCat("; did you mean ", *close, "?") : StrCat("; expected one of ", Join(keys, ", "))),
          StrCat(prefix, key));
    }
    return {};
  }
  Result<std::string> TypeOf() const {
    const Json* type = json_.Find("datasetType");
    for (const char* known : {"File", "Tabular"})
      if (type && type->is_string() && ToLower(type->as_string()) == ToLower(known)) return std::string(known);
    return Wrong("datasetType", "File or Tabular", type);
  }
  Result<Json> Path(const Json& item, const std::string& field) const {
    if (item.is_string()) {
      if (!item.as_string().starts_with("http://") && !item.as_string().starts_with("https://"))
        return Wrong(field, "a URL (http or https), or {\"datastoreName\", \"relativePath\"}", &item);
      return Json::MakeObject({{"url", item}});
    }
    TRY_VOID(Known(item, field + ".", {"datastoreName", "relativePath"}));
    if (item.GetString("datastoreName").empty()) return Wrong(field + ".datastoreName", "a datastore's name", item.Find("datastoreName"));
    return Json::MakeObject({{"datastore", item.GetString("datastoreName")}, {"path", item.GetString("relativePath")}});
  }
  Result<Json> Definition(const std::string& type) const {
    const Json* parameters = json_.Find("parameters");
    if (!parameters || !parameters->is_object()) return Wrong("parameters", "an object with \"path\"", parameters);
    std::vector<std::string> keys = {"path", "partitionFormat"};
    if (type == "Tabular")
      for (const char* key :
           {"sourceType", "separator", "header", "encoding", "includePath", "supportMultiLine", "emptyAsString", "inferColumnTypes", "setColumnTypes"})
        keys.emplace_back(key);
    TRY_VOID(Known(*parameters, "parameters.", keys));
    const Json* path = parameters->Find("path");
    Json paths = Json::MakeArray();
    if (path && path->is_array()) {
      for (size_t i = 0; i < path->as_array().size(); ++i) {
        TRY(Json one, Path(path->as_array()[i], StrCat("parameters.path[", i, "]")));
        paths.Push(std::move(one));
      }
    } else if (path && !path->is_null()) {
      TRY(Json one, Path(*path, "parameters.path"));
      paths.Push(std::move(one));
    }
    if (paths.as_array().empty()) return Wrong("parameters.path", "at least one path", path);
    Json read = Json::MakeObject();
    if (type == "Tabular") {
      TRY(read, Reading(*parameters));
    }
    read.SetIf("partition_format", parameters->GetString("partitionFormat"));
    return Json::MakeObject({{"paths", std::move(paths)}, {"read", std::move(read)}, {"steps", Json::MakeArray()}});
  }
  // How tables are read, as the SDK keeps it.
  Result<Json> Reading(const Json& given) const {
    const Json* types = given.Find("setColumnTypes");
    Json column_types = types && types->is_object() ? *types : Json::MakeObject();
    const std::string source = given.GetString("sourceType", "delimited_files");
    if (source == "parquet_files")
      return Json::MakeObject({{"format", "parquet"}, {"include_path", given.GetBool("includePath")}, {"column_types", std::move(column_types)}});
    if (source == "json_lines_files")
      return Json::MakeObject({{"format", "json_lines"},
                               {"include_path", given.GetBool("includePath")},
                               {"column_types", std::move(column_types)},
                               {"encoding", given.GetString("encoding", "utf8")}});
    if (source != "delimited_files") return Wrong("parameters.sourceType", "delimited_files, parquet_files or json_lines_files", given.Find("sourceType"));
    return Json::MakeObject({{"format", "delimited"},
                             {"include_path", given.GetBool("includePath")},
                             {"infer_column_types", given.GetBool("inferColumnTypes", true)},
                             {"column_types", std::move(column_types)},
                             {"separator", given.GetString("separator", ",")},
                             {"header", given.GetBool("header", true) ? "ALL_FILES_HAVE_SAME_HEADERS" : "NO_HEADERS"},
                             {"support_multi_line", given.GetBool("supportMultiLine")},
                             {"empty_as_string", given.GetBool("emptyAsString")},
                             {"encoding", given.GetString("encoding", "utf8")}});
  }

  const std::string file_;
  const Json json_;
};

// Whether the paths on datastores lead to files. kNotFound "dataset.no_files" names the first that does not.
Result<void> CheckThere(Session& session, const std::string& workspace, const Json& paths, const std::string& file) {
  for (size_t i = 0; i < paths.as_array().size(); ++i) {
    const Json& path = paths.as_array()[i];
    const std::string store = path.GetString("datastore"), below = path.GetString("path");
    if (store.empty()) continue;
    // A pattern is looked for below the folders in front of it.
    std::string prefix = below.substr(0, below.find_first_of("*?["));
    if (prefix.size() < below.size()) prefix.resize(prefix.rfind('/') == std::string::npos ? 0 : prefix.rfind('/') + 1);
    TRY(Json page, session.Get(ApiPath({"datastores", store, "files"}) + QueryText({{"workspace", workspace}, {"prefix", prefix}, {"limit", "1"}})));
    const Json* files = page.Find("files");
    if (!files || !files->is_array() || files->as_array().empty())
      return MakeError(
          Code::kNotFound, "dataset.no_files",
          StrCat(file, ": parameters.path[", i, "]: datastore '", store, "' has no files at '", below, "'; upload them first, or give --skip-validation"),
          StrCat("parameters.path[", i, "]"));
  }
  return {};
}

// The dataset that -i, or -n and -v, name.
Result<Json> Find(Context& context, Session& session) {
  const Arguments& given = context.arguments;
  TRY(std::string workspace, context.Workspace());
  if (given.Has("id")) return session.Get(ApiPath({"datasets", "by-id", given.Get("id")}) + QueryText({{"workspace", workspace}}));
  if (!given.Has("name")) return MakeError(Code::kInvalid, "args.missing", StrCat(given.group, " needs a dataset: -i ID or -n NAME"), given.group);
  const std::string version = given.Get("version");
  if (version != "latest" && !ParseInt(version))
    return MakeError(Code::kInvalid, "args.value", StrCat("-v is '", version, "'; expected a number, or latest"), given.group);
  return session.Get(ApiPath({"datasets", given.Get("name")}) + QueryText({{"workspace", workspace}, {"version", version == "latest" ? "" : version}}));
}

std::string Shown(const Json& dataset) {
  const Json* version = dataset.Find("version");
  return StrCat(dataset.GetString("name"), " version ", version ? RenderCell(*version, Style::kPlain, {}) : "");
}

Result<int> Change(Context& context, const Json& change, std::string_view told) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json dataset, Find(context, *session));
  const std::string name = dataset.GetString("name");
  if (name.empty())
    return MakeError(Code::kConflict, "dataset.not_registered", StrCat("dataset '", dataset.GetString("id"), "' is not registered under a name"), "--id");
  const Json* version = dataset.Find("version");
  TRY(Json answer, session->Send("PATCH",
                                 ApiPath({"datasets", name}) +
                                     QueryText({{"workspace", workspace}, {"version", version ? RenderCell(*version, Style::kPlain, {}) : std::string()}}),
                                 change));
  return context.Tell(answer, StrCat(Shown(dataset), ": ", told, "\n"));
}

}  // namespace

Result<int> RegisterDataset(Context& context) {
  const Arguments& given = context.arguments;
  if (given.Has("show-template")) {
    TRY(Json json, ParseJson(kTemplate));
    return context.Tell(json, kTemplate);
  }
  if (!given.Has("file"))
    return MakeError(Code::kInvalid, "args.missing", "dataset register needs a description: -f FILE; --show-template prints one to begin with", given.group);
  const std::string file = given.Get("file");
  TRY(std::string text, os::ReadFile(file, kLongest));
  TRY(Json json, ParseJson(text, file));
  TRY(Json request, Description(file, std::move(json)).Request());
  TRY(std::string workspace, context.Workspace());
  request.Set("workspace", workspace);
  TRY(Session * session, context.Server());
  if (!given.Has("skip-validation")) TRY_VOID(CheckThere(*session, workspace, *request.Find("definition")->Find("paths"), file));
  TRY(Json answer, session->Send("POST", "/api/v1/datasets", request));
  return context.Tell(answer, StrCat(Shown(answer), "\n"));
}

Result<int> ListDatasets(Context& context) {
  TRY(std::string workspace, context.Workspace());
  std::vector<std::pair<std::string, std::string>> parameters = {{"workspace", workspace}};
  for (const std::string& tag : context.arguments.All("tag")) parameters.emplace_back("tag", tag);
  TRY(Session * session, context.Server());
  TRY(Json datasets, session->GetAll("/api/v1/datasets", std::move(parameters), "datasets"));
  if (context.ForPeople() && datasets.as_array().empty()) context.Note("no datasets");
  return context.Show(datasets, &DatasetColumns());
}

Result<int> ShowDataset(Context& context) {
  TRY(Session * session, context.Server());
  TRY(Json dataset, Find(context, *session));
  return context.Show(dataset, &DatasetColumns());
}

Result<int> ArchiveDataset(Context& context) { return Change(context, Json::MakeObject({{"archived", true}}), "archived"); }

Result<int> DeprecateDataset(Context& context) {
  const std::string other = context.arguments.Get("deprecate-by-id");
  return Change(context, Json::MakeObject({{"deprecated_by", other}}), StrCat("deprecated by ", other));
}

Result<int> ReactivateDataset(Context& context) { return Change(context, Json::MakeObject({{"archived", false}, {"deprecated_by", ""}}), "active again"); }

Result<int> UnregisterDataset(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json dataset, Find(context, *session));
  const std::string name = dataset.GetString("name");
  if (name.empty())
    return MakeError(Code::kConflict, "dataset.not_registered", StrCat("dataset '", dataset.GetString("id"), "' is not registered under a name"), "--id");
  TRY(Json answer, session->Send("DELETE", ApiPath({"datasets", name}) + QueryText({{"workspace", workspace}})));
  return context.Tell(answer, StrCat("unregistered ", name, "\n"));
}

}  // namespace ferry::cli
