// JSON values as YAML text in block style, readable by YAML 1.1 and 1.2 parsers with the same result.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace ferry::cli {

// The document, ending with a line end. Strings are quoted when a parser would read anything else; those of several lines stand
// after '|'.
std::string RenderYaml(const Json& value);

// Whether a parser reads the bare text as this very string.
bool IsPlainYaml(std::string_view text);

}  // namespace ferry::cli
