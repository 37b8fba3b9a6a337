// The registry of environments, and what agents have built.
#include "base/text.h"
#include "engine/tables.h"
#include "model/curated.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

constexpr size_t kLongestLock = 16u << 20;


Error NotFound(const model::EnvironmentReference& reference, std::string_view field, std::string_view more) {
  return MakeError(Code::kNotFound, "environment.not_found",
                   StrCat("there is no environment '", reference.name.substr(0, 300), "'",
                          reference.version ? StrCat(" with version ", reference.version) : std::string(), more),
                   std::string(field));
}

// The reference of a path and its query parameter `version`.
Result<model::EnvironmentReference> ReferenceOf(const Call& call) {
  std::string version = call.head.Query("version");
  return model::ParseEnvironmentReference(version.empty() ? call.params.at("name") : StrCat(call.params.at("name"), "@", version), "name");
}

Json CuratedView(const model::Curated& curated) {
  Json view = model::EnvironmentView(curated.record);
  view.Set("curated", true);
  if (!curated.alias.empty()) {
    view.Set("name", curated.alias).Set("alias_of", curated.record.name).Set("note", curated.note);
    view.Find("definition")->Set("name", curated.alias);
  }
  return view;
}

Json WithoutDefinition(Json view) {
  view.Erase("definition");
  return view;
}

Result<std::string> KeyOf(const Call& call) {
  const std::string& key = call.params.at("key");
  if (!Digest::FromHex(key))
    return MakeError(Code::kInvalid, "build.key", StrCat("'", key.substr(0, 80), "' is no build key: expected 64 lower-case hex digits"), "key");
  return key;
}

std::string PlatformOf(const Call& call) { return call.head.Query("platform", "linux-64"); }

Json BuildView(const model::BuildRecord& build) {
  return Json::MakeObject({{"key", build.key},
                           {"platform", build.platform},
                           {"kind", build.kind},
                           {"seconds", build.seconds},
                           {"node", build.node},
                           {"path", build.path},
                           {"built", FormatTime(build.built)},
                           {"used", FormatTime(build.used)},
                           {"archive", build.archive.empty() ? Json() : Json(build.archive)},
                           {"size", build.size},
                           {"lock_digest", build.lock.empty() ? Json() : Json(build.lock)}});
}

Result<Json> ShowBuildOf(const Parts& parts, const Call& call) {
  TRY(std::string key, KeyOf(call));
  TRY(auto json, Stored(parts, "build", engine::PlatformKey(key, PlatformOf(call))));
  if (!json) return MakeError(Code::kNotFound, "build.not_found", StrCat("nothing was built for key ", key, " on ", PlatformOf(call)), "key");
  model::BuildRecord build = model::BuildFromJson(*json);
  // An archive whose bytes are gone is none.
  if (auto digest = Digest::FromHex(build.archive)) {
    TRY(auto has, parts.blobs.Has(std::span(&*digest, 1)));
    if (!has[0]) {
      build.archive.clear();
      build.size = 0;
    }
  }
  Json view = BuildView(build);
  Json lock;
  if (!build.lock.empty()) {
    TRY(lock, ReadLock(parts, build.lock));
  }
  view.Set("lock", std::move(lock));
  return view;
}

Result<std::vector<model::BuildRecord>> AllBuilds(const Parts& parts) {
  std::vector<model::BuildRecord> builds;
  store::Query query{"build", {}, {{"", "key"}, false}, {}, 1000};
  for (;;) {
    TRY(store::Page page, parts.store.Find(query));
    for (const store::Document& document : page.documents) {
      TRY(Json json, ParseJson(document.body, "a build in the store"));
      builds.push_back(model::BuildFromJson(json));
    }
    if (page.next.empty()) return builds;
    query.cursor = page.next;
  }
}

}  // namespace

