#include "model/dataset.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ferry::model {
namespace {

Json Parsed(std::string_view text) { return *ParseJson(text); }

TEST(Dataset, RoundTrips) {
  Dataset dataset;
  EXPECT_EQ(DatasetFromJson(Parsed(ToJson(dataset).Dump())), dataset);
  dataset.workspace = "team";
  dataset.id = DatasetId("team", "d", 2);
  dataset.name = "d";
  dataset.version = 2;
  dataset.latest = true;
  dataset.type = "Tabular";
  dataset.definition = Parsed(R"({"paths":[{"url":"https://h/a"}],"read":{"x":[1,2.5,null,true]}})");
  dataset.hash = DatasetHash(dataset.type, dataset.definition);
  dataset.description = "x";
  dataset.tags = {{"a", "b"}};
  dataset.user = "u";
  dataset.created = Time{5};
  dataset.modified = Time{6};
  dataset.archived = true;
  dataset.deprecated_by = DatasetId("team", "h");
  EXPECT_EQ(DatasetFromJson(Parsed(ToJson(dataset).Dump())), dataset);
  EXPECT_EQ(DatasetView(dataset).GetInt("version"), 2);
  EXPECT_TRUE(DatasetView(Dataset()).Find("version")->is_null());
}

TEST(Dataset, TheSameDefinitionHasTheSameHashAndId) {
  Json one = Parsed(R"({"paths":[{"datastore":"a","path":"b"}],"read":{"x":{"k":1,"l":2},"y":2}})");
  Json other = Parsed(R"({"read":{"y":2,"x":{"l":2,"k":1}},"paths":[{"path":"b","datastore":"a"}]})");
  EXPECT_EQ(DatasetHash("File", one), DatasetHash("File", other));
  EXPECT_NE(DatasetHash("File", one), DatasetHash("Tabular", one));
  EXPECT_NE(DatasetHash("File", one), DatasetHash("File", Parsed(R"({"paths":[{"datastore":"a","path":"c"}]})")));
  std::string id = DatasetId("default", DatasetHash("File", one));
  EXPECT_TRUE(IsDatasetId(id)) << id;
  EXPECT_NE(id, DatasetId("team", DatasetHash("File", one)));
  EXPECT_NE(DatasetId("default", "d", 1), DatasetId("default", "d", 2));
  EXPECT_EQ(id[14], '8');
  for (const char* bad : {"", "x", "0000", "00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-0000000000000",
                          "00000000-0000-0000-0000-00000000000G", "0000000000000-0000-0000-000000000000", "00000000-0000-0000-0000-0000/00000000"})
    EXPECT_FALSE(IsDatasetId(bad)) << bad;
}

TEST(Dataset, Names) {
  for (const char* good : {"titanic", "diabetes dataset", "a-b_c.1"}) EXPECT_TRUE(CheckDatasetName(good).ok()) << good;
  for (const char* bad : {"", " a", "a/b", "a:b", "a..b", "ä", "a\nb"}) EXPECT_EQ(CheckDatasetName(bad).error().slug, "dataset.name") << bad;
  EXPECT_FALSE(CheckDatasetName(std::string(256, 'a')).ok());
}

TEST(Dataset, Definitions) {
  auto good = CheckDatasetDefinition(Parsed(
      R"({"paths":[{"datastore":"one","path":"a/**/*.csv"},{"datastore":"two","path":""},{"datastore":"two","path":"folder/"},{"datastore":"two"},
          {"url":"https://host:1/a?b=c"}],"read":null,"steps":[["x",{"deep":[1]}]]})"));
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(*good, (std::map<std::string, std::string>{{"one", "definition.paths[0].datastore"}, {"two", "definition.paths[1].datastore"}}));

  auto wrong = [](std::string_view text) {
    auto checked = CheckDatasetDefinition(Parsed(text));
    return checked.ok() ? std::string("good") : StrCat(checked.error().slug, " ", checked.error().field);
  };
  auto path = [&](std::string_view text) { return wrong(StrCat(R"({"paths":[{"url":"http://h"},)", text, "]}")); };
  EXPECT_EQ(wrong("[]"), "dataset.definition definition");
  EXPECT_EQ(wrong("{}"), "dataset.definition definition.paths");
  EXPECT_EQ(wrong(R"({"paths":[]})"), "dataset.definition definition.paths");
  EXPECT_EQ(wrong(R"({"paths":{}})"), "dataset.definition definition.paths");
  EXPECT_EQ(wrong(R"({"paths":[{"url":"http://h"}],"read":[]})"), "dataset.definition definition.read");
  EXPECT_EQ(wrong(R"({"paths":[{"url":"http://h"}],"steps":{}})"), "dataset.definition definition.steps");
  EXPECT_EQ(wrong(R"({"paths":[{"url":"http://h"}],"colour":1})"), "dataset.definition definition.colour");
  EXPECT_EQ(path("7"), "dataset.definition definition.paths[1]");
  EXPECT_EQ(path("{}"), "dataset.definition definition.paths[1]");
  EXPECT_EQ(path(R"({"path":"a"})"), "dataset.definition definition.paths[1]");
  EXPECT_EQ(path(R"({"datastore":"a","path":"b","url":"http://h"})"), "dataset.definition definition.paths[1]");
  EXPECT_EQ(path(R"({"datastore":"a","path":7})"), "dataset.definition definition.paths[1].path");
  EXPECT_EQ(path(R"({"datastore":"a b","path":""})"), "datastore.name definition.paths[1].datastore");
  EXPECT_EQ(path(R"({"datastore":"a","path":"b","more":""})"), "dataset.definition definition.paths[1].more");
  for (const char* outside : {"/a", "..", "../a", "a/../b", "a/./b", "a//b", "/", "//", "a\\u0000", "a\\nb"})
    EXPECT_EQ(path(StrCat(R"({"datastore":"a","path":")", outside, "\"}")), "dataset.definition definition.paths[1].path") << outside;
  EXPECT_EQ(path(StrCat(R"({"datastore":"a","path":")", std::string(1025, 'a'), "\"}")), "dataset.definition definition.paths[1].path");
  for (const char* url : {"", "h", "ftp://h/a", "http://", "https:///a", "http://h/a b", "http://h/\\n", "file:///etc/passwd", "HTTP//h"})
    EXPECT_EQ(path(StrCat(R"({"url":")", url, "\"}")), "dataset.definition definition.paths[1].url") << url;
  EXPECT_EQ(wrong(StrCat(R"({"paths":[{"url":"http://h"}],"read":{"x":")", std::string(256 << 10, 'x'), "\"}}")), "dataset.too_large definition");
}

}  // namespace
}  // namespace ferry::model
