// Files and folders: the only place (with the other files of os/) that includes POSIX headers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace ferry::os {

// An owned file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { Close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Close();

 private:
  int fd_ = -1;
};

// The error of a failed system call on `path`: kNotFound "file.not_found", kForbidden "file.denied", kExhausted "file.disk_full",
// kConflict "file.exists", else kInternal "file.io". `doing` completes "cannot ...".
Error ErrnoError(int error, std::string_view doing, std::string_view path);

enum class OpenMode { kRead, kWrite, kAppend, kReadWrite };
// kWrite truncates; kWrite, kAppend and kReadWrite create with `mode`.
Result<Fd> Open(const std::string& path, OpenMode open, unsigned mode = 0644);

Result<void> WriteAll(const Fd& fd, std::string_view bytes, std::string_view path = {});
Result<void> WriteAllAt(const Fd& fd, std::string_view bytes, uint64_t offset, std::string_view path = {});
// Up to `limit` bytes at `offset`; shorter only at the end.
Result<std::string> ReadAt(const Fd& fd, uint64_t offset, size_t limit, std::string_view path = {});
// One read: what is there now, at most `limit`; empty at the end.
Result<std::string> ReadSome(const Fd& fd, size_t limit);
Result<std::string> ReadFile(const std::string& path, uint64_t limit = 1ull << 32);
// The hash of what a file holds, to its end.
Result<Digest> HashFile(const std::string& path);
Result<void> SyncData(const Fd& fd, std::string_view path = {});
Result<void> Truncate(const Fd& fd, uint64_t size, std::string_view path = {});
Result<void> SyncFolder(const std::string& path);

// Creates the file with one write. A crash may leave a part of it: for what its reader can tell from a whole.
Result<void> WriteFile(const std::string& path, std::string_view bytes, unsigned mode = 0644);
// Writes beside and renames over. With `durable` file and folder are flushed first.
Result<void> WriteFileAtomic(const std::string& path, std::string_view bytes, unsigned mode = 0644, bool durable = true);

// With parents. Success when it is there already.
Result<void> MakeFolders(const std::string& path, unsigned mode = 0755);
// The folder and all below it; links are not followed, and what is mounted below is not entered but a failure. Success when it is not there.
Result<void> RemoveAll(const std::string& path);
Result<void> RemoveFile(const std::string& path);  // success when it is not there
Result<void> Rename(const std::string& from, const std::string& to);

enum class FileType { kFile, kFolder, kLink, kOther };
struct Stat {
  FileType type = FileType::kOther;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint64_t inode = 0;
  uint64_t device = 0;
  uint32_t mode = 0;  // permission bits
  uint64_t links = 0;
  uint32_t owner = 0;
  uint32_t group = 0;
};
Result<Stat> StatPath(const std::string& path, bool follow = true);
Result<Stat> StatFd(const Fd& fd, std::string_view path = {});
bool Exists(const std::string& path);

struct DirEntry {
  std::string name;
  FileType type = FileType::kOther;
};
// Without "." and "..", unordered.
Result<std::vector<DirEntry>> ListFolder(const std::string& path);

Result<std::string> ReadLink(const std::string& path);
Result<void> MakeLink(const std::string& target, const std::string& path);
// A second name of a file.
Result<void> MakeHardLink(const std::string& file, const std::string& path);
// Absolute, with links resolved.
Result<std::string> RealPath(const std::string& path);
// Where an open file or folder lies: absolute, without links.
Result<std::string> PathOf(const Fd& fd);
// Names this machine, and which start of it; "" where nothing says so.
std::string MachineId();
std::string CurrentFolder();
uint64_t FreeBytes(const std::string& path);
// "overlay", "tmpfs" or "" for all others: those that behave in ways of their own.
std::string FileSystemOf(const std::string& path);

// Joins with one '/'.
std::string JoinPath(std::string_view a, std::string_view b);

// An exclusive lock on a file (created), held until destroyed. kConflict "file.locked" at once when another process holds it and `wait` is
// false.
class FileLock {
 public:
  static Result<FileLock> Take(const std::string& path, bool wait);
  // Gives the descriptor away: the lock lasts until every copy of it, also in forked processes, is closed.
  Fd Release() && { return std::move(fd_); }

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace ferry::os
