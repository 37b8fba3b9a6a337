// Run configurations of a folder: found by name, read with what the command line says instead, and turned into a submission.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/context.h"
#include "runconfig/config.h"

namespace ferry::cli {

// A configuration's file.
struct ConfigurationFile {
  std::string path;
  std::string shown;   // as messages name it
  std::string name;    // without folder and ending
  std::string source;  // the folder that paths in it start from
};
// `name` in `.azureml` or `aml_config` of the source folder, with or without its ending (.runconfig, .yml, .yaml, .json), else a path. kNotFound
// "runconfig.not_found" lists those there are.
Result<ConfigurationFile> FindConfiguration(const std::string& source, const std::string& name);

// Text that is no YAML is one error of the reading.
Result<runconfig::Reading> ReadConfiguration(const ConfigurationFile& file, const runconfig::Given& given);

// What a submission is to do, of -c, -d, --environment and --interpreter together.
struct Plan {
  runconfig::RunConfig config;
  std::string configuration;  // its name; "" without -c
  bool environment = false;   // something says what the script needs
  std::string context;        // the folder of the image's build context; "" for none
};
// `script` is that of the command line, or "". Prints warnings and every error; what cannot be run yet is an error too.
Result<Plan> PlanSubmission(Context& context, const std::string& source, const std::string& script);
// Sets what the plan says and the command line does not.
void AddPlan(const Plan& plan, Json& request);

}  // namespace ferry::cli
