#include "model/registered_model.h"

#include <gtest/gtest.h>

namespace ferry::model {
namespace {

RegisteredModel Full() {
  RegisteredModel model;
  model.workspace = "team";
  model.name = "m";
  model.version = 3;
  model.latest = true;
  model.description = "d";
  model.tags = {{"a", "b"}};
  model.properties = {{"p", "q"}};
  model.framework = "ScikitLearn";
  model.framework_version = "1.2";
  model.run = "r";
  model.experiment = "e";
  model.datasets = {{"training", "id1"}, {"validation", "id1"}};
  model.sample_input_dataset = "id2";
  model.sample_output_dataset = "id3";
  model.resources = ModelResources{0.5, 2, 1};
  model.manifest = std::string(64, 'a');
  model.file_count = 2;
  model.size = 12;
  model.user = "u";
  model.created = Time{5};
  model.modified = Time{6};
  return model;
}

TEST(RegisteredModel, RoundTrips) {
  for (const RegisteredModel& model : {Full(), RegisteredModel()}) EXPECT_EQ(ModelFromJson(*ParseJson(ToJson(model).Dump())), model);
}

TEST(RegisteredModel, View) {
  Json view = ModelView(Full());
  EXPECT_EQ(view.GetString("id"), "m:3");
  EXPECT_EQ(view.Find("datasets")->Dump(), R"([["training","id1"],["validation","id1"]])");
  EXPECT_EQ(view.Find("resources")->Dump(), R"({"cpu":0.5,"memory_in_gb":2.0,"gpu":1})");
  EXPECT_EQ(view.Find("manifest"), nullptr);
  view = ModelView(RegisteredModel());
  for (const char* absent : {"run", "experiment", "framework", "sample_input_dataset", "resources"}) EXPECT_TRUE(view.Find(absent)->is_null()) << absent;
}

TEST(RegisteredModel, ManifestsAreOrderedAndSearched) {
  std::vector<ModelFile> files = {
      {"m/b", HashBytes("b"), 1}, {"m/a", HashBytes("a"), 2}, {"m/a\n{\"path\":\"m/x\",", HashBytes("c"), 3}, {"ä \"q\"", HashBytes("d"), 4}};
  std::string manifest = ModelManifest(files);
  auto back = FilesOfManifest(manifest);
  ASSERT_TRUE(back.ok());
  ASSERT_EQ(back->size(), 4u);
  EXPECT_EQ((*back)[0], files[1]);
  EXPECT_EQ((*back)[3], files[3]);
  for (const ModelFile& file : files) {
    auto found = FileOfManifest(manifest, file.path);
    ASSERT_TRUE(found.ok() && *found) << file.path;
    EXPECT_EQ(**found, file);
  }
  for (const char* none : {"", "m", "m/", "m/x", "m/aa", "/m/a"}) EXPECT_FALSE(*FileOfManifest(manifest, none)) << none;
  EXPECT_FALSE(*FileOfManifest("", "m"));
  EXPECT_TRUE(FilesOfManifest("")->empty());
  EXPECT_EQ(FilesOfManifest("{}\n").error().slug, "model.manifest");
  EXPECT_FALSE(FilesOfManifest("rubbish").ok());
}

}  // namespace
}  // namespace ferry::model
