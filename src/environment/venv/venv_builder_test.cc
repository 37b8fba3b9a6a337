#include "environment/venv/venv_builder.h"

#include "environment/conformance.h"
#include "environment/installed.h"
#include "environment/test_tools.h"
#include "os/program.h"

namespace ferry::environment {
namespace {

model::Environment Definition(std::vector<std::string> pip, std::vector<std::string> dependencies = {}) {
  model::Environment definition;
  definition.conda.pip = std::move(pip);
  definition.conda.dependencies = std::move(dependencies);
  return definition;
}

Subject Venv(const std::string& name, std::string (*path)()) {
  Subject subject;
  subject.name = name;
  subject.make = [path](const std::string& folder) {
    Settings settings;
    settings.path = path();
    settings.cache = folder + "/cache";
    settings.tools = folder + "/tools";
    settings.sdk = folder + "/sdk";
    return MakeVenvBuilder(settings);
  };
  subject.works = Definition({"six==1.16.0"});
  subject.module = "six";
  subject.impossible = Definition({"# nothing", "six", "python-dateutil==99.1"});
  subject.package = "python-dateutil";
  subject.slow = Definition({"six==1.16.0", "python-dateutil==2.8.2"});
  subject.large = Definition(ManyLines());
  return subject;
}

INSTANTIATE_TEST_SUITE_P(Uv, BuilderConformance, testing::Values(Venv("uv", PathWithUv)));
INSTANTIATE_TEST_SUITE_P(Pip, BuilderConformance, testing::Values([] {
                           Subject subject = Venv("pip", PlainPath);
                           // In the middle of what pip does.
                           subject.stop_after = 3;
                           return subject;
                         }()));

class VenvTest : public testing::TestWithParam<std::string (*)()> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(os::MakeFolders(folder_ + "/sdk/azureml").ok());
    ASSERT_TRUE(os::WriteFile(folder_ + "/sdk/azureml/__init__.py", "ours = True\n").ok());
    settings_.path = GetParam()();
    settings_.cache = folder_ + "/cache";
    settings_.sdk = folder_ + "/sdk";
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveAll(folder_).ok()); }

  Result<Ready> Build(const model::Environment& definition, const std::string& name = "env", const std::string& context = "") {
    auto log = [this](std::string_view line) { log_ += StrCat(line, "\n"); };
    Job job{definition, os::JoinPath(folder_, name), "venv-test", log, [] { return false; }, context};
    return MakeVenvBuilder(settings_)->Build(job);
  }
  std::string Run(const std::string& program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    auto said = os::OutputOf(arguments, std::chrono::seconds(60), "/");
    return said.ok() ? *said : said.error().message;
  }

  std::string folder_ = os::JoinPath(testing::TempDir(), "venv." + RandomHex(6));
  Settings settings_;
  std::string log_;
};
INSTANTIATE_TEST_SUITE_P(Uv, VenvTest, testing::Values(PathWithUv));
INSTANTIATE_TEST_SUITE_P(Pip, VenvTest, testing::Values(PlainPath));

TEST_P(VenvTest, AzuremlIsOurs) {
  auto ready = Build(Definition({"azureml-defaults", "azureml-core==1.30", "six"}, {"python=3.11", "pip"}));
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  EXPECT_EQ(Run(ready->interpreter, {"-c", "import azureml, six; print(azureml.ours)"}), "True\n");
  ASSERT_EQ(ready->lock.notes.size(), 2u);
  EXPECT_EQ(ready->lock.notes[0], "'azureml-defaults' is provided by Ferry's own azureml package");
  EXPECT_NE(log_.find(ready->lock.notes[1]), std::string::npos);
  bool pip = false;
  for (const auto& package : ready->lock.packages) pip = pip || package.name == "pip";
  EXPECT_TRUE(pip) << "it was asked for";
  EXPECT_FALSE(os::Exists(ready->folder + "/ferry-requirements.txt"));
}

TEST_P(VenvTest, APinThatNoInterpreterMeets) {
  auto ready = Build(Definition({"six"}, {"python=3.4"}));
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().slug, "environment.python");
  EXPECT_NE(ready.error().message.find("'python=3.4'"), std::string::npos) << ready.error().message;
  EXPECT_NE(ready.error().message.find("3.11"), std::string::npos) << ready.error().message;
  EXPECT_EQ(Build(Definition({"six"}, {"numpy"}), "other").error().slug, "environment.conda_only");
}

