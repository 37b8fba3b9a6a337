// The words of a command line, taken apart by a table of commands. Parsing, help, suggestions, completion and the reference page all
// read the same table (commands.cc). Pure functions over values; safe from several threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ferry::cli {

struct Context;

// One option of a command.
struct Option {
  const char* name;             // the long name, without dashes
  char letter = 0;              // the short name, 0: none
  const char* value = nullptr;  // what the value is called in help; null: a flag
  const char* help = "";
  const char* other = nullptr;            // the value when none is given
  const char* alias = nullptr;            // a second long name
  std::vector<const char*> choices = {};  // the only values taken; empty: any
  bool repeatable = false;                // may be given several times; otherwise the last one counts
  bool required = false;
  bool number = false;  // a whole number from 0
  bool truth = false;   // a flag that may be followed by true or false
  bool hidden = false;  // taken, and left out of help
};

// A word without dashes.
struct Positional {
  const char* name;  // as help shows it: "SCRIPT"
  const char* help = "";
  const char* fills = nullptr;  // the option this stands for: `show RUN` is `show --run RUN`
  bool required = false;
  // Everything from here on, options included, belongs to this.
  bool remainder = false;
  std::vector<const char*> choices = {};
};

// Which of the options that many commands share a command has.
enum class Reach {
  kNone,       // talks to no server: help alone
  kOutput,     // prints a value: -o and --query
  kServer,     // asks a server
  kWorkspace,  // asks a server about a workspace
};

// One command: its words, what it takes, what it does.
struct Command {
  const char* path;     // "run submit-script"
  const char* summary;  // one line
  Reach reach = Reach::kServer;
  std::vector<Option> options = {};
  std::vector<Positional> positionals = {};
  Result<int> (*handler)(Context& context) = nullptr;  // returns the exit status
  const char* detail = "";                             // further paragraphs of its help
  bool hidden = false;
  // Known, and not there yet.
  bool later = false;
  // The words behind the path are not looked at here.
  bool raw = false;
};

// The first words of several commands; further words make a group inside a group.
struct Group {
  const char* path;
  const char* summary;
};

struct CommandTable {
  std::vector<Group> groups;
  std::vector<Command> commands;
};

// What a command line says.
class Arguments {
 public:
  const Command* command = nullptr;  // null: the help of `group` was asked for
  std::string group;                 // the words of the command or group
  bool help = false;
  std::vector<std::string> rest;  // what a remainder or raw command took

  bool Has(std::string_view option) const { return given_.find(option) != given_.end(); }
  // The value given, or the table's default, or "".
  std::string Get(std::string_view option) const;
  // Every value given, in order.
  std::vector<std::string> All(std::string_view option) const;
  // REQUIRES: an option with `number`.
  int64_t Number(std::string_view option) const;

  void Add(std::string_view option, std::string value) { given_[std::string(option)].push_back(std::move(value)); }
  void Replace(std::string_view option, std::string value) { given_[std::string(option)] = {std::move(value)}; }
  void Remove(std::string_view option) { given_.erase(std::string(option)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
};

// Takes the words apart. kInvalid "args.unknown_command", "args.unknown_option", "args.missing", "args.value" or "args.extra"; the field
// names the command, so that its help can be pointed to.
Result<Arguments> ParseArguments(const CommandTable& table, const std::vector<std::string>& words);

// The options a command takes, shared ones included, in the order of help.
std::vector<const Option*> OptionsOf(const Command& command);
// The shared options alone.
const std::vector<Option>& SharedOptions();

// The help of a command, or of a group ("" is the whole program). `width` columns, 0: 100.
std::string HelpText(const CommandTable& table, const Arguments& arguments, int width = 0);
// "ferry run show [OPTIONS] RUN".
std::string UsageLine(const Command& command);

// The whole reference page, Markdown.
std::string ReferencePage(const CommandTable& table);

// What may stand at the last of the words, one a line: the word, a tab, what it is. "" alone in the last place asks for everything.
std::vector<std::pair<std::string, std::string>> Complete(const CommandTable& table, const std::vector<std::string>& words);
// The script that a shell loads; "" for a shell that is not known.
std::string CompletionScript(std::string_view shell);

}  // namespace ferry::cli
