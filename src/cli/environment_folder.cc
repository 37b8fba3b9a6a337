#include "cli/environment_folder.h"

#include <algorithm>

#include "base/text.h"
#include "cli/yaml.h"
#include "os/file.h"
#include "runconfig/config.h"

namespace ferry::cli {
namespace {

constexpr const char* kDefinition = "azureml_environment.json";
constexpr const char* kConda = "conda_dependencies.yml";
constexpr const char* kDockerfile = "BaseDockerfile";
constexpr uint64_t kLongest = 4u << 20;
constexpr const char* kNoDockerfile = "# A Dockerfile for the base image. As long as there are only comments here, there is none.\n";

// Whether a Dockerfile says anything.
bool SaysSomething(std::string_view text) {
  for (std::string_view line : Split(text, '\n'))
    if (line = Trim(line); !line.empty() && line[0] != '#') return true;
  return false;
}

bool IsGiven(const Json* json) { return json && !json->is_null() && !(json->is_string() && json->as_string().empty()); }

// The conda file of a definition, in place of its name.
Result<void> TakeConda(const std::string& folder, Json& python, std::vector<std::string>& warnings) {
  std::string name = python.GetString("condaDependenciesFile");
  python.Erase("condaDependenciesFile");
  if (IsGiven(python.Find("condaDependencies"))) {
    if (!name.empty()) warnings.push_back(StrCat(kDefinition, ": python.condaDependenciesFile has no effect beside python.condaDependencies"));
    return {};
  }
  const bool named = !name.empty();
  if (!named) name = kConda;
  std::string path = name.starts_with('/') ? name : os::JoinPath(folder, name);
  auto text = os::ReadFile(path, kLongest);
  if (!text.ok()) {
    if (text.error().code != Code::kNotFound) return text.error();
    if (!named) return {};
    return MakeError(Code::kNotFound, "environment.conda_file", StrCat(kDefinition, ": python.condaDependenciesFile: there is no file '", path, "'"), path);
  }
  auto lookup = [&](const std::string& other) { return os::ReadFile(other.starts_with('/') ? other : os::JoinPath(folder, other), kLongest); };
  runconfig::CondaReading reading = runconfig::ReadConda(*text, path, lookup);
  for (const runconfig::Problem& problem : reading.warnings) warnings.push_back(runconfig::Text(problem));
  if (!reading.errors.empty()) {
    std::string all;
    for (const runconfig::Problem& problem : reading.errors) all += StrCat(all.empty() ? "" : "\n", runconfig::Text(problem));
    const runconfig::Problem& first = reading.errors.front();
    return MakeError(Code::kInvalid, "environment.conda_file", std::move(all), StrCat(first.file, ":", first.line));
  }
  model::Environment only;
  only.conda = std::move(reading.conda);
  if (const Json whole = model::ToJson(only); whole.Find("python")->Find("condaDependencies"))
    python.Set("condaDependencies", *whole.Find("python")->Find("condaDependencies"));
  return {};
}

}  // namespace

Result<Json> ReadEnvironmentFolder(const std::string& folder, std::vector<std::string>& warnings) {
  std::string path = os::JoinPath(folder, kDefinition);
  auto text = os::ReadFile(path, kLongest);
  if (!text.ok() && text.error().code == Code::kNotFound)
    return MakeError(Code::kNotFound, "environment.no_folder", StrCat("there is no ", path, "; make one with: ferry environment scaffold -n NAME -d ", folder),
                     path);
  if (!text.ok()) return text.error();
  TRY(Json json, ParseJson(*text, path));
  if (!json.is_object()) return MakeError(Code::kInvalid, "environment.malformed", StrCat(path, " must hold an object, not ", json.TypeName()), path);
  Json python = json.Find("python") && json.Find("python")->is_object() ? *json.Find("python") : Json::MakeObject();
  TRY_VOID(TakeConda(folder, python, warnings));
  json.Set("python", std::move(python));
  if (auto dockerfile = os::ReadFile(os::JoinPath(folder, kDockerfile), kLongest); dockerfile.ok() && SaysSomething(*dockerfile)) {
    Json docker = json.Find("docker") && json.Find("docker")->is_object() ? *json.Find("docker") : Json::MakeObject();
    if (!IsGiven(docker.Find("baseDockerfile"))) docker.Set("baseDockerfile", *dockerfile);
    json.Set("docker", std::move(docker));
  }
  if (auto checked = model::EnvironmentFromJson(json); !checked.ok()) {
    Error error = checked.error();
    error.message = StrCat(path, ": ", error.message);
    return error;
  }
  return json;
}

Result<std::vector<std::string>> WriteEnvironmentFolder(const std::string& folder, const model::Environment& environment, bool overwrite) {
  Json json = model::ToJson(environment);
  Json python = *json.Find("python");
  Json conda = python.Find("condaDependencies") ? *python.Find("condaDependencies") : Json::MakeObject();
  python.Erase("condaDependencies");
  python.Set("condaDependenciesFile", kConda).Set("baseCondaEnvironment", Json());
  Json docker = json.Find("docker") ? *json.Find("docker") : Json::MakeObject({{"enabled", false}});
  std::string dockerfile = docker.GetString("baseDockerfile");
  docker.Set("baseDockerfile", Json());
  for (const auto& [key, value] : std::initializer_list<Json::Member>{
           {"baseImage", Json()}, {"sharedVolumes", true}, {"shmSize", Json()}, {"arguments", Json::MakeArray()}, {"baseImageRegistry", Json::MakeObject()}})
    if (!docker.Find(key)) docker.Set(key, value);
  for (const char* key : {"address", "username", "password"})
    if (!docker.Find("baseImageRegistry")->Find(key)) docker.Find("baseImageRegistry")->Set(key, Json());
  json.Set("python", std::move(python)).Set("docker", std::move(docker));
  if (!json.Find("environmentVariables")) json.Set("environmentVariables", Json::MakeObject());
  Json specification = Json::MakeObject({{"name", "project_environment"}});
  for (const char* key : {"channels", "dependencies"})
    if (const Json* list = conda.Find(key)) specification.Set(key, *list);

  const std::pair<const char*, std::string> files[] = {
      {kDefinition, json.DumpPretty()}, {kConda, RenderYaml(specification)}, {kDockerfile, dockerfile.empty() ? kNoDockerfile : dockerfile}};
  std::vector<std::string> written;
  for (const auto& [name, text] : files) {
    written.push_back(os::JoinPath(folder, name));
    if (!overwrite && os::Exists(written.back()))
      return MakeError(Code::kConflict, "environment.exists", StrCat(written.back(), " exists already; give another folder, or --overwrite"), written.back());
  }
  TRY_VOID(os::MakeFolders(folder));
  for (size_t i = 0; i < written.size(); ++i) TRY_VOID(os::WriteFileAtomic(written[i], files[i].second, 0644, false));
  return written;
}

model::Environment ScaffoldedEnvironment(const std::string& name) {
  model::Environment environment;
  environment.name = name;
  environment.conda = {{"conda-forge"}, {"python=3.11"}, {"azureml-defaults"}};
  return environment;
}

}  // namespace ferry::cli
