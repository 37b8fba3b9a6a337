#include "server/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ferry::server {
namespace {

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    home_ = testing::TempDir() + "settings_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(home_);
    std::filesystem::create_directories(home_);
    setenv("FERRY_HOME", home_.c_str(), 1);
    for (const char* name : {"FERRY_PORT", "FERRY_ADDRESS", "FERRY_SLOTS", "FERRY_TLS_KEY", "FERRY_LOG_LEVEL"}) unsetenv(name);
  }
  void TearDown() override {
    for (const char* name : {"FERRY_PORT", "FERRY_ADDRESS", "FERRY_SLOTS", "FERRY_HOME"}) unsetenv(name);
    std::filesystem::remove_all(home_);
  }
  void Conf(const std::string& text) { std::ofstream(home_ + "/ferry.conf") << text; }
  std::string MessageOf(const std::vector<std::string>& flags) {
    auto settings = ReadSettings(flags);
    return settings.ok() ? "ok" : settings.error().message;
  }
  std::string home_;
};

TEST_F(SettingsTest, Defaults) {
  auto settings = ReadSettings({});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->home, home_);
  EXPECT_EQ(settings->address, "127.0.0.1");
  EXPECT_EQ(settings->port, 0);
  EXPECT_TRUE(settings->agent);
  EXPECT_FALSE(settings->allow_insecure);
  EXPECT_EQ(settings->node_grace_seconds, 300);
}

TEST_F(SettingsTest, FlagOverVariableOverFile) {
  Conf("# a comment\nport = 1\nslots=1   # behind\n\n  log-level =  debug\n");
  EXPECT_EQ(ReadSettings({})->port, 1);
  EXPECT_EQ(ReadSettings({})->slots, 1);
  EXPECT_EQ(ReadSettings({})->log_level, "debug");
  setenv("FERRY_PORT", "2", 1);
  EXPECT_EQ(ReadSettings({})->port, 2);
  EXPECT_EQ(ReadSettings({"--port", "3"})->port, 3);
  EXPECT_EQ(ReadSettings({"--port=4"})->port, 4);
  setenv("FERRY_PORT", "", 1);
  EXPECT_EQ(ReadSettings({})->port, 1) << "an empty variable is none";
}

TEST_F(SettingsTest, Booleans) {
  EXPECT_FALSE(ReadSettings({"--agent", "false"})->agent);
  EXPECT_FALSE(ReadSettings({"--agent=false"})->agent);
  auto both = ReadSettings({"--allow-insecure", "--address", "0.0.0.0"});
  ASSERT_TRUE(both.ok());
  EXPECT_TRUE(both->allow_insecure);
}

TEST_F(SettingsTest, EveryMistakeIsNamed) {
  EXPECT_EQ(MessageOf({"--port", "70000"}), "--port: expected a whole number from 0 to 65535, found '70000'");
  EXPECT_EQ(MessageOf({"--port", "x"}), "--port: expected a whole number from 0 to 65535, found 'x'");
  EXPECT_EQ(MessageOf({"--port"}), "--port needs a value");
  EXPECT_EQ(MessageOf({"--prot", "1"}), "--prot: there is no setting 'prot'; did you mean 'port'?");
  EXPECT_EQ(MessageOf({"port"}), "expected a flag such as --port 8472, found 'port'");
  EXPECT_EQ(MessageOf({"--agent=maybe"}), "--agent: expected true or false, found 'maybe'");
  EXPECT_EQ(MessageOf({"--log-level", "loud"}), "--log-level: expected debug, info, warning or error, found 'loud'");
  setenv("FERRY_SLOTS", "-1", 1);
  EXPECT_EQ(MessageOf({}), "FERRY_SLOTS: expected a whole number from 0 to 10000, found '-1'");
  unsetenv("FERRY_SLOTS");
  Conf("port = 1\n\nslots 4\n");
  EXPECT_EQ(MessageOf({}), home_ + "/ferry.conf:3: expected 'name = value', found 'slots 4'");
  Conf("slot = 4\n");
  EXPECT_EQ(MessageOf({}), home_ + "/ferry.conf:1: there is no setting 'slot'; did you mean 'slots'?");
}

TEST_F(SettingsTest, NothingIsServedInClearByAccident) {
  for (const char* address : {"0.0.0.0", "::", "192.168.1.1", "example.org", "12.7.0.0"})
    EXPECT_NE(MessageOf({"--address", address}).find("TLS is off"), std::string::npos) << address;
  for (const char* address : {"127.0.0.1", "127.0.0.2", "::1", "localhost"}) EXPECT_EQ(MessageOf({"--address", address}), "ok") << address;
  EXPECT_EQ(MessageOf({"--address", "0.0.0.0", "--tls-certificate", "c", "--tls-key", "k"}), "ok");
  EXPECT_EQ(MessageOf({"--tls-certificate", "c"}), "tls-certificate and tls-key must be given together");
  // A name that only begins like loopback is not loopback.
  EXPECT_NE(MessageOf({"--address", "127.evil.example"}).find("TLS is off"), std::string::npos);
}

TEST_F(SettingsTest, ThePageIsTheTable) {
  std::ifstream file(std::string(FERRY_SOURCE_DIR) + "/docs/reference/settings.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), SettingMarkdown()) << "make it anew: tools/bless";
}

}  // namespace
}  // namespace ferry::server
