// The container engine of a node, podman or docker. What the two do differently is told here and in run.cc's flags, and nowhere else.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "environment/builder.h"

namespace ferry::environment {

struct Engine {
  enum class Kind { kPodman, kDocker };
  Kind kind = Kind::kPodman;
  std::string program;    // absolute
  bool rootless = false;  // containers' root is this user
};

// The engine that `settings` names, else podman, else docker, as its path finds them. Looks at files only. kNotFound "engine.not_found" says what to install.
Result<Engine> FindEngine(const Settings& settings);

// What one `build` is told.
struct BuildPlan {
  std::string tag;
  std::string dockerfile;  // a path
  std::string context;     // a folder
  std::string auth;        // a folder with config.json; "" for none
  std::string mark;        // a host's name that nobody has; finds what an ended build left behind, see RemoveRemains
  bool cached = true;      // steps that were done before are taken from the engine's cache
};
std::vector<std::string> BuildCommand(const Engine& engine, const BuildPlan& plan);
std::vector<std::string> PullCommand(const Engine& engine, const std::string& image, const std::string& auth);
// Takes a name away; the image stays for as long as something stands on it, and its layers as a cache.
std::vector<std::string> UntagCommand(const Engine& engine, const std::string& image);
// Variables that every command of a build needs beside this process's own. `scratch` is a folder for the engine's temporary files.
std::map<std::string, std::string> EngineVariables(const Engine& engine, const std::string& auth, const std::string& scratch);

// The name as a registry is asked for it: "python:3.11" is "docker.io/library/python:3.11". One with a registry stays as it is.
std::string FullName(std::string_view image);

// The id of a local image, "sha256:..."; "" when there is none by that name.
Result<std::string> ImageId(const Engine& engine, const std::string& name);

// Ends and removes what a build with this mark began and, being killed, left running: podman's RUN processes and containers outlive it. Removes
// `scratch`, too. Idempotent; what cannot be removed stays.
void RemoveRemains(const Engine& engine, const std::string& mark, const std::string& scratch);
// The name of what the Python layer of an image stands on, where Ferry built that, too.
std::string BaseName(const std::string& name);
// Removes an image that Ferry made, and what it stands on. One that is not there is success; one in use is kConflict "engine.image_in_use".
Result<void> RemoveImage(const Engine& engine, const std::string& name);

// The content of a registry configuration file with one login.
std::string AuthFile(const std::string& address, const std::string& username, const std::string& password);

}  // namespace ferry::environment
