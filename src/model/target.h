// Compute targets and their nodes as values: what was asked for, what is there, what it cost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace ferry::model {

// How runs reach it. Fixed: its nodes join by themselves (this machine, a machine over SSH). Elastic: a NodeProvider makes and removes nodes. Batch: a
// BatchSystem takes whole attempts and starts a node for each.
enum class TargetKind { kFixed, kElastic, kBatch };
const char* TargetKindName(TargetKind kind);

// Azure's provisioning states.
enum class Provisioning { kCreating, kSucceeded, kFailed, kDeleting };
const char* ProvisioningName(Provisioning state);

// How to log in to a machine. Secrets are sealed.
struct SshLogin {
  std::string address;  // a host name, an address, or an alias of the server user's own SSH configuration
  int port = 22;
  std::string user;
  std::string password;
  std::string private_key;  // its text
  std::string passphrase;
  std::string host_key;  // pinned at attach: a line of known_hosts

  bool operator==(const SshLogin&) const = default;
};

struct TargetRecord {
  std::string workspace;
  std::string name;
  TargetKind kind = TargetKind::kFixed;
  std::string type;      // Azure's word: "AmlCompute", "BatchAI", "VirtualMachine", "ComputeInstance"
  std::string provider;  // who makes its nodes: "process", "container", "ssh"; empty: nobody
  std::string vm_size;
  double price = 0;  // of a node, an hour
  bool low_priority = false;
  int min_nodes = 0;
  int max_nodes = 0;
  int64_t idle_seconds = 1800;
  int slots = 1;    // runs at once on a node
  std::string run;  // made for this run alone and removed with it
  std::vector<SshLogin> hosts;
  std::map<std::string, std::string> recorded;  // what Azure's users say and has no meaning here
  std::map<std::string, std::string> tags;
  std::string description;
  std::string user;
  Time created;
  Time modified;
  Provisioning state = Provisioning::kSucceeded;
  std::string error;  // why it is kFailed, or what its provider said last
  int64_t made = 0;   // nodes that were ever asked for; numbers them

  bool operator==(const TargetRecord&) const = default;
  // Names it among all workspaces. "local" is everybody's.
  std::string Key() const;
};
std::string TargetKey(std::string_view workspace, std::string_view name);

// 2 to 32 letters, digits and '-', beginning with a letter, ending with a letter or digit; not one of the words that mean something else. kInvalid
// "target.name".
Result<void> CheckTargetName(std::string_view name, std::string_view field);

// A machine that runs an agent.
struct NodeRecord {
  std::string name;
  std::string target;  // TargetRecord::Key
  int64_t generation = 1;
  int slots = 1;
  std::vector<int> gpus;
  bool provided = false;  // made by a NodeProvider
  bool evicting = false;  // leaves once what runs on it was stopped
  bool leaving = false;   // gets nothing new; its provider is told to remove it until it is gone
  std::string handle;     // of the job in a BatchSystem that started it; such a node lives for one attempt
  std::string vm_size;
  double price = 0;         // an hour
  Time asked;               // when its provider was asked for it
  Time arrived;             // when it first spoke; zero: not yet
  Time busy_since;          // zero: without a run
  int64_t busy_micros = 0;  // with at least one run, before that

  bool operator==(const NodeRecord&) const = default;
};

// What a node that is gone has cost: every second between `arrived` and `gone`, with what it did in them.
struct NodeUsage {
  std::string node;
  std::string target;
  std::string vm_size;
  double price = 0;
  Time asked;
  Time arrived;
  Time gone;
  int64_t busy_micros = 0;  // with at least one run
};

Json ToJson(const TargetRecord& target);
Result<TargetRecord> TargetFromJson(const Json& json);
// What clients see: no secrets.
Json TargetView(const TargetRecord& target);
Json ToJson(const NodeRecord& node);
NodeRecord NodeFromJson(const Json& json);
Json ToJson(const NodeUsage& usage);
NodeUsage UsageFromJson(const Json& json);

}  // namespace ferry::model
