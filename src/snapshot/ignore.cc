#include <string_view>

#include "snapshot/snapshot.h"

namespace ferry::snapshot {

namespace {

bool IsSpecial(char c) { return c == '*' || c == '?' || c == '[' || c == '\\'; }

// Spaces at the end do not count unless a backslash stands before them.
std::string_view WithoutTrailingSpaces(std::string_view line) {
  size_t end = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
      end = i < line.size() ? i + 1 : line.size();
    } else if (line[i] != ' ') {
      end = i + 1;
    }
  }
  return line.substr(0, end);
}

// Of the C locale, whatever the process's is.
bool InNamedClass(std::string_view name, unsigned char c, bool& known) {
  const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
  const bool graph = c > 32 && c < 127;
  if (name == "alnum") return lower || upper || digit;
  if (name == "alpha") return lower || upper;
  if (name == "blank") return c == ' ' || c == '\t';
  if (name == "cntrl") return c < 32 || c == 127;
  if (name == "digit") return digit;
  if (name == "graph") return graph;
  if (name == "lower") return lower;
  if (name == "print") return graph || c == ' ';
  if (name == "punct") return graph && !lower && !upper && !digit;
  if (name == "space") return c == ' ' || (c >= 9 && c <= 13);
  if (name == "upper") return upper;
  if (name == "xdigit") return digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  known = false;
  return false;
}

enum class Step { kMatch, kMismatch, kMalformed };

// Compares one byte with the class whose '[' stands at `at`, and moves `at` behind its ']'.
Step MatchClass(std::string_view pattern, size_t& at, unsigned char c) {
  size_t i = at + 1;
  bool negated = false, matched = false;
  if (i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^')) {
    negated = true;
    ++i;
  }
  // The byte before a '-' that can begin a range; none behind a range or a named class.
  int previous = -1;
  for (bool first = true;; first = false) {
    if (i >= pattern.size()) return Step::kMalformed;
    unsigned char p = static_cast<unsigned char>(pattern[i]);
    if (p == ']' && !first) break;
    if (p == '-' && previous >= 0 && i + 1 < pattern.size() && pattern[i + 1] != ']') {
      p = static_cast<unsigned char>(pattern[++i]);
      if (p == '\\') {
        if (++i >= pattern.size()) return Step::kMalformed;
        p = static_cast<unsigned char>(pattern[i]);
      }
      matched |= previous <= c && c <= p;
      previous = -1;
      ++i;
      continue;
    }
    if (p == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
      const size_t close = pattern.find(']', i + 2);
      if (close == std::string_view::npos) return Step::kMalformed;
      if (close > i + 2 && pattern[close - 1] == ':') {
        bool known = true;
        matched |= InNamedClass(pattern.substr(i + 2, close - 1 - (i + 2)), c, known);
        if (!known) return Step::kMalformed;
        previous = -1;
        i = close + 1;
        continue;
      }
    }
    if (p == '\\') {
      if (++i >= pattern.size()) return Step::kMalformed;
      p = static_cast<unsigned char>(pattern[i]);
    }
    matched |= p == c;
    previous = p;
    ++i;
  }
  at = i + 1;
  return matched != negated && c != '/' ? Step::kMatch : Step::kMismatch;
}

// Compares one byte with the pattern element at `at`, which is no '*', and moves `at` behind it.
Step MatchOne(std::string_view pattern, size_t& at, char c) {
  switch (pattern[at]) {
    case '?': ++at; return c != '/' ? Step::kMatch : Step::kMismatch;
    case '[': return MatchClass(pattern, at, static_cast<unsigned char>(c));
    case '\\':
      if (++at >= pattern.size()) return Step::kMalformed;
      [[fallthrough]];
    default: return pattern[at++] == c ? Step::kMatch : Step::kMismatch;
  }
}

// gitwildmatch of a whole text. Time is at most the product of both lengths: a '*' never has to be tried again once a
// later one was reached, nor a "**" once a later "**" was, so that two places to go back to are enough.
bool WildMatch(std::string_view pattern, std::string_view text) {
  constexpr size_t kNone = std::string_view::npos;
  size_t p = 0, t = 0;
  size_t star_p = kNone, star_t = 0;      // behind the last '*', and the text it has not taken yet
  size_t double_p = kNone, double_t = 0;  // the same of the last "**"
  bool by_folder = false;                 // the last "**" has a '/' behind it that belongs to it: it takes whole folders
  for (;;) {
    bool failed = false;
    if (p < pattern.size() && pattern[p] == '*') {
      const size_t begin = p;
      while (p < pattern.size() && pattern[p] == '*') ++p;
      const std::string_view rest = pattern.substr(p);
      const bool whole = p - begin >= 2 && (begin == 0 || pattern[begin - 1] == '/') && (rest.empty() || rest[0] == '/' || rest.starts_with("\\/"));
      if (!whole) {
        star_p = p;
        star_t = t;
        continue;
      }
      if (rest.empty()) return true;
      by_folder = rest[0] == '/';
      if (by_folder) ++p;
      double_p = p;
      double_t = t;
      star_p = kNone;
      continue;
    }
    if (p == pattern.size()) {
      if (t == text.size()) return true;
      failed = true;
    } else if (t == text.size()) {
      return false;
    } else {
      switch (MatchOne(pattern, p, text[t])) {
        case Step::kMatch: ++t; break;
        case Step::kMismatch: failed = true; break;
        case Step::kMalformed: return false;
      }
    }
    if (!failed) continue;
    if (star_p != kNone && star_t < text.size() && text[star_t] != '/') {
      p = star_p;
      t = ++star_t;
      continue;
    }
    if (double_p == kNone) return false;
    if (by_folder) {
      const size_t slash = text.find('/', double_t);
      if (slash == kNone) return false;
      double_t = slash + 1;
    } else {
      if (double_t == text.size()) return false;
      ++double_t;
    }
    p = double_p;
    t = double_t;
    star_p = kNone;
  }
}

}  // namespace

IgnoreRules::IgnoreRules(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    line = WithoutTrailingSpaces(line);
    Rule rule;
    if (line.starts_with('!')) {
      rule.negated = true;
      line.remove_prefix(1);
    }
    if (line.ends_with('/')) {
      rule.folder_only = true;
      line.remove_suffix(1);
    }
    rule.anchored = line.find('/') != std::string_view::npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    if (line.empty()) continue;
    while (rule.literal < line.size() && !IsSpecial(line[rule.literal])) ++rule.literal;
    rule.suffix = line[0] == '*';
    for (char c : line.substr(1)) rule.suffix = rule.suffix && !IsSpecial(c);
    rule.pattern = line;
    rules_.push_back(std::move(rule));
  }
}

bool IgnoreRules::Rule::Matches(std::string_view path, std::string_view name) const {
  const std::string_view wild = pattern;
  if (!anchored) {
    if (literal == wild.size()) return name == wild;
    if (suffix) return name.ends_with(wild.substr(1));
    return WildMatch(wild, name);
  }
  if (!path.starts_with(wild.substr(0, literal))) return false;
  return WildMatch(wild.substr(literal), path.substr(literal));
}

bool IgnoreRules::IgnoredHere(std::string_view path, bool is_folder) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule)
    if ((is_folder || !rule->folder_only) && rule->Matches(path, name)) return !rule->negated;
  return false;
}

bool IgnoreRules::Ignored(std::string_view path, bool is_folder) const {
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
    if (IgnoredHere(path.substr(0, slash), true)) return true;
  return IgnoredHere(path, is_folder);
}

}  // namespace ferry::snapshot
