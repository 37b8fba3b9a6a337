#include "cli/yaml.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "cli/width.h"

namespace ferry::cli {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Words that some version of YAML reads as something else than text.
bool IsReservedWord(std::string_view text) {
  std::string lower = ToLower(text);
  for (const char* word : {"null", "~", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<", ".inf", ".nan", "nan", "inf", "infinity"})
    if (lower == word) return true;
  return false;
}

// Anything that begins like a number and has only characters of numbers, times and dates: quoted more often than needed, never less.
bool LooksLikeNumber(std::string_view text) {
  size_t i = text[0] == '-' || text[0] == '+' ? 1 : 0;
  if (i < text.size() && text[i] == '.') ++i;
  if (i >= text.size()) return true;
  if (IsReservedWord(text.substr(i > 0 && text[i - 1] == '.' ? i - 1 : i))) return true;
  if (!IsDigit(text[i])) return false;
  return text.find_first_not_of("0123456789abcdefABCDEFxXoO_.:+-TtZz ", i) == std::string_view::npos;
}

// Printable in YAML without an escape, line ends aside.
bool IsPrintable(char32_t c) {
  return c == '\t' || (c >= 0x20 && c < 0x7F) || (c >= 0xA0 && c < 0xD800 && c != 0x2028 && c != 0x2029) || (c >= 0xE000 && c < 0xFEFF) ||
         (c > 0xFEFF && c < 0xFFFE) || c >= 0x10000;
}

bool AllPrintable(std::string_view text, bool lines) {
  for (size_t at = 0; at < text.size();) {
    bool valid;
    char32_t c = NextCharacter(text, at, &valid);
    if (!valid || (!IsPrintable(c) && !(lines && c == '\n'))) return false;
  }
  return true;
}

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    size_t start = at;
    bool valid;
    char32_t c = NextCharacter(text, at, &valid);
    char buffer[16];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (!valid) {
      out += "\xEF\xBF\xBD";
    } else if (IsPrintable(c)) {
      out.append(text, start, at - start);
    } else {
      std::snprintf(buffer, sizeof buffer, c < 0x100 ? "\\x%02X" : "\\u%04X", static_cast<unsigned>(c));
      out += buffer;
    }
  }
  out += '"';
}

// Text of several lines after '|'. The marks say whether and how many line ends follow the last line, and the indentation where the
// first line itself begins with a space.
void AppendBlock(std::string& out, std::string_view text, int indent) {
  size_t ends = text.size() - (text.find_last_not_of('\n') + 1);
  out += '|';
  if (text[0] == ' ' || text[0] == '\n') out += '2';
  if (ends == 0) out += '-';
  if (ends > 1) out += '+';
  if (ends > 0) text.remove_suffix(1);
  for (std::string_view line : Split(text, '\n')) {
    out += '\n';
    if (line.empty()) continue;
    out.append(static_cast<size_t>(indent), ' ');
    out += line;
  }
}

// `indent`: of the lines that a block of text would take.
void AppendString(std::string& out, const std::string& text, int indent) {
  if (IsPlainYaml(text)) {
    out += text;
  } else if (text.find('\n') != std::string::npos && text.find_first_not_of('\n') != std::string::npos && text[0] != '\t' && AllPrintable(text, true)) {
    AppendBlock(out, text, indent);
  } else if (AllPrintable(text, false) && text.find('\t') == std::string::npos) {
    out += '\'';
    for (char c : text) {
      if (c == '\'') out += '\'';
      out += c;
    }
    out += '\'';
  } else {
    AppendQuoted(out, text);
  }
}

void AppendNumber(std::string& out, const Json& value) {
  double v = value.as_double();
  if (std::isfinite(v)) {
    std::string text = value.Dump();
    // YAML 1.1 wants a '.' before the exponent.
    size_t exponent = text.find('e');
    if (exponent != std::string::npos && text.find('.') == std::string::npos) text.insert(exponent, ".0");
    out += text;
  } else {
    out += std::isnan(v) ? ".nan" : v > 0 ? ".inf" : "-.inf";
  }
}

bool IsBlock(const Json& value) { return (value.is_array() && !value.as_array().empty()) || (value.is_object() && !value.as_object().empty()); }

// Appends the value after "key:" or "-", or at the start of the document; ends without a line end. `indent` is that of the value's
// own lines; `inside` says that its first line continues the current one.
void AppendValue(std::string& out, const Json& value, int indent, bool inside) {
  auto begin = [&](bool first) {
    if (first && inside) return;
    if (!out.empty()) out += '\n';
    out.append(static_cast<size_t>(indent), ' ');
  };
  if (value.is_array() && !value.as_array().empty()) {
    bool first = true;
    for (const Json& item : value.as_array()) {
      begin(first);
      first = false;
      out += "- ";
      AppendValue(out, item, indent + 2, true);
    }
  } else if (value.is_object() && !value.as_object().empty()) {
    bool first = true;
    for (const auto& [key, member] : value.as_object()) {
      begin(first);
      first = false;
      // A key stands on one line and is short enough for a parser to look ahead.
      if (IsPlainYaml(key) && key.size() < 128) {
        out += key;
      } else {
        if (key.size() >= 128) out += "? ";
        AppendQuoted(out, key);
        if (key.size() >= 128) {
          out += '\n';
          out.append(static_cast<size_t>(indent), ' ');
        }
      }
      out += ':';
      if (IsBlock(member)) {
        AppendValue(out, member, member.is_array() ? indent : indent + 2, false);
      } else {
        out += ' ';
        AppendValue(out, member, indent + 2, true);
      }
    }
  } else if (value.is_string()) {
    AppendString(out, value.as_string(), std::max(indent, 2));
  } else if (value.is_double()) {
    AppendNumber(out, value);
  } else {
    out += value.Dump();
  }
}

}  // namespace

bool IsPlainYaml(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (std::string_view("?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos) return false;
  if (text.front() == '-' && (text.size() == 1 || text[1] == ' ' || text[1] == '-')) return false;
  if (text.starts_with("...") || IsReservedWord(text) || LooksLikeNumber(text)) return false;
  for (std::string_view mark : {": ", " #", "\t"})
    if (text.find(mark) != std::string_view::npos) return false;
  return AllPrintable(text, false);
}

std::string RenderYaml(const Json& value) {
  std::string out;
  AppendValue(out, value, 0, true);
  out += '\n';
  return out;
}

}  // namespace ferry::cli
