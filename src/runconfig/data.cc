// The data sections as the fields of a submission: dataReferences, data and outputData.
#include "base/text.h"
#include "runconfig/config.h"

namespace ferry::runconfig {
namespace {

// A member by its name in any case.
const Json* Member(const Json& json, std::string_view name) {
  if (!json.is_object()) return nullptr;
  for (const auto& [key, value] : json.as_object())
    if (ToLower(key) == ToLower(name) && !value.is_null()) return &value;
  return nullptr;
}

std::string TextOf(const Json& json, std::string_view name) {
  const Json* value = Member(json, name);
  return value && value->is_string() ? value->as_string() : std::string();
}

struct Location {
  std::string dataset, datastore, path, uri;
};

Location LocationOf(const Json& json) {
  Location out;
  out.uri = TextOf(json, "uri");
  if (const Json* dataset = Member(json, "dataset")) out.dataset = dataset->is_string() ? dataset->as_string() : TextOf(*dataset, "id");
  if (const Json* path = Member(json, "dataPath")) {
    out.datastore = TextOf(*path, "datastoreName");
    out.path = TextOf(*path, "relativePath");
  }
  return out;
}

Json PathJson(const Location& location) {
  Json json = Json::MakeObject();
  if (!location.uri.empty()) return json.Set("url", location.uri);
  return json.SetIf("datastore", location.datastore).Set("path", location.path);
}

}  // namespace

bool NamesData(const Json& location) {
  Location found = LocationOf(location);
  return !found.dataset.empty() || !found.uri.empty() || Member(location, "dataPath");
}

DataFields DataOf(const RunConfig& config) {
  DataFields out{Json::MakeObject(), Json::MakeObject()};
  for (const auto& [name, reference] : config.data_references) {
    Json one = Json::MakeObject();
    if (reference.mode == "Upload") {
      one.SetIf("datastore", reference.datastore).SetIf("path", reference.path_on_datastore);
    } else {
      one.Set("paths", Json(Json::Array{PathJson({{}, reference.datastore, reference.path_on_datastore, {}})}));
      one.Set("mode", ToLower(reference.mode));
    }
    one.SetIf("path_on_compute", reference.path_on_compute);
    if (reference.overwrite) one.Set("overwrite", true);
    (reference.mode == "Upload" ? out.outputs : out.inputs).Set(name, std::move(one));
  }
  for (const auto& [name, data] : config.data) {
    Location location = LocationOf(data.location);
    Json one = Json::MakeObject({{"mode", ToLower(data.mechanism)}});
    if (Member(data.location, "dataPath") || !location.uri.empty()) one.Set("paths", Json(Json::Array{PathJson(location)}));
    one.SetIf("dataset", location.dataset).SetIf("path_on_compute", data.path_on_compute).SetIf("environment_variable", data.variable);
    if (data.overwrite) one.Set("overwrite", true);
    out.inputs.Set(name, std::move(one));
  }
  if (config.output_data.is_object())
    for (const auto& [name, data] : config.output_data.as_object()) {
      Json one = Json::MakeObject();
      if (const Json* at = Member(data, "outputLocation")) {
        Location location = LocationOf(*at);
        one.SetIf("datastore", location.datastore).SetIf("path", location.path);
      }
      if (std::string mechanism = ToLower(TextOf(data, "mechanism")); !mechanism.empty()) one.Set("mode", mechanism);
      if (const Json* options = Member(data, "additionalOptions")) {
        one.SetIf("path_on_compute", TextOf(*options, "pathOnCompute"));
        if (const Json* registration = Member(*options, "registrationOptions"); registration && !TextOf(*registration, "name").empty()) {
          Json made = Json::MakeObject({{"name", TextOf(*registration, "name")}});
          made.SetIf("description", TextOf(*registration, "description"));
          if (const Json* tags = Member(*registration, "tags")) made.Set("tags", *tags);
          one.Set("register", std::move(made));
        }
        if (const Json* upload = Member(*options, "uploadOptions")) {
          if (const Json* overwrite = Member(*upload, "overwrite"); overwrite && overwrite->is_bool() && overwrite->as_bool()) one.Set("overwrite", true);
          const Json* globs = Member(*upload, "sourceGlobs");
          const Json* patterns = globs ? Member(*globs, "globPatterns") : nullptr;
          if (patterns && patterns->is_array() && !patterns->as_array().empty()) one.Set("globs", *patterns);
        }
      }
      out.outputs.Set(name, std::move(one));
    }
  return out;
}

}  // namespace ferry::runconfig
