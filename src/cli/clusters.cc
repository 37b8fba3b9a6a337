// Clusters: made and changed by flags in the words of az ml v1 and v2, or by a file.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/compute.h"
#include "os/file.h"

namespace ferry::cli {
namespace {

// Kinds of compute by the word that stands for them in any case.
constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"amlcompute", "AmlCompute"},         {"batchai", "BatchAI"},       {"computeinstance", "ComputeInstance"},
    {"virtualmachine", "VirtualMachine"}, {"kubernetes", "Kubernetes"}, {"synapsespark", "SynapseSpark"},
};

// What is recorded and not used: option -> name.
constexpr std::pair<const char*, const char*> kRecorded[] = {
    {"location", "location"},
    {"admin-username", "admin_username"},
    {"admin-user-ssh-key", "admin_user_ssh_key"},
    {"assign-identity", "identity_id"},
    {"enable-node-public-ip", "enable_node_public_ip"},
    {"remote-login-port-public-access", "remote_login_port_public_access"},
    {"vnet-name", "vnet_name"},
    {"vnet-resourcegroup-name", "vnet_resourcegroup_name"},
    {"subnet-name", "subnet_name"},
};

// The flags of both versions, as members of a request: option -> member. A command has either.
constexpr std::pair<const char*, const char*> kNumbers[] = {
    {"min-nodes", "min_nodes"},           {"max-nodes", "max_nodes"},     {"idle-seconds-before-scaledown", "idle_seconds_before_scaledown"},
    {"min-instances", "min_nodes"},       {"max-instances", "max_nodes"}, {"idle-time-before-scale-down", "idle_seconds_before_scaledown"},
    {"slots-per-node", "slots_per_node"},
};
constexpr std::pair<const char*, const char*> kTexts[] = {
    {"name", "name"}, {"type", "type"}, {"vm-size", "vm_size"}, {"size", "vm_size"}, {"provider", "provider"}, {"description", "description"},
};

// What the command line says, over what is there already.
Result<void> AddFlags(const Context& context, Json& request) {
  const Arguments& given = context.arguments;
  for (const auto& [option, key] : kTexts)
    if (given.Has(option)) request.Set(key, given.Get(option));
  for (const auto& [option, key] : kNumbers)
    if (given.Has(option)) request.Set(key, given.Number(option));
  for (const char* option : {"vm-priority", "tier"})
    if (given.Has(option)) request.Set("vm_priority", given.Get(option) == "low_priority" ? "lowpriority" : given.Get(option));
  TRY(auto tags, KeyValues(given.All("tag"), "--tag", true));
  if (!tags.empty()) {
    auto all = request.GetStringMap("tags");
    for (auto& [key, value] : tags) all[key] = value;
    request.Set("tags", all);
  }
  auto recorded = request.GetStringMap("recorded");
  std::vector<std::string> said;
  for (const auto& [option, key] : kRecorded) {
    if (!given.Has(option)) continue;
    recorded[key] = given.Get(option).empty() ? "true" : given.Get(option);
    said.push_back(StrCat("--", option));
  }
  if (!said.empty()) context.Note(StrCat("recorded and not enforced: ", Join(said, ", ")));
  if (given.Has("admin-user-password")) context.Note("--admin-user-password is not used and not kept: nodes have no such user");
  if (!recorded.empty()) request.Set("recorded", recorded);
  return {};
}

// Azure's word for the kind that was asked for. kInvalid "not_yet" for those that come later.
Result<std::string> TypeOf(const Json& request) {
  const std::string asked = request.GetString("type", "amlcompute"), lower = ToLower(asked);
  for (const auto& [word, type] : kTypes) {
    if (lower != word) continue;
    if (type == "AmlCompute" || type == "BatchAI") return std::string(type);
    return MakeError(Code::kInvalid, "not_yet", StrCat("Creating compute of type ", type, " is not part of this version of Ferry yet."));
  }
  return MakeError(Code::kInvalid, "compute.type", StrCat("type is '", asked, "'; expected amlcompute"), "--type");
}

