#include "environment/conda_spec.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace ferry::environment {
namespace {

constexpr size_t kLongest = 4096;

bool IsOperator(char c) { return std::string_view("=<>!,|~").find(c) != std::string_view::npos; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'; }

Error Wrong(std::string_view line, std::string_view why) {
  return MakeError(Code::kInvalid, "environment.dependency", StrCat("the conda dependency '", line.substr(0, 200), "' cannot be read: ", why));
}

// One space where some were, none beside an operator.
std::string Tight(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsSpace(text[i])) {
      out += text[i];
      continue;
    }
    size_t next = i;
    while (next < text.size() && IsSpace(text[next])) ++next;
    bool needless = out.empty() || next == text.size() || IsOperator(out.back()) || IsOperator(text[next]);
    if (!needless) out += ' ';
    i = next - 1;
  }
  return out;
}

std::string_view TakeOperator(std::string_view& clause) {
  for (std::string_view op : {"===", "==", ">=", "<=", "!=", "~=", "=", "<", ">"})
    if (clause.starts_with(op)) {
      clause.remove_prefix(op.size());
      return op;
    }
  return {};
}

// "rc1" of "0rc1"; numbers first.
struct Part {
  int64_t number = 0;
  std::string word;
};
std::vector<Part> Parts(std::string_view version) {
  std::vector<Part> out;
  if (size_t epoch = version.find('!'); epoch != std::string_view::npos) version.remove_prefix(epoch + 1);
  if (version.starts_with("v")) version.remove_prefix(1);
  for (std::string_view text : Split(version, '.')) {
    size_t digits = 0;
    while (digits < text.size() && digits < 15 && text[digits] >= '0' && text[digits] <= '9') ++digits;
    out.push_back({ParseInt(text.substr(0, digits)).value_or(0), ToLower(text.substr(digits))});
  }
  return out;
}

// A word makes a version earlier ("0rc1" < "0"), but for "post".
int Rank(const std::string& word) { return word.empty() ? 0 : word.starts_with("post") || word.starts_with("+") ? 1 : -1; }

bool BeginsWith(std::string_view version, std::string_view prefix) {
  auto have = Parts(version), want = Parts(prefix);
  if (have.size() < want.size()) have.resize(want.size());
  for (size_t i = 0; i < want.size(); ++i)
    if (have[i].number != want[i].number || (!want[i].word.empty() && have[i].word != want[i].word)) return false;
  return true;
}

bool SatisfiesOne(std::string_view version, std::string_view clause) {
  clause = Trim(clause);
  if (clause.empty() || clause == "*") return true;
  std::string_view op = TakeOperator(clause);
  bool star = clause.ends_with("*");
  if (star) {
    clause.remove_suffix(1);
    if (clause.ends_with(".")) clause.remove_suffix(1);
  }
  if (clause.empty()) return star && (op.empty() || op == "=" || op == "==" || op == ">=");
  if (clause.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.!+_-") != std::string_view::npos) return false;
  if (op == "=" || (star && (op.empty() || op == "=="))) return BeginsWith(version, clause);
  if (star && op == "!=") return !BeginsWith(version, clause);
  int order = CompareVersions(version, clause);
  if (op.empty() || op == "==" || op == "===") return order == 0;
  if (op == "!=") return order != 0;
  if (op == ">=") return order >= 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  if (op == "<") return order < 0;
  // "~=1.4.2": at least that, and 1.4.*.
  size_t dot = clause.rfind('.');
  return order >= 0 && (dot == std::string_view::npos || BeginsWith(version, clause.substr(0, dot)));
}

}  // namespace

