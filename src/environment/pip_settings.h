// What the node's pip is set to, for uv, which does not read it.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ferry::environment {

// Variables for uv: the index, further indexes, folders of wheels and certificates that pip's own variables and files (pip.conf) name. What uv was told
// itself stays as it is. `variables`: this process's.
std::map<std::string, std::string> UvVariables(const std::map<std::string, std::string>& variables);

// The keys of the sections [global] and [install] of a pip.conf; values on several lines are joined by a space.
std::map<std::string, std::string> ParsePipConf(std::string_view text);

}  // namespace ferry::environment
