#include "agent/stage.h"

#include <algorithm>
#include <set>

#include "agent/data_log.h"
#include "agent/web.h"
#include "base/text.h"
#include "os/file.h"
#include "os/process.h"
#include "snapshot/paths.h"
#include "snapshot/snapshot.h"
#include "transfer/fetch.h"
#include "transfer/upload.h"

namespace ferry::agent {

using model::DataInput;
using model::DataMode;
using model::DataOutput;
using model::DataUse;

namespace {

constexpr size_t kMostFiles = 5'000'000;
constexpr int kTries = 5;  // of what lies behind the server, or on the web

Error Stopped() { return MakeError(Code::kCanceled, "prepare.stopped", "it was stopped while its data was staged"); }

// One file of an input.
struct Item {
  size_t index = 0;      // of the path that it belongs to
  std::string path;      // in its datastore
  std::string relative;  // below the input's folder
  uint64_t size = 0;
  std::optional<Digest> digest;
};

// What a path of an input turned out to be.
struct Found {
  std::string kind;   // "file", "folder", "glob" or "url"
  std::string local;  // where this machine has it, when it is the same; else empty
  std::string base;   // the folder in its datastore that its files' paths are relative to
};

std::string ParentOf(std::string_view path) {
  size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}
std::string LastOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string Below(const std::string& base, const std::string& path) { return base.empty() ? path : path.substr(base.size() + 1); }

std::string WhatOf(const model::DataPath& path) {
  return path.url.empty() ? StrCat("path '", path.path, "' of datastore '", path.datastore, "'") : StrCat("'", path.url, "'");
}

// One input on its way.
class InputJob {
 public:
  InputJob(const model::Assign& assign, const std::string& name, const DataInput& input, std::string root, const http::ClientSettings& server, DataLog& log,
           const StageWatch& watch)
      : assign_(assign), name_(name), input_(input), root_(std::move(root)), client_(server), log_(log), watch_(watch) {
    link_ = transfer::LinkOver(client_, "/api/v1/agent/data");
    blobs_ = transfer::LinkOver(client_, "/api/v1/agent/blobs");
    blobs_.near = server.base.find("//127.0.0.1") != std::string::npos || server.base.find("//localhost") != std::string::npos;
  }

  // What it is linked to, once it has run.
  const std::vector<std::string>& linked() const { return linked_; }

  Result<DataUse> Run() {
    TRY_VOID(os::RemoveAll(root_));
    std::vector<Found> found;
    for (size_t i = 0; i < input_.paths.size(); ++i) {
      TRY(Found one, Look(i));
      found.push_back(std::move(one));
    }
    SetBases(found);
    DataUse use{name_, "downloaded", root_, 0, 0, {}};
    const bool single = found.size() == 1 && (found[0].kind == "file" || found[0].kind == "url");
    const bool linked = input_.mode == DataMode::kMount && std::all_of(found.begin(), found.end(), [](const Found& one) { return !one.local.empty(); });
    if (linked) {
      use.how = "linked";
      for (const Found& one : found) linked_.push_back(one.local);
      if (found.size() == 1 && found[0].kind == "folder") {
        TRY_VOID(os::MakeLink(found[0].local, root_));
        log_.Say(StrCat("input '", name_, "': linked to ", found[0].local));
        return use;
      }
    }
    TRY(std::vector<Item> items, List(found));
    for (const Item& item : items) use.bytes += static_cast<int64_t>(item.size);
    use.files = static_cast<int64_t>(items.size());
    TRY_VOID(os::MakeFolders(root_));
    if (linked) {
      for (const Item& item : items) {
        const Found& one = found[item.index];
        std::string target = one.kind == "file" ? one.local : os::JoinPath(one.local, Below(model::FolderOfGlob(input_.paths[item.index].path), item.path));
        TRY(std::string file, Place(item));
        TRY_VOID(os::MakeLink(target, file));
      }
      log_.Say(StrCat("input '", name_, "': linked ", items.size(), " file(s), ", FormatBytes(static_cast<uint64_t>(use.bytes))));
    } else {
      if (input_.mode == DataMode::kMount) {
        use.note = "mount: this node cannot see the datastore, so its files were downloaded";
        log_.Say(StrCat("input '", name_, "': ", use.note));
      }
      TRY_VOID(Download(items, use));
    }
    if (single) use.path = os::JoinPath(root_, items[0].relative);
    return use;
  }

