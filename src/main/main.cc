// ferry: the one program. Everything but server and agent is the command line's.
#include "cli/main.h"

#include "os/process.h"
#include "server/command.h"

extern "C" {
extern const char ferry_agent_program_begin[];
extern const char ferry_agent_program_end[];
}

int main(int argc, char** argv) {
  using namespace ferry;
  std::string_view agent(ferry_agent_program_begin, static_cast<size_t>(ferry_agent_program_end - ferry_agent_program_begin));
  cli::Hooks hooks;
  hooks.version = FERRY_VERSION;
  hooks.server = [&](const std::vector<std::string>& words) { return server::Command(words, FERRY_VERSION, agent); };
  hooks.agent = [&](const std::vector<std::string>& words) { return server::AgentCommand(words, agent); };
  return cli::Main(argc, argv, hooks);
}
