#include "cli/download.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "os/file.h"
#include "snapshot/snapshot.h"
#include "transfer/fetch.h"

namespace ferry::cli {
namespace {

constexpr int64_t kLogPiece = 4 << 20;
constexpr const char* kPartSuffix = ".ferry-part";

// Where the file of this name goes below the folder, with the folders above it made. Names that lead elsewhere, by ".." or by a link that
// stands in the way, are kInvalid "download.path".
Result<std::string> Place(const std::string& folder, const std::string& name) {
  auto refuse = [&](std::string_view why) { return MakeError(Code::kInvalid, "download.path", StrCat("'", name, "' is not written: ", why), name); };
  std::string at = folder;
  auto parts = Split(name, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty() || parts[i] == "." || parts[i] == ".." || parts[i].find('\0') != std::string_view::npos)
      return refuse("it is no path inside the folder");
    at = os::JoinPath(at, parts[i]);
    auto stat = os::StatPath(at, false);
    if (stat.ok() && stat->type == os::FileType::kLink) return refuse(StrCat("there is a link at ", at));
    if (stat.ok() && i + 1 < parts.size() && stat->type != os::FileType::kFolder) return refuse(StrCat(at, " is no folder"));
    if (stat.ok() && i + 1 == parts.size() && stat->type != os::FileType::kFile) return refuse(StrCat(at, " is no file"));
    if (!stat.ok() && i + 1 < parts.size()) TRY_VOID(os::MakeFolders(at));
  }
  return at;
}

std::string CountFiles(size_t count) { return StrCat(count, count == 1 ? " file" : " files"); }

// One file, beside its place first. True when it had to be fetched.
Result<bool> DownloadOne(Session& session, const std::string& source, const std::string& path, const Json& file, bool overwrite) {
  const uint64_t size = static_cast<uint64_t>(std::max<int64_t>(0, file.GetInt("size")));
  const auto digest = Digest::FromHex(file.GetString("digest"));
  if (auto stat = os::StatPath(path, false); stat.ok() && stat->size == size && digest) {
    TRY(Digest there, os::HashFile(path));
    if (there == *digest) return false;
  }
  if (!overwrite && os::Exists(path))
    return MakeError(Code::kConflict, "download.exists", StrCat(path, " exists already; give another folder, or --overwrite"), path);
  const std::string part = path + kPartSuffix;
  for (bool resumed = true;; resumed = false) {
    uint64_t have = 0;
    if (auto stat = os::StatPath(part, false); stat.ok()) {
      if (!resumed || !digest || stat->type != os::FileType::kFile || stat->size > size)
        TRY_VOID(os::RemoveFile(part));
      else
        have = stat->size;
    }
    if (have < size || size == 0) {
      TRY(os::Fd fd, os::Open(part, os::OpenMode::kAppend));
      http::Call call;
      call.path = source;
      if (have > 0) call.headers.emplace_back("Range", StrCat("bytes=", have, "-"));
      uint64_t got = 0;
      call.body_sink = [&](std::string_view bytes) -> Result<void> {
        got += bytes.size();
        return os::WriteAll(fd, bytes, part);
      };
      auto reply = session.Do(std::move(call));
      if (!reply.ok()) return reply.error();
      // A server that knows no ranges sent the whole: begin anew without asking for one.
      if (have > 0 && reply->status != 206) continue;
      if (have + got < size)
        return MakeError(Code::kUnavailable, "download.cut_off", StrCat("'", file.GetString("path"), "' was cut off; the same command goes on where it ended"),
                         path);
    }
    if (digest) {
      TRY(Digest there, os::HashFile(part));
      if (there != *digest) {
        TRY_VOID(os::RemoveFile(part));
        if (have > 0) continue;
        return MakeError(Code::kInternal, "download.content", StrCat("what arrived for '", file.GetString("path"), "' is not what the server lists"), path);
      }
    }
    TRY_VOID(os::Rename(part, path));
    return true;
  }
}

// Where the stream of an attempt goes.
std::string PlaceOf(const std::string& name, int64_t attempt) { return attempt > 1 ? StrCat("attempt-", attempt, "/", name) : name; }

// What a stream has behind `offset`, at the end of the file. Returns the file's size then.
Result<uint64_t> AppendStream(Session& session, const std::string& base, const std::string& name, int64_t attempt, const std::string& path, uint64_t offset) {
  TRY(os::Fd fd, os::Open(path, os::OpenMode::kAppend));
  for (;;) {
    http::Call call;
    call.path = StrCat(base, "/", EncodePath(name), "?offset=", offset, "&limit=", kLogPiece, "&attempt=", attempt);
    TRY(http::Reply reply, session.Do(std::move(call)));
    if (reply.body.empty()) return offset;
    TRY_VOID(os::WriteAll(fd, reply.body, path));
    offset += reply.body.size();
  }
}

}  // namespace

