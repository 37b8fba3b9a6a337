// One try at a run: its phase, what can happen to it, and the one table of legal steps.
// Pure values. docs/internals/run-states.md is printed from the table (StateDiagram) and checked against it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/data.h"
#include "model/reason.h"

namespace ferry::model {

// The right to work on an attempt. A node that was given up on gets a new generation; reports that carry an older one are refused.
struct Lease {
  std::string node;
  int64_t generation = 0;

  bool operator==(const Lease&) const = default;
};

// How the script's process ended, as its supervisor recorded it.
struct Exit {
  int code = 0;    // exit status, when signal is 0
  int signal = 0;  // the signal that ended it, else 0
  bool out_of_memory = false;
  bool timed_out = false;  // stopped by its supervisor for maxRunDurationSeconds
  std::string message;     // what the script said with run.fail(), or ""

  bool operator==(const Exit&) const = default;
};
Json ToJson(const Exit& exit);
Exit ExitFromJson(const Json& json);
// The reason an exit amounts to when nobody asked for the end.
EndReason ReasonOf(const Exit& exit);

// The phases. Each carries only what is valid in it.
struct Queued {
  bool operator==(const Queued&) const = default;
};
struct Placed {  // a node was chosen and will be told until it answers
  Lease lease;
  bool operator==(const Placed&) const = default;
};
struct Preparing {  // the node has it: snapshot, environment
  Lease lease;
  bool operator==(const Preparing&) const = default;
};
struct Running {
  Lease lease;
  bool operator==(const Running&) const = default;
};
struct Finalizing {  // the script is over; logs and outputs are being collected
  Lease lease;
  Exit exit;
  bool operator==(const Finalizing&) const = default;
};
struct Stopping {  // must end for `why`; the node is told until it confirms
  Lease lease;
  EndReason why = EndReason::kCanceled;
  std::string detail = {};  // as Ended has them
  std::string code = {};
  bool operator==(const Stopping&) const = default;
};
struct Driven {  // an interactive run: on no node, until its client says how it ended
  bool operator==(const Driven&) const = default;
};
struct Ended {
  EndReason reason = EndReason::kSucceeded;
  std::optional<Exit> exit;
  std::string detail = {};  // completes the reason's sentence; may be empty
  std::string code = {};    // the user's own name for the failure; may be empty
  bool operator==(const Ended&) const = default;
};
// An attempt begins as Queued, that of an interactive run as Driven.
using Phase = std::variant<Queued, Placed, Preparing, Running, Finalizing, Stopping, Driven, Ended>;
inline constexpr int kPhaseCount = 8;
const char* PhaseName(size_t index);

// What can happen to an attempt.
struct Place {  // the scheduler chose a node
  Lease lease;
};
struct Accepted {};  // the node has the attempt on its disk
struct Started {};   // the script's process exists
struct Exited {
  Exit exit;
};
struct Collected {           // everything the attempt produced is durable at the server
  std::string problem = {};  // what of its data outputs could not be stored, for good; else empty
};
struct PrepareFailed {
  EndReason reason = EndReason::kPreparationFailed;
  std::string detail;
};
struct CancelAsked {};
struct EvictAsked {};
struct NodeGivenUp {};  // not seen for longer than the grace
struct Vanished {};     // the node's inventory lacks it
struct Completed {};    // the client of an interactive run has done what it meant to
struct FailAsked {      // a user, or the run's client, says that it failed
  std::string detail;
  std::string code = {};
};
using AttemptInput =
    std::variant<Place, Accepted, Started, Exited, Collected, PrepareFailed, CancelAsked, EvictAsked, NodeGivenUp, Vanished, Completed, FailAsked>;
inline constexpr int kInputCount = 12;
const char* InputName(size_t index);

// One part of the preparation, as the node measured it.
struct Clock {
  std::string name;  // "snapshot", "environment", "image", "data" or "start"
  Time start;
  Time end;  // zero while it lasts

  bool operator==(const Clock&) const = default;
};
bool IsClockName(std::string_view name);

// How the node came by the environment of an attempt.
struct EnvironmentUse {
  std::string how;     // "found", "built", "waited", "fetched" or "existing"; empty: not said yet
  double seconds = 0;  // that it took
  std::string key;     // BuildKey; empty for "existing"
  std::string lock;    // digest of the lock's blob, hex; empty: none

  bool operator==(const EnvironmentUse&) const = default;
};
bool IsEnvironmentHow(std::string_view how);

struct Attempt {
  int number = 1;
  Phase phase = Queued{};
  // When each phase was entered; zero for those it never was in.
  std::array<Time, kPhaseCount> entered{};
  std::vector<int> gpus;  // assigned device numbers
  std::vector<Clock> clocks;
  EnvironmentUse environment;
  std::vector<DataUse> data;

  bool operator==(const Attempt&) const = default;
};

// The lease of a phase that has one.
const Lease* LeaseOf(const Phase& phase);
inline bool IsEnded(const Attempt& attempt) { return std::holds_alternative<Ended>(attempt.phase); }

// Takes what the node says of the preparation: a clock replaces the one of its name, data the one of its name, an environment the one before. Returns whether
// anything changed.
bool Record(Attempt& attempt, const std::vector<Clock>& clocks, const EnvironmentUse& environment, const std::vector<DataUse>& data = {});

// One step. Total: a pair that the table does not have leaves the attempt as it is and returns false.
bool Advance(Attempt& attempt, const AttemptInput& input, Time now);

// The legal steps as indexes into Phase and AttemptInput; `to` == `from` means that the step only records.
struct Edge {
  size_t from;
  size_t input;
  size_t to;
};
const std::vector<Edge>& Edges();
// The table as a Mermaid diagram and a Markdown table: the content of docs/internals/run-states.md.
std::string StateDiagram();

Json ToJson(const Clock& clock);
Clock ClockFromJson(const Json& json);
Json ToJson(const EnvironmentUse& use);
EnvironmentUse UseFromJson(const Json& json);
Json ToJson(const Attempt& attempt);
Result<Attempt> AttemptFromJson(const Json& json);

}  // namespace ferry::model
