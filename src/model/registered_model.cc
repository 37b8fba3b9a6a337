#include "model/registered_model.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::model {
namespace {

Result<ModelFile> FileOfLine(std::string_view line) {
  TRY(Json json, ParseJson(line, "the list of a model's files"));
  auto digest = Digest::FromHex(json.GetString("digest"));
  if (!digest) return MakeError(Code::kInternal, "model.manifest", "the list of a model's files has a line without a digest");
  return ModelFile{json.GetString("path"), *digest, static_cast<uint64_t>(json.GetInt("size"))};
}

Json PairsOf(const std::vector<std::pair<std::string, std::string>>& datasets) {
  Json list = Json::MakeArray();
  for (const auto& [scenario, id] : datasets) list.Push(std::vector<std::string>{scenario, id});
  return list;
}

Json ToJson(const std::optional<ModelResources>& resources) {
  if (!resources) return {};
  auto said = [](auto value) { return value ? Json(value) : Json(); };
  return Json::MakeObject({{"cpu", said(resources->cpu)}, {"memory_in_gb", said(resources->memory_in_gb)}, {"gpu", said(resources->gpu)}});
}

}  // namespace

Json ToJson(const ModelFile& file) { return Json::MakeObject({{"path", file.path}, {"digest", file.digest.Hex()}, {"size", file.size}}); }

std::string ModelManifest(std::vector<ModelFile> files) {
  std::sort(files.begin(), files.end(), [](const ModelFile& a, const ModelFile& b) { return a.path < b.path; });
  std::string out;
  for (const ModelFile& file : files) {
    ToJson(file).DumpTo(out);
    out += '\n';
  }
  return out;
}

Result<std::vector<ModelFile>> FilesOfManifest(std::string_view manifest) {
  std::vector<ModelFile> files;
  for (std::string_view line : Split(manifest, '\n')) {
    if (line.empty()) continue;
    TRY(ModelFile file, FileOfLine(line));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::optional<ModelFile>> FileOfManifest(std::string_view manifest, std::string_view path) {
  // A line break within a path is escaped, so that a real one is the beginning of a line.
  std::string wanted = "\n{\"path\":";
  AppendJsonString(wanted, path);
  wanted += ',';
  size_t at = 0;
  if (!manifest.starts_with(std::string_view(wanted).substr(1))) {
    at = manifest.find(wanted);
    if (at == std::string_view::npos) return std::optional<ModelFile>();
    ++at;
  }
  TRY(ModelFile file, FileOfLine(manifest.substr(at, manifest.find('\n', at) - at)));
  return std::optional(std::move(file));
}

Json ToJson(const RegisteredModel& model) {
  Json json = Json::MakeObject({{"workspace", model.workspace},
                                {"name", model.name},
                                {"version", model.version},
                                {"manifest", model.manifest},
                                {"file_count", model.file_count},
                                {"size", model.size},
                                {"created", model.created.micros},
                                {"modified", model.modified.micros}});
  if (model.latest) json.Set("latest", true);
  json.SetIf("description", model.description).SetIf("framework", model.framework).SetIf("framework_version", model.framework_version);
  json.SetIf("run", model.run).SetIf("experiment", model.experiment).SetIf("user", model.user);
  json.SetIf("sample_input_dataset", model.sample_input_dataset).SetIf("sample_output_dataset", model.sample_output_dataset);
  if (!model.tags.empty()) json.Set("tags", model.tags);
  if (!model.properties.empty()) json.Set("properties", model.properties);
  if (!model.datasets.empty()) json.Set("datasets", PairsOf(model.datasets));
  if (model.resources) json.Set("resources", ToJson(model.resources));
  return json;
}

RegisteredModel ModelFromJson(const Json& json) {
  RegisteredModel model;
  model.workspace = json.GetString("workspace");
  model.name = json.GetString("name");
  model.version = json.GetInt("version");
  model.latest = json.GetBool("latest");
  model.description = json.GetString("description");
  model.tags = json.GetStringMap("tags");
  model.properties = json.GetStringMap("properties");
  model.framework = json.GetString("framework");
  model.framework_version = json.GetString("framework_version");
  model.run = json.GetString("run");
  model.experiment = json.GetString("experiment");
  if (const Json* datasets = json.Find("datasets"); datasets && datasets->is_array())
    for (const Json& pair : datasets->as_array())
      if (pair.is_array() && pair.as_array().size() == 2 && pair.as_array()[0].is_string() && pair.as_array()[1].is_string())
        model.datasets.emplace_back(pair.as_array()[0].as_string(), pair.as_array()[1].as_string());
  model.sample_input_dataset = json.GetString("sample_input_dataset");
  model.sample_output_dataset = json.GetString("sample_output_dataset");
  if (const Json* resources = json.Find("resources"); resources && resources->is_object())
    model.resources = ModelResources{resources->GetDouble("cpu"), resources->GetDouble("memory_in_gb"), resources->GetInt("gpu")};
  model.manifest = json.GetString("manifest");
  model.file_count = json.GetInt("file_count");
  model.size = static_cast<uint64_t>(json.GetInt("size"));
  model.user = json.GetString("user");
  model.created = Time{json.GetInt("created")};
  model.modified = Time{json.GetInt("modified")};
  return model;
}

Json ModelView(const RegisteredModel& model) {
  auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return Json::MakeObject({{"id", StrCat(model.name, ":", model.version)},
                           {"name", model.name},
                           {"version", model.version},
                           {"workspace", model.workspace},
                           {"description", model.description},
                           {"tags", model.tags},
                           {"properties", model.properties},
                           {"framework", text(model.framework)},
                           {"framework_version", text(model.framework_version)},
                           {"run", text(model.run)},
                           {"experiment", text(model.experiment)},
                           {"datasets", PairsOf(model.datasets)},
                           {"sample_input_dataset", text(model.sample_input_dataset)},
                           {"sample_output_dataset", text(model.sample_output_dataset)},
                           {"resources", ToJson(model.resources)},
                           {"file_count", model.file_count},
                           {"size", model.size},
                           {"user", model.user},
                           {"created", FormatTime(model.created)},
                           {"modified", FormatTime(model.modified)}});
}

}  // namespace ferry::model
