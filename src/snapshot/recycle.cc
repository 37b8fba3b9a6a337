#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "os/file.h"
#include "os/folder.h"
#include "snapshot/new_file.h"
#include "snapshot/parallel.h"
#include "snapshot/snapshot.h"

namespace ferry::snapshot {

namespace {

// Files of one folder that are looked at as one task, so that a flat folder keeps every thread busy.
constexpr size_t kBatch = 256;

// A name, with what it is in the cached folder and in the used one.
struct Name {
  std::string name;
  std::optional<os::FileType> cached, used;
};

// A folder to be gone through, or some files of a folder to be looked at.
struct Task {
  std::string folder;    // relative
  bool doubted = false;  // it may be another folder than the one copied to this path, so that the age of what is in it proves nothing
  std::vector<Name> files;
};

// The names of both folders. Special files are not copied, so that `cached` is as if it had none.
Result<std::vector<Name>> Names(const os::Folder& cached, const os::Folder& used) {
  std::vector<Name> names, present;
  TRY_VOID(cached.List([&](const char* name, os::FileType type) {
    if (type != os::FileType::kOther) names.push_back({name, type, std::nullopt});
  }));
  TRY_VOID(used.List([&](const char* name, os::FileType type) { present.push_back({name, std::nullopt, type}); }));
  auto before = [](const Name& a, const Name& b) { return a.name < b.name; };
  std::sort(names.begin(), names.end(), before);
  std::sort(present.begin(), present.end(), before);
  std::vector<Name> extra;
  auto at = names.begin();
  for (Name& name : present) {
    at = std::lower_bound(at, names.end(), name, before);
    if (at != names.end() && at->name == name.name)
      at->used = name.used;
    else
      extra.push_back(std::move(name));
  }
  std::move(extra.begin(), extra.end(), std::back_inserter(names));
  return names;
}

// Gives the folder `name` in `above` the mode of `cached`. False when it has another owner or other attributes, and is to be made anew.
Result<bool> Restored(const os::Folder& cached, const os::Folder& above, const std::string& name, const os::Stat& stat) {
  if ((stat.mode & 0700) != 0700) TRY_VOID(above.SetMode(name.c_str(), 0700));
  TRY(os::Folder folder, above.OpenFolder(name));
  TRY(os::Stat wanted, cached.LookAtSelf());
  TRY(std::string wanted_attributes, cached.AttributeNames());
  TRY(std::string attributes, folder.AttributeNames());
  if (stat.owner != wanted.owner || stat.group != wanted.group || attributes != wanted_attributes) return false;
  if (stat.mode != wanted.mode) TRY_VOID(above.SetMode(name.c_str(), wanted.mode));
  return true;
}

// What one thread keeps between tasks.
struct Worker {
  FileMaker maker;
  std::string left, right;
};

class Recycler {
 public:
  Recycler(const os::Folder& cached, const os::Folder& used, int64_t made_ns) : cached_(cached), used_(used), made_ns_(made_ns) {}

  Result<Recycled> Run(unsigned threads) {
    tasks_.Push({{}, !used_.ChangeTimesTell(), {}});
    RunOnThreads(threads, [this](unsigned) {
      Worker worker;
      while (auto task = tasks_.Next()) {
        if (!error_.failed())
          if (auto done = Do(*task, worker); !done.ok()) error_.Report(done.error());
        tasks_.Done();
      }
    });
    TRY_VOID(error_.Take());
    return Recycled{replaced_, removed_};
  }

 private:
  Result<void> Do(Task& task, Worker& worker) {
    TRY(os::Folder cached, cached_.OpenFolder(task.folder));
    TRY(os::Folder used, used_.OpenBelow(task.folder));
    if (task.files.empty()) TRY_VOID(GoThrough(task, cached, used));
    for (const Name& file : task.files) TRY_VOID(RenewFile(cached, used, file, task.doubted, worker));
    return {};
  }

  // Does everything but the files, hands most of those on as tasks and leaves the rest in `task`.
  Result<void> GoThrough(Task& task, const os::Folder& cached, const os::Folder& used) {
    if (!task.folder.empty() && used.IsMountPoint())
      return MakeError(Code::kConflict, "snapshot.mounted", StrCat("something is mounted on ", task.folder, " in a working copy; unmount it"));
    TRY(std::vector<Name> names, Names(cached, used));
    std::vector<Name> files;
    for (Name& name : names) {
      if (!name.cached) {
        ++removed_;
        TRY_VOID(used.Remove(name.name.c_str()));
      } else if (name.cached == os::FileType::kFolder) {
        TRY_VOID(RenewFolder(task, cached, used, name));
      } else if (name.cached == os::FileType::kLink) {
        TRY_VOID(RenewLink(cached, used, name, task.doubted));
      } else {
        files.push_back(std::move(name));
      }
    }
    auto from = [&](size_t index) { return std::make_move_iterator(files.begin() + static_cast<long>(std::min(index, files.size()))); };
    for (size_t begin = kBatch; begin < files.size(); begin += kBatch) tasks_.Push({task.folder, task.doubted, {from(begin), from(begin + kBatch)}});
    files.resize(std::min(files.size(), kBatch));
    task.files = std::move(files);
    return {};
  }

