// The Python SDK that the agent carries, so that `import azureml.core` works in every script without an installation.
#pragma once

#include <string>

#include "base/result.h"

namespace ferry::agent {

// Unpacks it below `home` once per content and returns the folder for PYTHONPATH.
Result<std::string> UnpackSdk(const std::string& home);

// Unpacks a plain tar archive (files and folders) into `folder`. kInvalid "tar.malformed" for anything else, and for names that leave the folder.
Result<void> UnpackTar(std::string_view archive, const std::string& folder);

}  // namespace ferry::agent
