#include "blob/files/index.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "os/file.h"

namespace ferry::blob {

namespace {

using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;

// The form of the tables below. An index of another form is rebuilt.
constexpr int64_t kForm = 1;
constexpr size_t kReaders = 8;

constexpr const char* kTables = R"(
  CREATE TABLE IF NOT EXISTS blobs(
    digest BLOB PRIMARY KEY, pack INTEGER NOT NULL, offset INTEGER NOT NULL, stored INTEGER NOT NULL, raw INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS packs(pack INTEGER PRIMARY KEY, size INTEGER NOT NULL);
)";

constexpr const char* kFind = "SELECT pack,offset,stored,raw FROM blobs WHERE digest=?1";

sqlite::Settings Connection() {
  sqlite::Settings settings;
  settings.slug = "blob";
  settings.cache_bytes = 4 << 20;
  settings.busy_milliseconds = 10'000;
  return settings;
}

// A full disk has the same slug here as everywhere in files.
Error Named(Error error) {
  if (error.slug == "blob.full") error.slug = "file.disk_full";
  return error;
}

Result<std::optional<Location>> FindWith(Statement& find, const Digest& digest) {
  find.BindBlob(1, digest.Raw());
  TRY(bool row, find.Step());
  std::optional<Location> at;
  if (row) {
    at.emplace();
    at->pack = static_cast<uint32_t>(find.Int(0));
    at->offset = static_cast<uint64_t>(find.Int(1));
    at->stored = static_cast<uint32_t>(find.Int(2));
    at->raw = static_cast<uint32_t>(find.Int(3));
  }
  find.Reset();
  return at;
}

}  // namespace

Index::Index(const std::string& path) : readers_(path, Connection(), kReaders) {}
Index::~Index() = default;

Result<std::unique_ptr<Index>> Index::TryOpen(const std::string& path) {
  std::unique_ptr<Index> index(new Index(path));
  TRY(index->writer_, Database::Open(path, Connection()));
  // The packs are what is durable; a power cut may cost the index its latest rows, and they are read from the packs again.
  TRY_VOID(index->writer_->Exec("PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4000; PRAGMA journal_size_limit=67108864"));
  TRY(int64_t form, index->writer_->QueryInt("PRAGMA user_version"));
  if (form != 0 && form != kForm) return MakeError(Code::kInternal, "blob.io", "the blob index has another form");
  TRY_VOID(index->writer_->Exec(kTables));
  if (form == 0) TRY_VOID(index->writer_->Exec(StrCat("PRAGMA user_version=", kForm)));
  TRY_VOID(index->Packs());
  return index;
}

Result<std::unique_ptr<Index>> Index::Open(const std::string& path) {
  auto index = TryOpen(path);
  if (index.ok()) return index;
  if (index.error().slug != "blob.io") return Named(index.error());
  for (const char* suffix : {"", "-wal", "-shm"}) TRY_VOID(os::RemoveFile(path + suffix));
  index = TryOpen(path);
  if (!index.ok()) return Named(index.error());
  return index;
}

Result<std::map<uint32_t, uint64_t>> Index::Packs() {
  std::lock_guard lock(writer_mutex_);
  TRY(Statement all, writer_->Prepare("SELECT pack,size FROM packs"));
  std::map<uint32_t, uint64_t> packs;
  for (;;) {
    TRY(bool row, all.Step());
    if (!row) return packs;
    packs[static_cast<uint32_t>(all.Int(0))] = static_cast<uint64_t>(all.Int(1));
  }
}

Result<size_t> Index::Add(std::vector<IndexRow>& rows, uint32_t pack, uint64_t size) {
  std::sort(rows.begin(), rows.end(), [](const IndexRow& a, const IndexRow& b) { return a.digest < b.digest; });
  std::lock_guard lock(writer_mutex_);
  auto add = [&]() -> Result<size_t> {
    TRY(Transaction transaction, Transaction::Begin(*writer_, Transaction::Mode::kWrite));
    size_t added = 0;
    {
      TRY(Statement insert, writer_->Prepare("INSERT OR IGNORE INTO blobs VALUES(?1,?2,?3,?4,?5)"));
      for (const IndexRow& row : rows) {
        insert.BindBlob(1, row.digest.Raw())
            .BindInt(2, row.at.pack)
            .BindInt(3, static_cast<int64_t>(row.at.offset))
            .BindInt(4, row.at.stored)
            .BindInt(5, row.at.raw);
        TRY_VOID(insert.Run());
        added += writer_->Changes() > 0;
      }
      TRY(Statement cover, writer_->Prepare("INSERT OR REPLACE INTO packs VALUES(?1,?2)"));
      cover.BindInt(1, pack).BindInt(2, static_cast<int64_t>(size));
      TRY_VOID(cover.Run());
    }
    TRY_VOID(transaction.Commit());
    return added;
  };
  auto result = add();
  if (!result.ok()) return Named(result.error());
  return result;
}

Result<void> Index::Clear() {
  std::lock_guard lock(writer_mutex_);
  auto clear = [&]() -> Result<void> {
    TRY(Transaction transaction, Transaction::Begin(*writer_, Transaction::Mode::kWrite));
    TRY_VOID(writer_->Exec("DELETE FROM blobs; DELETE FROM packs"));
    return transaction.Commit();
  };
  auto result = clear();
  if (!result.ok()) return Named(result.error());
  return {};
}

Result<std::vector<bool>> Index::Has(std::span<const Digest> digests) {
  TRY(auto reader, readers_.Take());
  TRY(Transaction transaction, Transaction::Begin(*reader, Transaction::Mode::kRead));
  std::vector<bool> here(digests.size());
  TRY(Statement find, reader->Prepare(kFind));
  for (size_t i = 0; i < digests.size(); ++i) {
    TRY(auto at, FindWith(find, digests[i]));
    here[i] = at.has_value();
  }
  return here;
}

Result<std::optional<Location>> Index::Find(const Digest& digest) {
  TRY(auto reader, readers_.Take());
  TRY(Statement find, reader->Prepare(kFind));
  return FindWith(find, digest);
}

}  // namespace ferry::blob
