#include <algorithm>

#include "base/text.h"
#include "cli/args.h"

namespace ferry::cli {
namespace {

constexpr std::string_view kBash = R"(# Completion of ferry for bash: source <(ferry completion bash)
_ferry() {
    local IFS=$'\n' line
    COMPREPLY=()
    while IFS= read -r line; do
        line="${line%%$'\t'*}"
        if [ "$line" = ":files" ]; then
            compopt -o default 2>/dev/null
        elif [ -n "$line" ]; then
            COMPREPLY+=("$line")
        fi
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _ferry ferry
)";

constexpr std::string_view kZsh = R"(#compdef ferry
# Completion of ferry for zsh: source <(ferry completion zsh)
_ferry() {
    local line files=0
    local -a found
    while IFS= read -r line; do
        if [[ "$line" == ":files" ]]; then
            files=1
        elif [[ -n "$line" ]]; then
            found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        fi
    done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( ${#found} )) && _describe 'ferry' found
    (( files )) && _files
}
if [ "${funcstack[1]}" = "_ferry" ]; then
    _ferry "$@"
else
    compdef _ferry ferry
fi
)";

constexpr std::string_view kFish = R"(# Completion of ferry for fish: ferry completion fish | source
function __ferry_complete
    set -l words (commandline -opc)
    set -l found (command $words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
    for line in $found
        if test "$line" = ":files"
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c ferry -f -a '(__ferry_complete)'
)";

using Words = std::vector<std::pair<std::string, std::string>>;

// The values an option's name promises: choices, or files where it names one.
void AddValues(const Option& option, std::string_view start, Words& out) {
  for (const char* choice : option.choices)
    if (std::string_view(choice).starts_with(start)) out.emplace_back(choice, "");
  std::string_view value = option.value;
  if (value == "FOLDER" || value == "FILE" || value == "PATH") out.emplace_back(":files", "");
}

}  // namespace

std::string CompletionScript(std::string_view shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "fish") return std::string(kFish);
  return {};
}

Words Complete(const CommandTable& table, const std::vector<std::string>& words) {
  Words out;
  if (words.empty()) return out;
  const std::string& last = words.back();
  // The command's own words come first; options in front of them are passed over.
  std::string path;
  const Command* command = nullptr;
  size_t at = 0;
  for (; at + 1 < words.size() && !command; ++at) {
    if (words[at].starts_with('-')) continue;
    path += StrCat(path.empty() ? "" : " ", words[at]);
    for (const Command& one : table.commands)
      if (path == one.path) command = &one;
  }
  if (!command) {
    std::string prefix = path.empty() ? "" : StrCat(path, " ");
    for (const Group& group : table.groups) {
      std::string_view rest = group.path;
      if (!rest.starts_with(prefix)) continue;
      rest.remove_prefix(prefix.size());
      if (rest.find(' ') == std::string_view::npos && rest.starts_with(last)) out.emplace_back(rest, group.summary);
    }
    for (const Command& one : table.commands) {
      std::string_view rest = one.path;
      if (one.hidden || !rest.starts_with(prefix)) continue;
      rest.remove_prefix(prefix.size());
      if (rest.find(' ') == std::string_view::npos && rest.starts_with(last)) out.emplace_back(rest, one.summary);
    }
    return out;
  }
  if (command->raw) {
    if (std::string_view(command->path) == "server")
      for (const char* verb : {"start", "stop", "status"})
        if (std::string_view(verb).starts_with(last)) out.emplace_back(verb, "");
    return out;
  }

  const std::vector<const Option*> options = OptionsOf(*command);
  auto named = [&](std::string_view word) -> const Option* {
    for (const Option* option : options) {
      if (word.size() == 2 && word[0] == '-' && word[1] == option->letter) return option;
      if (word.starts_with("--") && (word.substr(2) == option->name || (option->alias && word.substr(2) == option->alias))) return option;
    }
    return nullptr;
  };
  size_t position = 0;
  const Option* pending = nullptr;
  for (; at + 1 < words.size(); ++at) {
    if (pending) {
      pending = nullptr;
      continue;
    }
    if (words[at].size() > 1 && words[at][0] == '-') {
      const Option* option = named(words[at]);
      if (option && option->value) pending = option;
      continue;
    }
    ++position;
    // Behind a script all words are the script's.
    if (position < command->positionals.size() && command->positionals[position].remainder) {
      out.emplace_back(":files", "");
      return out;
    }
  }
  if (pending) {
    AddValues(*pending, last, out);
    return out;
  }
  if (last.starts_with('-')) {
    for (const Option* option : options) {
      std::string name = StrCat("--", option->name);
      if (!option->hidden && name.starts_with(last)) out.emplace_back(std::move(name), option->help);
    }
    return out;
  }
  if (position < command->positionals.size()) {
    const Positional& positional = command->positionals[position];
    for (const char* choice : positional.choices)
      if (std::string_view(choice).starts_with(last)) out.emplace_back(choice, "");
    if (std::string_view(positional.name) == "SCRIPT" || positional.remainder) out.emplace_back(":files", "");
  }
  return out;
}

}  // namespace ferry::cli
