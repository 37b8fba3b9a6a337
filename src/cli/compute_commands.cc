// The part of the table that is about compute targets: Ferry's own words, which are those of az ml v2, and those of v1.
#include "cli/commands.h"

namespace ferry::cli {
namespace {

using Options = std::vector<Option>;

Option Text(const char* name, const char* help, char letter = 0, const char* value = "TEXT", const char* alias = nullptr) {
  return {.name = name, .letter = letter, .value = value, .help = help, .alias = alias};
}
Option Number(const char* name, const char* help, const char* alias = nullptr, const char* other = nullptr) {
  return {.name = name, .value = "N", .help = help, .other = other, .alias = alias, .number = true};
}
Option Flag(const char* name, const char* help) { return {.name = name, .help = help, .truth = true}; }
Option Verbose() { return {.name = "verbose", .letter = 'v', .help = "tell every request on standard error"}; }
Option Tag() { return {.name = "tag", .value = "KEY=VALUE", .help = "a tag; repeatable", .alias = "tags", .repeatable = true}; }
Option NoWait(const char* help) { return Flag("no-wait", help); }
Option Name() { return {.name = "name", .letter = 'n', .value = "NAME", .help = "its name"}; }
Option NeededName() { return {.name = "name", .letter = 'n', .value = "NAME", .help = "its name", .required = true}; }
Positional NameWord(bool required = true) { return {.name = "NAME", .help = "its name", .fills = "name", .required = required}; }

constexpr const char* kFileDetail =
    "FILE is YAML of Azure's schema amlCompute: name, type, size, tier, min_instances, max_instances, idle_time_before_scale_down, description, tags;\n"
    "and Ferry's own provider and slots_per_node. Options win over it. Names of Azure's networks, places and identities are recorded and change nothing.";

std::vector<Command> Version1() {
  const Option name = NeededName();
  return {
      {.path = "computetarget create amlcompute",
       .summary = "Make a cluster",
       .reach = Reach::kWorkspace,
       .options = {name,
                   {.name = "vm-size", .letter = 's', .value = "SIZE", .help = "size of a node; see: ferry compute sizes", .required = true},
                   {.name = "max-nodes", .value = "N", .help = "most nodes", .required = true, .number = true},
                   Number("min-nodes", "fewest nodes", nullptr, "0"),
                   Number("idle-seconds-before-scaledown", "how long a node may idle", nullptr, "1800"),
                   {.name = "vm-priority",
                    .letter = 'p',
                    .value = "PRIORITY",
                    .help = "whether nodes can be taken away",
                    .other = "dedicated",
                    .choices = {"dedicated", "lowpriority"}},
                   Text("admin-username", "recorded", 0, "NAME"),
                   Text("admin-user-password", "accepted and not used"),
                   Text("admin-user-ssh-key", "recorded"),
                   Text("assign-identity", "recorded", 0, "IDS"),
                   Flag("enable-node-public-ip", "recorded"),
                   {.name = "remote-login-port-public-access", .value = "STATE", .help = "recorded", .choices = {"Enabled", "Disabled", "NotSpecified"}},
                   Text("location", "recorded", 'l', "PLACE"),
                   Text("vnet-name", "recorded", 0, "NAME"),
                   Text("vnet-resourcegroup-name", "recorded", 0, "NAME"),
                   Text("subnet-name", "recorded", 0, "NAME"),
                   Tag(),
                   Text("description", "what it is for"),
                   NoWait("do not wait until it is there"),
                   Verbose()},
       .handler = CreateCluster,
       .detail = "What is recorded means something on Azure alone. In an attached folder, .azureml/NAME.runconfig is made, too."},
      {.path = "computetarget update amlcompute",
       .summary = "Change the size of a cluster",
       .reach = Reach::kWorkspace,
       .options = {name, Number("min-nodes", "fewest nodes"), Number("max-nodes", "most nodes"),
                   Number("idle-seconds-before-scaledown", "how long a node may idle"), Verbose()},
       .handler = UpdateCluster},
      {.path = "computetarget list", .summary = "List compute targets", .reach = Reach::kWorkspace, .options = {Verbose()}, .handler = ListTargets},
      {.path = "computetarget show", .summary = "Show a compute target", .reach = Reach::kWorkspace, .options = {name, Verbose()}, .handler = ShowTarget},
      {.path = "computetarget delete", .summary = "Delete a compute target", .reach = Reach::kWorkspace, .options = {name, Verbose()}, .handler = RemoveTarget},
      {.path = "computetarget detach", .summary = "Detach a compute target", .reach = Reach::kWorkspace, .options = {name, Verbose()}, .handler = DetachTarget},
      {.path = "computetarget get-credentials",
       .summary = "Show how to reach a compute target",
       .reach = Reach::kWorkspace,
       .options = {name, Verbose()},
       .handler = TargetCredentials},
  };
}

std::vector<Command> Own() {
  const Option file = Text("file", "what to make, as YAML", 'f', "FILE");
  const Option fewest = Number("min-instances", "fewest nodes", "min-nodes"), most = Number("max-instances", "most nodes", "max-nodes");
  const Option idle = Number("idle-time-before-scale-down", "how many seconds a node may idle", "idle-seconds-before-scaledown");
  const Option description = Text("description", "what it is for");
  return {
      {.path = "compute create",
       .summary = "Make a compute target",
       .reach = Reach::kWorkspace,
       .options = {Name(),
                   file,
                   Text("type", "amlcompute (the default) or batchai", 't', "TYPE"),
                   Text("size", "size of a node; see: ferry compute sizes", 's', "SIZE", "vm-size"),
                   fewest,
                   most,
                   idle,
                   {.name = "tier",
                    .value = "TIER",
                    .help = "whether nodes can be taken away",
                    .alias = "vm-priority",
                    .choices = {"dedicated", "low_priority", "lowpriority"}},
                   Text("provider", "who makes its nodes; without it process: agents on the server's machine"),
                   Number("slots-per-node", "how many runs a node takes at once"),
                   Text("location", "recorded", 'l', "PLACE"),
                   Tag(),
                   description,
                   NoWait("do not wait until it is there")},
       .positionals = {NameWord(false)},
       .handler = CreateCompute,
       .detail = kFileDetail},
      {.path = "compute update",
       .summary = "Change a compute target",
       .reach = Reach::kWorkspace,
       .options = {Name(),
                   file,
                   fewest,
                   most,
                   idle,
                   Tag(),
                   {.name = "remove-tag", .value = "KEY", .help = "remove a tag; repeatable", .repeatable = true},
                   description},
       .positionals = {NameWord(false)},
       .handler = UpdateCompute,
       .detail = "What is not given stays. Size, tier and type are for good: a file that says otherwise is refused."},
      {.path = "compute show",
       .summary = "Show a compute target: its nodes, what runs there, what waits, and why",
       .reach = Reach::kWorkspace,
       .options = {Name()},
       .positionals = {NameWord()},
       .handler = ShowTarget},
      {.path = "compute list", .summary = "List compute targets", .reach = Reach::kWorkspace, .handler = ListTargets},
      {.path = "compute delete",
       .summary = "Delete a compute target",
       .reach = Reach::kWorkspace,
       .options = {Name(),
                   {.name = "cancel-runs", .help = "cancel what runs or waits there; without it such a target is not deleted"},
                   {.name = "yes", .letter = 'y', .help = "accepted: nothing is asked"},
                   NoWait("do not wait until it is gone")},
       .positionals = {NameWord()},
       .handler = RemoveTarget},
      {.path = "compute nodes",
       .summary = "List the nodes of a compute target",
       .reach = Reach::kWorkspace,
       .options = {Name()},
       .positionals = {NameWord()},
       .handler = ListTargetNodes},
      {.path = "compute explain",
       .summary = "Say why a compute target has as many nodes as it has",
       .reach = Reach::kWorkspace,
       .options = {Name()},
       .positionals = {NameWord()},
       .handler = ExplainTarget},
      {.path = "compute evict",
       .summary = "Take a node away as a low-priority node is taken, to rehearse it",
       .reach = Reach::kWorkspace,
       .options = {Name(), Text("node", "which; without it one that runs something", 0, "NODE")},
       .positionals = {NameWord()},
       .handler = EvictTarget,
       .detail = "What runs there goes back to the queue by itself."},
      {.path = "compute cost", .summary = "Show what nodes have cost, and how long they were idle", .reach = Reach::kWorkspace, .handler = ShowCost},
      {.path = "compute sizes", .summary = "List the sizes that nodes can have", .handler = ListSizes},
      {.path = "compute capabilities", .summary = "Show what each kind of compute target can do", .handler = ListCapabilities},
  };
}

}  // namespace

std::vector<Command> ComputeCommands() {
  std::vector<Command> all = Own();
  for (Command& command : Version1()) all.push_back(std::move(command));
  return all;
}

}  // namespace ferry::cli
