#include "environment/conda/conda_builder.h"

#include "environment/conda/fallback.h"
#include "environment/conda/prefix.h"
#include "environment/conda/rattler.h"
#include "environment/conformance.h"
#include "environment/test_tools.h"
#include "os/program.h"

namespace ferry::environment {
namespace {

std::string Tools() { return TestToolsFolder() + "/ferry"; }

// The channel of testdata/make_channel.py, made once a run.
std::string Channel() {
  static const std::string channel = [] {
    std::string folder = os::JoinPath(testing::TempDir(), "channel." + RandomHex(6));
    model::Environment none;
    Settings settings;
    settings.tools = Tools();
    settings.path = PathWithUv();
    Job job{none, "", "conda-test", [](std::string_view) {}, [] { return false; }, ""};
    auto rattler = FindOrInstallRattler(job, settings);
    EXPECT_TRUE(rattler.ok()) << rattler.error().message;
    EXPECT_TRUE(os::MakeFolders(folder).ok());
    auto made = os::OutputOf({rattler->python, FERRY_SOURCE_DIR "/src/environment/conda/testdata/make_channel.py", folder}, std::chrono::minutes(2));
    EXPECT_TRUE(made.ok()) << made.error().message;
    return folder;
  }();
  return "file://" + channel;
}

model::Environment Definition(std::vector<std::string> dependencies, std::vector<std::string> pip = {}, std::vector<std::string> channels = {Channel()}) {
  model::Environment definition;
  definition.conda.channels = std::move(channels);
  definition.conda.dependencies = std::move(dependencies);
  definition.conda.pip = std::move(pip);
  return definition;
}

Subject Rattler() {
  Subject subject;
  subject.name = "rattler";
  subject.make = [](const std::string& folder) {
    Settings settings;
    settings.path = PlainPath();
    settings.cache = folder + "/cache";
    settings.tools = Tools();
    return MakeCondaBuilder(settings);
  };
  subject.works = Definition({"python=3.11", "six-noarch"});
  subject.module = "six_noarch";
  subject.impossible = Definition({"python=3.11", "six-noarch>=99"});
  subject.package = "six-noarch";
  subject.slow = Definition({"python=3.11"}, {"six==1.16.0"});
  std::vector<std::string> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(i == 0 ? "python" : StrCat("six-noarch!=0.", i % 100));
  subject.large = Definition(many);
  return subject;
}
INSTANTIATE_TEST_SUITE_P(Rattler, BuilderConformance, testing::Values(Rattler()));

class CondaTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(os::MakeFolders(folder_).ok());
    settings_.path = PlainPath();
    settings_.cache = folder_ + "/cache";
    settings_.tools = Tools();
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveAll(folder_).ok()); }

  Result<Ready> Build(const model::Environment& definition, const std::string& name = "env") {
    auto log = [this](std::string_view line) { log_ += StrCat(line, "\n"); };
    Job job{definition, os::JoinPath(folder_, name), "conda-test", log, [] { return false; }, ""};
    return MakeCondaBuilder(settings_)->Build(job);
  }
  std::string Run(std::vector<std::string> argv) {
    auto said = os::OutputOf(argv, std::chrono::seconds(60), "/");
    return said.ok() ? *said : said.error().message;
  }
  const model::LockedPackage* Find(const model::Lock& lock, std::string_view name) {
    for (const auto& package : lock.packages)
      if (package.name == name) return &package;
    return nullptr;
  }

  std::string folder_ = os::JoinPath(testing::TempDir(), "conda." + RandomHex(6));
  Settings settings_;
  std::string log_;
};

TEST_F(CondaTest, PinsBuildStringsAndTheLock) {
  auto ready = Build(Definition({"python=3.11", "six-noarch=1.0", "builds=1.0=plain_0"}));
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  EXPECT_EQ(Run({ready->folder + "/bin/six-noarch"}), "six-noarch 1.0\n");
  EXPECT_EQ(*os::ReadFile(ready->folder + "/share/builds/which"), "plain_0");
  EXPECT_EQ(*os::ReadFile(ready->folder + "/share/builds/prefix"), ready->folder + "/share\n");
  const model::LockedPackage* builds = Find(ready->lock, "builds");
  ASSERT_TRUE(builds);
  EXPECT_EQ(builds->source, "conda");
  EXPECT_EQ(builds->build, "plain_0");
  EXPECT_EQ(builds->sha256.size(), 64u);
  EXPECT_EQ(builds->url.substr(0, Channel().size()), Channel());
  EXPECT_FALSE(builds->channel.empty());
  auto newest = Build(Definition({"python=3.11", "six-noarch", "builds"}), "newest");
  ASSERT_TRUE(newest.ok()) << newest.error().message << log_;
  EXPECT_EQ(Find(newest->lock, "six-noarch")->version, "2.0");
  EXPECT_EQ(Find(newest->lock, "builds")->build, "special_1");
}

