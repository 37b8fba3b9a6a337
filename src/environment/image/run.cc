#include "environment/image/run.h"

#include <algorithm>
#include <chrono>

#include "base/hash.h"
#include "base/text.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::environment {
namespace {

// Variables that change what the engine does when they stand in its own environment.
bool EngineReads(std::string_view name) {
  static constexpr std::string_view kNames[] = {"PATH",
                                                "HOME",
                                                "TMPDIR",
                                                "USER",
                                                "LOGNAME",
                                                "LISTEN_FDS",
                                                "LISTEN_PID",
                                                "NOTIFY_SOCKET",
                                                "SSL_CERT_FILE",
                                                "SSL_CERT_DIR",
                                                "GODEBUG",
                                                "GOGC",
                                                "GOMAXPROCS",
                                                "GOMEMLIMIT",
                                                "GOTRACEBACK",
                                                "CONTAINER_HOST",
                                                "CONTAINER_CONNECTION",
                                                "CONTAINER_SSHKEY",
                                                "STORAGE_DRIVER",
                                                "STORAGE_OPTS",
                                                "REGISTRY_AUTH_FILE",
                                                "DBUS_SESSION_BUS_ADDRESS",
                                                "DOCKER_HOST",
                                                "DOCKER_CONFIG",
                                                "DOCKER_CONTEXT",
                                                "DOCKER_TLS_VERIFY",
                                                "DOCKER_CERT_PATH",
                                                "DOCKER_API_VERSION",
                                                "DOCKER_DEFAULT_PLATFORM",
                                                "DOCKER_CONTENT_TRUST"};
  static constexpr std::string_view kPrefixes[] = {"LD_", "XDG_", "CONTAINERS_", "_CONTAINERS_", "BUILDAH_"};
  for (std::string_view known : kNames)
    if (name == known) return true;
  for (std::string_view prefix : kPrefixes)
    if (name.starts_with(prefix)) return true;
  return false;
}

bool Has(const std::vector<std::string>& arguments, std::string_view option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& a) { return a == option || a.starts_with(StrCat(option, "=")); });
}

// `options` end the mount: ":ro", ":O" for one whose changes are dropped.
Result<void> Mount(std::vector<std::string>& argv, const std::string& path, const std::string& options = {}) {
  if (path.find(':') == std::string::npos) {
    argv.insert(argv.end(), {"--volume", StrCat(path, ":", path, options)});
    return {};
  }
  if (path.find_first_of(",\"") != std::string::npos || options == ":O")
    return MakeError(Code::kInvalid, "container.path",
                     StrCat("'", path, "' cannot be mounted into a container: its name has a ':'; give the agent another home"), "path");
  argv.insert(argv.end(), {"--mount", StrCat("type=bind,source=", path, ",destination=", path, options.empty() ? "" : ",readonly")});
  return {};
}

}  // namespace

