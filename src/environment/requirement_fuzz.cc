// libFuzzer: see tools/fuzz. Everything that reads what users and tools write.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "environment/builder.h"
#include "environment/choose.h"
#include "environment/conda_spec.h"
#include "environment/pip_settings.h"
#include "environment/pypi_names.h"
#include "environment/requirement.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  using namespace ferry::environment;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> lines;
  for (std::string_view line : Split(text, '\n')) lines.emplace_back(line);
  if (auto requirements = ParseRequirements(lines); requirements.ok()) {
    std::vector<std::string> again;
    for (const Requirement& requirement : *requirements) {
      FERRY_CHECK(requirement.line >= 1 && requirement.line <= lines.size());
      again.push_back(requirement.text);
    }
    // What was read reads the same.
    auto second = ParseRequirements(again);
    FERRY_CHECK(second.ok() && second->size() <= requirements->size());
  }
  for (const std::string& line : lines) {
    FERRY_CHECK(WithoutCredentials(WithoutCredentials(line)) == WithoutCredentials(line));
    (void)PlainAddress(line);
    (void)CompareVersions(line, "3.11.2");
    if (auto spec = ParseCondaSpec(line); spec.ok()) {
      (void)Satisfies("3.11.2", spec->version);
      (void)PipClauses(spec->version);
      (void)NameOnPypi(spec->name);
    }
  }
  (void)ParsePipConf(text);
  model::Environment definition;
  definition.conda.pip = {"numpy==99", "six"};
  definition.conda.dependencies = lines;
  (void)FindPythonPin(definition);
  (void)Choose(definition, {"3.11.2"});
  for (const char* tool : {"pip", "uv", "rattler", "conda", "podman"}) {
    Error error = Explain(definition, tool, lines, 1);
    FERRY_CHECK(!error.message.empty());
  }
  return 0;
}
