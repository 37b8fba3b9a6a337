#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "model/registry.h"
#include "model/run.h"
#include "runconfig/conda.h"
#include "runconfig/config.h"
#include "runconfig/section.h"

namespace ferry::runconfig {
namespace {

constexpr int64_t kMaxCount = 2147483647;
constexpr int64_t kMaxSeconds = 100LL * 365 * 86400;

const std::vector<std::string> kFrameworks = {"Python",         "PySpark",           "Cntk", "TensorFlow", "PyTorch", "TensorFlowParameterServer", "PythonMpi",
                                              "PythonIntelMpi", "PySparkInteractive"};
const std::vector<std::string> kCommunicators = {"None", "ParameterServer", "OpenMpi", "IntelMpi", "Gloo", "Nccl", "Mpi"};

class Reader {
 public:
  Reader(Reading& reading, const Lookup& lookup, const Given& given)
      : reading_(reading), config_(reading.config), lookup_(lookup), given_(given), report_{reading.file, reading.errors, reading.warnings, &reading.lines} {}

  void ReadRoot(const yaml::Node& node) {
    if (!node.is_map()) return report_.Wrong(std::max(node.line, 1), {}, "a run configuration: keys such as script and environment", Found(node));
    Section root(report_, &node, {}, node.line);
    ReadWhat(root);
    ReadWhere(root);
    ReadEnvironment(root);
    ReadHistory(root);
    ReadFrameworks(root);
    ReadData(root);
  }

 private:
  void ReadWhat(Section& root) {
    root.Text("script", config_.script);
    root.Texts("arguments", config_.arguments);
    if (const yaml::Node* command = root.Take("command"); command && command->is_scalar())
      config_.command = {"sh", "-c", command->text};
    else
      root.Texts("command", config_.command);
    root.Text("jobName", config_.job_name);
    root.Text("sourceDirectoryDataStore", config_.source_directory_data_store);
    if (!given_.script.empty()) {
      config_.script = given_.script;
      config_.command.clear();
    } else if (!config_.script.empty() && !config_.command.empty()) {
      report_.Refuse(root.LineOf("command"), "command", "script and command exclude each other; expected one of them");
    } else if (config_.script.empty() && config_.command.empty()) {
      report_.Wrong(root.LineOf("script"), "script", "the script to run, relative to the source folder", "nothing");
    }
  }

  void ReadWhere(Section& root) {
    root.Text("target", config_.target);
    if (!given_.target.empty()) config_.target = given_.target;
    // The targets that are no names of their own.
    for (const char* word : {"local", "amlcompute", "containerinstance"})
      if (ToLower(config_.target) == word) config_.target = word;
    if (auto good = model::CheckName("target", config_.target); !good.ok())
      report_.Wrong(root.LineOf("target"), "target", "the name of a compute target", StrCat("'", config_.target.substr(0, 80), "'"));
    root.Word("framework", config_.framework, kFrameworks);
    root.Word("communicator", config_.communicator, kCommunicators);
    root.Bool("autoPrepareEnvironment", config_.auto_prepare_environment);
    bool legacy = false;
    root.Bool("prepareEnvironment", legacy);
    root.Int("maxRunDurationSeconds", config_.max_run_duration_seconds, 0, kMaxSeconds);
    root.Int("nodeCount", config_.node_count, 1, kMaxCount);
    root.Int("priority", config_.priority, -1000, 1000);
    for (const char* unused : {"instanceTypes", "credentialPassthrough", "identity", "paralleltask", "useAbsolutePath"}) root.Take(unused);
  }

  void ReadHistory(Section& root) {
    Section history = Inside(root, "history");
    history.Bool("outputCollection", config_.history.output_collection);
    history.Bool("snapshotProject", config_.history.snapshot_project);
    history.Texts("directoriesToWatch", config_.history.directories_to_watch);
    for (size_t i = 0; i < config_.history.directories_to_watch.size(); ++i) {
      const std::string& folder = config_.history.directories_to_watch[i];
      auto parts = Split(folder, '/');
      if (folder.empty() || folder[0] == '/' || std::find(parts.begin(), parts.end(), "..") != parts.end())
        report_.Wrong(history.LineOf("directoriesToWatch"), StrCat("history.directoriesToWatch[", i, "]"), "a folder inside of the source folder",
                      StrCat("'", folder, "'"));
    }
    // The schema allows further keys here.
    history.TakeAny();
  }

