// Environments: folders, the registry, builds and their differences.
#include "base/hash.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/environment_folder.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/width.h"
#include "model/registry.h"

namespace ferry::cli {
namespace {

// --name and --version; the version may stand behind the name, too.
Result<model::EnvironmentReference> ReferenceOf(const Context& context) {
  std::string name = context.arguments.Get("name"), version = context.arguments.Get("version");
  return model::ParseEnvironmentReference(version.empty() ? name : StrCat(name, "@", version), "--name");
}

std::string PathOf(const model::EnvironmentReference& reference, const std::string& workspace) {
  return ApiPath({"environments", reference.name}) +
         QueryText({{"workspace", workspace}, {"version", reference.version ? std::to_string(reference.version) : std::string()}});
}

Result<int> Say(Context& context, const Json& answer, const std::string& line) { return context.Tell(answer, StrCat(line, "\n")); }

void AddLine(std::string& out, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  out += name;
  out.append(name.size() < 14 ? 14 - name.size() : 1, ' ');
  out += StrCat(value, "\n");
}

std::string BuildText(const Json& build) {
  const Json* lock = build.Find("lock");
  const Json* packages = lock ? lock->Find("packages") : nullptr;
  std::string text = StrCat("on ", build.GetString("node"), " in ", RenderCell(build.GetDouble("seconds"), Style::kDuration, {}));
  if (packages && packages->is_array()) text += StrCat(", ", packages->as_array().size(), " packages");
  if (!build.GetString("archive").empty()) text += StrCat(", kept (", FormatBytes(static_cast<uint64_t>(build.GetInt("size"))), ")");
  return text;
}

// What is known of what was built for a key; null when nothing was.
Result<Json> BuildOf(Session& session, const std::string& key) {
  if (key.empty()) return Json();
  auto build = session.Get(ApiPath({"builds", key}));
  if (!build.ok() && build.error().code == Code::kNotFound) return Json();
  return build;
}

std::string Details(const Json& view, const model::Environment& definition, const Json& build) {
  std::string out;
  AddLine(out, "environment", OneLine(view.GetString("name")));
  AddLine(out, "version", view.GetString("version"));
  AddLine(out, "note", OneLine(view.GetString("note")));
  AddLine(out, "description", OneLine(view.GetString("description")));
  if (const Json* created = view.Find("created"); created && created->is_string()) AddLine(out, "created", RenderCell(*created, Style::kTime, Now()));
  AddLine(out, "user", view.GetString("user"));
  if (definition.user_managed) AddLine(out, "interpreter", OneLine(definition.interpreter.empty() ? "python" : definition.interpreter));
  AddLine(out, "channels", OneLine(Join(definition.conda.channels, ", ")));
  AddLine(out, "conda", OneLine(Join(definition.conda.dependencies, ", ")));
  AddLine(out, "pip", OneLine(Join(definition.conda.pip, ", ")));
  if (definition.docker.enabled)
    AddLine(out, "image",
            OneLine(!definition.docker.base_image.empty()   ? definition.docker.base_image
                    : !definition.docker.dockerfile.empty() ? "by its Dockerfile"
                                                            : "by its build context"));
  std::vector<std::string> variables;
  for (const auto& [name, value] : definition.variables) variables.push_back(StrCat(name, "=", value));
  AddLine(out, "variables", OneLine(Join(variables, ", ")));
  AddLine(out, "hash", view.GetString("hash"));
  AddLine(out, "key", view.GetString("key"));
  AddLine(out, "built", build.is_null() ? (view.GetString("key").empty() ? "nothing has to be" : "not yet") : BuildText(build));
  return out;
}

// One side of a difference.
struct Side {
  model::Environment definition;
  std::optional<model::Lock> lock;
};

Result<Side> SideOf(Session& session, const std::string& workspace, const std::string& what) {
  Side side;
  Json definition, lock;
  auto reference = model::ParseEnvironmentReference(what, "A");
  auto view = reference.ok() ? session.Get(PathOf(*reference, workspace)) : Result<Json>(reference.error());
  if (view.ok()) {
    if (const Json* found = view->Find("definition")) definition = *found;
    TRY(Json build, BuildOf(session, view->GetString("key")));
    if (const Json* found = build.Find("lock")) lock = *found;
  } else {
    if (view.error().code != Code::kNotFound && view.error().code != Code::kInvalid) return view.error();
    auto run = session.Get(ApiPath({"runs", what}));
    if (!run.ok() && run.error().code == Code::kNotFound)
      return MakeError(Code::kNotFound, "environment.not_found", StrCat("'", what, "' is neither an environment (NAME or NAME@VERSION) nor a run"), "A");
    if (!run.ok()) return run.error();
    const Json* environment = run->Find("environment");
    if (!environment) return MakeError(Code::kNotFound, "environment.none", StrCat("run '", what, "' asked for no environment"), "A");
    if (const Json* found = environment->Find("definition")) definition = *found;
    auto kept = session.Get(ApiPath({"runs", what, "lock"}));
    if (kept.ok())
      lock = *kept;
    else if (kept.error().code != Code::kNotFound)
      return kept.error();
  }
  TRY(side.definition, model::EnvironmentFromJson(definition));
  if (!lock.is_null()) {
    TRY(side.lock, model::LockFromJson(lock));
  }
  return side;
}

}  // namespace

Result<int> ScaffoldEnvironment(Context& context) {
  const std::string name = context.arguments.Get("name");
  TRY_VOID(model::CheckEnvironmentName(name, "--name"));
  TRY(auto files, WriteEnvironmentFolder(context.arguments.Get("directory"), ScaffoldedEnvironment(name), context.arguments.Has("overwrite")));
  return Say(context, Json::MakeObject({{"name", name}, {"files", files}}), Join(files, "\n"));
}

Result<int> RegisterEnvironment(Context& context) {
  std::vector<std::string> warnings;
  const std::string folder = context.arguments.Get("directory");
  TRY(Json definition, ReadEnvironmentFolder(folder, warnings));
  for (const std::string& warning : warnings) context.Note(warning);
  std::string name = context.arguments.Get("name");
  if (name.empty()) name = definition.GetString("name");
  if (name.empty())
    return MakeError(Code::kInvalid, "environment.name", StrCat("azureml_environment.json in ", folder, " has no name; give one there or with -n"), "--name");
  TRY_VOID(model::CheckEnvironmentName(name, "--name"));
  TRY(std::string workspace, context.Workspace());
  TRY(auto tags, KeyValues(context.arguments.All("tag"), "--tag", true));
  Json request = Json::MakeObject({{"definition", std::move(definition)}});
  request.SetIf("description", context.arguments.Get("description"));
  if (!tags.empty()) request.Set("tags", tags);
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("PUT", ApiPath({"environments", name}) + QueryText({{"workspace", workspace}}), request));
  return Say(context, answer, StrCat(name, " version ", answer.GetString("version"), answer.GetBool("created") ? "" : " (unchanged)"));
}

