// What every Store promises, as tests. A backend's test includes this once and says
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(StoreBackend{"memory", factory}));
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "store/store.h"

namespace ferry::store {

// Makes empty stores of one backend.
struct StoreBackend {
  std::string name;
  std::function<std::unique_ptr<Store>(std::vector<TableSpec>)> open;

  friend void PrintTo(const StoreBackend& backend, std::ostream* out) { *out << backend.name; }
};

inline std::vector<TableSpec> ConformanceTables() {
  return {{"run",
           {{"experiment", ColumnType::kText, true},
            {"created", ColumnType::kInt, true},
            {"score", ColumnType::kReal, false},
            {"status", ColumnType::kText, false}},
           {{"status", "created"}}},
          {"job", {{"state", ColumnType::kText, true}}, {}}};
}

inline Put PutRun(std::string key, std::vector<Value> columns, std::vector<Attribute> attributes = {}, std::string body = "body") {
  std::set<std::string> kinds;
  for (const Attribute& attribute : attributes) kinds.insert(attribute.kind);
  return {"run", {std::move(key), std::move(body), std::move(columns)}, {kinds.begin(), kinds.end()}, std::move(attributes)};
}

inline std::vector<std::string> Keys(const Page& page) {
  std::vector<std::string> keys;
  for (const Document& document : page.documents) keys.push_back(document.key);
  return keys;
}

// Every page of the query, one after the other.
inline std::vector<std::string> AllKeys(Store& store, Query query) {
  std::vector<std::string> keys;
  query.cursor.clear();
  do {
    auto page = store.Find(query);
    EXPECT_TRUE(page.ok()) << page.error().message;
    if (!page.ok()) break;
    for (const Document& document : page->documents) keys.push_back(document.key);
    query.cursor = page->next;
  } while (!query.cursor.empty());
  return keys;
}

class StoreConformance : public testing::TestWithParam<StoreBackend> {
 protected:
  void SetUp() override { store_ = GetParam().open(ConformanceTables()); }

  void Commit(std::vector<Change> changes) {
    auto result = store_->Commit(changes);
    ASSERT_TRUE(result.ok()) << result.error().message;
  }
  std::vector<std::string> Find(std::vector<Condition> where, Order order = {{"", "key"}, false}) {
    return AllKeys(*store_, {"run", std::move(where), std::move(order), "", 3});
  }

