#include <algorithm>

#include "base/text.h"
#include "cli/args.h"
#include "cli/width.h"

namespace ferry::cli {
namespace {

constexpr int kWidth = 100;

// Breaks a text at blanks into lines of `width` columns.
std::vector<std::string> Wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  for (std::string_view paragraph : Split(text, '\n')) {
    std::string line;
    for (std::string_view word : Split(paragraph, ' ')) {
      if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
        lines.push_back(std::move(line));
        line.clear();
      }
      if (!line.empty()) line += ' ';
      line += word;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// "  left    right", the right part wrapped beside the left.
void AppendRows(std::string& out, const std::vector<std::pair<std::string, std::string>>& rows, int width) {
  int left = 0;
  for (const auto& [name, text] : rows) left = std::max(left, std::min(34, DisplayWidth(name)));
  for (const auto& [name, text] : rows) {
    out += StrCat("  ", name);
    int at = DisplayWidth(name);
    bool first = true;
    for (const std::string& line : Wrap(text, std::max(30, width - left - 4))) {
      if (!first || at > left) {
        out += '\n';
        at = -2;
      }
      out.append(static_cast<size_t>(left - at + 2), ' ');
      out += line;
      first = false;
    }
    out += '\n';
  }
}

std::string OptionText(const Option& option) {
  std::string text = option.letter ? StrCat("-", option.letter, ", ") : "    ";
  text += StrCat("--", option.name);
  if (option.alias) text += StrCat(", --", option.alias);
  if (option.value) text += StrCat(" ", option.value);
  if (option.truth) text += " [true|false]";
  return text;
}

std::string OptionHelp(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) {
    text += ": ";
    for (size_t i = 0; i < option.choices.size(); ++i) text += StrCat(i ? ", " : "", option.choices[i]);
  }
  if (option.required) text += " (needed)";
  if (option.other) text += StrCat(" (default: ", option.other, ")");
  return text;
}

std::string CommandHelp(const Command& command, int width) {
  std::string out = StrCat("Usage: ", UsageLine(command), "\n\n", command.summary, ".\n");
  if (*command.detail) {
    out += '\n';
    for (const std::string& line : Wrap(command.detail, width)) out += StrCat(line, "\n");
  }
  std::vector<std::pair<std::string, std::string>> words, own, shared;
  for (const Positional& positional : command.positionals) words.emplace_back(positional.name, positional.help);
  for (const Option* option : OptionsOf(command)) {
    if (option->hidden) continue;
    bool is_own = option >= command.options.data() && option < command.options.data() + command.options.size();
    (is_own ? own : shared).emplace_back(OptionText(*option), OptionHelp(*option));
  }
  for (auto& [title, rows] : {std::pair("Arguments", &words), std::pair("Options", &own), std::pair("Common options", &shared)}) {
    if (rows->empty()) continue;
    out += StrCat("\n", title, ":\n");
    AppendRows(out, *rows, width);
  }
  return out;
}

std::string GroupHelp(const CommandTable& table, std::string_view group, int width) {
  std::string prefix = group.empty() ? "" : StrCat(group, " ");
  std::string out = StrCat("Usage: ferry ", prefix, "COMMAND [OPTIONS]\n\n");
  std::vector<std::pair<std::string, std::string>> rows;
  if (group.empty()) {
    out += "Ferry: a training plane of your own.\n";
  } else {
    for (const Group& one : table.groups)
      if (group == one.path) out += StrCat(one.summary, ".\n");
  }
  for (const Group& one : table.groups) {
    std::string_view path = one.path;
    if (!path.starts_with(prefix) || path.find(' ', prefix.size()) != std::string_view::npos) continue;
    rows.emplace_back(path.substr(prefix.size()), one.summary);
  }
  for (const Command& command : table.commands) {
    std::string_view path = command.path;
    if (command.hidden || !path.starts_with(prefix)) continue;
    path.remove_prefix(prefix.size());
    if (path.find(' ') == std::string_view::npos) rows.emplace_back(path, command.summary);
  }
  out += "\nCommands:\n";
  AppendRows(out, rows, width);
  out += StrCat("\nMore on one of them: ferry ", prefix, "COMMAND --help\n");
  return out;
}

// Text of a cell of a Markdown table.
std::string Cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

void AppendOptionRows(std::string& out, const std::vector<const Option*>& options) {
  out += "| option | meaning |\n|---|---|\n";
  for (const Option* option : options) {
    std::string text = OptionText(*option);
    out += StrCat("| `", Cell(Trim(text)), "` | ", Cell(OptionHelp(*option)), " |\n");
  }
}

}  // namespace

std::string UsageLine(const Command& command) {
  std::string out = StrCat("ferry ", command.path);
  if (command.raw) return out + " ...";
  out += " [OPTIONS]";
  for (const Option& option : command.options)
    if (option.required) out += StrCat(" ", option.letter ? StrCat("-", option.letter) : StrCat("--", option.name), " ", option.value);
  for (const Positional& positional : command.positionals) {
    std::string word = positional.remainder ? StrCat(positional.name, "...") : std::string(positional.name);
    if (positional.remainder && positional.required) word = StrCat("-- ", word);
    out += positional.required ? StrCat(" ", word) : StrCat(" [", word, "]");
  }
  return out;
}

std::string HelpText(const CommandTable& table, const Arguments& arguments, int width) {
  width = width <= 0 ? kWidth : std::min(width, kWidth);
  return arguments.command ? CommandHelp(*arguments.command, width) : GroupHelp(table, arguments.group, width);
}

std::string ReferencePage(const CommandTable& table) {
  std::string out =
      "# The command line\n\n"
      "Made by `ferry help --markdown`; do not edit.\n\n"
      "## Common options\n\n"
      "Every command takes `-h`; those that print a result take `-o`, `--query` and `-t`; those that work in a workspace take `-w`.\n"
      "Where a command has another meaning for a letter, the long name stays.\n\n";
  std::vector<const Option*> shared;
  for (const Option& option : SharedOptions())
    if (!option.hidden) shared.push_back(&option);
  AppendOptionRows(out, shared);
  out +=
      "\n## Environment\n\n"
      "| variable | meaning |\n|---|---|\n"
      "| `FERRY_URL` | the server; without it this user's own, which is started when it does not run |\n"
      "| `FERRY_TOKEN` | the token for the server; inside a run, without it, the run's own (`AZUREML_RUN_TOKEN`) |\n"
      "| `FERRY_TOKEN_FILE` | a file that holds the token |\n"
      "| `FERRY_CA_FILE` | a PEM file of an authority to trust beside the system's |\n"
      "| `FERRY_HOME` | the data folder (default: `~/.ferry`) |\n"
      "| `NO_COLOR` | no colours |\n"
      "\n## Exit status\n\n"
      "| status | meaning |\n|---|---|\n"
      "| 0 | done; attached: the run completed |\n"
      "| 1 | attached: the run failed, was canceled or stopped responding |\n";
  for (Code code : {Code::kInvalid, Code::kUnauthorized, Code::kForbidden, Code::kNotFound, Code::kConflict, Code::kTooLarge, Code::kUnavailable,
                    Code::kTimeout, Code::kExhausted, Code::kInternal, Code::kCanceled})
    out += StrCat("| ", ExitStatus(code), " | error: ", CodeName(code), " |\n");
  out += "| 130 | detached by Ctrl-C |\n";
  std::string heading;
  for (const Command& command : table.commands) {
    if (command.hidden || command.later) continue;
    std::string_view path = command.path;
    std::string group(path.substr(0, path.find(' ')));
    if (path.find(' ') == std::string_view::npos) group = "The program";
    if (group != heading) {
      heading = group;
      std::string summary;
      for (const Group& one : table.groups)
        if (group == one.path) summary = one.summary;
      out += summary.empty() ? StrCat("\n## ", group, "\n") : StrCat("\n## ", group, "\n\n", summary, ".\n");
    }
    out += StrCat("\n### ferry ", path, "\n\n", command.summary, ".\n\n```\n", UsageLine(command), "\n```\n");
    if (*command.detail) out += StrCat("\n```text\n", command.detail, "\n```\n");
    std::vector<const Option*> own;
    for (const Option& option : command.options)
      if (!option.hidden) own.push_back(&option);
    if (own.empty() && command.positionals.empty()) continue;
    out += '\n';
    if (!command.positionals.empty()) {
      for (const Positional& positional : command.positionals) out += StrCat("- `", positional.name, "`: ", positional.help, "\n");
      if (!own.empty()) out += '\n';
    }
    if (!own.empty()) AppendOptionRows(out, own);
  }
  out +=
      "\n## To come\n\n"
      "Commands that are known and say that they are not part of this version yet.\n\n"
      "| command | options |\n|---|---|\n";
  for (const Command& command : table.commands) {
    if (!command.later) continue;
    std::string options;
    for (const Option& option : command.options)
      options += StrCat(options.empty() ? "`" : ", `", option.letter ? StrCat("-", option.letter, "/") : "", "--", option.name, "`");
    out += StrCat("| `ferry ", command.path, "` | ", options, " |\n");
  }
  return out;
}

}  // namespace ferry::cli
