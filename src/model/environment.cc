#include "model/environment.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/text.h"

namespace ferry::model {
namespace {

constexpr size_t kMaxLines = 20'000;
constexpr size_t kMaxText = 4u << 20;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'; }

std::string Collapse(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (IsSpace(c) && (out.empty() || out.back() == ' ')) continue;
    out += IsSpace(c) ? ' ' : c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string WithoutSpaces(std::string_view text) {
  std::string out;
  for (char c : text)
    if (!IsSpace(c)) out += c;
  return out;
}

// "numpy >= 1.20" and "numpy>=1.20" are the same; between version and build string one space stays.
std::string NormalDependency(std::string_view text) {
  std::string flat = Collapse(text.substr(0, text.find('#')));
  std::string out;
  for (size_t i = 0; i < flat.size(); ++i) {
    auto is_operator = [&](size_t at) { return at < flat.size() && std::string_view("=<>!,|~").find(flat[at]) != std::string_view::npos; };
    if (flat[i] == ' ' && (is_operator(i + 1) || (i > 0 && is_operator(i - 1)))) continue;
    out += flat[i];
  }
  size_t name = 0;
  while (name < out.size() && (IsNameCharacter(out[name]) || out[name] == ':' || out[name] == '/')) ++name;
  return ToLower(out.substr(0, name)) + out.substr(name);
}

Json Sorted(std::vector<std::string> items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  return items;
}

Json CanonicalPython(const Environment& environment) {
  Json out = Json::MakeObject();
  if (!environment.lock.is_null()) {
    out.Set("lock", environment.lock);
    return out;
  }
  std::vector<std::string> dependencies, pip;
  for (const std::string& line : environment.conda.dependencies)
    if (std::string normal = NormalDependency(line); !normal.empty()) dependencies.push_back(std::move(normal));
  for (const std::string& line : environment.conda.pip)
    if (std::string normal = NormalRequirement(line); !normal.empty()) pip.push_back(std::move(normal));
  std::vector<std::string> channels;
  for (const std::string& channel : environment.conda.channels)
    if (std::find(channels.begin(), channels.end(), channel) == channels.end()) channels.push_back(channel);
  out.Set("channels", channels).Set("dependencies", Sorted(std::move(dependencies))).Set("pip", Sorted(std::move(pip)));
  return out;
}

Json CanonicalImage(const DockerSection& docker) {
  Json out = Json::MakeObject();
  out.SetIf("image", docker.base_image).SetIf("dockerfile", docker.dockerfile).SetIf("context", docker.context);
  if (!docker.context.empty()) out.Set("context_dockerfile", docker.context_dockerfile.empty() ? "Dockerfile" : docker.context_dockerfile);
  out.SetIf("registry", docker.registry_address);
  return out;
}

Error WrongType(const std::string& field, std::string_view expected, const Json& found) {
  return MakeError(Code::kInvalid, "field.type", StrCat(field, " must be ", expected, ", not ", found.TypeName()), field);
}

// Reads members of one section. The first wrong one is kept.
class Section {
 public:
  Section(const Json* json, std::string path) : json_(json && !json->is_null() ? json : nullptr), path_(std::move(path)) {
    if (json_ && !json_->is_object()) {
      Fail(WrongType(path_, "an object", *json_));
      json_ = nullptr;
    }
  }
  const Json* Member(std::string_view key) const {
    const Json* found = json_ ? json_->Find(key) : nullptr;
    return found && !found->is_null() ? found : nullptr;
  }
  std::string Path(std::string_view key) const { return path_.empty() ? std::string(key) : StrCat(path_, ".", key); }

  std::string Text(std::string_view key) {
    const Json* found = Member(key);
    if (!found) return {};
    if (found->is_number()) return found->Dump();
    if (!found->is_string()) {
      Fail(WrongType(Path(key), "a text", *found));
      return {};
    }
    if (found->as_string().size() > kMaxText) Fail(MakeError(Code::kTooLarge, "field.too_long", StrCat(Path(key), " is longer than 4 MB"), Path(key)));
    return found->as_string();
  }
  bool Bool(std::string_view key, bool other) {
    const Json* found = Member(key);
    if (!found) return other;
    if (!found->is_bool()) {
      Fail(WrongType(Path(key), "true or false", *found));
      return other;
    }
    return found->as_bool();
  }
  std::vector<std::string> Texts(std::string_view key) {
    std::vector<std::string> out;
    const Json* found = Member(key);
    if (!found) return out;
    if (found->is_string()) return {found->as_string()};
    if (!found->is_array()) {
      Fail(WrongType(Path(key), "a list of texts", *found));
      return out;
    }
    for (size_t i = 0; i < found->as_array().size(); ++i) Take(found->as_array()[i], StrCat(Path(key), "[", i, "]"), out);
    return out;
  }
  void Take(const Json& item, const std::string& field, std::vector<std::string>& out) {
    if (item.is_string() || item.is_number())
      out.push_back(item.is_string() ? item.as_string() : item.Dump());
    else
      Fail(WrongType(field, "a text", item));
    if (out.size() > kMaxLines) Fail(MakeError(Code::kTooLarge, "field.too_many", StrCat(field, ": more than ", kMaxLines, " entries"), field));
  }
  void Fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Json* json_;
  std::string path_;
  std::optional<Error> error_;
};

// Lines that end in a backslash go on in the next one.
std::vector<std::string> Joined(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  std::string open;
  auto take = [&] {
    std::string_view line = Trim(open);
    // What is read again reads the same.
    while (line.ends_with('\\') && !line.starts_with('#')) line = Trim(line.substr(0, line.size() - 1));
    if (!line.empty()) out.emplace_back(line);
    open.clear();
  };
  for (const std::string& text : texts)
    for (std::string_view line : Split(text, '\n')) {
      std::string_view trimmed = Trim(line);
      bool goes_on = !trimmed.empty() && trimmed.back() == '\\' && trimmed.front() != '#';
      if (goes_on) trimmed.remove_suffix(1);
      if (!open.empty()) open += ' ';
      open += trimmed;
      if (goes_on) continue;
      take();
    }
  take();
  return out;
}

std::map<std::string, const LockedPackage*> ByName(const Lock& lock) {
  std::map<std::string, const LockedPackage*> out;
  for (const LockedPackage& package : lock.packages) out[NormalPackageName(package.name)] = &package;
  return out;
}

}  // namespace

std::string NormalPackageName(std::string_view name) {
  std::string out;
  for (char c : ToLower(name)) {
    bool dash = c == '-' || c == '_' || c == '.';
    if (dash && !out.empty() && out.back() == '-') continue;
    out += dash ? '-' : c;
  }
  return out;
}

std::string NormalRequirement(std::string_view line) {
  std::string_view trimmed = Trim(line);
  if (trimmed.empty() || trimmed[0] == '#') return {};
  // A comment begins after white space, so that "#egg=" in an address is none.
  for (size_t i = 1; i < trimmed.size(); ++i)
    if (trimmed[i] == '#' && IsSpace(trimmed[i - 1])) {
      trimmed = Trim(trimmed.substr(0, i));
      break;
    }
  if (trimmed[0] == '-') return Collapse(trimmed);
  size_t end = 0;
  while (end < trimmed.size() && IsNameCharacter(trimmed[end])) ++end;
  std::string_view rest = trimmed.substr(end);
  if (end == 0 || rest.starts_with(":") || rest.starts_with("/")) return Collapse(trimmed);  // an address or a path
  std::string out = NormalPackageName(trimmed.substr(0, end));
  rest = Trim(rest);
  if (rest.starts_with("[")) {
    size_t close = rest.find(']');
    if (close == std::string_view::npos) return Collapse(trimmed);
    std::vector<std::string> extras;
    for (std::string_view extra : Split(rest.substr(1, close - 1), ',')) extras.push_back(NormalPackageName(Trim(extra)));
    std::sort(extras.begin(), extras.end());
    out += StrCat("[", Join(extras, ","), "]");
    rest = Trim(rest.substr(close + 1));
  }
  if (rest.starts_with("@")) return StrCat(out, " @ ", Collapse(rest.substr(1)));
  // The version up to a marker or an option, without spaces; those with single ones.
  size_t tail = std::min(rest.find(';'), rest.find(" -"));
  std::string version = WithoutSpaces(rest.substr(0, tail));
  if (version.starts_with("(") && version.ends_with(")")) version = version.substr(1, version.size() - 2);
  std::vector<std::string> clauses;
  for (std::string_view clause : Split(version, ',')) clauses.emplace_back(clause);
  std::sort(clauses.begin(), clauses.end());
  out += Join(clauses, ",");
  if (tail != std::string_view::npos) out += StrCat(rest[tail] == ';' ? "" : " ", Collapse(rest.substr(tail)));
  return out;
}

Json ToJson(const Environment& environment, bool with_password) {
  Json json = Json::MakeObject();
  json.SetIf("name", environment.name).SetIf("version", environment.version);
  Json python = Json::MakeObject({{"userManagedDependencies", environment.user_managed}});
  python.Set("interpreterPath", environment.interpreter.empty() ? "python" : environment.interpreter);
  if (!environment.conda.empty()) {
    Json dependencies = environment.conda.dependencies;
    if (!environment.conda.pip.empty()) dependencies.Push(Json::MakeObject({{"pip", environment.conda.pip}}));
    python.Set("condaDependencies", Json::MakeObject({{"channels", environment.conda.channels}, {"dependencies", std::move(dependencies)}}));
  }
  json.Set("python", std::move(python));
  const DockerSection& docker = environment.docker;
  if (docker != DockerSection{}) {
    Json section = Json::MakeObject({{"enabled", docker.enabled}});
    section.SetIf("baseImage", docker.base_image).SetIf("baseDockerfile", docker.dockerfile);
    if (!docker.context.empty())
      section.Set("buildContext", Json::MakeObject({{"snapshot", docker.context},
                                                    {"dockerfilePath", docker.context_dockerfile.empty() ? "Dockerfile" : docker.context_dockerfile}}));
    if (!docker.registry_address.empty() || !docker.registry_username.empty() || (with_password && !docker.registry_password.empty())) {
      Json registry = Json::MakeObject();
      registry.SetIf("address", docker.registry_address).SetIf("username", docker.registry_username);
      if (with_password) registry.SetIf("password", docker.registry_password);
      section.Set("baseImageRegistry", std::move(registry));
    }
    if (!docker.arguments.empty()) section.Set("arguments", docker.arguments);
    section.SetIf("shmSize", docker.shm_size);
    section.Set("sharedVolumes", docker.shared_volumes).Set("gpuSupport", docker.gpu);
    json.Set("docker", std::move(section));
  }
  if (!environment.variables.empty()) json.Set("environmentVariables", environment.variables);
  if (!environment.lock.is_null()) json.Set("lock", environment.lock);
  return json;
}

Result<Environment> EnvironmentFromJson(const Json& json) {
  Environment environment;
  Section top(&json, "");
  if (top.error()) return MakeError(Code::kInvalid, "field.type", StrCat("an environment must be an object, not ", json.TypeName()));
  environment.name = top.Text("name");
  environment.version = top.Text("version");
  Section python(top.Member("python"), "python");
  environment.user_managed = python.Bool("userManagedDependencies", false);
  environment.interpreter = python.Text("interpreterPath");
  if (environment.interpreter == "python") environment.interpreter.clear();
  Section conda(python.Member("condaDependencies"), "python.condaDependencies");
  environment.conda.channels = conda.Texts("channels");
  if (const Json* dependencies = conda.Member("dependencies")) {
    std::string path = conda.Path("dependencies");
    if (!dependencies->is_array()) conda.Fail(WrongType(path, "a list", *dependencies));
    for (size_t i = 0; dependencies->is_array() && i < dependencies->as_array().size() && !conda.error(); ++i) {
      const Json& item = dependencies->as_array()[i];
      std::string field = StrCat(path, "[", i, "]");
      if (!item.is_object()) {
        conda.Take(item, field, environment.conda.dependencies);
        continue;
      }
      Section section(&item, field);
      for (std::string& line : Joined(section.Texts("pip"))) environment.conda.pip.push_back(std::move(line));
      for (const auto& [key, value] : item.as_object())
        if (key != "pip")
          section.Fail(MakeError(Code::kInvalid, "environment.section", StrCat(field, " has a section '", key.substr(0, 80), "'; expected 'pip'"), field));
      if (section.error()) conda.Fail(*section.error());
    }
  }
  for (std::string& line : Joined(python.Texts("pipRequirements"))) environment.conda.pip.push_back(std::move(line));

  Section docker(top.Member("docker"), "docker");
  environment.docker.enabled = docker.Bool("enabled", false);
  environment.docker.base_image = docker.Text("baseImage");
  environment.docker.dockerfile = docker.Text("baseDockerfile");
  environment.docker.arguments = docker.Texts("arguments");
  environment.docker.shm_size = docker.Text("shmSize");
  environment.docker.shared_volumes = docker.Bool("sharedVolumes", true);
  environment.docker.gpu = docker.Bool("gpuSupport", false);
  Section context(docker.Member("buildContext"), "docker.buildContext");
  environment.docker.context = context.Text("snapshot");
  environment.docker.context_dockerfile = context.Text("dockerfilePath");
  if (environment.docker.context_dockerfile == "Dockerfile" || environment.docker.context.empty()) environment.docker.context_dockerfile.clear();
  Section registry(docker.Member("baseImageRegistry"), "docker.baseImageRegistry");
  environment.docker.registry_address = registry.Text("address");
  environment.docker.registry_username = registry.Text("username");
  environment.docker.registry_password = registry.Text("password");

  if (const Json* variables = top.Member("environmentVariables")) {
    if (!variables->is_object())
      top.Fail(WrongType("environmentVariables", "an object of texts", *variables));
    else {
      Section section(variables, "environmentVariables");
      for (const auto& [name, value] : variables->as_object()) {
        environment.variables[name] = value.is_bool() ? value.Dump() : section.Text(name);
        if (name.empty() || name.find('=') != std::string::npos)
          section.Fail(
              MakeError(Code::kInvalid, "environment.variable", StrCat("'", name.substr(0, 80), "' is no name of a variable"), "environmentVariables"));
      }
      if (section.error()) top.Fail(*section.error());
    }
  }
  if (const Json* lock = top.Member("lock")) {
    TRY(Lock parsed, LockFromJson(*lock));
    environment.lock = ToJson(parsed);
  }
  for (const Section* section : {&top, &python, &conda, &docker, &context, &registry})
    if (section->error()) return *section->error();
  const DockerSection& d = environment.docker;
  if (int(!d.base_image.empty()) + int(!d.dockerfile.empty()) + int(!d.context.empty()) > 1)
    return MakeError(Code::kInvalid, "environment.image", "only one of docker.baseImage, docker.baseDockerfile and docker.buildContext can be given", "docker");
  if (d.enabled && d.base_image.empty() && d.dockerfile.empty() && d.context.empty())
    return MakeError(Code::kInvalid, "environment.image",
                     "docker.enabled is true, but there is no docker.baseImage, docker.baseDockerfile or docker.buildContext", "docker.baseImage");
  return environment;
}

Json Canonical(const Environment& environment) {
  Json out = Json::MakeObject();
  if (environment.user_managed)
    out.Set("interpreter", environment.interpreter.empty() ? "python" : environment.interpreter);
  else
    out.Set("python", CanonicalPython(environment));
  if (environment.docker.enabled) {
    Json image = CanonicalImage(environment.docker);
    image.Set("arguments", environment.docker.arguments).SetIf("shm_size", environment.docker.shm_size);
    image.Set("shared_volumes", environment.docker.shared_volumes).Set("gpu", environment.docker.gpu);
    out.Set("docker", std::move(image));
  }
  if (!environment.variables.empty()) out.Set("variables", environment.variables);
  return out;
}

std::string DefinitionHash(const Environment& environment) { return HashBytes(Canonical(environment).Dump()).Hex(); }

std::string BuildKey(const Environment& environment) {
  if (environment.user_managed && !environment.docker.enabled) return {};
  Json built = Json::MakeObject();
  if (!environment.user_managed) built.Set("python", CanonicalPython(environment));
  if (environment.docker.enabled) built.Set("docker", CanonicalImage(environment.docker));
  return HashBytes(built.Dump()).Hex();
}

Json ToJson(const Lock& lock) {
  Json packages = Json::MakeArray();
  for (const LockedPackage& package : lock.packages) {
    Json one = Json::MakeObject({{"name", package.name}, {"version", package.version}, {"source", package.source}});
    one.SetIf("build", package.build).SetIf("channel", package.channel).SetIf("url", package.url).SetIf("sha256", package.sha256);
    packages.Push(std::move(one));
  }
  Json json = Json::MakeObject({{"kind", lock.kind}, {"python", lock.python}, {"platform", lock.platform}});
  json.SetIf("image", lock.image).Set("packages", std::move(packages));
  if (!lock.notes.empty()) json.Set("notes", lock.notes);
  return json;
}

Result<Lock> LockFromJson(const Json& json) {
  if (!json.is_object()) return MakeError(Code::kInvalid, "lock.invalid", StrCat("a lock must be an object, not ", json.TypeName()), "lock");
  Lock lock;
  lock.kind = json.GetString("kind");
  if (lock.kind != "existing" && lock.kind != "venv" && lock.kind != "conda" && lock.kind != "image")
    return MakeError(Code::kInvalid, "lock.invalid", StrCat("lock.kind is '", lock.kind.substr(0, 40), "'; expected existing, venv, conda or image"),
                     "lock.kind");
  lock.python = json.GetString("python");
  lock.platform = json.GetString("platform", "linux-64");
  lock.image = json.GetString("image");
  lock.notes = json.GetStrings("notes");
  const Json* packages = json.Find("packages");
  if (packages && !packages->is_array()) return MakeError(Code::kInvalid, "lock.invalid", "lock.packages must be a list", "lock.packages");
  if (packages)
    for (const Json& one : packages->as_array()) {
      LockedPackage package{one.GetString("name"),    one.GetString("version"), one.GetString("source"), one.GetString("build"),
                            one.GetString("channel"), one.GetString("url"),     one.GetString("sha256")};
      if (package.name.empty()) return MakeError(Code::kInvalid, "lock.invalid", "a package of the lock has no name", "lock.packages");
      lock.packages.push_back(std::move(package));
    }
  return lock;
}

std::vector<std::string> Difference(const Lock& before, const Lock& after) {
  std::vector<std::string> out;
  auto say = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) out.push_back(StrCat(what, " ", a.empty() ? "none" : a, " -> ", b.empty() ? "none" : b));
  };
  say("kind", before.kind, after.kind);
  say("python", before.python, after.python);
  say("platform", before.platform, after.platform);
  say("image", before.image, after.image);
  auto old_packages = ByName(before), new_packages = ByName(after);
  std::set<std::string> names;
  for (const auto& [name, package] : old_packages) names.insert(name);
  for (const auto& [name, package] : new_packages) names.insert(name);
  auto told = [](const LockedPackage& package) { return package.build.empty() ? package.version : StrCat(package.version, " ", package.build); };
  for (const std::string& name : names) {
    auto a = old_packages.find(name), b = new_packages.find(name);
    if (a == old_packages.end())
      out.push_back(StrCat("+ ", name, " ", told(*b->second)));
    else if (b == new_packages.end())
      out.push_back(StrCat("- ", name, " ", told(*a->second)));
    else
      say(name, told(*a->second), told(*b->second));
  }
  return out;
}

