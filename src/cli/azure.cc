#include "cli/azure.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/compute.h"
#include "model/reason.h"
#include "os/process.h"

namespace ferry::cli {
namespace {

// Objects whose keys are the user's own words.
constexpr std::string_view kUsersOwn[] = {"tags", "properties", "definition", "environment_variables", "azure", "values"};

struct Renamed {
  std::string_view noun, from, to;
};
constexpr Renamed kRenamed[] = {
    {"run", "experiment", "experimentName"},
    {"run", "started", "startTimeUtc"},
    {"run", "ended", "endTimeUtc"},
    {"run", "created", "createdUtc"},
    {"run", "workspace", "workspaceName"},
    {"run", "parent", "parentRunId"},
    {"run", "name", "displayName"},
    {"run", "number", "runNumber"},
    {"run", "type", "runType"},
    {"model", "created", "createdTime"},
    {"model", "modified", "modifiedTime"},
    {"model", "run", "runId"},
    {"model", "experiment", "experimentName"},
    {"model", "workspace", "workspaceName"},
    {"experiment", "workspace", "workspaceName"},
    {"experiment", "created", "createdUtc"},
    {"workspace", "created", "creationTime"},
    {"dataset", "created", "createdTime"},
    {"dataset", "workspace", "workspaceName"},
    {"datastore", "workspace", "workspaceName"},
    {"datastore", "default", "isDefault"},
    {"environment", "workspace", "workspaceName"},
};

std::string CamelCase(std::string_view key) {
  std::string out;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '_' && i + 1 < key.size() && !out.empty()) {
      const char next = key[++i];
      out += next >= 'a' && next <= 'z' ? static_cast<char>(next - 'a' + 'A') : next;
    } else {
      out += key[i];
    }
  }
  return out;
}

