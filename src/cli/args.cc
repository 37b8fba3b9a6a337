#include "cli/args.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace ferry::cli {
namespace {

Error Wrong(const char* slug, std::string message, std::string_view command) {
  return MakeError(Code::kInvalid, StrCat("args.", slug), std::move(message), std::string(command));
}

// Every word that may follow the words of a group, once.
std::vector<std::string> NextWords(const CommandTable& table, std::string_view group) {
  std::vector<std::string> words;
  std::string prefix = group.empty() ? "" : StrCat(group, " ");
  for (const Command& command : table.commands) {
    std::string_view path = command.path;
    if (command.hidden || !path.starts_with(prefix) || path.size() == prefix.size()) continue;
    std::string_view rest = path.substr(prefix.size());
    std::string word(rest.substr(0, rest.find(' ')));
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}

bool IsGroup(const CommandTable& table, std::string_view path) {
  return std::any_of(table.groups.begin(), table.groups.end(), [&](const Group& group) { return path == group.path; });
}

const Command* FindCommand(const CommandTable& table, std::string_view path) {
  for (const Command& command : table.commands)
    if (path == command.path) return &command;
  return nullptr;
}

const Option* FindLong(const std::vector<const Option*>& options, std::string_view name) {
  for (const Option* option : options)
    if (name == option->name || (option->alias && name == option->alias)) return option;
  return nullptr;
}

const Option* FindShort(const std::vector<const Option*>& options, char letter) {
  for (const Option* option : options)
    if (option->letter == letter) return option;
  return nullptr;
}

// Whether the word is exactly one of the options, so that it can hardly be meant as a value.
bool NamesOption(const std::vector<const Option*>& options, std::string_view word) {
  if (word.starts_with("--")) return FindLong(options, word.substr(2, word.find('=') - 2));
  return word.size() == 2 && word[0] == '-' && FindShort(options, word[1]);
}

std::optional<bool> TruthOf(std::string_view word) {
  const std::string lower = ToLower(word);
  if (lower == "true") return true;
  return lower == "false" ? std::optional(false) : std::nullopt;
}

std::string Spelled(const Option& option) {
  std::string text = StrCat("--", option.name);
  if (option.letter) text = StrCat("-", option.letter, "/", text);
  return text;
}

std::string JoinChoices(const std::vector<const char*>& choices) {
  std::string text;
  for (const char* choice : choices) text += StrCat(text.empty() ? "" : ", ", choice);
  return text;
}

std::string Suggest(std::string_view word, const std::vector<std::string>& known, std::string_view before = {}) {
  auto close = ClosestWord(word, known);
  return close ? StrCat("; did you mean ", before, *close, "?") : std::string();
}

// Reads options and positionals behind the words of a command.
class Parser {
 public:
  Parser(Arguments& out, std::vector<const Option*> options, const Command* command) : out_(out), options_(std::move(options)), command_(command) {}

  // One word that begins with a dash. `next` is the word behind it, taken when it is the value.
  Result<bool> TakeOption(const std::string& word, const std::string* next) {
    const Option* option = nullptr;
    std::optional<std::string> value;
    std::string shown = word;
    if (word.starts_with("--")) {
      size_t equals = word.find('=');
      std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      shown = StrCat("--", name);
      if (equals != std::string::npos) value = word.substr(equals + 1);
      option = FindLong(options_, name);
      if (!option) return Unknown(shown, name);
    } else {
      option = FindShort(options_, word[1]);
      shown = word.substr(0, 2);
      if (!option) return Unknown(word, word.substr(1));
      if (word.size() > 2) value = word.substr(word[2] == '=' ? 3 : 2);
      if (value && !option->value && !option->truth) return Unknown(word, word.substr(1));
    }
    if (option->truth) {
      const bool takes_next = !value && next && TruthOf(*next);
      if (takes_next) value = *next;
      if (value && !TruthOf(*value)) return Wrong("value", StrCat(shown, " is '", *value, "'; expected true or false"), Where());
      if (value && !*TruthOf(*value))
        out_.Remove(option->name);
      else
        out_.Replace(option->name, "");
      return takes_next;
    }
    if (!option->value) {
      if (value) return Wrong("value", StrCat(shown, " takes no value"), Where());
      out_.Replace(option->name, "");
      if (std::strcmp(option->name, "help") == 0) out_.help = true;
      return false;
    }
    bool used_next = false;
    if (!value) {
      if (!next || NamesOption(options_, *next)) return Wrong("value", StrCat(shown, " needs a value (", option->value, ")"), Where());
      value = *next;
      used_next = true;
    }
    TRY_VOID(Store(*option, shown, std::move(*value)));
    return used_next;
  }

  Result<void> Store(const Option& option, const std::string& shown, std::string value) {
    if (!option.choices.empty() && std::none_of(option.choices.begin(), option.choices.end(), [&](const char* c) { return value == c; })) {
      std::vector<std::string> known(option.choices.begin(), option.choices.end());
      return Wrong("value", StrCat(shown, " is '", value, "'; expected one of ", JoinChoices(option.choices), Suggest(value, known)), Where());
    }
    if (option.number) {
      auto number = ParseInt(value);
      if (!number || *number < 0) return Wrong("value", StrCat(shown, " is '", value, "'; expected a whole number from 0"), Where());
    }
    if (option.repeatable)
      out_.Add(option.name, std::move(value));
    else
      out_.Replace(option.name, std::move(value));
    return {};
  }

  Result<void> TakePositional(const std::string& word) {
    if (at_ >= command_->positionals.size()) return Wrong("extra", StrCat("'", word, "' is one word too many for ", command_->path), Where());
    const Positional& positional = command_->positionals[at_++];
    if (!positional.choices.empty() && std::none_of(positional.choices.begin(), positional.choices.end(), [&](const char* c) { return word == c; }))
      return Wrong("value", StrCat(positional.name, " is '", word, "'; expected one of ", JoinChoices(positional.choices)), Where());
    if (!positional.fills) {
      out_.Replace(positional.name, word);
      return {};
    }
    if (out_.Has(positional.fills)) return Wrong("extra", StrCat("'", word, "' is one word too many: --", positional.fills, " is given already"), Where());
    return Store(*FindLong(options_, positional.fills), positional.name, word);
  }

  bool AtRemainder() const { return command_ && at_ < command_->positionals.size() && command_->positionals[at_].remainder; }
  // Whether the positional to come is followed by a remainder: its own word ends the options.
  bool BeforeRemainder() const { return command_ && at_ + 1 < command_->positionals.size() && command_->positionals[at_ + 1].remainder; }

  Result<void> Finish() {
    for (const Option* option : options_)
      if (option->required && !out_.Has(option->name))
        return Wrong("missing", StrCat(command_->path, " needs ", Spelled(*option), " ", option->value), Where());
    for (size_t i = at_; i < command_->positionals.size(); ++i) {
      const Positional& positional = command_->positionals[i];
      if (!positional.required || (positional.fills && out_.Has(positional.fills)) || (positional.remainder && !out_.rest.empty())) continue;
      std::string instead = positional.fills ? StrCat(" (or ", Spelled(*FindLong(options_, positional.fills)), ")") : "";
      return Wrong("missing", StrCat(command_->path, " needs ", positional.name, instead, ": ", positional.help), Where());
    }
    return {};
  }

 private:
  Error Unknown(const std::string& shown, const std::string& name) const {
    std::vector<std::string> known;
    for (const Option* option : options_) {
      if (option->hidden) continue;
      known.push_back(option->name);
      if (option->alias) known.push_back(option->alias);
    }
    std::string who = command_ ? command_->path : "ferry";
    return Wrong("unknown_option", StrCat(who, " has no option ", shown, shown.starts_with("--") ? Suggest(name, known, "--") : std::string()), Where());
  }
  std::string Where() const { return command_ ? command_->path : out_.group; }

  Arguments& out_;
  const std::vector<const Option*> options_;
  const Command* command_;
  size_t at_ = 0;  // of the positionals
};

Error UnknownWord(const CommandTable& table, const std::string& group, const std::string& word) {
  std::string prefix = group.empty() ? "" : StrCat(group, " ");
  std::string suggestion = Suggest(word, NextWords(table, group), StrCat("'", prefix));
  if (!suggestion.empty()) {
    suggestion.insert(suggestion.size() - 1, "'");
  } else if (group.empty()) {
    // A verb without its noun: `ferry submit-script`.
    for (const Command& command : table.commands) {
      std::string_view path = command.path;
      if (!command.hidden && path.size() > word.size() && path.ends_with(StrCat(" ", word))) {
        suggestion = StrCat("; did you mean '", path, "'?");
        break;
      }
    }
  }
  return Wrong("unknown_command", StrCat("'", prefix, word, "' is not a command", suggestion), group);
}

}  // namespace

std::string Arguments::Get(std::string_view option) const {
  if (auto found = given_.find(option); found != given_.end()) return found->second.back();
  if (command)
    for (const Option* known : OptionsOf(*command))
      if (option == known->name && known->other) return known->other;
  return {};
}

std::vector<std::string> Arguments::All(std::string_view option) const {
  auto found = given_.find(option);
  return found == given_.end() ? std::vector<std::string>() : found->second;
}

int64_t Arguments::Number(std::string_view option) const { return ParseInt(Get(option)).value_or(0); }

const std::vector<Option>& SharedOptions() {
  static const std::vector<Option> options = {
      {.name = "workspace-name", .letter = 'w', .value = "NAME", .help = "workspace; without it that of .azureml/config.json, else 'default'"},
      {.name = "path", .value = "FOLDER", .help = "where .azureml/config.json is looked for, upward", .other = "."},
      {.name = "resource-group", .letter = 'g', .value = "NAME", .help = "accepted and not used"},
      {.name = "subscription-id", .value = "ID", .help = "accepted and not used", .alias = "subscription"},
      {.name = "output-metadata-file", .letter = 't', .value = "FILE", .help = "write the result into this file, too, as JSON"},
      {.name = "output",
       .letter = 'o',
       .value = "FORMAT",
       .help = "how the result is printed",
       .other = "table",
       .choices = {"table", "json", "jsonc", "tsv", "yaml", "yamlc", "none"}},
      {.name = "query", .value = "JMESPATH", .help = "print only what this expression selects of the result"},
      {.name = "only-show-errors", .help = "no notes, no progress"},
      {.name = "verbose", .help = "tell every request on standard error"},
      {.name = "debug", .help = "the same"},
      {.name = "help", .letter = 'h', .help = "this text"},
  };
  return options;
}

std::vector<const Option*> OptionsOf(const Command& command) {
  // Azure's commands take a workspace everywhere; where a name is enough without it, it is taken and not used.
  static const std::vector<Option> unused = {
      {.name = "workspace-name", .letter = 'w', .value = "NAME", .help = "accepted and not used"},
      {.name = "path", .value = "FOLDER", .help = "accepted and not used"},
  };
  static const std::vector<Option> long_only = [] {
    std::vector<Option> options = SharedOptions();
    for (Option& option : options) option.letter = 0;
    return options;
  }();
  std::vector<const Option*> all;
  for (const Option& option : command.options) all.push_back(&option);
  const auto own = all;
  const std::vector<Option>& options = SharedOptions();
  for (size_t i = 0; i < options.size(); ++i) {
    const Option& option = options[i];
    std::string_view name = option.name;
    const bool workspace = name == "workspace-name" || name == "path";
    const bool azure = name == "resource-group" || name == "subscription-id";
    const bool output = name == "output" || name == "query" || name == "output-metadata-file";
    if (workspace && command.reach != Reach::kWorkspace && command.reach != Reach::kServer) continue;
    if ((output || azure) && command.reach == Reach::kNone) continue;
    // A command's own meaning of a name or letter wins.
    if (FindLong(own, name)) continue;
    const bool letter_taken = option.letter && FindShort(own, option.letter);
    const bool is_unused = workspace && command.reach == Reach::kServer;
    all.push_back(letter_taken ? &long_only[i] : is_unused ? &unused[name == "path"] : &option);
  }
  return all;
}

Result<Arguments> ParseArguments(const CommandTable& table, const std::vector<std::string>& words) {
  Arguments out;
  size_t at = 0;
  // Options in front of the command's words are kept until the command is known.
  std::vector<std::pair<std::string, std::optional<std::string>>> early;
  std::vector<const Option*> shared;
  for (const Option& option : SharedOptions()) shared.push_back(&option);
  while (at < words.size() && !out.command) {
    const std::string& word = words[at];
    if (word.size() > 1 && word[0] == '-') {
      Arguments ignored;
      ignored.group = out.group;
      const std::string* next = at + 1 < words.size() ? &words[at + 1] : nullptr;
      TRY(bool used, Parser(ignored, shared, nullptr).TakeOption(word, next));
      if (ignored.help) out.help = true;
      early.emplace_back(word, used ? std::optional(*next) : std::nullopt);
      at += used ? 2 : 1;
      continue;
    }
    std::string path = out.group.empty() ? word : StrCat(out.group, " ", word);
    out.command = FindCommand(table, path);
    if (!out.command && !IsGroup(table, path)) return UnknownWord(table, out.group, word);
    out.group = std::move(path);
    ++at;
  }
  if (!out.command) return out;
  const Command& command = *out.command;
  if (command.raw) {
    out.rest.assign(words.begin() + static_cast<long>(at), words.end());
    if (out.help) out.rest.insert(out.rest.begin(), "--help");
    return out;
  }

  Parser parser(out, OptionsOf(command), &command);
  for (const auto& [word, value] : early) {
    auto taken = parser.TakeOption(word, value ? &*value : nullptr);
    if (!taken.ok()) return taken.error();
  }
  bool options_ended = false;
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (!options_ended && word == "--") {
      options_ended = true;
      continue;
    }
    if (!options_ended && word.size() > 1 && word[0] == '-') {
      TRY(bool used, parser.TakeOption(word, at + 1 < words.size() ? &words[at + 1] : nullptr));
      if (used) ++at;
      continue;
    }
    if (!parser.AtRemainder()) {
      const bool last = parser.BeforeRemainder();
      TRY_VOID(parser.TakePositional(word));
      if (!last) continue;
      ++at;
    }
    out.rest.assign(words.begin() + static_cast<long>(at), words.end());
    break;
  }
  if (out.help) return out;
  TRY_VOID(parser.Finish());
  return out;
}

}  // namespace ferry::cli
