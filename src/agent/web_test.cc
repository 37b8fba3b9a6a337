#include "agent/web.h"

#include <gtest/gtest.h>

namespace ferry::agent {
namespace {

TEST(Web, NamesOfFiles) {
  EXPECT_EQ(NameOfUrl("https://h/a/data.csv"), "data.csv");
  EXPECT_EQ(NameOfUrl("https://h/a/my%20data.csv?sig=a/b#c"), "my data.csv");
  for (const char* url : {"https://h", "https://h/", "https://h/a/", "https://h?x=/y", "https://h/a/..", "https://h/a%2Fb", "https://h/a%00b", "https://h/%zz"})
    EXPECT_EQ(NameOfUrl(url), "download") << url;
}

TEST(Web, OnlyTheWeb) {
  auto write = [](std::string_view) -> Result<void> { return {}; };
  EXPECT_EQ(FetchUrl("file:///etc/passwd", write).error().slug, "url.scheme");
  EXPECT_EQ(FetchUrl("http://127.0.0.1:1/x", write).error().slug, "url.unreachable");
}

}  // namespace
}  // namespace ferry::agent