  Result<void> RenewFolder(const Task& parent, const os::Folder& cached, const os::Folder& used, const Name& name) {
    bool there = name.used == os::FileType::kFolder, doubted = parent.doubted;
    if (there) {
      TRY(os::Stat stat, used.Look(name.name.c_str()));
      // Its mode, owner or attributes may have changed, the names in it, or its own name.
      if (stat.ctime_ns >= made_ns_) {
        doubted = true;
        TRY(os::Folder wanted, cached.OpenFolder(name.name));
        TRY(there, Restored(wanted, used, name.name, stat));
      }
    }
    if (!there) {
      if (name.used) TRY_VOID(used.Remove(name.name.c_str()));
      TRY_VOID(used.MakeFolder(name.name.c_str()));
    }
    tasks_.Push({os::JoinPath(parent.folder, name.name), doubted, {}});
    return {};
  }

  Result<void> RenewLink(const os::Folder& cached, const os::Folder& used, const Name& name, bool doubted) {
    TRY(std::string target, cached.ReadLink(name.name));
    if (name.used == os::FileType::kLink) {
      TRY(os::Stat stat, used.Look(name.name.c_str()));
      if (stat.type == os::FileType::kLink && stat.ctime_ns < made_ns_) {
        if (!doubted) return {};
        TRY(std::string found, used.ReadLink(name.name));
        if (found == target) return {};
      }
    }
    if (name.used) TRY_VOID(used.Remove(name.name.c_str()));
    ++replaced_;
    return used.MakeLink(target, name.name.c_str());
  }

  Result<void> RenewFile(const os::Folder& cached, const os::Folder& used, const Name& file, bool doubted, Worker& worker) {
    const char* name = file.name.c_str();
    if (file.used == os::FileType::kFile) {
      TRY(os::Stat wanted, cached.Look(name));
      TRY(os::Stat found, used.Look(name));
      const bool alike = found.type == os::FileType::kFile && found.ctime_ns < made_ns_ && found.links == 1 && found.size == wanted.size &&
                         found.mode == ((wanted.mode & 0100) != 0 ? 0755u : 0644u);
      if (alike && !doubted) return {};
      if (alike) {
        TRY(bool same, SameContent(cached, used, name, worker));
        if (same) return {};
      }
    }
    if (file.used) TRY_VOID(used.Remove(name));
    ++replaced_;
    return worker.maker.Copy(cached, used, name);
  }

  static Result<bool> SameContent(const os::Folder& cached, const os::Folder& used, const char* name, Worker& worker) {
    constexpr size_t kBuffer = 128u << 10;
    worker.left.resize(kBuffer);
    worker.right.resize(kBuffer);
    TRY(os::Fd left, cached.OpenFile(name));
    TRY(os::Fd right, used.OpenFile(name));
    for (;;) {
      TRY(size_t n, os::ReadSome(left, worker.left.data(), kBuffer));
      TRY(size_t m, os::ReadSome(right, worker.right.data(), kBuffer));
      if (n != m || std::memcmp(worker.left.data(), worker.right.data(), n) != 0) return false;
      if (n == 0) return true;
    }
  }

  const os::Folder& cached_;
  const os::Folder& used_;
  const int64_t made_ns_;
  TaskStack<Task> tasks_;
  FirstError error_;
  std::atomic<size_t> replaced_{0}, removed_{0};
};

}  // namespace

Result<Recycled> Recycle(const std::string& cached, const std::string& used, int64_t made_ns, unsigned threads) {
  TRY(os::Folder source, os::Folder::Open(cached));
  // Through the folder above, since a script may have taken the right to open it away.
  const std::string path = used.substr(0, used.find_last_not_of('/') + 1);
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  TRY(os::Folder above, os::Folder::Open(slash == std::string::npos ? "." : path.substr(0, slash + 1)));
  TRY(os::Stat stat, above.Look(name.c_str()));
  if (stat.type != os::FileType::kFolder) return MakeError(Code::kInvalid, "snapshot.not_a_folder", StrCat(used, " is not a folder"));
  TRY(bool restored, Restored(source, above, name, stat));
  if (!restored) return MakeError(Code::kConflict, "snapshot.not_ours", StrCat(used, " has another owner or other attributes than it was made with"));
  TRY(os::Folder target, above.OpenFolder(name));
  return Recycler(source, target, made_ns).Run(ThreadCount(threads));
}

}  // namespace ferry::snapshot
