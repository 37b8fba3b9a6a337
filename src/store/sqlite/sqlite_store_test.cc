#include "store/sqlite/sqlite_store.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "sqlite/database.h"
#include "store/conformance.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/plan.h"
#include "store/sqlite/schema.h"

namespace ferry::store {
namespace {

// A folder that goes with the test.
class TempFolder {
 public:
  TempFolder() : path_(testing::TempDir() + "ferry_store_XXXXXX") { FERRY_CHECK(::mkdtemp(path_.data())); }
  ~TempFolder() { (void)os::RemoveAll(path_); }
  std::string File(std::string_view name) const { return os::JoinPath(path_, name); }

 private:
  std::string path_;
};

std::unique_ptr<Store> MustOpen(const std::string& path, std::vector<TableSpec> tables = ConformanceTables()) {
  auto store = OpenSqliteStore(path, std::move(tables));
  if (!store.ok()) ADD_FAILURE() << store.error().message;
  return std::move(store).value();
}

StoreBackend SqliteBackend() {
  auto folders = std::make_shared<std::vector<std::unique_ptr<TempFolder>>>();
  return {"sqlite", [folders](std::vector<TableSpec> tables) {
            folders->push_back(std::make_unique<TempFolder>());
            return MustOpen(folders->back()->File("store.db"), std::move(tables));
          }};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, testing::Values(SqliteBackend()));

// Random changes and queries answered alike by both backends.
class Differential : public testing::TestWithParam<int> {
 protected:
  int Pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  Value AnyValue() {
    switch (Pick(7)) {
      case 0: return {};
      case 1:
      case 2: return int64_t{Pick(7)} - 3;
      case 3: return Pick(12) / 2.0 - 3;
      case 4: return std::string(static_cast<size_t>(Pick(3)), static_cast<char>('a' + Pick(3)));
      default: return StrCat(static_cast<char>('a' + Pick(3)), static_cast<char>('a' + Pick(3)));
    }
  }
  Value ColumnValue(size_t column) {
    for (;;) {
      Value value = AnyValue();
      if (value.index() == 0) return value;
      if (column == 1 ? value.index() == 1 : column == 2 ? value.index() == 2 : value.index() == 3) return value;
    }
  }
  Field AnyField() {
    static const std::vector<Field> fields{{"", "key"},    {"", "experiment"}, {"", "created"}, {"", "score"},
                                           {"", "status"}, {"tag", "x"},       {"tag", "y"},    {"metric", "m"}};
    return fields[static_cast<size_t>(Pick(static_cast<int>(fields.size())))];
  }
  std::string AnyKey() { return StrCat("k", Pick(60)); }
  Change AnyChange() {
    std::vector<Attribute> attributes;
    for (const char* name : {"x", "y"})
      if (Pick(2)) attributes.push_back({"tag", name, AnyValue()});
    if (Pick(2)) attributes.push_back({"metric", "m", AnyValue()});
    switch (Pick(8)) {
      case 0: return Erase{"run", AnyKey()};
      case 1: return PutAttributes{"run", AnyKey(), attributes};
      default: {
        std::vector<Value> columns;
        for (size_t i = 0; i < 4; ++i) columns.push_back(ColumnValue(i));
        Put put{"run", {AnyKey(), StrCat("body", Pick(1000)), columns}, {}, attributes};
        if (Pick(2)) put.attribute_kinds.push_back("tag");
        return put;
      }
    }
  }
  Query AnyQuery() {
    Query query{"run", {}, {AnyField(), Pick(2) == 0}, "", static_cast<size_t>(1 + Pick(20))};
    for (int i = Pick(4); i > 0; --i) {
      Condition condition{AnyField(), static_cast<Op>(Pick(11)), {}};
      for (int n = condition.op == Op::kIn ? Pick(4) : 1; n > 0; --n) condition.values.push_back(AnyValue());
      query.where.push_back(condition);
    }
    return query;
  }

