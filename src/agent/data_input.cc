#include "agent/data_input.h"

#include <algorithm>

#include "agent/web.h"
#include "base/text.h"
#include "os/file.h"
#include "snapshot/paths.h"
#include "snapshot/snapshot.h"
#include "transfer/fetch.h"

namespace ferry::agent {

using model::DataInput;
using model::DataMode;
using model::DataUse;

namespace {

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
std::string Below(const std::string& base, const std::string& path) { return base.empty() ? path : path.substr(base.size() + 1); }

// One input on its way.
class InputJob {
 public:
  InputJob(const DataJob& job, const std::string& name, const DataInput& input, std::string root)
      : job_(job), name_(name), input_(input), root_(std::move(root)), client_(job.server) {
    link_ = transfer::LinkOver(client_, "/api/v1/agent/data");
    blobs_ = transfer::LinkOver(client_, "/api/v1/agent/blobs");
    blobs_.near = job.server.base.find("//127.0.0.1") != std::string::npos || job.server.base.find("//localhost") != std::string::npos;
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
        job_.log.Say(StrCat("input '", name_, "': linked to ", found[0].local));
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
      job_.log.Say(StrCat("input '", name_, "': linked ", items.size(), " file(s), ", FormatBytes(static_cast<uint64_t>(use.bytes))));
    } else {
      if (input_.mode == DataMode::kMount) {
        use.note = "mount: this node cannot see the datastore, so its files were downloaded";
        job_.log.Say(StrCat("input '", name_, "': ", use.note));
      }
      TRY_VOID(Download(items, use));
    }
    if (single) use.path = os::JoinPath(root_, items[0].relative);
    return use;
  }

 private:
  Result<Json> Ask(size_t index, int64_t limit, const std::string& cursor) {
    Json body = Json::MakeObject(
        {{"run", job_.assign.key.run}, {"attempt", job_.assign.key.attempt}, {"input", name_}, {"index", index}, {"limit", limit}, {"cursor", cursor}});
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
          if (job_.watch.stopping()) return StagingStopped();
          TRY(Json page, Ask(i, 5000, cursor));
          if (const Json* files = page.Find("files"); files && files->is_array())
            for (const Json& file : files->as_array()) {
              Item item{i, file.GetString("path"), {}, static_cast<uint64_t>(file.GetInt("size")), Digest::FromHex(file.GetString("digest"))};
              item.relative = Below(found[i].base, item.path);
              items.push_back(std::move(item));
            }
          cursor = page.GetString("next");
          if (items.size() > kMostDataFiles) return MakeError(Code::kTooLarge, "data.too_many", StrCat("it has more than ", kMostDataFiles, " files"));
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
    job_.log.Say(StrCat("input '", name_, "': downloading ", items.size(), " file(s), ", FormatBytes(bytes)));
    job_.log.Begin(StrCat("input '", name_, "'"), bytes);
    snapshot::Manifest manifest;
    for (const Item& item : items)
      if (item.digest) manifest.entries.push_back({item.relative, snapshot::Entry::Type::kFile, false, item.size, *item.digest, {}});
    std::sort(manifest.entries.begin(), manifest.entries.end(), [](const snapshot::Entry& a, const snapshot::Entry& b) { return a.path < b.path; });
    if (!manifest.entries.empty()) {
      transfer::BatchFetch fetch(blobs_, manifest);
      auto get = [&](const Digest& blob, const std::function<Result<void>(std::string_view)>& write) {
        return fetch.Get(blob, [&](std::string_view piece) -> Result<void> {
          if (job_.watch.stopping()) return StagingStopped();
          job_.log.Add(piece.size());
          return write(piece);
        });
      };
      TRY_VOID(snapshot::Restore(manifest, root_, get, 1));
    }
    for (const Item& item : items)
      if (!item.digest) TRY_VOID(DownloadOne(item));
    use.bytes = static_cast<int64_t>(job_.log.done());
    job_.log.Say(StrCat("input '", name_, "': downloaded ", items.size(), " file(s), ", FormatBytes(job_.log.done())));
    return {};
  }

  Result<void> DownloadOne(const Item& item) {
    TRY(std::string file, Place(item));
    TRY(os::Fd fd, os::Open(file, os::OpenMode::kWrite));
    uint64_t size = 0;
    auto write = [&](std::string_view piece) -> Result<void> {
      if (job_.watch.stopping()) return StagingStopped();
      size += piece.size();
      job_.log.Add(piece.size());
      return os::WriteAll(fd, piece, file);
    };
    const model::DataPath& path = input_.paths[item.index];
    if (!path.url.empty()) return FetchUrl(path.url, write);
    http::Call call;
    call.path = StrCat("/api/v1/agent/data/file?run=", EncodePercent(job_.assign.key.run), "&attempt=", job_.assign.key.attempt,
                       "&input=", EncodePercent(name_), "&index=", item.index, "&path=", EncodePercent(item.path));
    call.body_sink = write;
    TRY(http::Reply reply, link_.exchange(std::move(call)));
    if (size != item.size)
      return MakeError(Code::kConflict, "data.changed",
                       StrCat("'", item.path, "' of datastore '", path.datastore, "' was changed while it was downloaded: it had ", item.size,
                              " bytes, and came with ", size));
    return {};
  }

  const DataJob& job_;
  const std::string& name_;
  const DataInput& input_;
  const std::string root_;
  http::Client client_;
  transfer::Link link_, blobs_;
  std::vector<std::string> linked_;
};

}  // namespace

std::string WhatOf(const model::DataPath& path) {
  return path.url.empty() ? StrCat("path '", path.path, "' of datastore '", path.datastore, "'") : StrCat("'", path.url, "'");
}

Result<DataUse> StageInput(const DataJob& job, const std::string& name, const DataInput& input, const std::string& root, std::vector<std::string>& linked) {
  InputJob one(job, name, input, root);
  auto done = one.Run();
  linked = one.linked();
  return done;
}

}  // namespace ferry::agent
