// A source directory as a value: the manifest of what a run needs, and the two ways between a manifest and a folder.
// Used by the client (Scan), the agent (Restore) and the command line (restore-snapshot). No network here: bytes come and go through
// the callers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"

namespace ferry::snapshot {

// One file, link or empty folder. Paths are relative with '/' and in bytewise order.
struct Entry {
  enum class Type : uint8_t { kFile, kLink, kFolder };
  std::string path;
  Type type = Type::kFile;
  bool executable = false;
  uint64_t size = 0;
  Digest digest;       // of the content (kFile)
  std::string target;  // where a link points (kLink): relative, inside the snapshot, ".." only in front

  bool operator==(const Entry&) const = default;
};

// The snapshot is the blob of its manifest's canonical text: equal folders have equal ids, whoever made them.
struct Manifest {
  std::vector<Entry> entries;

  uint64_t TotalBytes() const;
  // Canonical text: one line an entry, ordered; the snapshot id is the digest of this text.
  //   ferry-snapshot 1
  //   f <digest> <size> <path>      a file ("x" when executable)
  //   l <path> TAB <target>         a link
  //   d <path>                      an empty folder
  // In paths and targets '\', newline and TAB are written "\\", "\n" and "\t"; every other byte stands for itself.
  std::string Text() const;
  Digest Id() const;
  // kInvalid "snapshot.manifest" unless the entries are ordered, safe to write into a folder, and none lies below another.
  Result<void> Check() const;
  // kInvalid "snapshot.manifest" for anything that Text() would not have written: unsafe or unordered paths, a link that leaves the folder.
  static Result<Manifest> Parse(std::string_view text);
};

struct ScanOptions {
  std::string folder;
  // Where the stat cache lives (a file; created). Empty: no cache.
  std::string cache_file;
  // Threads that hash. 0: one per core.
  unsigned threads = 0;
  // No ignore file is read.
  bool everything = false;
};

struct ScanResult {
  Manifest manifest;
  // The ignore file that was used (".amlignore", ".gitignore" or empty).
  std::string ignore_file;
  size_t hashed = 0;  // files whose content was read
  // Things worth saying: large snapshots (over 300 MB or 2,000 files) with the largest folders and how to ignore them, links that leave the
  // folder and were followed or left out, special files that were left out.
  std::vector<std::string> notes;
};

// Reads the folder. Errors: kNotFound "snapshot.no_folder", kInvalid "snapshot.not_a_folder", kInvalid "snapshot.unreadable" naming every
// unreadable file (up to ten). Links inside the folder stay links; links to files outside are followed (their content is taken), links to folders
// outside and dangling ones are left out with a note.
Result<ScanResult> Scan(const ScanOptions& options);

// The rules of one ignore file: gitwildmatch, last match wins, '!' re-includes (but nothing below an ignored folder).
class IgnoreRules {
 public:
  explicit IgnoreRules(std::string_view text);
  // `path` is relative with '/'.
  bool Ignored(std::string_view path, bool is_folder) const;
  // The same without asking for the folders above. REQUIRES: none of them is ignored.
  bool IgnoredHere(std::string_view path, bool is_folder) const;

 private:
  struct Rule {
    std::string pattern;
    size_t literal = 0;        // how many bytes in front are no wildcard
    bool negated = false;      // '!' in front
    bool folder_only = false;  // '/' behind
    bool anchored = false;     // has a '/': compared with the whole path and not with the name
    bool suffix = false;       // "*" and then no wildcard
    bool Matches(std::string_view path, std::string_view name) const;
  };
  std::vector<Rule> rules_;
};

// Gives the bytes of a blob by streaming them into `write`. Called from several threads at once.
using Fetch = std::function<Result<void>(const Digest& digest, const std::function<Result<void>(std::string_view)>& write)>;

// Writes the manifest's content into `folder` (created, must be empty), with `threads` writers (0: one per core). Files get mode 0644 or 0755.
// Nothing is written outside `folder`, whatever the manifest says. kConflict "snapshot.not_empty"; kInvalid "snapshot.manifest";
// kInvalid "snapshot.content" when fetched bytes do not have the size and hash of the manifest. A failure leaves a part behind.
Result<void> Restore(const Manifest& manifest, const std::string& folder, const Fetch& fetch, unsigned threads = 0);

// Makes `to` (created, must be empty) a private copy of the folder `from`, sharing blocks where the file system can. Files get mode 0644 or 0755,
// links are copied as they are, special files and modification times are not. 0 threads: one per core. A failure leaves a part behind.
Result<void> CopyTree(const std::string& from, const std::string& to, unsigned threads = 0);

struct Recycled {
  size_t replaced = 0;  // files and links that were copied anew
  size_t removed = 0;   // things that `cached` does not have; a folder with all below it is one
};

// Makes `used`, a copy of `cached` that somebody else has had, equal to it again. `made_ns`: the ctime of a file that was created in the same
// file system after the copy was whole and before anybody else could touch it. A file stays when its ctime is older and it looks like the cached one;
// where a folder may have been moved, and on file systems whose ctime misses changes, also its bytes are compared. Nothing outside `used` is
// touched: links are not followed, and a mount below is kConflict "snapshot.mounted". kConflict "snapshot.not_ours" when `used` itself got another owner. 0
// threads: one per core. A failure leaves it neither as it was nor equal. REQUIRES: `used` is the same folder (os::Stat::inode) as when made_ns was taken,
// nobody has anything in it open any more, and the clock has not been set back since.
Result<Recycled> Recycle(const std::string& cached, const std::string& used, int64_t made_ns, unsigned threads = 0);

// Git facts of a folder under Azure's and MLflow's property names (azureml.git.*, mlflow.source.git.*); empty when the folder is in no
// repository or git is not there. Environment overrides AZUREML_GIT_* win. Credentials in the repository address are removed.
std::map<std::string, std::string> GitFacts(const std::string& folder);

}  // namespace ferry::snapshot