  std::mt19937 random_{static_cast<unsigned>(GetParam())};
};

// Every access path gives the same page, whichever the store would choose.
TEST_P(Differential, PathsAgree) {
  TempFolder folder;
  TableSpec table = ConformanceTables()[0];
  auto memory = OpenMemoryStore(ConformanceTables());
  auto sqlite = MustOpen(folder.File("store.db"));
  std::vector<Change> changes;
  for (int i = 0; i < 120; ++i) changes.push_back(AnyChange());
  ASSERT_TRUE(memory->Commit(changes).ok());
  ASSERT_TRUE(sqlite->Commit(changes).ok());
  auto database = std::move(sqlite::Database::Open(folder.File("store.db"), {.read_only = true})).value();
  for (int i = 0; i < 200; ++i) {
    Query query = AnyQuery();
    query.limit = 1000;
    bool never = std::any_of(query.where.begin(), query.where.end(), [&](const Condition& condition) { return IsNever(table, condition); });
    auto expected = Keys(*memory->Find(query));
    ASSERT_TRUE(!never || expected.empty());
    std::vector<const Condition*> paths{nullptr};
    for (const Condition& condition : query.where)
      if (!never && CanDrive(table, condition)) paths.push_back(&condition);
    for (const Condition* path : paths) {
      std::vector<std::string> keys;
      for (Part part : {Part::kPresent, Part::kAbsent}) {
        if (part == Part::kAbsent && IsKey(query.order.field)) continue;
        Sql sql = CompileKeys(table, query, part, std::nullopt, path, 1000);
        auto statement = database->Prepare(sql.text);
        ASSERT_TRUE(statement.ok()) << statement.error().message << "\n" << sql.text;
        sql.BindTo(*statement);
        while (*statement->Step()) keys.emplace_back(statement->Text(1));
      }
      ASSERT_EQ(keys, expected) << "seed " << GetParam() << " query " << i;
    }
  }
}

TEST_P(Differential, AgreesWithMemory) {
  TempFolder folder;
  auto memory = OpenMemoryStore(ConformanceTables());
  auto sqlite = MustOpen(folder.File("store.db"));
  for (int round = 0; round < 8; ++round) {
    std::vector<Change> changes;
    for (int i = 0; i < 25; ++i) changes.push_back(AnyChange());
    ASSERT_TRUE(memory->Commit(changes).ok());
    ASSERT_TRUE(sqlite->Commit(changes).ok());
    for (int i = 0; i < 60; ++i) {
      Query query = AnyQuery();
      std::string told = StrCat("seed ", GetParam(), " round ", round, " query ", i);
      do {
        auto a = memory->Find(query), b = sqlite->Find(query);
        ASSERT_TRUE(a.ok() && b.ok()) << told << (b.ok() ? "" : b.error().message);
        ASSERT_EQ(Keys(*a), Keys(*b)) << told;
        ASSERT_EQ(a->next, b->next) << told;
        for (size_t d = 0; d < a->documents.size(); ++d) {
          ASSERT_EQ(a->documents[d].columns, b->documents[d].columns) << told;
          ASSERT_EQ(a->documents[d].body, b->documents[d].body) << told;
        }
        query.cursor = a->next;
      } while (!query.cursor.empty());
      std::string group = Pick(2) ? "" : Pick(2) ? "status" : "score";
      ASSERT_EQ(*memory->Count(query, group), *sqlite->Count(query, group)) << told;
      std::string key = AnyKey();
      ASSERT_EQ(*memory->Attributes("run", key, "tag"), *sqlite->Attributes("run", key, "tag")) << told;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Differential, testing::Range(1, 13));

TEST(SqliteStore, ReopensWhatWasCommitted) {
  TempFolder folder;
  {
    auto store = MustOpen(folder.File("store.db"));
    std::vector<Change> changes{PutRun("a", {"x", int64_t{1}}, {{"tag", "t", "1"}})};
    ASSERT_TRUE(store->Commit(changes).ok());
  }
  auto store = MustOpen(folder.File("store.db"));
  EXPECT_EQ((*store->Get("run", "a"))->columns[0], Value("x"));
  EXPECT_EQ(store->Attributes("run", "a", "tag")->size(), 1u);
}

// The child acknowledges each commit through a pipe and is killed while it commits.
TEST(SqliteStore, KillLosesNoAcknowledgedCommit) {
  for (int round = 0; round < 4; ++round) {
    TempFolder folder;
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    pid_t child = ::fork();
    if (child == 0) {
      auto store = OpenSqliteStore(folder.File("store.db"), ConformanceTables());
      for (int i = 0; store.ok(); ++i) {
        std::vector<Change> changes{PutRun(StrCat("a", i), {{}, int64_t{i}}, {{"tag", "t", "1"}}), PutRun(StrCat("b", i), {{}, int64_t{i}})};
        if (!(*store)->Commit(changes).ok()) break;
        if (::write(pipe[1], &i, sizeof i) != sizeof i) break;
      }
      ::_exit(1);
    }
    ::close(pipe[1]);
    int acknowledged = -1;
    for (int i; acknowledged < 40 * (round + 1) && ::read(pipe[0], &i, sizeof i) == sizeof i;) acknowledged = i;
    ::kill(child, SIGKILL);
    for (int i; ::read(pipe[0], &i, sizeof i) == sizeof i;) acknowledged = i;
    ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
    ASSERT_GE(acknowledged, 40);
    auto store = MustOpen(folder.File("store.db"));
    for (int i = 0; i <= acknowledged; ++i) {
      ASSERT_TRUE((*store->Get("run", StrCat("a", i))).has_value()) << i;
      ASSERT_EQ(store->Attributes("run", StrCat("a", i), "tag")->size(), 1u);
    }
    // What was not acknowledged is there whole or not at all.
    for (int i = acknowledged; i < acknowledged + 3; ++i)
      EXPECT_EQ((*store->Get("run", StrCat("a", i))).has_value(), (*store->Get("run", StrCat("b", i))).has_value());
  }
}

// In a child whose files may not grow beyond a few hundred kilobytes.
TEST(SqliteStore, FullDiskFailsTheCommitAndNothingElse) {
  TempFolder folder;
  std::string path = folder.File("store.db");
  MustOpen(path).reset();
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{400'000, 400'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto store = OpenSqliteStore(path, ConformanceTables());
    if (!store.ok()) ::_exit(2);
    int committed = 0;
    Result<void> result;
    while (result.ok() && committed < 1000) {
      std::vector<Change> changes{PutRun(StrCat("a", committed), {}, {}, std::string(3000, 'x')),
                                  PutRun(StrCat("b", committed), {}, {}, std::string(3000, 'x'))};
      result = (*store)->Commit(changes);
      if (result.ok()) ++committed;
    }
    if (result.ok() || result.error().slug != "store.full" || result.error().code != Code::kExhausted) ::_exit(3);
    if (committed < 10) ::_exit(4);
    if ((*(*store)->Get("run", StrCat("a", committed))).has_value()) ::_exit(5);
    if (!(*(*store)->Get("run", StrCat("b", committed - 1))).has_value()) ::_exit(6);
    if (*(*store)->Count({"run", {}, {}, "", 1}, "") != std::vector<std::pair<Value, int64_t>>{{Value(), 2 * committed}}) ::_exit(7);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  auto store = MustOpen(path);
  std::vector<Change> changes{PutRun("later", {})};
  EXPECT_TRUE(store->Commit(changes).ok());
  EXPECT_GE((*store->Count({"run", {}, {}, "", 1}, ""))[0].second, 20);
}

TEST(SqliteStore, AddsColumnsAndIndexes) {
  TempFolder folder;
  std::string path = folder.File("store.db");
  {
    auto store = MustOpen(path, {{"run", {{"status", ColumnType::kText, true}}, {}}});
    std::vector<Change> changes{Put{"run", {"a", "body", {"done"}}, {}, {}}};
    ASSERT_TRUE(store->Commit(changes).ok());
  }
  std::vector<TableSpec> wider{{"run", {{"created", ColumnType::kInt, true}, {"status", ColumnType::kText, false}}, {{"status", "created"}}}, {"job", {}, {}}};
  {
    auto store = MustOpen(path, wider);
    EXPECT_EQ((*store->Get("run", "a"))->columns, (std::vector<Value>{{}, "done"}));
    std::vector<Change> changes{Put{"run", {"b", "", {int64_t{4}, "done"}}, {}, {}}, Put{"job", {"j", "", {}}, {}, {}}};
    ASSERT_TRUE(store->Commit(changes).ok());
    EXPECT_EQ(AllKeys(*store, {"run", {{{"", "status"}, Op::kEq, {"done"}}}, {{"", "created"}, true}, "", 1}), (std::vector<std::string>{"b", "a"}));
  }
  wider[0].columns[0].type = ColumnType::kText;
  EXPECT_EQ(OpenSqliteStore(path, wider).error().slug, "store.column_type");
}

TEST(SqliteStore, MigratesOnceAndWhole) {
  TempFolder folder;
  std::string path = folder.File("store.db");
  Schema schema(ConformanceTables());
  {
    auto store = MustOpen(path);
    std::vector<Change> changes{PutRun("a", {"old"})};
    ASSERT_TRUE(store->Commit(changes).ok());
  }
  auto database = std::move(sqlite::Database::Open(path, {.slug = "store"})).value();
  int runs = 0;
  std::vector<Migration> migrations{[&](sqlite::Database& db, const Schema&) {
    ++runs;
    return db.Exec("UPDATE run SET experiment = 'new'");
  }};
  std::vector<Migration> failing = migrations;
  failing.push_back([](sqlite::Database& db, const Schema&) { return db.Exec("UPDATE nowhere SET x = 1"); });
  EXPECT_FALSE(PrepareSchema(*database, schema, failing).ok());
  EXPECT_EQ(*database->QueryInt("PRAGMA user_version"), 1);
  EXPECT_EQ(*database->QueryInt("SELECT count(*) FROM run WHERE experiment = 'new'"), 0);
  EXPECT_TRUE(PrepareSchema(*database, schema, migrations).ok());
  EXPECT_TRUE(PrepareSchema(*database, schema, migrations).ok());
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(*database->QueryInt("PRAGMA user_version"), 2);
  EXPECT_EQ(*database->QueryInt("SELECT count(*) FROM run WHERE experiment = 'new'"), 1);
}

TEST(SqliteStore, RefusesANewerLayout) {
  TempFolder folder;
  std::string path = folder.File("store.db");
  MustOpen(path).reset();
  {
    auto database = std::move(sqlite::Database::Open(path, {})).value();
    ASSERT_TRUE(database->Exec("PRAGMA user_version=999").ok());
  }
  auto store = OpenSqliteStore(path, ConformanceTables());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, Code::kConflict);
  EXPECT_EQ(store.error().slug, "store.newer_schema");
}

TEST(SqliteStore, SaysSoWhenTheFileIsNoDatabase) {
  TempFolder folder;
  ASSERT_TRUE(os::WriteFileAtomic(folder.File("store.db"), std::string(5000, 'x')).ok());
  EXPECT_EQ(OpenSqliteStore(folder.File("store.db"), ConformanceTables()).error().slug, "store.io");
  EXPECT_EQ(OpenSqliteStore(folder.File("no/such/folder/store.db"), ConformanceTables()).error().slug, "store.io");
}

}  // namespace
}  // namespace ferry::store
