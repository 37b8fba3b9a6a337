// The part of the table that is about models, datasets, datastores and secrets.
#include "cli/commands.h"

namespace ferry::cli {
namespace {

Option Text(const char* name, const char* help, char letter = 0, const char* value = "TEXT", const char* alias = nullptr) {
  return {.name = name, .letter = letter, .value = value, .help = help, .alias = alias};
}
Option Verbose() { return {.name = "verbose", .letter = 'v', .help = "tell every request on standard error"}; }
Option Tag(const char* help) { return {.name = "tag", .value = "KEY[=VALUE]", .help = help, .alias = "tags", .repeatable = true}; }
Option Property(const char* help) { return {.name = "property", .value = "KEY[=VALUE]", .help = help, .repeatable = true}; }
Option Name(const char* help = "its name") { return {.name = "name", .letter = 'n', .value = "NAME", .help = help, .required = true}; }
Option Overwrite(const char* help) { return {.name = "overwrite", .help = help, .truth = true}; }
// What Azure asks for and Ferry has no use for.
Option Unused(const char* name, char letter = 0, const char* value = "TEXT") {
  return {.name = name, .letter = letter, .value = value, .help = "accepted and not used"};
}
Option UnusedFlag(const char* name) { return {.name = name, .help = "accepted and not used", .truth = true}; }

std::vector<Command> ModelCommands() {
  const Option id = Text("model-id", "the model: NAME:VERSION, or NAME for the latest", 'i', "MODEL");
  const Positional word = {.name = "MODEL", .help = "the model: NAME:VERSION, or NAME for the latest", .fills = "model-id", .required = true};
  const std::vector<Option> resources = {Text("cpu-cores", "processors to serve it with", 0, "N", "cc"),
                                         Text("memory-gb", "memory to serve it with", 0, "N", "gb"),
                                         {.name = "gpu-cores", .value = "N", .help = "devices to serve it with", .alias = "gc", .number = true},
                                         Text("sample-input-dataset-id", "dataset that shows its input", 0, "ID"),
                                         Text("sample-output-dataset-id", "dataset that shows its output", 0, "ID")};
  std::vector<Option> registration = {Name(),
                                      Text("model-path", "its file or folder on this machine", 'p', "PATH"),
                                      Text("asset-path", "its file or folder in a run's files: outputs/model.pkl", 0, "PATH"),
                                      Text("run-id", "the run it comes from", 0, "RUN"),
                                      Text("run-metadata-file", "the run it comes from, as `run submit-script -t` wrote it", 'f', "FILE"),
                                      Text("experiment-name", "experiment of the run; a run's id is enough", 0, "NAME"),
                                      Text("description", "what it is for", 'd'),
                                      Tag("a tag; repeatable"),
                                      Property("a property, once and for all; repeatable"),
                                      Text("model-framework", "what made it: ScikitLearn, PyTorch, ...", 0, "NAME"),
                                      Text("model-framework-version", "the version of that", 0, "VERSION"),
                                      {.name = "datasets", .value = "SCENARIO=ID", .help = "dataset it was made with; repeatable", .repeatable = true},
                                      Verbose()};
  std::vector<Option> change = {id,
                                Text("description", "what it is for", 'd'),
                                {.name = "add-tag", .value = "KEY[=VALUE]", .help = "set a tag; repeatable", .repeatable = true},
                                {.name = "remove-tag", .value = "KEY", .help = "remove a tag; repeatable", .repeatable = true},
                                {.name = "add-property", .value = "KEY=VALUE", .help = "add a property, once and for all; repeatable", .repeatable = true},
                                Verbose()};
  for (const Option& option : resources) {
    registration.push_back(option);
    change.push_back(option);
  }
  return {
      {.path = "model register",
       .summary = "Register a model: files of this machine, or of a run",
       .reach = Reach::kWorkspace,
       .options = std::move(registration),
       .handler = RegisterModel,
       .detail = "A folder keeps its name: outputs/m becomes m/... Each registration under a name is a version of its own."},
      {.path = "model list",
       .summary = "List models, the newest first",
       .reach = Reach::kWorkspace,
       .options = {Text("model-name", "only of this name", 'n', "NAME"),
                   Text("model-id", "only this one", 'i', "MODEL"),
                   Text("run-id", "only of this run", 0, "RUN"),
                   Text("dataset-id", "only made with this dataset", 0, "ID"),
                   Text("framework", "only made with this", 0, "NAME"),
                   Tag("only with this tag; repeatable"),
                   Property("only with this property; repeatable"),
                   {.name = "latest", .letter = 'l', .help = "only the latest of each name"},
                   Verbose()},
       .handler = ListModels},
      {.path = "model show",
       .summary = "Show a model",
       .reach = Reach::kWorkspace,
       .options = {id, Text("model-name", "or its name", 'n', "NAME"), Text("version", "with its version; without it the latest", 0, "VERSION"),
                   Text("run-id", "the latest of this run", 0, "RUN"), Verbose()},
       .positionals = {{.name = "MODEL", .help = "the model: NAME:VERSION, or NAME for the latest", .fills = "model-id"}},
       .handler = ShowModel},
      {.path = "model update",
       .summary = "Change a model",
       .reach = Reach::kWorkspace,
       .options = std::move(change),
       .positionals = {word},
       .handler = UpdateModel},
      {.path = "model delete",
       .summary = "Delete a version of a model",
       .reach = Reach::kWorkspace,
       .options = {Text("model-id", "the model: NAME:VERSION", 'i', "MODEL"), Verbose()},
       .positionals = {{.name = "MODEL", .help = "the model: NAME:VERSION", .fills = "model-id", .required = true}},
       .handler = DeleteModel,
       .detail = "The number of a deleted version does not come again."},
      {.path = "model download",
       .summary = "Download a model's files",
       .reach = Reach::kWorkspace,
       .options = {id, Text("target-dir", "where to", 't', "FOLDER"), Overwrite("replace files that are there"), Verbose()},
       .positionals = {word},
       .handler = DownloadModel},
  };
}

std::vector<Command> DatasetCommands() {
  const std::vector<Option> one = {Text("id", "its id", 'i', "ID"),
                                   Text("name", "or its name", 'n', "NAME"),
                                   {.name = "version", .letter = 'v', .value = "VERSION", .help = "a number, or latest", .other = "latest"}};
  auto with = [&](Option more) {
    std::vector<Option> options = one;
    options.push_back(std::move(more));
    return options;
  };
  return {
      {.path = "dataset register",
       .summary = "Register a dataset that a file describes",
       .reach = Reach::kWorkspace,
       .options = {Text("file", "the description, JSON", 'f', "FILE"),
                   {.name = "show-template", .help = "print a description to begin with"},
                   {.name = "skip-validation", .help = "do not look whether its files are there", .truth = true}},
       .handler = RegisterDataset},
      {.path = "dataset list",
       .summary = "List datasets, the latest version of each",
       .reach = Reach::kWorkspace,
       .options = {Tag("only with this tag")},
       .handler = ListDatasets},
      {.path = "dataset show", .summary = "Show a dataset", .reach = Reach::kWorkspace, .options = one, .handler = ShowDataset},
      {.path = "dataset archive", .summary = "Take a dataset out of lists", .reach = Reach::kWorkspace, .options = one, .handler = ArchiveDataset},
      {.path = "dataset deprecate",
       .summary = "Say that another dataset is to be used instead",
       .reach = Reach::kWorkspace,
       .options = with({.name = "deprecate-by-id", .letter = 'd', .value = "ID", .help = "the other one's id", .required = true}),
       .handler = DeprecateDataset},
      {.path = "dataset reactivate",
       .summary = "Take back that a dataset was archived or deprecated",
       .reach = Reach::kWorkspace,
       .options = one,
       .handler = ReactivateDataset},
      {.path = "dataset unregister",
       .summary = "Unregister a dataset, all versions",
       .reach = Reach::kWorkspace,
       .options = with({.name = "all-versions", .help = "what happens anyway"}),
       .handler = UnregisterDataset,
       .detail = "The data stays where it is, and runs that name a version by its id still find it."},
  };
}

std::vector<Command> DatastoreCommands() {
  // Those that Azure's ways to attach share.
  const std::vector<Option> storage = {Unused("account-key", 'k', "KEY"),
                                       Unused("sas-token", 0, "TOKEN"),
                                       {.name = "endpoint", .value = "HOST", .help = "accepted and not used", .other = "core.windows.net"},
                                       {.name = "protocol", .value = "NAME", .help = "accepted and not used", .other = "https"},
                                       Unused("storage-account-resource-group", 0, "NAME"),
                                       Unused("storage-account-subscription-id", 0, "ID"),
                                       UnusedFlag("grant-workspace-msi-access"),
                                       UnusedFlag("include-secret"),
                                       Verbose()};
  const std::vector<Option> lake = {Unused("client-id", 0, "ID"),
                                    Unused("client-secret"),
                                    Unused("tenant-id", 0, "ID"),
                                    Unused("authority-url", 0, "URL"),
                                    Unused("resource-url", 0, "URL"),
                                    Unused("adls-resource-group", 0, "NAME"),
                                    Unused("adls-subscription-id", 0, "ID"),
                                    UnusedFlag("grant-workspace-msi-access"),
                                    UnusedFlag("include-secret"),
                                    Verbose()};
  auto joined = [](std::vector<Option> options, const std::vector<Option>& more) {
    options.insert(options.end(), more.begin(), more.end());
    return options;
  };
  auto account = [](const char* help) { return Option{.name = "account-name", .letter = 'a', .value = "NAME", .help = help, .required = true}; };
  const std::vector<Option> own = {Text("account-name", "Azure's storage account that it stands for", 'a', "NAME"),
                                   Text("container-name", "and the container of it", 'c', "NAME"),
                                   Text("description", "what it is for"),
                                   Tag("a tag; repeatable"),
                                   Overwrite("replace a datastore of this name"),
                                   {.name = "skip-validation", .help = "do not look whether it can be reached", .truth = true}};
  constexpr const char* kResolved = "Azure's storage is not reached. What an administrator attached under the same account and container is found instead.";
  return {
      {.path = "datastore attach-folder",
       .summary = "Attach a folder of the server's machine",
       .reach = Reach::kWorkspace,
       .options = joined({Name(), {.name = "folder", .value = "PATH", .help = "the folder, an absolute path of the server's machine", .required = true}}, own),
       .handler = AttachFolderStore,
       .detail = "For owners. With -a and -c it is what `attach-blob` and scripts find that name this container of Azure's."},
      {.path = "datastore attach-s3",
       .summary = "Attach a bucket of an S3-compatible store",
       .reach = Reach::kWorkspace,
       .options = joined({Name(),
                          Text("endpoint", "the store's address: https://HOST[:PORT]", 0, "URL"),
                          {.name = "bucket", .value = "NAME", .help = "the bucket", .required = true},
                          Text("prefix", "only below this", 0, "PATH"),
                          Text("region", "its region", 0, "NAME"),
                          Text("access-key", "the access key's id", 0, "KEY"),
                          Text("secret-key-file", "the file that holds the secret key; -: standard input", 0, "FILE")},
                         own),
       .handler = AttachS3,
       .detail = "The secret key is never an argument: other users and the shell's history see those."},
      {.path = "datastore attach-blob",
       .summary = "Find the datastore that stands for a container of Azure's",
       .reach = Reach::kWorkspace,
       .options = joined(
           {Name(), account("the storage account"), {.name = "container-name", .letter = 'c', .value = "NAME", .help = "the container", .required = true}},
           storage),
       .handler = AttachAzure,
       .detail = kResolved},
      {.path = "datastore attach-file",
       .summary = "Find the datastore that stands for a file share of Azure's",
       .reach = Reach::kWorkspace,
       .options =
           joined({Name(), account("the storage account"), {.name = "share-name", .letter = 'c', .value = "NAME", .help = "the file share", .required = true}},
                  storage),
       .handler = AttachAzure,
       .detail = kResolved},
      {.path = "datastore attach-adls",
       .summary = "Find the datastore that stands for a data lake of Azure's",
       .reach = Reach::kWorkspace,
       .options = joined({Name(), {.name = "store-name", .letter = 'c', .value = "NAME", .help = "the data lake", .required = true}}, lake),
       .handler = AttachAzure,
       .detail = kResolved},
      {.path = "datastore attach-adls-gen2",
       .summary = "Find the datastore that stands for a file system of Azure's",
       .reach = Reach::kWorkspace,
       .options = joined({Name(),
                          account("the storage account"),
                          {.name = "file-system", .letter = 'c', .value = "NAME", .help = "the file system", .required = true},
                          {.name = "endpoint", .value = "HOST", .help = "accepted and not used", .other = "core.windows.net"},
                          {.name = "protocol", .value = "NAME", .help = "accepted and not used", .other = "https"}},
                         lake),
       .handler = AttachAzure,
       .detail = kResolved},
      {.path = "datastore detach",
       .summary = "Detach a datastore; its files stay",
       .reach = Reach::kWorkspace,
       .options = {Name(), Verbose()},
       .handler = DetachDatastore},
      {.path = "datastore list",
       .summary = "List datastores",
       .reach = Reach::kWorkspace,
       .options = {UnusedFlag("include-secret"), Verbose()},
       .handler = ListDatastores},
      {.path = "datastore show",
       .summary = "Show a datastore",
       .reach = Reach::kWorkspace,
       .options = {Name(), UnusedFlag("include-secret"), Verbose()},
       .handler = ShowDatastore},
      {.path = "datastore set-default",
       .summary = "Make a datastore the workspace's default",
       .reach = Reach::kWorkspace,
       .options = {Name(), Verbose()},
       .handler = SetDefaultDatastore},
      {.path = "datastore show-default",
       .summary = "Show the workspace's default datastore",
       .reach = Reach::kWorkspace,
       .options = {UnusedFlag("include-secret"), Verbose()},
       .handler = ShowDefaultDatastore},
      {.path = "datastore upload",
       .summary = "Upload a file or folder into a datastore",
       .reach = Reach::kWorkspace,
       .options = {Name("the datastore"),
                   {.name = "src-path", .letter = 'p', .value = "PATH", .help = "the file or folder", .required = true},
                   Text("target-path", "where to in the datastore", 'u', "PATH"),
                   Overwrite("replace files that are there"),
                   {.name = "hide-progress", .help = "no progress", .truth = true},
                   UnusedFlag("include-secret"),
                   Verbose()},
       .handler = UploadFiles,
       .detail = "Without --overwrite a file that is there is an error, and nothing of a datastore of the server's own is changed."},
      {.path = "datastore download",
       .summary = "Download files of a datastore",
       .reach = Reach::kWorkspace,
       .options = {Name("the datastore"),
                   {.name = "target-path", .letter = 'd', .value = "FOLDER", .help = "where to", .required = true},
                   Text("prefix", "only below this", 'p', "PATH"),
                   Overwrite("replace files that are there"),
                   {.name = "hide-progress", .help = "no progress", .truth = true},
                   UnusedFlag("include-secret"),
                   Verbose()},
       .handler = DownloadDatastore,
       .detail = "Nothing is written outside the folder."},
      {.path = "datastore files",
       .summary = "List files of a datastore",
       .reach = Reach::kWorkspace,
       .options = {Name("the datastore"), Text("prefix", "only below this", 'p', "PATH")},
       .handler = ListDatastoreFiles},
  };
}

std::vector<Command> SecretCommands() {
  const Positional name = {.name = "NAME", .help = "its name: letters, digits, '-' and '_'", .required = true};
  return {
      {.path = "secret set",
       .summary = "Keep a secret under a name",
       .reach = Reach::kWorkspace,
       .options = {Text("file", "the file that holds the value; without it standard input", 'f', "FILE"), Text("content-type", "what the value is", 0, "TYPE")},
       .positionals = {name},
       .handler = SetSecret,
       .detail = "The value is never an argument: other users and the shell's history see those. The end of the last line is not part of it."},
      {.path = "secret list", .summary = "List the names of secrets", .reach = Reach::kWorkspace, .handler = ListSecrets},
      {.path = "secret show", .summary = "Print the value of a secret", .reach = Reach::kWorkspace, .positionals = {name}, .handler = ShowSecret},
      {.path = "secret delete", .summary = "Delete a secret", .reach = Reach::kWorkspace, .positionals = {name}, .handler = DeleteSecret},
  };
}

}  // namespace

std::vector<Command> AssetCommands() {
  std::vector<Command> all;
  for (auto* part : {ModelCommands, DatasetCommands, DatastoreCommands, SecretCommands})
    for (Command& command : part()) all.push_back(std::move(command));
  return all;
}

}  // namespace ferry::cli
