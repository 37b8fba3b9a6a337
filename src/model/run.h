// A run: what was asked for, its attempts, and what the user sees of them. Pure values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/attempt.h"
#include "model/data.h"
#include "model/environment.h"

namespace ferry::model {

// What to do: a Python script with its arguments, or any program.
struct RunSpec {
  std::string script;                              // relative to the snapshot; empty for a command
  std::vector<std::string> arguments;              // `$NAME` is expanded on the node
  std::vector<std::string> command;                // instead of script and arguments
  std::string snapshot;                            // id (hex) or empty: an empty working folder
  std::string interpreter;                         // for a script: a path or a name on the PATH; empty: "python"
  std::map<std::string, std::string> environment;  // variables set for the script
  int64_t max_duration_seconds = 0;                // 0: unlimited
  int gpus = 0;                                    // devices that it needs
  int max_attempts = 3;                            // tries over infrastructure failures
  std::string source;                              // name of the source directory, for people
  std::optional<Environment> needs;                // the environment to prepare; none: `interpreter` as it is. Its password is sealed, but in an Assign
  std::string environment_key;                     // BuildKey(*needs); empty: nothing has to be built
  std::string environment_note;                    // what the user is to know of it: what a curated name stands for
  std::vector<std::string> watch = {"logs"};       // folders that are collected while the script runs, beside outputs/
  bool collect_outputs = true;                     // false: outputs/ stays on the node
  bool keep_snapshot = true;                       // false: the snapshot serves this run alone
  bool auto_prepare = true;                        // false: an environment that is not there already fails the run
  bool interactive = false;                        // no script and no command: a client drives it and says how it ended
  std::string run_configuration;                   // name of the run configuration it came from, for people
  std::map<std::string, DataInput> data;           // by name: what is there before the script begins
  std::map<std::string, DataOutput> outputs;       // by name: what goes to a datastore when it has ended

  bool operator==(const RunSpec&) const = default;
};

struct Run {
  std::string id;
  std::string workspace;
  std::string experiment;
  int64_t number = 0;  // within its experiment, from 1
  std::string name;    // display name
  std::string description;
  std::string type = "azureml.scriptrun";
  std::string parent;
  std::string target = "local";
  std::string user;
  RunSpec spec;
  int priority = 0;  // higher first
  Time created;
  Time changed;  // when anything of it changed last
  std::optional<Time> cancel_asked;
  bool archived = false;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;
  std::vector<Attempt> attempts;  // never empty; the last one is current
  std::string request;            // digest of the submission, so that the same id sent twice is the same run or a conflict

  bool operator==(const Run&) const = default;
  Attempt& attempt() { return attempts.back(); }
  const Attempt& attempt() const { return attempts.back(); }
};

Status StatusOf(const Run& run);
inline bool IsTerminal(const Run& run) { return IsEnded(run.attempt()); }
// When the script, or the client that drives the run, began (in the last attempt) and when the run ended.
std::optional<Time> StartedAt(const Run& run);
std::optional<Time> EndedAt(const Run& run);
// One sentence on how the run ended, or "" while it has not.
std::string EndText(const Run& run);

// What a node does for a run that it prepares: "builds its environment 'e:1', since 10:41:07".
std::string PreparationText(const Run& run);

// Azure's four stages, each with its clock.
struct Stage {
  const char* name;  // "Preparing", "Scaling", "Running", "Post-Processing"
  Time start;
  Time end;  // zero while it lasts
  std::string cause;
};
// Those that have begun, in the order of their beginning, of all attempts.
std::vector<Stage> StagesOf(const Run& run);

// Rules for names that users give. kInvalid with the field.
Result<void> CheckName(std::string_view what, std::string_view name, size_t max_length = 255);

// The stored form, and back.
Json ToJson(const Run& run);
Result<Run> RunFromJson(const Json& json);
// Whole, a registry's password with it: for the store and for the node, never for clients.
Json ToJson(const RunSpec& spec);
Result<RunSpec> SpecFromJson(const Json& json);

// What clients see: the stored form's facts with status, stages, times and texts derived. The environment by name, version and key, without its definition.
Json RunView(const Run& run);

// All that was asked for, every field with its value, given or not: what a client needs to ask for the same again. Without a registry's password.
Json DefinitionView(const Run& run);

// `--name value` and `--name=value` of the arguments, as searchable parameters.
std::map<std::string, std::string> ParametersOf(const RunSpec& spec);

}  // namespace ferry::model
