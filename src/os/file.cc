#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "os/at.h"

namespace ferry::os {

void Fd::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error ErrnoError(int error, std::string_view doing, std::string_view path) {
  std::string message = StrCat("cannot ", doing, path.empty() ? "" : " ", path, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR: return MakeError(Code::kNotFound, "file.not_found", message);
    case EACCES:
    case EPERM:
    case EROFS: return MakeError(Code::kForbidden, "file.denied", message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return MakeError(Code::kExhausted, "file.disk_full", message);
    case EEXIST:
    case ENOTEMPTY: return MakeError(Code::kConflict, "file.exists", message);
    default: return MakeError(Code::kInternal, "file.io", message);
  }
}

Result<Fd> Open(const std::string& path, OpenMode open, unsigned mode) {
  int flags = O_CLOEXEC;
  switch (open) {
    case OpenMode::kRead: flags |= O_RDONLY; break;
    case OpenMode::kWrite: flags |= O_WRONLY | O_CREAT | O_TRUNC; break;
    case OpenMode::kAppend: flags |= O_WRONLY | O_CREAT | O_APPEND; break;
    case OpenMode::kReadWrite: flags |= O_RDWR | O_CREAT; break;
  }
  int fd;
  do fd = ::open(path.c_str(), flags, static_cast<mode_t>(mode));
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return ErrnoError(errno, open == OpenMode::kRead ? "open" : "open for writing", path);
  return Fd(fd);
}

Result<void> WriteAll(const Fd& fd, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<void> WriteAllAt(const Fd& fd, std::string_view bytes, uint64_t offset, std::string_view path) {
  while (!bytes.empty()) {
    ssize_t n = ::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "write", path);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

Result<std::string> ReadAt(const Fd& fd, uint64_t offset, size_t limit, std::string_view path) {
  std::string out;
  out.resize(limit);
  size_t have = 0;
  while (have < limit) {
    ssize_t n = ::pread(fd.get(), out.data() + have, limit - have, static_cast<off_t>(offset + have));
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "read", path);
    }
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  out.resize(have);
  return out;
}

Result<std::string> ReadSome(const Fd& fd, size_t limit) {
  std::string out(limit, '\0');
  ssize_t n;
  do n = ::read(fd.get(), out.data(), limit);
  while (n < 0 && errno == EINTR);
  if (n < 0) return ErrnoError(errno, "read", "");
  out.resize(static_cast<size_t>(n));
  return out;
}

Result<void> WriteFile(const std::string& path, std::string_view bytes, unsigned mode) {
  TRY(Fd fd, Open(path, OpenMode::kWrite, mode));
  return WriteAll(fd, bytes, path);
}

Result<std::string> ReadFile(const std::string& path, uint64_t limit) {
  TRY(Fd fd, Open(path, OpenMode::kRead));
  std::string out;
  char buffer[65536];
  for (;;) {
    ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoError(errno, "read", path);
    }
    if (n == 0) return out;
    out.append(buffer, static_cast<size_t>(n));
    if (out.size() > limit) return MakeError(Code::kTooLarge, "file.too_large", StrCat(path, " is larger than ", FormatBytes(limit)));
  }
}

Result<Digest> HashFile(const std::string& path) {
  TRY(Fd fd, Open(path, OpenMode::kRead));
  Sha256 hash;
  for (uint64_t at = 0;;) {
    TRY(std::string bytes, ReadAt(fd, at, 1u << 20, path));
    if (bytes.empty()) return hash.Finish();
    hash.Update(bytes);
    at += bytes.size();
  }
}

Result<void> SyncData(const Fd& fd, std::string_view path) {
  while (::fdatasync(fd.get()) < 0)
    if (errno != EINTR) return ErrnoError(errno, "flush", path);
  return {};
}

Result<void> Truncate(const Fd& fd, uint64_t size, std::string_view path) {
  while (::ftruncate(fd.get(), static_cast<off_t>(size)) < 0)
    if (errno != EINTR) return ErrnoError(errno, "truncate", path);
  return {};
}

Result<void> SyncFolder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoError(errno, "open", path);
  if (::fsync(fd.get()) < 0) return ErrnoError(errno, "flush", path);
  return {};
}

Result<void> WriteFileAtomic(const std::string& path, std::string_view bytes, unsigned mode, bool durable) {
  std::string beside = StrCat(path, ".tmp.", ::getpid(), ".", reinterpret_cast<uintptr_t>(&bytes) & 0xFFFFFF);
  auto write = [&]() -> Result<void> {
    TRY(Fd fd, Open(beside, OpenMode::kWrite, mode));
    if (::fchmod(fd.get(), static_cast<mode_t>(mode)) < 0) return ErrnoError(errno, "set the mode of", beside);
    TRY_VOID(WriteAll(fd, bytes, path));
    if (durable) TRY_VOID(SyncData(fd, path));
    return Rename(beside, path);
  };
  if (auto result = write(); !result.ok()) {
    ::unlink(beside.c_str());
    return result.error();
  }
  if (durable) {
    size_t slash = path.rfind('/');
    return SyncFolder(slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash));
  }
  return {};
}

