#include "agent/collect.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ferry::agent {
namespace {

namespace fs = std::filesystem;

TEST(Collect, WhatCouldNotBeSentIsSentTheNextTime) {
  const std::string home = testing::TempDir() + "collect_test";
  fs::remove_all(home);
  AttemptFolder folder(home, {"r", 1});
  fs::create_directories(folder.Path("work/outputs"));
  std::ofstream(folder.Path("work/outputs/a.txt")) << "a";
  std::ofstream(folder.Path("work/outputs/b.txt")) << "b";

  bool away = true;
  transfer::Link link;
  link.exchange = [&](http::Call call) -> Result<http::Reply> {
    if (call.path == "/missing") return http::Reply{200, {}, Json::MakeObject({{"missing", *ParseJson(call.body)->Find("digests")}}).Dump()};
    if (away) return MakeError(Code::kUnavailable, "http.unreachable", "the server is away");
    while (call.body_source && !call.body_source()->empty()) {
    }
    return http::Reply{200, {}, "{}"};
  };
  CollectedBefore before;
  EXPECT_EQ(CollectOutputs(folder, link, before, false).error().slug, "http.unreachable");
  away = false;
  auto collected = CollectOutputs(folder, link, before, false);
  ASSERT_TRUE(collected.ok());
  EXPECT_EQ(collected->size(), 2u);
  EXPECT_TRUE(CollectOutputs(folder, link, before, false)->empty()) << "nothing is new";
  EXPECT_TRUE(CollectOutputs(folder, link, before, true)->empty());
  fs::remove_all(home);
}

}  // namespace
}  // namespace ferry::agent
