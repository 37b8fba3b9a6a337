// The registries of models and datasets, on the core without its thread.
#include <gtest/gtest.h>

#include "base/text.h"
#include "engine/core.h"
#include "store/memory/memory_store.h"

namespace ferry::engine {
namespace {

class AssetsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(core_.Recover(Time{1}).ok());
    Good(CreateWorkspace{{"default", "", "", {}, {}}, true});
  }
  Result<Json> Do(const Input& input) {
    auto result = core_.Apply(input, now_);
    EXPECT_TRUE(core_.Commit(now_).ok());
    now_ = now_ + std::chrono::seconds(1);
    return result;
  }
  Json Good(const Input& input) {
    auto result = Do(input);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? *result : Json();
  }
  static RegisterModel Model(const std::string& name, const std::string& run = "") {
    model::RegisteredModel model;
    model.workspace = "default";
    model.name = name;
    model.run = run;
    model.tags = {{"team", "vision"}};
    return {model};
  }
  static SaveDataset Data(const std::string& name, const std::string& url, bool create_new_version = false) {
    SaveDataset save;
    save.dataset.workspace = "default";
    save.dataset.name = name;
    save.dataset.type = "File";
    save.dataset.definition = Json::MakeObject({{"paths", Json::Array{Json::MakeObject({{"url", url}})}}});
    save.dataset.hash = model::DatasetHash("File", save.dataset.definition);
    save.create_new_version = create_new_version;
    return save;
  }
  static UpdateModel ModelChange(const std::string& name, int64_t version = 0) {
    UpdateModel update;
    update.workspace = "default";
    update.name = name;
    update.version = version;
    return update;
  }
  static UpdateDataset DatasetChange(const std::string& name, int64_t version = 0) {
    UpdateDataset update;
    update.workspace = "default";
    update.name = name;
    update.version = version;
    return update;
  }
  // "2 new", "2" or the slug of an error.
  std::string Saved(const SaveDataset& save) {
    auto result = Do(save);
    return result.ok() ? StrCat(result->GetInt("version"), result->GetBool("new") ? " new" : "") : result.error().slug;
  }
  std::string Latest(const std::string& table) {
    auto page = store_->Find({table, {{{"", "latest"}, store::Op::kEq, {int64_t{1}}}}, {{"", "key"}, false}, {}, 100});
    std::string out;
    for (const store::Document& document : page->documents) {
      Json json = *ParseJson(document.body);
      out += StrCat(out.empty() ? "" : " ", json.GetString("name"), ":", json.GetInt("version"));
    }
    return out;
  }

  std::unique_ptr<store::Store> store_ = store::OpenMemoryStore(Tables());
  Core core_{*store_, {}};
  Time now_{1'000'000};
};

TEST_F(AssetsTest, EveryRegistrationIsAVersion) {
  EXPECT_EQ(Good(Model("a")).GetString("id"), "a:1");
  EXPECT_EQ(Good(Model("a")).GetString("id"), "a:2");
  EXPECT_EQ(Good(Model("b")).GetString("id"), "b:1");
  EXPECT_EQ(Latest("model"), "a:2 b:1");
  RegisterModel lost = Model("a");
  lost.model.workspace = "nowhere";
  EXPECT_EQ(Do(lost).error().slug, "workspace.not_found");
}

TEST_F(AssetsTest, ManyInOneBatch) {
  EXPECT_EQ(core_.Apply(Model("a"), now_)->GetInt("version"), 1);
  EXPECT_EQ(core_.Apply(Model("a"), now_)->GetInt("version"), 2);
  EXPECT_TRUE(core_.Apply(DeleteModel{"default", "a", 2}, now_).ok());
  EXPECT_EQ(core_.Apply(DeleteModel{"default", "a", 2}, now_).error().slug, "model.not_found");
  EXPECT_EQ(core_.Apply(Model("a"), now_)->GetInt("version"), 3);
  UpdateModel tag_it = ModelChange("a");
  tag_it.set_tags = {{"x", "y"}};
  EXPECT_TRUE(core_.Apply(tag_it, now_).ok());
  ASSERT_TRUE(core_.Commit(now_).ok());
  EXPECT_EQ(Latest("model"), "a:3");
  auto tagged = store_->Find({"model", {{{"tag", "x"}, store::Op::kEq, {"y"}}}, {{"", "key"}, false}, {}, 10});
  ASSERT_EQ(tagged->documents.size(), 1u);
  EXPECT_EQ(tagged->documents[0].key, ModelKey("default", "a", 3));
  tagged = store_->Find({"model", {{{"tag", "team"}, store::Op::kExists, {}}}, {{"", "key"}, false}, {}, 10});
  EXPECT_EQ(tagged->documents.size(), 2u) << "one that is no longer the latest keeps its tags";
}

TEST_F(AssetsTest, DeletedNumbersDoNotComeAgain) {
  for (int i = 0; i < 4; ++i) Good(Model("a"));
  Good(DeleteModel{"default", "a", 3});
  EXPECT_EQ(Latest("model"), "a:4");
  Good(DeleteModel{"default", "a", 4});
  EXPECT_EQ(Latest("model"), "a:2");
  EXPECT_EQ(Do(DeleteModel{"default", "a", 4}).error().slug, "model.not_found");
  EXPECT_EQ(Good(Model("a")).GetInt("version"), 5);
  for (int version : {1, 2, 5}) Good(DeleteModel{"default", "a", version});
  EXPECT_EQ(Latest("model"), "");
  EXPECT_EQ(Do(ModelChange("a")).error().slug, "model.not_found");
  Core restarted(*store_, {});
  ASSERT_TRUE(restarted.Recover(now_).ok());
  EXPECT_EQ(restarted.Apply(Model("a"), now_)->GetInt("version"), 6);
}

