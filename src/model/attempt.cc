#include "model/attempt.h"

#include <algorithm>
#include <csignal>

#include "base/text.h"

namespace ferry::model {
namespace {

constexpr std::array<const char*, kPhaseCount> kPhaseNames = {"Queued", "Placed", "Preparing", "Running", "Finalizing", "Stopping", "Driven", "Ended"};
constexpr std::array<const char*, kInputCount> kInputNames = {"Place",       "Accepted",   "Started",     "Exited",   "Collected", "PrepareFailed",
                                                              "CancelAsked", "EvictAsked", "NodeGivenUp", "Vanished", "Completed", "FailAsked"};

enum P : size_t { kQ, kPl, kPr, kR, kF, kS, kD, kE };
enum I : size_t { kPlace, kAccepted, kStarted, kExited, kCollected, kPrepareFailed, kCancel, kEvict, kGivenUp, kVanished, kCompleted, kFail };

}  // namespace

const char* PhaseName(size_t index) { return kPhaseNames[index]; }
const char* InputName(size_t index) { return kInputNames[index]; }

const std::vector<Edge>& Edges() {
  static const std::vector<Edge> edges = {
      {kQ, kPlace, kPl},
      {kQ, kCancel, kE},
      {kQ, kFail, kE},

      // A node may be ahead of what it reported, so later news implies the earlier.
      {kPl, kAccepted, kPr},
      {kPl, kStarted, kR},
      {kPl, kExited, kF},
      {kPl, kPrepareFailed, kE},
      {kPl, kCancel, kS},
      {kPl, kEvict, kS},
      {kPl, kGivenUp, kE},
      {kPl, kFail, kS},

      {kPr, kStarted, kR},
      {kPr, kExited, kF},
      {kPr, kPrepareFailed, kE},
      {kPr, kCancel, kS},
      {kPr, kEvict, kS},
      {kPr, kGivenUp, kE},
      {kPr, kVanished, kE},
      {kPr, kFail, kS},

      {kR, kExited, kF},
      {kR, kCancel, kS},
      {kR, kEvict, kS},
      {kR, kGivenUp, kE},
      {kR, kVanished, kE},
      {kR, kFail, kS},

      {kF, kCollected, kE},
      {kF, kCancel, kS},
      {kF, kGivenUp, kE},
      {kF, kVanished, kE},
      {kF, kFail, kS},

      // The user's cancel outranks what is under way, and the user's failure an eviction: it must not come back as a new attempt.
      {kS, kCancel, kS},
      {kS, kCollected, kE},
      {kS, kPrepareFailed, kE},
      {kS, kGivenUp, kE},
      {kS, kVanished, kE},
      {kS, kFail, kS},

      // On no node: nothing that happens to nodes reaches it.
      {kD, kCancel, kE},
      {kD, kCompleted, kE},
      {kD, kFail, kE},
  };
  return edges;
}

const Lease* LeaseOf(const Phase& phase) {
  return std::visit(
      [](const auto& p) -> const Lease* {
        if constexpr (requires { p.lease; })
          return &p.lease;
        else
          return nullptr;
      },
      phase);
}

EndReason ReasonOf(const Exit& exit) {
  if (exit.timed_out) return EndReason::kTimedOut;
  if (exit.out_of_memory) return EndReason::kOutOfMemory;
  if (exit.signal) return EndReason::kScriptKilled;
  if (exit.code || !exit.message.empty()) return EndReason::kScriptFailed;
  return EndReason::kSucceeded;
}

namespace {

std::string DetailOf(const Exit& exit) {
  if (!exit.message.empty()) return exit.message;
  if (exit.signal) return StrCat("signal ", exit.signal);
  if (exit.code) return StrCat("exit status ", exit.code);
  return {};
}

Phase EndedPhase(const Phase& from, const AttemptInput& input) {
  if (auto* stopping = std::get_if<Stopping>(&from)) return Ended{stopping->why, std::nullopt, stopping->detail, stopping->code};
  switch (input.index()) {
    case kCancel: return Ended{EndReason::kCanceled, std::nullopt, std::holds_alternative<Queued>(from) ? "before it was given a node" : ""};
    case kCompleted: return Ended{EndReason::kCompletedByUser, std::nullopt};
    case kFail: return Ended{EndReason::kFailedByUser, std::nullopt, std::get<FailAsked>(input).detail, std::get<FailAsked>(input).code};
    case kPrepareFailed: {
      const auto& failed = std::get<PrepareFailed>(input);
      return Ended{failed.reason, std::nullopt, failed.detail};
    }
    case kCollected: {
      const Exit& exit = std::get<Finalizing>(from).exit;
      const std::string& problem = std::get<Collected>(input).problem;
      if (!problem.empty() && ReasonOf(exit) == EndReason::kSucceeded) return Ended{EndReason::kOutputFailed, exit, problem};
      return Ended{ReasonOf(exit), exit, DetailOf(exit)};
    }
    case kGivenUp: return Ended{EndReason::kNodeLost, std::nullopt, StrCat("node ", LeaseOf(from)->node)};
    case kVanished: return Ended{EndReason::kAttemptLost, std::nullopt, StrCat("node ", LeaseOf(from)->node)};
    default: CheckFailed("an edge into Ended that nothing describes", __FILE__, __LINE__);
  }
}

Phase StoppingPhase(const Phase& from, const AttemptInput& input) {
  const Lease& lease = *LeaseOf(from);
  switch (input.index()) {
    case kCancel: return Stopping{lease, EndReason::kCanceled};
    case kEvict: return Stopping{lease, EndReason::kPreempted};
    case kFail: {
      if (auto* stopping = std::get_if<Stopping>(&from); stopping && stopping->why != EndReason::kPreempted) return from;
      const auto& asked = std::get<FailAsked>(input);
      return Stopping{lease, EndReason::kFailedByUser, asked.detail, asked.code};
    }
    default: CheckFailed("an edge into Stopping that nothing describes", __FILE__, __LINE__);
  }
}

Phase Next(const Phase& from, size_t to, const AttemptInput& input) {
  auto lease = [&] { return *LeaseOf(from); };
  switch (to) {
    case kPl: return Placed{std::get<Place>(input).lease};
    case kPr: return Preparing{lease()};
    case kR: return Running{lease()};
    case kF: return Finalizing{lease(), std::get<Exited>(input).exit};
    case kS: return StoppingPhase(from, input);
    case kE: return EndedPhase(from, input);
    default: CheckFailed("an edge into a phase that nothing leads to", __FILE__, __LINE__);
  }
}

}  // namespace

bool IsClockName(std::string_view name) { return name == "snapshot" || name == "environment" || name == "image" || name == "data" || name == "start"; }

bool IsEnvironmentHow(std::string_view how) { return how == "found" || how == "built" || how == "waited" || how == "fetched" || how == "existing"; }

bool Record(Attempt& attempt, const std::vector<Clock>& clocks, const EnvironmentUse& environment, const std::vector<DataUse>& data) {
  bool changed = false;
  for (const Clock& clock : clocks) {
    auto it = std::find_if(attempt.clocks.begin(), attempt.clocks.end(), [&](const Clock& c) { return c.name == clock.name; });
    if (it == attempt.clocks.end()) {
      attempt.clocks.push_back(clock);
      changed = true;
    } else if (*it != clock) {
      *it = clock;
      changed = true;
    }
  }
  if (!environment.how.empty() && environment != attempt.environment) {
    attempt.environment = environment;
    changed = true;
  }
  for (const DataUse& use : data) {
    auto it = std::find_if(attempt.data.begin(), attempt.data.end(), [&](const DataUse& u) { return u.name == use.name; });
    if (it != attempt.data.end() && *it == use) continue;
    if (it == attempt.data.end())
      attempt.data.push_back(use);
    else
      *it = use;
    changed = true;
  }
  return changed;
}

bool Advance(Attempt& attempt, const AttemptInput& input, Time now) {
  for (const Edge& edge : Edges()) {
    if (edge.from != attempt.phase.index() || edge.input != input.index()) continue;
    Phase next = Next(attempt.phase, edge.to, input);
    if (next == attempt.phase) return false;
    attempt.phase = std::move(next);
    if (edge.to != edge.from) attempt.entered[edge.to] = now;
    return true;
  }
  return false;
}

std::string StateDiagram() {
  std::string out =
      "# The states of an attempt\n\n"
      "Printed from the table in `src/model/attempt.cc` by `ferry-states`; a test keeps the two equal.\n\n"
      "```mermaid\nstateDiagram-v2\n  [*] --> Queued\n  [*] --> Driven: interactive\n";
  for (const Edge& edge : Edges())
    if (edge.from != edge.to) out += StrCat("  ", PhaseName(edge.from), " --> ", PhaseName(edge.to), ": ", InputName(edge.input), "\n");
  out += "  Ended --> [*]\n```\n\n## Every pair\n\nA dot means that the input changes nothing in that phase.\n\n| |";
  for (const char* phase : kPhaseNames) out += StrCat(" ", phase, " |");
  out += "\n|---|";
  for (size_t i = 0; i < kPhaseCount; ++i) out += "---|";
  for (size_t input = 0; input < kInputCount; ++input) {
    out += StrCat("\n| ", InputName(input), " |");
    for (size_t phase = 0; phase < kPhaseCount; ++phase) {
      const char* to = "·";
      for (const Edge& edge : Edges())
        if (edge.from == phase && edge.input == input) to = PhaseName(edge.to);
      out += StrCat(" ", to, " |");
    }
  }
  out += "\n\n## Why an attempt ended\n\n| reason | the run's status | tried again | meaning |\n|---|---|---|---|\n";
  for (const ReasonRow& row : ReasonTable())
    out += StrCat("| ", row.name, " | ", StatusName(row.status), " | ", row.retry == RetryClass::kInfrastructure ? "yes" : "no", " | ", row.text, " |\n");
  out +=
      "\n## What the user sees\n\n"
      "| phase | status | stage |\n|---|---|---|\n"
      "| Queued | Queued | Scaling |\n"
      "| Placed | Starting | Preparing |\n"
      "| Preparing | Preparing | Preparing |\n"
      "| Running | Running | Running |\n"
      "| Finalizing | Finalizing | Post-Processing |\n"
      "| Stopping | CancelRequested (canceled), Finalizing (failed by its user), Queued (preempted) | that of the phase before |\n"
      "| Driven | Running | Running |\n"
      "| Ended | the reason's | none |\n";
  return out;
}

Json ToJson(const Exit& exit) {
  Json json = Json::MakeObject({{"code", exit.code}});
  if (exit.signal) json.Set("signal", exit.signal);
  if (exit.out_of_memory) json.Set("out_of_memory", true);
  if (exit.timed_out) json.Set("timed_out", true);
  json.SetIf("message", exit.message);
  return json;
}

Exit ExitFromJson(const Json& json) {
  return {static_cast<int>(json.GetInt("code")), static_cast<int>(json.GetInt("signal")), json.GetBool("out_of_memory"), json.GetBool("timed_out"),
          json.GetString("message")};
}

Json ToJson(const Clock& clock) {
  Json json = Json::MakeObject({{"name", clock.name}, {"start", clock.start.micros}});
  if (clock.end) json.Set("end", clock.end.micros);
  return json;
}

Clock ClockFromJson(const Json& json) { return {json.GetString("name"), Time{json.GetInt("start")}, Time{json.GetInt("end")}}; }

Json ToJson(const EnvironmentUse& use) {
  Json json = Json::MakeObject({{"how", use.how}, {"seconds", use.seconds}});
  json.SetIf("key", use.key).SetIf("lock", use.lock);
  return json;
}

EnvironmentUse UseFromJson(const Json& json) {
  double seconds = json.GetDouble("seconds");
  return {json.GetString("how"), seconds >= 0 ? seconds : 0, json.GetString("key"), json.GetString("lock")};
}

Json ToJson(const Attempt& attempt) {
  Json json = Json::MakeObject({{"number", attempt.number}, {"phase", PhaseName(attempt.phase.index())}});
  if (const Lease* lease = LeaseOf(attempt.phase)) json.Set("node", lease->node).Set("generation", lease->generation);
  if (auto* p = std::get_if<Finalizing>(&attempt.phase)) json.Set("exit", ToJson(p->exit));
  if (auto* p = std::get_if<Stopping>(&attempt.phase)) json.Set("why", Describe(p->why).name).SetIf("detail", p->detail).SetIf("code", p->code);
  if (auto* p = std::get_if<Ended>(&attempt.phase)) {
    json.Set("reason", Describe(p->reason).name);
    if (p->exit) json.Set("exit", ToJson(*p->exit));
    json.SetIf("detail", p->detail).SetIf("code", p->code);
  }
  Json entered = Json::MakeObject();
  for (size_t i = 0; i < kPhaseCount; ++i)
    if (attempt.entered[i]) entered.Set(PhaseName(i), attempt.entered[i].micros);
  json.Set("entered", entered);
  if (!attempt.gpus.empty()) {
    Json gpus = Json::MakeArray();
    for (int gpu : attempt.gpus) gpus.Push(gpu);
    json.Set("gpus", gpus);
  }
  if (!attempt.clocks.empty()) {
    Json clocks = Json::MakeArray();
    for (const Clock& clock : attempt.clocks) clocks.Push(ToJson(clock));
    json.Set("clocks", std::move(clocks));
  }
  if (!attempt.environment.how.empty()) json.Set("environment", ToJson(attempt.environment));
  if (!attempt.data.empty()) {
    Json data = Json::MakeArray();
    for (const DataUse& use : attempt.data) data.Push(ToJson(use));
    json.Set("data", std::move(data));
  }
  return json;
}

Result<Attempt> AttemptFromJson(const Json& json) {
  Attempt attempt;
  attempt.number = static_cast<int>(json.GetInt("number", 1));
  std::string name = json.GetString("phase");
  Lease lease{json.GetString("node"), json.GetInt("generation")};
  auto exit = [&] { return json.Find("exit") ? ExitFromJson(*json.Find("exit")) : Exit{}; };
  auto reason = [&](const char* key) { return ReasonFromName(json.GetString(key)); };
  if (name == "Queued") {
    attempt.phase = Queued{};
  } else if (name == "Placed") {
    attempt.phase = Placed{lease};
  } else if (name == "Preparing") {
    attempt.phase = Preparing{lease};
  } else if (name == "Running") {
    attempt.phase = Running{lease};
  } else if (name == "Finalizing") {
    attempt.phase = Finalizing{lease, exit()};
  } else if (name == "Stopping" && reason("why")) {
    attempt.phase = Stopping{lease, *reason("why"), json.GetString("detail"), json.GetString("code")};
  } else if (name == "Driven") {
    attempt.phase = Driven{};
  } else if (name == "Ended" && reason("reason")) {
    attempt.phase = Ended{*reason("reason"), json.Find("exit") ? std::optional<Exit>(exit()) : std::nullopt, json.GetString("detail"), json.GetString("code")};
  } else {
    return MakeError(Code::kInternal, "attempt.unreadable", StrCat("an attempt in the store has the unknown phase '", name, "'"));
  }
  if (const Json* entered = json.Find("entered"))
    for (size_t i = 0; i < kPhaseCount; ++i) attempt.entered[i] = Time{entered->GetInt(PhaseName(i))};
  if (const Json* gpus = json.Find("gpus"); gpus && gpus->is_array())
    for (const Json& gpu : gpus->as_array())
      if (gpu.is_int()) attempt.gpus.push_back(static_cast<int>(gpu.as_int()));
  if (const Json* clocks = json.Find("clocks"); clocks && clocks->is_array())
    for (const Json& clock : clocks->as_array()) attempt.clocks.push_back(ClockFromJson(clock));
  if (const Json* use = json.Find("environment"); use && !use->GetString("how").empty()) attempt.environment = UseFromJson(*use);
  if (const Json* data = json.Find("data"); data && data->is_array())
    for (const Json& use : data->as_array()) attempt.data.push_back(DataUseFromJson(use));
  return attempt;
}

}  // namespace ferry::model