Result<FoundEnvironment> FindEnvironment(const Parts& parts, const std::string& workspace, const model::EnvironmentReference& reference,
                                         std::string_view field) {
  if (model::IsReservedEnvironmentName(reference.name)) {
    auto curated = model::FindCurated(reference.name, reference.version);
    if (!curated) return NotFound(reference, field, "; Ferry's own are listed by: ferry environment list --curated");
    return FoundEnvironment{std::move(curated->record), std::move(curated->alias), std::move(curated->note)};
  }
  int64_t version = reference.version;
  if (!version) {
    TRY(auto name, Stored(parts, "environment_name", engine::EnvironmentNameKey(workspace, reference.name)));
    if (name) version = model::EnvironmentNameFromJson(*name).latest;
    if (!version) return NotFound(reference, field, StrCat(" in workspace '", workspace.substr(0, 40), "'; see: ferry environment list"));
  }
  TRY(auto json, Stored(parts, "environment", engine::EnvironmentKey(workspace, reference.name, version)));
  if (!json) return NotFound(reference, field, StrCat(" in workspace '", workspace.substr(0, 40), "'; see: ferry environment list"));
  TRY(model::EnvironmentRecord record, model::EnvironmentRecordFromJson(*json));
  if (record.deleted) return NotFound(reference, field, "; it was deleted");
  return FoundEnvironment{std::move(record), {}, {}};
}

void SealPassword(const Parts& parts, Json& definition) {
  Json* docker = definition.Find("docker");
  Json* registry = docker ? docker->Find("baseImageRegistry") : nullptr;
  Json* password = registry ? registry->Find("password") : nullptr;
  if (password && (password->is_string() || password->is_number()))
    *password = parts.access.Sealed(password->is_string() ? password->as_string() : password->Dump());
}

Result<model::Environment> DefinitionFromRequest(const Parts& parts, const Json& json, std::string_view field) {
  auto parsed = model::EnvironmentFromJson(json);
  if (!parsed.ok()) {
    Error error = parsed.error();
    if (!error.field.empty() && error.message.starts_with(error.field)) error.message = StrCat(field, ".", error.message);
    error.field = error.field.empty() ? std::string(field) : StrCat(field, ".", error.field);
    return error;
  }
  if (const std::string& context = parsed->docker.context; !context.empty()) {
    std::string at = StrCat(field, ".docker.buildContext.snapshot");
    auto digest = Digest::FromHex(context);
    if (!digest) return MakeError(Code::kInvalid, "environment.context", StrCat(at, " must be the id of a snapshot: 64 hex digits"), at);
    TRY(auto has, parts.blobs.Has(std::span(&*digest, 1)));
    if (!has[0]) return MakeError(Code::kNotFound, "snapshot.not_found", StrCat("snapshot ", context, " was not uploaded"), at);
  }
  return *parsed;
}

Result<std::string> KeepLock(const Parts& parts, const Json& lock) {
  TRY(model::Lock parsed, model::LockFromJson(lock));
  std::string bytes = model::ToJson(parsed).Dump();
  if (bytes.size() > kLongestLock) return MakeError(Code::kTooLarge, "lock.too_large", "a lock has at most 16 MB", "lock");
  return KeepBytes(parts, bytes);
}

Result<Json> ReadLock(const Parts& parts, const std::string& hex) {
  auto digest = Digest::FromHex(hex);
  if (!digest) return MakeError(Code::kInternal, "lock.unreadable", "a lock in the store has no digest");
  TRY(auto reader, parts.blobs.Open(*digest));
  if (reader->size() > kLongestLock) return MakeError(Code::kInternal, "lock.unreadable", StrCat("the lock ", hex, " is too large"));
  TRY(std::string bytes, reader->Read(0, reader->size()));
  return ParseJson(bytes, "a lock in the store");
}

