// The file of `ferry compute create -f`: YAML of the schema amlCompute, with `provider` and `slots_per_node` beside it.
#include "base/text.h"
#include "cli/compute.h"
#include "os/file.h"
#include "runconfig/section.h"

namespace ferry::cli {
namespace {

constexpr int64_t kMaxNodes = 1'000'000, kMaxIdle = 30 * 86400, kMaxSlots = 1024;

void Read(runconfig::Section& file, Json& request) {
  using runconfig::Inside;
  using runconfig::Section;
  file.Take("$schema");
  auto text = [](Section& section, const char* from, Json& to, const char* key) {
    std::string value;
    if (section.Text(from, value)) to.Set(key, value);
  };
  auto number = [&](const char* from, const char* key, int64_t low, int64_t high) {
    int64_t value = 0;
    if (file.Int(from, value, low, high)) request.Set(key, value);
  };
  text(file, "name", request, "name");
  text(file, "type", request, "type");
  text(file, "size", request, "vm_size");
  text(file, "description", request, "description");
  text(file, "provider", request, "provider");
  if (std::string tier; file.Word("tier", tier, {"dedicated", "low_priority", "lowpriority"}))
    request.Set("vm_priority", tier == "dedicated" ? "dedicated" : "lowpriority");
  number("min_instances", "min_nodes", 0, kMaxNodes);
  number("max_instances", "max_nodes", 1, kMaxNodes);
  number("idle_time_before_scale_down", "idle_seconds_before_scaledown", 0, kMaxIdle);
  number("slots_per_node", "slots_per_node", 1, kMaxSlots);
  if (std::map<std::string, std::string> tags; file.TextMap("tags", tags)) request.Set("tags", tags);

  Json recorded = Json::MakeObject();
  text(file, "location", recorded, "location");
  if (bool open = false; file.Bool("ssh_public_access_enabled", open)) recorded.Set("remote_login_port_public_access", open ? "Enabled" : "Disabled");
  if (bool open = true; file.Bool("enable_node_public_ip", open)) recorded.Set("enable_node_public_ip", open ? "true" : "false");
  {
    Section ssh = Inside(file, "ssh_settings");
    text(ssh, "admin_username", recorded, "admin_username");
    text(ssh, "ssh_key_value", recorded, "admin_user_ssh_key");
    if (ssh.Take("admin_password")) ssh.report().Warn(ssh.LineOf("admin_password"), ssh.FieldOf("admin_password"), "is not used and not kept");
  }
  {
    Section network = Inside(file, "network_settings");
    text(network, "vnet_name", recorded, "vnet_name");
    text(network, "subnet", recorded, "subnet_name");
  }
  {
    Section identity = Inside(file, "identity");
    text(identity, "type", recorded, "identity_type");
    identity.Take("user_assigned_identities");
  }
  if (!recorded.as_object().empty()) request.Set("recorded", std::move(recorded));
}

}  // namespace

Result<Json> ReadClusterFile(Context& context, const std::string& path) {
  if (!os::Exists(path)) return MakeError(Code::kNotFound, "compute.file", StrCat("there is no file '", path, "'"), "--file");
  TRY(std::string text, os::ReadFile(path, yaml::kMaxBytes));
  TRY(yaml::Node node, yaml::Parse(text, path));
  std::vector<runconfig::Problem> errors, warnings;
  Json request = Json::MakeObject();
  {
    runconfig::Report report{path, errors, warnings};
    runconfig::Section file(report, &node, "", 1);
    Read(file, request);
  }
  for (const auto& problem : warnings) context.Note(Text(problem, "warning"));
  if (errors.empty()) return request;
  for (const auto& problem : errors) context.streams.err(StrCat(Text(problem, "error"), "\n"));
  return MakeError(Code::kInvalid, "compute.file",
                   StrCat(path, errors.size() == 1 ? " has an error" : StrCat(" has ", errors.size(), " errors"), "; nothing was changed"), path);
}

}  // namespace ferry::cli