Json Camel(const Json& value) {
  if (value.is_array()) {
    Json out = Json::MakeArray();
    for (const Json& item : value.as_array()) out.Push(Camel(item));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::MakeObject();
  for (const auto& [key, member] : value.as_object()) {
    const bool own = std::find(std::begin(kUsersOwn), std::end(kUsersOwn), key) != std::end(kUsersOwn);
    out.Add(CamelCase(key), own ? member : Camel(member));
  }
  return out;
}

// What Azure says of a workspace beside its name. What was recorded when it was made stands there again.
void AddWorkspace(Json& out) {
  const std::map<std::string, std::string> recorded = out.GetStringMap("properties");
  auto text = [&](const char* key, const char* other) {
    auto found = recorded.find(key);
    return found == recorded.end() ? std::string(other) : found->second;
  };
  out.Erase("properties");
  const std::string name = out.GetString("name"), group = text("resource_group", "ferry");
  out.Set("id", StrCat("/subscriptions/", text("subscription_id", "ferry"), "/resourceGroups/", group,
                       "/providers/Microsoft.MachineLearningServices/workspaces/", name));
  out.Set("workspaceName", name).Set("workspaceid", name).Set("type", "Microsoft.MachineLearningServices/workspaces").Set("resourceGroup", group);
  for (const auto& [key, value] : recorded)
    if (key != "subscription_id" && key != "resource_group") out.Set(CamelCase(key), value);
  if (!out.Find("location")) out.Set("location", Json());
}

// What Azure says of the nodes of a cluster.
Json NodeProperties(const Json& target) {
  Json out = Json::MakeObject();
  // The server's own machine has no size.
  if (!target.GetString("vm_size").empty()) {
    out.Set("vmSize", target.GetString("vm_size"));
    out.Set("vmPriority", target.GetString("vm_priority") == "lowpriority" ? "LowPriority" : "Dedicated");
    out.Set("scaleSettings", Json::MakeObject({{"minNodeCount", target.GetInt("min_nodes")},
                                               {"maxNodeCount", target.GetInt("max_nodes")},
                                               {"nodeIdleTimeBeforeScaleDown", StrCat("PT", target.GetInt("idle_seconds_before_scaledown"), "S")}}));
  }
  const Json* status = target.Find("status");
  if (!status || !status->is_object()) return out;
  for (const char* key : {"current_node_count", "target_node_count", "allocation_state", "allocation_state_transition_time", "errors"})
    if (const Json* value = status->Find(key)) out.Set(CamelCase(key), *value);
  Json counts = Json::MakeObject();
  if (const Json* states = status->Find("node_state_counts"); states && states->is_object())
    for (const auto& [state, count] : states->as_object()) counts.Add(StrCat(state, "NodeCount"), count);
  return out.Set("nodeStateCounts", std::move(counts));
}

// A compute target as the resource that Azure has for it. What its own view says beside that is left out.
Json ShapeTarget(const Json& target) {
  const auto recorded = target.GetStringMap("recorded");
  auto location = recorded.find("location");
  const Json place = location == recorded.end() ? Json() : Json(location->second);
  auto member = [&](const char* key) {
    const Json* value = target.Find(key);
    return value ? *value : Json();
  };
  Json properties = Json::MakeObject({{"computeType", member("type")},
                                      {"computeLocation", place},
                                      {"description", member("description")},
                                      {"createdOn", member("created")},
                                      {"modifiedOn", member("modified")},
                                      {"isAttachedCompute", false},
                                      {"provisioningState", member("provisioning_state")},
                                      {"provisioningErrors", member("provisioning_errors")},
                                      {"properties", NodeProperties(target)}});
  const std::string name = target.GetString("name"), workspace = target.GetString("workspace", "default");
  return Json::MakeObject(
      {{"id", StrCat("/subscriptions/ferry/resourceGroups/ferry/providers/Microsoft.MachineLearningServices/workspaces/", workspace, "/computes/", name)},
       {"name", name},
       {"location", place},
       {"type", "Microsoft.MachineLearningServices/workspaces/computes"},
       {"tags", target.GetStringMap("tags")},
       {"provisioningState", member("provisioning_state")},
       {"properties", std::move(properties)}});
}

Json ShapeOne(const Json& value, std::string_view noun) {
  if (noun == "computetarget" && value.Find("provisioning_state")) return ShapeTarget(value);
  Json out = Camel(value);
  if (!out.is_object()) return out;
  Json first = Json::MakeObject();
  const std::string id = out.GetString("id");
  if (noun == "run" && !id.empty() && value.Find("status")) first.Add("runId", id);
  if (noun == "model" && !id.empty()) first.Add("modelId", id);
  for (const auto& [key, member] : out.as_object()) {
    std::string_view name = key;
    for (const Renamed& renamed : kRenamed)
      if (renamed.noun == noun && renamed.from == key) name = renamed.to;
    first.Add(name, member);
  }
  if (noun == "workspace" && first.Find("name")) AddWorkspace(first);
  return first;
}

// --- az login, az account, az batchai

// The server and who is asking, as one of Azure's subscriptions.
Result<Json> Account(Context& context) {
  TRY(Session * session, context.Server());
  TRY(Json version, session->Get("/api/v1/version"));
  const std::string user = version.GetString("user");
  context.Note(StrCat("az is Ferry's here: the server ", session->url(), " (version ", version.GetString("version"), "), user '", user, "', ",
                      version.GetString("role")));
  return Json::MakeObject({{"cloudName", "Ferry"},
                           {"homeTenantId", "ferry"},
                           {"id", "ferry"},
                           {"isDefault", true},
                           {"managedByTenants", Json::MakeArray()},
                           {"name", session->url()},
                           {"state", "Enabled"},
                           {"tenantId", "ferry"},
                           {"user", Json::MakeObject({{"name", user}, {"type", "user"}})}});
}

Result<int> LogIn(Context& context) {
  TRY(Json account, Account(context));
  context.Note("there is nothing to log in to: the token is that of FERRY_TOKEN, FERRY_TOKEN_FILE or the data folder");
  return context.Show(Json(Json::Array{account}));
}

Result<int> LogOut(Context& context) {
  context.Note("there was nothing to log in to; a token is made void with: ferry token revoke");
  return 0;
}

Result<int> SetAccount(Context& context) {
  TRY([[maybe_unused]] Json account, Account(context));
  context.Note(StrCat("the subscription '", context.arguments.Get("subscription"), "' is accepted and not used; FERRY_URL names another server"));
  return 0;
}

Result<int> ShowAccount(Context& context) {
  TRY(Json account, Account(context));
  return context.Show(account);
}

Result<int> ListAccounts(Context& context) {
  TRY(Json account, Account(context));
  return context.Show(Json(Json::Array{account}));
}

Result<int> ListClusters(Context& context) {
  static const Columns columns = {{"Name", "name", Style::kPlain, Align::kLeft, true},
                                  {"State", "allocationState"},
                                  {"Nodes", "currentNodeCount", Style::kPlain, Align::kRight},
                                  {"Idle", "nodeStateCounts.idleNodeCount", Style::kPlain, Align::kRight},
                                  {"Running", "nodeStateCounts.runningNodeCount", Style::kPlain, Align::kRight},
                                  {"Unusable", "nodeStateCounts.unusableNodeCount", Style::kPlain, Align::kRight}};
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json targets, Targets(*session, workspace, true));
  Json clusters = Json::MakeArray();
  for (const Json& target : targets.as_array()) {
    Json cluster = Json::MakeObject({{"name", target.GetString("name")}});
    const Json properties = NodeProperties(target);
    for (const auto& [key, value] : properties.as_object()) cluster.Set(key, value);
    cluster.Set("allocationState", ToLower(cluster.GetString("allocationState", "Steady")));
    cluster.Set("provisioningState", ToLower(target.GetString("provisioning_state", "Succeeded"))).Set("creationTime", target.GetString("created"));
    if (target.Find("max_nodes"))
      cluster.Set("scaleSettings", Json::MakeObject({{"autoScale", Json::MakeObject({{"initialNodeCount", 0},
                                                                                     {"maximumNodeCount", target.GetInt("max_nodes")},
                                                                                     {"minimumNodeCount", target.GetInt("min_nodes")}})}}));
    clusters.Push(std::move(cluster));
  }
  return context.Show(clusters, &columns);
}

