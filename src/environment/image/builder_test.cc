// Real builds with podman on a base made from Debian's packages.
#include "environment/image/builder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "environment/image/run.h"
#include "environment/image/test_engine.h"
#include "os/program.h"

namespace ferry::environment {
namespace {

class ImageBuilding : public EngineTest {
 protected:
  void TearDown() override {
    for (const std::string& name : made_) (void)RemoveImage(engine_, name);
  }

  static model::Environment Definition(const std::string& base_image = {}) {
    model::Environment definition;
    definition.docker.enabled = true;
    definition.docker.base_image = base_image;
    return definition;
  }
  // Every test has a key of its own.
  static std::string Unique(std::string_view text) { return StrCat(text, "\nLABEL test=", RandomHex(8), "\n"); }
  static std::string From(std::string_view rest) { return Unique(StrCat("FROM ", base_, "\n", rest)); }

  Result<Ready> Build(const model::Environment& definition, const std::string& context = {}) {
    std::string name = ImageName(model::BuildKey(definition));
    if (made_.insert(name).second) (void)RemoveImage(engine_, name);
    log_.clear();
    Job job{definition,
            folder_.At(StrCat("environment ", ++builds_)),
            "image-test",
            [this](std::string_view line) {
              log_ += StrCat(line, "\n");
              if (!kill_at_.empty() && line == kill_at_)
                for (int pid : os::ProcessesWith("FERRY_ATTEMPT", "image-test")) os::SendSignal(pid, 9);
              if (!stop_at_.empty() && line == stop_at_) stopping_ = true;
            },
            [this] { return stopping_; },
            context};
    return ImageBuilder(settings_).Build(job);
  }
  // What the image's own Python prints.
  static std::string InImage(const Ready& ready, const std::vector<std::string>& argv) {
    std::vector<std::string> all = {engine_.program, "run", "--rm", "--network", "none", "--entrypoint", "", ready.image};
    all.insert(all.end(), argv.begin(), argv.end());
    auto said = os::OutputOf(all, std::chrono::minutes(1));
    return said.ok() ? *said : said.error().message;
  }
  static const model::LockedPackage* Package(const Ready& ready, const std::string& name) {
    for (const model::LockedPackage& package : ready.lock.packages)
      if (package.name == name) return &package;
    return nullptr;
  }
  bool Noted(const Ready& ready, std::string_view part) const {
    for (const std::string& note : ready.lock.notes)
      if (note.find(part) != std::string::npos) return true;
    return false;
  }