TEST_F(CondaTest, WhatCannotBeMet) {
  auto ready = Build(Definition({"python=3.11", "needs-old", "six-noarch=2.0"}));
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().slug, "environment.conflict") << ready.error().message << log_;
  EXPECT_NE(ready.error().message.find("conda line"), std::string::npos) << ready.error().message;
  auto python = Build(Definition({"python=3.4", "six-noarch"}), "python");
  ASSERT_FALSE(python.ok());
  EXPECT_NE(python.error().message.find("conda line 1 'python=3.4'"), std::string::npos) << python.error().message;
  EXPECT_EQ(Build(Definition({"six-noarch", "numpy="}), "wrong").error().field, "conda line 2");
  EXPECT_EQ(Build(Definition({"builds"}), "nopython").error().slug, "environment.no_python");
}

TEST_F(CondaTest, AChannelThatLies) {
  auto ready = Build(Definition({"python=3.11", "liar"}));
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().slug, "environment.hash") << ready.error().message << log_;
  std::string zeros(64, '0');
  std::string real = HashBytes(*os::ReadFile(Channel().substr(7) + "/linux-64/liar-1.0-0.tar.bz2")).Hex();
  for (const std::string& part : {std::string("liar"), zeros, real, std::string("conda line 2")})
    EXPECT_NE(ready.error().message.find(part), std::string::npos) << ready.error().message;
}

TEST_F(CondaTest, ThePipSectionComesAfterwards) {
  auto ready = Build(Definition({"python=3.11"}, {"six==1.16.0", "azureml-core"}));
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  EXPECT_EQ(Run({ready->interpreter, "-c", "import six; print(six.__file__)"}), ready->folder + "/lib/python3.11/site-packages/six.py\n");
  EXPECT_EQ(Find(ready->lock, "six")->source, "pypi");
  EXPECT_EQ(Find(ready->lock, "pip")->source, "conda");
  EXPECT_EQ(ready->lock.notes.size(), 1u);
  model::Environment locked = Definition({"python=3.11"}, {"six", "azureml-core"}, {});
  locked.lock = model::ToJson(ready->lock);
  auto again = Build(locked, "again");
  ASSERT_TRUE(again.ok()) << again.error().message << log_;
  EXPECT_EQ(model::Difference(ready->lock, again->lock), std::vector<std::string>{});
  EXPECT_EQ(Find(again->lock, "python")->url, Find(ready->lock, "python")->url);
  locked.lock.Find("packages")->as_array()[0].Set("sha256", std::string(64, '1'));
  EXPECT_EQ(Build(locked, "wrong").error().slug, "environment.hash");
}

TEST_F(CondaTest, UvInstallsThePipSection) {
  settings_.path = PathWithUv();
  auto ready = Build(Definition({"python=3.11"}, {"six==1.16.0"}));
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  EXPECT_FALSE(Find(ready->lock, "pip"));
  EXPECT_EQ(Find(ready->lock, "six")->version, "1.16.0");
  auto wrong = Build(Definition({"python=3.11"}, {"six==99"}), "wrong");
  EXPECT_NE(wrong.error().message.find("pip line 1 'six==99'"), std::string::npos) << wrong.error().message;
}

TEST_F(CondaTest, NoChannelAnswers) {
  settings_.path = PathWithUv();
  model::Environment definition = Definition({"python=3.11", "msgpack-python=1.0", "nomkl"}, {"six==1.16.0"}, {"http://127.0.0.1:9/channel"});
  auto ready = Build(definition);
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  EXPECT_EQ(ready->lock.kind, "venv");
  EXPECT_EQ(Find(ready->lock, "msgpack")->version.substr(0, 4), "1.0.");
  EXPECT_EQ(Run({ready->interpreter, "-c", "import msgpack, six; print('fine')"}), "fine\n");
  ASSERT_EQ(ready->lock.notes.size(), 3u);
  EXPECT_NE(ready->lock.notes[0].find("no conda channel answers: http://127.0.0.1:9/channel"), std::string::npos) << ready->lock.notes[0];
  EXPECT_EQ(ready->lock.notes[1], "conda package 'msgpack-python=1.0' was taken from PyPI as 'msgpack==1.0.*'");
  EXPECT_NE(ready->lock.notes[2].find("nomkl"), std::string::npos);
  for (const std::string& note : ready->lock.notes) EXPECT_NE(log_.find(note), std::string::npos) << note;

  definition.conda.dependencies = {"python=3.11", "msgpack-python=99"};
  auto wrong = Build(definition, "wrong");
  EXPECT_NE(wrong.error().message.find("conda line 2 'msgpack-python=99'"), std::string::npos) << wrong.error().message;
  EXPECT_EQ(wrong.error().field, "conda line 2");

  definition.conda.dependencies = {"python=3.11", "cudatoolkit=10.2", "numpy=1.19=py38_0"};
  auto lost = Build(definition, "lost");
  EXPECT_EQ(lost.error().slug, "environment.not_mappable");
  for (const char* part : {"cudatoolkit=10.2", "numpy=1.19=py38_0"}) EXPECT_NE(lost.error().message.find(part), std::string::npos) << lost.error().message;

  settings_.strict = true;
  definition.conda.dependencies = {"python=3.11", "msgpack-python"};
  auto strict = Build(definition, "strict");
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().code, Code::kUnavailable);
  EXPECT_NE(strict.error().message.find("strict"), std::string::npos);
}

