#include "model/target.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace ferry::model {
namespace {

constexpr const char* kKinds[] = {"fixed", "elastic", "batch"};
constexpr const char* kStates[] = {"Creating", "Succeeded", "Failed", "Deleting"};

}  // namespace

const char* TargetKindName(TargetKind kind) { return kKinds[static_cast<int>(kind)]; }
const char* ProvisioningName(Provisioning state) { return kStates[static_cast<int>(state)]; }

std::string TargetKey(std::string_view workspace, std::string_view name) { return name == "local" ? std::string(name) : StrCat(workspace, ".", name); }
std::string TargetRecord::Key() const { return TargetKey(workspace, name); }

Result<void> CheckTargetName(std::string_view name, std::string_view field) {
  auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-'; };
  if (name.size() < 2 || name.size() > 32 || !std::all_of(name.begin(), name.end(), fits) || !std::isalpha(static_cast<unsigned char>(name.front())) ||
      name.back() == '-')
    return MakeError(Code::kInvalid, "target.name",
                     StrCat(field, " is '", name.substr(0, 80), "'; expected 2 to 32 letters, digits and '-', beginning with a letter and not ending with '-'"),
                     std::string(field));
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "local" || lower == "amlcompute" || lower == "containerinstance")
    return MakeError(Code::kInvalid, "target.reserved", StrCat(field, " is '", name, "', which means a kind of compute; give it another name"),
                     std::string(field));
  return {};
}

Json ToJson(const TargetRecord& target) {
  Json json = Json::MakeObject({{"workspace", target.workspace},
                                {"name", target.name},
                                {"kind", TargetKindName(target.kind)},
                                {"type", target.type},
                                {"min_nodes", target.min_nodes},
                                {"max_nodes", target.max_nodes},
                                {"idle_seconds", target.idle_seconds},
                                {"slots", target.slots},
                                {"created", target.created.micros},
                                {"modified", target.modified.micros},
                                {"state", ProvisioningName(target.state)},
                                {"made", target.made}});
  json.SetIf("provider", target.provider).SetIf("vm_size", target.vm_size).SetIf("run", target.run);
  json.SetIf("description", target.description).SetIf("user", target.user).SetIf("error", target.error);
  if (target.low_priority) json.Set("low_priority", true);
  if (target.price != 0) json.Set("price", target.price);
  if (!target.recorded.empty()) json.Set("recorded", target.recorded);
  if (!target.tags.empty()) json.Set("tags", target.tags);
  if (!target.hosts.empty()) {
    Json hosts = Json::MakeArray();
    for (const SshLogin& host : target.hosts) {
      Json one = Json::MakeObject({{"address", host.address}, {"port", host.port}, {"user", host.user}});
      one.SetIf("password", host.password).SetIf("private_key", host.private_key).SetIf("passphrase", host.passphrase).SetIf("host_key", host.host_key);
      hosts.Push(std::move(one));
    }
    json.Set("hosts", std::move(hosts));
  }
  return json;
}

Result<TargetRecord> TargetFromJson(const Json& json) {
  TargetRecord target;
  target.workspace = json.GetString("workspace");
  target.name = json.GetString("name");
  auto index = [](const auto& names, const std::string& name) {
    for (size_t i = 0; i < std::size(names); ++i)
      if (name == names[i]) return static_cast<int>(i);
    return -1;
  };
  int kind = index(kKinds, json.GetString("kind")), state = index(kStates, json.GetString("state"));
  if (kind < 0) return MakeError(Code::kInvalid, "target.kind", StrCat("kind is '", json.GetString("kind"), "'; expected fixed, elastic or batch"), "kind");
  target.kind = static_cast<TargetKind>(kind);
  target.state = state < 0 ? Provisioning::kSucceeded : static_cast<Provisioning>(state);
  target.type = json.GetString("type");
  target.provider = json.GetString("provider");
  target.vm_size = json.GetString("vm_size");
  target.low_priority = json.GetBool("low_priority");
  target.price = json.GetDouble("price");
  target.min_nodes = static_cast<int>(json.GetInt("min_nodes"));
  target.max_nodes = static_cast<int>(json.GetInt("max_nodes"));
  target.idle_seconds = json.GetInt("idle_seconds", 1800);
  target.slots = static_cast<int>(json.GetInt("slots", 1));
  target.run = json.GetString("run");
  target.recorded = json.GetStringMap("recorded");
  target.tags = json.GetStringMap("tags");
  target.description = json.GetString("description");
  target.user = json.GetString("user");
  target.error = json.GetString("error");
  target.created = Time{json.GetInt("created")};
  target.modified = Time{json.GetInt("modified")};
  target.made = json.GetInt("made");
  if (const Json* hosts = json.Find("hosts"); hosts && hosts->is_array())
    for (const Json& host : hosts->as_array())
      target.hosts.push_back({host.GetString("address"), static_cast<int>(host.GetInt("port", 22)), host.GetString("user"), host.GetString("password"),
                              host.GetString("private_key"), host.GetString("passphrase"), host.GetString("host_key")});
  return target;
}