 private:
  Result<Json> Ask(size_t index, int64_t limit, const std::string& cursor) {
    Json body = Json::MakeObject(
        {{"run", assign_.key.run}, {"attempt", assign_.key.attempt}, {"input", name_}, {"index", index}, {"limit", limit}, {"cursor", cursor}});
    return transfer::Ask(link_, "POST", "/input", body);
  }

  Result<Found> Look(size_t index) {
    const model::DataPath& path = input_.paths[index];
    if (!path.url.empty()) return Found{"url", {}, {}};
    TRY(Json answer, Ask(index, 0, {}));
    Found found{answer.GetString("kind"), {}, {}};
    found.base = found.kind == "file" ? ParentOf(path.path) : model::FolderOfGlob(path.path);
    if (const Json* local = answer.Find("local"); local && !os::MachineId().empty() && local->GetString("machine") == os::MachineId()) {
      auto stat = os::StatPath(local->GetString("path"));
      // A glob's place is its folder.
      if (stat.ok() && static_cast<int64_t>(stat->device) == local->GetInt("device") && static_cast<int64_t>(stat->inode) == local->GetInt("inode"))
        found.local = local->GetString("path");
    }
    return found;
  }

  // Paths of one datastore keep what sets them apart.
  void SetBases(std::vector<Found>& found) const {
    std::map<std::string, std::string> common;
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].kind == "url") continue;
      auto [it, fresh] = common.emplace(input_.paths[i].datastore, found[i].base);
      if (!fresh) it->second = model::CommonFolder(it->second, found[i].base);
    }
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i].kind != "url") found[i].base = common[input_.paths[i].datastore];
  }

  Result<std::vector<Item>> List(const std::vector<Found>& found) {
    std::vector<Item> items;
    std::map<std::string, size_t> taken;
    for (size_t i = 0; i < found.size(); ++i) {
      const model::DataPath& path = input_.paths[i];
      size_t before = items.size();
      if (found[i].kind == "url") {
        items.push_back({i, path.url, NameOfUrl(path.url), 0, {}});
      } else {
        std::string cursor;
        do {
          if (watch_.stopping()) return Stopped();
          TRY(Json page, Ask(i, 5000, cursor));
          if (const Json* files = page.Find("files"); files && files->is_array())
            for (const Json& file : files->as_array()) {
              Item item{i, file.GetString("path"), {}, static_cast<uint64_t>(file.GetInt("size")), Digest::FromHex(file.GetString("digest"))};
              item.relative = Below(found[i].base, item.path);
              items.push_back(std::move(item));
            }
          cursor = page.GetString("next");
          if (items.size() > kMostFiles) return MakeError(Code::kTooLarge, "data.too_many", StrCat("it has more than ", kMostFiles, " files"));
        } while (!cursor.empty());
        if (items.size() == before && found[i].kind == "glob") return MakeError(Code::kNotFound, "data.no_match", StrCat(WhatOf(path), " matches no file"));
      }
      for (size_t k = before; k < items.size(); ++k) {
        if (!snapshot::IsSafePath(items[k].relative))
          return MakeError(Code::kInvalid, "data.path", StrCat("'", items[k].path.substr(0, 300), "' cannot be a file on this node"));
        auto [it, fresh] = taken.emplace(items[k].relative, i);
        if (!fresh && input_.paths[it->second] != path)
          return MakeError(
              Code::kConflict, "data.twice",
              StrCat(WhatOf(path), " and ", WhatOf(input_.paths[it->second]), " both have a file '", items[k].relative, "'; name them as two inputs"));
        if (!fresh) {
          // The same file, by two globs perhaps.
          items.erase(items.begin() + static_cast<std::ptrdiff_t>(k));
          --k;
        }
      }
    }
    return items;
  }

  // The file's place, its folder made.
  Result<std::string> Place(const Item& item) const {
    std::string file = os::JoinPath(root_, item.relative);
    if (std::string parent = ParentOf(item.relative); !parent.empty()) TRY_VOID(os::MakeFolders(os::JoinPath(root_, parent)));
    return file;
  }

  Result<void> Download(const std::vector<Item>& items, DataUse& use) {
    auto bytes = static_cast<uint64_t>(use.bytes);
    if (uint64_t free = os::FreeBytes(ParentOf(root_)); bytes > free)
      return MakeError(Code::kExhausted, "data.disk_full", StrCat("it has ", FormatBytes(bytes), ", and this node's disk has ", FormatBytes(free), " left"));
    log_.Say(StrCat("input '", name_, "': downloading ", items.size(), " file(s), ", FormatBytes(bytes)));
    log_.Begin(StrCat("input '", name_, "'"), bytes);
    snapshot::Manifest manifest;
    for (const Item& item : items)
      if (item.digest) manifest.entries.push_back({item.relative, snapshot::Entry::Type::kFile, false, item.size, *item.digest, {}});
    std::sort(manifest.entries.begin(), manifest.entries.end(), [](const snapshot::Entry& a, const snapshot::Entry& b) { return a.path < b.path; });
    if (!manifest.entries.empty()) {
      transfer::BatchFetch fetch(blobs_, manifest);
      auto get = [&](const Digest& blob, const std::function<Result<void>(std::string_view)>& write) {
        return fetch.Get(blob, [&](std::string_view piece) -> Result<void> {
          if (watch_.stopping()) return Stopped();
          log_.Add(piece.size());
          return write(piece);
        });
      };
      TRY_VOID(snapshot::Restore(manifest, root_, get, 1));
    }
    for (const Item& item : items)
      if (!item.digest) TRY_VOID(DownloadOne(item));
    use.bytes = static_cast<int64_t>(log_.done());
    log_.Say(StrCat("input '", name_, "': downloaded ", items.size(), " file(s), ", FormatBytes(log_.done())));
    return {};
  }

  Result<void> DownloadOne(const Item& item) {
    TRY(std::string file, Place(item));
    TRY(os::Fd fd, os::Open(file, os::OpenMode::kWrite));
    uint64_t size = 0;
    auto write = [&](std::string_view piece) -> Result<void> {
      if (watch_.stopping()) return Stopped();
      size += piece.size();
      log_.Add(piece.size());
      return os::WriteAll(fd, piece, file);
    };
    const model::DataPath& path = input_.paths[item.index];
    if (!path.url.empty()) return FetchUrl(path.url, write);
    http::Call call;
    call.path = StrCat("/api/v1/agent/data/file?run=", EncodePercent(assign_.key.run), "&attempt=", assign_.key.attempt, "&input=", EncodePercent(name_),
                       "&index=", item.index, "&path=", EncodePercent(item.path));
    call.body_sink = write;
    TRY(http::Reply reply, link_.exchange(std::move(call)));
    if (size != item.size)
      return MakeError(Code::kConflict, "data.changed",
                       StrCat("'", item.path, "' of datastore '", path.datastore, "' was changed while it was downloaded: it had ", item.size,
                              " bytes, and came with ", size));
    return {};
  }

  const model::Assign& assign_;
  const std::string& name_;
  const DataInput& input_;
  const std::string root_;
  http::Client client_;
  transfer::Link link_, blobs_;
  DataLog& log_;
  const StageWatch& watch_;
  std::vector<std::string> linked_;
};

