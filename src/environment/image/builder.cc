#include "environment/image/builder.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "environment/image/dockerfile.h"
#include "environment/image/layer.h"
#include "environment/image/recipe.h"
#include "environment/image/run.h"
#include "environment/requirement.h"
#include "environment/step.h"
#include "os/file.h"
#include "os/program.h"
#include "os/watched.h"

namespace ferry::environment {
namespace {

constexpr size_t kKeptLines = 400;
constexpr uint64_t kMaxDockerfile = 4u << 20;

// Tells what a Python and its packages are, a JSON list a line.
constexpr const char* kProbe = R"py(
import json, os, sys
def say(*values): print("ferry " + json.dumps(values))
say("python", "%d.%d.%d" % sys.version_info[:3], sys.executable, sys.prefix)
seen = set()
def package(name, version, *rest):
    key = (name or "").lower().replace("_", "-").replace(".", "-")
    if key and key not in seen:
        seen.add(key)
        say("package", name, version or "", *rest)
meta = os.path.join(sys.prefix, "conda-meta")
for file in sorted(os.listdir(meta)) if os.path.isdir(meta) else []:
    if file.endswith(".json"):
        with open(os.path.join(meta, file)) as f: about = json.load(f)
        package(about.get("name"), about.get("version"), "conda", about.get("build") or "", str(about.get("channel") or ""), about.get("url") or "", about.get("sha256") or "")
try:
    from importlib import metadata
    for one in metadata.distributions(): package(one.metadata["Name"], one.version)
except ImportError:
    import pkg_resources
    for one in pkg_resources.working_set: package(one.project_name, one.version)
)py";

// One build: what it asks the engine, what it heard last.
class Building {
 public:
  Building(const Settings& settings, const Job& job, Engine engine, std::string key)
      : settings_(settings),
        job_(job),
        engine_(std::move(engine)),
        name_(ImageName(key)),
        mark_(StrCat("ferry-build-", key.substr(0, 24))),
        scratch_(StrCat(settings.cache, "/", mark_)) {}

  Result<Ready> Do() {
    const model::DockerSection& docker = job_.definition.docker;
    // What a build of the same key left behind when it was killed.
    Clean();
    TRY_VOID(os::MakeFolders(job_.folder, 0700));
    TRY_VOID(os::MakeFolders(scratch_, 0700));
    TRY(LayerPlan layer, PlanLayer(job_.definition));
    for (const std::string& note : layer.notes) Note(note);
    // What is known of an image lasts as long as the image, which may be longer than the environment's folder. One of which nothing is known is made
    // again, from the engine's cache: the user is to be told what it stands on.
    std::string notes = StrCat(settings_.cache, "/", mark_, ".notes");
    TRY(std::string id, ImageId(engine_, name_));
    if (!id.empty() && os::Exists(notes)) {
      job_.log(StrCat("ferry: image ", name_, " is here already"));
      auto kept = ParseJson(os::ReadFile(notes, 1u << 20).ValueOr("[]"));
      for (const Json& note : kept.ok() && kept->is_array() ? kept->as_array() : Json::Array())
        if (note.is_string()) Note(note.as_string());
    } else {
      TRY_VOID(WriteAuth());
      size_t before = notes_.size();
      auto made = docker.base_image.empty() ? FromDockerfile(layer) : FromImage(layer);
      if (!auth_.empty()) (void)os::RemoveAll(auth_);
      auth_.clear();
      if (!made.ok()) return made.error();
      TRY_VOID(os::WriteFile(notes, Json(std::vector<std::string>(notes_.begin() + static_cast<std::ptrdiff_t>(before), notes_.end())).Dump()));
      TRY(id, ImageId(engine_, name_));
      if (id.empty()) return MakeError(Code::kInternal, "image.lost", StrCat("image ", name_, " was built and is not there"));
    }
    TRY(Ready ready, Probe(id, !layer.empty()));
    ready.lock.notes = notes_;
    (void)os::RemoveAll(scratch_);
    return ready;
  }

  // What the engine did not clean up itself.
  void Clean() {
    if (os::Exists(scratch_)) RemoveRemains(engine_, mark_, scratch_);
  }

 private:
  void Note(std::string note) {
    job_.log(StrCat("ferry: ", note));
    notes_.push_back(std::move(note));
  }

  Result<void> WriteAuth() {
    const model::DockerSection& docker = job_.definition.docker;
    if (docker.registry_username.empty() && docker.registry_password.empty()) return {};
    auth_ = os::JoinPath(job_.folder, "auth");
    TRY_VOID(os::MakeFolders(auth_, 0700));
    return os::WriteFile(os::JoinPath(auth_, "config.json"), AuthFile(docker.registry_address, docker.registry_username, docker.registry_password), 0600);
  }

