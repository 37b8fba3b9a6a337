// Models: files under a name and a version.
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/download.h"
#include "cli/upload.h"
#include "cli/width.h"
#include "os/file.h"

namespace ferry::cli {
namespace {

const Columns& ModelColumns() {
  static const Columns columns = {{"MODEL", "id", Style::kPlain, Align::kLeft, true}, {"FRAMEWORK", "framework"},          {"RUN", "run"},
                                  {"SIZE", "size", Style::kBytes, Align::kRight},     {"CREATED", "created", Style::kAgo}, {"DESCRIPTION", "description"}};
  return columns;
}

// "NAME:VERSION" apart; the version is "" for the latest.
struct Reference {
  std::string name, version;
};
Result<Reference> ParseReference(const std::string& text) {
  const size_t colon = text.rfind(':');
  Reference reference{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
  if (reference.name.empty() || (colon != std::string::npos && reference.version.empty()))
    return MakeError(Code::kInvalid, "model.id", StrCat("the model is '", text, "'; expected NAME:VERSION, or NAME for the latest"), "--model-id");
  return reference;
}

Result<std::string> ModelPath(const Context& context, const Reference& reference, std::string_view below = {}) {
  TRY(std::string workspace, context.Workspace());
  return StrCat(ApiPath({"models", reference.name}), below, QueryText({{"workspace", workspace}, {"version", reference.version}}));
}

// The run that `run submit-script -t FILE` wrote down.
Result<std::string> RunOfFile(const std::string& file) {
  TRY(std::string text, os::ReadFile(file, 16u << 20));
  TRY(Json json, ParseJson(text, file));
  for (const char* key : {"run_id", "runId", "id"})
    if (std::string run = json.GetString(key); !run.empty()) return run;
  return MakeError(Code::kInvalid, "model.run_file", StrCat(file, " names no run: expected what `run submit-script -t ", file, "` writes, with \"id\""),
                   "--run-metadata-file");
}

Result<void> AddNumbers(const Arguments& given, Json& request) {
  Json resources = Json::MakeObject();
  for (const auto& [option, key] : {std::pair("cpu-cores", "cpu"), std::pair("memory-gb", "memory_in_gb")}) {
    if (!given.Has(option)) continue;
    auto number = ParseDouble(given.Get(option));
    if (!number || *number < 0)
      return MakeError(Code::kInvalid, "args.value", StrCat("--", option, " is '", given.Get(option), "'; expected a number from 0"), given.group);
    resources.Set(key, *number);
  }
  if (given.Has("gpu-cores")) resources.Set("gpu", given.Number("gpu-cores"));
  if (!resources.as_object().empty()) request.Set("resources", std::move(resources));
  request.SetIf("sample_input_dataset", given.Get("sample-input-dataset-id")).SetIf("sample_output_dataset", given.Get("sample-output-dataset-id"));
  return {};
}

void AddLine(std::string& out, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  out += name;
  out.append(name.size() < 14 ? 14 - name.size() : 1, ' ');
  out += StrCat(value, "\n");
}

std::string Details(const Json& model) {
  auto shown = [&](std::string_view key, Style style = Style::kPlain) {
    const Json* value = model.Find(key);
    return value && !value->is_null() ? RenderCell(*value, style, Now()) : std::string();
  };
  std::string out;
  AddLine(out, "model", shown("id"));
  AddLine(out, "description", shown("description"));
  AddLine(out, "framework", StrCat(shown("framework"), model.GetString("framework_version").empty() ? "" : " ", shown("framework_version")));
  AddLine(out, "run", shown("run"));
  AddLine(out, "experiment", shown("experiment"));
  AddLine(out, "files", StrCat(shown("file_count"), " (", shown("size", Style::kBytes), ")"));
  AddLine(out, "tags", shown("tags"));
  AddLine(out, "properties", shown("properties"));
  AddLine(out, "user", shown("user"));
  AddLine(out, "created", shown("created", Style::kTime));
  return out;
}

}  // namespace

Result<int> RegisterModel(Context& context) {
  const Arguments& given = context.arguments;
  TRY(std::string workspace, context.Workspace());
  TRY(auto tags, KeyValues(given.All("tag"), "--tag", true));
  TRY(auto properties, KeyValues(given.All("property"), "--property", false));
  TRY(auto datasets, KeyValues(given.All("datasets"), "--datasets", false));
  std::string run = given.Get("run-id");
  if (given.Has("run-metadata-file")) {
    TRY(std::string named, RunOfFile(given.Get("run-metadata-file")));
    if (!run.empty() && run != named)
      return MakeError(Code::kInvalid, "args.value", StrCat("--run-id is '", run, "' and --run-metadata-file names '", named, "'; give one of them"),
                       given.group);
    run = std::move(named);
  }
  const std::string path = given.Get("model-path"), asset = given.Get("asset-path");
  if (path.empty() == asset.empty())
    return MakeError(Code::kInvalid, "args.missing",
                     path.empty() ? "model register needs files: --model-path PATH of this machine, or --asset-path PATH of a run"
                                  : "--model-path and --asset-path are both given; a model is made of one of them",
                     given.group);
  if (!asset.empty() && run.empty())
    return MakeError(Code::kInvalid, "args.missing", "--asset-path needs the run it belongs to: --run-id RUN or --run-metadata-file FILE", given.group);
  Json request = Json::MakeObject({{"name", given.Get("name")}, {"workspace", workspace}});
  request.SetIf("run", run).SetIf("description", given.Get("description"));
  request.SetIf("framework", given.Get("model-framework")).SetIf("framework_version", given.Get("model-framework-version"));
  if (!tags.empty()) request.Set("tags", tags);
  if (!properties.empty()) request.Set("properties", properties);
  if (!datasets.empty()) {
    Json pairs = Json::MakeArray();
    for (const auto& [scenario, id] : datasets) pairs.Push(Json(Json::Array{scenario, id}));
    request.Set("datasets", std::move(pairs));
  }
  TRY_VOID(AddNumbers(given, request));
  std::vector<transfer::File> files;
  if (!path.empty()) {
    TRY(files, FilesBelow(path, "--model-path"));
    TRY(std::string real, os::RealPath(path));
    const bool single = files.size() == 1 && files[0].path == path;
    request.Set("files", FileList(files, single ? "" : real.substr(real.rfind('/') + 1)));
  } else {
    request.Set("path", asset);
  }
  TRY(Session * session, context.Server());
  if (!files.empty()) TRY_VOID(UploadContent(*session, files, [](const transfer::UploadProgress&) {}));
  TRY(Json answer, session->Send("POST", "/api/v1/models", request));
  return context.Tell(answer, StrCat(answer.GetString("id"), "\n"));
}

Result<int> ListModels(Context& context) {
  const Arguments& given = context.arguments;
  TRY(std::string workspace, context.Workspace());
  std::string name = given.Get("model-name"), version;
  if (given.Has("model-id")) {
    TRY(Reference reference, ParseReference(given.Get("model-id")));
    name = reference.name;
    version = reference.version;
  }
  std::vector<std::pair<std::string, std::string>> parameters = {{"workspace", workspace},
                                                                 {"name", name},
                                                                 {"run", given.Get("run-id")},
                                                                 {"dataset", given.Get("dataset-id")},
                                                                 {"framework", given.Get("framework")},
                                                                 {"latest", given.Has("latest") ? "true" : ""}};
  for (const std::string& tag : given.All("tag")) parameters.emplace_back("tag", tag);
  for (const std::string& property : given.All("property")) parameters.emplace_back("property", property);
  TRY(Session * session, context.Server());
  TRY(Json models, session->GetAll("/api/v1/models", std::move(parameters), "models"));
  if (!version.empty()) std::erase_if(models.as_array(), [&](const Json& model) { return model.GetString("id") != StrCat(name, ":", version); });
  if (context.ForPeople() && models.as_array().empty()) context.Note("no models");
  return context.Show(models, &ModelColumns());
}

Result<int> ShowModel(Context& context) {
  const Arguments& given = context.arguments;
  TRY(Session * session, context.Server());
  Reference reference{given.Get("model-name"), given.Get("version")};
  if (given.Has("model-id")) {
    TRY(reference, ParseReference(given.Get("model-id")));
  } else if (reference.name.empty() && given.Has("run-id")) {
    TRY(std::string workspace, context.Workspace());
    TRY(Json page, session->Get(StrCat("/api/v1/models", QueryText({{"workspace", workspace}, {"run", given.Get("run-id")}, {"limit", "1"}}))));
    const Json* models = page.Find("models");
    if (!models || !models->is_array() || models->as_array().empty())
      return MakeError(Code::kNotFound, "model.not_found", StrCat("no model was registered of run '", given.Get("run-id"), "'"), "--run-id");
    return context.Tell(models->as_array()[0], Details(models->as_array()[0]));
  } else if (reference.name.empty()) {
    return MakeError(Code::kInvalid, "args.missing", "model show needs a model: -i NAME:VERSION, -n NAME or --run-id RUN", given.group);
  }
  TRY(std::string path, ModelPath(context, reference));
  TRY(Json model, session->Get(path));
  return context.Tell(model, Details(model));
}

Result<int> UpdateModel(Context& context) {
  const Arguments& given = context.arguments;
  TRY(Reference reference, ParseReference(given.Get("model-id")));
  TRY(auto tags, KeyValues(given.All("add-tag"), "--add-tag", true));
  TRY(auto properties, KeyValues(given.All("add-property"), "--add-property", false));
  Json change = Json::MakeObject();
  if (!tags.empty()) change.Set("set_tags", tags);
  if (given.Has("remove-tag")) change.Set("remove_tags", given.All("remove-tag"));
  if (!properties.empty()) change.Set("add_properties", properties);
  if (given.Has("description")) change.Set("description", given.Get("description"));
  TRY_VOID(AddNumbers(given, change));
  if (change.as_object().empty())
    return MakeError(Code::kInvalid, "args.missing", "model update needs something to change: --description, --add-tag, --remove-tag, --add-property, ...",
                     given.group);
  TRY(std::string path, ModelPath(context, reference));
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("PATCH", path, change));
  return context.Tell(answer, StrCat(answer.GetString("id", given.Get("model-id")), ": updated\n"));
}

Result<int> DeleteModel(Context& context) {
  TRY(Reference reference, ParseReference(context.arguments.Get("model-id")));
  if (reference.version.empty())
    return MakeError(Code::kInvalid, "args.value", StrCat("model delete needs a version: ", reference.name, ":VERSION"), context.arguments.group);
  TRY(std::string path, ModelPath(context, reference));
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("DELETE", path));
  return context.Tell(answer, StrCat("deleted ", context.arguments.Get("model-id"), "\n"));
}

Result<int> DownloadModel(Context& context) {
  const Arguments& given = context.arguments;
  TRY(Reference reference, ParseReference(given.Get("model-id")));
  TRY(std::string workspace, context.Workspace());
  const std::string folder = given.Has("target-dir") ? given.Get("target-dir") : ".";
  TRY(Session * session, context.Server());
  // Of the latest, one version, whatever is registered meanwhile.
  TRY(std::string path, ModelPath(context, reference));
  TRY(Json model, session->Get(path));
  const Json* version = model.Find("version");
  const std::string number = version && version->is_int() ? std::to_string(version->as_int()) : model.GetString("version");
  Download what;
  what.list = what.files = ApiPath({"models", model.GetString("name", reference.name), "files"});
  what.key = "files";
  what.parameters = {{"workspace", workspace}, {"version", number}};
  what.overwrite = given.Has("overwrite");
  TRY(Json files, DownloadAll(context, *session, what, folder));
  return context.Tell(files, DownloadedText(files, folder));
}

}  // namespace ferry::cli