TEST_F(CondaTest, OneSilentChannelOfTwoIsNoReasonToGuess) {
  auto ready = Build(Definition({"python=3.11", "six-noarch"}, {}, {Channel(), "http://127.0.0.1:9/channel"}));
  EXPECT_EQ(ready.error().slug, "environment.unreachable") << ready.error().message;
  EXPECT_NE(ready.error().message.find("127.0.0.1:9"), std::string::npos);
}

TEST_F(CondaTest, MovesToAnotherFolder) {
  auto ready = Build(Definition({"python=3.11", "six-noarch=2", "builds"}), "before");
  ASSERT_TRUE(ready.ok()) << ready.error().message << log_;
  Ready moved = *ready;
  moved.folder = folder_ + "/a longer path than before";
  moved.interpreter = moved.folder + "/bin/python";
  ASSERT_TRUE(os::Rename(ready->folder, moved.folder).ok());
  auto done = MakeCondaBuilder(settings_)->Relocate(moved, ready->folder);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(Run({moved.folder + "/bin/six-noarch"}), "six-noarch 2.0\n");
  EXPECT_EQ(*os::ReadFile(moved.folder + "/share/builds/prefix"), moved.folder + "/share\n");
  std::string program = *os::ReadFile(moved.folder + "/share/builds/program");
  EXPECT_NE(program.find(moved.folder + "/share/builds" + '\0'), std::string::npos);
  EXPECT_EQ(program.substr(program.size() - 3), "end");
}

// A tool of the node is used before py-rattler: a stand-in that writes down how it was called.
TEST_F(CondaTest, AToolOfTheNodeComesFirst) {
  std::string tool = folder_ + "/bin/micromamba";
  ASSERT_TRUE(os::MakeFolders(folder_ + "/bin").ok());
  ASSERT_TRUE(
      os::WriteFile(
          tool,
          StrCat(
              "#!/bin/sh\nfor a; do echo \"$a\" >> ", folder_, "/called; done\ncat \"$6\" >> ", folder_,
              "/called\necho 'PackagesNotFoundError: The following packages are not available from current channels:'\necho\necho '  - numpy==99'\nexit 1\n"),
          0755)
          .ok());
  settings_.path = folder_ + "/bin:" + PlainPath();
  auto ready = Build(Definition({"python=3.11", "numpy==99"}, {}, {"conda-forge", "pytorch"}));
  EXPECT_EQ(ready.error().message, "no channel has 'numpy==99' (conda line 2 'numpy==99')");
  EXPECT_EQ(*os::ReadFile(folder_ + "/called"), StrCat("create\n-y\n-p\n", folder_, "/env\n--file\n", folder_,
                                                       "/env.specs.txt\n--override-channels\n-c\nconda-forge\n-c\npytorch\npython=3.11\nnumpy==99\n"));
}

template <size_t N>
std::string Bytes(const char (&text)[N]) {
  return std::string(text, N - 1);
}

TEST(Prefix, ProgramsKeepTheirLength) {
  // Made for "/placed": each path left three bytes behind its text.
  std::string bytes = Bytes("a\0/old/x:/old/y\0\0\0\0\0\0\0z");
  EXPECT_EQ(*ReplaceInProgram(bytes, "/old", "/n", 7), Bytes("a\0/n/x:/n/y\0\0\0\0\0\0\0\0\0\0\0z"));
  EXPECT_EQ(*ReplaceInProgram(bytes, "/old", "/longer", 7), Bytes("a\0/longer/x:/longer/y\0z"));
  EXPECT_FALSE(ReplaceInProgram(bytes, "/old", "/longer8", 7).ok());
}

}  // namespace
}  // namespace ferry::environment
