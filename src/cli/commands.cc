#include "cli/commands.h"

#include <algorithm>
#include <tuple>

namespace ferry::cli {
namespace {

// --- options that several commands share

Option Run() { return {.name = "run", .letter = 'r', .value = "RUN", .help = "the run's id"}; }
Option Experiment(const char* help) { return {.name = "experiment-name", .letter = 'e', .value = "NAME", .help = help}; }
// Azure's commands name the experiment beside the run; an id is enough here.
Option IgnoredExperiment() { return {.name = "experiment-name", .letter = 'e', .value = "NAME", .help = "accepted and not used: a run's id is enough"}; }
Positional RunWord() { return {.name = "RUN", .help = "the run's id", .fills = "run", .required = true}; }
Option OutputFolder(const char* help) { return {.name = "output-dir", .letter = 'd', .value = "FOLDER", .help = help, .required = true}; }

// What both ways to submit take.
std::vector<Option> SubmitOptions(std::vector<Option> own) {
  std::vector<Option> options = {
      Experiment("experiment; without it that of .azureml/config.json, else the name of the source directory"),
      {.name = "target", .value = "TARGET", .help = "compute target; without it that of the run configuration, else 'local'", .alias = "ct"},
  };
  for (Option& option : own) options.push_back(std::move(option));
  for (Option option : std::vector<Option>{
           {.name = "async", .help = "print the run's id and return at once"},
           {.name = "name", .value = "TEXT", .help = "display name"},
           {.name = "description", .value = "TEXT", .help = "what it is for"},
           {.name = "tag", .value = "KEY=VALUE", .help = "a tag; repeatable", .alias = "tags", .repeatable = true},
           {.name = "env", .value = "NAME=VALUE", .help = "a variable for the script; repeatable", .repeatable = true},
           {.name = "max-run-duration-seconds", .value = "N", .help = "end it after so long; 0: never", .other = "0", .number = true},
           {.name = "gpus", .value = "N", .help = "devices it needs", .other = "0", .number = true},
           {.name = "run-id", .value = "ID", .help = "the run's id; submitting the same again is the same run"},
           {.name = "parent-run-id", .value = "RUN", .help = "the run this one belongs to"},
           {.name = "run-configuration-name", .letter = 'c', .value = "NAME", .help = "a run configuration of .azureml, or a file; options win over it"},
           {.name = "conda-dependencies", .letter = 'd', .value = "FILE", .help = "a conda file, or requirements (.txt), to build the environment from"},
           {.name = "environment-name", .value = "NAME[@VERSION]", .help = "a registered environment", .alias = "environment"},
       })
    options.push_back(std::move(option));
  return options;
}

constexpr const char* kSubmitDetail =
    "Attached, the run's output goes to standard output and everything else to standard error. The exit status is 0 when the run\n"
    "completed and 1 when it failed, was canceled or stopped responding. Ctrl-C detaches (status 130) and leaves the run alone.\n"
    "With -o json (or tsv, yaml) standard output carries the finished run, and the run's output goes to standard error.";

std::vector<Command> RunCommands() {
  return {
      {.path = "run submit-script",
       .summary = "Run a Python script of a folder, and follow it",
       .reach = Reach::kWorkspace,
       .options = SubmitOptions({
           {.name = "source-directory", .value = "FOLDER", .help = "what is sent with the script", .other = "."},
           {.name = "interpreter", .value = "PATH", .help = "the python to run it with; without it the target's own"},
       }),
       .positionals = {{.name = "SCRIPT", .help = "the script, relative to the source directory; without it that of the run configuration"},
                       {.name = "ARGS", .help = "everything behind SCRIPT is the script's own", .remainder = true}},
       .handler = SubmitScript,
       .detail = kSubmitDetail},
      {.path = "run submit-command",
       .summary = "Run any program, and follow it",
       .reach = Reach::kWorkspace,
       .options = SubmitOptions({
           {.name = "source-directory", .value = "FOLDER", .help = "what is sent along; without it nothing"},
       }),
       .positionals = {{.name = "PROGRAM", .help = "the program and its arguments, best behind --", .required = true, .remainder = true}},
       .handler = SubmitCommand,
       .detail = kSubmitDetail},
      {.path = "run list",
       .summary = "List runs, the newest first",
       .reach = Reach::kWorkspace,
       .options = {Experiment("only of this experiment"),
                   {.name = "last", .value = "N", .help = "how many", .other = "10", .number = true},
                   {.name = "status",
                    .value = "STATUS",
                    .help = "only with this status",
                    .choices = {"NotStarted", "Starting", "Provisioning", "Preparing", "Queued", "Running", "Finalizing", "CancelRequested", "Completed",
                                "Failed", "Canceled", "NotResponding"}},
                   {.name = "compute-target-name", .value = "TARGET", .help = "only on this target"},
                   {.name = "parent-run-id", .value = "RUN", .help = "only children of this run"},
                   {.name = "pipeline-run-id", .value = "RUN", .help = "only steps of this pipeline's run"},
                   {.name = "user", .value = "NAME", .help = "only of this user"},
                   {.name = "tags", .value = "KEY[=VALUE]", .help = "only with this tag; repeatable", .repeatable = true},
                   {.name = "filter", .value = "EXPR", .help = "only where this holds: \"metrics.loss < 0.5 and params.lr = '0.1'\""},
                   {.name = "order", .value = "FIELD", .help = "order by this field; '-' in front: falling", .other = "-created"},
                   {.name = "archived", .help = "archived runs instead"},
                   {.name = "all", .help = "every run, however many"},
                   {.name = "cursor",
                    .value = "TEXT",
                    .help = "go on where an earlier list ended; the result is then {\"runs\", \"next\"}; \"\": from the start"},
                   {.name = "minimal", .help = "only ids, experiments and statuses"}},
       .handler = ListRuns},
      {.path = "run show", .summary = "Show a run", .options = {Run(), IgnoredExperiment()}, .positionals = {RunWord()}, .handler = ShowRun},
      {.path = "run cancel", .summary = "Cancel a run", .options = {Run(), IgnoredExperiment()}, .positionals = {RunWord()}, .handler = CancelRun},
      {.path = "run monitor-logs",
       .summary = "Follow a run's output until it ends",
       .options = {Run(), IgnoredExperiment()},
       .positionals = {RunWord()},
       .handler = MonitorLogs,
       .detail = "The exit status is that of an attached submission."},
      {.path = "run monitor-tensorboard",
       .summary = "Show a run in TensorBoard while it writes",
       .options = {Run(),
                   IgnoredExperiment(),
                   {.name = "local-directory", .value = "FOLDER", .help = "where its files go; without it a folder that is removed"}},
       .positionals = {RunWord()},
       .handler = MonitorTensorBoard,
       .detail = "Brings what the run writes below logs/ and outputs/ here every few seconds. Needs the program tensorboard on the PATH. Ctrl-C ends it."},
      {.path = "run metrics",
       .summary = "Show what a run has logged",
       .options = {Run(),
                   {.name = "name", .value = "METRIC", .help = "the points of this metric"},
                   {.name = "last", .value = "N", .help = "with --name: how many points at most", .other = "1000", .number = true}},
       .positionals = {RunWord()},
       .handler = ShowMetrics},
      {.path = "run files",
       .summary = "List a run's files",
       .options = {Run(), {.name = "prefix", .value = "PATH", .help = "only below this"}},
       .positionals = {RunWord()},
       .handler = ListFiles},
      {.path = "run explain", .summary = "Say why a run is where it is", .options = {Run()}, .positionals = {RunWord()}, .handler = ExplainRun},
      {.path = "run download",
       .summary = "Download a run's files",
       .options = {Run(), {.name = "prefix", .value = "PATH", .help = "only below this", .other = "outputs/"}, OutputFolder("where to")},
       .positionals = {RunWord()},
       .handler = DownloadFiles,
       .detail = "Nothing is written outside the folder. A download that was cut off goes on where it ended."},
      {.path = "run download-logs",
       .summary = "Download a run's logs",
       .options = {Run(), IgnoredExperiment(), OutputFolder("where to")},
       .positionals = {RunWord()},
       .handler = DownloadLogs},
      {.path = "run restore-snapshot",
       .summary = "Write the source directory of a run into a folder",
       .options = {Run(), OutputFolder("where to; new or empty")},
       .positionals = {RunWord()},
       .handler = RestoreSnapshot},
      {.path = "run update",
       .summary = "Change a run's tags, properties, name or description",
       .options = {Run(),
                   IgnoredExperiment(),
                   {.name = "add-tag", .value = "KEY[=VALUE]", .help = "set a tag; repeatable", .repeatable = true},
                   {.name = "remove-tag", .value = "KEY", .help = "remove a tag; repeatable", .repeatable = true},
                   {.name = "set-property", .value = "KEY=VALUE", .help = "add a property, once and for all; repeatable", .repeatable = true},
                   {.name = "name", .value = "TEXT", .help = "display name"},
                   {.name = "description", .value = "TEXT", .help = "what it is for"}},
       .positionals = {RunWord()},
       .handler = UpdateRun},
      {.path = "run archive", .summary = "Take a run out of lists", .options = {Run()}, .positionals = {RunWord()}, .handler = ArchiveRun},
      {.path = "run restore", .summary = "Put an archived run back into lists", .options = {Run()}, .positionals = {RunWord()}, .handler = RestoreRun},
      {.path = "run evict", .summary = "Take a run off its node, to be tried again", .options = {Run()}, .positionals = {RunWord()}, .handler = EvictRun},
      {.path = "run rerun",
       .summary = "Submit a run again as it was, and follow it",
       .options = {Run(),
                   IgnoredExperiment(),
                   {.name = "async", .help = "print the run's id and return at once"},
                   {.name = "run-id", .value = "ID", .help = "the new run's id; the same again is the same run"}},
       .positionals = {RunWord()},
       .handler = RerunRun,
       .detail = "The same script, arguments and source directory, in an environment with the very versions that the first one had."},
  };
}

std::vector<Command> EnvironmentCommands() {
  const Option name = {.name = "name", .letter = 'n', .value = "NAME", .help = "its name; NAME@VERSION names a version, too", .required = true};
  const Option version = {.name = "version", .letter = 'v', .value = "VERSION", .help = "a number, or latest"};
  const Option overwrite = {.name = "overwrite", .help = "replace files that are there"};
  auto folder = [](const char* help) { return Option{.name = "directory", .letter = 'd', .value = "FOLDER", .help = help, .required = true}; };
  return {
      {.path = "environment scaffold",
       .summary = "Write the files of a new environment, to be edited and registered",
       .options = {{.name = "name", .letter = 'n', .value = "NAME", .help = "its name", .required = true}, folder("where to"), overwrite},
       .handler = ScaffoldEnvironment},
      {.path = "environment register",
       .summary = "Register the environment of a folder",
       .reach = Reach::kWorkspace,
       .options = {folder("the folder with azureml_environment.json"),
                   {.name = "name", .letter = 'n', .value = "NAME", .help = "register it under this name instead"},
                   {.name = "description", .value = "TEXT", .help = "what it is for"},
                   {.name = "tag", .value = "KEY=VALUE", .help = "a tag; repeatable", .alias = "tags", .repeatable = true}},
       .handler = RegisterEnvironment,
       .detail = "The version goes up when the definition differs from the latest one. Order, comments and white space make no difference."},
      {.path = "environment download",
       .summary = "Write the files of an environment into a folder",
       .reach = Reach::kWorkspace,
       .options = {name, version, folder("where to"), overwrite},
       .handler = DownloadEnvironment,
       .detail = "With `environment register -n` this clones an environment under a new name."},
      {.path = "environment list",
       .summary = "List environments",
       .reach = Reach::kWorkspace,
       .options = {{.name = "curated", .help = "those that Ferry brings along, with Azure's names that stand for them"}},
       .handler = ListEnvironments},
      {.path = "environment show", .summary = "Show an environment", .reach = Reach::kWorkspace, .options = {name, version}, .handler = ShowEnvironment},
      {.path = "environment build",
       .summary = "Build an environment on this machine's target, and follow the build",
       .reach = Reach::kWorkspace,
       .options = {name, version},
       .handler = BuildEnvironment,
       .detail = "A run that does nothing but need it. The exit status is that of an attached submission."},
      {.path = "environment delete",
       .summary = "Take an environment, or one version of it, out of the registry",
       .reach = Reach::kWorkspace,
       .options = {name, {.name = "version", .letter = 'v', .value = "VERSION", .help = "a number, or latest; without it all versions"}},
       .handler = DeleteEnvironment,
       .detail = "Runs keep what they were given. The number of a deleted version does not come again."},
      {.path = "environment diff",
       .summary = "Show how two environments differ",
       .reach = Reach::kWorkspace,
       .positionals = {{.name = "A", .help = "NAME, NAME@VERSION or a run's id", .required = true}, {.name = "B", .help = "the same", .required = true}},
       .handler = DiffEnvironments,
       .detail = "Compares the definitions and, where both were built, the exact packages."},
      {.path = "environment prune",
       .summary = "Drop kept builds that nobody has used for long",
       .options = {{.name = "dry-run", .help = "only say which"},
                   {.name = "older-than", .value = "DAYS", .help = "those not used for so many days", .number = true},
                   {.name = "keep-bytes", .value = "N", .help = "the least recently used, until the rest has so many bytes", .number = true}},
       .handler = PruneEnvironments,
       .detail = "Only the server's copies: one that is needed again is built again. A build that a run waits for is never dropped."},
  };
}

std::vector<Command> ConfigurationCommands() {
  const Positional file = {.name = "FILE", .help = "the file, or the name of one in .azureml", .required = true};
  return {
      {.path = "folder attach",
       .summary = "Make .azureml in a folder: its workspace and experiment, and run configurations to begin with",
       .reach = Reach::kOutput,
       .options = {{.name = "workspace-name", .letter = 'w', .value = "NAME", .help = "workspace; without it 'default'"},
                   Experiment("experiment; without it the name of the folder"),
                   {.name = "path", .value = "FOLDER", .help = "the folder", .other = "."}},
       .positionals = {{.name = "PATH", .help = "the folder; without it this one", .fills = "path"}},
       .handler = AttachFolder,
       .detail = "What is there already is left as it is."},
      {.path = "runconfig validate",
       .summary = "Say everything that is wrong with a run configuration",
       .reach = Reach::kOutput,
       .positionals = {file},
       .handler = ValidateConfiguration,
       .detail = "The exit status is 0 when it is valid and 2 when it is not. Warnings do not count."},
      {.path = "runconfig show",
       .summary = "Show a run configuration",
       .reach = Reach::kOutput,
       .options = {{.name = "resolved", .help = "with every default, and the files it names read in"}},
       .positionals = {file},
       .handler = ShowConfiguration},
  };
}

// What Azure asks for when a workspace is made: kept with it, and without effect.
std::vector<Option> Recorded(std::vector<Option> own) {
  for (const auto& [name, letter, value] : std::initializer_list<std::tuple<const char*, char, const char*>>{{"location", 'l', "PLACE"},
                                                                                                             {"sku", 0, "NAME"},
                                                                                                             {"storage-account", 0, "ID"},
                                                                                                             {"keyvault", 0, "ID"},
                                                                                                             {"application-insights", 0, "ID"},
                                                                                                             {"container-registry", 0, "ID"},
                                                                                                             {"image-build-compute", 0, "NAME"},
                                                                                                             {"primary-user-assigned-identity", 0, "ID"},
                                                                                                             {"cmk-keyvault", 0, "ID"},
                                                                                                             {"resource-cmk-uri", 0, "URI"}})
    own.push_back({.name = name, .letter = letter, .value = value, .help = "recorded"});
  own.push_back({.name = "hbi-workspace", .help = "recorded"});
  own.push_back({.name = "resource-group", .letter = 'g', .value = "NAME", .help = "recorded"});
  own.push_back({.name = "subscription-id", .value = "ID", .help = "recorded", .alias = "subscription"});
  return own;
}
constexpr const char* kRecordedDetail = "What is recorded means something on Azure alone. It is shown again by `workspace show` and changes nothing.";

std::vector<Command> AdminCommands() {
  const Option name = {.name = "name", .letter = 'n', .value = "NAME", .help = "its name", .required = true};
  const Option workspace = {.name = "workspace-name", .letter = 'w', .value = "NAME", .help = "its name", .required = true};
  return {
      {.path = "experiment create", .summary = "Create an experiment", .reach = Reach::kWorkspace, .options = {name}, .handler = CreateExperiment},
      {.path = "experiment list", .summary = "List experiments", .reach = Reach::kWorkspace, .handler = ListExperiments},
      {.path = "experiment show", .summary = "Show an experiment", .reach = Reach::kWorkspace, .options = {name}, .handler = ShowExperiment},
      {.path = "workspace create",
       .summary = "Create a workspace",
       .options = Recorded({workspace,
                            {.name = "exist-ok", .help = "no error when it is there already", .truth = true},
                            {.name = "description", .value = "TEXT", .help = "what it is for"},
                            {.name = "friendly-name", .value = "TEXT", .help = "a name to show"},
                            {.name = "tags", .letter = 't', .value = "KEY=VALUE", .help = "a tag; repeatable", .repeatable = true},
                            {.name = "yes", .letter = 'y', .help = "accepted: nothing is asked"}}),
       .handler = CreateWorkspace,
       .detail = kRecordedDetail},
      {.path = "workspace delete",
       .summary = "Delete a workspace that holds nothing",
       .options = {workspace,
                   {.name = "yes", .letter = 'y', .help = "really"},
                   {.name = "all-resources", .help = "accepted: there are no others", .truth = true},
                   {.name = "no-wait", .help = "accepted: it is done at once", .truth = true}},
       .handler = DeleteWorkspace},
      {.path = "workspace list", .summary = "List workspaces", .handler = ListWorkspaces},
      {.path = "workspace show", .summary = "Show a workspace", .reach = Reach::kWorkspace, .handler = ShowWorkspace},
      {.path = "workspace share",
       .summary = "Say whether a user may use a workspace",
       .reach = Reach::kWorkspace,
       .options = {{.name = "user", .value = "NAME", .help = "the user", .required = true},
                   {.name = "role", .value = "ROLE", .help = "reader, contributor or owner", .required = true}},
       .handler = ShareWorkspace,
       .detail = "Roles hold for every workspace of a server: ferry user add gives them."},
      {.path = "workspace list-keys", .summary = "Say that a workspace has no keys", .reach = Reach::kWorkspace, .handler = ListKeys},
      {.path = "workspace sync-keys", .summary = "Say that a workspace has no keys", .reach = Reach::kWorkspace, .handler = SyncKeys},
      {.path = "workspace update",
       .summary = "Change what a workspace says of itself",
       .reach = Reach::kWorkspace,
       .options = Recorded({{.name = "description", .value = "TEXT", .help = "what it is for"},
                            {.name = "friendly-name", .value = "TEXT", .help = "a name to show"},
                            {.name = "tags", .letter = 't', .value = "KEY=VALUE", .help = "set a tag; repeatable", .repeatable = true},
                            {.name = "remove-tag", .value = "KEY", .help = "remove a tag; repeatable", .repeatable = true},
                            {.name = "default-datastore", .value = "NAME", .help = "the datastore to use where none is named"}}),
       .handler = UpdateWorkspace,
       .detail = kRecordedDetail},
      {.path = "workspace update-dependencies",
       .summary = "Record which of Azure's resources a workspace had",
       .reach = Reach::kWorkspace,
       .options = Recorded(
           {{.name = "force", .help = "accepted: nothing is asked", .truth = true}, {.name = "yes", .letter = 'y', .help = "accepted: nothing is asked"}}),
       .handler = UpdateDependencies,
       .detail = kRecordedDetail},
      {.path = "user add",
       .summary = "Add a user, or change the role of one",
       .options = {{.name = "role", .value = "ROLE", .help = "what the user may do", .choices = {"reader", "contributor", "owner"}, .required = true}},
       .positionals = {{.name = "NAME", .help = "the user's name", .required = true}},
       .handler = AddUser},
      {.path = "user list", .summary = "List users", .handler = ListUsers},
      {.path = "user remove",
       .summary = "Remove a user and the user's tokens",
       .positionals = {{.name = "NAME", .help = "the user's name", .required = true}},
       .handler = RemoveUser},
      {.path = "token create",
       .summary = "Make a token; it is shown once",
       .options = {{.name = "user", .value = "NAME", .help = "whose; without it your own"},
                   {.name = "label", .value = "TEXT", .help = "what it is for"},
                   {.name = "expires", .value = "TIME", .help = "how long it is good for: 12h, 30d, 8w; without it for ever"}},
       .handler = CreateToken},
      {.path = "token list", .summary = "List tokens", .handler = ListTokens},
      {.path = "token revoke",
       .summary = "Make a token void",
       .positionals = {{.name = "ID", .help = "the token's id, as listed", .required = true}},
       .handler = RevokeToken},
      {.path = "node list", .summary = "List nodes", .handler = ListNodes},
  };
}

std::vector<Command> ProgramCommands() {
  return {
      {.path = "server", .summary = "Start, stop or look at this machine's server", .reach = Reach::kNone, .handler = RunServer, .raw = true},
      {.path = "agent", .summary = "Run the agent of a node", .reach = Reach::kNone, .handler = RunAgent, .raw = true},
      {.path = "version", .summary = "Show the versions of this program and of the server", .reach = Reach::kOutput, .handler = ShowVersion},
      {.path = "completion",
       .summary = "Print the completion script for a shell",
       .reach = Reach::kNone,
       .positionals = {{.name = "SHELL", .help = "bash, zsh or fish", .required = true, .choices = {"bash", "zsh", "fish"}}},
       .handler = PrintCompletion,
       .detail = "bash: source <(ferry completion bash)\nzsh:  source <(ferry completion zsh)\nfish: ferry completion fish | source"},
      {.path = "az-alias",
       .summary = "Print the shell function that makes `az ml ...` call Ferry",
       .reach = Reach::kNone,
       .handler = PrintAzureAlias,
       .detail =
           "eval \"$(ferry az-alias)\"\nFor POSIX shells, bash and zsh. `az login`, `az account set|show|list` and `az batchai cluster|job list` are Ferry's, "
           "too; everything\n"
           "else goes to the real az, where there is one. Results are JSON with Azure's keys, unless -o says otherwise. The exit status is az's: 0 done,\n"
           "1 an error, 2 words that cannot be understood, 3 something that is not there."},
      {.path = "az", .summary = "What the function of az-alias calls", .reach = Reach::kNone, .handler = RunAzure, .hidden = true, .raw = true},
      {.path = "help",
       .summary = "Show the help of a command",
       .reach = Reach::kNone,
       .options = {{.name = "markdown", .help = "the reference page", .hidden = true}},
       .positionals = {{.name = "COMMAND", .help = "the command's words", .remainder = true}},
       .handler = PrintHelp},
      {.path = "__complete", .summary = "What may follow these words", .reach = Reach::kNone, .handler = CompleteWords, .hidden = true, .raw = true},
  };
}

CommandTable MakeTable() {
  CommandTable table;
  table.groups = {
      {"run", "Submit runs and look after them"},
      {"experiment", "Experiments: runs under one name"},
      {"workspace", "Workspaces: experiments under one name"},
      {"workspace private-endpoint", "Private addresses of workspaces (later)"},
      {"folder", "Folders with scripts, attached to a workspace"},
      {"runconfig", "Run configurations: what to run, where, and with what"},
      {"environment", "Environments: what scripts need, under names and versions"},
      {"model", "Models: files under names and versions"},
      {"dataset", "Datasets: which data belongs together, under names and versions"},
      {"datastore", "Datastores: where data is kept"},
      {"secret", "Secrets, kept for scripts"},
      {"compute", "Compute targets: where runs run"},
      {"computetarget", "Compute targets in the words of az ml v1"},
      {"computetarget create", "Make a compute target"},
      {"computetarget attach", "Attach a compute target (later)"},
      {"computetarget update", "Change a compute target"},
      {"computetarget computeinstance", "Machines of one's own (later)"},
      {"computetarget amlcompute", "Clusters (later)"},
      {"computetarget amlcompute identity", "Identities of clusters (later)"},
      {"pipeline", "Pipelines (later)"},
      {"endpoint", "Endpoints (later)"},
      {"endpoint realtime", "Endpoints that answer at once (later)"},
      {"service", "Services (later)"},
      {"user", "Who may use the server"},
      {"token", "Tokens of users"},
      {"node", "Machines that run agents"},
  };
  for (auto* part : {RunCommands, ConfigurationCommands, EnvironmentCommands, AssetCommands, ComputeCommands, AdminCommands, LaterCommands, ProgramCommands})
    for (Command& command : part()) table.commands.push_back(std::move(command));
  // The commands of a group stand together, in the order of the groups; the program's own come last.
  auto place = [&](const Command& command) {
    const std::string_view path = command.path, first = path.substr(0, path.find(' '));
    for (size_t i = 0; i < table.groups.size(); ++i)
      if (first == table.groups[i].path) return i;
    return table.groups.size();
  };
  std::stable_sort(table.commands.begin(), table.commands.end(), [&](const Command& a, const Command& b) { return place(a) < place(b); });
  return table;
}

}  // namespace

const CommandTable& Commands() {
  static const CommandTable table = MakeTable();
  return table;
}

}  // namespace ferry::cli
