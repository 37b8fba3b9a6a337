#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "base/text.h"
#include "os/program.h"
#include "snapshot/snapshot.h"
#include "snapshot/test_folder.h"

namespace ferry::snapshot {
namespace {

class Git : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"AZUREML_GIT_REPOSITORY_URI", "AZUREML_GIT_BRANCH", "AZUREML_GIT_COMMIT", "AZUREML_GIT_DIRTY", "AZUREML_GIT_BUILD_ID",
                             "AZUREML_GIT_BUILD_URI", "GIT_DIR"})
      ::unsetenv(name);
  }
  std::string Run(std::vector<std::string> argv, const std::string& folder) {
    std::vector<std::string> all = {"git", "-c", "user.name=Test", "-c", "user.email=test@example.org"};
    all.insert(all.end(), argv.begin(), argv.end());
    auto result = os::RunProgram(all, std::chrono::seconds(20), folder);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result->status, 0) << Join(argv, " ");
    return std::string(Trim(result->output));
  }
  void Begin() {
    Run({"init", "-q", "-b", "trunk"}, folder_.path());
    folder_.Write("src/train.py", "print(1)");
    Run({"add", "."}, folder_.path());
    Run({"commit", "-qm", "first"}, folder_.path());
  }

  TestFolder folder_;
};

TEST_F(Git, NoRepository) {
  EXPECT_TRUE(GitFacts(folder_.path()).empty());
  EXPECT_TRUE(GitFacts(folder_.At("nowhere")).empty());
}

TEST_F(Git, CleanAndDirty) {
  Begin();
  Run({"remote", "add", "origin", "https://someone:token@example.org/team/repo.git"}, folder_.path());
  const std::string commit = Run({"rev-parse", "HEAD"}, folder_.path());
  const std::map<std::string, std::string> expected = {{"azureml.git.branch", "trunk"},
                                                       {"azureml.git.commit", commit},
                                                       {"azureml.git.dirty", "False"},
                                                       {"azureml.git.repository_uri", "https://example.org/team/repo.git"},
                                                       {"mlflow.source.git.branch", "trunk"},
                                                       {"mlflow.source.git.commit", commit},
                                                       {"mlflow.source.git.repoURL", "https://example.org/team/repo.git"}};
  EXPECT_EQ(GitFacts(folder_.path()), expected);
  EXPECT_EQ(GitFacts(folder_.At("src")), expected);
  folder_.Write("other/new", "x");
  EXPECT_EQ(GitFacts(folder_.At("src")), expected);
  EXPECT_EQ(GitFacts(folder_.path())["azureml.git.dirty"], "True");
  folder_.Write("src/train.py", "print(2)");
  EXPECT_EQ(GitFacts(folder_.At("src"))["azureml.git.dirty"], "True");
}

TEST_F(Git, DetachedUnbornPackedAndWorktree) {
  Run({"init", "-q", "-b", "trunk"}, folder_.path());
  auto unborn = GitFacts(folder_.path());
  EXPECT_EQ(unborn["azureml.git.branch"], "trunk");
  EXPECT_FALSE(unborn.contains("azureml.git.commit"));
  EXPECT_FALSE(unborn.contains("azureml.git.repository_uri"));
  Begin();
  const std::string commit = Run({"rev-parse", "HEAD"}, folder_.path());
  Run({"pack-refs", "--all"}, folder_.path());
  EXPECT_EQ(GitFacts(folder_.path())["azureml.git.commit"], commit);
  Run({"remote", "add", "upstream", "git@example.org:team/repo.git"}, folder_.path());
  EXPECT_EQ(GitFacts(folder_.path())["azureml.git.repository_uri"], Run({"ls-remote", "--get-url"}, folder_.path()));
  Run({"remote", "add", "origin", "ssh://git:secret@example.org/r.git"}, folder_.path());
  Run({"config", "branch.trunk.remote", "upstream"}, folder_.path());
  EXPECT_EQ(GitFacts(folder_.path())["azureml.git.repository_uri"], "git@example.org:team/repo.git");
  Run({"config", "branch.trunk.remote", "origin"}, folder_.path());
  EXPECT_EQ(GitFacts(folder_.path())["azureml.git.repository_uri"], "ssh://git@example.org/r.git");
  Run({"worktree", "add", "-q", folder_.At("tree"), "-b", "side"}, folder_.path());
  auto tree = GitFacts(folder_.At("tree"));
  EXPECT_EQ(tree["azureml.git.branch"], "side");
  EXPECT_EQ(tree["azureml.git.commit"], commit);
  EXPECT_EQ(tree["azureml.git.repository_uri"], "ssh://git@example.org/r.git");
  Run({"checkout", "-q", "--detach"}, folder_.path());
  auto detached = GitFacts(folder_.path());
  EXPECT_FALSE(detached.contains("azureml.git.branch"));
  EXPECT_EQ(detached["azureml.git.commit"], commit);
  EXPECT_EQ(detached["azureml.git.repository_uri"], "ssh://git@example.org/r.git");
}

TEST_F(Git, RewrittenAddresses) {
  Begin();
  Run({"remote", "add", "origin", "short:repo"}, folder_.path());
  Run({"config", "url.https://token@example.org/.insteadOf", "short:"}, folder_.path());
  EXPECT_EQ(GitFacts(folder_.path())["azureml.git.repository_uri"], "https://example.org/repo");
}

TEST_F(Git, OverridesWin) {
  Begin();
  ::setenv("AZUREML_GIT_BRANCH", "given", 1);
  ::setenv("AZUREML_GIT_BUILD_ID", "17", 1);
  ::setenv("AZUREML_GIT_BUILD_URI", "https://ci.example.org/17", 1);
  auto facts = GitFacts(folder_.path());
  EXPECT_EQ(facts["azureml.git.branch"], "given");
  EXPECT_EQ(facts["mlflow.source.git.branch"], "given");
  EXPECT_EQ(facts["azureml.git.build_id"], "17");
  EXPECT_EQ(facts["azureml.git.build_uri"], "https://ci.example.org/17");
  EXPECT_EQ(facts["azureml.git.dirty"], "False");
  ::setenv("AZUREML_GIT_REPOSITORY_URI", "https://u:p@example.org/x", 1);
  ::setenv("AZUREML_GIT_COMMIT", "abc", 1);
  ::setenv("AZUREML_GIT_DIRTY", "True", 1);
  TestFolder elsewhere;
  facts = GitFacts(elsewhere.path());
  EXPECT_EQ(facts["azureml.git.repository_uri"], "https://example.org/x");
  EXPECT_EQ(facts["azureml.git.commit"], "abc");
  EXPECT_EQ(facts["azureml.git.dirty"], "True");
  for (const char* name :
       {"AZUREML_GIT_REPOSITORY_URI", "AZUREML_GIT_BRANCH", "AZUREML_GIT_COMMIT", "AZUREML_GIT_DIRTY", "AZUREML_GIT_BUILD_ID", "AZUREML_GIT_BUILD_URI"})
    ::unsetenv(name);
}

TEST_F(Git, Speed) {
  Begin();
  Run({"remote", "add", "origin", "https://example.org/r"}, folder_.path());
  Stopwatch watch;
  for (int i = 0; i < 20; ++i) (void)GitFacts(folder_.path());
  std::printf("[          ] git facts: %.1f ms\n", watch.Milliseconds() / 20);
}

}  // namespace
}  // namespace ferry::snapshot