Result<int> Create(Context& context, Json request) {
  TRY_VOID(AddFlags(context, request));
  TRY(std::string type, TypeOf(request));
  const std::string name = request.GetString("name");
  if (name.empty())
    return MakeError(Code::kInvalid, "args.missing", StrCat(context.arguments.group, " needs a name: --name NAME, or in --file"), context.arguments.group);
  if (request.GetString("vm_size").empty())
    return MakeError(Code::kInvalid, "args.missing", StrCat(context.arguments.group, " needs a size: --size SIZE, or in --file; see: ferry compute sizes"),
                     context.arguments.group);
  TRY(std::string workspace, context.Workspace());
  request.Set("type", type).Set("workspace", workspace);
  TRY(Session * session, context.Server());
  TRY(Json made, session->Send("POST", "/api/v1/computetargets", request));
  TRY(FolderSettings folder, context.Folder());
  if (std::string attached = AttachedFolder(context.arguments.Get("path"));
      !attached.empty() && (folder.workspace.empty() ? "default" : folder.workspace) == workspace) {
    TRY(bool fresh, WriteTargetTemplate(attached, name, type));
    if (fresh) context.Note(StrCat("made .azureml/", name, ".runconfig; use it with: ferry run submit-script -c ", name));
  }
  if (context.arguments.Has("no-wait")) return TellTarget(context, made);
  TRY(Json target, WaitWhile(context, *session, name, "Creating"));
  if (target.is_null()) return MakeError(Code::kConflict, "target.gone", StrCat("compute target '", name, "' was deleted meanwhile"), "--name");
  if (target.GetString("provisioning_state") == "Failed")
    return MakeError(Code::kConflict, "target.failed",
                     StrCat("compute target '", name, "' failed: ", target.GetString("provisioning_errors", "nobody said why")), "--name");
  return TellTarget(context, target);
}

// What of a file cannot be changed must be as it is.
Result<void> CheckFixed(const Json& target, const Json& wanted, const std::string& file) {
  for (const char* key : {"type", "vm_size", "vm_priority", "provider", "slots_per_node"}) {
    const Json *is = target.Find(key), *asked = wanted.Find(key);
    if (!is || !asked) continue;
    const std::string now = RenderCell(*is, Style::kPlain, {}), then = RenderCell(*asked, Style::kPlain, {});
    if (ToLower(now) != ToLower(then))
      return MakeError(Code::kConflict, "target.fixed",
                       StrCat(file, ": ", key, " of '", target.GetString("name"), "' is '", now, "' and cannot be changed, found '", then,
                              "'; delete the target and create it anew"),
                       key);
  }
  return {};
}

Result<int> Update(Context& context, Json request) {
  const std::string file = context.arguments.Get("file");
  TRY_VOID(AddFlags(context, request));
  const std::string name = request.GetString("name");
  if (name.empty())
    return MakeError(Code::kInvalid, "args.missing", StrCat(context.arguments.group, " needs a name: --name NAME, or in --file"), context.arguments.group);
  TRY(std::string path, TargetPath(context, name));
  Json change = Json::MakeObject();
  for (const char* key : {"min_nodes", "max_nodes", "idle_seconds_before_scaledown", "description"})
    if (const Json* value = request.Find(key)) change.Set(key, *value);
  if (const Json* tags = request.Find("tags")) change.Set("set_tags", *tags);
  if (context.arguments.Has("remove-tag")) change.Set("remove_tags", context.arguments.All("remove-tag"));
  if (change.as_object().empty())
    return MakeError(Code::kInvalid, "args.missing",
                     StrCat(context.arguments.group, " needs something to change: the fewest or most nodes, or how long one may idle"),
                     context.arguments.group);
  TRY(Session * session, context.Server());
  if (!file.empty()) {
    TRY(Json target, session->Get(path));
    TRY_VOID(CheckFixed(target, request, file));
  }
  TRY(Json changed, session->Send("PATCH", path, change));
  return TellTarget(context, changed);
}

// The request that --file describes, or an empty one.
Result<Json> OfFile(Context& context) {
  if (!context.arguments.Has("file")) return Json::MakeObject();
  return ReadClusterFile(context, context.arguments.Get("file"));
}

}  // namespace

Result<int> CreateCluster(Context& context) {
  Json request = Json::MakeObject();
  for (const auto& [option, key] : kNumbers)
    if (std::string_view(option) == "min-nodes" || std::string_view(option) == "idle-seconds-before-scaledown")
      request.Set(key, context.arguments.Number(option));
  return Create(context, std::move(request));
}

Result<int> CreateCompute(Context& context) {
  TRY(Json request, OfFile(context));
  // As the schema has it; az ml v1 says 1800.
  if (!request.Find("idle_seconds_before_scaledown")) request.Set("idle_seconds_before_scaledown", 120);
  return Create(context, std::move(request));
}

Result<int> UpdateCluster(Context& context) { return Update(context, Json::MakeObject()); }

Result<int> UpdateCompute(Context& context) {
  TRY(Json request, OfFile(context));
  return Update(context, std::move(request));
}

}  // namespace ferry::cli