  using Strings = std::vector<std::string>;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreConformance, PutsGetsAndErases) {
  Commit({PutRun("a", {"e1", int64_t{5}, 0.5, "done"}, {}, std::string("b\0dy", 4))});
  auto got = store_->Get("run", "a");
  ASSERT_TRUE(got.ok());
  ASSERT_TRUE(got->has_value());
  EXPECT_EQ((*got)->body, std::string("b\0dy", 4));
  EXPECT_EQ((*got)->columns, (std::vector<Value>{"e1", int64_t{5}, 0.5, "done"}));

  Commit({PutRun("a", {"e2"})});
  got = store_->Get("run", "a");
  EXPECT_EQ((*got)->columns, (std::vector<Value>{"e2", {}, {}, {}}));

  EXPECT_FALSE((*store_->Get("job", "a")).has_value());
  Commit({Erase{"run", "a"}, Erase{"run", "unknown"}});
  EXPECT_FALSE((*store_->Get("run", "a")).has_value());
  EXPECT_EQ(store_->Get("nowhere", "a").error().slug, "store.unknown_table");
}

TEST_P(StoreConformance, KeepsTypesOfColumns) {
  Commit({PutRun("a", {{}, {}, int64_t{3}})});
  EXPECT_EQ((*store_->Get("run", "a"))->columns[2], Value(3.0));
  Commit({PutRun("a", {{}, {}, std::numeric_limits<double>::quiet_NaN()})});
  EXPECT_EQ((*store_->Get("run", "a"))->columns[2], Value());
  Commit({PutRun("a", {{}, {}, -std::numeric_limits<double>::infinity()})});
  EXPECT_EQ((*store_->Get("run", "a"))->columns[2], Value(-std::numeric_limits<double>::infinity()));
  std::vector<Change> wrong{PutRun("b", {}), PutRun("a", {int64_t{1}})};
  EXPECT_EQ(store_->Commit(wrong).error().slug, "store.bad_value");
  EXPECT_FALSE((*store_->Get("run", "b")).has_value());
}

TEST_P(StoreConformance, ReplacesAttributesByKind) {
  Commit({PutRun("a", {}, {{"tag", "x", "1"}, {"tag", "y", "2"}, {"metric", "loss", 0.5}})});
  Put put = PutRun("a", {}, {{"tag", "z", "3"}});
  Commit({put});
  EXPECT_EQ(*store_->Attributes("run", "a", "tag"), (std::vector<Attribute>{{"tag", "z", "3"}}));
  EXPECT_EQ(*store_->Attributes("run", "a", "metric"), (std::vector<Attribute>{{"metric", "loss", 0.5}}));

  Commit({PutAttributes{"run", "a", {{"metric", "loss", 0.25}, {"metric", "acc", int64_t{1}}}}});
  EXPECT_EQ(*store_->Attributes("run", "a", "metric"), (std::vector<Attribute>{{"metric", "acc", int64_t{1}}, {"metric", "loss", 0.25}}));
  // An absent value (or NaN) removes the attribute.
  Commit({PutAttributes{"run", "a", {{"metric", "loss", {}}, {"metric", "acc", std::numeric_limits<double>::quiet_NaN()}}}});
  EXPECT_TRUE(store_->Attributes("run", "a", "metric")->empty());

  Commit({PutAttributes{"run", "unknown", {{"tag", "x", "1"}}}});
  EXPECT_TRUE(store_->Attributes("run", "unknown", "tag")->empty());
  EXPECT_FALSE((*store_->Get("run", "unknown")).has_value());

  Commit({Erase{"run", "a"}, PutRun("a", {})});
  EXPECT_TRUE(store_->Attributes("run", "a", "tag")->empty());
  put.attribute_kinds = {"tag"};
  put.attributes = {};
  Commit({PutRun("a", {}, {{"tag", "x", "1"}}), put});
  EXPECT_TRUE(store_->Attributes("run", "a", "tag")->empty());
}

TEST_P(StoreConformance, CommitsAllOrNothing) {
  std::vector<Change> changes{PutRun("a", {}), Put{"nowhere", {"b", "", {}}, {}, {}}};
  EXPECT_EQ(store_->Commit(changes).error().code, Code::kInvalid);
  EXPECT_FALSE((*store_->Get("run", "a")).has_value());
  EXPECT_TRUE(store_->Commit({}).ok());
  Commit({PutRun("a", {"1"}), Erase{"run", "a"}, PutRun("a", {"2"})});
  EXPECT_EQ((*store_->Get("run", "a"))->columns[0], Value("2"));
}

TEST_P(StoreConformance, ComparesColumns) {
  Commit({PutRun("a", {"alpha", int64_t{1}, 1.5, "done"}), PutRun("b", {"alps", int64_t{2}, 2.0, "failed"}), PutRun("c", {"beta", int64_t{3}, {}, "done"}),
          PutRun("d", {{}, {}, -1.0, {}})});
  Field experiment{"", "experiment"}, created{"", "created"}, score{"", "score"}, key{"", "key"};
  EXPECT_EQ(Find({{experiment, Op::kEq, {"alps"}}}), Strings{"b"});
  EXPECT_EQ(Find({{experiment, Op::kNe, {"alps"}}}), (Strings{"a", "c", "d"}));
  EXPECT_EQ(Find({{experiment, Op::kLt, {"alps"}}}), Strings{"a"});
  EXPECT_EQ(Find({{experiment, Op::kLe, {"alps"}}}), (Strings{"a", "b"}));
  EXPECT_EQ(Find({{experiment, Op::kPrefix, {"al"}}}), (Strings{"a", "b"}));
  EXPECT_EQ(Find({{experiment, Op::kPrefix, {""}}}), (Strings{"a", "b", "c"}));
  EXPECT_EQ(Find({{experiment, Op::kContains, {"et"}}}), Strings{"c"});
  EXPECT_EQ(Find({{experiment, Op::kContains, {""}}}), (Strings{"a", "b", "c"}));
  EXPECT_EQ(Find({{experiment, Op::kIn, {"beta", "alpha", int64_t{1}, {}}}}), (Strings{"a", "c"}));
  EXPECT_EQ(Find({{experiment, Op::kIn, {}}}), Strings{});
  EXPECT_EQ(Find({{experiment, Op::kExists, {}}}), (Strings{"a", "b", "c"}));
  EXPECT_EQ(Find({{experiment, Op::kAbsent, {}}}), Strings{"d"});
  EXPECT_EQ(Find({{created, Op::kGt, {int64_t{1}}}}), (Strings{"b", "c"}));
  EXPECT_EQ(Find({{created, Op::kGe, {1.5}}}), (Strings{"b", "c"}));
  EXPECT_EQ(Find({{created, Op::kEq, {2.0}}}), Strings{"b"});
  EXPECT_EQ(Find({{score, Op::kEq, {int64_t{2}}}}), Strings{"b"});
  EXPECT_EQ(Find({{score, Op::kLt, {int64_t{2}}}}), (Strings{"a", "d"}));
  // A number never equals a text, and an absent operand equals nothing.
  EXPECT_EQ(Find({{created, Op::kEq, {"2"}}}), Strings{});
  EXPECT_EQ(Find({{created, Op::kLt, {"2"}}}), Strings{});
  EXPECT_EQ(Find({{created, Op::kNe, {"2"}}}), (Strings{"a", "b", "c", "d"}));
  EXPECT_EQ(Find({{experiment, Op::kGt, {int64_t{0}}}}), Strings{});
  EXPECT_EQ(Find({{experiment, Op::kEq, {Value()}}}), Strings{});
  EXPECT_EQ(Find({{experiment, Op::kNe, {Value()}}}), (Strings{"a", "b", "c", "d"}));
  EXPECT_EQ(Find({{created, Op::kPrefix, {"2"}}}), Strings{});
  EXPECT_EQ(Find({{key, Op::kGe, {"b"}}, {key, Op::kNe, {"c"}}}), (Strings{"b", "d"}));
  EXPECT_EQ(Find({{key, Op::kIn, {"a", "z"}}}), Strings{"a"});
  EXPECT_EQ(Find({{key, Op::kAbsent, {}}}), Strings{});
  EXPECT_EQ(Find({{{"", "status"}, Op::kEq, {"done"}}, {created, Op::kGe, {int64_t{2}}}}), Strings{"c"});
}

TEST_P(StoreConformance, ComparesAttributes) {
  Commit({PutRun("a", {}, {{"tag", "t", "red"}, {"metric", "m", 1.5}}), PutRun("b", {}, {{"tag", "t", "blue"}, {"metric", "m", int64_t{2}}}),
          PutRun("c", {}, {{"tag", "t", int64_t{7}}}), PutRun("d", {}, {{"tag", "u", "red"}, {"metric", "m", "high"}})});
  Field tag{"tag", "t"}, metric{"metric", "m"};
  EXPECT_EQ(Find({{tag, Op::kEq, {"red"}}}), Strings{"a"});
  EXPECT_EQ(Find({{tag, Op::kNe, {"red"}}}), (Strings{"b", "c", "d"}));
  EXPECT_EQ(Find({{tag, Op::kLt, {"red"}}}), Strings{"b"});
  EXPECT_EQ(Find({{tag, Op::kGe, {int64_t{0}}}}), Strings{"c"});
  EXPECT_EQ(Find({{tag, Op::kPrefix, {"re"}}}), Strings{"a"});
  EXPECT_EQ(Find({{tag, Op::kContains, {"e"}}}), (Strings{"a", "b"}));
  EXPECT_EQ(Find({{tag, Op::kContains, {"7"}}}), Strings{});
  EXPECT_EQ(Find({{tag, Op::kIn, {"blue", 7.0}}}), (Strings{"b", "c"}));
  EXPECT_EQ(Find({{tag, Op::kExists, {}}}), (Strings{"a", "b", "c"}));
  EXPECT_EQ(Find({{tag, Op::kAbsent, {}}}), Strings{"d"});
  EXPECT_EQ(Find({{metric, Op::kGt, {int64_t{1}}}}), (Strings{"a", "b"}));
  EXPECT_EQ(Find({{metric, Op::kLe, {1.5}}}), Strings{"a"});
  EXPECT_EQ(Find({{metric, Op::kEq, {2.0}}}), Strings{"b"});
  EXPECT_EQ(Find({{metric, Op::kGt, {int64_t{1}}}, {tag, Op::kEq, {"blue"}}}), Strings{"b"});
  EXPECT_EQ(Find({{{"tag", "nobody"}, Op::kEq, {"x"}}}), Strings{});
  EXPECT_EQ(Find({{{"nokind", "t"}, Op::kAbsent, {}}}), (Strings{"a", "b", "c", "d"}));
}

TEST_P(StoreConformance, ComparesBytes) {
  std::string high("\xff\xff"), nul("a\0b", 3);
  Commit({PutRun("a", {high + "x"}, {{"tag", "t", high}}), PutRun("b", {nul}, {{"tag", "t", nul}}),
          PutRun("c", {"\xc3\xa9t\xc3\xa9"}, {{"tag", "t", "'; DROP TABLE run; --"}})});
  Field column{"", "experiment"}, tag{"tag", "t"};
  EXPECT_EQ(Find({{column, Op::kPrefix, {high}}}), Strings{"a"});
  EXPECT_EQ(Find({{tag, Op::kPrefix, {"\xff"}}}), Strings{"a"});
  EXPECT_EQ(Find({{column, Op::kEq, {nul}}}), Strings{"b"});
  EXPECT_EQ(Find({{column, Op::kContains, {std::string("\0b", 2)}}}), Strings{"b"});
  EXPECT_EQ(Find({{tag, Op::kContains, {std::string("\0b", 2)}}}), Strings{"b"});
  EXPECT_EQ(Find({{column, Op::kContains, {"\xa9t"}}}), Strings{"c"});
  EXPECT_EQ(Find({{tag, Op::kEq, {"'; DROP TABLE run; --"}}}), Strings{"c"});
  EXPECT_EQ(Find({{tag, Op::kExists, {}}}, {tag, false}), (Strings{"c", "b", "a"}));
}

TEST_P(StoreConformance, OrdersWithTiesAndAbsentLast) {
  Commit({PutRun("a", {{}, int64_t{2}}), PutRun("b", {{}, int64_t{1}}), PutRun("c", {}), PutRun("d", {{}, int64_t{2}}), PutRun("e", {}),
          PutRun("f", {{}, int64_t{3}}), PutRun("g", {{}, int64_t{2}})});
  EXPECT_EQ(Find({}, {{"", "created"}, false}), (Strings{"b", "a", "d", "g", "f", "c", "e"}));
  EXPECT_EQ(Find({}, {{"", "created"}, true}), (Strings{"f", "g", "d", "a", "b", "e", "c"}));
  EXPECT_EQ(Find({}, {{"", "key"}, true}), (Strings{"g", "f", "e", "d", "c", "b", "a"}));
  EXPECT_EQ(Find({}, {{"", "score"}, true}), (Strings{"g", "f", "e", "d", "c", "b", "a"}));
}

TEST_P(StoreConformance, OrdersByAttributes) {
  Commit({PutRun("a", {"x"}, {{"metric", "m", 0.5}}), PutRun("b", {"x"}), PutRun("c", {}, {{"metric", "m", "text"}}),
          PutRun("d", {"x"}, {{"metric", "m", int64_t{-1}}, {"tag", "t", "1"}}), PutRun("e", {"x"}, {{"metric", "m", 0.5}, {"tag", "t", "1"}}),
          PutRun("f", {})});
  Order up{{"metric", "m"}, false}, down{{"metric", "m"}, true};
  EXPECT_EQ(Find({}, up), (Strings{"d", "a", "e", "c", "b", "f"}));
  EXPECT_EQ(Find({}, down), (Strings{"c", "e", "a", "d", "f", "b"}));
  EXPECT_EQ(Find({{{"", "experiment"}, Op::kEq, {"x"}}}, down), (Strings{"e", "a", "d", "b"}));
  EXPECT_EQ(Find({{{"tag", "t"}, Op::kExists, {}}}, up), (Strings{"d", "e"}));
  EXPECT_EQ(Find({{{"metric", "m"}, Op::kGe, {int64_t{0}}}}, down), (Strings{"e", "a"}));
  EXPECT_EQ(Find({{{"metric", "m"}, Op::kNe, {0.5}}}, down), (Strings{"c", "d", "f", "b"}));
  EXPECT_EQ(Find({{{"metric", "m"}, Op::kAbsent, {}}}, down), (Strings{"f", "b"}));
}

TEST_P(StoreConformance, PagesStayStableUnderInserts) {
  std::vector<Change> changes;
  for (int i = 0; i < 20; ++i) changes.push_back(PutRun(StrCat("k", 10 + i), {{}, int64_t{i / 3}}));
  Commit(changes);
  Query query{"run", {}, {{"", "created"}, true}, "", 5};
  std::vector<std::string> seen;
  for (int page = 0;; ++page) {
    auto found = store_->Find(query);
    ASSERT_TRUE(found.ok());
    for (const std::string& key : Keys(*found)) seen.push_back(key);
    if (found->next.empty()) break;
    query.cursor = found->next;
    // One before what was read and one in it: neither shifts what follows.
    Commit({PutRun(StrCat("new", page), {{}, int64_t{100}}), PutRun(StrCat("zz", page), {{}, int64_t{6}})});
  }
  Strings expected;
  for (int i = 19; i >= 0; --i) expected.push_back(StrCat("k", 10 + i));
  EXPECT_EQ(seen, expected);
}

TEST_P(StoreConformance, EndsPagesExactly) {
  Commit({PutRun("a", {}), PutRun("b", {}), PutRun("c", {{}, int64_t{1}})});
  EXPECT_EQ(store_->Find({"run", {}, {{"", "key"}, false}, "", 3})->next, "");
  EXPECT_NE(store_->Find({"run", {}, {{"", "key"}, false}, "", 2})->next, "");
  auto none = store_->Find({"run", {}, {{"", "key"}, false}, "", 0});
  EXPECT_TRUE(none->documents.empty() && none->next.empty());
  EXPECT_EQ(AllKeys(*store_, {"run", {}, {{"", "created"}, false}, "", 1}), (Strings{"c", "a", "b"}));
  EXPECT_EQ(AllKeys(*store_, {"run", {}, {{"", "key"}, false}, "", std::numeric_limits<size_t>::max()}), (Strings{"a", "b", "c"}));
}

TEST_P(StoreConformance, RefusesBadQueries) {
  Commit({PutRun("a", {{}, int64_t{1}}), PutRun("b", {{}, int64_t{2}})});
  Query query{"run", {}, {{"", "created"}, false}, "", 1};
  std::string cursor = store_->Find(query)->next;
  query.cursor = cursor;
  EXPECT_EQ(Keys(*store_->Find(query)), Strings{"b"});
  query.order.descending = true;
  EXPECT_EQ(store_->Find(query).error().slug, "query.bad_cursor");
  query.order = {{"", "key"}, false};
  EXPECT_EQ(store_->Find(query).error().slug, "query.bad_cursor");
  query.order = {{"", "created"}, false};
  for (std::string bad : {std::string("zz"), std::string("00"), cursor.substr(0, cursor.size() - 2), cursor + "00", std::string("not hex")}) {
    query.cursor = bad;
    auto found = store_->Find(query);
    ASSERT_FALSE(found.ok()) << bad;
    EXPECT_EQ(found.error().slug, "query.bad_cursor");
    EXPECT_EQ(found.error().code, Code::kInvalid);
  }
  query.cursor.clear();
  query.order.field.name = "nope";
  EXPECT_EQ(store_->Find(query).error().slug, "query.unknown_field");
  query.order.field.name = "key";
  query.where = {{{"", "body"}, Op::kEq, {"x"}}};
  auto unknown = store_->Find(query);
  EXPECT_EQ(unknown.error().slug, "query.unknown_field");
  EXPECT_EQ(unknown.error().field, "body");
  query.where = {{{"", "created"}, Op::kEq, {}}};
  EXPECT_EQ(store_->Find(query).error().slug, "query.bad_condition");
  EXPECT_EQ(store_->Count({"run", {}, {}, "", 0}, "nope").error().slug, "query.unknown_field");
  EXPECT_EQ(store_->Find({"nowhere", {}, {}, "", 1}).error().slug, "store.unknown_table");
}

TEST_P(StoreConformance, CountsByGroup) {
  Commit({PutRun("a", {"x", int64_t{1}}, {{"tag", "t", "1"}}), PutRun("b", {"y", int64_t{1}}, {{"tag", "t", "1"}}), PutRun("c", {"x"}, {{"tag", "t", "2"}}),
          PutRun("d", {})});
  using Counts = std::vector<std::pair<Value, int64_t>>;
  Query all{"run", {}, {{"", "created"}, true}, "ignored", 1};
  EXPECT_EQ(*store_->Count(all, ""), (Counts{{Value(), 4}}));
  EXPECT_EQ(*store_->Count(all, "experiment"), (Counts{{"x", 2}, {"y", 1}, {Value(), 1}}));
  EXPECT_EQ(*store_->Count(all, "created"), (Counts{{int64_t{1}, 2}, {Value(), 2}}));
  Query tagged{"run", {{{"tag", "t"}, Op::kEq, {"1"}}}, {}, "", 1};
  EXPECT_EQ(*store_->Count(tagged, ""), (Counts{{Value(), 2}}));
  EXPECT_EQ(*store_->Count(tagged, "experiment"), (Counts{{"x", 1}, {"y", 1}}));
  Query never{"run", {{{"", "created"}, Op::kEq, {"text"}}}, {}, "", 1};
  EXPECT_EQ(*store_->Count(never, ""), (Counts{{Value(), 0}}));
  EXPECT_EQ(*store_->Count(never, "experiment"), Counts{});
}

// Every commit moves one unit between two documents; no reader may see the sum change, or a document go back.
TEST_P(StoreConformance, ReadsConsistentlyBesideAWriter) {
  Commit({PutRun("a", {{}, int64_t{100}}), PutRun("b", {{}, int64_t{0}})});
  std::atomic<bool> stop = false;
  std::atomic<int64_t> committed = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      int64_t latest = 0;
      while (!stop) {
        int64_t before = committed;
        auto page = store_->Find({"run", {}, {{"", "key"}, false}, "", 10});
        ASSERT_TRUE(page.ok()) << page.error().message;
        ASSERT_EQ(page->documents.size(), 2u);
        int64_t a = std::get<int64_t>(page->documents[0].columns[1]), b = std::get<int64_t>(page->documents[1].columns[1]);
        ASSERT_EQ(a + b, 100);
        ASSERT_GE(b, std::max(before, latest));
        latest = b;
      }
    });
  for (int64_t i = 1; i <= 60; ++i) {
    Commit({PutRun("a", {{}, int64_t{100} - i}), PutRun("b", {{}, i})});
    committed = i;
  }
  stop = true;
  for (auto& reader : readers) reader.join();
}

}  // namespace ferry::store