  // --- the environment

  void ReadEnvironment(Section& root) {
    Section section = Inside(root, "environment");
    model::Environment& environment = config_.environment;
    section.Text("name", environment.name);
    section.Text("version", environment.version);
    config_.environment_named = !environment.name.empty();
    for (const auto& member : section.members()) {
      const std::string key = ToLower(member.key);
      if (key != "name" && key != "version" && !IsAbsent(member.value)) config_.environment_named = false;
    }
    section.TextMap("environmentVariables", environment.variables);
    ReadDocker(section);
    ReadContainer(root);
    ReadPython(section);
    ReadLibraries(section);
    root.TextMap("environmentVariables", environment.variables);
    for (const auto& [name, value] : environment.variables)
      if (name.empty() || name.find('=') != std::string::npos)
        report_.Wrong(section.LineOf("environmentVariables"), "environment.environmentVariables", "names of variables without '='", StrCat("'", name, "'"));
    const bool instead = !given_.environment_name.empty() || !given_.conda_file.empty() || !given_.interpreter.empty();
    if (!section.present() && !instead) report_.Wrong(root.line(), "environment", "a section that says what the script needs", "nothing");
    if (!given_.environment_name.empty()) {
      auto reference = model::ParseEnvironmentReference(given_.environment_name, "--environment-name");
      if (!reference.ok()) return report_.Refuse(0, {}, reference.error().message);
      model::Environment named;
      named.name = reference->name;
      if (reference->version > 0) named.version = StrCat(reference->version);
      named.variables = std::move(environment.variables);
      environment = std::move(named);
      config_.environment_named = true;
    }
    if (config_.environment_named && !environment.version.empty() && !model::ParseEnvironmentReference(StrCat("x@", environment.version), {}).ok())
      report_.Wrong(section.LineOf("version"), "environment.version", "latest or a whole number from 1", StrCat("'", environment.version.substr(0, 80), "'"));
  }

  void ReadPython(Section& section) {
    model::Environment& environment = config_.environment;
    Section python = Inside(section, "python");
    std::string interpreter = "python", file;
    python.Text("interpreterPath", interpreter);
    python.Bool("userManagedDependencies", environment.user_managed);
    python.Text("baseCondaEnvironment", config_.base_conda_environment);
    const yaml::Node* conda = python.Take("condaDependencies");
    python.Text("condaDependenciesFile", file);
    std::vector<std::string> requirements;
    python.Texts("pipRequirements", requirements);
    if (!given_.environment_name.empty()) return;
    if (config_.environment_named && (!given_.interpreter.empty() || !given_.conda_file.empty())) {
      environment.name.clear();
      environment.version.clear();
      config_.environment_named = false;
    }
    if (!given_.conda_file.empty()) {
      environment.user_managed = false;
      return ReadCondaFile(given_.conda_file, 0, {});
    }
    if (!given_.interpreter.empty()) {
      interpreter = given_.interpreter;
      environment.user_managed = true;
    }
    if (environment.user_managed) {
      if (interpreter != "python") environment.interpreter = interpreter;
      return;
    }
    if (config_.environment_named || !section.present()) return;
    environment.conda.pip = requirements;
    if (conda) {
      ReadCondaNode(report_, *conda, python.FieldOf("condaDependencies"), {}, lookup_, environment.conda);
      if (!file.empty())
        report_.Warn(python.LineOf("condaDependenciesFile"), python.FieldOf("condaDependenciesFile"), "is not used, because condaDependencies is there too");
      return;
    }
    if (!file.empty()) return ReadCondaFile(file, python.LineOf("condaDependenciesFile"), python.FieldOf("condaDependenciesFile"));
    if (!requirements.empty()) return;
    for (const char* usual : {kDefaultCondaFile, "aml_config/conda_dependencies.yml"})
      if (auto text = lookup_(usual); text.ok()) return ReadCondaText(*text, usual, lookup_, reading_.errors, reading_.warnings, environment.conda);
    report_.Wrong(python.line(), "environment.python", "condaDependencies or condaDependenciesFile, because userManagedDependencies is false",
                  StrCat("neither, and no ", kDefaultCondaFile));
  }

