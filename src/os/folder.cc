#include "os/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "os/at.h"

namespace ferry::os {

namespace {

// What getdents64 writes.
struct RawEntry {
  uint64_t inode;
  int64_t next;
  unsigned short length;
  unsigned char type;
  char name[1];
};

Result<Fd> OpenAt(int folder, const char* name, int flags, unsigned mode, const char* doing) {
  int fd;
  do fd = ::openat(folder, name, flags | O_CLOEXEC, static_cast<mode_t>(mode));
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return ErrnoError(errno, doing, name);
  return Fd(fd);
}

}  // namespace

Result<Folder> Folder::Open(const std::string& path) {
  TRY(Fd fd, OpenAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0, "open"));
  return Folder(std::move(fd));
}

Result<Folder> Folder::OpenFolder(const std::string& name) const {
  TRY(Fd fd, OpenAt(fd_.get(), name.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, "open"));
  return Folder(std::move(fd));
}

Result<Folder> Folder::OpenBelow(std::string_view path) const {
  TRY(Folder folder, OpenFolder(""));
  while (!path.empty()) {
    const size_t slash = path.find('/');
    TRY(folder, folder.OpenFolder(std::string(path.substr(0, slash))));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return folder;
}

Result<Fd> Folder::OpenInside(const std::string& path) const {
  struct open_how how = {};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const char* name = path.empty() ? "." : path.c_str();
  long fd;
  // EAGAIN: something was renamed on the way.
  int tries = 0;
  do fd = ::syscall(SYS_openat2, fd_.get(), name, &how, sizeof how);
  while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < 100)));
  if (fd >= 0) return Fd(static_cast<int>(fd));
  auto outside = [&] {
    return MakeError(Code::kForbidden, "file.outside", StrCat("'", path.substr(0, 300), "' leads out of its folder through a symbolic link"), "path");
  };
  if (errno == EXDEV || errno == ELOOP) return outside();
  if (errno != ENOSYS && errno != EPERM) return ErrnoError(errno, "open", path);
  const size_t slash = path.rfind('/');
  const bool deep = slash != std::string::npos;
  auto parent = OpenBelow(deep ? std::string_view(path).substr(0, slash) : std::string_view());
  if (!parent.ok()) return parent.error().code == Code::kInternal ? outside() : parent.error();
  std::string last = path.empty() ? "." : path.substr(deep ? slash + 1 : 0);
  auto file = parent->OpenFile(last.c_str());
  if (!file.ok() && file.error().code == Code::kInternal) return outside();
  return file;
}

Result<Folder> Folder::OpenFolderInside(const std::string& path) const {
  TRY(Fd fd, OpenInside(path));
  TRY(Stat stat, StatFd(fd, path));
  if (stat.type != FileType::kFolder) return ErrnoError(ENOTDIR, "open the folder", path);
  return Folder(std::move(fd));
}

Result<void> Folder::List(const std::function<void(const char*, FileType)>& visit) const {
  alignas(RawEntry) char buffer[32768];
  if (::lseek(fd_.get(), 0, SEEK_SET) < 0) return ErrnoError(errno, "list", "a folder");
  for (;;) {
    long n = ::syscall(SYS_getdents64, fd_.get(), buffer, sizeof buffer);
    if (n < 0) return ErrnoError(errno, "list", "a folder");
    if (n == 0) return {};
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const RawEntry*>(buffer + at);
      at += entry->length;
      const char* name = buffer + (at - entry->length) + offsetof(RawEntry, name);
      if (name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0))) continue;
      FileType type = FileType::kOther;
      switch (entry->type) {
        case DT_REG: type = FileType::kFile; break;
        case DT_DIR: type = FileType::kFolder; break;
        case DT_LNK: type = FileType::kLink; break;
        case DT_UNKNOWN: {
          struct stat s;
          if (::fstatat(fd_.get(), name, &s, AT_SYMLINK_NOFOLLOW) == 0) type = TypeOfMode(s.st_mode);
          break;
        }
        default: break;
      }
      visit(name, type);
    }
  }
}