const char* ExecutionState(const std::string& status) {
  auto known = model::StatusFromName(status);
  if (status == "Completed") return "succeeded";
  if (known && model::IsTerminal(*known)) return "failed";
  if (status == "CancelRequested") return "terminating";
  return status == "Running" || status == "Finalizing" ? "running" : "queued";
}

Result<int> ListJobs(Context& context) {
  static const Columns columns = {{"Name", "name", Style::kPlain, Align::kLeft, true},
                                  {"State", "executionState"},
                                  {"Cluster", "cluster"},
                                  {"Experiment", "experiment"},
                                  {"Created", "creationTime", Style::kAgo}};
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json page, session->Get(StrCat(
                     "/api/v1/runs",
                     QueryText({{"workspace", workspace}, {"experiment", context.arguments.Get("experiment")}, {"limit", context.arguments.Get("last")}}))));
  Json jobs = Json::MakeArray();
  if (const Json* runs = page.Find("runs"); runs && runs->is_array())
    for (const Json& run : runs->as_array())
      jobs.Push(Json::MakeObject({{"name", run.GetString("id")},
                                  {"executionState", ExecutionState(run.GetString("status"))},
                                  {"cluster", run.GetString("target")},
                                  {"experiment", run.GetString("experiment")},
                                  {"creationTime", run.GetString("created")}}));
  return context.Show(jobs, &columns);
}

}  // namespace

int AzureStatus(const Error& error) {
  if (error.slug.starts_with("args.")) return 2;
  return error.code == Code::kNotFound ? 3 : 1;
}

