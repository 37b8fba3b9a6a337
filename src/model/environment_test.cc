#include "model/environment.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ferry::model {
namespace {

Environment Parse(const std::string& text) {
  auto json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << (json.ok() ? "" : json.error().message);
  auto environment = EnvironmentFromJson(*json);
  EXPECT_TRUE(environment.ok()) << (environment.ok() ? "" : environment.error().message);
  return environment.ok() ? *environment : Environment{};
}
Error Refused(const std::string& text) {
  auto environment = EnvironmentFromJson(*ParseJson(text));
  EXPECT_FALSE(environment.ok());
  return environment.ok() ? Error{} : environment.error();
}

TEST(Requirement, HasOneSpelling) {
  EXPECT_EQ(NormalRequirement("Scikit_Learn >= 1.0 , <2  # the library"), "scikit-learn<2,>=1.0");
  EXPECT_EQ(NormalRequirement("scikit.learn<2,>=1.0"), "scikit-learn<2,>=1.0");
  EXPECT_EQ(NormalRequirement("ray[Tune, default]==2.9"), "ray[default,tune]==2.9");
  EXPECT_EQ(NormalRequirement("numpy (>=1.2)"), "numpy>=1.2");
  EXPECT_EQ(NormalRequirement("a ==1 ;  python_version <  '3.9'"), "a==1; python_version < '3.9'");
  EXPECT_EQ(NormalRequirement("a==1 --hash=sha256:00   --hash=sha256:11"), "a==1 --hash=sha256:00 --hash=sha256:11");
  EXPECT_EQ(NormalRequirement("pkg @ https://example.com/p.whl#sha256=00"), "pkg @ https://example.com/p.whl#sha256=00");
  EXPECT_EQ(NormalRequirement("git+https://example.com/x.git#egg=x"), "git+https://example.com/x.git#egg=x");
  EXPECT_EQ(NormalRequirement("  --extra-index-url   https://example.com "), "--extra-index-url https://example.com");
  EXPECT_EQ(NormalRequirement("# nothing"), "");
  EXPECT_EQ(NormalRequirement("   "), "");
}

TEST(EnvironmentKey, DoesNotDependOnOrderSpaceOrComments) {
  Environment a = Parse(R"({"python": {"condaDependencies": {"channels": ["conda-forge"],
      "dependencies": ["python=3.8", "numpy >= 1.20", {"pip": ["Torch==1.9", "azureml_defaults", "# a comment"]}]}}})");
  Environment b = Parse(R"({"name": "other", "version": 4, "python": {"condaDependencies": {"dependencies":
      [{"pip": ["azureml-defaults   # ours", "torch == 1.9"]}, "numpy>=1.20", "python=3.8", "numpy>=1.20"], "channels": ["conda-forge"]}}})");
  EXPECT_EQ(BuildKey(a), BuildKey(b));
  EXPECT_EQ(DefinitionHash(a), DefinitionHash(b));
  b.conda.pip.push_back("six");
  EXPECT_NE(BuildKey(a), BuildKey(b));
  b = a;
  b.conda.channels = {"defaults", "conda-forge"};
  EXPECT_NE(BuildKey(a), BuildKey(b));
  std::swap(b.conda.channels[0], b.conda.channels[1]);
  Environment c = b;
  std::swap(c.conda.channels[0], c.conda.channels[1]);
  EXPECT_NE(BuildKey(b), BuildKey(c)) << "the first channel has priority";
}

TEST(EnvironmentKey, IsOfWhatIsBuilt) {
  Environment a = Parse(R"({"python": {"condaDependencies": {"dependencies": ["python=3.8"]}}})");
  Environment b = a;
  b.variables["A"] = "1";
  EXPECT_EQ(BuildKey(a), BuildKey(b));
  EXPECT_NE(DefinitionHash(a), DefinitionHash(b));
  b = a;
  b.docker.base_image = "debian";  // not enabled
  EXPECT_EQ(BuildKey(a), BuildKey(b));
  b.docker.enabled = true;
  EXPECT_NE(BuildKey(a), BuildKey(b));
  Environment c = b;
  c.docker.shm_size = "4g";
  c.docker.registry_password = "secret";
  EXPECT_EQ(BuildKey(b), BuildKey(c));
  EXPECT_EQ(BuildKey(Parse(R"({"python": {"userManagedDependencies": true, "interpreterPath": "/usr/bin/python3"}})")), "");
  c = a;
  c.lock = ToJson(Lock{"venv", "3.8.1", "linux-64", "", {{"numpy", "1.2", "pypi", "", "", "", ""}}, {}});
  EXPECT_NE(BuildKey(a), BuildKey(c));
}

