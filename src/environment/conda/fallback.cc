#include "environment/conda/fallback.h"

#include "base/text.h"
#include "environment/conda_spec.h"
#include "environment/pypi_names.h"
#include "environment/requirement.h"

namespace ferry::environment {

Result<Fallback> InPipsWords(const model::Environment& definition) {
  Fallback out;
  out.definition = definition;
  out.definition.conda.channels.clear();
  out.definition.conda.dependencies.clear();
  out.definition.lock = Json();
  std::vector<std::string> lost;
  for (size_t i = 0; i < definition.conda.dependencies.size(); ++i) {
    const std::string& line = definition.conda.dependencies[i];
    std::string text(Trim(std::string_view(line).substr(0, line.find('#'))));
    if (text.empty()) continue;
    std::string where = NameLine("conda", i + 1, text);
    auto lose = [&](std::string_view why) { lost.push_back(StrCat(where, " (", why, ")")); };
    auto spec = ParseCondaSpec(line);
    if (!spec.ok())
      return MakeError(spec.error().code, spec.error().slug, StrCat("conda line ", i + 1, ": ", spec.error().message), StrCat("conda line ", i + 1));
    if (!spec->build.empty()) {
      lose("a build of conda's");
      continue;
    }
    if (!spec->other.empty()) {
      lose("a file of conda's");
      continue;
    }
    if (spec->name == "python" || spec->name == "pip") {
      out.definition.conda.dependencies.push_back(spec->name + (spec->version.empty() || spec->version.find_first_of("=<>!~") == 0 ? "" : " ") + spec->version);
      continue;
    }
    PypiName name = NameOnPypi(spec->name);
    if (name.kind == PypiName::Kind::kNone) {
      lose("no Python package");
      continue;
    }
    if (name.kind == PypiName::Kind::kNeedless) {
      out.notes.push_back(StrCat("conda package '", spec->name, "' was left out: ", name.why));
      continue;
    }
    auto clauses = PipClauses(spec->version);
    if (!clauses.ok()) {
      lose(clauses.error().message);
      continue;
    }
    std::string mapped = name.name + *clauses;
    out.notes.push_back(StrCat("conda package '", text, "' was taken from PyPI as '", mapped, "'",
                               name.kind == PypiName::Kind::kSame ? ", a guess: it is tried under its own name" : ""));
    if (!spec->channel.empty()) out.notes.push_back(StrCat("the channel in '", text, "' was not asked"));
    out.definition.conda.pip.push_back(std::move(mapped));
    out.lines[out.definition.conda.pip.size()] = where;
  }
  if (!lost.empty())
    return MakeError(Code::kUnavailable, "environment.not_mappable", StrCat("PyPI has no counterpart of ", Join(lost, ", ")),
                     lost[0].substr(0, lost[0].find(" '")));
  return out;
}

}  // namespace ferry::environment