Result<void> MakeFolders(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0) return {};
  if (errno == EEXIST) {
    TRY(Stat stat, StatPath(path));
    if (stat.type == FileType::kFolder) return {};
    return MakeError(Code::kConflict, "file.exists", StrCat(path, " exists and is not a folder"));
  }
  if (errno != ENOENT) return ErrnoError(errno, "create the folder", path);
  size_t slash = path.find_last_not_of('/');
  slash = path.rfind('/', slash);
  if (slash == std::string::npos || slash == 0) return ErrnoError(ENOENT, "create the folder", path);
  TRY_VOID(MakeFolders(path.substr(0, slash), mode));
  if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) < 0 && errno != EEXIST) return ErrnoError(errno, "create the folder", path);
  return {};
}

namespace {

// Removes one thing; what lies too deep for one descriptor a level is moved up first.
class Removal {
 public:
  Result<void> Remove(int parent, const char* name, const std::string& path, unsigned depth = 0) {
    if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return ErrnoError(errno, "remove", path);
    if (depth == kDeepest) return MoveUp(parent, name, path);
    int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) {
      ::fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW);
      fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0) return ErrnoError(errno, "remove", path);
    if (IsMountPoint(fd)) {
      ::close(fd);
      return ErrnoError(EBUSY, "remove", path);
    }
    if (depth == 0) top_ = fd;
    DIR* dir = ::fdopendir(fd);
    Result<void> emptied;
    do {
      if (depth == 0) moved_ = false;
      ::rewinddir(dir);
      emptied = Empty(dir, path, depth);
    } while (emptied.ok() && depth == 0 && moved_);
    ::closedir(dir);
    if (emptied.ok() && ::unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT) return ErrnoError(errno, "remove", path);
    return emptied;
  }

 private:
  static constexpr unsigned kDeepest = 100;

  Result<void> Empty(DIR* dir, const std::string& path, unsigned depth) {
    bool made_writable = false;
    while (dirent* entry = ::readdir(dir)) {
      if (!std::strcmp(entry->d_name, ".") || !std::strcmp(entry->d_name, "..")) continue;
      std::string child = JoinPath(path, entry->d_name);
      auto result = Remove(::dirfd(dir), entry->d_name, child, depth + 1);
      if (!result.ok() && !made_writable) {
        ::fchmod(::dirfd(dir), 0700);
        made_writable = true;
        result = Remove(::dirfd(dir), entry->d_name, child, depth + 1);
      }
      if (!result.ok()) return result;
    }
    return {};
  }

  Result<void> MoveUp(int parent, const char* name, const std::string& path) {
    ::fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW);
    ::fchmod(top_, 0700);
    moved_ = true;
    for (;;) {
      if (::renameat(parent, name, top_, StrCat("removed.", ++number_).c_str()) == 0) return {};
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return ErrnoError(errno, "remove", path);
    }
  }

  int top_ = -1;
  bool moved_ = false;  // since the top was last listed
  uint64_t number_ = 0;
};

}  // namespace

Result<void> RemoveAt(int parent, const char* name, const std::string& path) { return Removal().Remove(parent, name, path); }

bool IsMountPoint(int folder) {
  struct statx s;
  return ::statx(folder, "", AT_EMPTY_PATH, 0, &s) == 0 && (s.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

FileType TypeOfMode(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kFile;
  if (S_ISDIR(mode)) return FileType::kFolder;
  if (S_ISLNK(mode)) return FileType::kLink;
  return FileType::kOther;
}

Stat FromStat(const struct stat& s) {
  return {TypeOfMode(s.st_mode),
          static_cast<uint64_t>(s.st_size),
          s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec,
          s.st_ctim.tv_sec * 1'000'000'000 + s.st_ctim.tv_nsec,
          s.st_ino,
          s.st_dev,
          s.st_mode & 07777,
          s.st_nlink,
          s.st_uid,
          s.st_gid};
}

Result<void> RemoveAll(const std::string& path) { return RemoveAt(AT_FDCWD, path.c_str(), path); }

Result<void> RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) < 0 && errno != ENOENT) return ErrnoError(errno, "remove", path);
  return {};
}

