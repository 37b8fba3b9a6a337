// An environment as a folder of files, as Azure's tools write it: azureml_environment.json, conda_dependencies.yml and BaseDockerfile.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/environment.h"

namespace ferry::cli {

// The definition that the folder holds, as Azure's JSON with the conda specification and the Dockerfile inside of it. Errors name the file. A Dockerfile
// of nothing but comments is none. `warnings` gets what has no effect.
Result<Json> ReadEnvironmentFolder(const std::string& folder, std::vector<std::string>& warnings);

// Writes the files and returns their paths; the folder is made. kConflict "environment.exists" names a file that is there, unless `overwrite`.
Result<std::vector<std::string>> WriteEnvironmentFolder(const std::string& folder, const model::Environment& environment, bool overwrite);

// What a new folder holds: a Python with what a script needs to log.
model::Environment ScaffoldedEnvironment(const std::string& name);

}  // namespace ferry::cli
