// Against a real server: tests/s3_server.py brings one from PyPI.
#include "data/s3/s3_store.h"

#include <cstdio>
#include <filesystem>

#include "data/conformance.h"

namespace ferry::data {
namespace {

// Ends with this process.
const std::string& Endpoint() {
  static const std::string url = [] {
    std::string command = std::string("exec /usr/bin/python3 ") + FERRY_SOURCE_DIR "/tests/s3_server.py";
    FILE* pipe = popen(command.c_str(), "r");
    char line[256] = {};
    if (!pipe || !std::fgets(line, sizeof line, pipe)) return std::string("http://127.0.0.1:1");
    return std::string(Trim(line));
  }();
  return url;
}

S3Settings SettingsOf(const std::string& prefix) {
  return {Endpoint(), "data", prefix, "us-east-1", "AKIAIOSFODNN7EXAMPLE", "secret", testing::TempDir() + "s3_store_scratch"};
}

INSTANTIATE_TEST_SUITE_P(S3, FileStoreConformance, testing::Values([] {
                           static int count = 0;
                           auto keeps = std::shared_ptr<void>(nullptr, [](void*) {
                             std::string scratch = SettingsOf("").scratch;
                             EXPECT_TRUE(!std::filesystem::exists(scratch) || std::filesystem::is_empty(scratch));
                           });
                           return Subject{OpenS3Store(SettingsOf(StrCat("suite ", ++count))), "", true, nullptr, keeps};
                         }));

TEST(S3Store, LargeFilesComeInParts) {
  auto store = OpenS3Store(SettingsOf("large"));
  std::string large;
  while (large.size() < 40'000'000) large += StrCat(large.size(), "\n");
  auto writer = store->Create("f");
  ASSERT_TRUE(writer.ok());
  for (size_t at = 0; at < large.size(); at += 1'000'000) ASSERT_TRUE((*writer)->Write(std::string_view(large).substr(at, 1'000'000)).ok());
  auto written = (*writer)->Finish(false);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(store->Stat("f")->size, large.size());
  auto reader = std::move(*store->Open("f"));
  EXPECT_EQ(*reader->Read(33'000'000, 100), large.substr(33'000'000, 100));
  std::string back;
  while (back.size() < large.size()) back += *reader->Read(back.size(), 1u << 20);
  EXPECT_TRUE(back == large);
}

TEST(S3Store, ListsMoreThanAPage) {
  auto store = OpenS3Store(SettingsOf("many"));
  for (int i = 0; i < 1100; ++i) {
    auto writer = store->Create(StrCat("f/", 10'000 + i));
    ASSERT_TRUE((*writer)->Finish(true).ok());
  }
  EXPECT_EQ(store->List("f/", "", 5000)->size(), 1100u);
  EXPECT_EQ(store->List("f/", "f/10500", 5000)->size(), 599u);
}

TEST(S3Store, AFileThatChangesIsNotReadOn) {
  auto store = OpenS3Store(SettingsOf("changes"));
  auto write = [&](const std::string& text) {
    auto writer = store->Create("f");
    ASSERT_TRUE((*writer)->Write(text).ok());
    ASSERT_TRUE((*writer)->Finish(true).ok());
  };
  write("before");
  auto reader = std::move(*store->Open("f"));
  write("behind");
  auto read = reader->Read(0, 10);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().slug, "file.changed");
}

TEST(S3Store, SaysWhatIsWrong) {
  S3Settings settings = SettingsOf("");
  settings.bucket = "nothing";
  EXPECT_EQ(OpenS3Store(settings)->List("", "", 1).error().slug, "s3.bucket");
  settings = SettingsOf("");
  settings.endpoint = "http://127.0.0.1:1";
  auto listed = OpenS3Store(settings)->List("", "", 1);
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().slug, "s3.unreachable");
  EXPECT_EQ(listed.error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace ferry::data