  OddFolder folder_;
  std::string log_, stop_at_, kill_at_;
  bool stopping_ = false;
  int builds_ = 0;
  std::set<std::string> made_;
};

TEST_F(ImageBuilding, BaseImageWithItsOwnPython) {
  model::Environment definition = Definition(base_);
  definition.user_managed = true;
  auto ready = Build(definition);
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << log_;
  EXPECT_EQ(ready->lock.kind, "image");
  EXPECT_TRUE(ready->lock.python.starts_with("3.11."));
  EXPECT_TRUE(ready->image.starts_with("sha256:"));
  EXPECT_EQ(ready->image, ready->lock.image);
  EXPECT_TRUE(ready->interpreter.starts_with("/usr/bin/python")) << ready->interpreter;
  EXPECT_TRUE(Noted(*ready, "base image"));
  auto again = Build(definition);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->image, ready->image);
  EXPECT_EQ(again->lock, ready->lock);
  EXPECT_NE(log_.find("is here already"), std::string::npos);
}

TEST_F(ImageBuilding, PipLayerAndItsLock) {
  model::Environment definition = Definition();
  definition.docker.dockerfile = From("");
  definition.conda.dependencies = {"python=3.11", "pip"};
  definition.conda.pip = {"six==1.16.0", "azureml-defaults"};
  auto ready = Build(definition);
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << log_;
  EXPECT_EQ(ready->interpreter, "/opt/ferry/venv/bin/python");
  ASSERT_TRUE(Package(*ready, "six"));
  EXPECT_EQ(Package(*ready, "six")->version, "1.16.0");
  EXPECT_EQ(Package(*ready, "six")->source, "pypi");
  EXPECT_TRUE(Noted(*ready, "azureml-defaults"));
  EXPECT_EQ(InImage(*ready, {"python", "-c", "import six; print(six.__version__)"}), "1.16.0\n");
  // Nothing of how the node reaches its index is in the image.
  EXPECT_EQ(InImage(*ready, {"sh", "-c", "ls /ferry 2>/dev/null; env | grep PIP_ || true"}), "");
  // From its lock alone.
  model::Environment locked = definition;
  locked.conda.pip = {"six"};
  locked.lock = ToJson(ready->lock);
  auto again = Build(locked);
  ASSERT_TRUE(again.ok()) << again.error().message << "\n" << log_;
  EXPECT_EQ(Package(*again, "six")->version, "1.16.0");

  std::string name = ImageName(model::BuildKey(definition));
  EXPECT_NE(*ImageId(engine_, BaseName(name)), "");
  ASSERT_TRUE(RemoveImage(engine_, name).ok());
  EXPECT_EQ(*ImageId(engine_, name), "");
  EXPECT_EQ(*ImageId(engine_, BaseName(name)), "");
  EXPECT_TRUE(RemoveImage(engine_, name).ok());
}

TEST_F(ImageBuilding, PipIsLentToAnImageWithoutIt) {
  model::Environment definition = Definition();
  definition.docker.dockerfile = From("RUN rm -rf /usr/lib/python3.11/ensurepip /usr/share/python-wheels");
  definition.conda.pip = {"six==1.16.0"};
  auto ready = Build(definition);
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << log_;
  EXPECT_NE(log_.find("is lent"), std::string::npos) << log_;
  EXPECT_EQ(InImage(*ready, {"python", "-c", "import six; print(six.__version__)"}), "1.16.0\n");
}

TEST_F(ImageBuilding, PinsAreNeverRelaxed) {
  model::Environment definition = Definition(base_);
  definition.conda.dependencies = {"python=3.7"};
  auto ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_NE(ready.error().message.find("python =3.7"), std::string::npos) << ready.error().message;
  EXPECT_NE(ready.error().message.find("Python 3.11."), std::string::npos) << ready.error().message;

  definition.conda.dependencies = {"python>=3.8,<3.10|>=3.11"};
  definition.conda.pip = {"six==99.9"};
  ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_NE(ready.error().message.find("six==99.9"), std::string::npos) << ready.error().message;
  EXPECT_EQ(*ImageId(engine_, ImageName(model::BuildKey(definition))), "");
}

TEST_F(ImageBuilding, CondaPackagesNeedCondaInTheImage) {
  model::Environment definition = Definition(base_);
  definition.conda.dependencies = {"python=3.11", "numpy=1.20"};
  auto ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_NE(ready.error().message.find("numpy=1.20 is a conda package"), std::string::npos) << ready.error().message;

  // One that plays micromamba.
  std::string context = folder_.At("context");
  ASSERT_TRUE(os::MakeFolders(context).ok());
  ASSERT_TRUE(os::WriteFile(context + "/micromamba",
                            "#!/bin/sh\npython3 -m venv --without-pip \"$4\" && mkdir \"$4/conda-meta\"\n"
                            "echo '{\"name\": \"numpy\", \"version\": \"1.20.3\", \"build\": \"py_0\", \"channel\": \"c\"}' > \"$4/conda-meta/numpy.json\"\n",
                            0755)
                  .ok());
  ASSERT_TRUE(os::WriteFile(context + "/Dockerfile", From("COPY micromamba /usr/bin/")).ok());
  definition.docker.base_image.clear();
  definition.docker.context = RandomHex(32);
  ready = Build(definition, context);
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << log_;
  ASSERT_TRUE(Package(*ready, "numpy"));
  EXPECT_EQ(Package(*ready, "numpy")->source, "conda");
  EXPECT_EQ(ready->variables.at("CONDA_PREFIX"), "/opt/ferry/venv");
}

TEST_F(ImageBuilding, ImageWithoutPython) {
  model::Environment definition = Definition();
  definition.docker.dockerfile = From("RUN rm -f /usr/bin/python*");
  auto ready = Build(definition);
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << log_;
  EXPECT_EQ(ready->interpreter, "");
  EXPECT_TRUE(Noted(*ready, "no Python"));
  definition.user_managed = true;
  definition.interpreter = "/opt/none/python";
  ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().field, "python.interpreterPath");
}