// Does it until it works or never will: while the server is away it waits, what lies behind the server is tried a few times.
template <typename T>
Result<T> Patiently(const StageWatch& watch, DataLog& log, const std::function<Result<T>()>& work) {
  std::chrono::milliseconds backoff(100);
  int tries = 0;
  for (;;) {
    if (watch.stopping()) return Stopped();
    auto result = work();
    if (result.ok()) return result;
    const Error& error = result.error();
    const bool away = error.slug.starts_with("http.") && (error.code == Code::kUnavailable || error.code == Code::kTimeout);
    const bool later = error.code == Code::kUnavailable || error.code == Code::kTimeout;
    if (!away && (!later || ++tries >= kTries)) return result;
    log.Say(StrCat("trying again: ", error.message));
    watch.wait(backoff);
    backoff = std::min(std::chrono::milliseconds(2000), backoff * 2);
  }
}

Error Named(const Error& error, const std::string& what) {
  if (error.code == Code::kCanceled) return error;
  return MakeError(error.code, error.slug, StrCat(what, ": ", error.message), error.field);
}

// --- links outside of the attempt's folder
std::vector<std::string> ReadTexts(const std::string& file, std::string_view key) {
  auto text = os::ReadFile(file, 16u << 20);
  auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  return json.ok() ? json->GetStrings(key) : std::vector<std::string>();
}

