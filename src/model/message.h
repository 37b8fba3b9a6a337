// What server and agent say to each other, as values with JSON forms. Every message may be lost or arrive twice: the server tells a node what it
// wants until the node's inventory shows it, and a node reports until it is answered.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/attempt.h"
#include "model/run.h"

namespace ferry::model {

// Server, agent and client of one protocol understand each other.
inline constexpr int kProtocol = 1;

// Names an attempt on a node.
struct AttemptKey {
  std::string run;
  int attempt = 1;

  auto operator<=>(const AttemptKey&) const = default;
  // "run~2"; the folder on the node and the log's name at the server. The first attempt is just "run".
  std::string Name() const { return attempt == 1 ? run : run + "~" + std::to_string(attempt); }
};

// --- to the agent
// Work on this. Said again until the inventory has it.
struct Assign {
  AttemptKey key;
  int64_t generation = 0;
  std::string experiment;
  std::string workspace;
  std::string token;  // the run token that the script will hold; derived, never stored
  RunSpec spec;
  std::vector<int> gpus;
};
// End it, then report Collected. Said again until the attempt has ended.
struct Stop {
  AttemptKey key;
  int64_t generation = 0;
};
// The server needs nothing more of it: end what is left and remove its folder.
struct Forget {
  AttemptKey key;
};
using AgentMessage = std::variant<Assign, Stop, Forget>;
Json ToJson(const AgentMessage& message);
Result<AgentMessage> MessageFromJson(const Json& json);

// --- from the agent
struct AgentEvent {
  AttemptKey key;
  AttemptInput input;  // Accepted, Started, Exited, Collected or PrepareFailed
};
Json ToJson(const AgentEvent& event);
// kInvalid for an input that is not an agent's to give.
Result<AgentEvent> EventFromJson(const Json& json);

// What a node says of the preparation of an attempt, as often as it knows more. Said again until it is answered.
struct Facts {
  AttemptKey key;
  std::vector<Clock> clocks;
  EnvironmentUse environment;  // without `how`: nothing is said of it
  std::string platform = "linux-64";
  std::vector<DataUse> data = {};
};
Json ToJson(const Facts& facts);
// kInvalid names the field.
Result<Facts> FactsFromJson(const Json& json);

// Who the node is and what it holds; said at every connection and as a heartbeat.
struct Hello {
  std::string node;
  std::string target;
  int64_t generation = 0;  // 0: never welcomed
  int slots = 1;
  std::vector<int> gpus;
  std::vector<AttemptKey> inventory;
  // Order among an agent's requests: when its process began, and a count. One that comes late is refused.
  int64_t session = 0;
  int64_t sequence = 0;
};
Json ToJson(const Hello& hello);
Result<Hello> HelloFromJson(const Json& json);

}  // namespace ferry::model