Json TargetView(const TargetRecord& target) {
  auto time = [](Time t) { return t ? Json(FormatTime(t)) : Json(); };
  Json json = Json::MakeObject({{"name", target.name},
                                {"workspace", target.workspace},
                                {"type", target.type},
                                {"provider", target.provider},
                                {"provisioning_state", ProvisioningName(target.state)},
                                {"provisioning_errors", target.error.empty() ? Json() : Json(target.error)},
                                {"tags", target.tags},
                                {"description", target.description},
                                {"recorded", target.recorded},
                                {"user", target.user},
                                {"created", time(target.created)},
                                {"modified", time(target.modified)}});
  if (target.kind == TargetKind::kElastic)
    json.Set("vm_size", target.vm_size)
        .Set("vm_priority", target.low_priority ? "lowpriority" : "dedicated")
        .Set("min_nodes", target.min_nodes)
        .Set("max_nodes", target.max_nodes)
        .Set("idle_seconds_before_scaledown", target.idle_seconds)
        .Set("slots_per_node", target.slots);
  json.SetIf("run", target.run);
  if (!target.hosts.empty()) {
    Json hosts = Json::MakeArray();
    for (const SshLogin& host : target.hosts)
      hosts.Push(Json::MakeObject({{"address", host.address},
                                   {"port", host.port},
                                   {"user", host.user},
                                   {"login", !host.private_key.empty() ? "key"
                                             : !host.password.empty()  ? "password"
                                                                       : "agent"},
                                   {"host_key", host.host_key}}));
    json.Set("hosts", std::move(hosts));
  }
  return json;
}

Json ToJson(const NodeRecord& node) {
  Json gpus = Json::MakeArray();
  for (int gpu : node.gpus) gpus.Push(gpu);
  Json json =
      Json::MakeObject({{"name", node.name}, {"target", node.target}, {"generation", node.generation}, {"slots", node.slots}, {"gpus", std::move(gpus)}});
  if (node.provided) json.Set("provided", true);
  if (node.leaving) json.Set("leaving", true);
  if (node.evicting) json.Set("evicting", true);
  json.SetIf("handle", node.handle).SetIf("vm_size", node.vm_size);
  if (node.price != 0) json.Set("price", node.price);
  if (node.asked) json.Set("asked", node.asked.micros);
  if (node.arrived) json.Set("arrived", node.arrived.micros);
  if (node.busy_since) json.Set("busy_since", node.busy_since.micros);
  if (node.busy_micros) json.Set("busy", node.busy_micros);
  return json;
}

NodeRecord NodeFromJson(const Json& json) {
  NodeRecord node;
  node.name = json.GetString("name");
  node.target = json.GetString("target");
  node.generation = json.GetInt("generation", 1);
  node.slots = static_cast<int>(json.GetInt("slots", 1));
  node.provided = json.GetBool("provided");
  node.leaving = json.GetBool("leaving");
  node.evicting = json.GetBool("evicting");
  node.handle = json.GetString("handle");
  node.vm_size = json.GetString("vm_size");
  node.price = json.GetDouble("price");
  node.asked = Time{json.GetInt("asked")};
  node.arrived = Time{json.GetInt("arrived")};
  node.busy_since = Time{json.GetInt("busy_since")};
  node.busy_micros = json.GetInt("busy");
  if (const Json* gpus = json.Find("gpus"); gpus && gpus->is_array())
    for (const Json& gpu : gpus->as_array())
      if (gpu.is_int()) node.gpus.push_back(static_cast<int>(gpu.as_int()));
  return node;
}

Json ToJson(const NodeUsage& usage) {
  return Json::MakeObject({{"node", usage.node},
                           {"target", usage.target},
                           {"vm_size", usage.vm_size},
                           {"price", usage.price},
                           {"asked", usage.asked.micros},
                           {"arrived", usage.arrived.micros},
                           {"gone", usage.gone.micros},
                           {"busy", usage.busy_micros}});
}

NodeUsage UsageFromJson(const Json& json) {
  return {json.GetString("node"),     json.GetString("target"),     json.GetString("vm_size"), json.GetDouble("price"),
          Time{json.GetInt("asked")}, Time{json.GetInt("arrived")}, Time{json.GetInt("gone")}, json.GetInt("busy")};
}

}  // namespace ferry::model