  void ReadCondaFile(const std::string& file, int line, const std::string& field) {
    auto text = lookup_(file);
    if (!text.ok()) return report_.Refuse(line, field, text.error().message);
    ReadCondaText(*text, file, lookup_, reading_.errors, reading_.warnings, config_.environment.conda);
  }

  void ReadDocker(Section& section) {
    model::DockerSection& to = config_.environment.docker;
    Section docker = Inside(section, "docker");
    docker.Bool("enabled", to.enabled);
    docker.Bool("sharedVolumes", to.shared_volumes);
    docker.Bool("gpuSupport", to.gpu);
    docker.Texts("arguments", to.arguments);
    ReadShmSize(docker, to.shm_size);
    docker.Text("baseImage", to.base_image);
    std::string dockerfile;
    if (docker.Text("baseDockerfile", dockerfile)) ReadDockerfile(docker, dockerfile);
    {
      Section context = Inside(docker, "buildContext");
      context.Text("location", config_.docker_context);
      context.Text("dockerfilePath", to.context_dockerfile);
      context.Take("locationType");
      if (context.present() && config_.docker_context.empty())
        report_.Wrong(context.line(), context.FieldOf("location"), "the folder of the build context", "nothing");
    }
    const int ways = !to.base_image.empty() + !dockerfile.empty() + !config_.docker_context.empty();
    if (ways > 1)
      report_.Refuse(docker.LineOf(dockerfile.empty() ? "buildContext" : "baseDockerfile"), docker.path(),
                     "baseImage, baseDockerfile and buildContext exclude each other; expected one of them");
    {
      Section preparation = Inside(docker, "preparation");
      preparation.Text("commandLine", config_.docker_preparation);
    }
    {
      Section registry = Inside(docker, "baseImageRegistry");
      registry.Text("address", to.registry_address);
      registry.Text("username", to.registry_username);
      registry.Text("password", to.registry_password);
      registry.Take("registryIdentity");
      if (!to.registry_username.empty() && to.registry_password.empty())
        report_.Wrong(registry.LineOf("username"), registry.FieldOf("password"), "a password, because there is a username", "nothing");
    }
    docker.Take("platform");
  }

  void ReadShmSize(Section& section, std::string& to) {
    std::string size;
    if (!section.Text("shmSize", size)) return;
    std::string_view digits = size;
    if (!digits.empty() && std::string_view("bkmgBKMG").find(digits.back()) != std::string_view::npos) digits.remove_suffix(1);
    auto number = ParseInt(digits);
    if (number && *number > 0)
      to = size;
    else
      report_.Wrong(section.LineOf("shmSize"), section.FieldOf("shmSize"), "a size such as 2g or 512m", StrCat("'", size, "'"));
  }

  // A Dockerfile's text, or the name of a file that holds it.
  void ReadDockerfile(Section& docker, const std::string& value) {
    const std::string lower = ToLower(value.substr(0, 5));
    if (value.find('\n') != std::string::npos || lower == "from " || lower.starts_with("#") || lower.starts_with("arg ")) {
      config_.environment.docker.dockerfile = value;
      return;
    }
    auto text = lookup_(value);
    if (text.ok())
      config_.environment.docker.dockerfile = *text;
    else
      report_.Refuse(docker.LineOf("baseDockerfile"), docker.FieldOf("baseDockerfile"), text.error().message);
  }

