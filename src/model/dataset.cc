#include "model/dataset.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "model/datastore.h"
#include "model/registry.h"

namespace ferry::model {
namespace {

constexpr size_t kLongestDefinition = 256u << 10;
constexpr size_t kMostPaths = 10'000;
constexpr size_t kLongestPath = 1024;
constexpr size_t kLongestUrl = 8192;

Json Sorted(const Json& json) {
  if (json.is_array()) {
    Json out = Json::MakeArray();
    for (const Json& item : json.as_array()) out.Push(Sorted(item));
    return out;
  }
  if (!json.is_object()) return json;
  Json::Object members;
  for (const auto& [key, value] : json.as_object()) members.emplace_back(key, Sorted(value));
  std::sort(members.begin(), members.end(), [](const Json::Member& a, const Json::Member& b) { return a.first < b.first; });
  return Json(std::move(members));
}

// 8-4-4-4-12, marked as a version 8 (of our own making) of RFC 9562.
std::string UuidOf(std::string_view text) {
  std::string hex = HashBytes(text).Hex().substr(0, 32);
  hex[12] = '8';
  hex[16] = "89ab"[hex[16] % 4];
  for (size_t at : {8, 13, 18, 23}) hex.insert(at, 1, '-');
  return hex;
}

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

// "" is the whole datastore, "a/b/" a folder, and any part may be a pattern.
bool IsInside(std::string_view path) {
  if (path.empty()) return true;
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.size() > kLongestPath || HasControl(path)) return false;
  for (std::string_view part : Split(path, '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return true;
}

bool IsUrl(std::string_view url) {
  std::string_view rest;
  if (url.starts_with("http://")) rest = url.substr(7);
  if (url.starts_with("https://")) rest = url.substr(8);
  return !rest.empty() && rest[0] != '/' && rest[0] != '?' && url.size() <= kLongestUrl && !HasControl(url) && url.find(' ') == std::string_view::npos;
}

}  // namespace

Json ToJson(const Dataset& dataset) {
  Json json = Json::MakeObject({{"workspace", dataset.workspace},
                                {"id", dataset.id},
                                {"type", dataset.type},
                                {"definition", dataset.definition},
                                {"hash", dataset.hash},
                                {"created", dataset.created.micros},
                                {"modified", dataset.modified.micros}});
  json.SetIf("name", dataset.name).SetIf("description", dataset.description).SetIf("user", dataset.user).SetIf("deprecated_by", dataset.deprecated_by);
  if (dataset.version) json.Set("version", dataset.version);
  if (dataset.latest) json.Set("latest", true);
  if (dataset.archived) json.Set("archived", true);
  if (!dataset.tags.empty()) json.Set("tags", dataset.tags);
  return json;
}

Dataset DatasetFromJson(const Json& json) {
  Dataset dataset;
  dataset.workspace = json.GetString("workspace");
  dataset.id = json.GetString("id");
  dataset.name = json.GetString("name");
  dataset.version = json.GetInt("version");
  dataset.latest = json.GetBool("latest");
  dataset.type = json.GetString("type");
  if (const Json* definition = json.Find("definition")) dataset.definition = *definition;
  dataset.hash = json.GetString("hash");
  dataset.description = json.GetString("description");
  dataset.tags = json.GetStringMap("tags");
  dataset.user = json.GetString("user");
  dataset.created = Time{json.GetInt("created")};
  dataset.modified = Time{json.GetInt("modified")};
  dataset.archived = json.GetBool("archived");
  dataset.deprecated_by = json.GetString("deprecated_by");
  return dataset;
}

Json DatasetView(const Dataset& dataset) {
  return Json::MakeObject({{"id", dataset.id},
                           {"name", dataset.name},
                           {"version", dataset.version ? Json(dataset.version) : Json()},
                           {"workspace", dataset.workspace},
                           {"type", dataset.type},
                           {"definition", dataset.definition},
                           {"description", dataset.description},
                           {"tags", dataset.tags},
                           {"user", dataset.user},
                           {"created", FormatTime(dataset.created)},
                           {"modified", FormatTime(dataset.modified)},
                           {"archived", dataset.archived},
                           {"deprecated_by", dataset.deprecated_by.empty() ? Json() : Json(dataset.deprecated_by)}});
}

std::string DatasetHash(std::string_view type, const Json& definition) { return HashBytes(StrCat(type, "\n", Sorted(definition).Dump())).Hex(); }

std::string DatasetId(std::string_view workspace, std::string_view hash) { return UuidOf(StrCat("dataset/", workspace, "/", hash)); }
std::string DatasetId(std::string_view workspace, std::string_view name, int64_t version) {
  return UuidOf(StrCat("dataset/", workspace, "/", name, "/", version));
}

bool IsDatasetId(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

Result<void> CheckDatasetName(std::string_view name) { return CheckSpacedName("dataset", name, 255, "name"); }

Result<std::map<std::string, std::string>> CheckDatasetDefinition(const Json& definition) {
  auto fail = [](std::string_view field, std::string_view what) {
    return MakeError(Code::kInvalid, "dataset.definition", StrCat(field, " ", what), std::string(field));
  };
  if (!definition.is_object()) return fail("definition", StrCat("must be an object, not ", definition.TypeName()));
  for (const auto& [key, value] : definition.as_object())
    if (key != "paths" && key != "read" && key != "steps")
      return fail(StrCat("definition.", key.substr(0, 80)), "is not a field of a definition; expected paths, read or steps");
  if (const Json* read = definition.Find("read"); read && !read->is_object() && !read->is_null())
    return fail("definition.read", StrCat("must be an object, not ", read->TypeName()));
  if (const Json* steps = definition.Find("steps"); steps && !steps->is_array() && !steps->is_null())
    return fail("definition.steps", StrCat("must be a list, not ", steps->TypeName()));
  if (definition.Dump().size() > kLongestDefinition) return MakeError(Code::kTooLarge, "dataset.too_large", "definition has at most 256 KB", "definition");
  const Json* paths = definition.Find("paths");
  if (!paths || !paths->is_array() || paths->as_array().empty() || paths->as_array().size() > kMostPaths)
    return fail("definition.paths", StrCat("must be a list of 1 to 10,000 paths, each {\"datastore\", \"path\"} or {\"url\"}"));
  std::map<std::string, std::string> datastores;
  for (size_t i = 0; i < paths->as_array().size(); ++i) {
    const Json& path = paths->as_array()[i];
    std::string at = StrCat("definition.paths[", i, "]");
    if (!path.is_object()) return fail(at, StrCat("must be {\"datastore\", \"path\"} or {\"url\"}, not ", path.TypeName()));
    for (const auto& [key, value] : path.as_object()) {
      std::string field = StrCat(at, ".", key.substr(0, 80));
      if (key != "datastore" && key != "path" && key != "url") return fail(field, "is not a field of a path; expected datastore and path, or url");
      if (!value.is_string()) return fail(field, StrCat("must be a text, not ", value.TypeName()));
    }
    const Json* store = path.Find("datastore");
    if (const Json* url = path.Find("url")) {
      if (path.as_object().size() != 1) return fail(at, "has a url and more; expected either datastore and path, or url");
      if (!IsUrl(url->as_string()))
        return fail(StrCat(at, ".url"), StrCat("is '", url->as_string().substr(0, 200), "'; expected http:// or https://, at most ", kLongestUrl, " bytes"));
      continue;
    }
    if (!store) return fail(at, "names no datastore; expected {\"datastore\", \"path\"} or {\"url\"}");
    TRY_VOID(CheckDatastoreName(store->as_string(), StrCat(at, ".datastore")));
    if (std::string inside = path.GetString("path"); !IsInside(inside))
      return fail(StrCat(at, ".path"),
                  StrCat("is '", inside.substr(0, 200), "'; expected a path inside the datastore, without '..' or a slash at its beginning"));
    datastores.try_emplace(store->as_string(), StrCat(at, ".datastore"));
  }
  return datastores;
}

}  // namespace ferry::model
