#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "base/text.h"
#include "os/folder.h"
#include "snapshot/snapshot.h"
#include "snapshot/test_folder.h"

namespace ferry::snapshot {
namespace {

// Paths with type, mode, and bytes or target.
std::map<std::string, std::string> Picture(const std::string& root, const std::string& path = {}) {
  std::map<std::string, std::string> picture;
  const std::string here = os::JoinPath(root, path);
  picture[path] = StrCat("folder ", os::StatPath(here, false)->mode);
  for (const os::DirEntry& entry : os::ListFolder(here).value()) {
    const std::string at = os::JoinPath(path, entry.name), full = os::JoinPath(root, at);
    switch (entry.type) {
      case os::FileType::kFolder: picture.merge(Picture(root, at)); break;
      case os::FileType::kLink: picture[at] = StrCat("link ", os::ReadLink(full).value()); break;
      case os::FileType::kFile: picture[at] = StrCat("file ", os::StatPath(full)->mode, " ", os::ReadFile(full).value()); break;
      case os::FileType::kOther: picture[at] = "special"; break;
    }
  }
  return picture;
}

// Sets the times of a file back to where they were, as far as anybody can.
void SetTimesBack(const std::string& path, const os::Stat& before) {
  timespec times[2] = {{before.mtime_ns / 1'000'000'000, before.mtime_ns % 1'000'000'000}, {before.mtime_ns / 1'000'000'000, before.mtime_ns % 1'000'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

class RecycleTest : public testing::Test {
 protected:
  void Fill() const {
    folder_.Write("cached/train.py", "print(1)");
    folder_.Write("cached/other.py", "print(2)");
    folder_.Write("cached/run.sh", "#!/bin/sh", 0755);
    folder_.Write("cached/empty", "");
    folder_.Write("cached/a/one", "content of a 1");
    folder_.Write("cached/a/two", "content of a 2");
    folder_.Write("cached/a/deep/three", "content of a 3");
    folder_.Write("cached/b/one", "content of b 1");
    folder_.Write("cached/b/two", "content of b 2");
    folder_.Write("cached/b/deep/three", "content of b 3");
    folder_.Write("cached/\xff\xfe not utf-8\n/\xc3\xbc\xe2\x82\xac", "odd name");
    ASSERT_TRUE(os::MakeFolders(folder_.At("cached/none")).ok());
    folder_.Link("cached/a/link", "../train.py");
    folder_.Link("cached/b/link", "../other.py");
    folder_.Link("cached/dangling", "nowhere");
  }
  void Copy() {
    ASSERT_TRUE(CopyTree(folder_.At("cached"), used_).ok());
    Made();
  }
  // Takes the time once the clock of the file system has moved on.
  void Made() {
    const int64_t last = Touch();
    do made_ns_ = Touch();
    while (made_ns_ == last);
  }
  int64_t Touch() const {
    EXPECT_TRUE(os::RemoveFile(folder_.At("made")).ok());
    EXPECT_TRUE(os::WriteFile(folder_.At("made"), "").ok());
    return os::StatPath(folder_.At("made"))->ctime_ns;
  }
  Recycled Do(unsigned threads = 0) const {
    auto recycled = Recycle(folder_.At("cached"), used_, made_ns_, threads);
    EXPECT_TRUE(recycled.ok()) << recycled.error().message;
    EXPECT_EQ(Picture(used_), Picture(folder_.At("cached")));
    return recycled.ok() ? *recycled : Recycled();
  }
  void Expect(size_t replaced, size_t removed) const {
    const Recycled recycled = Do();
    EXPECT_EQ(recycled.replaced, replaced);
    EXPECT_EQ(recycled.removed, removed);
  }
  std::string Used(std::string_view name) const { return os::JoinPath(used_, name); }
  uint64_t Inode(std::string_view name) const { return os::StatPath(Used(name), false)->inode; }

  TestFolder folder_;
  std::string used_ = folder_.At("used");
  int64_t made_ns_ = 0;
};

TEST_F(RecycleTest, KeepsWhatNobodyTouched) {
  Fill();
  Copy();
  const uint64_t inode = Inode("train.py");
  for (unsigned threads : {0u, 1u, 7u}) {
    const Recycled recycled = Do(threads);
    EXPECT_EQ(recycled.replaced + recycled.removed, 0u);
  }
  EXPECT_EQ(Inode("train.py"), inode);
  used_ += "//";
  Expect(0, 0);
}

TEST_F(RecycleTest, ReplacesWhatWasWritten) {
  Fill();
  Copy();
  folder_.Write("used/train.py", "print(7)");
  folder_.Write("used/empty", "longer");
  ASSERT_EQ(::truncate(Used("a/one").c_str(), 3), 0);
  Expect(3, 0);
}

TEST_F(RecycleTest, TimesSetBackDoNotHelp) {
  Fill();
  Copy();
  const os::Stat before = *os::StatPath(Used("train.py"));
  folder_.Write("used/train.py", "print(7)");
  SetTimesBack(Used("train.py"), before);
  EXPECT_EQ(os::StatPath(Used("train.py"))->mtime_ns, before.mtime_ns);
  Expect(1, 0);
}

TEST_F(RecycleTest, AWriteThroughAMappingIsSeen) {
  Fill();
  Copy();
  {
    const int fd = ::open(Used("train.py").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    auto* bytes = static_cast<volatile char*>(::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ASSERT_NE(bytes, MAP_FAILED);
    ASSERT_EQ(bytes[0], 'p');
    bytes[0] = 'P';
    ::munmap(const_cast<char*>(bytes), 8);
    ::close(fd);
  }
  Expect(1, 0);
}

TEST_F(RecycleTest, TheTimeOfTheMarkIsTooYoung) {
  Fill();
  Copy();
  const os::Stat stat = *os::StatPath(Used("train.py"), false);
  made_ns_ = stat.ctime_ns;
  const uint64_t inode = Inode("train.py");
  const Recycled recycled = Do();
  EXPECT_GE(recycled.replaced, 1u);
  EXPECT_TRUE(Inode("train.py") != inode || os::StatPath(Used("train.py"), false)->ctime_ns > stat.ctime_ns);
}

TEST_F(RecycleTest, ModesComeBack) {
  Fill();
  Copy();
  ASSERT_EQ(::chmod(Used("train.py").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(Used("run.sh").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(Used("other.py").c_str(), 0), 0);
  ASSERT_EQ(::chmod(Used("a").c_str(), 02770), 0);
  ASSERT_EQ(::chmod(Used("none").c_str(), 0), 0);
  ASSERT_EQ(::chmod(used_.c_str(), 0700), 0);
  Expect(3, 0);
}

TEST_F(RecycleTest, FilesWithAnotherNameElsewhereAreReplaced) {
  Fill();
  Copy();
  ASSERT_EQ(::link(Used("train.py").c_str(), folder_.At("outside").c_str()), 0);
  Expect(1, 0);
  folder_.Write("outside", "changed");
  EXPECT_EQ(os::ReadFile(Used("train.py")).value(), "print(1)");
}

// What the age of a file does not tell.
TEST_F(RecycleTest, AnOldFileMustLookLikeTheCachedOne) {
  Fill();
  Copy();
  ASSERT_EQ(::link(Used("train.py").c_str(), folder_.At("outside").c_str()), 0);
  ASSERT_EQ(::chmod(Used("run.sh").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(Used("other.py").c_str(), 04644), 0);
  ASSERT_EQ(::truncate(Used("a/one").c_str(), 3), 0);
  Made();
  Expect(4, 0);
}

TEST_F(RecycleTest, WhatIsMountedIsNotEntered) {
  Fill();
  Copy();
  folder_.Write("outside/one", "mine");
  ASSERT_TRUE(os::MakeFolders(Used("new/within")).ok());
  // The mounts are seen by this thread only. Without the right to mount there is nothing to see.
  std::thread([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    for (const char* name : {"b", "new/within"}) {
      if (::mount(folder_.At("outside").c_str(), Used(name).c_str(), nullptr, MS_BIND, nullptr) != 0) return;
      EXPECT_FALSE(Recycle(folder_.At("cached"), used_, made_ns_, 1).ok());
      ASSERT_EQ(::umount(Used(name).c_str()), 0);
      ASSERT_TRUE(os::MakeFolders(Used("new/within")).ok());
    }
  }).join();
  EXPECT_EQ(os::ReadFile(folder_.At("outside/one")).value(), "mine");
  Expect(0, 1);
}

TEST_F(RecycleTest, NewThingsAreRemovedAndMissingOnesMade) {
  Fill();
  Copy();
  folder_.Write("used/outputs/model/weights", "1");
  folder_.Write("used/a/__pycache__/one.pyc", "1");
  folder_.Write("used/\xfe", "1");
  ASSERT_EQ(::mkfifo(Used("pipe").c_str(), 0644), 0);
  ASSERT_TRUE(os::RemoveAll(Used("b")).ok());
  ASSERT_TRUE(os::RemoveFile(Used("empty")).ok());
  ASSERT_TRUE(os::RemoveFile(Used("dangling")).ok());
  ASSERT_EQ(::rmdir(Used("none").c_str()), 0);
  const uint64_t inode = Inode("a/one");
  Expect(6, 4);
  EXPECT_EQ(Inode("a/one"), inode);
}

TEST_F(RecycleTest, OneKindInThePlaceOfAnother) {
  Fill();
  Copy();
  for (const char* gone : {"a", "train.py", "other.py", "run.sh", "dangling", "empty", "b", "none"}) ASSERT_TRUE(os::RemoveAll(Used(gone)).ok());
  folder_.Write("used/a", "a file");
  folder_.Write("used/train.py/within", "a folder");
  folder_.Link("used/other.py", "run.sh");
  ASSERT_EQ(::mkfifo(Used("run.sh").c_str(), 0644), 0);
  folder_.Write("used/dangling/within/it", "a folder");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = Used("empty");
  if (path.size() < sizeof address.sun_path) {
    std::copy(path.begin(), path.end(), address.sun_path);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(socket);
  }
  folder_.Link("used/b", "a");
  ASSERT_EQ(::mkfifo(Used("none").c_str(), 0644), 0);
  Expect(13, 0);
}

TEST_F(RecycleTest, LinksAreNeverFollowed) {
  Fill();
  Copy();
  folder_.Write("outside/one", "mine");
  folder_.Write("outside/two", "mine");
  ASSERT_TRUE(os::RemoveAll(Used("a")).ok());
  folder_.Link("used/a", folder_.At("outside"));
  folder_.Link("used/new", folder_.At("outside"));
  folder_.Link("used/b/new", "../../outside");
  ASSERT_TRUE(os::RemoveFile(Used("train.py")).ok());
  folder_.Link("used/train.py", folder_.At("outside/one"));
  const auto before = Picture(folder_.At("outside"));
  Expect(5, 2);
  EXPECT_EQ(Picture(folder_.At("outside")), before);

  ASSERT_TRUE(os::Rename(used_, folder_.At("moved")).ok());
  folder_.Link("used", "outside");
  EXPECT_EQ(Recycle(folder_.At("cached"), used_, made_ns_).error().slug, "snapshot.not_a_folder");
  EXPECT_EQ(Picture(folder_.At("outside")), before);
}

TEST_F(RecycleTest, ChangedLinksAreRemade) {
  Fill();
  Copy();
  ASSERT_TRUE(os::RemoveFile(Used("a/link")).ok());
  folder_.Link("used/a/link", "../other.py");
  ASSERT_TRUE(os::RemoveFile(Used("dangling")).ok());
  folder_.Link("used/dangling", "anywher");
  Expect(2, 0);
}

TEST_F(RecycleTest, FoldersThatChangedPlaces) {
  Fill();
  Copy();
  const int64_t age = os::StatPath(Used("a/deep/three"))->ctime_ns;
  ASSERT_EQ(::renameat2(AT_FDCWD, Used("a").c_str(), AT_FDCWD, Used("b").c_str(), RENAME_EXCHANGE), 0);
  EXPECT_EQ(os::StatPath(Used("b/deep/three"))->ctime_ns, age);
  EXPECT_EQ(os::ReadFile(Used("b/deep/three")).value(), "content of a 3");
  Expect(8, 0);
}

TEST_F(RecycleTest, AFolderMovedIntoTheParentOfAnother) {
  Fill();
  Copy();
  ASSERT_TRUE(os::RemoveAll(Used("a/deep")).ok());
  ASSERT_TRUE(os::Rename(Used("b/deep"), Used("a/deep")).ok());
  const uint64_t inode = Inode("a/one");
  Expect(2, 0);
  EXPECT_EQ(Inode("a/one"), inode);
}

TEST_F(RecycleTest, FilesThatChangedPlaces) {
  Fill();
  Copy();
  ASSERT_EQ(::renameat2(AT_FDCWD, Used("train.py").c_str(), AT_FDCWD, Used("other.py").c_str(), RENAME_EXCHANGE), 0);
  ASSERT_EQ(::renameat2(AT_FDCWD, Used("a/one").c_str(), AT_FDCWD, Used("b/one").c_str(), RENAME_EXCHANGE), 0);
  Expect(4, 0);
}

TEST_F(RecycleTest, AFolderWithAttributesIsMadeAnew) {
  Fill();
  Copy();
  if (::setxattr(Used("a").c_str(), "user.note", "x", 1, 0) != 0) return;  // a file system without
  Expect(4, 0);
  EXPECT_LT(::getxattr(Used("a").c_str(), "user.note", nullptr, 0), 0);
  Made();
  ASSERT_EQ(::setxattr(used_.c_str(), "user.note", "x", 1, 0), 0);
  EXPECT_EQ(Recycle(folder_.At("cached"), used_, made_ns_).error().slug, "snapshot.not_ours");
}

TEST_F(RecycleTest, AgainAndAgain) {
  Fill();
  Copy();
  for (int i = 0; i < 5; ++i) {
    folder_.Write("used/outputs/x", "x");
    folder_.Write("used/a/deep/three", "content of a 4");
    Expect(1, 1);
    Made();
    Expect(0, 0);
  }
}

TEST_F(RecycleTest, DeepTrees) {
  std::string path;
  for (int i = 0; i < 300; ++i) path += "deep/";
  folder_.Write(StrCat("cached/", path, "file"), "deep down");
  Copy();
  Expect(0, 0);
  folder_.Write(StrCat("used/", path, "file"), "deep dowm");
  Expect(1, 0);
  // Deeper than a path may be long and a process may have files open.
  Made();
  auto at = os::Folder::Open(used_);
  for (int i = 0; i < 700; ++i) {
    ASSERT_TRUE(at->MakeFolder("a new one").ok());
    at = at->OpenFolder("a new one");
    ASSERT_TRUE(at.ok());
  }
  ASSERT_TRUE(at->CreateFile("a file", 0644).ok());
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit low{256, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  Expect(0, 1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_F(RecycleTest, WithoutTheRightsOfRoot) {
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chown(folder_.path().c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(::setegid(kNobody), 0);
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  Fill();
  Copy();
  folder_.Write("used/new/within/it", "1");
  folder_.Write("used/a/deep/new", "1");
  folder_.Write("used/a/one", "changed");
  ASSERT_EQ(::chmod(Used("new/within").c_str(), 0), 0);
  ASSERT_EQ(::chmod(Used("new").c_str(), 0500), 0);
  ASSERT_EQ(::chmod(Used("a/one").c_str(), 0), 0);
  ASSERT_EQ(::chmod(Used("a/deep").c_str(), 0500), 0);
  ASSERT_EQ(::chmod(Used("a").c_str(), 0), 0);
  ASSERT_EQ(::chmod(Used("b").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(used_.c_str(), 0), 0);
  Expect(1, 2);
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
    ASSERT_EQ(::setegid(0), 0);
  }
}

TEST_F(RecycleTest, Failures) {
  Fill();
  EXPECT_EQ(Recycle(folder_.At("cached"), used_, 1).error().code, Code::kNotFound);
  EXPECT_EQ(Recycle(folder_.At("nowhere"), folder_.At("cached"), 1).error().code, Code::kNotFound);
  EXPECT_TRUE(os::Exists(folder_.At("cached/train.py")));
}

// Does to a tree what scripts do, and what they do not.
class Vandal {
 public:
  Vandal(std::string root, std::string outside, unsigned seed) : root_(std::move(root)), outside_(std::move(outside)), random_(seed) {}

  void Do() {
    Gather(root_);
    const std::string file = Pick(files_), folder = Pick(folders_);
    switch (Below(14)) {
      case 0: (void)os::WriteFile(file, Content()); break;
      case 1: (void)::truncate(file.c_str(), static_cast<off_t>(Below(20))); break;
      case 2: Overwrite(file); break;
      case 3: Move(file, Pick(files_)); break;
      case 4: Exchange(file, Pick(files_)); break;
      case 5: Exchange(folder, Pick(folders_)); break;
      case 6: Move(folder, New()); break;
      case 7: (void)::link(file.c_str(), (Below(2) ? New() : os::JoinPath(outside_, Name())).c_str()); break;
      case 8: (void)::chmod(Below(2) ? file.c_str() : folder.c_str(), static_cast<mode_t>(0700 + Below(0100))); break;
      case 9: (void)os::RemoveFile(file); break;
      case 10:
        if (folder != root_) (void)os::RemoveAll(folder);
        break;
      case 11: (void)os::MakeFolders(New()); break;
      case 12:
        (void)os::RemoveFile(file);
        (void)os::MakeLink(Below(2) ? "../" : Pick(folders_), file);
        break;
      case 13: Exchange(file, folder); break;
    }
  }

 private:
  void Gather(const std::string& folder, bool top = true) {
    if (top) {
      files_.clear();
      folders_.clear();
    }
    folders_.push_back(folder);
    auto entries = os::ListFolder(folder).value();
    std::sort(entries.begin(), entries.end(), [](const os::DirEntry& a, const os::DirEntry& b) { return a.name < b.name; });
    for (const os::DirEntry& entry : entries) {
      const std::string path = os::JoinPath(folder, entry.name);
      if (entry.type == os::FileType::kFolder)
        Gather(path, false);
      else
        files_.push_back(path);
    }
  }
  // The same size, and the times from before.
  void Overwrite(const std::string& file) {
    auto before = os::StatPath(file, false);
    if (!before.ok() || before->type != os::FileType::kFile) return;
    auto fd = os::Open(file, os::OpenMode::kReadWrite);
    ASSERT_TRUE(fd.ok());
    ASSERT_TRUE(os::WriteAll(*fd, std::string(before->size, static_cast<char>('a' + Below(26)))).ok());
    SetTimesBack(file, *before);
  }
  void Move(const std::string& from, const std::string& to) {
    if (from != root_) (void)os::Rename(from, to);
  }
  void Exchange(const std::string& a, const std::string& b) {
    if (a != root_ && b != root_) (void)::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
  }
  size_t Below(size_t bound) { return random_() % bound; }
  std::string Name() { return StrCat(Below(2) ? "" : "n", Below(8)); }
  std::string New() { return os::JoinPath(Pick(folders_), Name()); }
  std::string Content() { return std::string(5 + Below(3), static_cast<char>('a' + Below(26))); }
  const std::string& Pick(const std::vector<std::string>& all) { return all.empty() ? root_ : all[Below(all.size())]; }

  const std::string root_, outside_;
  std::mt19937 random_;
  std::vector<std::string> files_, folders_;
};

TEST_F(RecycleTest, WhateverIsDoneToIt) {
  std::mt19937 random(5);
  // Few names and few sizes, so that much looks alike.
  for (const char* folder : {"", "0/", "1/", "2/", "0/0/", "0/1/", "1/0/", "1/0/3/", "1/1/"})
    for (int i = 4; i < 8; ++i)
      folder_.Write(StrCat("cached/", folder, i), std::string(5 + random() % 3, static_cast<char>('a' + random() % 26)), i == 7 ? 0755 : 0644);
  folder_.Link("cached/0/link", "../4");
  folder_.Link("cached/1/link", "../5");
  ASSERT_TRUE(os::MakeFolders(folder_.At("outside")).ok());
  Copy();
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    Vandal vandal(used_, folder_.At("outside"), seed);
    for (unsigned i = 0; i <= seed % 12; ++i) vandal.Do();
    Do(1 + seed % 3);
    if (HasFailure()) return;
    // Also at once, with a mark as old as the last change.
    if (seed % 4 != 0)
      Made();
    else
      made_ns_ = Touch();
  }
}

}  // namespace
}  // namespace ferry::snapshot