Result<ContainerStart> ContainerCommand(const Ready& ready, const model::DockerSection& docker, const RunPlan& plan) {
  const Engine& engine = plan.engine;
  const bool podman = engine.kind == Engine::Kind::kPodman;
  ContainerStart start;
  std::vector<std::string>& argv = start.argv;
  argv = {engine.program, "run", "--rm", "--init", "--pull=never", "--name", plan.name, "--entrypoint", "", "--workdir", plan.work};
  // The output goes to whoever started us; the engine keeps no copy.
  argv.insert(argv.end(), {"--log-driver", "none", "--pids-limit", "-1", "--security-opt", "label=disable"});
  if (podman) argv.push_back("--replace");

  // What the script writes belongs to the agent's user.
  if (podman && engine.rootless)
    argv.push_back("--userns=keep-id");
  else
    argv.insert(argv.end(), {"--user", engine.rootless ? "0:0" : StrCat(plan.uid, ":", plan.gid)});
  // The script reaches its supervisor over the loopback.
  if (!Has(docker.arguments, "--network") && !Has(docker.arguments, "--net")) argv.insert(argv.end(), {"--network", "host"});
  if (!docker.shm_size.empty() && !Has(docker.arguments, "--ipc")) argv.insert(argv.end(), {"--shm-size", docker.shm_size});
  if (plan.cpus > 0) argv.insert(argv.end(), {"--cpus", StrCat(plan.cpus)});
  if (plan.memory > 0) argv.insert(argv.end(), {"--memory", StrCat(plan.memory), "--memory-swap", StrCat(plan.memory)});
  if (!plan.gpus.empty()) {
    std::string devices;
    for (int gpu : plan.gpus) {
      if (podman) argv.insert(argv.end(), {"--device", StrCat("nvidia.com/gpu=", gpu)});
      devices += StrCat(devices.empty() ? "" : ",", gpu);
    }
    // The quotes are docker's: a comma would end the value.
    if (!podman) argv.insert(argv.end(), {"--gpus", StrCat("\"device=", devices, "\"")});
  }

  if (docker.shared_volumes) {
    TRY_VOID(Mount(argv, plan.work));
  } else {
    if (!podman)
      return MakeError(Code::kInvalid, "container.shared_volumes",
                       "docker.sharedVolumes is false, which needs podman; this node has docker: remove it or set it to true", "docker.sharedVolumes");
    TRY_VOID(Mount(argv, plan.work, ":O"));
    for (const std::string& folder : plan.collected) TRY_VOID(Mount(argv, folder));
  }
  for (const std::string& folder : plan.folders) TRY_VOID(Mount(argv, folder));
  if (!plan.sdk.empty()) TRY_VOID(Mount(argv, plan.sdk, ":ro"));

  std::map<std::string, std::string> variables = ready.variables;
  if (plan.uid != 0 && !(engine.rootless && !podman)) variables.insert({{"HOME", "/tmp"}, {"USER", "ferry"}});
  for (const auto& [name, value] : plan.variables) variables[name] = value;
  if (!plan.sdk.empty()) {
    std::string& path = variables["PYTHONPATH"];
    if (path != plan.sdk && !path.starts_with(StrCat(plan.sdk, ":"))) path = path.empty() ? plan.sdk : StrCat(plan.sdk, ":", path);
  }
  // Inside, the devices that were given are all there are, counted from 0.
  if (!plan.gpus.empty()) {
    std::string& visible = variables["CUDA_VISIBLE_DEVICES"];
    visible.clear();
    for (size_t i = 0; i < plan.gpus.size(); ++i) visible += StrCat(i ? "," : "", i);
  }
  for (const auto& [name, value] : variables) {
    if (name.empty() || name.find('=') != std::string::npos)
      return MakeError(Code::kInvalid, "container.variable", StrCat("'", name.substr(0, 80), "' is no name of a variable"), "environmentVariables");
    if (EngineReads(name)) {
      argv.insert(argv.end(), {"--env", StrCat(name, "=", value)});
      continue;
    }
    argv.insert(argv.end(), {"--env", name});
    start.environment[name] = value;
  }
  for (const std::string& name : plan.later)
    if (!variables.count(name)) argv.insert(argv.end(), {"--env", name});

  argv.insert(argv.end(), docker.arguments.begin(), docker.arguments.end());
  argv.push_back(ready.image);
  argv.insert(argv.end(), plan.argv.begin(), plan.argv.end());
  return start;
}

std::string ContainerName(std::string_view attempt) {
  std::string name = "ferry-";
  for (char c : attempt) name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ? c : '_';
  // Two attempts never share a name.
  if (name.substr(6) != attempt || name.size() > 120) name = StrCat(name.substr(0, 100), "-", HashBytes(attempt).Hex().substr(0, 12));
  return name;
}

std::vector<std::string> EndCommand(const Engine& engine, const std::string& name) {
  std::vector<std::string> argv = {engine.program, "rm", "--force", "--volumes"};
  if (engine.kind == Engine::Kind::kPodman) argv.insert(argv.end(), {"--ignore", "--time", "0"});
  argv.push_back(name);
  return argv;
}

Result<void> EndContainer(const Engine& engine, const std::string& name) {
  auto removed = os::OutputOf(EndCommand(engine, name), std::chrono::minutes(1));
  if (removed.ok() || removed.error().message.find("No such container") != std::string::npos) return {};
  return MakeError(Code::kInternal, "container.not_removed", StrCat("container ", name, " could not be removed: ", removed.error().message));
}

}  // namespace ferry::environment
