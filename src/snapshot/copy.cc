#include <algorithm>
#include <utility>

#include "base/text.h"
#include "os/file.h"
#include "os/folder.h"
#include "snapshot/new_file.h"
#include "snapshot/parallel.h"
#include "snapshot/snapshot.h"

namespace ferry::snapshot {

namespace {

// Files of one folder that are copied as one task, so that a flat folder keeps every thread busy.
constexpr size_t kBatch = 64;

// A folder to be listed, or some files of a folder to be copied.
struct Task {
  std::string folder;  // relative
  std::vector<std::string> files;
};

class Copier {
 public:
  Copier(const os::Folder& from, const os::Folder& to) : from_(from), to_(to) {}

  Result<void> Run(unsigned threads) {
    tasks_.Push({});
    RunOnThreads(threads, [this](unsigned) {
      FileMaker maker;
      while (auto task = tasks_.Next()) {
        if (!error_.failed())
          if (auto done = Do(*task, maker); !done.ok()) error_.Report(done.error());
        tasks_.Done();
      }
    });
    return error_.Take();
  }

 private:
  Result<void> Do(Task& task, FileMaker& maker) {
    TRY(os::Folder from, from_.OpenFolder(task.folder));
    TRY(os::Folder to, to_.OpenFolder(task.folder));
    if (task.files.empty()) TRY_VOID(List(task, from, to));
    for (const std::string& name : task.files) TRY_VOID(maker.Copy(from, to, name.c_str()));
    return {};
  }

  // Creates the folders and links, hands most files on as tasks and leaves the rest in `task`.
  Result<void> List(Task& task, const os::Folder& from, const os::Folder& to) {
    std::vector<std::string> files, folders, links;
    TRY_VOID(from.List([&](const char* name, os::FileType type) {
      switch (type) {
        case os::FileType::kFile: files.emplace_back(name); break;
        case os::FileType::kFolder: folders.emplace_back(name); break;
        case os::FileType::kLink: links.emplace_back(name); break;
        case os::FileType::kOther: break;
      }
    }));
    for (const std::string& name : folders) {
      TRY_VOID(to.MakeFolder(name.c_str()));
      tasks_.Push({os::JoinPath(task.folder, name), {}});
    }
    for (const std::string& name : links) {
      TRY(std::string target, from.ReadLink(name));
      TRY_VOID(to.MakeLink(target, name.c_str()));
    }
    for (size_t begin = kBatch; begin < files.size(); begin += kBatch) {
      const size_t end = std::min(begin + kBatch, files.size());
      tasks_.Push(
          {task.folder, {std::make_move_iterator(files.begin() + static_cast<long>(begin)), std::make_move_iterator(files.begin() + static_cast<long>(end))}});
    }
    files.resize(std::min(files.size(), kBatch));
    task.files = std::move(files);
    return {};
  }

  const os::Folder& from_;
  const os::Folder& to_;
  TaskStack<Task> tasks_;
  FirstError error_;
};

}  // namespace

Result<void> CopyTree(const std::string& from, const std::string& to, unsigned threads) {
  TRY(os::Folder source, os::Folder::Open(from));
  TRY(os::Folder target, OpenNewFolder(to));
  return Copier(source, target).Run(ThreadCount(threads));
}

}  // namespace ferry::snapshot