  // Runs the engine with its output in the log; the exit status.
  Result<int> Run(std::vector<std::string> argv, const std::function<bool(std::string_view)>& keep = {}) {
    last_.clear();
    os::WatchedCommand command;
    command.argv = std::move(argv);
    command.environment = ToolVariables(job_, settings_);
    for (const auto& [name, value] : EngineVariables(engine_, auth_, scratch_)) (*command.environment)[name] = value;
    command.folder = job_.folder;
    command.stopping = job_.stopping;
    command.line = [&](std::string_view line) {
      if (keep && keep(line)) return;
      last_.push_back(WithoutCredentials(line));
      job_.log(last_.back());
      if (last_.size() > kKeptLines) last_.erase(last_.begin());
    };
    auto ended = os::RunWatched(command);
    if (!ended.ok() && ended.error().code == Code::kCanceled) return MakeError(Code::kCanceled, "environment.stopped", "the build was stopped");
    if (!ended.ok()) return ended.error();
    return ended->signal ? 128 + ended->signal : ended->code;
  }

  // The local name of a base image: an alias, what is here, or what can be pulled.
  Result<std::string> Base(const std::string& image) {
    if (auto alias = Alias(settings_.image_aliases, image)) return Stand(image, *alias, "by the setting image-aliases");
    TRY(std::string id, ImageId(engine_, image));
    if (!id.empty()) {
      Note(StrCat("base image '", image, "' is ", id));
      return image;
    }
    std::string full = FullName(image);
    job_.log(StrCat("ferry: pulling ", full));
    TRY(int status, Run(PullCommand(engine_, full, auth_)));
    if (status == 0) {
      TRY(id, ImageId(engine_, full));
      Note(StrCat("base image '", image, "' is ", id));
      return full;
    }
    std::string why = PullError();
    if (auto alias = Alias(DefaultAliases(), image)) return Stand(image, *alias, StrCat("because it cannot be pulled (", why, ")"));
    return MakeError(Code::kUnavailable, "image.not_pulled",
                     StrCat("image '", image, "' is not on this node and cannot be pulled: ", why,
                            "; import it there, or let another stand for it with the setting image-aliases"),
                     "docker.baseImage");
  }

  Result<std::string> Stand(const std::string& image, const std::string& alias, const std::string& why) {
    std::string other = alias, said = StrCat("image '", alias, "'");
    if (alias.starts_with("recipe:")) {
      said = StrCat("recipe '", alias.substr(7), "'");
      TRY(other, MakeRecipe(engine_, settings_, job_, alias.substr(7)));
    } else {
      TRY(std::string id, ImageId(engine_, other));
      if (id.empty()) {
        other = FullName(alias);
        TRY(int status, Run(PullCommand(engine_, other, auth_)));
        if (status != 0)
          return MakeError(Code::kUnavailable, "image.not_pulled",
                           StrCat("image '", alias, "', which stands for '", image, "', cannot be pulled: ", PullError()), "image-aliases");
      }
    }
    TRY(std::string id, ImageId(engine_, other));
    Note(StrCat(said, " (", id, ") stands for image '", image, "', ", why));
    return other;
  }

  std::string PullError() const {
    std::string why;
    for (const std::string& line : last_)
      if (std::string_view text = Trim(line); text.starts_with("Error") || text.find("level=error") != std::string_view::npos || why.empty())
        if (!text.empty()) why = std::string(text);
    if (why.starts_with("Error: ")) why = why.substr(7);
    // The innermost cause stands last.
    return why.size() > 300 ? StrCat("...", why.substr(why.size() - 300)) : why;
  }

  Result<void> FromImage(const LayerPlan& layer) {
    const model::DockerSection& docker = job_.definition.docker;
    std::string image = docker.base_image;
    // A name without a registry is one of the registry that is given.
    if (!docker.registry_address.empty() && FullName(image) != image) image = StrCat(docker.registry_address, "/", image);
    TRY(std::string base, Base(image));
    if (!layer.empty()) return AddLayer(layer, base);
    TRY(int status, Run({engine_.program, "tag", base, name_}));
    if (status != 0) return MakeError(Code::kInternal, "image.tag", StrCat("image '", base, "' could not be given the name ", name_));
    return {};
  }