std::vector<std::string> Difference(const Environment& before, const Environment& after) {
  std::vector<std::string> out;
  auto say = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) out.push_back(StrCat(what, " ", a.empty() ? "none" : a, " -> ", b.empty() ? "none" : b));
  };
  auto lists = [&](std::string_view what, const std::vector<std::string>& a, const std::vector<std::string>& b, auto normal) {
    std::set<std::string> in_a, in_b;
    for (const std::string& line : a)
      if (std::string text = normal(line); !text.empty()) in_a.insert(text);
    for (const std::string& line : b)
      if (std::string text = normal(line); !text.empty()) in_b.insert(text);
    for (const std::string& line : in_a)
      if (!in_b.count(line)) out.push_back(StrCat("- ", what, " ", line));
    for (const std::string& line : in_b)
      if (!in_a.count(line)) out.push_back(StrCat("+ ", what, " ", line));
  };
  auto same = [](const std::string& line) { return line; };
  say("python", before.user_managed ? StrCat("user-managed ", before.interpreter.empty() ? "python" : before.interpreter) : "system-managed",
      after.user_managed ? StrCat("user-managed ", after.interpreter.empty() ? "python" : after.interpreter) : "system-managed");
  if (before.conda.channels != after.conda.channels) say("channels", Join(before.conda.channels, ", "), Join(after.conda.channels, ", "));
  lists("conda", before.conda.dependencies, after.conda.dependencies, [](const std::string& line) { return NormalDependency(line); });
  lists("pip", before.conda.pip, after.conda.pip, [](const std::string& line) { return NormalRequirement(line); });
  Json old_docker = before.docker.enabled ? CanonicalImage(before.docker) : Json::MakeObject(),
       new_docker = after.docker.enabled ? CanonicalImage(after.docker) : Json::MakeObject();
  for (const char* key : {"image", "dockerfile", "context", "context_dockerfile", "registry"})
    say(StrCat("docker ", key), old_docker.GetString(key), new_docker.GetString(key));
  lists("docker argument", before.docker.arguments, after.docker.arguments, same);
  say("shm size", before.docker.shm_size, after.docker.shm_size);
  std::set<std::string> names;
  for (const auto& [name, value] : before.variables) names.insert(name);
  for (const auto& [name, value] : after.variables) names.insert(name);
  for (const std::string& name : names) {
    auto a = before.variables.find(name), b = after.variables.find(name);
    say(StrCat("variable ", name), a == before.variables.end() ? std::string() : a->second, b == after.variables.end() ? std::string() : b->second);
  }
  return out;
}

}  // namespace ferry::model
