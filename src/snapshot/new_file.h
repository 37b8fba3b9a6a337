// How Restore, CopyTree and Recycle create what they write.
#pragma once

#include <string>

#include "base/result.h"
#include "base/text.h"
#include "os/file.h"
#include "os/folder.h"

namespace ferry::snapshot {

// Creates files with mode 0644 or 0755 whatever the process's mask is, at one look a mode instead of one change a file.
// For one thread.
class FileMaker {
 public:
  Result<os::Fd> Create(const os::Folder& folder, const char* name, bool executable) {
    const unsigned mode = executable ? 0755 : 0644;
    TRY(os::Fd file, folder.CreateFile(name, mode));
    Masked& masked = masked_[executable];
    if (masked == Masked::kUnknown) {
      TRY(os::Stat stat, os::StatFd(file, name));
      masked = stat.mode == mode ? Masked::kNo : Masked::kYes;
    }
    if (masked == Masked::kYes) TRY_VOID(os::SetMode(file, mode));
    return file;
  }
  // Creates a file of the same name, content and kind of mode in `to`.
  Result<void> Copy(const os::Folder& from, const os::Folder& to, const char* name) {
    TRY(os::Fd source, from.OpenFile(name));
    TRY(os::Stat stat, os::StatFd(source, name));
    TRY(os::Fd copy, Create(to, name, (stat.mode & 0100) != 0));
    return os::CopyContent(source, copy, stat.size, buffer_);
  }

 private:
  enum class Masked { kUnknown, kYes, kNo };
  Masked masked_[2] = {Masked::kUnknown, Masked::kUnknown};
  std::string buffer_;
};

// Creates `path` with the folders above it and opens it. kConflict "snapshot.not_empty" when something is in it.
inline Result<os::Folder> OpenNewFolder(const std::string& path) {
  TRY_VOID(os::MakeFolders(path));
  TRY(os::Folder folder, os::Folder::Open(path));
  bool empty = true;
  TRY_VOID(folder.List([&](const char*, os::FileType) { empty = false; }));
  if (!empty) return MakeError(Code::kConflict, "snapshot.not_empty", StrCat(path, " is not empty"));
  return folder;
}

}  // namespace ferry::snapshot
