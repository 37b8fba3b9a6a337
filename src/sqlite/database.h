// SQLite behind owned values: a connection with a bounded cache of prepared statements, bound parameters, transactions.
// Used by everything that keeps a database file (store/sqlite, series, blob/files); nothing else includes sqlite3.h.
// A Database and all that came from it are used by one thread at a time; ReaderPool (pool.h) is for many.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ferry::sqlite {

class Database;

enum class Type { kNull, kInt, kReal, kText, kBlob };

// A prepared statement on loan from its database's cache; goes back, reset and unbound, when destroyed.
// Parameters count from 1, result columns from 0. Bound texts and blobs are copied.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& BindNull(int parameter);
  Statement& BindInt(int parameter, int64_t value);
  Statement& BindReal(int parameter, double value);  // a NaN is bound as null
  Statement& BindText(int parameter, std::string_view value);
  Statement& BindBlob(int parameter, std::string_view value);

  // True: there is a row to read. False: done.
  Result<bool> Step();
  // Steps to the end, dropping rows, and resets: for changes. The bindings stay.
  Result<void> Run();
  // Back to before the first row; the bindings stay.
  void Reset();

  Type ColumnType(int column) const;
  int64_t Int(int column) const;
  double Real(int column) const;
  // Valid until the next Step, Reset or destruction.
  std::string_view Text(int column) const;
  std::string_view Blob(int column) const;

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement, std::string sql) : database_(&database), statement_(statement), sql_(std::move(sql)) {}

  Database* database_;
  sqlite3_stmt* statement_;
  std::string sql_;
  int bind_code_ = 0;  // a value that was too large to bind; the next Step reports it
};

struct Settings {
  // The first part of every slug: "store" makes "store.full" and "store.io".
  std::string slug = "sqlite";
  // A reader neither creates nor changes the file.
  bool read_only = false;
  // The page cache of this connection.
  int64_t cache_bytes = 2 << 20;
  // How long a lock of another process is waited for.
  int busy_milliseconds = 5000;
};

class Database {
 public:
  // Opens or creates the file in WAL mode with synchronous=FULL: a commit returns once it is durable.
  // kExhausted "<slug>.full" when the disk is full, kInternal "<slug>.io" for every other failure, here and in all calls below.
  static Result<std::unique_ptr<Database>> Open(const std::string& path, Settings settings);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements that need no parameters and whose rows nobody reads.
  Result<void> Exec(const std::string& sql);
  // From the cache when the same text was prepared before.
  Result<Statement> Prepare(std::string_view sql);
  // The first column of the first row as a number; 0 without a row.
  Result<int64_t> QueryInt(std::string_view sql);

  // From now on statements end with kTimeout "<slug>.interrupted" once they have run this many of SQLite's instructions together
  // (about ten million a second), give or take a thousand. 0: no limit.
  void LimitWork(int64_t instructions);

  // Rows changed by the latest statement.
  int64_t Changes() const;
  // Whether a transaction is open.
  bool InTransaction() const;
  const std::string& path() const { return path_; }

 private:
  friend class Statement;
  struct Idle {
    std::string sql;
    sqlite3_stmt* statement;
  };

  Database(std::string path, Settings settings) : path_(std::move(path)), settings_(std::move(settings)) {}
  Error MakeFailure(int code, std::string_view doing) const;
  void GiveBack(sqlite3_stmt* statement, std::string sql);

  std::string path_;
  Settings settings_;
  sqlite3* handle_ = nullptr;
  int64_t work_left_ = 0;
  std::list<Idle> idle_;  // latest used first
  std::unordered_map<std::string_view, std::list<Idle>::iterator> by_sql_;
};

// A transaction that is rolled back unless Commit succeeded.
class Transaction {
 public:
  // kWrite takes the write lock at once; kRead fixes what is read at its first statement.
  enum class Mode { kRead, kWrite };
  static Result<Transaction> Begin(Database& database, Mode mode);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  // On failure nothing of the transaction stays.
  Result<void> Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

// `name` as a quoted SQL identifier.
std::string QuoteIdentifier(std::string_view name);

}  // namespace ferry::sqlite
