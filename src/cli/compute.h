// What the commands about compute targets share.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cli/context.h"

namespace ferry::cli {

// A target's route, with what stands below it and further parameters.
Result<std::string> TargetPath(const Context& context, std::string_view name, std::string_view below = {},
                               std::vector<std::pair<std::string, std::string>> parameters = {});

// The targets of a workspace, "local" first; with `counted`, each with its status.
Result<Json> Targets(Session& session, const std::string& workspace, bool counted);

// Prints a target: lines for people, the value for programs.
Result<int> TellTarget(Context& context, const Json& target);

// Asks for the target until it is no longer `state`, with a note for every state. Null: it is gone. kTimeout "target.wait" after half an hour, kCanceled
// "target.wait" when the user interrupts.
Result<Json> WaitWhile(Context& context, Session& session, const std::string& name, std::string_view state);

// The cluster that a file of the schema `amlCompute` describes, as the members of a request; what the file does not say is not there. Prints everything
// that is wrong with it; kInvalid "compute.file".
Result<Json> ReadClusterFile(Context& context, const std::string& path);

}  // namespace ferry::cli