Json AzureShape(const Json& value, std::string_view command) {
  const std::string_view noun = command.substr(0, command.find(' '));
  if (!value.is_array()) return ShapeOne(value, noun);
  Json out = Json::MakeArray();
  for (const Json& item : value.as_array()) out.Push(ShapeOne(item, noun));
  return out;
}

const CommandTable& AzureCommands() {
  static const CommandTable table = [] {
    auto taken = [](const char* name, char letter = 0, const char* value = nullptr) {
      return Option{.name = name, .letter = letter, .value = value, .help = "accepted and not used"};
    };
    CommandTable made;
    made.groups = {{"account", "The server as Azure's subscription"},
                   {"batchai", "Nodes and runs as Batch AI showed them"},
                   {"batchai cluster", "Nodes"},
                   {"batchai job", "Runs"}};
    made.commands = {
        {.path = "login",
         .summary = "Say which server and user this is",
         .options = {taken("username", 'u', "NAME"), taken("password", 'p', "TEXT"), taken("tenant", 't', "ID"), taken("service-principal"),
                     taken("identity", 'i'), taken("use-device-code"), taken("allow-no-subscriptions"), taken("scope", 0, "SCOPE")},
         .handler = LogIn},
        {.path = "logout", .summary = "Nothing", .reach = Reach::kOutput, .options = {taken("username", 0, "NAME")}, .handler = LogOut},
        {.path = "account set",
         .summary = "Say which server and user this is",
         .options = {{.name = "subscription", .letter = 's', .value = "ID", .help = "accepted and not used", .alias = "name", .required = true}},
         .handler = SetAccount},
        {.path = "account show", .summary = "Show the server and the user", .options = {taken("sdk-auth")}, .handler = ShowAccount},
        {.path = "account list", .summary = "List the one server", .options = {taken("all"), taken("refresh")}, .handler = ListAccounts},
        {.path = "batchai cluster list", .summary = "List targets and their nodes", .reach = Reach::kWorkspace, .handler = ListClusters},
        {.path = "batchai job list",
         .summary = "List runs",
         .reach = Reach::kWorkspace,
         .options = {{.name = "workspace-name", .letter = 'w', .value = "NAME", .help = "workspace", .alias = "workspace"},
                     {.name = "experiment", .letter = 'e', .value = "NAME", .help = "only of this experiment", .alias = "experiment-name"},
                     {.name = "last", .value = "N", .help = "how many", .other = "100", .number = true}},
         .handler = ListJobs},
    };
    return made;
  }();
  return table;
}

std::string AzureAlias(std::string_view program) {
  std::string quoted = "'";
  for (char c : program) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  quoted += "'";
  return StrCat(
      "# az ml, az login, az account and az batchai are Ferry's; everything else goes to the real az, where there is one.\n"
      "az() {\n"
      "  case \"${1-} ${2-}\" in\n"
      "    'ml '* | 'login '* | 'logout '* | 'account set' | 'account show' | 'account list' | 'batchai '*)\n"
      "      ",
      quoted,
      " az \"$@\" ;;\n"
      "    *)\n"
      "      if (unset -f az; command -v az) >/dev/null 2>&1; then\n"
      "        command az \"$@\"\n"
      "      else\n"
      "        echo \"az: '${1-}' is not one of Ferry's (az ml, az login, az account, az batchai), and no other az is on the PATH\" >&2\n"
      "        return 127\n"
      "      fi ;;\n"
      "  esac\n"
      "}\n");
}

Result<int> PrintAzureAlias(Context& context) {
  context.streams.out(AzureAlias(os::ExecutablePath()));
  return 0;
}

Result<int> RunAzure(Context& context) {
  std::vector<std::string> words = context.arguments.rest;
  const bool machine_learning = !words.empty() && words[0] == "ml";
  if (machine_learning) words.erase(words.begin());
  return RunCommand(machine_learning ? Commands() : AzureCommands(), words, context.streams, context.hooks, true);
}

}  // namespace ferry::cli