TEST_F(ImageBuilding, BuildContextWithOddNames) {
  std::string context = folder_.At("der Kontext");
  ASSERT_TRUE(os::MakeFolders(context + "/unter ordner").ok());
  ASSERT_TRUE(os::WriteFile(context + "/unter ordner/Grüße.txt", "hallo\n").ok());
  ASSERT_TRUE(os::WriteFile(context + "/my.Dockerfile", From("COPY [\"unter ordner/Grüße.txt\", \"/srv/Grüße.txt\"]")).ok());
  model::Environment definition = Definition();
  definition.docker.context = RandomHex(32);
  definition.docker.context_dockerfile = "my.Dockerfile";
  auto ready = Build(definition, context);
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << log_;
  EXPECT_EQ(InImage(*ready, {"cat", "/srv/Grüße.txt"}), "hallo\n");
  definition.docker.context_dockerfile = "../my.Dockerfile";
  EXPECT_EQ(Build(definition, context).error().slug, "image.dockerfile");
  definition.docker.context_dockerfile = "none";
  EXPECT_EQ(Build(definition, context).error().slug, "image.dockerfile");
}

TEST_F(ImageBuilding, BrokenDockerfiles) {
  model::Environment definition = Definition();
  definition.docker.dockerfile = From("RUN echo one\n\nRUN echo \"two\" && \\\n    exit 7");
  auto ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().message, "docker.baseDockerfile:4: 'RUN echo \"two\" && exit 7' ended with status 7") << log_;
  EXPECT_NE(log_.find("two"), std::string::npos);

  definition.docker.dockerfile = From("COPY nothing /srv");
  ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_TRUE(ready.error().message.starts_with("docker.baseDockerfile:2: 'COPY nothing /srv' failed: ")) << ready.error().message << "\n" << log_;

  definition.docker.dockerfile = From("RUUN echo");
  ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_TRUE(ready.error().message.starts_with("docker.baseDockerfile:2: 'RUUN echo' failed: ")) << ready.error().message << "\n" << log_;

  definition.docker.dockerfile = "# nothing\n";
  EXPECT_EQ(Build(definition).error().slug, "image.dockerfile");
  auto left = os::OutputOf({engine_.program, "ps", "--all", "--external", "--quiet"}, std::chrono::minutes(1));
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, "");
}

TEST_F(ImageBuilding, StoppedMidwayLeavesNothing) {
  model::Environment definition = Definition();
  definition.docker.dockerfile = From("RUN echo begun; sleep 4711");
  stop_at_ = "begun";
  auto ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().code, Code::kCanceled) << ready.error().message;
  auto left = os::OutputOf({engine_.program, "ps", "--all", "--external", "--quiet"}, std::chrono::minutes(1));
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, "");
  auto sleeping = os::OutputOf({"pgrep", "-f", "^sleep 4711"}, std::chrono::seconds(10));
  EXPECT_FALSE(sleeping.ok()) << *sleeping;
  EXPECT_EQ(*ImageId(engine_, ImageName(model::BuildKey(definition))), "");
}

TEST_F(ImageBuilding, AKilledEngineLeavesNothing) {
  model::Environment definition = Definition();
  definition.docker.dockerfile = From("RUN echo begun; sleep 4712");
  kill_at_ = "begun";
  auto ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_NE(ready.error().code, Code::kCanceled);
  auto left = os::OutputOf({engine_.program, "ps", "--all", "--external", "--quiet"}, std::chrono::minutes(1));
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, "");
  auto sleeping = os::OutputOf({"pgrep", "-f", "^sleep 4712"}, std::chrono::seconds(10));
  EXPECT_FALSE(sleeping.ok()) << *sleeping;
}

