// Conda specifications and pip requirements inside of run configurations and in files of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "runconfig/config.h"
#include "runconfig/section.h"

namespace ferry::runconfig {

// {channels, dependencies: [..., {pip: [...]}]} at `node`, whose field is `path`. `base`: the folder that `-r FILE` within it starts from.
void ReadCondaNode(Report& report, const yaml::Node& node, const std::string& path, const std::string& base, const Lookup& lookup,
                   model::CondaSpecification& to);

// The file, YAML or requirements by its name.
void ReadCondaText(const std::string& text, const std::string& file, const Lookup& lookup, std::vector<Problem>& errors, std::vector<Problem>& warnings,
                   model::CondaSpecification& to);

}  // namespace ferry::runconfig