// Makes `to` what is at `path`. Nothing of anybody else's is removed: below the working folder what the snapshot has gives way to `overwrite`, elsewhere
// only a link that an attempt which is gone has left.
Result<void> LinkAt(const std::string& home, const std::string& path, bool working, const std::string& to, bool overwrite) {
  TRY_VOID(os::MakeFolders(ParentOf(path)));
  if (auto stat = os::StatPath(path, false); stat.ok()) {
    bool ours = false;
    if (stat->type == os::FileType::kLink)
      if (auto target = os::ReadLink(path); target.ok()) ours = *target == to || (target->starts_with(home + "/attempts/") && !os::Exists(path));
    if (!ours && !(working && overwrite))
      return MakeError(Code::kConflict, "data.path_taken",
                       working ? StrCat("the snapshot has '", path, "' already; choose another path_on_compute, or set overwrite")
                               : StrCat("'", path, "' is there already on this node; choose another path_on_compute, or remove it"));
    TRY_VOID(os::RemoveAll(path));
  }
  return os::MakeLink(to, path);
}

// --- outputs
std::string OutputFolder(const AttemptFolder& folder, const std::string& name, const DataOutput& output) {
  const std::string& path = output.path_on_compute;
  if (path.empty() || path.starts_with('/')) return folder.Path(StrCat("data/", name));
  return folder.Path(StrCat("work/", path));
}

struct OutputFile {
  std::string relative;
  std::string file;
  uint64_t size = 0;
};

// The files below a folder. A link is followed into `roots` alone: what a script in a container calls its own may be the node's.
struct OutputWalk {
  std::vector<std::string> roots;
  std::vector<OutputFile> files;
  size_t left_out = 0;

  Result<void> Add(const std::string& folder, const std::string& prefix, int depth = 0) {
    if (depth > 64 || files.size() > kMostFiles)
      return MakeError(Code::kTooLarge, "data.too_many", StrCat("it has more than 64 folders in each other, or more than ", kMostFiles, " files"));
    TRY(auto entries, os::ListFolder(folder));
    for (const os::DirEntry& entry : entries) {
      std::string file = os::JoinPath(folder, entry.name), relative = prefix.empty() ? entry.name : StrCat(prefix, "/", entry.name);
      if (entry.type == os::FileType::kFolder) {
        TRY_VOID(Add(file, relative, depth + 1));
        continue;
      }
      if (entry.type == os::FileType::kLink && !MayFollow(file)) {
        ++left_out;
        continue;
      }
      auto stat = os::StatPath(file);
      if (stat.ok() && stat->type == os::FileType::kFile) files.push_back({std::move(relative), std::move(file), stat->size});
    }
    return {};
  }

  bool MayFollow(const std::string& link) const {
    auto real = os::RealPath(link);
    return real.ok() && std::any_of(roots.begin(), roots.end(), [&](const std::string& root) { return *real == root || real->starts_with(root + "/"); });
  }
};

