#include "model/registry.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "model/curated.h"

namespace ferry::model {
namespace {

TEST(Registry, RecordsRoundTrip) {
  EnvironmentRecord record;
  record.workspace = "default";
  record.name = "mine";
  record.version = 7;
  record.definition.conda.pip = {"numpy"};
  record.definition.docker.registry_address = "host";
  record.definition.docker.registry_password = "sealed:1:00";
  record.hash = "h";
  record.key = "k";
  record.description = "d";
  record.tags = {{"a", "b"}};
  record.user = "u";
  record.created = Time{5};
  record.deleted = true;
  auto back = EnvironmentRecordFromJson(*ParseJson(ToJson(record).Dump()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(ToJson(*back), ToJson(record));
  EXPECT_EQ(back->definition, record.definition);
  EXPECT_EQ(EnvironmentView(record).Dump().find("sealed"), std::string::npos) << "a password is never shown";
  EXPECT_EQ(EnvironmentView(record).Find("definition")->GetString("version"), "7");

  EnvironmentName name{"default", "mine", 9, 7, "h", "k", "d", Time{6}};
  EXPECT_EQ(ToJson(EnvironmentNameFromJson(ToJson(name))), ToJson(name));
  BuildRecord build{"k", "linux-64", "venv", "l", "a", 12, "/p", "local", 1.5, Time{1}, Time{2}};
  EXPECT_EQ(BuildFromJson(*ParseJson(ToJson(build).Dump())), build);
}

TEST(Registry, Names) {
  for (const char* good : {"a", "my-env_1.2", "Experiment e Environment", "7"}) EXPECT_TRUE(CheckEnvironmentName(good, "name").ok()) << good;
  for (const char* bad : {"", " a", "a ", "a  b", "a/b", "a@b", "a:b", "-a", "a..b", "ä", "a\nb"}) {
    auto checked = CheckEnvironmentName(bad, "name");
    ASSERT_FALSE(checked.ok()) << bad;
    EXPECT_EQ(checked.error().slug, "environment.name");
    EXPECT_EQ(checked.error().field, "name");
  }
  EXPECT_TRUE(CheckEnvironmentName(EnvironmentNameOfExperiment(std::string(255, 'e')), "name").ok());
  EXPECT_FALSE(CheckEnvironmentName(std::string(301, 'e'), "name").ok());
  for (const char* reserved : {"AzureML-Mine", "azuremlx", "Microsoft", "MICROSOFT.a"})
    EXPECT_EQ(CheckEnvironmentName(reserved, "n").error().slug, "environment.reserved");
}

TEST(Registry, References) {
  auto parsed = [](const char* text) {
    auto reference = ParseEnvironmentReference(text, "f");
    return reference.ok() ? StrCat(reference->name, "|", reference->version) : reference.error().slug;
  };
  EXPECT_EQ(parsed("mine"), "mine|0");
  EXPECT_EQ(parsed("mine@latest"), "mine|0");
  EXPECT_EQ(parsed("mine@3"), "mine|3");
  EXPECT_EQ(parsed("mine:3"), "mine|3");
  EXPECT_EQ(parsed("azureml:mine:12"), "mine|12");
  EXPECT_EQ(parsed("azureml:mine@latest"), "mine|0");
  EXPECT_EQ(parsed("Experiment e Environment@2"), "Experiment e Environment|2");
  for (const char* bad : {"", "@3", "mine@", "mine@0", "mine@-1", "mine@x", "mine:3:4", "mine@3@4"}) EXPECT_EQ(parsed(bad), "environment.reference") << bad;
}

TEST(Registry, PruneTakesTheLeastRecentlyUsed) {
  auto build = [](const char* key, int64_t size, int64_t used_days_ago) {
    BuildRecord record;
    record.key = key;
    record.archive = size ? "digest" : "";
    record.size = static_cast<uint64_t>(size);
    record.used = Time{1'000'000'000'000'000} - std::chrono::hours(24) * used_days_ago;
    return record;
  };
  Time now{1'000'000'000'000'000};
  std::vector<BuildRecord> builds = {build("new", 10, 0), build("old", 10, 30), build("older", 10, 40), build("none", 0, 99), build("used", 100, 50)};
  auto chosen = [&](PruneRule rule, const std::set<std::string>& in_use = {}) {
    std::string out;
    for (const BuildRecord& one : ChoosePrune(builds, rule, in_use, now)) out += StrCat(out.empty() ? "" : " ", one.key);
    return out;
  };
  EXPECT_EQ(chosen({}), "");
  EXPECT_EQ(chosen({std::chrono::hours(24) * 35, -1}), "used older");
  EXPECT_EQ(chosen({std::chrono::hours(24) * 35, -1}, {"used"}), "older");
  EXPECT_EQ(chosen({Duration(0), 30}), "used");
  EXPECT_EQ(chosen({Duration(0), 29}), "used older");
  EXPECT_EQ(chosen({Duration(0), 0}), "used older old new");
  EXPECT_EQ(chosen({Duration(0), 0}, {"used", "new"}), "older old") << "what is in use stays, however large";
  EXPECT_EQ(chosen({Duration(0), 1000}), "");
  EXPECT_EQ(chosen({std::chrono::hours(24) * 35, 15}), "used older old");
}

TEST(Curated, NamesAndWhatStandsForThem) {
  auto minimal = FindCurated("AzureML-Minimal", 0);
  ASSERT_TRUE(minimal);
  EXPECT_EQ(minimal->record.version, 1);
  EXPECT_EQ(minimal->note, "");
  EXPECT_TRUE(FindCurated("azureml-minimal", 1)) << "whatever its case";
  EXPECT_FALSE(FindCurated("AzureML-Minimal", 99));
  EXPECT_FALSE(FindCurated("AzureML-Chainer-5.1.0-GPU", 0));
  EXPECT_FALSE(FindCurated("mine", 0));

  // The names that the articles use.
  for (const auto& [name, real] : std::map<std::string, std::string>{{"AzureML-PyTorch-1.6-GPU", "AzureML-PyTorch-CPU"},
                                                                     {"AzureML-TensorFlow-2.2-GPU", "AzureML-TensorFlow-CPU"},
                                                                     {"AzureML-Tutorial", "AzureML-Sklearn"},
                                                                     {"AzureML-sklearn-0.24-ubuntu18.04-py37-cpu", "AzureML-Sklearn"},
                                                                     {"azureml-tensorflow-2.11-cuda11", "AzureML-TensorFlow-CPU"},
                                                                     {"AzureML-pytorch-9.9-new", "AzureML-PyTorch-CPU"}}) {
    auto found = FindCurated(name, 7);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->record.name, real);
    EXPECT_EQ(found->alias, name);
    EXPECT_NE(found->note.find(StrCat("'", name, "' is not Azure's: here it is '", real, "' version 1 with python=3.11, azureml-defaults")), std::string::npos)
        << found->note;
  }
}

TEST(Curated, EachIsPinnedAndCanBeRead) {
  std::set<std::string> names;
  for (const Curated& one : AllCurated()) {
    EXPECT_TRUE(names.insert(one.alias.empty() ? one.record.name : one.alias).second);
    EXPECT_TRUE(IsReservedEnvironmentName(one.record.name));
    auto back = EnvironmentFromJson(ToJson(one.record.definition));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, one.record.definition);
    EXPECT_EQ(one.record.key, BuildKey(one.record.definition));
    for (const std::string& line : one.record.definition.conda.pip) EXPECT_TRUE(line == "azureml-defaults" || line.find("==") != std::string::npos) << line;
  }
  EXPECT_GE(names.size(), 10u);
}

}  // namespace
}  // namespace ferry::model
