#include "model/message.h"

#include "base/text.h"

namespace ferry::model {
namespace {

Json KeyJson(const AttemptKey& key) { return Json::MakeObject({{"run", key.run}, {"attempt", key.attempt}}); }
AttemptKey KeyFrom(const Json& json) { return {json.GetString("run"), static_cast<int>(json.GetInt("attempt", 1))}; }

Json Ints(const std::vector<int>& values) {
  Json out = Json::MakeArray();
  for (int v : values) out.Push(v);
  return out;
}
std::vector<int> IntsFrom(const Json* json) {
  std::vector<int> out;
  if (json && json->is_array())
    for (const Json& v : json->as_array())
      if (v.is_int()) out.push_back(static_cast<int>(v.as_int()));
  return out;
}

}  // namespace

Json ToJson(const AgentMessage& message) {
  if (auto* assign = std::get_if<Assign>(&message)) {
    Json json = KeyJson(assign->key);
    json.Set("type", "assign").Set("generation", assign->generation).Set("experiment", assign->experiment);
    json.Set("workspace", assign->workspace).Set("token", assign->token).Set("spec", ToJson(assign->spec));
    json.Set("gpus", Ints(assign->gpus));
    return json;
  }
  if (auto* stop = std::get_if<Stop>(&message)) return KeyJson(stop->key).Set("type", "stop").Set("generation", stop->generation);
  return KeyJson(std::get<Forget>(message).key).Set("type", "forget");
}

Result<AgentMessage> MessageFromJson(const Json& json) {
  std::string type = json.GetString("type");
  AttemptKey key = KeyFrom(json);
  if (key.run.empty()) return MakeError(Code::kInvalid, "message.malformed", "a message to the agent names no run", "run");
  if (type == "assign") {
    Assign assign{key, json.GetInt("generation"),  json.GetString("experiment"), json.GetString("workspace"), json.GetString("token"),
                  {},  IntsFrom(json.Find("gpus"))};
    if (const Json* spec = json.Find("spec")) {
      TRY(assign.spec, SpecFromJson(*spec));
    }
    return AgentMessage(std::move(assign));
  }
  if (type == "stop") return AgentMessage(Stop{key, json.GetInt("generation")});
  if (type == "forget") return AgentMessage(Forget{key});
  return MakeError(Code::kInvalid, "message.unknown", StrCat("a message to the agent has the unknown type '", type, "'"), "type");
}

Json ToJson(const AgentEvent& event) {
  Json json = KeyJson(event.key);
  json.Set("event", InputName(event.input.index()));
  if (auto* exited = std::get_if<Exited>(&event.input)) json.Set("exit", ToJson(exited->exit));
  if (auto* collected = std::get_if<Collected>(&event.input)) json.SetIf("problem", collected->problem);
  if (auto* failed = std::get_if<PrepareFailed>(&event.input)) json.Set("reason", Describe(failed->reason).name).Set("detail", failed->detail);
  return json;
}

Result<AgentEvent> EventFromJson(const Json& json) {
  AgentEvent event{KeyFrom(json), Accepted{}};
  std::string name = json.GetString("event");
  if (event.key.run.empty()) return MakeError(Code::kInvalid, "event.malformed", "an event names no run", "run");
  if (name == "Accepted") {
    event.input = Accepted{};
  } else if (name == "Started") {
    event.input = Started{};
  } else if (name == "Exited" && json.Find("exit")) {
    event.input = Exited{ExitFromJson(*json.Find("exit"))};
  } else if (name == "Collected") {
    event.input = Collected{json.GetString("problem")};
  } else if (name == "PrepareFailed") {
    event.input = PrepareFailed{ReasonFromName(json.GetString("reason")).value_or(EndReason::kPreparationFailed), json.GetString("detail")};
  } else {
    return MakeError(Code::kInvalid, "event.unknown", StrCat("'", name, "' is not an event that an agent reports"), "event");
  }
  return event;
}

Json ToJson(const Facts& facts) {
  Json json = KeyJson(facts.key);
  if (!facts.clocks.empty()) {
    Json clocks = Json::MakeArray();
    for (const Clock& clock : facts.clocks) clocks.Push(ToJson(clock));
    json.Set("clocks", std::move(clocks));
  }
  if (!facts.environment.how.empty()) json.Set("environment", ToJson(facts.environment)).Set("platform", facts.platform);
  if (!facts.data.empty()) {
    Json data = Json::MakeArray();
    for (const DataUse& use : facts.data) data.Push(ToJson(use));
    json.Set("data", std::move(data));
  }
  return json;
}

Result<Facts> FactsFromJson(const Json& json) {
  Facts facts;
  facts.key = KeyFrom(json);
  if (facts.key.run.empty()) return MakeError(Code::kInvalid, "facts.malformed", "facts name no run", "run");
  if (const Json* clocks = json.Find("clocks"); clocks && clocks->is_array())
    for (const Json& item : clocks->as_array()) {
      Clock clock = ClockFromJson(item);
      if (!IsClockName(clock.name) || clock.start.micros <= 0 || (clock.end && clock.end < clock.start))
        return MakeError(
            Code::kInvalid, "facts.clock",
            StrCat("'", clock.name.substr(0, 40), "' is no clock: expected snapshot, environment, image, data or start, with start and end in order"),
            "clocks");
      facts.clocks.push_back(std::move(clock));
    }
  if (const Json* use = json.Find("environment"); use && use->is_object()) {
    facts.environment = UseFromJson(*use);
    if (!IsEnvironmentHow(facts.environment.how))
      return MakeError(Code::kInvalid, "facts.environment",
                       StrCat("environment.how is '", facts.environment.how.substr(0, 40), "'; expected found, built, waited, fetched or existing"),
                       "environment.how");
  }
  if (const Json* data = json.Find("data"); data && data->is_array())
    for (const Json& item : data->as_array()) {
      DataUse use = DataUseFromJson(item);
      if (!IsDataHow(use.how) || use.name.size() > 255 || facts.data.size() >= 1000)
        return MakeError(Code::kInvalid, "facts.data", StrCat("data.how is '", use.how.substr(0, 40), "'; expected linked, downloaded, direct or uploaded"),
                         "data.how");
      facts.data.push_back(std::move(use));
    }
  facts.platform = json.GetString("platform", "linux-64");
  return facts;
}

Json ToJson(const Hello& hello) {
  Json inventory = Json::MakeArray();
  for (const AttemptKey& key : hello.inventory) inventory.Push(KeyJson(key));
  return Json::MakeObject({{"node", hello.node},
                           {"target", hello.target},
                           {"generation", hello.generation},
                           {"protocol", kProtocol},
                           {"slots", hello.slots},
                           {"gpus", Ints(hello.gpus)},
                           {"session", hello.session},
                           {"sequence", hello.sequence},
                           {"inventory", std::move(inventory)}});
}

Result<Hello> HelloFromJson(const Json& json) {
  Hello hello{
      json.GetString("node"), json.GetString("target"), json.GetInt("generation"), static_cast<int>(json.GetInt("slots", 1)), IntsFrom(json.Find("gpus")), {},
      json.GetInt("session"), json.GetInt("sequence")};
  TRY_VOID(CheckName("node", hello.node));
  TRY_VOID(CheckName("target", hello.target));
  int64_t slots = json.GetInt("slots", 1);
  if (slots < 1 || slots > 100000) return MakeError(Code::kInvalid, "hello.slots", StrCat("slots is ", slots, "; expected 1 to 100000"), "slots");
  if (const Json* inventory = json.Find("inventory"); inventory && inventory->is_array())
    for (const Json& item : inventory->as_array()) hello.inventory.push_back(KeyFrom(item));
  return hello;
}

}  // namespace ferry::model
