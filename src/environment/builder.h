// Making environments on a node: the seam that venv, conda and image implement. Each has one conformance suite, conformance.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/environment.h"

namespace ferry::environment {

// An environment that is whole, and how a script is started in it. Kept as `ready.json` in its folder, written last: without it there is no environment.
struct Ready {
  std::string folder;                            // what was built, "" when nothing lies on the disk
  std::string interpreter;                       // the program to start a Python script with; inside the image for an image
  std::vector<std::string> path;                 // put in front of PATH
  std::map<std::string, std::string> variables;  // VIRTUAL_ENV, CONDA_PREFIX, ...
  std::string image;                             // the image's id; "" for none
  model::Lock lock;
};
Json ToJson(const Ready& ready);
Result<Ready> ReadyFromJson(const Json& json);

struct Settings {
  std::string tools;                                 // folder for tools that Ferry installs for itself (py-rattler), made when needed
  std::string cache;                                 // folder for downloads that outlive an environment
  std::string sdk;                                   // folder of Ferry's own `azureml` package, which stands for azureml-core and its like
  bool strict = false;                               // conda specifications are never built from PyPI
  std::string path;                                  // PATH to look for python, uv, micromamba, mamba, conda, podman and docker
  std::string container_engine;                      // "podman" or "docker", or a path; empty: the first that is found
  std::map<std::string, std::string> image_aliases;  // "mcr.microsoft.com/azureml/*" -> "recipe:NAME" or another image's name
};

struct Job {
  const model::Environment& definition;
  std::string folder;                              // where it will stand for good; does not exist yet, its parent does
  std::string mark;                                // value of FERRY_ATTEMPT for every process of the build, so that all of them can be found and ended
  std::function<void(std::string_view line)> log;  // the build's log, line by line without the newline, as it happens
  std::function<bool()> stopping;                  // asked at least twice a second; true: end everything and return kCanceled
  // The folder of a build context, fetched for the job; "" when the definition has none.
  std::string context;
};

class Builder {
 public:
  virtual ~Builder() = default;
  // Makes the environment in job.folder, all but ready.json. On failure whatever is left in the folder is the caller's to remove. The error's message is
  // one sentence for the user that names the package, the constraint and the line of the specification where that is known; the log has the rest.
  virtual Result<Ready> Build(const Job& job) = 0;
  // Makes an environment that was built elsewhere under `before` and unpacked at ready.folder work there. kInvalid: it has to be built here.
  virtual Result<void> Relocate(const Ready& ready, const std::string& before) = 0;
};

// A failed build's log as one sentence: which package, which constraint. `specification` names the lines.
Error Explain(const model::Environment& definition, std::string_view tool, const std::vector<std::string>& last_lines, int status);

}  // namespace ferry::environment
