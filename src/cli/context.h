// What a command works with: its arguments, where it prints, and the server it asks. One per process; for one thread but where stated.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/args.h"
#include "cli/client.h"
#include "cli/folder.h"
#include "cli/main.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace ferry::cli {

// Where text goes. Written at once.
struct Streams {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  Terminal out_terminal;
  Terminal err_terminal;
  // All of standard input. kTooLarge "input.too_large" over the limit.
  std::function<Result<std::string>(uint64_t limit)> in;

  // Those of the process.
  static Streams Standard();
};

struct Context {
  Arguments arguments;
  Streams streams;
  Hooks hooks;
  std::unique_ptr<Session> session;
  // The words came through `az`: results, errors and exit statuses are shaped as az's users know them.
  bool azure = false;

  // The server, found (and started, when it is this user's own and does not run) at the first call.
  Result<Session*> Server();
  // The workspace asked for: --workspace-name, else that of .azureml/config.json at or above --path, else "default".
  Result<std::string> Workspace() const;
  // What the folder of --path, or else the source directory, is attached to.
  Result<FolderSettings> Folder() const;

  // Whether a person reads the result: no -o, or -o table, and no --query.
  bool ForPeople() const { return format() == Format::kTable && !arguments.Has("query"); }
  Format format() const;
  bool quiet() const { return arguments.Has("only-show-errors"); }

  // Prints a result as -o and --query ask. A table shows `columns` of `rows` (null: of the value itself).
  Result<int> Show(const Json& value, const Columns* columns = nullptr, const Json* rows = nullptr);
  // The same, with a text of its own for people.
  Result<int> Tell(const Json& value, std::string_view text);
  // Writes the value into the file of --output-metadata-file, when that was asked for. Show and Tell do it.
  Result<void> Record(const Json& value) const;
  // A line on standard error, dim on a terminal; nothing with --only-show-errors.
  void Note(std::string_view line) const;
  // Prints "ferry: message" and returns the exit status.
  int Fail(const Error& error) const;
};

// "k=v" texts as a map. kInvalid "option.value" names `option`; a bare key is an empty value when `bare` is true.
Result<std::map<std::string, std::string>> KeyValues(const std::vector<std::string>& texts, std::string_view option, bool bare);

// Runs one command line and returns the exit status. What Main does once it has its streams.
int RunCommand(const std::vector<std::string>& words, Streams streams, const Hooks& hooks);
// The same for the commands of another table, as az when `azure` is true.
int RunCommand(const CommandTable& table, const std::vector<std::string>& words, Streams streams, const Hooks& hooks, bool azure);

}  // namespace ferry::cli