TEST_P(VenvTest, Hashes) {
  const std::string good = "--hash=sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254";
  const std::string bad = "--hash=sha256:0000000000000000000000000000000000000000000000000000000000000000";
  auto ready = Build(Definition({"six==1.16.0 " + good}, {"pip"}));
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  auto wrong = Build(Definition({"# c", "six==1.16.0 \\", bad}), "bad");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().slug, "environment.hash") << wrong.error().message << log_;
  for (const char* part : {"six", "000000", "8abb2f1d", "pip line 2"}) EXPECT_NE(wrong.error().message.find(part), std::string::npos) << wrong.error().message;
  auto missing = Build(Definition({"six==1.16.0 " + good, "python-dateutil==2.8.2"}), "missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().slug, "environment.hash") << missing.error().message << log_;
}

TEST_P(VenvTest, OnlyPathsInTheContext) {
  std::string context = folder_ + "/context";
  ASSERT_TRUE(os::MakeFolders(context + "/own").ok());
  ASSERT_TRUE(os::WriteFile(context + "/more.txt", "six==1.16.0\n-r deeper/more.txt\n").ok());
  ASSERT_TRUE(os::MakeFolders(context + "/deeper").ok());
  ASSERT_TRUE(os::WriteFile(context + "/deeper/more.txt", "# nothing\n").ok());
  ASSERT_TRUE(os::WriteFile(folder_ + "/outside.txt", "six\n").ok());
  auto refused = [&](const std::string& line, const std::string& from) {
    auto ready = Build(Definition({"six", line}), "refused." + RandomHex(4), from);
    EXPECT_FALSE(ready.ok()) << line;
    if (ready.ok()) return std::string();
    EXPECT_EQ(ready.error().slug, "environment.requirement");
    EXPECT_EQ(ready.error().field, "pip line 2");
    return ready.error().message;
  };
  for (const char* line : {"-r more.txt", "-e ./own", "-c more.txt", "./own.whl"})
    EXPECT_NE(refused(line, "").find("needs a build context"), std::string::npos) << line;
  EXPECT_NE(refused("-r ../outside.txt", context).find("leads out"), std::string::npos);
  EXPECT_NE(refused("-r nothing.txt", context).find("not in the build context"), std::string::npos);
  EXPECT_NE(refused("-e /srv", context).find("absolute"), std::string::npos);
  ASSERT_TRUE(os::WriteFile(context + "/loop.txt", "-r loop.txt\n").ok());
  refused("-r loop.txt", context);
  auto ready = Build(Definition({"-r more.txt"}), "good", context);
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  EXPECT_EQ(Run(ready->interpreter, {"-c", "import six; print(six.__version__)"}), "1.16.0\n");
}

TEST_P(VenvTest, AnIndexThatDoesNotAnswer) {
  auto ready = Build(Definition({"--index-url http://user:secret@127.0.0.1:9/simple", "six"}));
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().slug, "environment.unreachable") << ready.error().message << log_;
  EXPECT_EQ(log_.find("secret"), std::string::npos) << log_;
  EXPECT_EQ(ready.error().message.find("secret"), std::string::npos);
}

TEST_P(VenvTest, MovesToAnotherFolder) {
  auto ready = Build(Definition({"pygments==2.15.1", "azureml-core"}, {"pip"}), "before");
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  Ready moved = *ready;
  moved.folder = folder_ + "/a new place";
  moved.interpreter = moved.folder + "/bin/python";
  ASSERT_TRUE(os::Rename(ready->folder, moved.folder).ok());
  ASSERT_TRUE(os::MakeFolders(folder_ + "/sdk2/azureml").ok());
  ASSERT_TRUE(os::WriteFile(folder_ + "/sdk2/azureml/__init__.py", "ours = 'second'\n").ok());
  settings_.sdk = folder_ + "/sdk2";
  auto builder = MakeVenvBuilder(settings_);
  auto done = builder->Relocate(moved, ready->folder);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_NE(Run(moved.folder + "/bin/pygmentize", {"-V"}).find("2.15.1"), std::string::npos) << Run(moved.folder + "/bin/pygmentize", {"-V"});
  EXPECT_EQ(Run(moved.interpreter, {"-c", "import azureml, sys; print(azureml.ours, sys.prefix)"}), StrCat("second ", moved.folder, "\n"));
  EXPECT_EQ(Run("/bin/sh", {"-c", StrCat(". '", moved.folder, "/bin/activate'; echo $VIRTUAL_ENV")}), moved.folder + "\n");
  // Nothing that says where it was, but in compiled files.
  EXPECT_EQ(Run("/bin/sh", {"-c", StrCat("grep -rIl '", ready->folder, "' '", moved.folder, "' || true")}), "");
  moved.lock.python = "3.11.99";
  EXPECT_EQ(builder->Relocate(moved, ready->folder).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ferry::environment
