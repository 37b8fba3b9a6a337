#include "model/data.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "base/utf8.h"

namespace ferry::model {
namespace {

constexpr const char* kModes[] = {"mount", "download", "direct", "upload"};
constexpr const char* kOutputDefault = "dataset/{run-id}/{output-name}";
constexpr size_t kMostNames = 100;
constexpr size_t kMostPaths = 10'000;

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

Result<void> CheckKnown(const Json& json, const std::string& field, const std::vector<std::string>& known) {
  if (!json.is_object()) return MakeError(Code::kInvalid, "field.type", StrCat(field, " must be an object, not ", json.TypeName()), field);
  for (const auto& [key, value] : json.as_object())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      auto close = ClosestWord(key, known);
      std::string at = StrCat(field, ".", key.substr(0, 80));
      return MakeError(Code::kInvalid, "field.unknown",
                       StrCat(at, " is not known", close ? StrCat("; did you mean '", *close, "'?") : StrCat("; expected one of ", Join(known, ", "))), at);
    }
  return {};
}

Result<std::string> Text(const Json& json, const std::string& field, std::string_view key, size_t most = 4096) {
  const Json* value = json.Find(key);
  std::string at = StrCat(field, ".", key);
  if (!value || value->is_null()) return std::string();
  if (!value->is_string()) return MakeError(Code::kInvalid, "field.type", StrCat(at, " must be a text, not ", value->TypeName()), at);
  if (value->as_string().size() > most) return MakeError(Code::kTooLarge, "field.too_long", StrCat(at, " is longer than ", most, " bytes"), at);
  return value->as_string();
}

Result<bool> Flag(const Json& json, const std::string& field, std::string_view key) {
  const Json* value = json.Find(key);
  std::string at = StrCat(field, ".", key);
  if (!value || value->is_null()) return false;
  if (!value->is_bool()) return MakeError(Code::kInvalid, "field.type", StrCat(at, " must be true or false, not ", value->TypeName()), at);
  return value->as_bool();
}

// Relative, no part empty, "." or "..", nothing that cannot be written. A "./" in front and slashes at the ends go.
Result<std::string> Inside(std::string path, const std::string& field) {
  while (path.starts_with("./") || path.starts_with('/')) path.erase(0, path[0] == '/' ? 1 : 2);
  while (path.ends_with('/')) path.pop_back();
  if (path == ".") path.clear();
  auto fail = [&](std::string_view why) {
    return MakeError(Code::kInvalid, "data.path", StrCat(field, " is '", path.substr(0, 200), "', which ", why, "; expected a path with '/' and without '..'"),
                     field);
  };
  if (path.size() > 1024) return fail("is too long");
  if (!IsUtf8(path)) return fail("is not UTF-8");
  for (unsigned char c : path)
    if (c < 0x20 || c == 0x7F) return fail("has a control character");
  if (!path.empty())
    for (std::string_view part : Split(path, '/')) {
      if (part.empty()) return fail("has an empty part");
      if (part == "." || part == "..") return fail(StrCat("has '", part, "' in it"));
    }
  return path;
}

// A place on the node: below the working folder, or below /tmp.
Result<std::string> OnCompute(const Json& json, const std::string& field) {
  TRY(std::string path, Text(json, field, "path_on_compute", 1024));
  if (path.empty()) return path;
  std::string at = StrCat(field, ".path_on_compute");
  bool absolute = path.starts_with('/');
  TRY(std::string inside, Inside(path, at));
  if (absolute && !inside.starts_with("tmp/"))
    return MakeError(Code::kInvalid, "data.path_on_compute",
                     StrCat(at, " is '", path.substr(0, 200), "'; expected a path relative to the working folder, or one below /tmp"), at);
  if (inside.empty()) return MakeError(Code::kInvalid, "data.path_on_compute", StrCat(at, " is the working folder itself; expected a folder of its own"), at);
  return absolute ? "/" + inside : inside;
}

Result<DataMode> Mode(const Json& json, const std::string& field, std::initializer_list<DataMode> possible) {
  TRY(std::string text, Text(json, field, "mode"));
  if (text.empty()) return *possible.begin();
  std::string names;
  for (DataMode mode : possible) {
    if (ToLower(text) == DataModeName(mode)) return mode;
    names += StrCat(names.empty() ? "" : ", ", DataModeName(mode));
  }
  std::string at = StrCat(field, ".mode");
  return MakeError(Code::kInvalid, "data.mode", StrCat(at, " is '", text.substr(0, 40), "'; expected one of ", names), at);
}

Result<DataPath> PathFromJson(const Json& json, const std::string& field, const std::string& default_datastore) {
  TRY_VOID(CheckKnown(json, field, {"datastore", "path", "url"}));
  DataPath path;
  TRY(path.url, Text(json, field, "url"));
  TRY(path.datastore, Text(json, field, "datastore", 255));
  TRY(std::string inside, Text(json, field, "path"));
  if (!path.url.empty()) {
    std::string at = StrCat(field, ".url");
    if (!path.datastore.empty() || !inside.empty())
      return MakeError(Code::kInvalid, "data.path", StrCat(at, " cannot be given with a datastore or a path"), at);
    bool web = path.url.starts_with("http://") || path.url.starts_with("https://");
    bool plain = std::all_of(path.url.begin(), path.url.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
    std::string_view host = std::string_view(path.url).substr(path.url.find("//") == std::string::npos ? 0 : path.url.find("//") + 2);
    host = host.substr(0, host.find_first_of("/?#"));
    if (!web || !plain || host.empty())
      return MakeError(Code::kInvalid, "data.url", StrCat(at, " is '", path.url.substr(0, 200), "'; expected an address that begins with http:// or https://"),
                       at);
    if (host.find('@') != std::string_view::npos)
      return MakeError(Code::kInvalid, "data.url", StrCat(at, " holds a user or a password; addresses are kept as they are: use a datastore"), at);
    return path;
  }
  if (path.datastore.empty()) path.datastore = default_datastore;
  TRY(path.path, Inside(inside, StrCat(field, ".path")));
  return path;
}

Result<DataInput> InputFromJson(const Json& json, const std::string& field, const std::string& default_datastore) {
  TRY_VOID(CheckKnown(json, field, {"paths", "mode", "path_on_compute", "environment_variable", "overwrite", "dataset"}));
  DataInput input;
  TRY(input.mode, Mode(json, field, {DataMode::kMount, DataMode::kDownload, DataMode::kDirect}));
  TRY(input.dataset, Text(json, field, "dataset", 255));
  TRY(input.path_on_compute, OnCompute(json, field));
  TRY(input.overwrite, Flag(json, field, "overwrite"));
  TRY(input.environment_variable, Text(json, field, "environment_variable", 255));
  const std::string& variable = input.environment_variable;
  if (variable.find_first_of(std::string_view("=\0", 2)) != std::string::npos)
    return MakeError(Code::kInvalid, "data.environment_variable", StrCat(field, ".environment_variable has '=' or a zero byte in it"),
                     StrCat(field, ".environment_variable"));
  std::string at = StrCat(field, ".paths");
  const Json* paths = json.Find("paths");
  if (paths && !paths->is_null()) {
    if (!paths->is_array()) return MakeError(Code::kInvalid, "field.type", StrCat(at, " must be a list, not ", paths->TypeName()), at);
    if (paths->as_array().size() > kMostPaths) return MakeError(Code::kTooLarge, "field.too_many", StrCat(at, " has more than ", kMostPaths, " entries"), at);
    for (size_t i = 0; i < paths->as_array().size(); ++i) {
      TRY(DataPath path, PathFromJson(paths->as_array()[i], StrCat(at, "[", i, "]"), default_datastore));
      input.paths.push_back(std::move(path));
    }
  }
  if (input.mode == DataMode::kDirect && input.dataset.empty())
    return MakeError(Code::kInvalid, "data.direct", StrCat(field, " has mode direct, which hands the script the id of a dataset, and names none"),
                     StrCat(field, ".dataset"));
  if (input.mode != DataMode::kDirect && input.paths.empty() && input.dataset.empty())
    return MakeError(Code::kInvalid, "data.no_path", StrCat(at, " is empty; expected at least one path of a datastore, or url"), at);
  return input;
}

Result<DataOutput> OutputFromJson(const Json& json, const std::string& field, const std::string& default_datastore) {
  TRY_VOID(CheckKnown(json, field, {"datastore", "path", "mode", "path_on_compute", "overwrite", "globs", "register"}));
  DataOutput output;
  TRY(output.mode, Mode(json, field, {DataMode::kUpload, DataMode::kMount}));
  TRY(output.datastore, Text(json, field, "datastore", 255));
  if (output.datastore.empty()) output.datastore = default_datastore;
  TRY(std::string path, Text(json, field, "path"));
  TRY(output.path, Inside(path, StrCat(field, ".path")));
  if (path.empty()) output.path = kOutputDefault;
  if (IsGlob(output.path))
    return MakeError(Code::kInvalid, "data.path", StrCat(field, ".path is '", output.path.substr(0, 200), "'; expected a folder, without '*' and '?'"),
                     StrCat(field, ".path"));
  TRY(output.path_on_compute, OnCompute(json, field));
  TRY(output.overwrite, Flag(json, field, "overwrite"));
  if (const Json* globs = json.Find("globs"); globs && !globs->is_null()) {
    std::string at = StrCat(field, ".globs");
    if (!globs->is_array()) return MakeError(Code::kInvalid, "field.type", StrCat(at, " must be a list, not ", globs->TypeName()), at);
    if (globs->as_array().size() > 1000) return MakeError(Code::kTooLarge, "field.too_many", StrCat(at, " has more than 1,000 entries"), at);
    for (size_t i = 0; i < globs->as_array().size(); ++i) {
      const Json& glob = globs->as_array()[i];
      std::string one = StrCat(at, "[", i, "]");
      if (!glob.is_string()) return MakeError(Code::kInvalid, "field.type", StrCat(one, " must be a text, not ", glob.TypeName()), one);
      TRY(std::string inside, Inside(glob.as_string(), one));
      output.globs.push_back(std::move(inside));
    }
  }
  if (const Json* registration = json.Find("register"); registration && !registration->is_null()) {
    std::string at = StrCat(field, ".register");
    TRY_VOID(CheckKnown(*registration, at, {"name", "description", "tags"}));
    DataRegistration made;
    TRY(made.name, Text(*registration, at, "name", 255));
    if (made.name.empty()) return MakeError(Code::kInvalid, "data.register", StrCat(at, ".name is empty; expected the name of a dataset"), StrCat(at, ".name"));
    TRY(made.description, Text(*registration, at, "description", 65536));
    made.tags = registration->GetStringMap("tags");
    if (made.tags.size() > 500) return MakeError(Code::kTooLarge, "field.too_many", StrCat(at, ".tags has more than 500 entries"), StrCat(at, ".tags"));
    output.registration = std::move(made);
  }
  return output;
}

template <typename T>
Result<std::map<std::string, T>> Named(const Json& json, const std::string& field, const std::string& default_datastore,
                                       Result<T> (*read)(const Json&, const std::string&, const std::string&)) {
  std::map<std::string, T> out;
  if (json.is_null()) return out;
  if (!json.is_object()) return MakeError(Code::kInvalid, "field.type", StrCat(field, " must be an object, not ", json.TypeName()), field);
  for (const auto& [name, value] : json.as_object()) {
    std::string at = StrCat(field, ".", name.substr(0, 80));
    if (name.empty() || name.size() > 255 || !std::all_of(name.begin(), name.end(), IsNameCharacter))
      return MakeError(Code::kInvalid, "data.name", StrCat(at, ": a name has 1 to 255 letters, digits, '_' and '-'"), at);
    TRY(T one, read(value, at, default_datastore));
    out.emplace(name, std::move(one));
  }
  if (out.size() > kMostNames) return MakeError(Code::kTooLarge, "field.too_many", StrCat(field, " has more than ", kMostNames, " entries"), field);
  return out;
}

// Calls `found` for each placeholder: where it begins and ends, its name, and whether a name that is not there is a mistake.
void EachPlaceholder(std::string_view text, const std::function<void(size_t begin, size_t end, std::string name, bool must)>& found) {
  constexpr std::string_view kWords[] = {"DatasetConsumptionConfig:", "DatasetOutputConfig:", "${AZUREML_DATAREFERENCE_", "$AZUREML_DATAREFERENCE_"};
  for (size_t at = 0; at < text.size();) {
    size_t next = at + 1;
    for (size_t i = 0; i < std::size(kWords); ++i) {
      if (text.compare(at, kWords[i].size(), kWords[i]) != 0) continue;
      size_t begin = at + kWords[i].size(), end = begin;
      while (end < text.size() && IsNameCharacter(text[end])) ++end;
      std::string name(text.substr(begin, end - begin));
      if (i == 2) {
        if (end >= text.size() || text[end] != '}') break;
        ++end;
      }
      found(at, end, std::move(name), i < 2);
      next = end;
      break;
    }
    at = next;
  }
}

}  // namespace

const char* DataModeName(DataMode mode) { return kModes[static_cast<int>(mode)]; }
bool IsDataHow(std::string_view how) { return how == "linked" || how == "downloaded" || how == "direct" || how == "uploaded"; }

Json ToJson(const DataInput& input) {
  Json json = Json::MakeObject({{"mode", DataModeName(input.mode)}});
  Json paths = Json::MakeArray();
  for (const DataPath& path : input.paths)
    paths.Push(path.url.empty() ? Json::MakeObject({{"datastore", path.datastore}, {"path", path.path}}) : Json::MakeObject({{"url", path.url}}));
  json.Set("paths", std::move(paths));
  json.SetIf("path_on_compute", input.path_on_compute).SetIf("environment_variable", input.environment_variable).SetIf("dataset", input.dataset);
  if (input.overwrite) json.Set("overwrite", true);
  return json;
}

Json ToJson(const DataOutput& output) {
  Json json = Json::MakeObject({{"datastore", output.datastore}, {"path", output.path}, {"mode", DataModeName(output.mode)}});
  json.SetIf("path_on_compute", output.path_on_compute);
  if (output.overwrite) json.Set("overwrite", true);
  if (!output.globs.empty()) json.Set("globs", output.globs);
  if (output.registration) {
    Json made = Json::MakeObject({{"name", output.registration->name}});
    made.SetIf("description", output.registration->description);
    if (!output.registration->tags.empty()) made.Set("tags", output.registration->tags);
    json.Set("register", std::move(made));
  }
  return json;
}

Json ToJson(const DataUse& use) {
  Json json = Json::MakeObject({{"name", use.name}, {"how", use.how}, {"files", use.files}, {"bytes", use.bytes}});
  return json.SetIf("path", use.path).SetIf("note", use.note);
}

DataUse DataUseFromJson(const Json& json) {
  return {json.GetString("name"), json.GetString("how"), json.GetString("path"), json.GetInt("files"), json.GetInt("bytes"), json.GetString("note")};
}

Json ToJson(const std::map<std::string, DataInput>& inputs) {
  Json json = Json::MakeObject();
  for (const auto& [name, input] : inputs) json.Add(name, ToJson(input));
  return json;
}

Json ToJson(const std::map<std::string, DataOutput>& outputs) {
  Json json = Json::MakeObject();
  for (const auto& [name, output] : outputs) json.Add(name, ToJson(output));
  return json;
}

Result<std::map<std::string, DataInput>> DataInputsFromJson(const Json& json, const std::string& default_datastore) {
  return Named<DataInput>(json, "data", default_datastore, InputFromJson);
}

Result<std::map<std::string, DataOutput>> DataOutputsFromJson(const Json& json, const std::string& default_datastore) {
  return Named<DataOutput>(json, "outputs", default_datastore, OutputFromJson);
}

bool IsGlob(std::string_view path) { return path.find_first_of("*?") != std::string_view::npos; }

namespace {

bool MatchesPart(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0, star = std::string_view::npos, back = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*') {
      ++g, ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      back = t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++back;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace

bool MatchesGlob(std::string_view glob, std::string_view path) {
  // The same walk as within a part, over parts: "**" stands for any number of them.
  auto globs = Split(glob, '/'), parts = Split(path, '/');
  size_t g = 0, p = 0, star = std::string_view::npos, back = 0;
  while (p < parts.size()) {
    if (g < globs.size() && globs[g] == "**") {
      star = g++;
      back = p;
    } else if (g < globs.size() && MatchesPart(globs[g], parts[p])) {
      ++g, ++p;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      p = ++back;
    } else {
      return false;
    }
  }
  while (g < globs.size() && globs[g] == "**") ++g;
  return g == globs.size();
}

std::string FolderOfGlob(std::string_view path) {
  size_t first = path.find_first_of("*?");
  if (first == std::string_view::npos) return std::string(path);
  size_t slash = path.rfind('/', first);
  return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

std::string CommonFolder(std::string_view a, std::string_view b) {
  auto left = Split(a, '/'), right = Split(b, '/');
  std::string out;
  for (size_t i = 0; i < std::min(left.size(), right.size()) && left[i] == right[i] && !left[i].empty(); ++i) out += StrCat(out.empty() ? "" : "/", left[i]);
  return out;
}

std::string FilledPath(const DataOutput& output, std::string_view name, std::string_view run) {
  std::string path = output.path;
  for (auto [word, value] : {std::pair<std::string_view, std::string_view>("{run-id}", run), {"{output-name}", name}})
    for (size_t at = 0; (at = path.find(word, at)) != std::string::npos; at += value.size()) path.replace(at, word.size(), value);
  return path;
}

std::string SubstituteData(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string out;
  size_t done = 0;
  EachPlaceholder(text, [&](size_t begin, size_t end, const std::string& name, bool) {
    auto it = values.find(name);
    if (it == values.end()) return;
    out += StrCat(text.substr(done, begin - done), it->second);
    done = end;
  });
  return out + std::string(text.substr(done));
}

std::string UnknownData(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string unknown;
  EachPlaceholder(text, [&](size_t begin, size_t end, const std::string& name, bool must) {
    if (must && unknown.empty() && !values.count(name)) unknown = text.substr(begin, end - begin);
  });
  return unknown;
}

}  // namespace ferry::model