void ListEnvironments(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(int64_t limit, IntParameter(call, "limit", 1000, 1, 10000));
    std::string curated = call.head.Query("curated", "any"), cursor = call.head.Query("cursor");
    if (curated != "any" && curated != "true" && curated != "false")
      return MakeError(Code::kInvalid, "parameter.invalid", StrCat("curated is '", curated.substr(0, 40), "'; expected true, false or any"), "curated");
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    Json environments = Json::MakeArray();
    if (curated != "false" && cursor.empty())
      for (const model::Curated& one : model::AllCurated()) environments.Push(WithoutDefinition(CuratedView(one)));
    std::string next;
    if (curated != "true") {
      TRY(store::Page page, parts.store.Find({"environment_name",
                                              {{{"", "workspace"}, store::Op::kEq, {workspace}}, {{"", "latest"}, store::Op::kGt, {int64_t{0}}}},
                                              {{"", "key"}, false},
                                              cursor,
                                              static_cast<size_t>(limit)}));
      for (const store::Document& document : page.documents) {
        TRY(Json json, ParseJson(document.body, "an environment in the store"));
        model::EnvironmentName name = model::EnvironmentNameFromJson(json);
        environments.Push(Json::MakeObject({{"name", name.name},
                                            {"version", std::to_string(name.latest)},
                                            {"workspace", name.workspace},
                                            {"description", name.description},
                                            {"hash", name.hash},
                                            {"key", name.key},
                                            {"created", FormatTime(name.changed)},
                                            {"curated", false}}));
      }
      next = page.next;
    }
    return Json::MakeObject({{"environments", std::move(environments)}, {"next", next.empty() ? Json() : Json(next)}});
  };
  Answer(responder, list());
}

void ShowEnvironment(const Parts& parts, Call call, http::Responder responder) {
  auto show = [&]() -> Result<Json> {
    TRY(auto reference, ReferenceOf(call));
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    TRY(FoundEnvironment found, FindEnvironment(parts, workspace, reference, "name"));
    if (model::IsReservedEnvironmentName(reference.name)) return CuratedView({found.record, found.alias, found.note});
    return model::EnvironmentView(found.record).Set("curated", false);
  };
  Answer(responder, show());
}

void ListVersions(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(auto reference, ReferenceOf(call));
    TRY(int64_t limit, IntParameter(call, "limit", 1000, 1, 10000));
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    TRY(FoundEnvironment latest, FindEnvironment(parts, workspace, {reference.name, 0}, "name"));
    Json versions = Json::MakeArray();
    std::string next;
    if (model::IsReservedEnvironmentName(reference.name)) {
      for (int64_t version = latest.record.version; version >= 1; --version)
        if (auto one = model::FindCurated(latest.record.name, version)) versions.Push(WithoutDefinition(CuratedView(*one)));
    } else {
      std::string prefix = StrCat(engine::EnvironmentNameKey(workspace, reference.name), "/");
      TRY(store::Page page,
          parts.store.Find(
              {"environment", {{{"", "key"}, store::Op::kPrefix, {prefix}}}, {{"", "key"}, true}, call.head.Query("cursor"), static_cast<size_t>(limit)}));
      for (const store::Document& document : page.documents) {
        TRY(Json json, ParseJson(document.body, "an environment in the store"));
        TRY(model::EnvironmentRecord record, model::EnvironmentRecordFromJson(json));
        if (!record.deleted) versions.Push(WithoutDefinition(model::EnvironmentView(record).Set("curated", false)));
      }
      next = page.next;
    }
    return Json::MakeObject({{"versions", std::move(versions)}, {"next", next.empty() ? Json() : Json(next)}});
  };
  Answer(responder, list());
}

