#include "sqlite/database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "base/text.h"
#include "os/file.h"
#include "sqlite/pool.h"

namespace ferry::sqlite {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() : folder_(testing::TempDir() + "ferry_sqlite_XXXXXX") {
    FERRY_CHECK(::mkdtemp(folder_.data()));
    database_ = std::move(Database::Open(Path(), {.slug = "test"})).value();
    FERRY_CHECK(database_->Exec("CREATE TABLE t (a, b)").ok());
  }
  ~DatabaseTest() override {
    database_.reset();
    (void)os::RemoveAll(folder_);
  }
  std::string Path() const { return os::JoinPath(folder_, "test.db"); }

  std::string folder_;
  std::unique_ptr<Database> database_;
};

TEST_F(DatabaseTest, BindsAndReadsEveryType) {
  {
    auto insert = database_->Prepare("INSERT INTO t VALUES (?1, ?2)");
    ASSERT_TRUE(insert->BindInt(1, -5).BindText(2, std::string_view("x\0y", 3)).Run().ok());
    ASSERT_TRUE(insert->BindReal(1, 0.5).BindBlob(2, {}).Run().ok());
    ASSERT_TRUE(insert->BindNull(1).BindReal(2, std::nan("")).Run().ok());
  }
  EXPECT_EQ(database_->Changes(), 1);
  auto select = database_->Prepare("SELECT a, b FROM t ORDER BY rowid");
  ASSERT_TRUE(*select->Step());
  EXPECT_EQ(select->Int(0), -5);
  EXPECT_EQ(select->Text(1), std::string_view("x\0y", 3));
  ASSERT_TRUE(*select->Step());
  EXPECT_EQ(select->Real(0), 0.5);
  EXPECT_EQ(select->ColumnType(1), Type::kBlob);
  EXPECT_EQ(select->Blob(1), "");
  ASSERT_TRUE(*select->Step());
  EXPECT_EQ(select->ColumnType(0), Type::kNull);
  EXPECT_EQ(select->ColumnType(1), Type::kNull);
  EXPECT_FALSE(*select->Step());
}

TEST_F(DatabaseTest, ReusesStatementsWithoutTheirBindings) {
  for (int i = 0; i < 200; ++i) {
    auto statement = database_->Prepare(StrCat("SELECT ?1, ", i % 100));
    auto second = database_->Prepare(StrCat("SELECT ?1, ", i % 100));
    ASSERT_TRUE(*statement->Step() && *second->Step());
    EXPECT_EQ(statement->ColumnType(0), Type::kNull);
    EXPECT_EQ(statement->Int(1), i % 100);
    statement->Reset();
    statement->BindInt(1, 7);
  }
}

TEST_F(DatabaseTest, RollsBackWhatIsNotCommitted) {
  {
    auto transaction = Transaction::Begin(*database_, Transaction::Mode::kWrite);
    ASSERT_TRUE(database_->Exec("INSERT INTO t VALUES (1, 1)").ok());
    EXPECT_TRUE(database_->InTransaction());
  }
  EXPECT_FALSE(database_->InTransaction());
  EXPECT_EQ(*database_->QueryInt("SELECT count(*) FROM t"), 0);
  auto transaction = Transaction::Begin(*database_, Transaction::Mode::kWrite);
  ASSERT_TRUE(database_->Exec("INSERT INTO t VALUES (1, 1)").ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(*database_->QueryInt("SELECT count(*) FROM t"), 1);
}

TEST_F(DatabaseTest, NamesItsFailures) {
  EXPECT_EQ(database_->Exec("nonsense").error().slug, "test.io");
  EXPECT_EQ(database_->Prepare("SELECT nothing FROM nowhere").error().code, Code::kInternal);
  ASSERT_TRUE(database_->Exec("PRAGMA max_page_count=4").ok());
  auto full = database_->Exec("INSERT INTO t VALUES (1, zeroblob(100000))");
  EXPECT_EQ(full.error().slug, "test.full");
  EXPECT_EQ(full.error().code, Code::kExhausted);
  EXPECT_EQ(QuoteIdentifier("a\"b"), "\"a\"\"b\"");
}

TEST_F(DatabaseTest, LimitsWork) {
  const char* endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  database_->LimitWork(50'000);
  auto result = database_->QueryInt(endless);
  EXPECT_EQ(result.error().code, Code::kTimeout);
  EXPECT_EQ(result.error().slug, "test.interrupted");
  database_->LimitWork(0);
  EXPECT_EQ(*database_->QueryInt("SELECT 5"), 5);
}

TEST_F(DatabaseTest, PoolLendsToOneAtATimeAndCannotWrite) {
  ReaderPool pool(Path(), {.slug = "test"}, 2);
  std::atomic<int> out = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        auto reader = pool.Take();
        ASSERT_TRUE(reader.ok());
        ASSERT_LE(++out, 2);
        ASSERT_EQ(*(*reader)->QueryInt("SELECT count(*) FROM t"), 0);
        --out;
      }
    });
  for (auto& thread : threads) thread.join();
  auto reader = pool.Take();
  EXPECT_FALSE((*reader)->Exec("INSERT INTO t VALUES (1, 1)").ok());
  ReaderPool missing(Path() + "x", {.slug = "test"}, 1);
  EXPECT_EQ(missing.Take().error().slug, "test.io");
  EXPECT_EQ(missing.Take().error().slug, "test.io");
}

}  // namespace
}  // namespace ferry::sqlite
