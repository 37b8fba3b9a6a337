#include "runconfig/conda.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::runconfig {
namespace {

constexpr int kMaxInclude = 8;               // files that include files
constexpr size_t kMaxRequirements = 20'000;  // of one specification, as model::EnvironmentFromJson takes them

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.'; }

std::string_view NameOf(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && IsNameCharacter(text[end])) ++end;
  return text.substr(0, end);
}

std::string FolderOf(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

// The value of an option that may be written as "-rX", "-r X", "--requirement X" or "--requirement=X"; "" when it is another line.
std::string_view OptionValue(std::string_view line, std::string_view letter, std::string_view name) {
  if (line.starts_with(name)) {
    line.remove_prefix(name.size());
    return line.starts_with('=') || line.starts_with(' ') ? Trim(line.substr(1)) : std::string_view();
  }
  return line.starts_with(letter) && !line.starts_with("--") ? Trim(line.substr(letter.size())) : std::string_view();
}

// A requirement line without comment and the white space around it. A comment begins after white space, so that "#egg=" in an address is none.
std::string_view WithoutComment(std::string_view line) {
  line = Trim(line);
  for (size_t i = 0; i < line.size(); ++i)
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return Trim(line.substr(0, i));
  return line;
}

// Requirement lines, of a list in a conda file or of requirements files.
class Requirements {
 public:
  Requirements(const Lookup& lookup, model::CondaSpecification& to) : lookup_(lookup), to_(to) {}

  // One line. `base`: the folder of the file it stands in.
  void Add(Report& report, int line, const std::string& field, std::string_view text, const std::string& base, int depth) {
    const std::string requirement(WithoutComment(text));
    if (requirement.empty()) return;
    if (to_.pip.size() >= kMaxRequirements) {
      if (to_.pip.size() == kMaxRequirements) report.Refuse(line, field, StrCat("more than ", kMaxRequirements, " requirements"));
      return;
    }
    if (auto file = OptionValue(requirement, "-r", "--requirement"); !file.empty()) return Include(report, line, field, StrCat(base, file), depth);
    if (!OptionValue(requirement, "-c", "--constraint").empty())
      return report.Refuse(line, field, StrCat("'", requirement, "': files with constraints are not sent along; write the versions into the requirements"));
    std::string_view what = requirement;
    if (auto editable = OptionValue(requirement, "-e", "--editable"); !editable.empty()) what = editable;
    if (what == "." || what.starts_with("./") || what.starts_with("../"))
      return report.Refuse(line, field,
                           StrCat("'", requirement, "' is a folder of this machine; expected a package, because the environment is built elsewhere"));
    if (!Plausible(report, line, field, requirement)) return;
    to_.pip.push_back(requirement);
  }

  // The lines of a requirements file: a '\' at the end joins a line with the next.
  void AddFile(Report& report, std::string_view text, const std::string& base, int depth) {
    std::string whole;
    int number = 0, first = 0;
    for (std::string_view line : Split(text, '\n')) {
      ++number;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (whole.empty()) first = number;
      const bool goes_on = line.ends_with('\\');
      if (goes_on) line.remove_suffix(1);
      if (!whole.empty()) whole += ' ';
      whole += Trim(line);
      if (goes_on) continue;
      Add(report, first, {}, whole, base, depth);
      whole.clear();
    }
    if (!whole.empty()) Add(report, first, {}, whole, base, depth);
  }

 private:
  void Include(Report& report, int line, const std::string& field, const std::string& file, int depth) {
    if (depth >= kMaxInclude)
      return report.Refuse(line, field, StrCat("'", file, "' is included over more than ", kMaxInclude, " files; does one include itself?"));
    auto text = lookup_(file);
    if (!text.ok()) return report.Refuse(line, field, StrCat("the requirements file '", file, "' cannot be read: ", text.error().message));
    Report inside{file, report.errors, report.warnings};
    AddFile(inside, *text, FolderOf(file), depth + 1);
  }

  // Catches slips; what pip takes in full is pip's to say.
  static bool Plausible(Report& report, int line, const std::string& field, const std::string& requirement) {
    if (requirement[0] == '-') return true;
    if (requirement.find("://") != std::string::npos || requirement[0] == '/') return true;
    const std::string_view name = NameOf(requirement);
    const std::string_view rest = Trim(std::string_view(requirement).substr(name.size()));
    if (!name.empty() && rest.starts_with('=') && !rest.starts_with("==")) {
      report.Wrong(line, field, "a pip requirement such as numpy==1.26", StrCat("'", requirement, "'"), StrCat(name, "=", rest));
      return false;
    }
    if (!name.empty() && (rest.empty() || std::string_view("[<>=!~;@(").find(rest[0]) != std::string_view::npos || rest.starts_with("--"))) return true;
    report.Wrong(line, field, "a pip requirement such as numpy==1.26", StrCat("'", requirement, "'"));
    return false;
  }

  const Lookup& lookup_;
  model::CondaSpecification& to_;
};

void AddDependency(Report& report, const yaml::Node& item, const std::string& field, model::CondaSpecification& to) {
  std::string_view text = Trim(item.text);
  std::string_view name = text;
  if (size_t channel = name.find("::"); channel != std::string_view::npos) name.remove_prefix(channel + 2);
  const std::string_view rest = name.substr(NameOf(name).size());
  if (NameOf(name).empty() || (!rest.empty() && std::string_view("=<>!~ [").find(rest[0]) == std::string_view::npos))
    return report.Wrong(item.line, field, "a conda package such as numpy=1.26", Found(item));
  to.dependencies.emplace_back(text);
}

}  // namespace

