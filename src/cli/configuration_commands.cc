// ferry runconfig: looking at run configurations without running them.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/configuration.h"
#include "cli/context.h"
#include "cli/yaml.h"
#include "os/file.h"

namespace ferry::cli {
namespace {

Json ListOf(const std::vector<runconfig::Problem>& problems) {
  Json out = Json::MakeArray();
  for (const auto& problem : problems) out.Push(ToJson(problem));
  return out;
}

void HidePasswords(Json& value) {
  if (value.is_array())
    for (Json& item : value.as_array()) HidePasswords(item);
  if (!value.is_object()) return;
  for (auto& [key, member] : value.as_object()) {
    if (ToLower(key) == "password" && !member.is_null())
      member = "***";
    else
      HidePasswords(member);
  }
}

std::string Count(size_t n, const char* word) { return StrCat(n, " ", word, n == 1 ? "" : "s"); }

Result<ConfigurationFile> Asked(const Context& context) { return FindConfiguration(os::CurrentFolder(), context.arguments.Get("FILE")); }

}  // namespace

Result<int> ValidateConfiguration(Context& context) {
  TRY(ConfigurationFile file, Asked(context));
  TRY(runconfig::Reading reading, ReadConfiguration(file, {}));
  // Right, and this version cannot run it.
  if (reading.errors.empty())
    for (auto& problem : NotYet(reading)) reading.warnings.push_back(std::move(problem));
  const bool valid = reading.errors.empty();
  const int status = valid ? 0 : ExitStatus(Code::kInvalid);
  if (!context.ForPeople()) {
    TRY(int shown,
        context.Show(Json::MakeObject({{"file", file.shown}, {"valid", valid}, {"errors", ListOf(reading.errors)}, {"warnings", ListOf(reading.warnings)}})));
    return shown ? shown : status;
  }
  std::string out;
  for (const auto& problem : reading.errors) out += StrCat(Text(problem, "error"), "\n");
  for (const auto& problem : reading.warnings) out += StrCat(Text(problem, "warning"), "\n");
  out += StrCat(file.shown, valid ? " is valid" : StrCat(" is not valid: ", Count(reading.errors.size(), "error")));
  if (!reading.warnings.empty()) out += StrCat(", ", Count(reading.warnings.size(), "warning"));
  context.streams.out(out + "\n");
  return status;
}

Result<int> ShowConfiguration(Context& context) {
  TRY(ConfigurationFile file, Asked(context));
  Json value;
  if (context.arguments.Has("resolved")) {
    TRY(runconfig::Reading reading, ReadConfiguration(file, {}));
    for (const auto& problem : reading.warnings) context.Note(Text(problem, "warning"));
    for (const auto& problem : reading.errors) context.streams.err(StrCat(Text(problem, "error"), "\n"));
    if (!reading.errors.empty())
      return MakeError(Code::kInvalid, "runconfig.invalid", StrCat(file.shown, " is not valid: ", Count(reading.errors.size(), "error")), file.shown);
    value = Resolved(reading.config);
  } else {
    TRY(std::string text, os::ReadFile(file.path, yaml::kMaxBytes));
    TRY(yaml::Node node, yaml::Parse(text, file.shown));
    value = yaml::ToJson(node);
  }
  HidePasswords(value);
  // It is a tree: people get it as YAML.
  return context.Tell(value, RenderYaml(value));
}

}  // namespace ferry::cli
