// Every command there is, and the handlers by noun. A handler does one command line and returns its exit status.
#pragma once

#include "base/result.h"
#include "cli/args.h"

namespace ferry::cli {

const CommandTable& Commands();

// submit.cc
Result<int> SubmitScript(Context& context);
Result<int> SubmitCommand(Context& context);
// follow.cc
Result<int> MonitorLogs(Context& context);
// runs.cc
Result<int> ListRuns(Context& context);
Result<int> ShowRun(Context& context);
Result<int> CancelRun(Context& context);
Result<int> EvictRun(Context& context);
Result<int> UpdateRun(Context& context);
Result<int> ArchiveRun(Context& context);
Result<int> RestoreRun(Context& context);
Result<int> ExplainRun(Context& context);
Result<int> RerunRun(Context& context);
Result<int> ShowMetrics(Context& context);
Result<int> ListFiles(Context& context);
// download.cc
Result<int> DownloadLogs(Context& context);
Result<int> DownloadFiles(Context& context);
Result<int> RestoreSnapshot(Context& context);
// admin.cc
Result<int> CreateExperiment(Context& context);
Result<int> ListExperiments(Context& context);
Result<int> ShowExperiment(Context& context);
Result<int> CreateWorkspace(Context& context);
Result<int> ListWorkspaces(Context& context);
Result<int> ShowWorkspace(Context& context);
Result<int> AddUser(Context& context);
Result<int> ListUsers(Context& context);
Result<int> RemoveUser(Context& context);
Result<int> CreateToken(Context& context);
Result<int> ListTokens(Context& context);
Result<int> RevokeToken(Context& context);
Result<int> ListNodes(Context& context);
// folder.cc
Result<int> AttachFolder(Context& context);
// configuration_commands.cc
Result<int> ValidateConfiguration(Context& context);
Result<int> ShowConfiguration(Context& context);
// program.cc
Result<int> ShowVersion(Context& context);
Result<int> PrintCompletion(Context& context);
Result<int> CompleteWords(Context& context);
Result<int> PrintHelp(Context& context);
Result<int> RunServer(Context& context);
Result<int> RunAgent(Context& context);

}  // namespace ferry::cli