  // The newer section beside the environment wins over the one inside of it.
  void ReadContainer(Section& root) {
    model::DockerSection& to = config_.environment.docker;
    Section docker = Inside(root, "docker");
    if (docker.Bool("useDocker", config_.use_docker)) to.enabled = config_.use_docker;
    docker.Bool("sharedVolumes", to.shared_volumes);
    docker.Texts("arguments", to.arguments);
    ReadShmSize(docker, to.shm_size);
    if (!to.enabled) return;
    if (to.shm_size.empty()) to.shm_size = kDefaultShmSize;
    if (to.base_image.empty() && to.dockerfile.empty() && config_.docker_context.empty() && !config_.environment_named) to.base_image = kDefaultImage;
  }

  void ReadLibraries(Section& section) {
    {
      Section spark = Inside(section, "spark");
      spark.Texts("repositories", config_.spark_libraries.repositories);
      spark.Bool("precachePackages", config_.spark_libraries.precache_packages);
      const yaml::Node* packages = spark.Take("packages");
      if (packages && !packages->is_sequence()) report_.Wrong(packages->line, spark.FieldOf("packages"), "a list of packages", Found(*packages));
      if (packages)
        for (size_t i = 0; i < packages->items.size(); ++i) {
          Section package(report_, &packages->items[i], StrCat(spark.FieldOf("packages"), "[", i, "]"), packages->items[i].line);
          SparkPackage& one = config_.spark_libraries.packages.emplace_back();
          package.Text("group", one.group);
          package.Text("artifact", one.artifact);
          package.Text("version", one.version);
        }
    }
    {
      Section databricks = Inside(section, "databricks");
      for (const char* kind : {"mavenLibraries", "pypiLibraries", "rcranLibraries", "jarLibraries", "eggLibraries"})
        if (const yaml::Node* list = databricks.Take(kind)) {
          if (list->is_sequence())
            config_.databricks.Set(kind, yaml::ToJson(*list));
          else
            report_.Wrong(list->line, databricks.FieldOf(kind), "a list", Found(*list));
        }
    }
    section.Text("inferencingStackVersion", config_.inferencing_stack_version);
    section.Take("r");
  }

  // --- frameworks and targets

  void ReadFrameworks(Section& root) {
    {
      Section spark = Inside(root, "spark");
      spark.TextMap("configuration", config_.spark);
      Need(root, spark, config_.framework == "PySpark", "framework", "PySpark");
    }
    {
      Section hdi = Inside(root, "hdi");
      hdi.Word("yarnDeployMode", config_.yarn_deploy_mode, {"None", "Client", "Cluster"});
    }
    {
      Section tensorflow = Inside(root, "tensorflow");
      tensorflow.Int("workerCount", config_.tensorflow.worker_count, 1, kMaxCount);
      tensorflow.Int("parameterServerCount", config_.tensorflow.parameter_server_count, 0, kMaxCount);
      Need(root, tensorflow, config_.framework == "TensorFlow", "framework", "TensorFlow");
    }
    {
      Section mpi = Inside(root, "mpi");
      mpi.Int("processCountPerNode", config_.mpi_processes_per_node, 1, kMaxCount);
      mpi.Take("nodeCount");
      Need(root, mpi, config_.communicator == "Mpi", "communicator", "Mpi");
    }
    {
      Section pytorch = Inside(root, "pytorch");
      pytorch.Word("communicationBackend", config_.pytorch.backend, {"Nccl", "Gloo", "Mpi"});
      pytorch.Int("processCount", config_.pytorch.process_count, 1, kMaxCount);
      pytorch.Take("nodeCount");
    }
    {
      Section compute = Inside(root, "amlCompute");
      compute.Text("name", config_.aml_compute.name);
      compute.Text("vmSize", config_.aml_compute.vm_size);
      compute.Word("vmPriority", config_.aml_compute.vm_priority, {"dedicated", "lowpriority"});
      compute.Bool("retainCluster", config_.aml_compute.retain_cluster);
      compute.Int("clusterMaxNodeCount", config_.aml_compute.cluster_max_node_count, 1, kMaxCount);
      Need(root, compute, config_.target == "amlcompute", "target", "amlcompute");
    }
    {
      Section instance = Inside(root, "containerInstance");
      instance.Text("region", config_.container_instance.region);
      instance.Positive("cpuCores", config_.container_instance.cpu_cores);
      instance.Positive("memoryGb", config_.container_instance.memory_gb);
      Need(root, instance, config_.target == "containerinstance", "target", "containerinstance");
    }
    {
      Section kubernetes = Inside(root, "kubernetescompute");
      kubernetes.Text("instanceType", config_.kubernetes_instance_type);
    }
    {
      Section batch = Inside(root, "batchAi");
      batch.Int("nodeCount", config_.batch_ai_node_count, 1, kMaxCount);
    }
    if (const yaml::Node* ports = root.Take("exposedPorts")) {
      if (!ports->is_sequence()) report_.Wrong(ports->line, "exposedPorts", "a list of port numbers", Found(*ports));
      for (size_t i = 0; i < ports->items.size(); ++i) {
        auto port = ports->items[i].is_scalar() ? ParseInt(ports->items[i].text) : std::nullopt;
        if (port && *port >= 1 && *port <= 65535)
          config_.exposed_ports.push_back(*port);
        else
          report_.Wrong(ports->items[i].line, StrCat("exposedPorts[", i, "]"), "a port number from 1 to 65535", Found(ports->items[i]));
      }
    }
  }

