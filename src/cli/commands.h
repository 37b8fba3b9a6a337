// Every command there is, and the handlers by noun. A handler does one command line and returns its exit status.
#pragma once

#include "base/result.h"
#include "cli/args.h"

namespace ferry::cli {

const CommandTable& Commands();
// Parts of it: models, datasets, datastores and secrets (asset_commands.cc); compute targets (compute_commands.cc); what is known and not there yet (later.cc).
std::vector<Command> AssetCommands();
std::vector<Command> ComputeCommands();
std::vector<Command> LaterCommands();

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
// workspaces.cc
Result<int> CreateExperiment(Context& context);
Result<int> ListExperiments(Context& context);
Result<int> ShowExperiment(Context& context);
Result<int> CreateWorkspace(Context& context);
Result<int> ListWorkspaces(Context& context);
Result<int> ShowWorkspace(Context& context);
Result<int> DeleteWorkspace(Context& context);
Result<int> ShareWorkspace(Context& context);
Result<int> ListKeys(Context& context);
Result<int> SyncKeys(Context& context);
Result<int> UpdateWorkspace(Context& context);
Result<int> UpdateDependencies(Context& context);
// admin.cc
Result<int> AddUser(Context& context);
Result<int> ListUsers(Context& context);
Result<int> RemoveUser(Context& context);
Result<int> CreateToken(Context& context);
Result<int> ListTokens(Context& context);
Result<int> RevokeToken(Context& context);
Result<int> ListNodes(Context& context);
// compute.cc
Result<int> ListTargets(Context& context);
Result<int> ShowTarget(Context& context);
Result<int> RemoveTarget(Context& context);
Result<int> DetachTarget(Context& context);
Result<int> TargetCredentials(Context& context);
Result<int> ListTargetNodes(Context& context);
Result<int> ExplainTarget(Context& context);
Result<int> EvictTarget(Context& context);
Result<int> ShowCost(Context& context);
Result<int> ListSizes(Context& context);
Result<int> ListCapabilities(Context& context);
// clusters.cc
Result<int> CreateCluster(Context& context);
Result<int> UpdateCluster(Context& context);
Result<int> CreateCompute(Context& context);
Result<int> UpdateCompute(Context& context);
// models.cc
Result<int> RegisterModel(Context& context);
Result<int> ListModels(Context& context);
Result<int> ShowModel(Context& context);
Result<int> UpdateModel(Context& context);
Result<int> DeleteModel(Context& context);
Result<int> DownloadModel(Context& context);
// datasets.cc
Result<int> RegisterDataset(Context& context);
Result<int> ListDatasets(Context& context);
Result<int> ShowDataset(Context& context);
Result<int> ArchiveDataset(Context& context);
Result<int> DeprecateDataset(Context& context);
Result<int> ReactivateDataset(Context& context);
Result<int> UnregisterDataset(Context& context);
// datastores.cc
Result<int> AttachFolderStore(Context& context);
Result<int> AttachS3(Context& context);
Result<int> AttachAzure(Context& context);
Result<int> DetachDatastore(Context& context);
Result<int> ListDatastores(Context& context);
Result<int> ShowDatastore(Context& context);
Result<int> SetDefaultDatastore(Context& context);
Result<int> ShowDefaultDatastore(Context& context);
Result<int> UploadFiles(Context& context);
Result<int> DownloadDatastore(Context& context);
Result<int> ListDatastoreFiles(Context& context);
// secrets.cc
Result<int> SetSecret(Context& context);
Result<int> ListSecrets(Context& context);
Result<int> ShowSecret(Context& context);
Result<int> DeleteSecret(Context& context);
// A secret from a file, or from standard input for "" and "-", without the end of its last line. kInvalid "secret.empty", kTooLarge.
Result<std::string> ReadSecret(Context& context, const std::string& file);
// tensorboard.cc
Result<int> MonitorTensorBoard(Context& context);
// later.cc: kInvalid "not_yet", in one sentence.
Result<int> NotYet(Context& context);
// azure.cc
Result<int> PrintAzureAlias(Context& context);
Result<int> RunAzure(Context& context);
// folder.cc
Result<int> AttachFolder(Context& context);
// configuration_commands.cc
Result<int> ValidateConfiguration(Context& context);
Result<int> ShowConfiguration(Context& context);
// environments.cc
Result<int> ScaffoldEnvironment(Context& context);
Result<int> RegisterEnvironment(Context& context);
Result<int> DownloadEnvironment(Context& context);
Result<int> ListEnvironments(Context& context);
Result<int> ShowEnvironment(Context& context);
Result<int> BuildEnvironment(Context& context);
Result<int> DeleteEnvironment(Context& context);
Result<int> DiffEnvironments(Context& context);
Result<int> PruneEnvironments(Context& context);
// program.cc
Result<int> ShowVersion(Context& context);
Result<int> PrintCompletion(Context& context);
Result<int> CompleteWords(Context& context);
Result<int> PrintHelp(Context& context);
Result<int> RunServer(Context& context);
Result<int> RunAgent(Context& context);

}  // namespace ferry::cli
