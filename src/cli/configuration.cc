#include "cli/configuration.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/registry.h"
#include "os/file.h"

namespace ferry::cli {
namespace {

constexpr const char* kFolders[] = {".azureml", "aml_config"};
constexpr const char* kEndings[] = {"", ".runconfig", ".yml", ".yaml", ".json"};

bool IsFile(const std::string& path) {
  auto stat = os::StatPath(path);
  return stat.ok() && stat->type == os::FileType::kFile;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string WithoutEnding(std::string name) {
  for (const char* ending : {".runconfig", ".yml", ".yaml", ".json"})
    if (name.ends_with(ending) && name.size() > std::string_view(ending).size()) return name.substr(0, name.size() - std::string_view(ending).size());
  return name;
}

// The folder that a file's paths start from: the one above .azureml or aml_config, else its own.
std::string SourceOf(const std::string& path) {
  auto real = os::RealPath(path);
  std::string folder = real.ok() ? real->substr(0, real->rfind('/')) : std::string(".");
  for (const char* known : kFolders)
    if (folder.ends_with(StrCat("/", known))) folder.resize(folder.size() - std::string_view(known).size() - 1);
  return folder.empty() ? "/" : folder;
}

Error NoSuchConfiguration(const std::string& source, const std::string& name) {
  std::set<std::string> names;
  for (const char* folder : kFolders)
    if (auto entries = os::ListFolder(os::JoinPath(source, folder)); entries.ok())
      for (const os::DirEntry& entry : *entries)
        if (entry.name.ends_with(".runconfig")) names.insert(WithoutEnding(entry.name));
  std::string there = names.empty() ? "there are none there; make some with: ferry folder attach"
                                    : StrCat("there are: ", Join(std::vector<std::string>(names.begin(), names.end()), ", "));
  return MakeError(Code::kNotFound, "runconfig.not_found",
                   StrCat("there is no run configuration '", name, "' in .azureml or aml_config of ", source, ", nor a file of that name; ", there),
                   "--run-configuration-name");
}

// The text of a file by its name from the source folder; `also`, a name of the command line, may be meant from here.
runconfig::Lookup LookupIn(const std::string& source, const std::string& also) {
  return [source, also](const std::string& name) -> Result<std::string> {
    std::string path = name.starts_with('/') ? name : os::JoinPath(source, name);
    if (!IsFile(path) && name == also && IsFile(name)) path = name;
    if (!os::Exists(path)) return MakeError(Code::kNotFound, "file.not_found", StrCat("there is no file '", name, "' in ", source), name);
    if (!IsFile(path)) return MakeError(Code::kInvalid, "file.not_a_file", StrCat("'", name, "' is not a file"), name);
    return os::ReadFile(path, yaml::kMaxBytes);
  };
}

// Shows what is wrong, all of it.
Result<void> Judge(Context& context, const std::string& file, const std::vector<runconfig::Problem>& errors, const std::vector<runconfig::Problem>& warnings) {
  for (const auto& problem : warnings) context.Note(Text(problem, "warning"));
  if (errors.empty()) return {};
  for (const auto& problem : errors) context.streams.err(StrCat(Text(problem, "error"), "\n"));
  return MakeError(Code::kInvalid, "runconfig.invalid",
                   StrCat(file, errors.size() == 1 ? " has an error" : StrCat(" has ", errors.size(), " errors"), "; nothing was submitted"), file);
}

}  // namespace

Result<ConfigurationFile> FindConfiguration(const std::string& source, const std::string& name) {
  if (name.find('/') == std::string::npos)
    for (const char* folder : kFolders)
      for (const char* ending : kEndings) {
        std::string shown = StrCat(folder, "/", name, ending);
        std::string path = os::JoinPath(source, shown);
        if (IsFile(path)) return ConfigurationFile{path, shown, WithoutEnding(BaseName(path)), source};
      }
  if (IsFile(name)) return ConfigurationFile{name, name, WithoutEnding(BaseName(name)), SourceOf(name)};
  return NoSuchConfiguration(source, name);
}

Result<runconfig::Reading> ReadConfiguration(const ConfigurationFile& file, const runconfig::Given& given) {
  TRY(std::string text, os::ReadFile(file.path, yaml::kMaxBytes));
  auto node = yaml::Parse(text, file.shown);
  if (node.ok()) return runconfig::Read(*node, file.shown, LookupIn(file.source, given.conda_file), given);
  runconfig::Reading reading;
  reading.file = file.shown;
  reading.errors.push_back(runconfig::NoYaml(node.error(), file.shown));
  return reading;
}

Result<Plan> PlanSubmission(Context& context, const std::string& source, const std::string& script) {
  const Arguments& given = context.arguments;
  Plan plan;
  runconfig::Given instead{.script = script,
                           .target = given.Has("target") ? given.Get("target") : std::string(),
                           .conda_file = given.Get("conda-dependencies"),
                           .interpreter = given.Get("interpreter"),
                           .environment_name = given.Get("environment-name")};
  if (!instead.conda_file.empty() + !instead.interpreter.empty() + !instead.environment_name.empty() > 1)
    return MakeError(Code::kInvalid, "submit.environment",
                     "--conda-dependencies, --environment-name and --interpreter exclude each other; expected one of them", "--environment-name");
  model::Environment& environment = plan.config.environment;
  if (given.Has("run-configuration-name")) {
    TRY(ConfigurationFile file, FindConfiguration(source, given.Get("run-configuration-name")));
    file.source = source;
    TRY(runconfig::Reading reading, ReadConfiguration(file, instead));
    if (reading.errors.empty()) reading.errors = NotYet(reading);
    TRY_VOID(Judge(context, file.shown, reading.errors, reading.warnings));
    plan = {std::move(reading.config), file.name, true, {}};
    if (const std::string& location = plan.config.docker_context; !location.empty() && plan.config.environment.docker.enabled) {
      plan.context = location.starts_with('/') ? location : os::JoinPath(source, location);
      auto stat = os::StatPath(plan.context);
      if (!stat.ok() || stat->type != os::FileType::kFolder)
        return MakeError(Code::kNotFound, "runconfig.context",
                         StrCat(file.shown, ": environment.docker.buildContext.location: there is no folder '", location, "' in ", source),
                         "environment.docker.buildContext.location");
    }
  } else if (!instead.conda_file.empty()) {
    auto lookup = LookupIn(source, instead.conda_file);
    TRY(std::string text, lookup(instead.conda_file));
    auto reading = runconfig::ReadConda(text, instead.conda_file, lookup);
    TRY_VOID(Judge(context, instead.conda_file, reading.errors, reading.warnings));
    environment.conda = std::move(reading.conda);
    plan.environment = true;
  } else if (!instead.environment_name.empty()) {
    TRY(auto reference, model::ParseEnvironmentReference(instead.environment_name, "--environment-name"));
    environment.name = reference.name;
    if (reference.version > 0) environment.version = StrCat(reference.version);
    plan.config.environment_named = true;
    plan.environment = true;
  } else {
    environment.interpreter = instead.interpreter;
    environment.user_managed = true;
  }
  if (!instead.script.empty()) plan.config.script = instead.script;
  if (!instead.target.empty()) plan.config.target = instead.target;
  return plan;
}

void AddPlan(const Plan& plan, Json& request) {
  const runconfig::RunConfig& config = plan.config;
  const model::Environment& environment = config.environment;
  request.SetIf("run_configuration", plan.configuration);
  if (plan.environment && config.environment_named)
    request.Set("environment_name", environment.version.empty() ? environment.name : StrCat(environment.name, "@", environment.version));
  else if (plan.environment)
    request.Set("environment_definition", model::ToJson(environment, true));
  // In a container the interpreter is the image's own and stands in the definition.
  if (environment.user_managed && !environment.docker.enabled) request.SetIf("interpreter", environment.interpreter);
  if (config.history.directories_to_watch != std::vector<std::string>{"logs"}) request.Set("watch", config.history.directories_to_watch);
  if (!config.history.output_collection) request.Set("collect_outputs", false);
  if (!config.history.snapshot_project) request.Set("keep_snapshot", false);
  if (!config.auto_prepare_environment) request.Set("auto_prepare", false);
  if (config.priority) request.Set("priority", *config.priority);
  runconfig::DataFields data = runconfig::DataOf(config);
  if (!data.inputs.as_object().empty()) request.Set("data", std::move(data.inputs));
  if (!data.outputs.as_object().empty()) request.Set("outputs", std::move(data.outputs));
  if (!request.Find("name")) request.SetIf("name", config.job_name);
}

}  // namespace ferry::cli
