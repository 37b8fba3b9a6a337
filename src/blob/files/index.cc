#include "blob/files/index.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "os/file.h"

namespace ferry::blob {

namespace {

// The form of the tables below. An index of another form is rebuilt.
constexpr int kForm = 1;

constexpr const char* kTables = R"(
  CREATE TABLE IF NOT EXISTS blobs(
    digest BLOB PRIMARY KEY, pack INTEGER NOT NULL, offset INTEGER NOT NULL, stored INTEGER NOT NULL, raw INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS packs(pack INTEGER PRIMARY KEY, size INTEGER NOT NULL);
)";

Error SqlError(sqlite3* db) {
  const int code = sqlite3_errcode(db);
  const int system = sqlite3_system_errno(db);
  if (code == SQLITE_FULL || (code == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT || system == EFBIG)))
    return MakeError(Code::kExhausted, "file.disk_full", "cannot write the blob index: the disk is full");
  return MakeError(Code::kInternal, "blob.index", StrCat("the blob index failed: ", sqlite3_errmsg(db)));
}

}  // namespace

// One SQLite connection with its prepared statements. Used by one thread at a time.
class Index::Connection {
 public:
  static Result<std::unique_ptr<Connection>> Open(const std::string& path, bool create) {
    std::unique_ptr<Connection> c(new Connection);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path.c_str(), &c->db_, flags, nullptr) != SQLITE_OK) return SqlError(c->db_);
    sqlite3_busy_timeout(c->db_, 10'000);
    sqlite3_extended_result_codes(c->db_, 0);
    TRY_VOID(c->Run("PRAGMA mmap_size=1073741824; PRAGMA cache_size=-4096; PRAGMA synchronous=NORMAL"));
    if (create) {
      TRY_VOID(c->Run("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=4000; PRAGMA journal_size_limit=67108864"));
      TRY(int64_t form, c->Number("PRAGMA user_version"));
      if (form != 0 && form != kForm)
        return MakeError(Code::kInternal, "blob.index", "the blob index has another form");
      TRY_VOID(c->Run(kTables));
      if (form == 0) TRY_VOID(c->Run(StrCat("PRAGMA user_version=", kForm)));
      TRY_VOID(c->Prepare("INSERT OR IGNORE INTO blobs VALUES(?1,?2,?3,?4,?5)", c->add_));
      TRY_VOID(c->Prepare("INSERT OR REPLACE INTO packs VALUES(?1,?2)", c->cover_));
    }
    TRY_VOID(c->Prepare("SELECT pack,offset,stored,raw FROM blobs WHERE digest=?1", c->find_));
    return c;
  }

  ~Connection() {
    for (sqlite3_stmt* s : {add_, cover_, find_}) sqlite3_finalize(s);
    sqlite3_close(db_);
  }

  Result<void> Run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return SqlError(db_);
    return {};
  }

  Result<int64_t> Number(const std::string& sql) {
    sqlite3_stmt* s = nullptr;
    TRY_VOID(Prepare(sql.c_str(), s));
    const int code = sqlite3_step(s);
    const int64_t v = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    if (code != SQLITE_ROW) return SqlError(db_);
    return v;
  }

  Result<void> Prepare(const char* sql, sqlite3_stmt*& out) {
    if (sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &out, nullptr) != SQLITE_OK) return SqlError(db_);
    return {};
  }

  Result<std::optional<Location>> Find(const Digest& digest) {
    sqlite3_bind_blob(find_, 1, digest.bytes.data(), static_cast<int>(digest.bytes.size()), SQLITE_STATIC);
    const int code = sqlite3_step(find_);
    std::optional<Location> at;
    if (code == SQLITE_ROW) {
      at.emplace();
      at->pack = static_cast<uint32_t>(sqlite3_column_int64(find_, 0));
      at->offset = static_cast<uint64_t>(sqlite3_column_int64(find_, 1));
      at->stored = static_cast<uint32_t>(sqlite3_column_int64(find_, 2));
      at->raw = static_cast<uint32_t>(sqlite3_column_int64(find_, 3));
    }
    sqlite3_reset(find_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return SqlError(db_);
    return at;
  }

  Result<bool> Add(const IndexRow& row) {
    sqlite3_bind_blob(add_, 1, row.digest.bytes.data(), static_cast<int>(row.digest.bytes.size()), SQLITE_STATIC);
    sqlite3_bind_int64(add_, 2, row.at.pack);
    sqlite3_bind_int64(add_, 3, static_cast<int64_t>(row.at.offset));
    sqlite3_bind_int64(add_, 4, row.at.stored);
    sqlite3_bind_int64(add_, 5, row.at.raw);
    const int code = sqlite3_step(add_);
    if (code != SQLITE_DONE) {
      Error error = SqlError(db_);
      sqlite3_reset(add_);
      return error;
    }
    sqlite3_reset(add_);
    return sqlite3_changes(db_) > 0;
  }

  Result<void> Cover(uint32_t pack, uint64_t size) {
    sqlite3_bind_int64(cover_, 1, pack);
    sqlite3_bind_int64(cover_, 2, static_cast<int64_t>(size));
    const int code = sqlite3_step(cover_);
    if (code != SQLITE_DONE) {
      Error error = SqlError(db_);
      sqlite3_reset(cover_);
      return error;
    }
    sqlite3_reset(cover_);
    return {};
  }

  Result<std::map<uint32_t, uint64_t>> Packs() {
    sqlite3_stmt* s = nullptr;
    TRY_VOID(Prepare("SELECT pack,size FROM packs", s));
    std::map<uint32_t, uint64_t> packs;
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW)
      packs[static_cast<uint32_t>(sqlite3_column_int64(s, 0))] = static_cast<uint64_t>(sqlite3_column_int64(s, 1));
    sqlite3_finalize(s);
    if (code != SQLITE_DONE) return SqlError(db_);
    return packs;
  }

 private:
  Connection() = default;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* add_ = nullptr;
  sqlite3_stmt* cover_ = nullptr;
  sqlite3_stmt* find_ = nullptr;
};