  void Need(Section& root, Section& section, bool needed, const char* because, const char* is) {
    if (needed && !section.present())
      report_.Wrong(root.LineOf(because), section.path(), StrCat("a section '", section.path(), "', because ", because, " is ", is), "nothing");
  }

  // --- data

  void ReadData(Section& root) {
    {
      Section references = Inside(root, "dataReferences");
      references.TakeAny();
      for (const auto& member : references.members()) {
        Section section(report_, &member.value, references.FieldOf(member.key), member.line);
        DataReference& one = config_.data_references[member.key];
        section.Text("dataStoreName", one.datastore);
        section.Word("mode", one.mode, {"Mount", "Download", "Upload"});
        section.Text("pathOnDataStore", one.path_on_datastore);
        section.Text("pathOnCompute", one.path_on_compute);
        section.Bool("overwrite", one.overwrite);
      }
    }
    {
      Section data = Inside(root, "data");
      data.TakeAny();
      for (const auto& member : data.members()) {
        Section section(report_, &member.value, data.FieldOf(member.key), member.line);
        Data& one = config_.data[member.key];
        if (const yaml::Node* location = section.Take("dataLocation")) one.location = yaml::ToJson(*location);
        if (!NamesData(one.location))
          report_.Wrong(section.line(), section.FieldOf("dataLocation"), "a dataset (dataset.id), a path (dataPath) or an address (uri)", "nothing");
        section.Bool("createOutputDirectories", one.create_output_directories);
        section.Word("mechanism", one.mechanism, {"Mount", "Download", "Direct"});
        section.Text("environmentVariableName", one.variable);
        section.Text("pathOnCompute", one.path_on_compute);
        section.Bool("overwrite", one.overwrite);
      }
    }
    if (const yaml::Node* output = root.Take("outputData")) {
      if (output->is_map())
        config_.output_data = yaml::ToJson(*output);
      else
        report_.Wrong(output->line, "outputData", "outputs by name", Found(*output));
    }
    if (const yaml::Node* caches = root.Take("datacaches")) config_.data_caches = yaml::ToJson(*caches);
  }

  Reading& reading_;
  RunConfig& config_;
  const Lookup& lookup_;
  const Given& given_;
  Report report_;
};

}  // namespace

Reading Read(const yaml::Node& node, const std::string& file, const Lookup& lookup, const Given& given) {
  Reading reading;
  reading.file = file;
  Reader(reading, lookup, given).ReadRoot(node);
  // As they stand in the file; those of other files behind.
  auto order = [&](const Problem& a, const Problem& b) { return std::tuple(a.file != file, a.file, a.line) < std::tuple(b.file != file, b.file, b.line); };
  std::stable_sort(reading.errors.begin(), reading.errors.end(), order);
  std::stable_sort(reading.warnings.begin(), reading.warnings.end(), order);
  return reading;
}

}  // namespace ferry::runconfig