Result<Json> DownloadAll(Context& context, Session& session, const Download& what, const std::string& folder) {
  Json fetched = Json::MakeArray();
  StatusLine line(context.streams.err_terminal, context.streams.err);
  const bool shown = context.streams.err_terminal.rewrites && !context.quiet() && what.progress;
  std::vector<std::pair<std::string, std::string>> of_files;
  for (const auto& parameter : what.parameters)
    if (parameter.first == "workspace" || parameter.first == "version") of_files.push_back(parameter);
  std::string cursor;
  do {
    auto parameters = what.parameters;
    parameters.emplace_back("cursor", cursor);
    TRY(Json page, session.Get(what.list + QueryText(parameters)));
    TRY_VOID(os::MakeFolders(folder));
    if (const Json* files = page.Find(what.key); files && files->is_array())
      for (const Json& file : files->as_array()) {
        std::string name = file.GetString("path");
        if (shown) line.Update("Downloading", name);
        TRY(std::string path, Place(folder, name));
        TRY(bool fresh, DownloadOne(session, StrCat(what.files, "/", EncodePath(name), QueryText(of_files)), path, file, what.overwrite));
        fetched.Push(Json::MakeObject({{"path", name}, {"file", path}, {"size", file.GetInt("size")}, {"fetched", fresh}}));
      }
    cursor = page.GetString("next");
  } while (!cursor.empty());
  line.Clear();
  return fetched;
}

std::string DownloadedText(const Json& files, const std::string& folder) {
  uint64_t bytes = 0;
  for (const Json& file : files.as_array())
    if (file.GetBool("fetched")) bytes += static_cast<uint64_t>(file.GetInt("size"));
  return StrCat(CountFiles(files.as_array().size()), " in ", folder, " (", FormatBytes(bytes), " fetched)\n");
}

Result<int> DownloadFiles(Context& context) {
  const std::string folder = context.arguments.Get("output-dir");
  const std::string base = ApiPath({"runs", context.arguments.Get("run"), "artifacts"});
  TRY(Session * session, context.Server());
  TRY(Json fetched, DownloadAll(context, *session, {base, "artifacts", base, {{"prefix", context.arguments.Get("prefix")}}}, folder));
  return context.Tell(fetched, DownloadedText(fetched, folder));
}

Result<void> DownloadStreams(Session& session, const std::string& run, std::string_view prefix, const std::string& folder) {
  const std::string base = ApiPath({"runs", run, "logs"});
  TRY(Json answer, session.Get(base));
  const Json* streams = answer.Find("streams");
  for (const Json& stream : streams && streams->is_array() ? streams->as_array() : Json::Array{}) {
    const std::string name = stream.GetString("name");
    if (!name.starts_with(prefix)) continue;
    const int64_t attempt = stream.GetInt("attempt", 1);
    TRY(std::string path, Place(folder, PlaceOf(name, attempt)));
    auto stat = os::StatPath(path, false);
    TRY([[maybe_unused]] uint64_t size, AppendStream(session, base, name, attempt, path, stat.ok() ? stat->size : 0));
  }
  return {};
}

Result<int> DownloadLogs(Context& context) {
  const std::string folder = context.arguments.Get("output-dir");
  const std::string base = ApiPath({"runs", context.arguments.Get("run"), "logs"});
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Get(base));
  TRY_VOID(os::MakeFolders(folder));
  Json written = Json::MakeArray();
  const Json* streams = answer.Find("streams");
  for (const Json& stream : streams && streams->is_array() ? streams->as_array() : Json::Array{}) {
    std::string name = stream.GetString("name");
    const int64_t attempt = stream.GetInt("attempt", 1);
    TRY(std::string path, Place(folder, PlaceOf(name, attempt)));
    TRY_VOID(os::RemoveFile(path));
    TRY(uint64_t size, AppendStream(*session, base, name, attempt, path, 0));
    written.Push(Json::MakeObject({{"stream", name}, {"attempt", attempt}, {"file", path}, {"size", size}}));
  }
  static const Columns columns = {{"FILE", "file", Style::kPlain, Align::kLeft, true}, {"SIZE", "size", Style::kBytes, Align::kRight}};
  if (context.ForPeople() && written.as_array().empty()) context.Note("no logs");
  return context.Show(written, &columns);
}

Result<int> RestoreSnapshot(Context& context) {
  const std::string folder = context.arguments.Get("output-dir");
  const std::string run = context.arguments.Get("run");
  TRY(Session * session, context.Server());
  TRY(Json view, session->Get(ApiPath({"runs", run})));
  const Json* spec = view.Find("spec");
  if (spec && !spec->GetBool("keep_snapshot", true))
    return MakeError(Code::kNotFound, "snapshot.not_kept",
                     StrCat("run '", run, "' was submitted with snapshotProject false: its source directory is not kept"));
  auto id = Digest::FromHex(spec ? spec->GetString("snapshot") : "");
  if (!id) return MakeError(Code::kNotFound, "snapshot.none", StrCat("run '", run, "' was submitted without a source directory"));
  const transfer::Link link = BlobLink(*session);
  TRY(snapshot::Manifest manifest, transfer::FetchManifest(link, *id));
  transfer::BatchFetch fetch(link, manifest);
  TRY_VOID(snapshot::Restore(manifest, folder, [&](const Digest& digest, const auto& write) { return fetch.Get(digest, write); }));
  Json done =
      Json::MakeObject({{"run", run}, {"snapshot", id->Hex()}, {"folder", folder}, {"files", manifest.entries.size()}, {"bytes", manifest.TotalBytes()}});
  return context.Tell(done, StrCat(CountFiles(manifest.entries.size()), " in ", folder, " (", FormatBytes(manifest.TotalBytes()), ")\n"));
}

}  // namespace ferry::cli