  Result<void> FromDockerfile(const LayerPlan& layer) {
    const model::DockerSection& docker = job_.definition.docker;
    std::string text = docker.dockerfile, file = "docker.baseDockerfile", context = job_.context;
    if (text.empty()) {
      file = docker.context_dockerfile.empty() ? "Dockerfile" : docker.context_dockerfile;
      if (StrCat("/", file, "/").find("/../") != std::string::npos || file[0] == '/')
        return MakeError(Code::kInvalid, "image.dockerfile", StrCat("'", file, "' must be a path within the build context"),
                         "docker.buildContext.dockerfilePath");
      auto read = os::ReadFile(os::JoinPath(context, file), kMaxDockerfile);
      if (!read.ok())
        return MakeError(Code::kInvalid, "image.dockerfile", StrCat("the build context has no readable '", file, "': ", read.error().message),
                         "docker.buildContext.dockerfilePath");
      text = *read;
    } else {
      context = os::JoinPath(job_.folder, "context");
      TRY_VOID(os::MakeFolders(context));
    }
    if (ReadDockerfile(text).empty()) return MakeError(Code::kInvalid, "image.dockerfile", StrCat(file, " has no instructions; expected FROM first"), file);
    std::map<std::string, std::string> bases;
    for (const std::string& image : BaseImages(text)) {
      TRY(bases[image], Base(image));
    }
    std::string path = os::JoinPath(job_.folder, "Dockerfile");
    TRY_VOID(os::WriteFile(path, ReplaceBaseImages(text, bases)));
    std::string tag = layer.empty() ? name_ : BaseName(name_);
    TRY(int status, Run(BuildCommand(engine_, {tag, path, context, auth_, mark_, true})));
    if (status != 0) return ExplainBuild(ReplaceBaseImages(text, bases), file, last_, status);
    if (layer.empty()) return {};
    auto added = AddLayer(layer, tag);
    // Under its name it would be kept for good; without it, it is a cache that the engine may drop.
    if (!added.ok()) (void)os::OutputOf(UntagCommand(engine_, tag), std::chrono::minutes(1));
    return added;
  }

  Result<void> AddLayer(const LayerPlan& layer, const std::string& base) {
    std::map<std::string, std::string> environment = os::Environment();
    std::vector<std::string> configurations;
    auto get = [&](const char* name) { return os::GetEnv(name).value_or(""); };
    std::string home = os::HomeFolder(), config = get("XDG_CONFIG_HOME");
    for (const std::string& path : {std::string("/etc/pip.conf"), StrCat(home, "/.pip/pip.conf"),
                                    StrCat(config.empty() ? StrCat(home, "/.config") : config, "/pip/pip.conf"), get("PIP_CONFIG_FILE")})
      if (auto text = path.empty() ? Result<std::string>(std::string()) : os::ReadFile(path, 1u << 20); text.ok()) configurations.push_back(*text);
    std::map<std::string, std::string> variables = PipVariables(configurations, environment);
    std::string certificates;
    for (const std::string& path : {variables.count("PIP_CERT") ? variables["PIP_CERT"] : "", get("REQUESTS_CA_BUNDLE"), get("SSL_CERT_FILE")})
      if (certificates.empty() && !path.empty() && os::Exists(path)) certificates = path;
    std::string folder = os::JoinPath(job_.folder, "layer");
    TRY_VOID(WriteLayer(layer, folder, base, variables, PipWheel(), certificates));
    auto built = Run(BuildCommand(engine_, {name_, os::JoinPath(folder, "Dockerfile"), folder, auth_, mark_, false}));
    (void)os::RemoveAll(folder);
    if (!built.ok()) return built.error();
    if (*built == 0) return {};
    if (std::string said = LayerError(last_); !said.empty()) return MakeError(Code::kInvalid, "image.layer", said, "python.condaDependencies");
    bool conda = std::any_of(last_.begin(), last_.end(), [](const std::string& line) { return line.find("makes the environment") != std::string::npos; });
    return Explain(job_.definition, conda ? "conda" : "pip", last_, *built);
  }

  // A wheel of pip that this node's Python carries; "" when there is none.
  std::string PipWheel() const {
    constexpr const char* kFind =
        "import ensurepip, glob, os\n"
        "here = os.path.join(os.path.dirname(ensurepip.__file__), '_bundled', 'pip-*.whl')\n"
        "print((sorted(glob.glob(here)) + sorted(glob.glob('/usr/share/python-wheels/pip-*.whl')) + [''])[0])";
    for (const char* name : {"python3", "python"}) {
      auto python = os::FindProgram(name, settings_.path);
      if (!python) continue;
      auto said = os::OutputOf({*python, "-c", kFind}, std::chrono::seconds(30));
      if (said.ok() && !Trim(*said).empty()) return std::string(Trim(*said));
      // A Python without ensurepip may still have a pip that can fetch another.
      std::string folder = os::JoinPath(job_.folder, "pip");
      if (!os::OutputOf({*python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder, "pip"}, std::chrono::minutes(2))
               .ok())
        continue;
      if (auto files = os::ListFolder(folder); files.ok() && files->size() == 1) return os::JoinPath(folder, (*files)[0].name);
    }
    return {};
  }

