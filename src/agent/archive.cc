#include "agent/archive.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::agent {

using environment::Ready;
using snapshot::Entry;

namespace {

constexpr uint64_t kMaxHead = 256u << 20;

bool IsMark(std::string_view path) { return path == "ready.json" || path == "used" || path == "build.log"; }

Error Corrupt(std::string message) { return MakeError(Code::kInvalid, "archive.corrupt", std::move(message)); }

// Links as they are: those to the interpreter that the environment was made with must not become copies of it.
void FindLinks(const std::string& folder, const std::string& below, std::map<std::string, std::string>& links, int depth = 0) {
  auto entries = os::ListFolder(os::JoinPath(folder, below));
  if (!entries.ok() || depth > 64) return;
  for (const os::DirEntry& entry : *entries) {
    std::string path = below.empty() ? entry.name : StrCat(below, "/", entry.name);
    if (entry.type == os::FileType::kFolder) FindLinks(folder, path, links, depth + 1);
    if (entry.type != os::FileType::kLink) continue;
    if (auto target = os::ReadLink(os::JoinPath(folder, path)); target.ok()) links[path] = *target;
  }
}

std::string MovePath(const std::string& path, const std::string& before, const std::string& after) {
  if (path == before) return after;
  return path.starts_with(before + "/") ? after + path.substr(before.size()) : path;
}

// Collects bytes into records of a pack.
class PackWriter {
 public:
  explicit PackWriter(const os::Fd& fd) : fd_(fd), packed_(blob::kPackMagic) {}
  Result<void> Add(std::string_view bytes) {
    while (!bytes.empty()) {
      size_t room = blob::kMaxPacked - raw_.size(), part = std::min(room, bytes.size());
      raw_ += bytes.substr(0, part);
      bytes.remove_prefix(part);
      if (raw_.size() == blob::kMaxPacked) TRY_VOID(Flush());
    }
    return {};
  }
  Result<void> Flush() {
    if (!raw_.empty()) blob::AppendRecord(packed_, HashBytes(raw_), raw_);
    raw_.clear();
    TRY_VOID(os::WriteAll(fd_, packed_));
    hash_.Update(packed_);
    packed_.clear();
    return {};
  }
  Digest Finish() { return hash_.Finish(); }

 private:
  const os::Fd& fd_;
  Sha256 hash_;
  std::string packed_;
  std::string raw_;
};

}  // namespace

Ready Moved(Ready ready, const std::string& before, const std::string& after) {
  auto move = [&](std::string& path) { path = MovePath(path, before, after); };
  move(ready.folder);
  move(ready.interpreter);
  for (std::string& one : ready.path) move(one);
  for (auto& [name, value] : ready.variables) move(value);
  return ready;
}

Result<Digest> WriteArchive(const Ready& ready, const std::string& file) {
  TRY(snapshot::ScanResult scan, snapshot::Scan({.folder = ready.folder, .cache_file = "", .threads = 1, .everything = true}));
  std::map<std::string, std::string> links;
  FindLinks(ready.folder, "", links);
  std::erase_if(scan.manifest.entries, [&](const Entry& entry) { return IsMark(entry.path) || links.count(entry.path) > 0; });
  std::string head = Json::MakeObject({{"ready", environment::ToJson(ready)}, {"links", links}, {"manifest", scan.manifest.Text()}}).Dump();
  TRY(os::Fd fd, os::Open(file, os::OpenMode::kWrite, 0600));
  PackWriter out(fd);
  std::string size;
  for (int shift = 0; shift < 64; shift += 8) size += static_cast<char>(head.size() >> shift);
  TRY_VOID(out.Add(size));
  TRY_VOID(out.Add(head));
  for (const Entry& entry : scan.manifest.entries) {
    if (entry.type != Entry::Type::kFile) continue;
    std::string path = os::JoinPath(ready.folder, entry.path);
    TRY(os::Fd content, os::Open(path, os::OpenMode::kRead));
    for (uint64_t at = 0; at < entry.size;) {
      TRY(std::string bytes, os::ReadAt(content, at, std::min<uint64_t>(1u << 20, entry.size - at), path));
      if (bytes.empty()) return MakeError(Code::kConflict, "archive.changed", StrCat(path, " changed while it was read"));
      TRY_VOID(out.Add(bytes));
      at += bytes.size();
    }
  }
  TRY_VOID(out.Flush());
  return out.Finish();
}