Result<void> Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) < 0) return ErrnoError(errno, StrCat("rename ", from, " to"), to);
  return {};
}

Result<Stat> StatPath(const std::string& path, bool follow) {
  struct stat s;
  if ((follow ? ::stat(path.c_str(), &s) : ::lstat(path.c_str(), &s)) < 0) return ErrnoError(errno, "look at", path);
  return FromStat(s);
}

Result<Stat> StatFd(const Fd& fd, std::string_view path) {
  struct stat s;
  if (::fstat(fd.get(), &s) < 0) return ErrnoError(errno, "look at", path);
  return FromStat(s);
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<std::vector<DirEntry>> ListFolder(const std::string& path) {
  DIR* dir = ::opendir(path.c_str());
  if (!dir) return ErrnoError(errno, "list", path);
  std::vector<DirEntry> entries;
  while (dirent* entry = ::readdir(dir)) {
    if (!std::strcmp(entry->d_name, ".") || !std::strcmp(entry->d_name, "..")) continue;
    FileType type = FileType::kOther;
    switch (entry->d_type) {
      case DT_REG: type = FileType::kFile; break;
      case DT_DIR: type = FileType::kFolder; break;
      case DT_LNK: type = FileType::kLink; break;
      case DT_UNKNOWN: {
        struct stat s;
        if (::fstatat(::dirfd(dir), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0) type = TypeOfMode(s.st_mode);
        break;
      }
      default: break;
    }
    entries.push_back({entry->d_name, type});
  }
  ::closedir(dir);
  return entries;
}

Result<std::string> ReadLink(const std::string& path) {
  std::string out(PATH_MAX, '\0');
  ssize_t n = ::readlink(path.c_str(), out.data(), out.size());
  if (n < 0) return ErrnoError(errno, "read the link", path);
  out.resize(static_cast<size_t>(n));
  return out;
}

Result<void> MakeLink(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) < 0) return ErrnoError(errno, "create the link", path);
  return {};
}

Result<void> MakeHardLink(const std::string& file, const std::string& path) {
  if (::link(file.c_str(), path.c_str()) != 0) return ErrnoError(errno, "link", path);
  return {};
}

Result<std::string> RealPath(const std::string& path) {
  char buffer[PATH_MAX];
  if (!::realpath(path.c_str(), buffer)) return ErrnoError(errno, "resolve", path);
  return std::string(buffer);
}

Result<std::string> PathOf(const Fd& fd) { return ReadLink(StrCat("/proc/self/fd/", fd.get())); }

std::string MachineId() {
  auto text = ReadFile("/proc/sys/kernel/random/boot_id", 4096);
  return text.ok() ? std::string(Trim(*text)) : std::string();
}

std::string CurrentFolder() {
  char buffer[PATH_MAX];
  return ::getcwd(buffer, sizeof buffer) ? buffer : "/";
}

std::string FileSystemOf(const std::string& path) {
  struct statfs facts;
  if (::statfs(path.c_str(), &facts) != 0) return {};
  return facts.f_type == OVERLAYFS_SUPER_MAGIC ? "overlay" : facts.f_type == TMPFS_MAGIC ? "tmpfs" : "";
}

uint64_t FreeBytes(const std::string& path) {
  struct statvfs s;
  if (::statvfs(path.c_str(), &s) < 0) return 0;
  return static_cast<uint64_t>(s.f_bavail) * s.f_frsize;
}

std::string JoinPath(std::string_view a, std::string_view b) {
  if (a.empty()) return std::string(b);
  if (a.back() == '/') return StrCat(a, b);
  return StrCat(a, "/", b);
}

Result<FileLock> FileLock::Take(const std::string& path, bool wait) {
  TRY(Fd fd, Open(path, OpenMode::kReadWrite, 0600));
  while (::flock(fd.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) < 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return MakeError(Code::kConflict, "file.locked", StrCat(path, " is held by another process"));
    return ErrnoError(errno, "lock", path);
  }
  return FileLock(std::move(fd));
}

}  // namespace ferry::os