Result<CondaSpec> ParseCondaSpec(std::string_view line) {
  std::string_view text = Trim(line);
  if (text.size() > kLongest) return Wrong(line, "it is longer than 4 KB");
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; }))
    return Wrong(line, "it holds a control character");
  CondaSpec spec;
  if (text.find("://") != std::string_view::npos && text.find("::") == std::string_view::npos) {
    spec.other = text;
    return spec;
  }
  text = Trim(text.substr(0, text.find('#')));
  std::string flat;
  if (size_t open = text.find('['); open != std::string_view::npos) {
    if (text.back() != ']') return Wrong(line, "']' is missing");
    std::string_view inside = text.substr(open + 1, text.size() - open - 2);
    flat = Tight(text.substr(0, open));
    std::string quoted;
    // Commas inside quotes belong to the value.
    char quote = 0;
    std::vector<std::string> pairs(1);
    for (char c : inside) {
      if (quote ? c == quote : (c == '\'' || c == '"'))
        quote = quote ? 0 : c;
      else if (c == ',' && !quote)
        pairs.emplace_back();
      else
        pairs.back() += c;
    }
    if (quote) return Wrong(line, "a quote is not closed");
    for (const std::string& pair : pairs) {
      size_t equals = pair.find('=');
      if (equals == std::string::npos) return Wrong(line, "expected NAME=VALUE between the brackets");
      std::string key(Trim(std::string_view(pair).substr(0, equals))), value = Tight(Trim(std::string_view(pair).substr(equals + 1)));
      if (key == "version")
        spec.version = value;
      else if (key == "build")
        spec.build = value;
      else if (key == "channel")
        spec.channel = value;
      else
        spec.other += StrCat(spec.other.empty() ? "" : ",", key, "=", value);
    }
  } else {
    flat = Tight(text);
  }
  std::string_view rest = flat;
  if (size_t colons = rest.rfind("::"); colons != std::string_view::npos) {
    spec.channel = rest.substr(0, colons);
    rest.remove_prefix(colons + 2);
  }
  size_t end = 0;
  while (end < rest.size() && IsNameCharacter(rest[end])) ++end;
  if (end == 0) return Wrong(line, "it begins with the name of a package, as in 'numpy>=1.20'");
  spec.name = ToLower(rest.substr(0, end));
  rest.remove_prefix(end);
  if (rest.empty()) return spec;
  if (rest[0] != ' ' && !IsOperator(rest[0])) return Wrong(line, "a version is written as in 'numpy=1.20' or 'numpy>=1.20'");
  rest = Trim(rest);
  size_t space = rest.find(' ');
  if (space != std::string_view::npos) {
    spec.build = Trim(rest.substr(space + 1));
    rest = rest.substr(0, space);
  } else if (size_t first = rest.find_first_not_of('='); rest[0] == '=' && first != std::string_view::npos) {
    // "=1.20=py38_0": the second '=' begins the build.
    if (size_t second = rest.find('=', first);
        second != std::string_view::npos && !IsOperator(rest[second - 1]) && rest.find_first_of(",|<>!~") == std::string_view::npos) {
      spec.build = rest.substr(second + 1);
      rest = rest.substr(0, second);
    }
  }
  if (spec.build.find_first_of(" =") != std::string::npos) return Wrong(line, "there is too much after the version");
  if (rest.find_first_not_of("=") == std::string_view::npos) return Wrong(line, "a version is missing after '='");
  spec.version = rest;
  return spec;
}

int CompareVersions(std::string_view a, std::string_view b) {
  auto left = Parts(a), right = Parts(b);
  size_t size = std::max(left.size(), right.size());
  left.resize(size);
  right.resize(size);
  for (size_t i = 0; i < size; ++i) {
    if (left[i].number != right[i].number) return left[i].number < right[i].number ? -1 : 1;
    if (int x = Rank(left[i].word), y = Rank(right[i].word); x != y) return x < y ? -1 : 1;
    if (int order = left[i].word.compare(right[i].word); order != 0) return order < 0 ? -1 : 1;
  }
  return 0;
}

bool Satisfies(std::string_view version, std::string_view clauses) {
  if (Trim(clauses).empty()) return true;
  for (std::string_view alternative : Split(clauses, '|')) {
    bool all = true;
    for (std::string_view clause : Split(alternative, ',')) all = all && SatisfiesOne(version, clause);
    if (all) return true;
  }
  return false;
}

Result<std::string> PipClauses(std::string_view clauses) {
  if (Trim(clauses).empty()) return std::string();
  if (clauses.find('|') != std::string_view::npos)
    return MakeError(Code::kInvalid, "environment.dependency", StrCat("pip has no words for the alternatives in '", clauses, "'"));
  std::vector<std::string> out;
  for (std::string_view clause : Split(clauses, ',')) {
    clause = Trim(clause);
    if (clause.empty() || clause == "*") continue;
    std::string_view op = TakeOperator(clause);
    bool star = clause.ends_with("*");
    if (star) clause.remove_suffix(1);
    if (clause.ends_with(".")) clause.remove_suffix(1);
    if (clause.empty()) continue;
    if (clause.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.!+_-") != std::string_view::npos)
      return MakeError(Code::kInvalid, "environment.dependency", StrCat("pip has no words for the version '", clause, "'"));
    if (op == "=" || (star && (op.empty() || op == "==")))
      out.push_back(StrCat("==", clause, ".*"));
    else if (star && op == "!=")
      out.push_back(StrCat("!=", clause, ".*"));
    else
      out.push_back(StrCat(op.empty() ? "==" : op, clause));
  }
  return Join(out, ",");
}

}  // namespace ferry::environment