  // Asks the image itself what it holds: one start.
  Result<Ready> Probe(const std::string& id, bool layered) {
    Ready ready;
    ready.folder = job_.folder;
    ready.image = ready.lock.image = id;
    ready.lock.kind = "image";
    std::vector<std::string> pythons = {"python", "python3"};
    const std::string& wanted = job_.definition.interpreter;
    if (layered)
      pythons = {StrCat(kLayerFolder, "/bin/python")};
    else if (job_.definition.user_managed && !wanted.empty())
      pythons = {wanted};
    for (const std::string& python : pythons) {
      std::vector<Json> told;
      std::vector<std::string> argv = {engine_.program, "run",  "--rm",   "--pull=never", "--network", "none",
                                       "--log-driver",  "none", "--name", mark_,          "--user",    "0:0"};
      if (engine_.kind == Engine::Kind::kPodman) argv.push_back("--replace");
      argv.insert(argv.end(), {"--entrypoint", "", id, python, "-c", kProbe});
      auto ended = Run(std::move(argv), [&](std::string_view line) {
        if (!line.starts_with("ferry [")) return false;
        if (auto json = ParseJson(line.substr(6)); json.ok()) told.push_back(std::move(*json));
        return true;
      });
      if (!ended.ok()) {
        (void)EndContainer(engine_, mark_);
        return ended.error();
      }
      int status = *ended;
      if (status == 125) return MakeError(Code::kUnavailable, "engine.failed", StrCat("the container engine cannot start image ", name_, ": ", PullError()));
      if (status != 0 || told.empty()) continue;
      Take(told, layered, ready);
      break;
    }
    std::sort(ready.lock.packages.begin(), ready.lock.packages.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    if (!ready.interpreter.empty()) return ready;
    if (layered || (job_.definition.user_managed && !wanted.empty()))
      return MakeError(Code::kInvalid, "interpreter.not_found", StrCat("the interpreter '", pythons[0], "' is not in the image or is no working Python"),
                       "python.interpreterPath");
    Note("the image has no Python");
    return ready;
  }

  void Take(const std::vector<Json>& told, bool layered, Ready& ready) {
    for (const Json& one : told) {
      std::vector<std::string> words;
      for (const Json& word : one.as_array()) words.push_back(word.is_string() ? word.as_string() : "");
      if (words.size() >= 4 && words[0] == "python") {
        ready.lock.python = words[1];
        ready.interpreter = words[2];
        if (layered) ready.variables["VIRTUAL_ENV"] = kLayerFolder;
      }
      if (words.size() < 3 || words[0] != "package") continue;
      model::LockedPackage package;
      package.name = model::NormalPackageName(words[1]);
      package.version = words[2];
      // What the layer's pip brought along is not asked for again.
      package.source = layered && package.name != "pip" && package.name != "setuptools" ? "pypi" : "given";
      if (words.size() >= 8) {
        package.source = layered ? "conda" : "given";
        package.build = words[4];
        package.channel = words[5];
        package.url = words[6];
        package.sha256 = words[7];
        if (layered) {
          ready.variables["CONDA_PREFIX"] = kLayerFolder;
          ready.variables.erase("VIRTUAL_ENV");
        }
      }
      ready.lock.packages.push_back(std::move(package));
    }
  }

  const Settings& settings_;
  const Job& job_;
  Engine engine_;
  std::string name_, mark_, scratch_, auth_;
  std::vector<std::string> notes_;
  std::vector<std::string> last_;
};

}  // namespace

std::string ImageName(const std::string& key) { return StrCat("localhost/ferry/", key.substr(0, 24)); }

Result<Ready> ImageBuilder::Build(const Job& job) {
  TRY(Engine engine, FindEngine(settings_));
  std::string key = model::BuildKey(job.definition);
  Building building(settings_, job, engine, key);
  auto ready = building.Do();
  if (!ready.ok()) building.Clean();
  return ready;
}

Result<void> ImageBuilder::Relocate(const Ready&, const std::string&) {
  return MakeError(Code::kInvalid, "image.not_portable", "an image is built on the node that runs it");
}

}  // namespace ferry::environment
