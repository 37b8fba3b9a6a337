#include "environment/image/engine.h"

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "base/text.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::environment {
namespace {

constexpr auto kPatience = std::chrono::minutes(2);

// Where podman looks for the init that it puts into a container.
constexpr const char* kInitFolders = "/usr/libexec/podman:/usr/lib/podman:/usr/local/libexec/podman:/usr/local/lib/podman:/usr/libexec/catatonit:/usr/bin";

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) out += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

}  // namespace

Result<Engine> FindEngine(const Settings& settings) {
  std::vector<std::string> names = {"podman", "docker"};
  if (!settings.container_engine.empty()) names = {settings.container_engine};
  for (const std::string& name : names) {
    auto program = os::FindProgram(name, settings.path);
    if (!program) continue;
    Engine engine;
    engine.program = *program;
    std::string base = program->substr(program->rfind('/') + 1);
    engine.kind = base.find("docker") != std::string::npos ? Engine::Kind::kDocker : Engine::Kind::kPodman;
    if (engine.kind == Engine::Kind::kDocker) {
      engine.rootless = os::GetEnv("DOCKER_HOST").value_or("").find("/run/user/") != std::string::npos;
      return engine;
    }
    engine.rootless = os::UserId() != 0;
    // Without an init the script would be process 1, which SIGTERM does not end.
    if (!os::FindProgram("catatonit", StrCat(kInitFolders, ":", settings.path)))
      return MakeError(Code::kNotFound, "engine.no_init",
                       "podman is here but not 'catatonit', which it needs to start a script; install the package catatonit");
    return engine;
  }
  if (!settings.container_engine.empty())
    return MakeError(Code::kNotFound, "engine.not_found",
                     StrCat("the container engine '", settings.container_engine,
                            "' is not there or cannot be executed on this node; install it or change the setting container-engine"));
  return MakeError(Code::kNotFound, "engine.not_found",
                   StrCat("this environment is an image, and there is neither podman nor docker on the node's PATH (", settings.path,
                          "); install one, on Debian: apt-get install podman runc catatonit"));
}

std::vector<std::string> BuildCommand(const Engine& engine, const BuildPlan& plan) {
  std::vector<std::string> argv = {engine.program, "build", "--network", "host", "--tag", plan.tag, "--file", plan.dockerfile};
  if (engine.kind == Engine::Kind::kPodman) {
    argv.insert(argv.end(), {"--pull=never", "--force-rm", "--format", "docker"});
    // Kept in what podman writes down about each of the build's containers.
    argv.insert(argv.end(), {"--add-host", StrCat(plan.mark, ":127.0.0.1")});
    if (!plan.auth.empty()) argv.insert(argv.end(), {"--authfile", os::JoinPath(plan.auth, "config.json")});
    // Without the cache it is one layer, not one for each step.
    if (!plan.cached) argv.push_back("--layers=false");
  } else {
    argv.push_back("--progress=plain");
  }
  argv.push_back(plan.context);
  return argv;
}

std::vector<std::string> PullCommand(const Engine& engine, const std::string& image, const std::string& auth) {
  std::vector<std::string> argv = {engine.program, "pull"};
  if (engine.kind == Engine::Kind::kPodman && !auth.empty()) argv.insert(argv.end(), {"--authfile", os::JoinPath(auth, "config.json")});
  argv.push_back(image);
  return argv;
}

std::vector<std::string> UntagCommand(const Engine& engine, const std::string& image) {
  if (engine.kind == Engine::Kind::kPodman) return {engine.program, "untag", image};
  return {engine.program, "rmi", "--no-prune", image};
}

std::map<std::string, std::string> EngineVariables(const Engine& engine, const std::string& auth, const std::string& scratch) {
  std::map<std::string, std::string> out = {{"TMPDIR", scratch}};
  if (engine.kind == Engine::Kind::kPodman) return out;
  out["DOCKER_BUILDKIT"] = "1";
  if (!auth.empty()) out["DOCKER_CONFIG"] = auth;
  return out;
}