void ReadCondaNode(Report& report, const yaml::Node& node, const std::string& path, const std::string& base, const Lookup& lookup,
                   model::CondaSpecification& to) {
  Section section(report, &node, path, node.line);
  // Conda's own; they mean nothing here.
  section.Take("name");
  section.Take("prefix");
  section.Texts("channels", to.channels);
  const yaml::Node* dependencies = section.Take("dependencies");
  if (!dependencies) return;
  const std::string field = section.FieldOf("dependencies");
  if (!dependencies->is_sequence()) return report.Wrong(dependencies->line, field, "a list of packages", Found(*dependencies));
  Requirements requirements(lookup, to);
  for (size_t i = 0; i < dependencies->items.size(); ++i) {
    const yaml::Node& item = dependencies->items[i];
    const std::string at = StrCat(field, "[", i, "]");
    if (item.is_scalar()) {
      AddDependency(report, item, at, to);
      continue;
    }
    if (item.is_map() && item.members.size() == 1 && ToLower(item.members[0].key) == "pip") {
      const yaml::Node& pip = item.members[0].value;
      if (!pip.is_sequence() && !pip.is_null()) report.Wrong(pip.line, StrCat(at, ".pip"), "a list of requirements", Found(pip));
      for (size_t j = 0; j < pip.items.size(); ++j) {
        const std::string line_field = StrCat(at, ".pip[", j, "]");
        if (pip.items[j].is_scalar())
          requirements.Add(report, pip.items[j].line, line_field, pip.items[j].text, base, 0);
        else
          report.Wrong(pip.items[j].line, line_field, "a pip requirement such as numpy==1.26", Found(pip.items[j]));
      }
      continue;
    }
    std::string suggestion;
    if (item.is_map() && !item.members.empty()) suggestion = StrCat(item.members[0].key, "=", item.members[0].value.text);
    report.Wrong(item.line, at, "a conda package such as numpy=1.26, or a pip section", Found(item), std::move(suggestion));
  }
}

void ReadCondaText(const std::string& text, const std::string& file, const Lookup& lookup, std::vector<Problem>& errors, std::vector<Problem>& warnings,
                   model::CondaSpecification& to) {
  Report report{file, errors, warnings};
  if (ToLower(file).ends_with(".txt")) return Requirements(lookup, to).AddFile(report, text, FolderOf(file), 0);
  auto node = yaml::Parse(text, file);
  if (!node.ok()) {
    errors.push_back(NoYaml(node.error(), file));
    return;
  }
  if (node->is_null()) return;
  ReadCondaNode(report, *node, {}, FolderOf(file), lookup, to);
}

CondaReading ReadConda(const std::string& text, const std::string& file, const Lookup& lookup) {
  CondaReading reading;
  ReadCondaText(text, file, lookup, reading.errors, reading.warnings, reading.conda);
  return reading;
}

}  // namespace ferry::runconfig
