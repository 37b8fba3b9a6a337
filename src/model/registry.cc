#include "model/registry.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace ferry::model {

Json ToJson(const EnvironmentRecord& record) {
  Json json = Json::MakeObject({{"workspace", record.workspace},
                                {"name", record.name},
                                {"version", record.version},
                                {"definition", ToJson(record.definition, true)},
                                {"hash", record.hash},
                                {"key", record.key},
                                {"created", record.created.micros}});
  json.SetIf("description", record.description).SetIf("user", record.user);
  if (!record.tags.empty()) json.Set("tags", record.tags);
  if (record.deleted) json.Set("deleted", true);
  return json;
}

Result<EnvironmentRecord> EnvironmentRecordFromJson(const Json& json) {
  EnvironmentRecord record;
  record.workspace = json.GetString("workspace");
  record.name = json.GetString("name");
  record.version = json.GetInt("version");
  if (const Json* definition = json.Find("definition")) {
    TRY(record.definition, EnvironmentFromJson(*definition));
  }
  record.hash = json.GetString("hash");
  record.key = json.GetString("key");
  record.description = json.GetString("description");
  record.tags = json.GetStringMap("tags");
  record.user = json.GetString("user");
  record.created = Time{json.GetInt("created")};
  record.deleted = json.GetBool("deleted");
  return record;
}

Json EnvironmentView(const EnvironmentRecord& record) {
  Environment definition = record.definition;
  definition.name = record.name;
  definition.version = std::to_string(record.version);
  return Json::MakeObject({{"name", record.name},
                           {"version", definition.version},
                           {"workspace", record.workspace},
                           {"description", record.description},
                           {"tags", record.tags},
                           {"hash", record.hash},
                           {"key", record.key},
                           {"user", record.user},
                           {"created", record.created ? Json(FormatTime(record.created)) : Json()},
                           {"definition", ToJson(definition)}});
}

Json ToJson(const EnvironmentName& name) {
  Json json =
      Json::MakeObject({{"workspace", name.workspace}, {"name", name.name}, {"last", name.last}, {"latest", name.latest}, {"changed", name.changed.micros}});
  json.SetIf("hash", name.hash).SetIf("key", name.key).SetIf("description", name.description);
  return json;
}

EnvironmentName EnvironmentNameFromJson(const Json& json) {
  return {json.GetString("workspace"), json.GetString("name"), json.GetInt("last"),           json.GetInt("latest"),
          json.GetString("hash"),      json.GetString("key"),  json.GetString("description"), Time{json.GetInt("changed")}};
}

Json ToJson(const BuildRecord& build) {
  Json json = Json::MakeObject({{"key", build.key},
                                {"platform", build.platform},
                                {"kind", build.kind},
                                {"seconds", build.seconds},
                                {"built", build.built.micros},
                                {"used", build.used.micros}});
  json.SetIf("lock", build.lock).SetIf("archive", build.archive).SetIf("path", build.path).SetIf("node", build.node);
  if (build.size) json.Set("size", build.size);
  return json;
}

BuildRecord BuildFromJson(const Json& json) {
  BuildRecord build;
  build.key = json.GetString("key");
  build.platform = json.GetString("platform", "linux-64");
  build.kind = json.GetString("kind");
  build.lock = json.GetString("lock");
  build.archive = json.GetString("archive");
  build.size = static_cast<uint64_t>(json.GetInt("size"));
  build.path = json.GetString("path");
  build.node = json.GetString("node");
  build.seconds = json.GetDouble("seconds");
  build.built = Time{json.GetInt("built")};
  build.used = Time{json.GetInt("used")};
  return build;
}

bool IsReservedEnvironmentName(std::string_view name) {
  std::string lower = ToLower(name);
  return lower.starts_with("azureml") || lower.starts_with("microsoft");
}

Result<void> CheckSpacedName(std::string_view what, std::string_view name, size_t longest, std::string_view field) {
  auto fail = [&](std::string_view why) {
    return MakeError(Code::kInvalid, StrCat(what, ".name"),
                     StrCat(what, " name '", name.substr(0, 60), "' ", why,
                            "; expected letters, digits, '-', '_', '.' and single blanks, beginning with a letter or digit, at most ", longest, " characters"),
                     std::string(field));
  };
  if (name.empty()) return fail("is empty");
  if (name.size() > longest) return fail("is too long");
  auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (!alphanumeric(name[0])) return fail("begins with another character");
  for (char c : name)
    if (!alphanumeric(c) && c != '-' && c != '_' && c != '.' && c != ' ') return fail("has another character");
  if (name.find("  ") != std::string_view::npos || name.back() == ' ') return fail("has blanks beside each other or at its end");
  if (name.find("..") != std::string_view::npos) return fail("has '..' in it");
  return {};
}

Result<void> CheckEnvironmentName(std::string_view name, std::string_view field) {
  // An experiment's name may be 255 characters, and gets words around it.
  TRY_VOID(CheckSpacedName("environment", name, 300, field));
  if (IsReservedEnvironmentName(name))
    return MakeError(
        Code::kInvalid, "environment.reserved",
        StrCat("environment name '", name.substr(0, 60),
               "' begins with a reserved word; names that begin with 'AzureML' or 'Microsoft' are Ferry's own: ", "register it under another name"),
        std::string(field));
  return {};
}

std::string EnvironmentNameOfExperiment(std::string_view experiment) { return StrCat("Experiment ", experiment, " Environment"); }

Result<EnvironmentReference> ParseEnvironmentReference(std::string_view text, std::string_view field) {
  std::string_view rest = text;
  if (rest.starts_with("azureml:")) rest.remove_prefix(8);
  size_t cut = rest.find_first_of("@:");
  EnvironmentReference reference{std::string(rest.substr(0, cut)), 0};
  auto fail = [&] {
    return MakeError(Code::kInvalid, "environment.reference",
                     StrCat("'", text.substr(0, 100), "' does not name an environment; expected NAME, NAME@latest or NAME@VERSION with a whole number from 1"),
                     std::string(field));
  };
  if (reference.name.empty()) return fail();
  if (cut == std::string_view::npos) return reference;
  std::string_view version = rest.substr(cut + 1);
  if (version == "latest") return reference;
  auto number = ParseInt(version);
  if (!number || *number < 1) return fail();
  reference.version = *number;
  return reference;
}

std::vector<BuildRecord> ChoosePrune(std::vector<BuildRecord> builds, const PruneRule& rule, const std::set<std::string>& in_use, Time now) {
  std::sort(builds.begin(), builds.end(), [](const BuildRecord& a, const BuildRecord& b) { return std::tie(a.used, a.key) < std::tie(b.used, b.key); });
  int64_t total = 0;
  for (const BuildRecord& build : builds)
    if (!build.archive.empty()) total += static_cast<int64_t>(build.size);
  std::vector<BuildRecord> out;
  for (BuildRecord& build : builds) {
    if (build.archive.empty() || in_use.count(build.key)) continue;
    bool old = rule.older_than > Duration(0) && now - build.used > rule.older_than;
    bool too_much = rule.keep_bytes >= 0 && total > rule.keep_bytes;
    if (!old && !too_much) continue;
    total -= static_cast<int64_t>(build.size);
    out.push_back(std::move(build));
  }
  return out;
}

}  // namespace ferry::model