void RegisterEnvironment(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<std::variant<Json, model::EnvironmentRecord>> {
    TRY(Json body, BodyObject(call));
    for (const auto& [key, value] : body.as_object())
      if (key != "definition" && key != "description" && key != "tags")
        return MakeError(Code::kInvalid, "field.unknown",
                         StrCat("'", key.substr(0, 80), "' is not a field of an environment; expected definition, description or tags"), key.substr(0, 80));
    Json* definition = body.Find("definition");
    if (!definition) return MakeError(Code::kInvalid, "field.missing", "definition must be given", "definition");
    SealPassword(parts, *definition);
    model::EnvironmentRecord record;
    TRY(record.workspace, WorkspaceOf(call, call.head.Query("workspace")));
    record.name = call.params["name"];
    TRY_VOID(model::CheckEnvironmentName(record.name, "name"));
    TRY(record.definition, DefinitionFromRequest(parts, *definition, "definition"));
    record.description = body.GetString("description");
    if (record.description.size() > 65536) return MakeError(Code::kTooLarge, "field.too_long", "description has at most 64 KB", "description");
    TRY(record.tags, StringMap(body, "tags", 500, 64u << 10));
    record.user = call.identity.user;
    record.hash = model::DefinitionHash(record.definition);
    record.key = model::BuildKey(record.definition);
    // What is there already as it is takes no commit.
    if (record.definition.docker.registry_password.empty()) {
      TRY(auto json, Stored(parts, "environment_name", engine::EnvironmentNameKey(record.workspace, record.name)));
      if (json) {
        model::EnvironmentName name = model::EnvironmentNameFromJson(*json);
        if (name.latest && name.hash == record.hash)
          return std::variant<Json, model::EnvironmentRecord>(
              Json::MakeObject({{"name", name.name}, {"version", std::to_string(name.latest)}, {"hash", name.hash}, {"key", name.key}, {"created", false}}));
      }
    }
    return std::variant<Json, model::EnvironmentRecord>(std::move(record));
  };
  auto built = build();
  if (!built.ok()) return Answer(responder, built.error());
  if (auto* unchanged = std::get_if<Json>(&*built)) return Answer(responder, *unchanged);
  parts.engine.Do(engine::RegisterEnvironment{std::move(std::get<model::EnvironmentRecord>(*built))}, [responder](Result<Json> result) {
    bool created = result.ok() && result->GetBool("created");
    Answer(responder, result, created ? 201 : 200);
  });
}

void DeleteEnvironment(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::DeleteEnvironment> {
    TRY(auto reference, ReferenceOf(call));
    TRY_VOID(model::CheckEnvironmentName(reference.name, "name"));
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    // "latest" is one version; without a version all of them go.
    if (!reference.version && !call.head.Query("version").empty()) {
      TRY(FoundEnvironment latest, FindEnvironment(parts, workspace, reference, "name"));
      reference.version = latest.record.version;
    }
    return engine::DeleteEnvironment{std::move(workspace), reference.name, reference.version};
  };
  auto input = build();
  if (!input.ok()) return Answer(responder, input.error());
  parts.engine.Do(std::move(*input), [responder](Result<Json> result) { Answer(responder, result); });
}

void ListBuilds(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(int64_t limit, IntParameter(call, "limit", 1000, 1, 10000));
    TRY(store::Page page, parts.store.Find({"build", {}, {{"", "used"}, true}, call.head.Query("cursor"), static_cast<size_t>(limit)}));
    Json builds = Json::MakeArray();
    for (const store::Document& document : page.documents) {
      TRY(Json json, ParseJson(document.body, "a build in the store"));
      builds.Push(BuildView(model::BuildFromJson(json)));
    }
    return Json::MakeObject({{"builds", std::move(builds)}, {"next", page.next.empty() ? Json() : Json(page.next)}});
  };
  Answer(responder, list());
}

void ShowBuild(const Parts& parts, Call call, http::Responder responder) { Answer(responder, ShowBuildOf(parts, call)); }

