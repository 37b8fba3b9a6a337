#include "environment/image/dockerfile.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"

namespace ferry::environment {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string Collapse(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (!IsSpace(c))
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> out;
  for (std::string_view word : Split(text, ' '))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

// The words that end here-documents begun on this line: "RUN <<EOF" has one.
std::vector<std::string> HereDocuments(std::string_view line) {
  std::vector<std::string> out;
  for (size_t at = line.find("<<"); at != std::string_view::npos; at = line.find("<<", at + 2)) {
    size_t begin = at + 2;
    if (begin < line.size() && line[begin] == '-') ++begin;
    char quote = begin < line.size() && (line[begin] == '"' || line[begin] == '\'') ? line[begin] : 0;
    if (quote) ++begin;
    size_t end = begin;
    while (end < line.size() && (isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) ++end;
    if (end > begin) out.emplace_back(line.substr(begin, end - begin));
  }
  return out;
}

// Where the image's name stands in a FROM, by word; nothing when this is none.
std::optional<size_t> ImageWord(const std::vector<std::string>& words) {
  if (words.empty() || ToLower(words[0]) != "from") return std::nullopt;
  for (size_t i = 1; i < words.size(); ++i)
    if (!words[i].starts_with("--")) return i;
  return std::nullopt;
}

std::optional<std::string> Between(std::string_view text, std::string_view before, std::string_view after) {
  size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  begin += before.size();
  size_t end = text.find(after, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(begin, end - begin));
}

std::string Short(std::string text) {
  if (text.size() > 200) text = text.substr(0, 200) + "...";
  return text;
}

// buildah prints the instruction as a Go string.
std::string Unquoted(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

}  // namespace

std::vector<Instruction> ReadDockerfile(std::string_view text) {
  std::vector<Instruction> out;
  std::vector<std::string> waiting;  // for the ends of here-documents
  std::string open;
  int number = 0, first = 0;
  auto finish = [&] {
    if (std::string flat = Collapse(open); !flat.empty()) out.push_back({first, std::move(flat)});
    open.clear();
    first = 0;
  };
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    std::string_view trimmed = Trim(line);
    if (!waiting.empty()) {
      if (trimmed == waiting.front()) waiting.erase(waiting.begin());
      continue;
    }
    if (trimmed.empty() || trimmed[0] == '#') continue;
    if (first == 0) first = number;
    bool goes_on = trimmed.back() == '\\';
    if (goes_on) trimmed.remove_suffix(1);
    open += StrCat(trimmed, " ");
    if (goes_on) continue;
    std::string word = ToLower(open.substr(0, open.find(' ')));
    if (word == "run" || word == "copy" || word == "add") waiting = HereDocuments(open);
    finish();
  }
  finish();
  return out;
}

std::vector<std::string> BaseImages(std::string_view text) {
  std::vector<std::string> out;
  std::set<std::string> stages;
  for (const Instruction& instruction : ReadDockerfile(text)) {
    std::vector<std::string> words = Words(instruction.text);
    auto at = ImageWord(words);
    if (!at) continue;
    const std::string& image = words[*at];
    bool outside = image != "scratch" && image.find('$') == std::string::npos && !stages.count(ToLower(image));
    if (outside && std::find(out.begin(), out.end(), image) == out.end()) out.push_back(image);
    if (*at + 2 < words.size() && ToLower(words[*at + 1]) == "as") stages.insert(ToLower(words[*at + 2]));
  }
  return out;
}

std::string ReplaceBaseImages(std::string_view text, const std::map<std::string, std::string>& replacements) {
  std::set<int> from;
  for (const Instruction& instruction : ReadDockerfile(text))
    if (ImageWord(Words(instruction.text))) from.insert(instruction.line);
  std::string out;
  int number = 0;
  std::set<std::string> stages;
  bool inside = false;
  for (std::string_view line : Split(text, '\n')) {
    if (++number > 1) out += '\n';
    inside = inside || from.count(number);
    if (!inside) {
      out += line;
      continue;
    }
    // Word by word, so that the white space stays.
    size_t i = 0;
    std::string previous;
    while (i < line.size()) {
      size_t end = i;
      while (end < line.size() && IsSpace(line[end]) == IsSpace(line[i])) ++end;
      std::string word(line.substr(i, end - i));
      if (!IsSpace(word[0])) {
        auto it = ToLower(previous) == "as" || stages.count(ToLower(word)) ? replacements.end() : replacements.find(word);
        if (ToLower(previous) == "as") stages.insert(ToLower(word));
        previous = word;
        if (it != replacements.end()) word = it->second;
      }
      out += word;
      i = end;
    }
    std::string_view trimmed = Trim(line);
    inside = !trimmed.empty() && (trimmed.back() == '\\' || trimmed[0] == '#');
  }
  return out;
}

Error ExplainBuild(std::string_view dockerfile, const std::string& name, const std::vector<std::string>& last_lines, int status) {
  std::vector<Instruction> instructions = ReadDockerfile(dockerfile);
  std::string step, reason;  // the instruction at fault, and why
  int line = 0;
  for (const std::string& said : last_lines) {
    std::string_view text = Trim(said);
    // "[1/2] STEP 3/5: RUN ..." (podman), "#7 [2/3] RUN ..." (docker).
    if (size_t at = text.find("STEP "); at != std::string_view::npos && (at == 0 || text[0] == '[')) {
      size_t colon = text.find(": ", at);
      if (colon != std::string_view::npos) step = Collapse(text.substr(colon + 2));
    }
    if (text.starts_with("Error: ") || text.starts_with("ERROR: ")) {
      reason = std::string(text.substr(7));
      if (auto quoted = Between(text, "STEP \"", "\": ")) {
        step = Collapse(Unquoted(*quoted));
        reason = std::string(text.substr(text.find("\": ") + 3));
      }
    }
    // "Dockerfile:3" stands alone in docker's report.
    if (size_t colon = text.rfind(':');
        colon != std::string_view::npos && text.find(' ') == std::string_view::npos && text.substr(0, colon).ends_with("ockerfile"))
      line = static_cast<int>(ParseInt(text.substr(colon + 1)).value_or(line));
    for (std::string_view phrase : {"parse error on line ", "error on line "})
      if (size_t at = text.find(phrase); at != std::string_view::npos) {
        size_t begin = at + phrase.size(), end = begin;
        while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
        line = static_cast<int>(ParseInt(text.substr(begin, end - begin)).value_or(line));
        step.clear();
        if (text.substr(end).starts_with(": ")) reason = std::string(text.substr(end + 2));
      }
  }
  // Some parsers do not tell the line, but the word: "unknown instruction: RUUN".
  if (line == 0)
    for (const std::string& said : last_lines)
      for (std::string_view phrase : {"unknown instruction: ", "Unknown instruction: ", "Unknown instruction: \""})
        if (size_t at = said.find(phrase); at != std::string::npos) {
          std::string word(Trim(std::string_view(said).substr(at + phrase.size())));
          word = ToLower(word.substr(0, word.find_first_of("\" ")));
          for (const Instruction& instruction : instructions)
            if (line == 0 && ToLower(instruction.text.substr(0, instruction.text.find(' '))) == word) line = instruction.line;
          if (line) {
            step.clear();
            reason = StrCat("unknown instruction");
          }
        }
  if (line == 0 && !step.empty())
    for (const Instruction& instruction : instructions)
      if (line == 0 && instruction.text == step) line = instruction.line;
  if (step.empty() && line)
    for (const Instruction& instruction : instructions)
      if (instruction.line <= line) step = instruction.text;

  // "while running runtime: exit status 1" says nothing that the status does not.
  size_t at = reason.find("exit status ");
  if (at == std::string::npos) at = reason.find("exit code: ");
  std::string ended;
  if (at != std::string::npos) {
    size_t digit = reason.find_first_of("0123456789", at);
    if (digit != std::string::npos) ended = StrCat("ended with status ", reason.substr(digit, reason.find_first_not_of("0123456789", digit) - digit));
  }
  std::string where = line ? StrCat(name, ":", line) : name;
  std::string why = !ended.empty() ? ended : !reason.empty() ? StrCat("failed: ", Short(reason)) : StrCat("failed; the build ended with status ", status);
  std::string what = step.empty() ? "the build" : StrCat("'", Short(step), "'");
  return MakeError(Code::kInvalid, "image.build_failed", StrCat(where, ": ", what, " ", why), where);
}

}  // namespace ferry::environment
