#include "os/log.h"

#include <unistd.h>

#include <atomic>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"

namespace ferry::os {
namespace {
std::atomic<Level> g_level{Level::kInfo};
constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
}  // namespace

void SetLogLevel(Level level) { g_level = level; }

void Log(Level level, std::string_view message, std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  if (level < g_level.load()) return;
  static const bool terminal = ::isatty(2);
  std::string line;
  if (terminal) {
    line = StrCat(FormatTime(Now()).substr(11, 12), " ", kNames[static_cast<int>(level)], " ", message);
    for (const auto& [key, value] : fields) line += StrCat(" ", key, "=", value);
  } else {
    Json json = Json::MakeObject({{"time", FormatTime(Now())}, {"level", kNames[static_cast<int>(level)]}, {"message", message}});
    for (const auto& [key, value] : fields) json.Add(key, value);
    json.DumpTo(line);
  }
  line += '\n';
  [[maybe_unused]] ssize_t n = ::write(2, line.data(), line.size());
}

}  // namespace ferry::os
