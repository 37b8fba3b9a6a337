// Inputs that concern the registry of environments and what was built.
#include "base/text.h"
#include "engine/core.h"

namespace ferry::engine {

using model::EnvironmentName;
using model::EnvironmentRecord;

Result<std::pair<int64_t, bool>> Core::Register(const EnvironmentRecord& wanted, Time now) {
  TRY(auto json, Document("environment_name", EnvironmentNameKey(wanted.workspace, wanted.name)));
  EnvironmentName name;
  if (json) name = model::EnvironmentNameFromJson(*json);
  if (name.latest && name.hash == wanted.hash) {
    // A password is no part of the definition, so that a new one makes no new version.
    if (wanted.definition.docker.registry_password.empty()) return std::pair(name.latest, false);
    TRY(auto document, Document("environment", EnvironmentKey(wanted.workspace, wanted.name, name.latest)));
    FERRY_CHECK(document);
    TRY(EnvironmentRecord latest, model::EnvironmentRecordFromJson(*document));
    if (latest.definition.docker.registry_password != wanted.definition.docker.registry_password) {
      latest.definition.docker.registry_password = wanted.definition.docker.registry_password;
      Stage(PutEnvironment(latest));
    }
    return std::pair(name.latest, false);
  }
  EnvironmentRecord record = wanted;
  record.version = name.last + 1;
  record.created = now;
  record.definition.name = record.name;
  record.definition.version = std::to_string(record.version);
  Stage(PutEnvironment(record));
  Stage(PutEnvironmentName({record.workspace, record.name, record.version, record.version, record.hash, record.key, record.description, now}));
  return std::pair(record.version, true);
}

Result<Json> Core::On(const RegisterEnvironment& input, Time now) {
  const EnvironmentRecord& wanted = input.environment;
  TRY(auto workspace, Document("workspace", wanted.workspace));
  if (!workspace) return MakeError(Code::kNotFound, "workspace.not_found", StrCat("there is no workspace '", wanted.workspace, "'"), "workspace");
  TRY(auto registered, Register(wanted, now));
  return Json::MakeObject(
      {{"name", wanted.name}, {"version", std::to_string(registered.first)}, {"hash", wanted.hash}, {"key", wanted.key}, {"created", registered.second}});
}

Result<Json> Core::On(const DeleteEnvironment& input, Time now) {
  auto key = [&](int64_t version) { return EnvironmentKey(input.workspace, input.name, version); };
  TRY(auto json, Document("environment_name", EnvironmentNameKey(input.workspace, input.name)));
  EnvironmentName name;
  if (json) name = model::EnvironmentNameFromJson(*json);
  std::vector<EnvironmentRecord> deleted;
  EnvironmentName left = name;
  left.latest = 0;
  for (int64_t version = name.last; version >= 1; --version) {
    TRY(auto document, Document("environment", key(version)));
    if (!document) continue;
    TRY(EnvironmentRecord record, model::EnvironmentRecordFromJson(*document));
    if (record.deleted) continue;
    if (input.version == 0 || input.version == version) {
      record.deleted = true;
      deleted.push_back(std::move(record));
    } else if (!left.latest) {
      left.latest = version;
      left.hash = record.hash;
      left.key = record.key;
      left.description = record.description;
    }
  }
  if (deleted.empty())
    return MakeError(Code::kNotFound, "environment.not_found",
                     StrCat("there is no environment '", input.name, "'", input.version ? StrCat(" with version ", input.version) : std::string()), "name");
  left.changed = now;
  Stage(PutEnvironmentName(left));
  Json versions = Json::MakeArray();
  for (const EnvironmentRecord& record : deleted) {
    Stage(PutEnvironment(record));
    versions.Push(std::to_string(record.version));
  }
  return Json::MakeObject({{"name", input.name}, {"versions", std::move(versions)}});
}

Result<Json> Core::On(const NoteBuild& input, Time now) {
  model::BuildRecord build = input.build;
  build.built = build.used = now;
  TRY(auto there, Document("build", PlatformKey(build.key, build.platform)));
  std::string replaced;
  if (there) {
    model::BuildRecord before = model::BuildFromJson(*there);
    if (build.archive.empty() && !before.archive.empty()) {
      before.used = now;
      build = before;
    } else if (build.archive != before.archive) {
      replaced = before.archive;
    }
  }
  Stage(PutBuild(build));
  return model::ToJson(build).SetIf("replaced", replaced);
}

Result<Json> Core::On(const DropArchives& input, Time) {
  for (const model::BuildRecord& gone : input.builds) {
    TRY(auto there, Document("build", PlatformKey(gone.key, gone.platform)));
    if (!there) continue;
    model::BuildRecord build = model::BuildFromJson(*there);
    if (build.archive != gone.archive) continue;
    build.archive.clear();
    build.size = 0;
    Stage(PutBuild(build));
  }
  return Json();
}

void Core::TakeFacts(model::Run& run, const model::Facts& facts, Time now) {
  if (!model::Record(run.attempt(), facts.clocks, facts.environment, facts.data)) return;
  run.changed = now;
  bool everything = false;
  if (const std::string& lock = facts.environment.lock; !lock.empty() && run.properties["ferry.environment.lock"] != lock) {
    run.properties["ferry.environment.lock"] = lock;
    everything = true;
  }
  Touch(run, everything);
  if (facts.environment.key.empty()) return;
  // What is used stays longest.
  auto there = Document("build", PlatformKey(facts.environment.key, facts.platform));
  if (!there.ok() || !*there) return;
  model::BuildRecord build = model::BuildFromJson(**there);
  build.used = now;
  Stage(PutBuild(build));
}

}  // namespace ferry::engine
