#include "model/data.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ferry::model {
namespace {

std::string InputError(const std::string& text) {
  auto inputs = DataInputsFromJson(*ParseJson(text), "workspaceblobstore");
  return inputs.ok() ? "" : StrCat(inputs.error().slug, " ", inputs.error().field);
}
std::string OutputError(const std::string& text) {
  auto outputs = DataOutputsFromJson(*ParseJson(text), "workspaceblobstore");
  return outputs.ok() ? "" : StrCat(outputs.error().slug, " ", outputs.error().field);
}

TEST(Data, InputsAndBack) {
  auto inputs =
      DataInputsFromJson(*ParseJson(R"({"train":{"paths":[{"path":"./a/b/"},{"datastore":"d","path":"x/*.csv"},{"url":"https://h/f"}],"mode":"Download",
      "path_on_compute":"/tmp/x/","environment_variable":"V","overwrite":true,"dataset":"id"},"d-2":{"mode":"direct","dataset":"q"}})"),
                         "default");
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  const DataInput& train = inputs->at("train");
  EXPECT_EQ(train.paths[0], (DataPath{"default", "a/b", ""}));
  EXPECT_EQ(train.paths[1], (DataPath{"d", "x/*.csv", ""}));
  EXPECT_EQ(train.paths[2], (DataPath{"", "", "https://h/f"}));
  EXPECT_EQ(train.mode, DataMode::kDownload);
  EXPECT_EQ(train.path_on_compute, "/tmp/x");
  EXPECT_EQ(*DataInputsFromJson(ToJson(*inputs), "other"), *inputs);
}

TEST(Data, OutputsAndBack) {
  auto outputs = DataOutputsFromJson(
      *ParseJson(R"({"o":{},"p":{"datastore":"d","path":"m/{run-id}","mode":"mount","path_on_compute":"out","overwrite":true,"globs":["*.txt"],
      "register":{"name":"n","description":"t","tags":{"a":"b"}}}})"),
      "default");
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(outputs->at("o").datastore, "default");
  EXPECT_EQ(FilledPath(outputs->at("o"), "o", "run_1"), "dataset/run_1/o");
  EXPECT_EQ(FilledPath(outputs->at("p"), "p", "run_1"), "m/run_1");
  EXPECT_EQ(*DataOutputsFromJson(ToJson(*outputs), "other"), *outputs);
}

TEST(Data, RefusesWithTheField) {
  EXPECT_EQ(InputError(R"({"a":{"paths":[]}})"), "data.no_path data.a.paths");
  EXPECT_EQ(InputError(R"({"a b":{"paths":[{"path":"x"}]}})"), "data.name data.a b");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"path":"x/../../y"}]}})"), "data.path data.a.paths[0].path");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"path":"x","url":"http://h"}]}})"), "data.path data.a.paths[0].url");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"url":"file:///etc/passwd"}]}})"), "data.url data.a.paths[0].url");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"url":"http://u:p@h/x"}]}})"), "data.url data.a.paths[0].url");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"url":"http:///x"}]}})"), "data.url data.a.paths[0].url");
  EXPECT_EQ(InputError(R"({"a":{"path":[]}})"), "field.unknown data.a.path");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"path":"x"}],"mode":"upload"}})"), "data.mode data.a.mode");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"path":"x"}],"path_on_compute":"/etc/x"}})"), "data.path_on_compute data.a.path_on_compute");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"path":"x"}],"path_on_compute":"/tmp/../etc"}})"), "data.path data.a.path_on_compute");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"path":"x"}],"path_on_compute":"."}})"), "data.path_on_compute data.a.path_on_compute");
  EXPECT_EQ(InputError(R"({"a":{"paths":[{"path":"x"}],"environment_variable":"a=b"}})"), "data.environment_variable data.a.environment_variable");
  EXPECT_EQ(InputError(R"({"a":{"mode":"direct"}})"), "data.direct data.a.dataset");
  EXPECT_EQ(InputError(R"([])"), "field.type data");
  EXPECT_EQ(OutputError(R"({"a":{"path":"x/*"}})"), "data.path outputs.a.path");
  EXPECT_EQ(OutputError(R"({"a":{"path":"../x"}})"), "data.path outputs.a.path");
  EXPECT_EQ(OutputError(R"({"a":{"mode":"download"}})"), "data.mode outputs.a.mode");
  EXPECT_EQ(OutputError(R"({"a":{"globs":"*"}})"), "field.type outputs.a.globs");
  EXPECT_EQ(OutputError(R"({"a":{"register":{}}})"), "data.register outputs.a.register.name");
  EXPECT_EQ(OutputError(R"({"a":{"overwrite":1}})"), "field.type outputs.a.overwrite");
}

TEST(Data, Globs) {
  for (auto [glob, path] : std::vector<std::pair<const char*, const char*>>{{"*.csv", "a.csv"},
                                                                            {"*", "a"},
                                                                            {"a/*/c", "a/b/c"},
                                                                            {"**", "a/b/c"},
                                                                            {"a/**", "a/b/c"},
                                                                            {"**/c.txt", "c.txt"},
                                                                            {"**/c.txt", "a/b/c.txt"},
                                                                            {"a/**/d", "a/d"},
                                                                            {"a/**/d", "a/b/c/d"},
                                                                            {"a?c*", "abcdef"},
                                                                            {"*a*b*", "xxaxxbxx"},
                                                                            {"**/x*/**", "a/xy/b/c"}})
    EXPECT_TRUE(MatchesGlob(glob, path)) << glob << " " << path;
  for (auto [glob, path] : std::vector<std::pair<const char*, const char*>>{
           {"*.csv", "a/b.csv"}, {"*", "a/b"}, {"a/*", "a"}, {"a/*/c", "a/c"}, {"a?", "a"}, {"a?b", "a/b"}, {"**/d", "a/b"}, {"a/**/d", "b/d"}, {"abc", "ab"}})
    EXPECT_FALSE(MatchesGlob(glob, path)) << glob << " " << path;
  EXPECT_FALSE(MatchesGlob("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a'))) << "and soon";
  EXPECT_EQ(FolderOfGlob("a/b/*.csv"), "a/b");
  EXPECT_EQ(FolderOfGlob("a/b?/c"), "a");
  EXPECT_EQ(FolderOfGlob("*"), "");
  EXPECT_EQ(FolderOfGlob("a/b"), "a/b");
  EXPECT_EQ(CommonFolder("a/b/c", "a/b/d"), "a/b");
  EXPECT_EQ(CommonFolder("a/b", "ab"), "");
  EXPECT_EQ(CommonFolder("", "a"), "");
}

TEST(Data, Substitution) {
  std::map<std::string, std::string> values = {{"a", "/data/a"}, {"a-b", "/data/ab"}, {"out", "/o"}};
  EXPECT_EQ(SubstituteData("DatasetConsumptionConfig:a", values), "/data/a");
  EXPECT_EQ(SubstituteData("--x=DatasetConsumptionConfig:a/sub DatasetOutputConfig:out", values), "--x=/data/a/sub /o");
  EXPECT_EQ(SubstituteData("$AZUREML_DATAREFERENCE_a-b/x ${AZUREML_DATAREFERENCE_a}b", values), "/data/ab/x /data/ab");
  EXPECT_EQ(SubstituteData("$AZUREML_DATAREFERENCE_q ${AZUREML_DATAREFERENCE_a $HOME", values), "$AZUREML_DATAREFERENCE_q ${AZUREML_DATAREFERENCE_a $HOME");
  EXPECT_EQ(UnknownData("DatasetConsumptionConfig:a DatasetOutputConfig:x", values), "DatasetOutputConfig:x");
  EXPECT_EQ(UnknownData("$AZUREML_DATAREFERENCE_q", values), "");
}

}  // namespace
}  // namespace ferry::model
