// What every FileStore must do. A test of an implementation instantiates it with a way to make one.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "data/file_store.h"

namespace ferry::data {

struct Subject {
  std::unique_ptr<FileStore> store;
  std::string base;  // below which the suite's files may lie, with a '/' at its end, or empty
  bool writable = true;
  std::function<void(const std::string& path, const std::string& content)> put;  // for a store that is not
  std::shared_ptr<void> keeps;                                                   // what the store needs
};
using MakeSubject = std::function<Subject()>;

class FileStoreConformance : public testing::TestWithParam<MakeSubject> {
 protected:
  void SetUp() override { subject_ = GetParam()(); }
  FileStore& store() { return *subject_.store; }
  std::string At(const std::string& path) const { return subject_.base + path; }
  Result<FileInfo> Write(const std::string& path, const std::string& content, bool overwrite = false) {
    TRY(auto writer, store().Create(At(path)));
    for (size_t at = 0; at < content.size(); at += 300'000) TRY_VOID(writer->Write(std::string_view(content).substr(at, 300'000)));
    return writer->Finish(overwrite);
  }
  void Put(const std::string& path, const std::string& content) {
    if (!subject_.writable) return subject_.put(At(path), content);
    auto info = Write(path, content);
    ASSERT_TRUE(info.ok()) << info.error().message;
  }
  std::string Read(const std::string& path) {
    auto reader = store().Open(At(path));
    if (!reader.ok()) return StrCat("error ", reader.error().slug);
    std::string out;
    for (;;) {
      auto piece = (*reader)->Read(out.size(), 700'000);
      if (!piece.ok()) return StrCat("error ", piece.error().slug);
      if (piece->empty()) break;
      out += *piece;
    }
    EXPECT_EQ(out.size(), (*reader)->size());
    return out;
  }
  std::vector<std::string> Paths(const std::string& prefix, size_t limit = 1000) {
    std::vector<std::string> out;
    std::string after;
    for (;;) {
      auto page = store().List(At(prefix), after, limit);
      EXPECT_TRUE(page.ok()) << (page.ok() ? "" : page.error().message);
      if (!page.ok()) return out;
      for (const FileInfo& file : *page) out.push_back(file.path.substr(subject_.base.size()));
      if (page->size() < limit) return out;
      after = page->back().path;
    }
  }

  Subject subject_;
};

TEST_P(FileStoreConformance, ReadsWhatWasWritten) {
  const std::string large = [] {
    std::string text;
    while (text.size() < 2'500'000) text += StrCat(text.size(), "\n");
    return text;
  }();
  Put("a.txt", "hello");
  Put("empty", "");
  Put("deep/er/large.bin", large);
  EXPECT_EQ(Read("a.txt"), "hello");
  EXPECT_EQ(Read("empty"), "");
  EXPECT_EQ(Read("deep/er/large.bin"), large);
  auto info = store().Stat(At("deep/er/large.bin"));
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_EQ(info->path, At("deep/er/large.bin"));
  EXPECT_EQ(info->size, large.size());
  EXPECT_TRUE(info->modified);
  EXPECT_EQ(info->digest.value_or(HashBytes(large)), HashBytes(large));
  auto reader = store().Open(At("deep/er/large.bin"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(*(*reader)->Read(1'000'000, 10), large.substr(1'000'000, 10));
  EXPECT_EQ(*(*reader)->Read(large.size() - 3, 10), large.substr(large.size() - 3));
  EXPECT_EQ(*(*reader)->Read(large.size() + 3, 10), "");
}

TEST_P(FileStoreConformance, ListsInOrderAndInPages) {
  std::vector<std::string> paths = {"a", "a-b", "a.b/c", "a/b", "a/b-c/d", "a/b.c", "a0", "b/1", "b/10", "b/2", "c d/ü.txt"};
  // Where "a" is a file there can be no "a/b" in a folder.
  paths.erase(paths.begin());
  for (size_t i = paths.size(); i-- > 0;) Put(paths[i], paths[i]);
  for (size_t limit : {1, 2, 3, 7, 1000}) EXPECT_EQ(Paths("", limit), paths) << limit;
  EXPECT_EQ(Paths("a/"), (std::vector<std::string>{"a/b", "a/b-c/d", "a/b.c"}));
  EXPECT_EQ(Paths("b/1", 1), (std::vector<std::string>{"b/1", "b/10"}));
  EXPECT_EQ(Paths("a"), (std::vector<std::string>{"a-b", "a.b/c", "a/b", "a/b-c/d", "a/b.c", "a0"}));
  EXPECT_EQ(Paths("c d/ü"), (std::vector<std::string>{"c d/ü.txt"}));
  EXPECT_TRUE(Paths("nothing/here").empty());
  EXPECT_TRUE(Paths("b/1/").empty()) << "a file is no folder";
  auto page = store().List(At(""), At("zzz"), 10);
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->empty());
  EXPECT_EQ((*store().List(At("b/2"), "", 10))[0].size, 3u);
}

TEST_P(FileStoreConformance, SaysWhatIsNotThere) {
  Put("folder/file", "x");
  for (const char* path : {"nothing", "folder", "folder/file/below", "folder/other"}) {
    EXPECT_EQ(Read(path), "error file.not_found") << path;
    auto info = store().Stat(At(path));
    EXPECT_TRUE(!info.ok() && info.error().code == Code::kNotFound) << path;
  }
}

TEST_P(FileStoreConformance, RefusesPathsThatLeaveIt) {
  for (const std::string& path :
       {std::string("../x"), std::string("a/../../x"), std::string("/etc/passwd"), std::string("a//b"), std::string("./a"), std::string(""), std::string("a/"),
        std::string("a\nb"), std::string("a\0b", 3), std::string("\xff"), std::string(1025, 'a')}) {
    for (const std::string& at : {path, At(path)}) {
      if (at == subject_.base && path.empty()) continue;
      EXPECT_FALSE(store().Open(at).ok()) << at;
      EXPECT_FALSE(store().Stat(at).ok()) << at;
      EXPECT_FALSE(store().Create(at).ok()) << at;
    }
  }
  auto listed = store().List("../", "", 10);
  EXPECT_TRUE(!listed.ok() || listed->empty());
}

TEST_P(FileStoreConformance, WritesWholeFilesOrNothing) {
  if (!subject_.writable) {
    auto writer = store().Create(At("new"));
    ASSERT_FALSE(writer.ok());
    EXPECT_EQ(writer.error().slug, "datastore.read_only");
    return;
  }
  {
    auto writer = store().Create(At("half"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Write(std::string(2'000'000, 'x')).ok());
    EXPECT_EQ(Read("half"), "error file.not_found");
    EXPECT_TRUE(Paths("").empty());
  }
  EXPECT_EQ(Read("half"), "error file.not_found");
  EXPECT_TRUE(Paths("").empty());
  Put("f", "one");
  auto again = Write("f", "two");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().slug, "file.exists");
  EXPECT_EQ(Read("f"), "one");
  auto over = Write("f", "three", true);
  ASSERT_TRUE(over.ok()) << over.error().message;
  EXPECT_EQ(over->size, 5u);
  EXPECT_EQ(Read("f"), "three");
  EXPECT_EQ(Paths(""), std::vector<std::string>{"f"});
}

}  // namespace ferry::data
