#include "series/journal.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "series/chunk.h"

namespace ferry::series {

namespace {

constexpr std::string_view kMagic = "ferryjn1";
constexpr size_t kHead = 8;                   // of a record: its length and check sum, four bytes each
constexpr uint32_t kPolynomial = 0x82F63B78;  // CRC-32C

constexpr auto kCrcTable = [] {
  std::array<std::array<uint32_t, 256>, 4> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    table[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i)
    for (size_t t = 1; t < 4; ++t) table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 0xFF];
  return table;
}();

uint32_t Crc(std::string_view bytes) {
  uint32_t crc = ~0u;
  while (bytes.size() >= 4) {
    for (unsigned i = 0; i < 4; ++i) crc ^= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    crc = kCrcTable[3][crc & 0xFF] ^ kCrcTable[2][crc >> 8 & 0xFF] ^ kCrcTable[1][crc >> 16 & 0xFF] ^ kCrcTable[0][crc >> 24];
    bytes.remove_prefix(4);
  }
  for (char c : bytes) crc = crc >> 8 ^ kCrcTable[0][(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

void PutFixed(char* out, uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) out[i] = static_cast<char>(value >> (8 * i));
}

uint32_t GetFixed(std::string_view in) {
  uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<unsigned char>(in[i])) << (8 * i);
  return value;
}

std::string PathOf(const std::string& folder, uint64_t number) {
  std::string digits = StrCat(number);
  return os::JoinPath(folder, StrCat("journal-", std::string(digits.size() < 12 ? 12 - digits.size() : 0, '0'), digits));
}

}  // namespace

std::string EncodeRecord(const Append& append) {
  std::string out(kHead, '\0');
  AppendText(out, append.position.source);
  AppendVarint(out, append.position.end);
  AppendVarint(out, append.batches.size());
  ChunkWriter writer;
  for (const Batch& batch : append.batches) {
    AppendText(out, batch.run);
    AppendText(out, batch.metric);
    AppendVarint(out, static_cast<uint64_t>(batch.kind));
    AppendVarint(out, batch.points.size());
    for (const Point& point : batch.points) writer.Add(point);
    AppendText(out, writer.Take());
  }
  std::string_view payload = std::string_view(out).substr(kHead);
  PutFixed(out.data(), static_cast<uint32_t>(payload.size()));
  PutFixed(out.data() + 4, Crc(payload));
  return out;
}

std::optional<Append> DecodeRecord(std::string_view record) {
  if (record.size() < kHead) return std::nullopt;
  std::string_view in = record.substr(kHead);
  Append append;
  auto source = TakeText(in);
  auto end = TakeVarint(in);
  auto batches = TakeVarint(in);
  if (!source || !end || !batches) return std::nullopt;
  append.position = {std::string(*source), *end};
  for (uint64_t i = 0; i < *batches; ++i) {
    auto run = TakeText(in), metric = TakeText(in);
    auto kind = TakeVarint(in);
    auto count = TakeVarint(in);
    auto points = TakeText(in);
    if (!run || !metric || !kind || *kind > static_cast<uint64_t>(Kind::kSystem) || !count || !points) return std::nullopt;
    Batch batch{std::string(*run), std::string(*metric), static_cast<Kind>(*kind), {}};
    ChunkReader reader(*points);
    for (Point point; reader.Next(point);) batch.points.push_back(point);
    if (reader.damaged() || batch.points.size() != *count) return std::nullopt;
    append.batches.push_back(std::move(batch));
  }
  if (!in.empty()) return std::nullopt;
  return append;
}

Result<Journal> Journal::Create(const std::string& folder, uint64_t number) {
  std::string path = PathOf(folder, number);
  if (os::Exists(path)) return MakeError(Code::kConflict, "file.exists", StrCat(path, " exists already"));
  auto create = [&]() -> Result<os::Fd> {
    TRY(os::Fd fd, os::Open(path, os::OpenMode::kReadWrite));
    TRY_VOID(os::WriteAllAt(fd, kMagic, 0, path));
    TRY_VOID(os::SyncData(fd, path));
    TRY_VOID(os::SyncFolder(folder));
    return fd;
  };
  auto fd = create();
  if (!fd.ok()) {
    (void)os::RemoveFile(path);
    return fd.error();
  }
  return Journal(std::move(path), number, std::move(*fd), kMagic.size());
}

Result<Journal> Journal::Replay(const std::string& folder, uint64_t number, const std::function<Result<void>(Append)>& visit) {
  std::string path = PathOf(folder, number);
  TRY(os::Fd fd, os::Open(path, os::OpenMode::kReadWrite));
  TRY(os::Stat stat, os::StatFd(fd, path));
  TRY(std::string magic, os::ReadAt(fd, 0, kMagic.size(), path));
  if (magic != kMagic) {
    if (stat.size > kMagic.size()) return MakeError(Code::kConflict, "series.bad_journal", StrCat(path, " is no journal that this version of Ferry can read"));
    // The crash came before its first record.
    TRY_VOID(os::WriteAllAt(fd, kMagic, 0, path));
    TRY_VOID(os::SyncData(fd, path));
    stat.size = kMagic.size();
  }
  uint64_t end = kMagic.size();
  while (stat.size - end > kHead) {
    TRY(std::string head, os::ReadAt(fd, end, kHead, path));
    uint64_t size = GetFixed(head);
    if (size == 0 || size > kMostRecordBytes || size > stat.size - end - kHead) break;
    TRY(std::string record, os::ReadAt(fd, end, kHead + size, path));
    if (record.size() != kHead + size || Crc(std::string_view(record).substr(kHead)) != GetFixed(std::string_view(head).substr(4))) break;
    auto append = DecodeRecord(record);
    if (!append) return MakeError(Code::kInternal, "series.bad_journal", StrCat(path, " has a record that cannot be read at byte ", end));
    TRY_VOID(visit(std::move(*append)));
    end += kHead + size;
  }
  if (end != stat.size) {
    TRY_VOID(os::Truncate(fd, end, path));
    TRY_VOID(os::SyncData(fd, path));
  }
  return Journal(std::move(path), number, std::move(fd), end);
}

Result<void> Journal::Write(std::string_view records) {
  if (cut_pending_) {
    TRY_VOID(os::Truncate(fd_, end_, path_));
    cut_pending_ = false;
  }
  auto written = os::WriteAllAt(fd_, records, end_, path_);
  if (written.ok()) written = os::SyncData(fd_, path_);
  if (!written.ok()) {
    cut_pending_ = !os::Truncate(fd_, end_, path_).ok();
    return written.error();
  }
  end_ += records.size();
  return {};
}

Result<std::vector<uint64_t>> Journal::List(const std::string& folder) {
  TRY(auto entries, os::ListFolder(folder));
  std::vector<uint64_t> numbers;
  for (const os::DirEntry& entry : entries) {
    if (!entry.name.starts_with("journal-")) continue;
    if (auto number = ParseInt(std::string_view(entry.name).substr(8)); number && *number >= 0) numbers.push_back(static_cast<uint64_t>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<void> Journal::Remove(const std::string& folder, uint64_t number) { return os::RemoveFile(PathOf(folder, number)); }

}  // namespace ferry::series
