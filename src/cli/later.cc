// Commands of `az ml` whose time has not come: their words and flags are known, and they say so.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"

namespace ferry::cli {
namespace {

Option Text(const char* name, const char* help, char letter = 0, const char* value = "TEXT", const char* alias = nullptr) {
  return {.name = name, .letter = letter, .value = value, .help = help, .alias = alias};
}
Option Needed(const char* name, const char* help, char letter = 0, const char* value = "NAME", const char* alias = nullptr) {
  return {.name = name, .letter = letter, .value = value, .help = help, .alias = alias, .required = true};
}
Option Number(const char* name, const char* help, char letter = 0, const char* other = nullptr) {
  return {.name = name, .letter = letter, .value = "N", .help = help, .other = other, .number = true};
}
Option Flag(const char* name, const char* help, char letter = 0, const char* alias = nullptr) {
  return {.name = name, .letter = letter, .help = help, .alias = alias, .truth = true};
}
Option Verbose() { return {.name = "verbose", .letter = 'v', .help = "tell every request on standard error"}; }

using Options = std::vector<Option>;

Options operator+(Options left, Options right) {
  for (Option& option : right) left.push_back(std::move(option));
  return left;
}

Command Later(const char* path, const char* summary, Options options = {}, std::vector<Positional> positionals = {}) {
  return {.path = path,
          .summary = summary,
          .reach = Reach::kWorkspace,
          .options = std::move(options),
          .positionals = std::move(positionals),
          .handler = NotYet,
          .detail = "Not part of this version of Ferry yet.",
          .later = true};
}

std::vector<Command> ComputeKinds() {
  const Option name = Needed("name", "its name", 'n');
  const Options network = {Text("vnet-name", "network", 0, "NAME"), Text("vnet-resourcegroup-name", "the network's resource group", 0, "NAME"),
                           Text("subnet-name", "network within it", 0, "NAME")};
  const Options common = {{.name = "tag", .value = "KEY=VALUE", .help = "a tag; repeatable", .alias = "tags", .repeatable = true},
                          Text("description", "what it is for"),
                          Flag("no-wait", "do not wait until it is there"),
                          Verbose()};
  const Option location = Text("location", "where", 'l', "PLACE");
  const Options ssl = {Text("ssl-cname", "name of the certificate", 0, "NAME"), Text("ssl-cert-file", "certificate", 0, "FILE"),
                       Text("ssl-key-file", "its key", 0, "FILE"), Text("ssl-leaf-domain-label", "domain label", 0, "NAME"),
                       Flag("ssl-overwrite-domain", "replace the domain label")};
  return {
      Later("computetarget create computeinstance", "Make a machine of one's own",
            Options{name, Needed("vm-size", "its size", 's', "SIZE"), Flag("ssh-public-access", "whether SSH is open"),
                    Text("admin-user-ssh-public-key", "public key of its user"), Text("user-object-id", "whose it is", 0, "ID"),
                    Text("user-tenant-id", "the owner's tenant", 0, "ID")} +
                network + common),
      Later("computetarget create aks", "Make a Kubernetes cluster",
            Options{name,
                    Number("agent-count", "nodes", 'a', "3"),
                    Text("vm-size", "size of a node", 's', "SIZE"),
                    {.name = "cluster-purpose", .value = "PURPOSE", .help = "what it is for", .choices = {"FastProd", "DevTest"}},
                    {.name = "load-balancer-type", .value = "TYPE", .help = "its load balancer", .choices = {"PublicIp", "InternalLoadBalancer"}},
                    Text("load-balancer-subnet", "network of the load balancer", 0, "NAME"),
                    Text("service-cidr", "addresses of services", 0, "RANGE"),
                    Text("dns-service-ip", "address of the name server", 0, "ADDRESS"),
                    Text("docker-bridge-cidr", "addresses of the bridge", 0, "RANGE"),
                    location} +
                ssl + network + Options{Flag("no-wait", "do not wait until it is there"), Verbose()}),
      Later("computetarget create datafactory", "Make a data factory", {name, location, Flag("no-wait", "do not wait until it is there"), Verbose()}),
      Later("computetarget attach remote", "Attach a machine by SSH",
            {name,
             Needed("address", "its address", 'a', "HOST"),
             Needed("username", "user there", 'u'),
             {.name = "ssh-port", .value = "N", .help = "its SSH port", .other = "22", .number = true},
             Text("password", "the user's password", 'p'),
             Text("private-key-file", "the user's key", 0, "FILE"),
             Text("private-key-passphrase", "the key's passphrase"),
             Verbose()}),
      Later("computetarget attach aks", "Attach a Kubernetes cluster",
            {name,
             Needed("compute-resource-id", "its Azure id", 'i', "ID"),
             {.name = "cluster-purpose", .value = "PURPOSE", .help = "what it is for", .choices = {"FastProd", "DevTest"}},
             Verbose()}),
      Later("computetarget attach kubernetes", "Attach a Kubernetes cluster",
            {name, Needed("compute-resource-id", "its Azure id", 'i', "ID"), Text("amlk8s-config", "how it is used", 0, "FILE"), Verbose()}),
      Later("computetarget computeinstance start", "Start a machine of one's own", {name, Flag("no-wait", "do not wait for it"), Verbose()}),
      Later("computetarget computeinstance stop", "Stop a machine of one's own", {name, Flag("no-wait", "do not wait for it"), Verbose()}),
      Later("computetarget computeinstance restart", "Restart a machine of one's own", {name, Flag("no-wait", "do not wait for it"), Verbose()}),
      Later("computetarget amlcompute identity assign", "Give a cluster identities", {name, Text("identities", "which", 'i', "IDS"), Verbose()}),
      Later("computetarget amlcompute identity remove", "Take identities from a cluster", {name, Text("identities", "which", 'i', "IDS"), Verbose()}),
      Later("computetarget amlcompute identity show", "Show a cluster's identities", {name, Verbose()}),
  };
}

std::vector<Command> Pipelines() {
  const Option id = Needed("pipeline-id", "the pipeline's id", 'i', "ID");
  const Option draft = Needed("pipeline-draft-id", "the draft's id", 'i', "ID");
  const Option file = Text("output-file", "where to write it", 'f', "FILE");
  const Option schedule = Needed("schedule-id", "the schedule's id", 's', "ID");
  const Options edited = {Text("experiment_name", "experiment", 'e', "NAME", "experiment-name"),
                          Text("name", "its name", 'n', "NAME"),
                          Text("description", "what it is for", 'd'),
                          {.name = "allow-continue", .letter = 'c', .help = "go on when a step fails", .alias = "continue", .truth = true},
                          Text("parameters", "NAME=VALUE,...", 'p', "LIST"),
                          Text("tags", "KEY=VALUE,...", 0, "LIST"),
                          Text("properties", "KEY=VALUE,...", 0, "LIST")};
  const Options planned = {Text("name", "its name", 'n', "NAME"), Text("experiment_name", "experiment", 'e', "NAME", "experiment-name"),
                           Text("schedule-yaml", "the schedule", 'y', "FILE")};
  return {
      Later("pipeline create", "Make a pipeline of a file",
            {Needed("name", "its name", 'n'),
             Needed("pipeline-yaml", "the pipeline", 'y', "FILE"),
             {.name = "continue", .letter = 'c', .help = "go on when a step fails", .truth = true},
             Text("description", "what it is for", 'd'),
             Text("version", "its version", 'v', "VERSION"),
             file}),
      Later("pipeline list", "List pipelines"),
      Later("pipeline get", "Write a pipeline into a file",
            {Text("pipeline-id", "the pipeline's id", 'i', "ID"), Text("pipeline-draft-id", "or the draft's id", 0, "ID"),
             Text("path", "where to", 'p', "FOLDER")}),
      Later("pipeline clone", "Write a run's pipeline into a file",
            {Needed("pipeline-run-id", "the run", 'i', "RUN"), Text("path", "where to", 'p', "FOLDER"), file}),
      Later("pipeline list-steps", "List the steps of a run", {Needed("run-id", "the run", 'i', "RUN")}),
      Later("pipeline enable", "Let a pipeline be submitted", {id}),
      Later("pipeline disable", "Keep a pipeline from being submitted", {id}),
      Later("pipeline create-schedule", "Make a schedule", Options{id} + planned),
      Later("pipeline update-schedule", "Change a schedule", Options{schedule} + planned + Options{Text("status", "Active or Disabled", 0, "STATUS")}),
      Later("pipeline show-schedule", "Show a schedule", {schedule}),
      Later("pipeline enable-schedule", "Let a schedule submit", {schedule}),
      Later("pipeline disable-schedule", "Keep a schedule from submitting", {schedule}),
      Later("pipeline last-pipeline-run", "Show the last run of a schedule", {schedule}),
      Later("pipeline pipeline-runs-list", "List the runs of a schedule", {schedule}),
      Later("pipeline create-draft", "Make a draft", Options{Text("pipeline-yaml", "the pipeline", 'y', "FILE")} + edited),
      Later("pipeline clone-draft", "Make a draft of a run or pipeline",
            {Text("pipeline-draft-id", "of this draft", 'i', "ID"), Text("pipeline-run-id", "or this run", 'r', "RUN"),
             Text("pipeline-id", "or this pipeline", 0, "ID"), Text("experiment_name", "experiment", 'e', "NAME", "experiment-name")}),
      Later("pipeline delete-draft", "Delete a draft", {draft}),
      Later("pipeline list-drafts", "List drafts", {Text("tags", "only with this tag", 0, "KEY[=VALUE]")}),
      Later("pipeline show-draft", "Show a draft", {draft}),
      Later("pipeline update-draft", "Change a draft", Options{draft, Text("pipeline-yaml", "the pipeline", 'y', "FILE")} + edited),
      Later("pipeline submit-draft", "Submit a draft", {draft}),
      Later("pipeline publish-draft", "Make a pipeline of a draft", {draft}),
  };
}

std::vector<Command> Serving() {
  const Option name = Needed("name", "its name", 'n');
  const Options compute = {Text("cpu-cores", "processors", 0, "N", "cc"), Text("memory-gb", "memory", 0, "N", "gb"), Text("gpu-cores", "devices", 0, "N", "gc"),
                           Number("num-replicas", "copies")};
  const Options code = {Text("entry-script", "the scoring script", 0, "FILE", "es"),
                        Text("source-directory", "folder of the script", 0, "FOLDER", "sd"),
                        Text("inference-config-file", "how it is served", 0, "FILE", "ic"),
                        Text("environment-name", "environment", 'e', "NAME"),
                        Text("environment-version", "its version", 0, "VERSION", "ev"),
                        Text("environment-directory", "or a folder with one", 0, "FOLDER", "ed"),
                        Text("conda-file", "or a conda file", 0, "FILE", "cf"),
                        Text("runtime", "python or spark-py", 0, "NAME", "rt"),
                        Text("base-image", "or an image", 0, "IMAGE", "bi")};
  const Options access = {Flag("auth-enabled", "asks for keys", 0, "ae"),       Flag("token-auth-enabled", "asks for tokens"),
                          Text("primary-key", "first key", 0, "KEY", "pk"),     Text("secondary-key", "second key", 0, "KEY", "sk"),
                          Flag("collect-model-data", "keep requests", 0, "md"), Flag("enable-app-insights", "send telemetry", 0, "ai")};
  const Options words = {Text("description", "what it is for"),
                         {.name = "tag", .value = "KEY=VALUE", .help = "a tag; repeatable", .alias = "tags", .repeatable = true},
                         {.name = "property", .value = "KEY=VALUE", .help = "a property; repeatable", .repeatable = true},
                         Flag("no-wait", "do not wait until it is there"),
                         Verbose()};
  const Options traffic = {Text("traffic-percentile", "part of the requests", 0, "N"), Flag("is-default", "takes what no other takes"),
                           Flag("is-control-version-type", "others are measured against it")};
  const Option model = {.name = "model", .letter = 'm', .value = "NAME:VERSION", .help = "a model; repeatable", .repeatable = true};
  const Option models_file = Text("model-metadata-file", "file of `model register -t`", 'f', "FILE");
  const Option version = Needed("version-name", "the version's name", 0, "NAME");
  const Option key = Text("key", "which key: Primary or Secondary", 'k', "KEY");
  const Options body = {Text("input-data", "what to send", 'd', "JSON"), Verbose()};
  return {
      Later("model deploy", "Serve a model",
            Options{name, model, models_file, Text("deploy-config-file", "where it is served", 0, "FILE", "dc"),
                    Text("compute-target", "compute", 0, "NAME", "ct"), Flag("overwrite", "replace one of that name"),
                    Text("compute-type", "kind of compute", 0, "KIND", "cp"), Text("dns-name-label", "domain label", 0, "NAME"),
                    Text("location", "where", 'l', "PLACE"), Text("namespace", "namespace", 0, "NAME"), Number("port", "port"),
                    Text("profile-name", "a profile", 0, "NAME")} +
                code + compute + access + words),
      Later("model package", "Make an image of a model",
            Options{model, models_file, Text("image-name", "the image's name", 0, "NAME", "il"), Text("image-label", "its label", 0, "TEXT"),
                    Text("output-path", "folder for its context", 0, "FOLDER")} +
                code + Options{Flag("no-wait", "do not wait until it is there"), Verbose()}),
      Later("model profile", "Measure what a model needs",
            Options{name, model, models_file, Text("input-dataset-id", "what to send", 0, "ID", "idi"),
                    Text("base-image-registry", "registry of the image", 0, "HOST", "ir")} +
                code + compute + words),
      Later("endpoint realtime create-version", "Serve a model as a version", Options{name, version, model} + code + compute + traffic + access + words),
      Later("endpoint realtime delete", "Delete an endpoint", {name, Verbose()}),
      Later("endpoint realtime delete-version", "Delete a version", {name, version, Verbose()}),
      Later("endpoint realtime get-access-token", "Get a token for an endpoint", {name, Verbose()}),
      Later("endpoint realtime get-keys", "Show an endpoint's keys", {name, Verbose()}),
      Later("endpoint realtime get-logs", "Show what an endpoint wrote",
            {name, Text("version-name", "the version's name", 0, "NAME"), Number("num_lines", "how many lines"), Flag("init", "of the start"), Verbose()}),
      Later("endpoint realtime list", "List endpoints",
            {Text("compute-type", "only on this kind of compute", 0, "KIND"), Text("tag", "only with this tag", 0, "KEY[=VALUE]"),
             Text("property", "only with this property", 0, "KEY[=VALUE]"), Text("model-name", "only with this model", 0, "NAME"),
             Text("model-id", "only with this model", 0, "ID"), Verbose()}),
      Later("endpoint realtime regen-key", "Make a new key", {name, key, Text("set-key", "the new key", 's', "KEY"), Verbose()}),
      Later("endpoint realtime run", "Ask an endpoint", Options{name, Text("version-name", "the version's name", 0, "NAME")} + body),
      Later("endpoint realtime show", "Show an endpoint", {name, Verbose()}),
      Later("endpoint realtime update", "Change an endpoint", Options{name} + access + words),
      Later("endpoint realtime update-version", "Change a version", Options{name, version, model} + code + compute + traffic + words),
      Later("service delete", "Delete a service", {name, Verbose()}),
      Later("service get-access-token", "Get a token for a service", {name, Verbose()}),
      Later("service get-keys", "Show a service's keys", {name, Verbose()}),
      Later("service get-logs", "Show what a service wrote", {name, Number("num_lines", "how many lines"), Flag("init", "of the start"), Verbose()}),
      Later("service list", "List services",
            {Text("compute-type", "only on this kind of compute", 0, "KIND"), Text("image-digest", "only with this image", 0, "DIGEST"),
             Text("tag", "only with this tag", 0, "KEY[=VALUE]"), Text("property", "only with this property", 0, "KEY[=VALUE]"),
             Text("model-name", "only with this model", 0, "NAME"), Text("model-id", "only with this model", 0, "ID"), Verbose()}),
      Later("service regen-key", "Make a new key", {name, key, Text("set-key", "the new key", 's', "KEY"), Verbose()}),
      Later("service run", "Ask a service", Options{name} + body),
      Later("service show", "Show a service", {name, Verbose()}),
      Later("service update", "Change a service", Options{name, model} + code + compute + access + words),
  };
}

std::vector<Command> Runs() {
  return {
      Later("run submit-hyperdrive", "Run a script many times, with other parameters each time",
            {Text("experiment-name", "experiment", 'e', "NAME"),
             Text("run-configuration-name", "a run configuration of .azureml, or a file", 'c', "NAME"),
             Needed("hyperdrive-configuration-name", "what is tried", 0, "FILE"),
             Text("target", "compute target", 0, "TARGET", "ct"),
             Text("conda-dependencies", "a conda file", 'd', "FILE"),
             Text("source-directory", "what is sent with the script", 0, "FOLDER"),
             {.name = "async", .help = "print the run's id and return at once"}},
            {{.name = "SCRIPT", .help = "the script, relative to the source directory"},
             {.name = "ARGS", .help = "everything behind SCRIPT is the script's own", .remainder = true}}),
      Later("run submit-pipeline", "Run a pipeline",
            {Text("experiment-name", "experiment", 'n', "NAME"), Text("pipeline-id", "a published pipeline", 'i', "ID"),
             Text("pipeline-yaml", "or a file", 'y', "FILE"), Text("parameters", "NAME=VALUE,...", 'p', "LIST"),
             Text("datapaths", "NAME=DATASTORE/PATH,...", 'd', "LIST"), Text("output_file", "where to write the run's id", 'f', "FILE", "output-file")}),
      Later("workspace private-endpoint add", "Give a workspace a private address",
            {Text("pe-name", "its name", 0, "NAME"), Text("pe-location", "where", 'l', "PLACE"), Text("pe-vnet-name", "network", 0, "NAME"),
             Text("pe-subnet-name", "network within it", 0, "NAME"), Text("pe-resource-group", "resource group", 0, "NAME"),
             Text("pe-subscription-id", "subscription", 0, "ID"), Flag("pe-auto-approval", "without asking"), Text("tags", "KEY=VALUE", 0, "LIST")}),
      Later("workspace private-endpoint delete", "Take a private address from a workspace", {Text("pe-connection-name", "which", 0, "NAME")}),
      Later("workspace private-endpoint list", "List private addresses"),
      Later("workspace private-endpoint list-type", "List kinds of private addresses", {Text("location", "where", 'l', "PLACE")}),
      Later("datastore attach-dbfs", "Attach a Databricks file system", {Needed("name", "its name", 'n'), Verbose()}),
      Later("datastore attach-mysqldb", "Attach a MySQL database",
            {Needed("name", "its name", 'n'), Needed("server-name", "server", 's'), Needed("database-name", "database", 'd'), Needed("user-id", "user", 'u'),
             Text("password", "the user's password", 'p'), Number("port-number", "port"), Text("endpoint", "domain", 0, "HOST"),
             Flag("enforce-ssl", "over TLS alone"), Flag("include-secret", "show secrets"), Verbose()}),
      Later("datastore attach-psqldb", "Attach a PostgreSQL database",
            {Needed("name", "its name", 'n'), Needed("server-name", "server", 's'), Needed("database-name", "database", 'd'), Needed("user-id", "user", 'u'),
             Text("password", "the user's password", 'p'), Number("port-number", "port"), Text("endpoint", "domain", 0, "HOST"),
             Flag("enforce-ssl", "over TLS alone"), Flag("include-secret", "show secrets"), Verbose()}),
      Later("datastore attach-sqldb", "Attach an SQL database",
            {Needed("name", "its name", 'n'), Needed("server-name", "server", 's'), Needed("database-name", "database", 'd'),
             Text("client-id", "application", 0, "ID"), Text("client-secret", "its secret"), Text("tenant-id", "tenant", 0, "ID"),
             Text("username", "user", 0, "NAME"), Text("password", "the user's password"), Text("authority-url", "who signs in", 0, "URL"),
             Text("resource-url", "what for", 0, "URL"), Text("endpoint", "domain", 0, "HOST"), Text("sql-resource-group", "resource group", 0, "NAME"),
             Text("sql-subscription-id", "subscription", 0, "ID"), Flag("include-secret", "show secrets"),
             Flag("grant-workspace-msi-access", "let the workspace's identity in"), Verbose()}),
  };
}

}  // namespace

std::vector<Command> LaterCommands() {
  std::vector<Command> all;
  for (auto* part : {Runs, ComputeKinds, Pipelines, Serving})
    for (Command& command : part()) all.push_back(std::move(command));
  return all;
}

Result<int> NotYet(Context& context) {
  static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"computetarget create computeinstance", "ComputeInstance"}, {"computetarget create aks", "AKS"},
      {"computetarget create datafactory", "DataFactory"}, {"computetarget attach remote", "VirtualMachine"},           {"computetarget attach aks", "AKS"},
      {"computetarget attach kubernetes", "Kubernetes"},
  };
  std::string what = StrCat("'", context.azure ? "az ml " : "ferry ", context.arguments.group, "'");
  for (const auto& [command, kind] : kKinds)
    if (context.arguments.group == command)
      what = StrCat(command.find(" create ") != std::string_view::npos ? "Creating" : "Attaching", " compute of type ", kind);
  return MakeError(Code::kInvalid, "not_yet", StrCat(what, " is not part of this version of Ferry yet."));
}

}  // namespace ferry::cli
