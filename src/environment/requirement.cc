#include "environment/requirement.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/environment.h"

namespace ferry::environment {
namespace {

constexpr size_t kLongestLine = 64u << 10;

struct Option {
  std::string_view name;
  std::string_view brief;  // "-r"
  bool takes_value;
  Requirement::Kind kind = Requirement::Kind::kOption;
};
constexpr std::array kOptions = {
    Option{"--requirement", "-r", true, Requirement::Kind::kFile},
    Option{"--constraint", "-c", true, Requirement::Kind::kConstraints},
    Option{"--editable", "-e", true, Requirement::Kind::kEditable},
    Option{"--index-url", "-i", true},
    Option{"--extra-index-url", "", true},
    Option{"--find-links", "-f", true},
    Option{"--no-index", "", false},
    Option{"--no-binary", "", true},
    Option{"--only-binary", "", true},
    Option{"--prefer-binary", "", false},
    Option{"--pre", "", false},
    Option{"--require-hashes", "", false},
    Option{"--trusted-host", "", true},
    Option{"--use-feature", "", true},
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool IsAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool IsNameCharacter(char c) { return IsAlphanumeric(c) || c == '.' || c == '_' || c == '-'; }

std::string_view WithoutComment(std::string_view text) {
  text = Trim(text);
  if (text.starts_with("#")) return {};
  // A comment begins after white space, so that "#egg=" in an address is none.
  for (size_t i = 1; i < text.size(); ++i)
    if (text[i] == '#' && IsSpace(text[i - 1])) return Trim(text.substr(0, i));
  return text;
}

Error Wrong(const Requirement& requirement, std::string_view why) {
  std::string where = NameLine("pip", requirement.line, requirement.text);
  return MakeError(Code::kInvalid, "environment.requirement", StrCat(where, " cannot be read: ", why), StrCat("pip line ", requirement.line));
}

Result<void> ReadOption(Requirement& requirement) {
  std::string_view text = requirement.text;
  size_t end = std::min(text.find_first_of(" \t="), text.size());
  std::string_view word = text.substr(0, end);
  for (const Option& option : kOptions) {
    // "-rFILE" is one word.
    bool glued = !option.brief.empty() && !word.starts_with("--") && word.starts_with(option.brief);
    if (word != option.name && !glued) continue;
    std::string_view value = glued ? text.substr(2) : end < text.size() ? text.substr(end + 1) : std::string_view();
    requirement.kind = option.kind;
    requirement.option = option.name;
    requirement.value = Trim(value);
    if (option.takes_value && requirement.value.empty()) return Wrong(requirement, StrCat("the option ", option.name, " needs a value"));
    if (!option.takes_value && !requirement.value.empty()) return Wrong(requirement, StrCat("the option ", option.name, " takes no value"));
    return {};
  }
  std::vector<std::string> known;
  for (const Option& option : kOptions) known.emplace_back(option.name);
  auto close = ClosestWord(word, known);
  return Wrong(requirement, close ? StrCat("there is no such option; did you mean ", *close, "?") : StrCat("the option is none of ", Join(known, ", ")));
}

bool LooksLikePath(std::string_view text) {
  std::string_view word = text.substr(0, std::min(text.find_first_of(" \t;"), text.size()));
  if (word.find('/') != std::string_view::npos || word.starts_with("~")) return true;
  for (std::string_view ending : {".whl", ".zip", ".tar.gz", ".tar.bz2"})
    if (word.ends_with(ending)) return true;
  return word == "." || word == "..";
}

Result<void> ReadPackage(Requirement& requirement) {
  std::string_view text = requirement.text;
  size_t end = 0;
  while (end < text.size() && IsNameCharacter(text[end])) ++end;
  std::string_view name = text.substr(0, end), rest = Trim(text.substr(end));
  size_t scheme = text.find("://");
  if (scheme != std::string_view::npos && text.substr(0, scheme).find_first_of(" \t@[") == std::string_view::npos) {
    requirement.kind = Requirement::Kind::kAddress;
    requirement.value = text.substr(0, std::min(text.find_first_of(" \t"), text.size()));
    if (size_t egg = text.find("#egg="); egg != std::string_view::npos) {
      std::string_view given = text.substr(egg + 5);
      requirement.name = model::NormalPackageName(given.substr(0, std::min(given.find_first_of("&[ \t"), given.size())));
    }
    return {};
  }
  bool named =
      rest.starts_with("@") || (rest.starts_with("[") && rest.find("]") != std::string_view::npos && Trim(rest.substr(rest.find("]") + 1)).starts_with("@"));
  if (!named && LooksLikePath(text)) {
    requirement.kind = Requirement::Kind::kPath;
    requirement.value = text.substr(0, std::min(text.find_first_of(" \t;"), text.size()));
    return {};
  }
  if (name.empty() || !IsAlphanumeric(name.front()) || !IsAlphanumeric(name.back()))
    return Wrong(requirement, "a requirement begins with the name of a package, as in 'numpy>=1.20'");
  requirement.name = model::NormalPackageName(name);
  if (rest.starts_with("[")) {
    size_t close = rest.find(']');
    if (close == std::string_view::npos) return Wrong(requirement, "']' is missing after the extras");
    rest = Trim(rest.substr(close + 1));
  }
  if (rest.starts_with("@")) {
    requirement.kind = Requirement::Kind::kAddress;
    requirement.value = Trim(rest.substr(1));
    if (requirement.value.empty()) return Wrong(requirement, "an address is missing after '@'");
    return {};
  }
  if (rest.starts_with("=") && !rest.starts_with("=="))
    return Wrong(requirement,
                 StrCat("pip pins a version with '==', as in '", name, "==", Trim(rest.substr(std::min(rest.find_first_not_of('='), rest.size()))), "'"));
  for (std::string_view opener : {"==", "~=", "!=", "<", ">", ";", "(", "--"})
    if (rest.starts_with(opener)) return {};
  if (rest.empty()) return {};
  return Wrong(requirement, StrCat("expected a version such as '", name, ">=1.0' after the name"));
}

}  // namespace

Result<std::vector<Requirement>> ParseRequirements(const std::vector<std::string>& lines) {
  std::vector<Requirement> out;
  if (lines.size() > kMaxRequirements)
    return MakeError(Code::kTooLarge, "environment.requirements",
                     StrCat("there are ", lines.size(), " requirement lines; at most ", kMaxRequirements, " are taken"), "pip");
  bool goes_on = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (line.size() > kLongestLine)
      return MakeError(Code::kTooLarge, "environment.requirement", StrCat("pip line ", i + 1, " is longer than 64 KB"), StrCat("pip line ", i + 1));
    if (std::any_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r'; }))
      return MakeError(Code::kInvalid, "environment.requirement", StrCat("pip line ", i + 1, " holds a control character; a requirement is one line of text"),
                       StrCat("pip line ", i + 1));
    std::string_view text = WithoutComment(line);
    bool more = text.ends_with("\\");
    if (more) text = Trim(text.substr(0, text.size() - 1));
    // Hashes may stand on lines of their own.
    bool joins = goes_on || (text.starts_with("--hash") && !out.empty());
    if (joins && !out.empty()) {
      if (!text.empty()) out.back().text += StrCat(out.back().text.empty() ? "" : " ", text);
    } else if (!text.empty() || more) {
      out.push_back({});
      out.back().line = i + 1;
      out.back().text = text;
    }
    if (!out.empty() && out.back().text.size() > kLongestLine)
      return MakeError(Code::kTooLarge, "environment.requirement", StrCat("pip line ", out.back().line, " is longer than 64 KB"),
                       StrCat("pip line ", out.back().line));
    goes_on = more;
  }
  std::erase_if(out, [](const Requirement& requirement) { return requirement.text.empty(); });
  for (Requirement& requirement : out) {
    requirement.hashed = requirement.text.find("--hash") != std::string::npos;
    TRY_VOID(requirement.text.front() == '-' ? ReadOption(requirement) : ReadPackage(requirement));
  }
  return out;
}

bool IsAzureml(std::string_view normal_name) { return normal_name == "azureml" || normal_name.starts_with("azureml-"); }

std::string NameLine(std::string_view section, size_t line, std::string_view text) {
  std::string shown = WithoutCredentials(text);
  if (size_t hash = shown.find(" --hash"); hash != std::string::npos) shown.resize(hash);
  if (shown.size() > 200) shown = StrCat(shown.substr(0, 200), "...");
  return StrCat(section, " line ", line, " '", shown, "'");
}

std::string WithoutCredentials(std::string_view text) {
  std::string out;
  for (;;) {
    size_t at = text.find("://");
    if (at == std::string_view::npos) break;
    out += text.substr(0, at + 3);
    text.remove_prefix(at + 3);
    size_t end = std::min(text.find_first_of("/ \t'\"`<>)"), text.size());
    size_t sign = text.substr(0, end).rfind('@');
    if (sign == std::string_view::npos) continue;
    out += "****";
    text.remove_prefix(sign);
  }
  out += text;
  return out;
}

std::string PlainAddress(std::string_view address) {
  size_t scheme = address.find("://");
  if (scheme == std::string_view::npos) return std::string(address);
  std::string_view rest = address.substr(scheme + 3), host = rest.substr(0, std::min(rest.find('/'), rest.size()));
  size_t sign = host.rfind('@');
  if (sign == std::string_view::npos) return std::string(address);
  if (address.substr(0, scheme).ends_with("ssh") && host.substr(0, sign).find(':') == std::string_view::npos) return std::string(address);
  return StrCat(address.substr(0, scheme + 3), rest.substr(sign + 1));
}

}  // namespace ferry::environment
