#include "cli/commands.h"

namespace ferry::cli {
namespace {

// --- options that several commands share

Option Run() { return {.name = "run", .letter = 'r', .value = "RUN", .help = "the run's id"}; }
Option Experiment(const char* help) { return {.name = "experiment-name", .letter = 'e', .value = "NAME", .help = help}; }
// Azure's commands name the experiment beside the run; an id is enough here.
Option IgnoredExperiment() {
  return {.name = "experiment-name", .letter = 'e', .value = "NAME", .help = "accepted and not used: a run's id is enough", .hidden = true};
}
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
                   {.name = "user", .value = "NAME", .help = "only of this user"},
                   {.name = "tags", .value = "KEY[=VALUE]", .help = "only with this tag; repeatable", .repeatable = true},
                   {.name = "filter", .value = "EXPR", .help = "only where this holds: \"metrics.loss < 0.5 and params.lr = '0.1'\""},
                   {.name = "order", .value = "FIELD", .help = "order by this field; '-' in front: falling", .other = "-created"},
                   {.name = "archived", .help = "archived runs instead"},
                   {.name = "all", .help = "every run, however many"},
                   {.name = "cursor",
                    .value = "TEXT",
                    .help = "go on where an earlier list ended; the result is then {\"runs\", \"next\"}; \"\": from the start"},
                   {.name = "minimal", .help = "accepted and not used", .hidden = true}},
       .handler = ListRuns},
      {.path = "run show", .summary = "Show a run", .options = {Run(), IgnoredExperiment()}, .positionals = {RunWord()}, .handler = ShowRun},
      {.path = "run cancel", .summary = "Cancel a run", .options = {Run(), IgnoredExperiment()}, .positionals = {RunWord()}, .handler = CancelRun},
      {.path = "run monitor-logs",
       .summary = "Follow a run's output until it ends",
       .options = {Run(), IgnoredExperiment()},
       .positionals = {RunWord()},
       .handler = MonitorLogs,
       .detail = "The exit status is that of an attached submission."},
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
       .summary = "Submit a run again",
       .options = {Run()},
       .positionals = {{.name = "RUN", .help = "the run's id", .fills = "run"}},
       .handler = RerunRun,
       .hidden = true},
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

std::vector<Command> AdminCommands() {
  const Option name = {.name = "name", .letter = 'n', .value = "NAME", .help = "its name", .required = true};
  const Option workspace = {.name = "workspace-name", .letter = 'w', .value = "NAME", .help = "its name", .required = true};
  return {
      {.path = "experiment create", .summary = "Create an experiment", .reach = Reach::kWorkspace, .options = {name}, .handler = CreateExperiment},
      {.path = "experiment list", .summary = "List experiments", .reach = Reach::kWorkspace, .handler = ListExperiments},
      {.path = "experiment show", .summary = "Show an experiment", .reach = Reach::kWorkspace, .options = {name}, .handler = ShowExperiment},
      {.path = "workspace create",
       .summary = "Create a workspace",
       .options = {workspace,
                   {.name = "exist-ok", .help = "no error when it is there already"},
                   {.name = "description", .value = "TEXT", .help = "what it is for"},
                   {.name = "location", .letter = 'l', .value = "PLACE", .help = "accepted and not used", .hidden = true}},
       .handler = CreateWorkspace},
      {.path = "workspace list", .summary = "List workspaces", .handler = ListWorkspaces},
      {.path = "workspace show", .summary = "Show a workspace", .reach = Reach::kWorkspace, .handler = ShowWorkspace},
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
      {"folder", "Folders with scripts, attached to a workspace"},
      {"runconfig", "Run configurations: what to run, where, and with what"},
      {"user", "Who may use the server"},
      {"token", "Tokens of users"},
      {"node", "Machines that run agents"},
  };
  for (auto* part : {RunCommands, ConfigurationCommands, AdminCommands, ProgramCommands})
    for (Command& command : part()) table.commands.push_back(std::move(command));
  return table;
}

}  // namespace

const CommandTable& Commands() {
  static const CommandTable table = MakeTable();
  return table;
}

}  // namespace ferry::cli