std::string FullName(std::string_view image) {
  size_t slash = image.find('/');
  if (slash == std::string_view::npos) return StrCat("docker.io/library/", image);
  std::string_view first = image.substr(0, slash);
  if (first.find_first_of(".:") != std::string_view::npos || first == "localhost") return std::string(image);
  return StrCat("docker.io/", image);
}

Result<std::string> ImageId(const Engine& engine, const std::string& name) {
  auto said = os::OutputOf({engine.program, "image", "inspect", "--format", "{{.Id}}", name}, kPatience);
  if (!said.ok()) {
    const std::string& why = said.error().message;
    bool unknown = false;
    for (const char* phrase : {"no such image", "No such image", "image not known", "failed to find image"})
      unknown = unknown || why.find(phrase) != std::string::npos;
    if (unknown) return std::string();
    return MakeError(Code::kUnavailable, "engine.failed", StrCat("the container engine does not work on this node: ", why));
  }
  std::string id(Trim(*said));
  return id.starts_with("sha256:") ? id : StrCat("sha256:", id);
}

void RemoveRemains(const Engine& engine, const std::string& mark, const std::string& scratch) {
  // Docker's daemon ends a build by itself when its client goes.
  if (engine.kind == Engine::Kind::kPodman) {
    auto told = os::OutputOf({engine.program, "info", "--format", "{{.Store.GraphRoot}}\n{{.Store.GraphDriverName}}\n{{.Host.OCIRuntime.Path}}"}, kPatience);
    if (!told.ok()) return;
    auto lines = Split(*told, '\n');
    if (lines.size() < 3) return;
    // Each RUN is a container of the runtime, named after its folder among the temporary files.
    auto bundles = os::ListFolder(scratch);
    for (const os::DirEntry& bundle : bundles.ValueOr({})) {
      if (!bundle.name.starts_with("buildah")) continue;
      std::vector<std::string> argv = {std::string(lines[2]), "delete", "--force", StrCat("buildah-", bundle.name)};
      if (engine.rootless) argv.insert(argv.begin(), {engine.program, "unshare"});
      (void)os::OutputOf(argv, kPatience);
    }
    std::string folder = StrCat(lines[0], "/", lines[1], "-containers");
    auto containers = os::ListFolder(folder);
    for (const os::DirEntry& container : containers.ValueOr({})) {
      if (container.type != os::FileType::kFolder) continue;
      auto about = os::ReadFile(StrCat(folder, "/", container.name, "/userdata/buildah.json"), 16u << 20);
      if (!about.ok() || about->find(StrCat("\"", mark, ":127.0.0.1\"")) == std::string::npos) continue;
      (void)os::OutputOf({engine.program, "rm", "--force", "--time", "0", container.name}, kPatience);
    }
  }
  (void)os::RemoveAll(scratch);
}

std::string BaseName(const std::string& name) { return StrCat(name, "-base"); }

Result<void> RemoveImage(const Engine& engine, const std::string& name) {
  for (const std::string& one : {name, BaseName(name)}) {
    TRY(std::string id, ImageId(engine, one));
    if (id.empty()) continue;
    if (auto removed = os::OutputOf({engine.program, "rmi", one}, kPatience); !removed.ok())
      return MakeError(Code::kConflict, "engine.image_in_use", StrCat("image ", one, " cannot be removed: ", removed.error().message));
  }
  return {};
}

std::string AuthFile(const std::string& address, const std::string& username, const std::string& password) {
  Json login = Json::MakeObject({{"auth", Base64(StrCat(username, ":", password))}});
  std::string where = address.empty() ? "https://index.docker.io/v1/" : address;
  return Json::MakeObject({{"auths", Json::MakeObject({{where, std::move(login)}})}}).Dump();
}

}  // namespace ferry::environment
