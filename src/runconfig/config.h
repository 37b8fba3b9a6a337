// A run configuration (Azure ML's `.runconfig`, YAML or JSON) as a value. Pure: files that it names are read through a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/environment.h"
#include "yaml/parse.h"

namespace ferry::runconfig {

// The image that Azure takes when `docker.enabled` comes without one.
inline constexpr const char* kDefaultImage = "mcr.microsoft.com/azureml/base:0.2.2";
inline constexpr const char* kDefaultShmSize = "2g";
inline constexpr const char* kDefaultCondaFile = ".azureml/conda_dependencies.yml";

// Something wrong with a file, or something in it that has no effect.
struct Problem {
  std::string file;
  int line = 0;            // from 1; 0: the file as a whole
  std::string field;       // "environment.docker.shmSize", "arguments[2]"
  std::string expected;    // "a whole number from 1"; empty: `message` says it
  std::string found;       // "'two'", "a list", "nothing"
  std::string suggestion;  // the word that may have been meant
  std::string message;
  int column = 0;  // from 1; 0: not known

  bool operator==(const Problem&) const = default;
};
// "a.runconfig:3: nodeCount: expected a whole number from 1, found 'two'". `kind` ("error") stands behind the place when given.
std::string Text(const Problem& problem, std::string_view kind = {});
Json ToJson(const Problem& problem);
// Text that is no YAML, as yaml::Parse says it.
Problem NoYaml(const Error& error, const std::string& file);

struct DataReference {
  std::string datastore, mode = "Mount", path_on_datastore, path_on_compute;
  bool overwrite = false;
};

struct Data {
  Json location;  // {dataset: {id}, dataPath: {datastoreName, relativePath}, uri}
  bool create_output_directories = false;
  std::string mechanism = "Mount";
  std::string variable;
  std::string path_on_compute;
  bool overwrite = false;
};

struct SparkPackage {
  std::string group, artifact, version;
};

struct RunConfig {
  // What to run: a script with arguments, or a command.
  std::string script;
  std::vector<std::string> arguments;
  std::vector<std::string> command;
  // Where and how.
  std::string target = "local";
  std::string framework = "Python";
  std::string communicator = "None";
  std::string job_name;
  std::string source_directory_data_store;
  bool auto_prepare_environment = true;
  int64_t max_run_duration_seconds = 0;  // 0: without end
  int64_t node_count = 1;
  std::optional<int64_t> priority;

  // What the script needs; `variables` holds those of both sections. With `environment_named` it has a name and perhaps a version, and nothing else.
  model::Environment environment;
  bool environment_named = false;
  std::string base_conda_environment;
  std::string docker_preparation;  // docker.preparation.commandLine
  std::string docker_context;      // docker.buildContext.location: a folder, relative to the source folder; goes to environment.docker.context as a snapshot
  bool use_docker = false;         // the newer `docker` section beside the environment asks for it
  struct {
    std::vector<std::string> repositories;
    std::vector<SparkPackage> packages;
    bool precache_packages = true;
  } spark_libraries;
  Json databricks = Json::MakeObject();
  std::string inferencing_stack_version;

  struct {
    bool output_collection = true;
    bool snapshot_project = true;
    std::vector<std::string> directories_to_watch = {"logs"};
  } history;

  // For frameworks and targets.
  std::map<std::string, std::string> spark = {{"spark.app.name", "Azure ML Experiment"}, {"spark.yarn.maxAppAttempts", "1"}};
  std::string yarn_deploy_mode = "Cluster";
  struct {
    int64_t worker_count = 1;
    int64_t parameter_server_count = 1;
  } tensorflow;
  int64_t mpi_processes_per_node = 1;
  struct {
    std::string backend = "Nccl";
    std::optional<int64_t> process_count;
  } pytorch;
  struct {
    std::string name, vm_size, vm_priority;
    bool retain_cluster = false;
    int64_t cluster_max_node_count = 1;
  } aml_compute;
  struct {
    std::string region;
    double cpu_cores = 2;
    double memory_gb = 3.5;
  } container_instance;
  std::string kubernetes_instance_type;
  std::optional<int64_t> batch_ai_node_count;
  std::vector<int64_t> exposed_ports;

  // Data that comes and goes with the run.
  std::map<std::string, DataReference> data_references;
  std::map<std::string, Data> data;
  Json output_data = Json::MakeObject();
  Json data_caches = Json::MakeArray();
};

// The text of a file that a configuration names, by the name it uses: relative to the source folder.
using Lookup = std::function<Result<std::string>(const std::string& path)>;

// What the command line says instead of the file. Requirements are judged with these in place.
struct Given {
  std::string script;
  std::string target;
  std::string conda_file;
  std::string interpreter;
  std::string environment_name;  // what model::ParseEnvironmentReference reads
};

struct Reading {
  RunConfig config;
  std::vector<Problem> errors;    // with any of these the configuration must not be used
  std::vector<Problem> warnings;  // keys that are not known, values without an effect
  std::string file;
  std::map<std::string, int> lines;  // where each field stands
};

// Reads everything and reports all that is wrong at once.
Reading Read(const yaml::Node& node, const std::string& file, const Lookup& lookup, const Given& given = {});

// Reads a conda file, or a pip requirements file when its name ends in ".txt", into `conda`; problems name that file.
struct CondaReading {
  model::CondaSpecification conda;
  std::vector<Problem> errors, warnings;
};
CondaReading ReadConda(const std::string& text, const std::string& file, const Lookup& lookup);

// What is right and cannot be run by this version yet; `message` is the sentence.
std::vector<Problem> NotYet(const Reading& reading);

// What a submission says of data: fields `data` and `outputs` of POST /runs, as objects by name.
struct DataFields {
  Json inputs;
  Json outputs;
};
DataFields DataOf(const RunConfig& config);
// Whether a dataLocation names a dataset, a path of a datastore or an address.
bool NamesData(const Json& location);

// Every field with its value or default, under Azure's names; `environment` is what model::EnvironmentFromJson reads. Passwords are hidden.
Json Resolved(const RunConfig& config);

}  // namespace ferry::runconfig
