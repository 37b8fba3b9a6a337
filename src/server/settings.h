// The server's settings: one table from which flags, environment names, the settings file, help and validation come.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace ferry::server {

enum class SettingType { kText, kInt, kBool };

// One row: `name` is the flag (--name), FERRY_NAME with '_' the variable, and the key of the settings file.
struct SettingRow {
  const char* name;
  SettingType type;
  const char* standard;  // the default, as text
  int64_t low = 0;
  int64_t high = 0;
  const char* help;  // one sentence
};
const std::vector<SettingRow>& SettingTable();

struct Settings {
  std::string home;
  std::string address;
  int64_t port = 0;
  std::string tls_certificate;
  std::string tls_key;
  bool allow_insecure = false;
  int64_t slots = 0;
  int64_t node_grace_seconds = 300;
  bool agent = true;
  int64_t environment_cache_gb = 100;
  int64_t environment_cache_days = 180;
  bool conda_strict = false;
  std::string container_engine;
  std::string image_aliases;
  int64_t threads = 2;
  std::string log_level;
};

// Flags win over variables, variables over FERRY_HOME/ferry.conf ("name = value" lines, '#' comments), and that over the defaults.
// kInvalid names the flag, the variable, or file and line, what was expected and what was found.
Result<Settings> ReadSettings(const std::vector<std::string>& flags);

// The table as help text and as docs/reference/settings.md.
std::string SettingHelp();
std::string SettingMarkdown();

// FERRY_HOME, or ~/.ferry.
std::string DefaultHome();

}  // namespace ferry::server
