// The Python layer of an image: a virtual environment at /opt/ferry/venv, made inside the image from a conda or pip specification.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/environment.h"

namespace ferry::environment {

inline constexpr const char* kLayerFolder = "/opt/ferry/venv";

struct LayerPlan {
  std::vector<std::string> pins;        // on Python itself: ">=3.8,<3.11"
  std::vector<std::string> only_conda;  // what pip cannot install: these need conda in the image
  std::vector<std::string> tools;       // pip and the like with the versions asked for, as requirements
  std::vector<std::string> requirements;
  bool exact = false;  // from a lock: nothing but these
  Json conda;          // the whole as a conda specification
  std::vector<std::string> notes;

  bool empty() const { return pins.empty() && only_conda.empty() && tools.empty() && requirements.empty(); }
};
// Pure. Names that Ferry's own package stands for are left out, with a note.
Result<LayerPlan> PlanLayer(const model::Environment& definition);

// How pip reaches its index on this node, as variables: from the texts of its configuration files (later ones win), then from `environment`.
// Only what makes sense inside an image. Pure.
std::map<std::string, std::string> PipVariables(const std::vector<std::string>& configurations, const std::map<std::string, std::string>& environment);

// Fills `folder` with all that the build needs: a Dockerfile on top of `base` and the files beside it. `pip` is a wheel to lend to an image without pip,
// "" for none; `certificates` a file, "" for none.
Result<void> WriteLayer(const LayerPlan& plan, const std::string& folder, const std::string& base, const std::map<std::string, std::string>& pip_variables,
                        const std::string& pip, const std::string& certificates);

// The sentence that the layer's script ended with; "" when it said none.
std::string LayerError(const std::vector<std::string>& last_lines);

}  // namespace ferry::environment
