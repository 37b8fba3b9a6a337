#include "transfer/upload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "blob/pack.h"

namespace ferry::transfer {
namespace {

namespace fs = std::filesystem;

class UploadTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "transfer_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  File Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name) << content;
    return {HashBytes(content), content.size(), folder_ + "/" + name, name};
  }
  Link ToServer() {
    return {[this](http::Call call) { return Take(std::move(call)); }, "/blobs", false};
  }

  // The routes of blobs, in memory.
  Result<http::Reply> Take(http::Call call) {
    while (call.body_source) {
      TRY(std::string piece, call.body_source());
      if (piece.empty()) break;
      call.body += piece;
    }
    asked_.push_back(StrCat(call.method, " ", call.path.substr(0, call.path.find('?'))));
    if (call.path == "/blobs/missing") {
      Json missing = Json::MakeArray();
      for (const std::string& hex : ParseJson(call.body)->GetStrings("digests"))
        if (!blobs_.count(hex)) missing.Push(hex);
      return Says(Json::MakeObject({{"missing", std::move(missing)}}));
    }
    if (call.path == "/blobs/pack") {
      blob::PackParser parser([&](const Digest& digest, std::string_view raw, std::string_view) -> Result<void> {
        blobs_[digest.Hex()] = raw;
        order_.push_back(std::string(raw));
        return {};
      });
      TRY_VOID(parser.Write(call.body));
      TRY_VOID(parser.Finish());
      return Says(Json::MakeObject());
    }
    std::string hex = call.path.substr(7, 64);
    std::string& partial = partial_[hex];
    if (call.method == "PUT") {
      if (call.path != StrCat("/blobs/", hex, "/parts?offset=", partial.size())) return MakeError(Code::kConflict, "blob.offset", "elsewhere");
      partial += call.body;
    }
    if (call.method == "POST") {
      if (HashBytes(partial).Hex() != hex) return MakeError(Code::kInvalid, "blob.corrupt", "another hash");
      blobs_[hex] = partial;
    }
    if (call.method == "GET" && told_) return Says(Json::MakeObject({{"size", *std::exchange(told_, {})}}));
    return Says(Json::MakeObject({{"size", partial.size()}}));
  }
  static http::Reply Says(const Json& json) { return {200, {}, json.Dump()}; }

  std::string folder_;
  std::map<std::string, std::string> blobs_, partial_;
  std::vector<std::string> order_;  // what came in packs
  std::vector<std::string> asked_;  // "POST /blobs/pack"
  std::optional<uint64_t> told_;    // the size of a partial upload, told once instead of the truth
};

TEST_F(UploadTest, WhatIsThereDoesNotTravelAndTheLastComesLast) {
  std::vector<File> files = {Write("a", "one"), Write("b", "two"), Write("c", "one"), Write("d", "")};
  blobs_[HashBytes("two").Hex()] = "two";
  std::string manifest = "the manifest";
  UploadOptions options;
  options.last = &manifest;
  UploadProgress last;
  options.on_progress = [&](const UploadProgress& progress) { last = progress; };
  auto left_out = Upload(ToServer(), files, options);
  ASSERT_TRUE(left_out.ok()) << left_out.error().message;
  EXPECT_TRUE(left_out->empty());
  EXPECT_EQ(order_, (std::vector<std::string>{"one", "", "the manifest"}));
  EXPECT_EQ(last.all_files, 2u);
  EXPECT_EQ(last.bytes, 3u);
  // Nothing to send is one question.
  asked_.clear();
  ASSERT_TRUE(Upload(ToServer(), files, {}).ok());
  EXPECT_EQ(asked_, (std::vector<std::string>{"POST /blobs/missing"}));
}

TEST_F(UploadTest, AFileThatChangedEndsTheUploadOrIsLeftOut) {
  for (size_t size : {size_t{10}, size_t{5} << 20})
    for (unsigned threads : {0u, 2u}) {
      blobs_.clear();
      partial_.clear();
      std::vector<File> files = {Write("good", std::string(size, 'g')), Write("bad", std::string(size, 'b')), Write("other", std::string(2u << 20, 'o'))};
      Write("bad", std::string(size, 'c'));
      UploadOptions options;
      options.threads = threads;
      auto strict = Upload(ToServer(), files, options);
      ASSERT_FALSE(strict.ok());
      EXPECT_EQ(strict.error().slug, "upload.changed");
      EXPECT_EQ(strict.error().field, "bad");
      options.leave_out_changed = true;
      partial_.clear();
      auto left_out = Upload(ToServer(), files, options);
      ASSERT_TRUE(left_out.ok()) << left_out.error().message;
      EXPECT_EQ(*left_out, std::unordered_set<Digest>{files[1].digest});
      EXPECT_EQ(blobs_.size(), 2u);
      fs::remove(folder_ + "/bad");
      EXPECT_EQ(*Upload(ToServer(), files, options), std::unordered_set<Digest>{files[1].digest}) << "it is gone";
    }
}

TEST_F(UploadTest, ALargeFileGoesOnWhereItEnded) {
  std::string content;
  while (content.size() < (20u << 20)) content += StrCat(content.size(), ",");
  File file = Write("large", content);
  partial_[file.digest.Hex()] = content.substr(0, 1'000'000);
  ASSERT_TRUE(Upload(ToServer(), {file}, {}).ok());
  EXPECT_EQ(blobs_[file.digest.Hex()], content);
  EXPECT_EQ(std::count(asked_.begin(), asked_.end(), StrCat("PUT /blobs/", file.digest.Hex(), "/parts")), 3);
  // Somebody else sent more of it meanwhile.
  blobs_.clear();
  partial_[file.digest.Hex()] = content.substr(0, 9'000'000);
  told_ = 0;
  ASSERT_TRUE(Upload(ToServer(), {file}, {}).ok());
  EXPECT_EQ(blobs_[file.digest.Hex()], content);
}

TEST_F(UploadTest, TheServersErrorIsTheUploads) {
  Link broken{[](const http::Call&) -> Result<http::Reply> { return MakeError(Code::kUnavailable, "http.unreachable", "gone"); }, "/blobs", false};
  UploadOptions options;
  options.leave_out_changed = true;
  EXPECT_EQ(Upload(broken, {Write("a", "one")}, options).error().slug, "http.unreachable");
}

}  // namespace
}  // namespace ferry::transfer