Result<int> DownloadEnvironment(Context& context) {
  TRY(auto reference, ReferenceOf(context));
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json view, session->Get(PathOf(reference, workspace)));
  TRY(model::Environment environment, model::EnvironmentFromJson(view.Find("definition") ? *view.Find("definition") : Json()));
  TRY(auto files, WriteEnvironmentFolder(context.arguments.Get("directory"), environment, context.arguments.Has("overwrite")));
  if (std::string note = view.GetString("note"); !note.empty()) context.Note(note);
  return Say(context, Json::MakeObject({{"name", view.GetString("name")}, {"version", view.GetString("version")}, {"files", files}}), Join(files, "\n"));
}

Result<int> ListEnvironments(Context& context) {
  static const Columns columns = {{"ENVIRONMENT", "name", Style::kPlain, Align::kLeft, true},
                                  {"VERSION", "version", Style::kPlain, Align::kRight},
                                  {"CREATED", "created", Style::kAgo},
                                  {"STANDS FOR", "alias_of"},
                                  {"DESCRIPTION", "description"}};
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  const bool curated = context.arguments.Has("curated");
  TRY(Json all, session->GetAll(ApiPath({"environments"}), {{"workspace", workspace}, {"curated", curated ? "true" : ""}}, "environments"));
  // Azure's names that stand for another are for those who ask.
  Json rows = Json::MakeArray();
  for (Json& one : all.as_array())
    if (curated || one.GetString("alias_of").empty()) rows.Push(std::move(one));
  Columns shown = columns;
  if (!curated) std::erase_if(shown, [](const Column& column) { return column.path == "alias_of"; });
  return context.Show(rows, &shown);
}