Result<Stat> Folder::Look(const char* name, bool follow) const {
  struct stat s;
  if (::fstatat(fd_.get(), name, &s, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0) return ErrnoError(errno, "look at", name);
  return FromStat(s);
}

Result<Stat> Folder::LookAtSelf() const { return StatFd(fd_, "a folder"); }

bool Folder::IsMountPoint() const { return os::IsMountPoint(fd_.get()); }

bool Folder::ChangeTimesTell() const {
  struct statfs s;
  return ::fstatfs(fd_.get(), &s) == 0 && (s.f_type == EXT4_SUPER_MAGIC || s.f_type == BTRFS_SUPER_MAGIC);
}

Result<std::string> Folder::AttributeNames() const {
  std::string names(64u << 10, '\0');
  ssize_t n = ::flistxattr(fd_.get(), names.data(), names.size());
  if (n < 0 && errno != ENOTSUP) return ErrnoError(errno, "list the attributes of", "a folder");
  names.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return names;
}

Result<std::string> Folder::ReadLink(const std::string& name) const {
  std::string out(PATH_MAX, '\0');
  ssize_t n = ::readlinkat(fd_.get(), name.c_str(), out.data(), out.size());
  if (n < 0) return ErrnoError(errno, "read the link", name);
  out.resize(static_cast<size_t>(n));
  return out;
}

Result<Fd> Folder::OpenFile(const char* name, bool follow) const {
  return OpenAt(fd_.get(), name, O_RDONLY | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW), 0, "open");
}

Result<Fd> Folder::CreateFile(const char* name, unsigned mode) const {
  return OpenAt(fd_.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, "create");
}

Result<void> Folder::MakeFolder(const char* name, unsigned mode) const {
  if (::mkdirat(fd_.get(), name, static_cast<mode_t>(mode)) < 0) return ErrnoError(errno, "create the folder", name);
  return {};
}

Result<void> Folder::Rename(const char* from, const char* to, bool replace) const {
  if (!replace) {
    if (::syscall(SYS_renameat2, fd_.get(), from, fd_.get(), to, 1u /* RENAME_NOREPLACE */) == 0) return {};
    if (errno != EINVAL && errno != ENOSYS) return ErrnoError(errno, "create", to);
    // A file system that cannot do it in one step.
    if (::linkat(fd_.get(), from, fd_.get(), to, 0) < 0) return ErrnoError(errno, "create", to);
    (void)::unlinkat(fd_.get(), from, 0);
    return {};
  }
  if (::renameat(fd_.get(), from, fd_.get(), to) < 0) return ErrnoError(errno, "replace", to);
  return {};
}

Result<void> Folder::Sync() const {
  if (::fsync(fd_.get()) < 0) return ErrnoError(errno, "flush", "a folder");
  return {};
}

Result<void> Folder::MakeLink(const std::string& target, const char* name) const {
  if (::symlinkat(target.c_str(), fd_.get(), name) < 0) return ErrnoError(errno, "create the link", name);
  return {};
}

Result<void> Folder::SetMode(const char* name, unsigned mode) const {
  if (::fchmodat(fd_.get(), name, static_cast<mode_t>(mode), AT_SYMLINK_NOFOLLOW) < 0) return ErrnoError(errno, "set the mode of", name);
  return {};
}

Result<void> Folder::Remove(const char* name) const { return RemoveAt(fd_.get(), name, name); }

Result<void> SetMode(const Fd& fd, unsigned mode) {
  if (::fchmod(fd.get(), static_cast<mode_t>(mode)) < 0) return ErrnoError(errno, "set the mode of", "a file");
  return {};
}

Result<size_t> ReadSome(const Fd& fd, char* buffer, size_t size) {
  for (;;) {
    ssize_t n = ::read(fd.get(), buffer, size);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno != EINTR) return ErrnoError(errno, "read", "a file");
  }
}

Result<void> CopyContent(const Fd& from, const Fd& to, uint64_t size, std::string& buffer) {
  // Whether the last file system asked could not share blocks: one wasted call a file is a tenth of the copy of a small
  // one.
  static std::atomic<uint64_t> cannot_share{0};
  struct stat s;
  if (::fstat(to.get(), &s) < 0) return ErrnoError(errno, "look at", "a file");
  if (size > 0 && cannot_share.load(std::memory_order_relaxed) != s.st_dev + 1) {
    if (::ioctl(to.get(), FICLONE, from.get()) == 0) return {};
    if (errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV) cannot_share.store(s.st_dev + 1, std::memory_order_relaxed);
  }
  constexpr size_t kBuffer = 256u << 10;
  if (buffer.size() < kBuffer) buffer.resize(kBuffer);
  // In the kernel a large file is copied without crossing into this process; for a small one that costs more than it
  // saves.
  if (size > 4 * kBuffer) {
    for (;;) {
      ssize_t n = ::copy_file_range(from.get(), nullptr, to.get(), nullptr, 1u << 30, 0);
      if (n > 0) continue;
      if (n == 0) break;
      if (errno == EINTR) continue;
      if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO) return ErrnoError(errno, "copy", "a file");
      break;
    }
  }
  for (;;) {
    TRY(size_t n, ReadSome(from, buffer.data(), buffer.size()));
    if (n == 0) return {};
    TRY_VOID(WriteAll(to, std::string_view(buffer.data(), n), "a file"));
    if (n < buffer.size() && n >= size) return {};
  }
}

}  // namespace ferry::os
