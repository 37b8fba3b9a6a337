// A folder held open: what is in it is found through the folder itself and not through a path, so that nothing can be
// slipped in between and no path is walked again for each file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "os/file.h"

namespace ferry::os {

// Safe to call from several threads, but for List. `name` is one name or a relative path; only its last part is not
// followed when it is a link. Failures are those of ErrnoError.
class Folder {
 public:
  Folder() = default;
  // Follows links.
  static Result<Folder> Open(const std::string& path);
  Result<Folder> OpenFolder(const std::string& name) const;
  // The same for a path of any depth, with no link in any part of it.
  Result<Folder> OpenBelow(std::string_view path) const;
  // A file or folder for reading, by a path of any depth. Links on the way are followed as long as they stay below this folder; one that leads out of it, or
  // is absolute, is kForbidden "file.outside". Where the kernel cannot say, no link is followed. Does not wait for a pipe.
  Result<Fd> OpenInside(const std::string& path) const;
  Result<Folder> OpenFolderInside(const std::string& path) const;
  explicit operator bool() const { return static_cast<bool>(fd_); }

  // Calls `visit` for each name but "." and "..", unordered. The type costs no further look at the file.
  Result<void> List(const std::function<void(const char* name, FileType type)>& visit) const;
  Result<Stat> Look(const char* name, bool follow = false) const;
  Result<Stat> LookAtSelf() const;
  // Whether something else is mounted on this folder. False where the kernel does not say.
  bool IsMountPoint() const;
  // Whether the ctime of a thing here is known to change with each write and rename. Elsewhere it may not: tmpfs leaves it when bytes are written
  // through a mapping.
  bool ChangeTimesTell() const;
  // The folder's extended attributes, access lists among them, each name with a 0 behind.
  Result<std::string> AttributeNames() const;
  Result<std::string> ReadLink(const std::string& name) const;

  // For reading. Does not follow a link and does not wait for a pipe.
  Result<Fd> OpenFile(const char* name, bool follow = false) const;
  // A new file for writing: kConflict "file.exists" for anything that is there, also a link. `mode` is subject to the
  // process's mask.
  Result<Fd> CreateFile(const char* name, unsigned mode) const;
  Result<void> MakeFolder(const char* name, unsigned mode = 0755) const;
  // Both names are of this folder. Without `replace` kConflict "file.exists" for anything that is there.
  Result<void> Rename(const char* from, const char* to, bool replace) const;
  Result<void> Sync() const;
  Result<void> MakeLink(const std::string& target, const char* name) const;
  // Of anything but a link, whatever the process's mask is. Needs no right to read it.
  Result<void> SetMode(const char* name, unsigned mode) const;
  // A file, link or special file, or a folder and all below it, as os::RemoveAll does.
  Result<void> Remove(const char* name) const;

 private:
  explicit Folder(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Sets the permission bits whatever the process's mask is.
Result<void> SetMode(const Fd& fd, unsigned mode);
// Up to `size` bytes from where the file stands; 0 at the end.
Result<size_t> ReadSome(const Fd& fd, char* buffer, size_t size);
// Copies `from` whole, sharing its blocks where the file system can. REQUIRES: both stand at their beginning. `buffer`
// is scratch space.
Result<void> CopyContent(const Fd& from, const Fd& to, uint64_t size, std::string& buffer);

}  // namespace ferry::os
