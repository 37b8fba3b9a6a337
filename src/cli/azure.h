// Ferry behind the name `az`: what `az ml ...` and a few commands beside it print and return. `ferry az-alias` prints the shell function that
// calls `ferry az`; all that it means is here.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cli/args.h"

namespace ferry::cli {

// az's exit status for an error: 2 for words that cannot be understood, 3 for what is not there, 1 for all others.
int AzureStatus(const Error& error);

// A result with the keys that `az ml` printed: camelCase, and its own names for a few. `command` is the words of the command ("run show").
Json AzureShape(const Json& value, std::string_view command);

// `az login`, `az account ...` and `az batchai ...`.
const CommandTable& AzureCommands();

// The shell function `az`, for POSIX shells, bash and zsh. `program` is the path of this binary.
std::string AzureAlias(std::string_view program);

}  // namespace ferry::cli