class OutputJob {
 public:
  OutputJob(const model::Assign& assign, const std::string& name, const DataOutput& output, std::string root, std::vector<std::string> roots,
            const http::ClientSettings& server, DataLog& log, const StageWatch& watch)
      : assign_(assign),
        name_(name),
        output_(output),
        root_(std::move(root)),
        roots_(std::move(roots)),
        server_(server),
        client_(server),
        log_(log),
        watch_(watch) {
    link_ = transfer::LinkOver(client_, "/api/v1/agent/data");
  }

  Result<DataUse> Run() {
    OutputWalk walk{roots_, {}, 0};
    std::vector<OutputFile>& files = walk.files;
    auto stat = os::StatPath(root_, false);
    if (stat.ok() && stat->type == os::FileType::kLink && !walk.MayFollow(root_))
      return MakeError(Code::kForbidden, "data.path", StrCat("'", root_, "' was made a link that leads out of the run's folders"));
    stat = os::StatPath(root_);
    if (stat.ok() && stat->type == os::FileType::kFile) {
      files.push_back({LastOf(root_), root_, stat->size});
    } else if (stat.ok()) {
      TRY_VOID(walk.Add(root_, ""));
    }
    if (walk.left_out) log_.Say(StrCat("output '", name_, "': left out ", walk.left_out, " symbolic link(s) that lead out of the run's folders"));
    if (!output_.globs.empty())
      std::erase_if(files, [&](const OutputFile& file) {
        return std::none_of(output_.globs.begin(), output_.globs.end(), [&](const std::string& glob) { return model::MatchesGlob(glob, file.relative); });
      });
    std::sort(files.begin(), files.end(), [](const OutputFile& a, const OutputFile& b) { return a.relative < b.relative; });
    DataUse use{name_, "uploaded", root_, static_cast<int64_t>(files.size()), 0, {}};
    for (const OutputFile& file : files) use.bytes += static_cast<int64_t>(file.size);
    TRY(Json about, transfer::Ask(link_, "POST", "/output", Key()));
    log_.Say(StrCat("output '", name_, "': uploading ", files.size(), " file(s), ", FormatBytes(static_cast<uint64_t>(use.bytes)), " to '",
                    about.GetString("path"), "' of datastore '", output_.datastore, "'"));
    log_.Begin(StrCat("output '", name_, "'"), static_cast<uint64_t>(use.bytes));
    if (about.GetBool("by_content")) {
      TRY_VOID(ByContent(files));
    } else {
      for (const OutputFile& file : files) TRY_VOID(Send(file));
    }
    log_.Say(StrCat("output '", name_, "': uploaded"));
    return use;
  }

 private:
  Json Key() const { return Json::MakeObject({{"run", assign_.key.run}, {"attempt", assign_.key.attempt}, {"output", name_}}); }

  Result<void> ByContent(const std::vector<OutputFile>& files) {
    constexpr size_t kBatch = 10'000;
    for (size_t at = 0; at < files.size(); at += kBatch) {
      std::vector<transfer::File> batch;
      Json list = Json::MakeArray();
      for (size_t i = at; i < std::min(files.size(), at + kBatch); ++i) {
        if (watch_.stopping()) return Stopped();
        TRY(Digest digest, os::HashFile(files[i].file));
        batch.push_back({digest, files[i].size, files[i].file, files[i].relative});
        list.Push(Json::MakeObject({{"path", files[i].relative}, {"digest", digest.Hex()}, {"size", files[i].size}}));
      }
      transfer::UploadOptions options;
      uint64_t before = 0;
      options.on_progress = [&](const transfer::UploadProgress& progress) {
        log_.Add(progress.bytes - std::min(before, progress.bytes));
        before = progress.bytes;
      };
      TRY_VOID(transfer::Upload(transfer::LinkOver(client_, "/api/v1/agent/blobs"), batch, options));
      TRY(Json added, transfer::Ask(link_, "POST", "/output", Key().Set("files", std::move(list))));
    }
    return {};
  }