ArchiveReader::ArchiveReader(std::string folder)
    : folder_(std::move(folder)), parser_([this](const Digest&, std::string_view raw, std::string_view) { return Take(raw); }) {}

Result<void> ArchiveReader::Take(std::string_view raw) {
  while (!begun_ && !raw.empty()) {
    uint64_t wanted = head_size_ ? head_size_ : 8;
    size_t part = std::min<size_t>(raw.size(), wanted - head_.size());
    head_ += raw.substr(0, part);
    raw.remove_prefix(part);
    if (head_.size() < wanted) return {};
    if (head_size_ == 0) {
      for (int i = 7; i >= 0; --i) head_size_ = head_size_ << 8 | static_cast<unsigned char>(head_[static_cast<size_t>(i)]);
      if (head_size_ == 0 || head_size_ > kMaxHead) return Corrupt(StrCat("the archive's head has ", head_size_, " bytes"));
      head_.clear();
      continue;
    }
    TRY_VOID(TakeHead(head_));
    head_.clear();
    begun_ = true;
  }
  while (!raw.empty()) {
    if (!file_) return Corrupt("the archive has more than its head says");
    size_t part = std::min<uint64_t>(raw.size(), left_);
    TRY_VOID(os::WriteAll(file_, raw.substr(0, part), manifest_.entries[entry_].path));
    raw.remove_prefix(part);
    left_ -= part;
    if (left_ == 0) {
      ++entry_;
      TRY_VOID(NextFile());
    }
  }
  return {};
}

Result<void> ArchiveReader::TakeHead(std::string_view text) {
  TRY(Json head, ParseJson(text, "the archive's head"));
  const Json* ready = head.Find("ready");
  if (!ready) return Corrupt("the archive's head has no 'ready'");
  TRY(Ready built, environment::ReadyFromJson(*ready));
  if (built.folder.empty() || built.folder[0] != '/') return Corrupt("the archive does not say where it was built");
  before_ = built.folder;
  ready_ = Moved(std::move(built), before_, folder_);
  links_ = head.GetStringMap("links");
  // The manifest's own check keeps every path inside the folder.
  TRY(manifest_, snapshot::Manifest::Parse(head.GetString("manifest")));
  TRY_VOID(os::MakeFolders(folder_));
  std::string last;
  for (const Entry& entry : manifest_.entries) {
    size_t slash = entry.path.rfind('/');
    std::string parent = entry.type == Entry::Type::kFolder ? entry.path : slash == std::string::npos ? "" : entry.path.substr(0, slash);
    if (parent != last && !parent.empty()) TRY_VOID(os::MakeFolders(os::JoinPath(folder_, parent)));
    last = parent;
  }
  return NextFile();
}

// Opens the next file that has content; those without are made on the way.
Result<void> ArchiveReader::NextFile() {
  file_.Close();
  for (; entry_ < manifest_.entries.size(); ++entry_) {
    const Entry& entry = manifest_.entries[entry_];
    if (entry.type != Entry::Type::kFile) continue;
    TRY(file_, os::Open(os::JoinPath(folder_, entry.path), os::OpenMode::kWrite, entry.executable ? 0755 : 0644));
    left_ = entry.size;
    if (left_ > 0) return {};
    file_.Close();
  }
  return {};
}

Result<Ready> ArchiveReader::Finish() {
  TRY_VOID(parser_.Finish());
  if (!begun_ || entry_ < manifest_.entries.size()) return Corrupt("the archive ends too early");
  for (const auto& [path, target] : links_) {
    bool inside = !path.empty() && path[0] != '/';
    for (std::string_view part : Split(path, '/')) inside &= !part.empty() && part != "." && part != "..";
    if (!inside) return Corrupt(StrCat("the archive has a link '", path, "'"));
    if (size_t slash = path.rfind('/'); slash != std::string::npos) TRY_VOID(os::MakeFolders(os::JoinPath(folder_, path.substr(0, slash))));
    TRY_VOID(os::MakeLink(MovePath(target, before_, folder_), os::JoinPath(folder_, path)));
  }
  for (const auto& [path, target] : links_)
    if (!os::StatPath(os::JoinPath(folder_, path)).ok())
      return MakeError(Code::kInvalid, "archive.link", StrCat("it needs ", target, ", which is not on this node"));
  return ready_;
}

}  // namespace ferry::agent