// A reading connection taken from the idle ones and put back at the end.
class Index::Lease {
 public:
  explicit Lease(Index& index) : index_(index) {}
  ~Lease() {
    if (!connection_) return;
    std::lock_guard lock(index_.readers_mutex_);
    index_.readers_.push_back(std::move(connection_));
  }
  Result<Connection*> Take() {
    {
      std::lock_guard lock(index_.readers_mutex_);
      if (!index_.readers_.empty()) {
        connection_ = std::move(index_.readers_.back());
        index_.readers_.pop_back();
        return connection_.get();
      }
    }
    TRY(connection_, Connection::Open(index_.path_, false));
    return connection_.get();
  }

 private:
  Index& index_;
  std::unique_ptr<Connection> connection_;
};

Index::Index(std::string path) : path_(std::move(path)) {}

Index::~Index() {
  readers_.clear();
  writer_.reset();
}

Result<std::unique_ptr<Index>> Index::TryOpen(const std::string& path) {
  std::unique_ptr<Index> index(new Index(path));
  TRY(index->writer_, Connection::Open(path, true));
  TRY_VOID(index->Packs());
  return index;
}

Result<std::unique_ptr<Index>> Index::Open(const std::string& path) {
  auto index = TryOpen(path);
  if (index.ok() || index.error().slug != "blob.index") return index;
  for (const char* suffix : {"", "-wal", "-shm"}) TRY_VOID(os::RemoveFile(path + suffix));
  return TryOpen(path);
}

Result<std::map<uint32_t, uint64_t>> Index::Packs() {
  std::lock_guard lock(writer_mutex_);
  return writer_->Packs();
}

Result<size_t> Index::Add(std::vector<IndexRow>& rows, uint32_t pack, uint64_t size) {
  std::sort(rows.begin(), rows.end(), [](const IndexRow& a, const IndexRow& b) { return a.digest < b.digest; });
  std::lock_guard lock(writer_mutex_);
  auto add = [&]() -> Result<size_t> {
    TRY_VOID(writer_->Run("BEGIN IMMEDIATE"));
    size_t added = 0;
    for (const IndexRow& row : rows) {
      TRY(bool is_new, writer_->Add(row));
      added += is_new;
    }
    TRY_VOID(writer_->Cover(pack, size));
    TRY_VOID(writer_->Run("COMMIT"));
    return added;
  };
  auto result = add();
  if (!result.ok()) (void)writer_->Run("ROLLBACK");
  return result;
}

Result<void> Index::Clear() {
  std::lock_guard lock(writer_mutex_);
  return writer_->Run("BEGIN; DELETE FROM blobs; DELETE FROM packs; COMMIT");
}

Result<std::vector<bool>> Index::Has(std::span<const Digest> digests) {
  Lease lease(*this);
  TRY(Connection * reader, lease.Take());
  std::vector<bool> here(digests.size());
  TRY_VOID(reader->Run("BEGIN"));
  auto look = [&]() -> Result<void> {
    for (size_t i = 0; i < digests.size(); ++i) {
      TRY(auto at, reader->Find(digests[i]));
      here[i] = at.has_value();
    }
    return {};
  };
  auto result = look();
  TRY_VOID(reader->Run("COMMIT"));
  if (!result.ok()) return result.error();
  return here;
}

Result<std::optional<Location>> Index::Find(const Digest& digest) {
  Lease lease(*this);
  TRY(Connection * reader, lease.Take());
  return reader->Find(digest);
}

}  // namespace ferry::blob
