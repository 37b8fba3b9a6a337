#include "store/sqlite/plan.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "store/sqlite/schema.h"

namespace ferry::store {
namespace {

TableSpec RunTable() {
  return {
      "run",
      {{"experiment", ColumnType::kText, true}, {"created", ColumnType::kInt, true}, {"status", ColumnType::kText, true}, {"note", ColumnType::kText, false}},
      {{"status", "created"}, {"experiment", "status", "created"}}};
}

class PlanTest : public testing::Test {
 protected:
  PlanTest() : database_(std::move(sqlite::Database::Open(":memory:", {})).value()) { FERRY_CHECK(PrepareSchema(*database_, Schema({RunTable()}), {}).ok()); }

  // SQLite's plan, one step a line.
  std::string Explain(const Sql& sql) {
    auto statement = database_->Prepare(StrCat("EXPLAIN QUERY PLAN ", sql.text));
    if (!statement.ok()) return StrCat("ERROR ", statement.error().message, "\n", sql.text);
    std::string plan;
    while (*statement->Step()) plan += StrCat(statement->Text(3), "\n");
    return plan;
  }
  std::string Walk(const Query& query, Part part = Part::kPresent) { return Explain(CompileKeys(RunTable(), query, part, after_, nullptr, 10)); }
  std::string Drive(const Query& query, size_t condition, Part part = Part::kPresent) {
    return Explain(CompileKeys(RunTable(), query, part, after_, &query.where[condition], 10));
  }
  static bool Has(const std::string& plan, std::string_view what) { return plan.find(what) != std::string::npos; }

  std::unique_ptr<sqlite::Database> database_;
  std::optional<Cursor> after_;
  const Field created_{"", "created"}, status_{"", "status"}, tag_{"tag", "team"}, metric_{"metric.latest", "loss"};
};

TEST_F(PlanTest, WalksTheIndexOfTheOrder) {
  for (bool descending : {false, true})
    for (int paged = 0; paged < 2; ++paged) {
      after_ = paged ? std::optional(Cursor{int64_t{5}, "k"}) : std::nullopt;
      Query newest{"run", {}, {created_, descending}, "", 10};
      for (Part part : {Part::kPresent, Part::kAbsent}) {
        std::string plan = Walk(newest, part);
        EXPECT_TRUE(Has(plan, "SEARCH r USING COVERING INDEX run(created)")) << plan;
        EXPECT_FALSE(Has(plan, "TEMP B-TREE")) << plan;
      }
      Query by_status{"run", {{status_, Op::kEq, {"done"}}, {tag_, Op::kEq, {"vision"}}}, {created_, descending}, "", 10};
      for (Part part : {Part::kPresent, Part::kAbsent}) {
        std::string plan = Walk(by_status, part);
        EXPECT_TRUE(Has(plan, "COVERING INDEX run(status,created) (status=?")) << plan;
        EXPECT_TRUE(Has(plan, "SEARCH a USING")) << plan;
        EXPECT_FALSE(Has(plan, "TEMP B-TREE")) << plan;
      }
      Query by_metric{"run", {{tag_, Op::kEq, {"vision"}}}, {metric_, descending}, "", 10};
      std::string plan = Walk(by_metric);
      EXPECT_TRUE(Has(plan, "SEARCH o USING COVERING INDEX run_attribute(value) (kind=? AND name=?")) << plan;
      EXPECT_FALSE(Has(plan, "TEMP B-TREE")) << plan;
      EXPECT_FALSE(Has(plan, "SCAN")) << plan;
      by_metric.where = {{{"", "note"}, Op::kContains, {"x"}}, {metric_, Op::kGt, {0.5}}};
      plan = Walk(by_metric);
      EXPECT_TRUE(Has(plan, "(kind=? AND name=? AND value>? AND value<?)")) << plan;
      EXPECT_TRUE(Has(plan, "SEARCH r USING INDEX sqlite_autoindex_run_1 (key=?)")) << plan;
      EXPECT_FALSE(Has(plan, "TEMP B-TREE")) << plan;
    }
}

TEST_F(PlanTest, UsesTheLongestFixedPrefix) {
  Query query{"run", {{status_, Op::kEq, {"done"}}, {{"", "experiment"}, Op::kEq, {"e"}}}, {created_, true}, "", 10};
  EXPECT_TRUE(WalkIsExact(RunTable(), query));
  std::string plan = Walk(query);
  EXPECT_TRUE(Has(plan, "run(experiment,status,created) (experiment=? AND status=?")) << plan;
  EXPECT_FALSE(Has(plan, "TEMP B-TREE")) << plan;
  query.order = {{"", "key"}, false};
  plan = Walk(query);
  EXPECT_FALSE(Has(plan, "TEMP B-TREE")) << plan;
  query.where.push_back({tag_, Op::kEq, {"x"}});
  EXPECT_FALSE(WalkIsExact(RunTable(), query));
}

TEST_F(PlanTest, DrivesByTheConditionsIndex) {
  for (Op op : {Op::kEq, Op::kIn, Op::kLt, Op::kGe, Op::kPrefix, Op::kExists, Op::kContains})
    for (const Field& field : {tag_, status_, Field{"", "key"}})
      for (const Order& order : {Order{created_, true}, Order{metric_, true}, Order{{"", "key"}, false}})
        for (Part part : {Part::kPresent, Part::kAbsent}) {
          Query query{"run", {{field, op, {"x"}}}, order, "", 10};
          if (!CanDrive(RunTable(), query.where[0])) continue;
          std::string plan = Drive(query, 0, part);
          EXPECT_FALSE(Has(plan, "ERROR")) << plan;
          EXPECT_FALSE(Has(plan, "SCAN")) << plan;
          std::string probe = Explain(CompileProbe(RunTable(), query.where[0], 100));
          EXPECT_TRUE(Has(probe, "SEARCH") && Has(probe, "COVERING")) << probe;
        }
}

TEST_F(PlanTest, CountsAlongIndexes) {
  Query query{"run", {}, {}, "", 0};
  EXPECT_TRUE(Has(Explain(CompileCount(RunTable(), query, "status", nullptr)), "COVERING INDEX"));
  query.where = {{status_, Op::kEq, {"done"}}};
  std::string grouped = Explain(CompileCount(RunTable(), query, "created", &query.where[0]));
  EXPECT_EQ(grouped, "SEARCH r USING COVERING INDEX run(status,created) (status=?)\n");
  query.where = {{tag_, Op::kEq, {"x"}}};
  std::string plan = Explain(CompileCount(RunTable(), query, "", &query.where[0]));
  EXPECT_EQ(plan, "SEARCH d USING COVERING INDEX run_attribute(value) (kind=? AND name=? AND value=?)\n");
}

}  // namespace
}  // namespace ferry::store
