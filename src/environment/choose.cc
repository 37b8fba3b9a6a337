#include "environment/choose.h"

#include <algorithm>

#include "base/text.h"
#include "environment/conda_spec.h"
#include "environment/requirement.h"

namespace ferry::environment {

Result<PythonPin> FindPythonPin(const model::Environment& definition) {
  PythonPin pin;
  for (size_t i = 0; i < definition.conda.dependencies.size(); ++i) {
    const std::string& line = definition.conda.dependencies[i];
    std::string_view text = Trim(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    auto spec = ParseCondaSpec(line);
    if (!spec.ok()) {
      Error error = spec.error();
      error.field = StrCat("conda line ", i + 1);
      error.message = StrCat("conda line ", i + 1, ": ", error.message);
      return error;
    }
    bool plain = spec->channel.empty() && spec->build.empty() && spec->other.empty();
    if (spec->name == "python" && plain) {
      // A second pin narrows the first.
      pin.clauses += StrCat(pin.clauses.empty() || spec->version.empty() ? "" : ",", spec->version);
      pin.line = i + 1;
      pin.text = text;
      continue;
    }
    if (spec->name == "pip" && plain)
      if (auto clauses = PipClauses(spec->version); clauses.ok()) {
        pin.pip = StrCat("pip", *clauses);
        continue;
      }
    pin.conda_only.emplace_back(text);
  }
  return pin;
}

Choice Choose(const model::Environment& definition, const std::vector<std::string>& pythons) {
  if (!definition.lock.is_null()) {
    bool conda = definition.lock.GetString("kind") == "conda";
    return {conda ? Choice::Kind::kConda : Choice::Kind::kVenv, StrCat("the lock is one of a ", conda ? "conda" : "virtual", " environment")};
  }
  auto pin = FindPythonPin(definition);
  // What cannot be read is conda's to refuse with its line.
  if (!pin.ok()) return {Choice::Kind::kConda, "the specification has lines for conda"};
  if (!pin->conda_only.empty()) return {Choice::Kind::kConda, StrCat("'", pin->conda_only[0], "' is a conda package")};
  if (std::any_of(pythons.begin(), pythons.end(), [&](const std::string& version) { return Satisfies(version, pin->clauses); }))
    return {Choice::Kind::kVenv, "it has only packages for pip"};
  return {Choice::Kind::kConda, StrCat("no interpreter on this node is '", pin->text.empty() ? "python" : pin->text, "'")};
}

}  // namespace ferry::environment