// A registry that wants a login and has nothing, and writes down how it was asked.
constexpr const char* kRegistry = R"py(
import base64, http.server, sys
class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        given = self.headers.get("Authorization", "")
        with open(sys.argv[1], "a") as f: f.write(self.path + " " + base64.b64decode(given[6:]).decode() + "\n")
        self.send_response(404 if given else 401)
        self.send_header("WWW-Authenticate", 'Basic realm="test"')
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_HEAD = do_GET
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, flush=True)
server.serve_forever()
)py";

TEST_F(ImageBuilding, LoginsReachTheRegistryAndNothingElse) {
  auto ends = os::MakePipe();
  ASSERT_TRUE(ends.ok());
  os::SpawnOptions options;
  options.argv = {"/usr/bin/python3", "-c", kRegistry, folder_.At("asked")};
  options.stdout_fd = ends->second.get();
  options.die_with_parent = true;
  auto server = os::Spawn(options);
  ASSERT_TRUE(server.ok()) << server.error().message;
  std::string address = StrCat("127.0.0.1:", Trim(os::ReadSome(ends->first, 100).ValueOr("")));
  ASSERT_TRUE(os::WriteFile(*os::GetEnv("CONTAINERS_REGISTRIES_CONF"), StrCat("[[registry]]\nlocation = \"", address, "\"\ninsecure = true\n")).ok());

  model::Environment definition = Definition("team/base:1");
  definition.docker.registry_address = address;
  definition.docker.registry_username = "me";
  definition.docker.registry_password = "s3cret-pass";
  auto ready = Build(definition);
  os::SendSignal(*server, 9);
  (void)os::Wait(*server);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().slug, "image.not_pulled");
  EXPECT_NE(ready.error().message.find(address + "/team/base:1"), std::string::npos) << ready.error().message;
  EXPECT_NE(os::ReadFile(folder_.At("asked")).ValueOr("").find("/v2/team/base/manifests/1 me:s3cret-pass"), std::string::npos)
      << os::ReadFile(folder_.At("asked")).ValueOr("");
  EXPECT_EQ(log_.find("s3cret"), std::string::npos) << log_;
  EXPECT_EQ(ready.error().message.find("s3cret"), std::string::npos);
  EXPECT_FALSE(
      os::OutputOf({"grep", "-r", "-e", "s3cret", "-e", "bWU6czNjcmV0LXBhc3M=", folder_.At("environment 1"), settings_.cache}, std::chrono::seconds(10)).ok());
}

TEST_F(ImageBuilding, AliasesAreSaid) {
  model::Environment definition = Definition("registry.invalid/some/image:1");
  definition.user_managed = true;
  settings_.image_aliases = {{"registry.invalid/*", base_}};
  auto ready = Build(definition);
  settings_.image_aliases.clear();
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << log_;
  EXPECT_TRUE(Noted(*ready, "stands for image 'registry.invalid/some/image:1', by the setting")) << ready->lock.notes.back();
  EXPECT_NE(log_.find("stands for image"), std::string::npos);

  // Without it, the image is asked for and is not there.
  definition.docker.base_image = "registry.invalid/some/image:2";
  ready = Build(definition);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().slug, "image.not_pulled");
}

TEST_F(ImageBuilding, AzureImagesHaveARecipe) {
  model::Environment definition = Definition();
  definition.docker.dockerfile = Unique("FROM mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu20.04:ferry-test-no-such-tag\nRUN python3 --version");
  auto ready = Build(definition);
  ASSERT_TRUE(ready.ok()) << ready.error().message << "\n" << log_;
  EXPECT_TRUE(Noted(*ready, "recipe 'debian-python'"));
  EXPECT_TRUE(Noted(*ready, "cannot be pulled"));
}

}  // namespace
}  // namespace ferry::environment