TEST_F(AssetsTest, ModelsAreChanged) {
  Good(Model("a"));
  Good(Model("a"));
  UpdateModel update = ModelChange("a", 1);
  update.set_tags = {{"x", "1"}, {"y", "2"}};
  update.remove_tags = {"team", "none"};
  update.add_properties = {{"p", "q"}};
  update.add_datasets = {{"training", "id"}, {"training", "id"}};
  update.description = "d";
  update.framework = "Onnx";
  update.resources = model::ModelResources{1, 2, 0};
  Json view = Good(update);
  EXPECT_EQ(view.Find("tags")->Dump(), R"({"x":"1","y":"2"})");
  EXPECT_EQ(view.Find("datasets")->Dump(), R"([["training","id"]])");
  EXPECT_EQ(view.GetString("framework"), "Onnx");
  EXPECT_NE(view.GetString("modified"), view.GetString("created"));
  EXPECT_EQ(view.GetInt("version"), 1);
  EXPECT_EQ(Latest("model"), "a:2");
  update = ModelChange("a", 1);
  update.add_properties = {{"p", "q"}, {"new", "x"}};
  Good(update);
  update.set_tags = {{"z", "3"}};
  update.add_properties = {{"p", "other"}};
  auto refused = Do(update);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().slug, "property.immutable");
  EXPECT_EQ(refused.error().field, "add_properties.p");
  auto tagged = store_->Find({"model", {{{"tag", "z"}, store::Op::kExists, {}}}, {{"", "key"}, false}, {}, 10});
  EXPECT_TRUE(tagged->documents.empty()) << "nothing of a refused change is kept";
  update = ModelChange("a", 1);
  for (int i = 0; i < 501; ++i) update.set_tags[StrCat("t", i)] = "";
  EXPECT_EQ(Do(update).error().slug, "field.too_many");
}

TEST_F(AssetsTest, ADatasetWithoutANameIsItsDefinition) {
  Json first = Good(Data("", "http://h/a")), again = Good(Data("", "http://h/a")), other = Good(Data("", "http://h/b"));
  EXPECT_TRUE(first.GetBool("new"));
  EXPECT_FALSE(again.GetBool("new"));
  EXPECT_EQ(again.GetString("id"), first.GetString("id"));
  EXPECT_NE(other.GetString("id"), first.GetString("id"));
  EXPECT_EQ(Latest("dataset"), "");
}

TEST_F(AssetsTest, ADatasetsVersions) {
  EXPECT_EQ(Saved(Data("d", "http://h/a")), "1 new");
  EXPECT_EQ(Saved(Data("d", "http://h/a")), "1");
  EXPECT_EQ(Saved(Data("d", "http://h/a", true)), "1") << "there is nothing new in it";
  EXPECT_EQ(Saved(Data("d", "http://h/b")), "dataset.exists");
  EXPECT_EQ(Saved(Data("d", "http://h/b", true)), "2 new");
  EXPECT_EQ(Saved(Data("d", "http://h/a", true)), "3 new") << "what was registered last is the latest";
  EXPECT_EQ(Latest("dataset"), "d:3");
  SaveDataset described = Data("d", "http://h/a");
  described.dataset.description = "x";
  described.dataset.tags = {{"k", "v"}};
  Json view = Good(described);
  EXPECT_FALSE(view.GetBool("new"));
  EXPECT_EQ(view.GetString("description"), "x");
  EXPECT_EQ(view.Find("tags")->Dump(), R"({"k":"v"})");
  SaveDataset lost = Data("d", "http://h/a");
  lost.dataset.workspace = "nowhere";
  EXPECT_EQ(Saved(lost), "workspace.not_found");
}

TEST_F(AssetsTest, UnregisteredDatasetsStayByTheirIds) {
  std::string id = Good(Data("d", "http://h/a")).GetString("id");
  Saved(Data("d", "http://h/b", true));
  EXPECT_EQ(Good(UnregisterDataset{"default", "d"}).GetInt("versions"), 2);
  EXPECT_EQ(Do(UnregisterDataset{"default", "d"}).error().slug, "dataset.not_found");
  EXPECT_EQ(Do(DatasetChange("d", 1)).error().slug, "dataset.not_found");
  EXPECT_EQ(Latest("dataset"), "");
  EXPECT_TRUE(*store_->Get("dataset", DatasetKey("default", id)));
  EXPECT_EQ(Saved(Data("d", "http://h/a")), "3 new") << "a number is never given again";
  EXPECT_EQ(Good(UnregisterDataset{"default", "d"}).GetInt("versions"), 1);
}

TEST_F(AssetsTest, DatasetsAreChanged) {
  Saved(Data("d", "http://h/a"));
  UpdateDataset update = DatasetChange("d");
  update.set_tags = {{"a", "b"}};
  update.archived = true;
  update.deprecated_by = "id";
  update.description = "x";
  Json view = Good(update);
  EXPECT_TRUE(view.GetBool("archived"));
  EXPECT_EQ(view.GetString("deprecated_by"), "id");
  EXPECT_EQ(view.Find("tags")->Dump(), R"({"a":"b"})");
  update = DatasetChange("d", 1);
  update.remove_tags = {"a"};
  update.deprecated_by = "";
  view = Good(update);
  EXPECT_TRUE(view.Find("deprecated_by")->is_null());
  EXPECT_TRUE(view.Find("tags")->as_object().empty());
  EXPECT_EQ(view.GetString("description"), "x");
  EXPECT_EQ(Do(DatasetChange("d", 2)).error().slug, "dataset.not_found");
}

}  // namespace
}  // namespace ferry::engine