void PruneBuilds(const Parts& parts, Call call, http::Responder responder) {
  struct Plan {
    std::vector<model::BuildRecord> builds;
    Json reply;
    bool dry_run = false;
  };
  auto plan = [&]() -> Result<Plan> {
    TRY(Json body, BodyObject(call));
    model::PruneRule rule;
    for (const auto& [key, value] : body.as_object()) {
      if (key == "dry_run" && value.is_bool()) continue;
      bool days = key == "older_than_days", bytes = key == "keep_bytes";
      if ((!days && !bytes) || !value.is_int() || value.as_int() < 0 || (days && value.as_int() > 36500))
        return MakeError(
            Code::kInvalid, "prune.rule",
            StrCat("'", key.substr(0, 80), "' is no such rule; expected older_than_days (0 to 36500), keep_bytes (0 or more) or dry_run (a boolean)"),
            key.substr(0, 80));
      if (days) rule.older_than = std::chrono::hours(24) * value.as_int();
      if (bytes) rule.keep_bytes = value.as_int();
    }
    std::set<std::string> in_use;
    parts.engine.Look([&](const engine::Core& core) {
      for (const auto& [id, run] : core.live()) in_use.insert(run.spec.environment_key);
    });
    TRY(auto all, AllBuilds(parts));
    Plan made;
    made.builds = model::ChoosePrune(std::move(all), rule, in_use, Now());
    made.dry_run = body.GetBool("dry_run");
    Json pruned = Json::MakeArray();
    uint64_t bytes = 0;
    for (const model::BuildRecord& build : made.builds) {
      pruned.Push(BuildView(build));
      bytes += build.size;
    }
    made.reply = Json::MakeObject({{"pruned", std::move(pruned)}, {"bytes", bytes}, {"dry_run", made.dry_run}});
    return made;
  };
  auto made = plan();
  if (!made.ok()) return Answer(responder, made.error());
  if (made->dry_run || made->builds.empty()) return Answer(responder, made->reply);
  // An archive without its bytes counts as none, so an end in the middle does no harm.
  for (const model::BuildRecord& build : made->builds)
    if (auto digest = Digest::FromHex(build.archive))
      if (auto removed = parts.blobs.Remove(*digest); !removed.ok()) return Answer(responder, removed.error());
  parts.engine.Do(engine::DropArchives{std::move(made->builds)},
                  [responder, reply = std::move(made->reply)](Result<Json> result) { Answer(responder, result.ok() ? Result<Json>(reply) : result); });
}

void AgentShowBuild(const Parts& parts, Call call, http::Responder responder) { Answer(responder, ShowBuildOf(parts, call)); }

void AgentNoteBuild(const Parts& parts, Call call, http::Responder responder) {
  auto note = [&]() -> Result<model::BuildRecord> {
    TRY(std::string key, KeyOf(call));
    TRY(Json body, BodyObject(call));
    const Json* lock = body.Find("lock");
    if (!lock) return MakeError(Code::kInvalid, "field.missing", "lock must be given", "lock");
    model::BuildRecord build;
    build.key = key;
    TRY(build.lock, KeepLock(parts, *lock));
    build.kind = lock->GetString("kind");
    build.platform = lock->GetString("platform", "linux-64").substr(0, 40);
    build.path = body.GetString("path").substr(0, 4096);
    build.seconds = body.GetDouble("seconds");
    build.node = call.identity.node;
    build.archive = body.GetString("archive");
    if (!build.archive.empty()) {
      auto digest = Digest::FromHex(build.archive);
      if (!digest) return MakeError(Code::kInvalid, "build.archive", "archive must be 64 hex digits", "archive");
      auto reader = parts.blobs.Open(*digest);
      if (!reader.ok()) return MakeError(Code::kConflict, "build.no_archive", StrCat("archive ", build.archive, " was not uploaded"), "archive");
      build.size = (*reader)->size();
    }
    return build;
  };
  auto build = note();
  if (!build.ok()) return Answer(responder, build.error());
  parts.engine.Do(engine::NoteBuild{std::move(*build)}, [responder, &parts](Result<Json> result) {
    if (auto replaced = result.ok() ? Digest::FromHex(result->GetString("replaced")) : std::nullopt) (void)parts.blobs.Remove(*replaced);
    Answer(responder, result.ok() ? Result<Json>(BuildView(model::BuildFromJson(*result))) : result);
  });
}

}  // namespace ferry::rest
