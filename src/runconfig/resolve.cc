#include "base/text.h"
#include "runconfig/config.h"

namespace ferry::runconfig {
namespace {

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json OrNull(const std::optional<int64_t>& number) { return number ? Json(*number) : Json(); }

Json EnvironmentJson(const RunConfig& config) {
  Json out = Json::MakeObject({{"name", OrNull(config.environment.name)}, {"version", OrNull(config.environment.version)}});
  Json definition = model::ToJson(config.environment);
  for (auto& [key, value] : definition.as_object()) out.Set(key, std::move(value));
  const model::DockerSection& docker = config.environment.docker;
  if (!out.Find("docker"))
    out.Set("docker", Json::MakeObject({{"enabled", docker.enabled}, {"sharedVolumes", docker.shared_volumes}, {"gpuSupport", docker.gpu}}));
  out.Find("docker")->Set("arguments", docker.arguments);
  if (!config.docker_context.empty())
    out.Find("docker")->Set("buildContext",
                            Json::MakeObject({{"location", config.docker_context},
                                              {"dockerfilePath", docker.context_dockerfile.empty() ? "Dockerfile" : docker.context_dockerfile}}));
  out.Set("environmentVariables", config.environment.variables);
  Json packages = Json::MakeArray();
  for (const SparkPackage& one : config.spark_libraries.packages)
    packages.Push(Json::MakeObject({{"group", one.group}, {"artifact", one.artifact}, {"version", one.version}}));
  Json databricks = Json::MakeObject();
  for (const char* kind : {"mavenLibraries", "pypiLibraries", "rcranLibraries", "jarLibraries", "eggLibraries"}) {
    const Json* list = config.databricks.Find(kind);
    databricks.Set(kind, list ? *list : Json::MakeArray());
  }
  out.Set("spark", Json::MakeObject({{"repositories", config.spark_libraries.repositories},
                                     {"packages", std::move(packages)},
                                     {"precachePackages", config.spark_libraries.precache_packages}}));
  out.Set("databricks", std::move(databricks));
  out.Set("inferencingStackVersion", OrNull(config.inferencing_stack_version));
  return out;
}

}  // namespace

std::string Text(const Problem& problem, std::string_view kind) {
  std::string out;
  for (const std::string& part :
       {problem.file, problem.line > 0 ? StrCat(problem.line) : std::string(), problem.column > 0 ? StrCat(problem.column) : std::string()})
    if (!part.empty()) out += StrCat(part, ":");
  if (!out.empty()) out += ' ';
  if (!kind.empty()) out += StrCat(kind, ": ");
  if (!problem.field.empty()) out += StrCat(problem.field, ": ");
  out += problem.expected.empty() ? problem.message : StrCat("expected ", problem.expected, ", found ", problem.found);
  if (!problem.suggestion.empty()) out += StrCat("; did you mean '", problem.suggestion, "'?");
  return out;
}

Problem NoYaml(const Error& error, const std::string& file) {
  Problem problem;
  problem.file = file;
  problem.message = error.message;
  // "file:line:column: what".
  if (!error.message.starts_with(StrCat(file, ":"))) return problem;
  auto parts = Split(std::string_view(error.message).substr(file.size() + 1), ':');
  auto line = ParseInt(parts[0]);
  auto column = parts.size() > 2 ? ParseInt(parts[1]) : std::nullopt;
  if (!line || !column) return problem;
  problem.line = static_cast<int>(*line);
  problem.column = static_cast<int>(*column);
  problem.message = Trim(std::string_view(error.message).substr(file.size() + parts[0].size() + parts[1].size() + 3));
  return problem;
}

Json ToJson(const Problem& problem) {
  Json out = Json::MakeObject({{"file", problem.file}, {"line", problem.line}, {"field", problem.field}});
  out.SetIf("expected", problem.expected).SetIf("found", problem.found).SetIf("message", problem.message).SetIf("suggestion", problem.suggestion);
  return out;
}

std::vector<Problem> NotYet(const Reading& reading) {
  const RunConfig& config = reading.config;
  std::vector<Problem> out;
  auto refuse = [&](bool wrong, const char* field, std::string message) {
    if (!wrong) return;
    auto line = reading.lines.find(field);
    out.push_back({reading.file, line == reading.lines.end() ? 0 : line->second, field, {}, {}, {}, std::move(message), 0});
  };
  refuse(config.node_count > 1, "nodeCount", StrCat(config.node_count, " nodes are not supported yet; expected 1"));
  refuse(config.framework != "Python", "framework", StrCat(config.framework, " is not supported yet; expected Python"));
  refuse(config.communicator != "None", "communicator", StrCat(config.communicator, " is not supported yet; expected None"));
  refuse(config.target == "amlcompute" || config.target == "containerinstance", "target",
         StrCat("a target that is made for one run ('", config.target, "') is not supported yet; expected 'local'"));
  refuse(config.data_caches.is_array() && !config.data_caches.as_array().empty(), "datacaches", "data caches are not supported yet");
  refuse(!config.source_directory_data_store.empty(), "sourceDirectoryDataStore", "source folders on a datastore are not supported yet");
  refuse(!config.base_conda_environment.empty(), "environment.python.baseCondaEnvironment", "building on a conda environment is not supported yet");
  refuse(!config.docker_preparation.empty(), "environment.docker.preparation.commandLine", "preparing an image by a command is not supported yet");
  refuse(config.use_docker && config.environment_named, "docker.useDocker",
         "a container for an environment that is only named is not supported yet; set it in the environment");
  return out;
}

Json Resolved(const RunConfig& config) {
  Json out = Json::MakeObject();
  out.Set("script", OrNull(config.script));
  out.Set("arguments", config.arguments);
  out.Set("command", config.command);
  out.Set("target", config.target);
  out.Set("framework", config.framework);
  out.Set("communicator", config.communicator);
  out.Set("jobName", OrNull(config.job_name));
  out.Set("autoPrepareEnvironment", config.auto_prepare_environment);
  out.Set("maxRunDurationSeconds", config.max_run_duration_seconds > 0 ? Json(config.max_run_duration_seconds) : Json());
  out.Set("nodeCount", config.node_count);
  out.Set("priority", OrNull(config.priority));
  out.Set("environment", EnvironmentJson(config));
  out.Set("history", Json::MakeObject({{"outputCollection", config.history.output_collection},
                                       {"snapshotProject", config.history.snapshot_project},
                                       {"directoriesToWatch", config.history.directories_to_watch}}));
  out.Set("spark", Json::MakeObject({{"configuration", config.spark}}));
  out.Set("hdi", Json::MakeObject({{"yarnDeployMode", config.yarn_deploy_mode}}));
  out.Set("tensorflow",
          Json::MakeObject({{"workerCount", config.tensorflow.worker_count}, {"parameterServerCount", config.tensorflow.parameter_server_count}}));
  out.Set("mpi", Json::MakeObject({{"processCountPerNode", config.mpi_processes_per_node}}));
  out.Set("pytorch", Json::MakeObject({{"communicationBackend", config.pytorch.backend}, {"processCount", OrNull(config.pytorch.process_count)}}));
  Json references = Json::MakeObject();
  for (const auto& [name, one] : config.data_references)
    references.Set(name, Json::MakeObject({{"dataStoreName", OrNull(one.datastore)},
                                           {"mode", one.mode},
                                           {"pathOnDataStore", OrNull(one.path_on_datastore)},
                                           {"pathOnCompute", OrNull(one.path_on_compute)},
                                           {"overwrite", one.overwrite}}));
  out.Set("dataReferences", std::move(references));
  Json data = Json::MakeObject();
  for (const auto& [name, one] : config.data)
    data.Set(name, Json::MakeObject({{"dataLocation", one.location},
                                     {"createOutputDirectories", one.create_output_directories},
                                     {"mechanism", one.mechanism},
                                     {"environmentVariableName", OrNull(one.variable)},
                                     {"pathOnCompute", OrNull(one.path_on_compute)},
                                     {"overwrite", one.overwrite}}));
  out.Set("data", std::move(data));
  out.Set("outputData", config.output_data);
  out.Set("datacaches", config.data_caches);
  out.Set("sourceDirectoryDataStore", OrNull(config.source_directory_data_store));
  out.Set("amlCompute", Json::MakeObject({{"name", OrNull(config.aml_compute.name)},
                                          {"vmSize", OrNull(config.aml_compute.vm_size)},
                                          {"vmPriority", OrNull(config.aml_compute.vm_priority)},
                                          {"retainCluster", config.aml_compute.retain_cluster},
                                          {"clusterMaxNodeCount", config.aml_compute.cluster_max_node_count}}));
  out.Set("containerInstance", Json::MakeObject({{"region", OrNull(config.container_instance.region)},
                                                 {"cpuCores", config.container_instance.cpu_cores},
                                                 {"memoryGb", config.container_instance.memory_gb}}));
  out.Set("kubernetescompute", Json::MakeObject({{"instanceType", OrNull(config.kubernetes_instance_type)}}));
  Json ports = Json::MakeArray();
  for (int64_t port : config.exposed_ports) ports.Push(port);
  out.Set("exposedPorts", std::move(ports));
  return out;
}

}  // namespace ferry::runconfig
