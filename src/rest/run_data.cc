// Data inputs and outputs of a submission: everything that can be known before a node has it.
#include "base/text.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

Result<std::string> DefaultDatastore(const Parts& parts, const std::string& workspace) {
  TRY(auto document, parts.store.Get("workspace", workspace));
  if (!document) return std::string(model::kDefaultDatastore);
  TRY(Json json, ParseJson(document->body, "a workspace in the store"));
  return json.GetString("default_datastore", model::kDefaultDatastore);
}

Result<void> CheckArguments(const model::RunSpec& spec) {
  std::map<std::string, std::string> names;
  for (const auto& [name, input] : spec.data) names[name] = "";
  for (const auto& [name, output] : spec.outputs) names[name] = "";
  auto check = [&](const std::string& text, const std::string& field) -> Result<void> {
    std::string unknown = model::UnknownData(text, names);
    if (unknown.empty()) return {};
    return MakeError(Code::kInvalid, "data.unknown", StrCat(field, " has '", unknown.substr(0, 300), "', but the run has no data of that name"), field);
  };
  for (size_t i = 0; i < spec.arguments.size(); ++i) TRY_VOID(check(spec.arguments[i], StrCat("arguments[", i, "]")));
  for (size_t i = 0; i < spec.command.size(); ++i) TRY_VOID(check(spec.command[i], StrCat("command[", i, "]")));
  for (const auto& [name, value] : spec.environment) TRY_VOID(check(value, StrCat("environment.", name)));
  return {};
}

}  // namespace

Result<void> SetData(const Parts& parts, const Json& body, model::Run& run) {
  model::RunSpec& spec = run.spec;
  const Json* data = body.Find("data");
  const Json* outputs = body.Find("outputs");
  if (data || outputs) {
    TRY(std::string other, DefaultDatastore(parts, run.workspace));
    TRY(spec.data, model::DataInputsFromJson(data ? *data : Json(), other));
    TRY(spec.outputs, model::DataOutputsFromJson(outputs ? *outputs : Json(), other));
  }
  for (const auto& [name, input] : spec.data) {
    std::string last;
    for (size_t i = 0; i < input.paths.size(); ++i) {
      const std::string& datastore = input.paths[i].datastore;
      if (datastore.empty() || datastore == last) continue;
      TRY(model::Datastore found, FindDatastore(parts, run.workspace, datastore, StrCat("data.", name, ".paths[", i, "].datastore")));
      last = datastore;
    }
    if (input.paths.empty() && input.mode != model::DataMode::kDirect)
      return MakeError(Code::kInvalid, "data.no_path", StrCat("data.", name, ".paths is empty; expected at least one path of a datastore, or url"),
                       StrCat("data.", name, ".paths"));
  }
  for (const auto& [name, output] : spec.outputs) {
    std::string field = StrCat("outputs.", name);
    if (spec.data.count(name))
      return MakeError(Code::kInvalid, "data.name", StrCat(field, ": data has an input of the same name; the script could not tell them apart"), field);
    TRY(model::Datastore datastore, FindDatastore(parts, run.workspace, output.datastore, field + ".datastore"));
    if (datastore.kind == model::DatastoreKind::kArtifacts)
      return MakeError(Code::kInvalid, "datastore.read_only",
                       StrCat(field, ".datastore is '", datastore.name, "', which shows what runs produced and cannot be written to; choose another"),
                       field + ".datastore");
    TRY_VOID(data::CheckFilePath(model::FilledPath(output, name, run.id), field + ".path"));
  }
  return CheckArguments(spec);
}

}  // namespace ferry::rest
