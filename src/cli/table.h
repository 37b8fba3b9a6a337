// Tables for people: aligned columns under their headers, cut to the terminal's width. For output.cc.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/output.h"

namespace ferry::cli {

// A list gives a row per element, anything else one row. Empty without rows.
std::string RenderTable(const Json& value, const OutputFormat& output);

}  // namespace ferry::cli
