// Structured logs: one JSON object a line on stderr, or a short line for people when stderr is a terminal. Never a secret. Thread-safe.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ferry::os {

enum class Level { kDebug, kInfo, kWarning, kError };

void SetLogLevel(Level level);
void Log(Level level, std::string_view message, std::initializer_list<std::pair<std::string_view, std::string>> fields);

}  // namespace ferry::os
