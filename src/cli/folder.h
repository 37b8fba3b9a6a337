// What `.azureml` of a folder holds, and writing it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ferry::cli {

// The workspace and experiment that a folder is attached to; "" where nothing says so.
struct FolderSettings {
  std::string workspace;
  std::string experiment;
};
// Of the nearest .azureml/config.json, aml_config/config.json or aml_config/project.json at or above the folder.
Result<FolderSettings> SettingsOfFolder(const std::string& folder);

// The nearest folder at or above this one that has .azureml/config.json; "" for none.
std::string AttachedFolder(const std::string& folder);

// Writes `.azureml/TARGET.runconfig` into an attached folder. False when there is such a file, which is left alone. `type` is Azure's ("AmlCompute", ...).
Result<bool> WriteTargetTemplate(const std::string& folder, const std::string& target, std::string_view type);

// A folder's name as an experiment's: other characters become '-'.
std::string ExperimentFrom(const std::string& folder);

}  // namespace ferry::cli
