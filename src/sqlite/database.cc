#include "sqlite/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace ferry::sqlite {

namespace {

// Statements kept prepared per connection.
constexpr size_t kIdleStatements = 48;
// SQLite's instructions between two looks at the limit of LimitWork.
constexpr int kWorkStep = 1000;

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)), sql_(std::move(other.sql_)) {}

Statement::~Statement() {
  if (statement_) database_->GiveBack(statement_, std::move(sql_));
}

Statement& Statement::BindNull(int parameter) {
  FERRY_CHECK(sqlite3_bind_null(statement_, parameter) == SQLITE_OK);
  return *this;
}

Statement& Statement::BindInt(int parameter, int64_t value) {
  FERRY_CHECK(sqlite3_bind_int64(statement_, parameter, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::BindReal(int parameter, double value) {
  FERRY_CHECK(sqlite3_bind_double(statement_, parameter, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::BindText(int parameter, std::string_view value) {
  const char* data = value.data() ? value.data() : "";
  int code = sqlite3_bind_text64(statement_, parameter, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code == SQLITE_TOOBIG || code == SQLITE_NOMEM)
    bind_code_ = code;
  else
    FERRY_CHECK(code == SQLITE_OK);
  return *this;
}

Statement& Statement::BindBlob(int parameter, std::string_view value) {
  const char* data = value.data() ? value.data() : "";
  int code = sqlite3_bind_blob64(statement_, parameter, data, value.size(), SQLITE_TRANSIENT);
  if (code == SQLITE_TOOBIG || code == SQLITE_NOMEM)
    bind_code_ = code;
  else
    FERRY_CHECK(code == SQLITE_OK);
  return *this;
}

Result<bool> Statement::Step() {
  if (bind_code_) return database_->MakeFailure(std::exchange(bind_code_, 0), "use");
  errno = 0;
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Error error = database_->MakeFailure(code, "use");
  sqlite3_reset(statement_);
  return error;
}

Result<void> Statement::Run() {
  for (;;) {
    TRY(bool row, Step());
    if (!row) break;
  }
  Reset();
  return {};
}

void Statement::Reset() { sqlite3_reset(statement_); }

Type Statement::ColumnType(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER: return Type::kInt;
    case SQLITE_FLOAT: return Type::kReal;
    case SQLITE_TEXT: return Type::kText;
    case SQLITE_BLOB: return Type::kBlob;
    default: return Type::kNull;
  }
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Statement::Text(int column) const {
  const auto* text = sqlite3_column_text(statement_, column);
  if (!text) return {};
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Statement::Blob(int column) const {
  const void* blob = sqlite3_column_blob(statement_, column);
  if (!blob) return {};
  return {static_cast<const char*>(blob), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, Settings settings) {
  std::unique_ptr<Database> database(new Database(path, std::move(settings)));
  const Settings& s = database->settings_;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (s.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  int code = sqlite3_open_v2(path.c_str(), &database->handle_, flags, nullptr);
  if (code != SQLITE_OK) return database->MakeFailure(code, "open");
  sqlite3_busy_timeout(database->handle_, s.busy_milliseconds);
  TRY_VOID(database->Exec(StrCat("PRAGMA cache_size=-", s.cache_bytes / 1024, "; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;")));
  if (s.read_only) {
    TRY_VOID(database->Exec("PRAGMA query_only=ON"));
  } else {
    TRY_VOID(database->Exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=8388608;"));
  }
  return database;
}

Database::~Database() {
  for (Idle& idle : idle_) sqlite3_finalize(idle.statement);
  sqlite3_close_v2(handle_);
}

Error Database::MakeFailure(int code, std::string_view doing) const {
  // SQLite does not record the system's error of a failed COMMIT.
  int system = errno;
  if (handle_ && sqlite3_system_errno(handle_)) system = sqlite3_system_errno(handle_);
  std::string message = StrCat("cannot ", doing, " the database ", path_, ": ", handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
  if ((code & 0xFF) == SQLITE_INTERRUPT) return MakeError(Code::kTimeout, StrCat(settings_.slug, ".interrupted"), std::move(message));
  bool io = (code & 0xFF) == SQLITE_IOERR;
  if ((code & 0xFF) == SQLITE_FULL || (io && (system == ENOSPC || system == EDQUOT || system == EFBIG)))
    return MakeError(Code::kExhausted, StrCat(settings_.slug, ".full"), StrCat("the disk is full: ", message));
  return MakeError(Code::kInternal, StrCat(settings_.slug, ".io"), std::move(message));
}

Result<void> Database::Exec(const std::string& sql) {
  errno = 0;
  int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return MakeFailure(code, "use");
  return {};
}

Result<Statement> Database::Prepare(std::string_view sql) {
  if (auto found = by_sql_.find(sql); found != by_sql_.end()) {
    auto idle = found->second;
    by_sql_.erase(found);
    Statement statement(*this, idle->statement, std::move(idle->sql));
    idle_.erase(idle);
    return statement;
  }
  sqlite3_stmt* prepared = nullptr;
  int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (code != SQLITE_OK) return MakeFailure(code, "use");
  return Statement(*this, prepared, std::string(sql));
}

void Database::GiveBack(sqlite3_stmt* statement, std::string sql) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (by_sql_.contains(sql)) {
    sqlite3_finalize(statement);
    return;
  }
  idle_.push_front({std::move(sql), statement});
  by_sql_[idle_.front().sql] = idle_.begin();
  if (idle_.size() > kIdleStatements) {
    by_sql_.erase(idle_.back().sql);
    sqlite3_finalize(idle_.back().statement);
    idle_.pop_back();
  }
}

Result<int64_t> Database::QueryInt(std::string_view sql) {
  TRY(Statement statement, Prepare(sql));
  TRY(bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

void Database::LimitWork(int64_t instructions) {
  work_left_ = instructions;
  if (instructions == 0) return sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
  auto spend = [](void* left) -> int { return (*static_cast<int64_t*>(left) -= kWorkStep) < 0; };
  sqlite3_progress_handler(handle_, kWorkStep, spend, &work_left_);
}

int64_t Database::Changes() const { return sqlite3_changes64(handle_); }
bool Database::InTransaction() const { return sqlite3_get_autocommit(handle_) == 0; }

Result<Transaction> Transaction::Begin(Database& database, Mode mode) {
  TRY(Statement begin, database.Prepare(mode == Mode::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  TRY_VOID(begin.Run());
  return Transaction(database);
}

Transaction::~Transaction() {
  if (!database_ || !database_->InTransaction()) return;
  auto rollback = database_->Prepare("ROLLBACK");
  if (rollback.ok()) (void)rollback->Run();
}

Result<void> Transaction::Commit() {
  TRY(Statement commit, database_->Prepare("COMMIT"));
  TRY_VOID(commit.Run());
  database_ = nullptr;
  return {};
}

std::string QuoteIdentifier(std::string_view name) {
  std::string out = "\"";
  for (char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace ferry::sqlite
