// Images that stand for others, and the recipes that make them without a registry: scripts from recipes/ of the repository, carried in the program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "environment/image/engine.h"

namespace ferry::environment {

// What stands for `image`: the value of the longest pattern that fits. A pattern may end with '*'. Pure.
std::optional<std::string> Alias(const std::map<std::string, std::string>& aliases, std::string_view image);
// Aliases for images that could not be pulled.
const std::map<std::string, std::string>& DefaultAliases();

// The name of the recipe's image, which is made when this host does not have it. kNotFound "recipe.unknown" names those there are.
Result<std::string> MakeRecipe(const Engine& engine, const Settings& settings, const Job& job, const std::string& recipe);
// Name and text of a recipe's script.
const std::map<std::string, std::string_view>& Recipes();

}  // namespace ferry::environment