  Result<void> Send(const OutputFile& file) {
    constexpr uint64_t kSmall = 4u << 20;
    http::Call call;
    call.method = "PUT";
    call.path = StrCat("/api/v1/agent/data/file?run=", EncodePercent(assign_.key.run), "&attempt=", assign_.key.attempt, "&output=", EncodePercent(name_),
                       "&path=", EncodePercent(file.relative));
    TRY(os::Fd fd, os::Open(file.file, os::OpenMode::kRead));
    if (file.size <= kSmall) {
      TRY(call.body, os::ReadAt(fd, 0, kSmall, file.file));
      TRY(http::Reply reply, link_.exchange(std::move(call)));
      log_.Add(file.size);
      return {};
    }
    call.body_source = [&, at = uint64_t{0}]() mutable -> Result<std::string> {
      if (watch_.stopping()) return Stopped();
      TRY(std::string piece, os::ReadAt(fd, at, 1u << 20, file.file));
      at += piece.size();
      log_.Add(piece.size());
      return piece;
    };
    // A stream cannot be begun again on a connection that turns out to be closed.
    http::Client fresh(server_);
    TRY(http::Reply reply, transfer::LinkOver(fresh, "").exchange(std::move(call)));
    return {};
  }

  const model::Assign& assign_;
  const std::string& name_;
  const DataOutput& output_;
  const std::string root_;
  const std::vector<std::string> roots_;  // where links may lead
  const http::ClientSettings server_;
  http::Client client_;
  transfer::Link link_;
  DataLog& log_;
  const StageWatch& watch_;
};

std::map<std::string, DataUse> ReadUploaded(const AttemptFolder& folder) {
  std::map<std::string, DataUse> done;
  auto text = os::ReadFile(folder.Path("uploaded.json"), 1u << 20);
  auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  if (json.ok() && json->is_object())
    for (const auto& [name, use] : json->as_object()) done[name] = model::DataUseFromJson(use);
  return done;
}

}  // namespace

Result<Staged> Stager::Stage(const model::Assign& assign, const StageWatch& watch) const {
  Staged staged;
  const model::RunSpec& spec = assign.spec;
  if (spec.data.empty() && spec.outputs.empty()) return staged;
  AttemptFolder folder(home_, assign.key);
  Unstage(folder);
  std::string data = folder.Path("data");
  TRY_VOID(os::RemoveAll(data));
  TRY_VOID(os::MakeFolders(data, 0700));
  staged.folders = {data};
  // Written before the first is made, so that none is forgotten.
  Json links = Json::MakeArray();
  for (const auto& [name, input] : spec.data)
    if (input.path_on_compute.starts_with('/')) links.Push(input.path_on_compute);
  for (const auto& [name, output] : spec.outputs)
    if (output.path_on_compute.starts_with('/')) links.Push(output.path_on_compute);
  if (!links.as_array().empty()) TRY_VOID(os::WriteFileAtomic(folder.Path("links.json"), Json::MakeObject({{"links", std::move(links)}}).Dump(), 0600, false));
  // Where the script finds what lies at `path`, a part of `root`.
  auto place = [&](const std::string& wanted, const std::string& root, const std::string& path, bool overwrite) -> Result<std::string> {
    if (wanted.empty()) return path;
    const bool working = !wanted.starts_with('/');
    std::string at = working ? folder.Path(StrCat("work/", wanted)) : wanted;
    TRY_VOID(LinkAt(home_, at, working, root, overwrite));
    if (!working) staged.folders.push_back(at);
    return at + path.substr(root.size());
  };
  auto show = [&](const std::string& name, const std::string& value) {
    staged.values[name] = value;
    staged.variables[StrCat("AZUREML_DATAREFERENCE_", name)] = value;
  };

  DataLog log(folder.Path("data_log.txt"), watch.progress);
  Json roots = Json::MakeArray();
  for (const auto& [name, input] : spec.data) {
    DataUse use{name, "direct", {}, 0, 0, {}};
    std::string value = input.dataset;
    if (input.mode != DataMode::kDirect) {
      std::string root = folder.Path(StrCat("data/", name));
      std::vector<std::string> linked;
      auto stage = [&]() -> Result<DataUse> {
        InputJob job(assign, name, input, root, server_(), log, watch);
        auto done = job.Run();
        linked = job.linked();
        return done;
      };
      auto done = Patiently<DataUse>(watch, log, stage);
      std::string what = StrCat("input '", name, "'", input.paths.size() == 1 ? StrCat(" (", WhatOf(input.paths[0]), ")") : std::string());
      if (!done.ok()) {
        log.Say(StrCat(what, ": ", done.error().message));
        return Named(done.error(), what);
      }
      use = std::move(*done);
      // What a link leads to must be seen in a container too.
      staged.folders.insert(staged.folders.end(), linked.begin(), linked.end());
      for (const std::string& one : linked) roots.Push(one);
      auto placed = place(input.path_on_compute, root, use.path, input.overwrite);
      if (!placed.ok()) return Named(placed.error(), what);
      value = use.path = *placed;
    }
    show(name, value);
    if (!input.environment_variable.empty()) staged.variables[input.environment_variable] = value;
    staged.uses.push_back(std::move(use));
  }
  for (const auto& [name, output] : spec.outputs) {
    std::string root = OutputFolder(folder, name, output);
    TRY_VOID(os::MakeFolders(root));
    std::string value = root;
    if (output.path_on_compute.starts_with('/')) {
      auto placed = place(output.path_on_compute, root, root, false);
      if (!placed.ok()) return Named(placed.error(), StrCat("output '", name, "'"));
      value = *placed;
    } else if (!output.path_on_compute.empty()) {
      staged.collected.push_back(root);
    }
    show(name, value);
  }
  if (!roots.as_array().empty()) TRY_VOID(os::WriteFileAtomic(folder.Path("linked.json"), Json::MakeObject({{"roots", std::move(roots)}}).Dump(), 0600, false));
  // Two inputs may be linked to one folder.
  std::sort(staged.folders.begin(), staged.folders.end());
  staged.folders.erase(std::unique(staged.folders.begin(), staged.folders.end()), staged.folders.end());
  return staged;
}