Result<int> ShowEnvironment(Context& context) {
  TRY(auto reference, ReferenceOf(context));
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json view, session->Get(PathOf(reference, workspace)));
  if (!context.ForPeople()) return context.Show(view);
  TRY(model::Environment definition, model::EnvironmentFromJson(view.Find("definition") ? *view.Find("definition") : Json()));
  TRY(Json build, BuildOf(*session, view.GetString("key")));
  return context.Tell(view, Details(view, definition, build));
}

Result<int> BuildEnvironment(Context& context) {
  TRY(auto reference, ReferenceOf(context));
  TRY(std::string workspace, context.Workspace());
  std::string name = reference.version ? StrCat(reference.name, "@", reference.version) : reference.name;
  std::string id = StrCat("environment-build_", Now().micros / 1'000'000, "_", RandomHex(4));
  Json request = Json::MakeObject({{"id", id},
                                   {"workspace", workspace},
                                   {"experiment", "environment-build"},
                                   {"name", StrCat("build ", name)},
                                   {"environment_name", name},
                                   {"command", std::vector<std::string>{"true"}}});
  TRY(Session * session, context.Server());
  Interrupt interrupt;
  session->set_stop(interrupt.token());
  TRY(Json answer, session->Send("POST", "/api/v1/runs", request));
  context.Note(StrCat("run ", id));
  return Follow(context, *session, id, interrupt, true);
}

Result<int> DeleteEnvironment(Context& context) {
  TRY(auto reference, ReferenceOf(context));
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  std::string version = context.arguments.Get("version");
  if (version.empty() && reference.version) version = std::to_string(reference.version);
  TRY(Json answer, session->Send("DELETE", ApiPath({"environments", reference.name}) + QueryText({{"workspace", workspace}, {"version", version}})));
  std::vector<std::string> versions = answer.GetStrings("versions");
  return Say(context, answer, StrCat("deleted ", reference.name, versions.size() == 1 ? " version " : " versions ", Join(versions, ", ")));
}

Result<int> DiffEnvironments(Context& context) {
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  const std::string a = context.arguments.Get("A"), b = context.arguments.Get("B");
  TRY(Side before, SideOf(*session, workspace, a));
  TRY(Side after, SideOf(*session, workspace, b));
  std::vector<std::string> definition = model::Difference(before.definition, after.definition), lock;
  const bool locks = before.lock && after.lock;
  if (locks) lock = model::Difference(*before.lock, *after.lock);
  Json result = Json::MakeObject({{"definition", definition}, {"lock", locks ? Json(lock) : Json()}});
  std::string text;
  auto print = [&](std::string_view title, const std::vector<std::string>& lines) {
    if (!lines.empty()) text += StrCat(title, "\n");
    for (const std::string& line : lines) text += StrCat("  ", OneLine(line), "\n");
  };
  print("definition", definition);
  print("built", lock);
  if (definition.empty() && lock.empty()) text = "no difference\n";
  TRY(int told, context.Tell(result, text));
  if (!context.ForPeople()) return told;
  for (const auto& [side, name] : {std::pair(&before, &a), std::pair(&after, &b)})
    if (!side->lock) context.Note(StrCat("what '", *name, "' was built to is not known: only definitions are compared"));
  return told;
}

Result<int> PruneEnvironments(Context& context) {
  const Arguments& given = context.arguments;
  if (!given.Has("older-than") && !given.Has("keep-bytes"))
    return MakeError(Code::kInvalid, "args.missing", "environment prune needs a rule: --older-than DAYS or --keep-bytes N", "environment prune");
  Json request = Json::MakeObject();
  if (given.Has("older-than")) request.Set("older_than_days", given.Number("older-than"));
  if (given.Has("keep-bytes")) request.Set("keep_bytes", given.Number("keep-bytes"));
  if (given.Has("dry-run")) request.Set("dry_run", true);
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("POST", "/api/v1/builds/prune", request));
  static const Columns columns = {
      {"KEY", "key", Style::kPlain, Align::kLeft, true}, {"KIND", "kind"}, {"USED", "used", Style::kAgo}, {"SIZE", "size", Style::kBytes, Align::kRight}};
  const Json* pruned = answer.Find("pruned");
  Json rows = pruned && pruned->is_array() ? *pruned : Json::MakeArray();
  TRY(int status, context.Show(answer, &columns, &rows));
  if (context.ForPeople()) context.Note(StrCat(given.Has("dry-run") ? "would free " : "freed ", FormatBytes(static_cast<uint64_t>(answer.GetInt("bytes")))));
  return status;
}

}  // namespace ferry::cli
