// `ferry server`: in the foreground, or start, stop and status.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferry::server {

// The words behind `ferry server`. Returns the exit status.
int Command(const std::vector<std::string>& words, const std::string& version, std::string_view agent_program);
// `ferry agent ...`: runs the carried static agent with these words in place of this process's child. Returns its exit status.
int AgentCommand(const std::vector<std::string>& words, std::string_view agent_program);

}  // namespace ferry::server