Result<std::vector<DataUse>> Stager::Upload(const model::Assign& assign, const StageWatch& watch) const {
  std::vector<DataUse> uses;
  AttemptFolder folder(home_, assign.key);
  std::map<std::string, DataUse> done = ReadUploaded(folder);
  DataLog log(folder.Path("data_log.txt"), watch.progress);
  for (const auto& [name, output] : assign.spec.outputs) {
    if (auto before = done.find(name); before != done.end()) {
      uses.push_back(before->second);
      continue;
    }
    std::string root = OutputFolder(folder, name, output);
    std::vector<std::string> roots = ReadTexts(folder.Path("linked.json"), "roots");
    for (const char* own : {"data", "work"})
      if (auto real = os::RealPath(folder.Path(own)); real.ok()) roots.push_back(*real);
    auto upload = [&]() -> Result<DataUse> { return OutputJob(assign, name, output, root, roots, server_(), log, watch).Run(); };
    auto uploaded = Patiently<DataUse>(watch, log, upload);
    if (!uploaded.ok()) {
      std::string what = StrCat("output '", name, "' (datastore '", output.datastore, "', path '", model::FilledPath(output, name, assign.key.run), "')");
      log.Say(StrCat(what, ": ", uploaded.error().message));
      return Named(uploaded.error(), what);
    }
    done[name] = *uploaded;
    uses.push_back(std::move(*uploaded));
    Json record = Json::MakeObject();
    for (const auto& [one, use] : done) record.Add(one, model::ToJson(use));
    (void)os::WriteFileAtomic(folder.Path("uploaded.json"), record.Dump(), 0600, false);
  }
  return uses;
}

void Stager::Unstage(const AttemptFolder& folder) {
  for (const std::string& link : ReadTexts(folder.Path("links.json"), "links")) {
    auto stat = os::StatPath(link, false);
    if (!stat.ok() || stat->type != os::FileType::kLink) continue;
    if (auto target = os::ReadLink(link); target.ok() && target->starts_with(folder.path() + "/")) (void)os::RemoveFile(link);
  }
}

}  // namespace ferry::agent