TEST(EnvironmentJson, GoesBothWays) {
  const char* text = R"({"name": "e", "version": "2", "python": {"userManagedDependencies": false, "condaDependencies": {"channels": ["c"],
      "dependencies": ["python=3.8", {"pip": ["a", "b \\\n --hash=sha256:0"]}]}}, "docker": {"enabled": true, "baseDockerfile": "FROM x", "arguments": ["-v", "/a:/a"],
      "shmSize": "1g", "sharedVolumes": false, "gpuSupport": true, "baseImageRegistry": {"address": "r", "username": "u", "password": "p"}},
      "environmentVariables": {"N": 1, "T": "x", "B": true}})";
  Environment e = Parse(text);
  EXPECT_EQ(e.conda.pip, (std::vector<std::string>{"a", "b  --hash=sha256:0"}));
  EXPECT_EQ(e.variables.at("N"), "1");
  EXPECT_EQ(e.variables.at("B"), "true");
  EXPECT_EQ(*EnvironmentFromJson(ToJson(e, true)), e);
  EXPECT_EQ(ToJson(e).Dump().find("\"p\""), std::string::npos) << "a password is not shown";
}

TEST(EnvironmentJson, NamesWhatIsWrong) {
  EXPECT_EQ(Refused(R"({"python": 3})").field, "python");
  EXPECT_EQ(Refused(R"({"python": {"condaDependencies": {"dependencies": ["a", 1, true]}}})").field, "python.condaDependencies.dependencies[2]");
  EXPECT_EQ(Refused(R"({"python": {"condaDependencies": {"dependencies": [{"npm": []}]}}})").slug, "environment.section");
  EXPECT_EQ(Refused(R"({"docker": {"enabled": "yes"}})").field, "docker.enabled");
  EXPECT_EQ(Refused(R"({"docker": {"enabled": true}})").field, "docker.baseImage");
  EXPECT_EQ(Refused(R"({"docker": {"baseImage": "a", "baseDockerfile": "b"}})").slug, "environment.image");
  EXPECT_EQ(Refused(R"({"environmentVariables": {"a=b": "1"}})").slug, "environment.variable");
  EXPECT_EQ(Refused(R"({"lock": {"kind": "wheel"}})").field, "lock.kind");
  EXPECT_EQ(Refused(R"([])").slug, "field.type");
}

TEST(Difference, SaysWhatChanged) {
  Lock a{"venv", "3.11.2", "linux-64", "", {{"numpy", "1.24.1", "pypi", "", "", "", ""}, {"six", "1.16", "pypi", "", "", "", ""}}, {}};
  Lock b{"venv", "3.11.4", "linux-64", "", {{"NumPy", "1.26.0", "pypi", "", "", "", ""}, {"scipy", "1.10", "pypi", "", "", "", ""}}, {}};
  EXPECT_EQ(Difference(a, b), (std::vector<std::string>{"python 3.11.2 -> 3.11.4", "numpy 1.24.1 -> 1.26.0", "+ scipy 1.10", "- six 1.16"}));
  EXPECT_TRUE(Difference(a, a).empty());
  EXPECT_EQ(*LockFromJson(ToJson(a)), a);
  Environment c = Parse(R"({"python": {"condaDependencies": {"dependencies": ["python=3.8", {"pip": ["a==1"]}]}}, "environmentVariables": {"V": "1"}})");
  Environment d = Parse(R"({"python": {"condaDependencies": {"dependencies": ["python=3.9", {"pip": ["a == 1"]}]}}})");
  EXPECT_EQ(Difference(c, d), (std::vector<std::string>{"- conda python=3.8", "+ conda python=3.9", "variable V 1 -> none"}));
}

}  // namespace
}  // namespace ferry::model
