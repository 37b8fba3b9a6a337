// For tests: environment_tool build venv|conda|auto SPEC.json FOLDER [SETTINGS.json] builds, prints the log and at the end the Ready as one line of JSON;
// environment_tool relocate venv|conda READY.json BEFORE; environment_tool inspect INTERPRETER CACHE.
#include <csignal>
#include <cstdio>
#include <iostream>

#include "base/text.h"
#include "environment/builder.h"
#include "environment/choose.h"
#include "environment/conda/conda_builder.h"
#include "environment/existing/inspect.h"
#include "environment/interpreter.h"
#include "environment/venv/venv_builder.h"
#include "os/file.h"
#include "os/process.h"

namespace {

using namespace ferry;
using namespace ferry::environment;

volatile std::sig_atomic_t stopped = 0;

int Fail(const Error& error) {
  Json json = Json::MakeObject({{"code", CodeName(error.code)}, {"slug", error.slug}, {"message", error.message}, {"field", error.field}});
  std::cout << Json::MakeObject({{"error", std::move(json)}}).Dump() << std::endl;
  return ExitStatus(error.code);
}

Result<Json> ReadJson(const std::string& path) {
  TRY(std::string text, os::ReadFile(path));
  return ParseJson(text, path);
}

Result<Settings> ReadSettings(const std::string& path) {
  Settings settings;
  settings.path = os::GetEnv("PATH").value_or("");
  if (path.empty()) return settings;
  TRY(Json json, ReadJson(path));
  settings.tools = json.GetString("tools");
  settings.cache = json.GetString("cache");
  settings.sdk = json.GetString("sdk");
  settings.strict = json.GetBool("strict");
  settings.path = json.GetString("path", settings.path);
  return settings;
}

Result<std::string> Build(std::string kind, const std::string& specification, const std::string& folder, const std::string& settings_file) {
  TRY(Settings settings, ReadSettings(settings_file));
  TRY(Json json, ReadJson(specification));
  TRY(model::Environment definition, model::EnvironmentFromJson(json));
  if (kind == "auto") {
    std::vector<std::string> versions;
    for (const Interpreter& interpreter : FindInterpreters(settings)) versions.push_back(interpreter.version);
    Choice choice = Choose(definition, versions);
    kind = choice.kind == Choice::Kind::kVenv ? "venv" : "conda";
    std::cout << "chosen: " << kind << ": " << choice.why << std::endl;
  }
  auto builder = kind == "venv" ? MakeVenvBuilder(settings) : MakeCondaBuilder(settings);
  auto log = [](std::string_view line) { std::cout << line << std::endl; };
  Job job{definition, folder, os::GetEnv("MARK").value_or("environment_tool"), log, [] { return stopped != 0; }, os::GetEnv("CONTEXT").value_or("")};
  TRY(Ready ready, builder->Build(job));
  return ToJson(ready).Dump();
}

Result<std::string> Relocate(const std::string& kind, const std::string& file, const std::string& before, const std::string& settings_file) {
  TRY(Settings settings, ReadSettings(settings_file));
  TRY(Json json, ReadJson(file));
  TRY(Ready ready, ReadyFromJson(json));
  auto builder = kind == "venv" ? MakeVenvBuilder(settings) : MakeCondaBuilder(settings);
  TRY_VOID(builder->Relocate(ready, before));
  return std::string("{}");
}

Result<std::string> InspectOne(const std::string& interpreter, const std::string& cache) {
  TRY(model::Lock lock, Inspect(interpreter, cache));
  return model::ToJson(lock).Dump();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::signal(SIGTERM, [](int) { stopped = 1; });
  words.resize(std::max<size_t>(words.size(), 5));
  Result<std::string> done = MakeError(Code::kInvalid, "tool.usage", "environment_tool build|relocate|inspect ...");
  if (words[0] == "build") done = Build(words[1], words[2], words[3], words[4]);
  if (words[0] == "relocate") done = Relocate(words[1], words[2], words[3], words[4]);
  if (words[0] == "inspect") done = InspectOne(words[1], words[2]);
  if (!done.ok()) return Fail(done.error());
  std::cout << *done << std::endl;
  return 0;
}
