#include "cli/progress.h"

#include <cstdlib>

#include "base/text.h"
#include "cli/width.h"
#include "os/terminal.h"

namespace ferry::cli {
namespace {

// To the start of the line, then nothing from there on.
constexpr std::string_view kErase = "\r\x1b[K";

}  // namespace

Terminal Terminal::Of(int fd) {
  Terminal terminal;
  terminal.is_tty = os::IsTerminal(fd);
  if (!terminal.is_tty) return terminal;
  terminal.width = os::TerminalWidth(fd);
  if (terminal.width <= 0)
    if (const char* columns = std::getenv("COLUMNS")) terminal.width = static_cast<int>(ParseInt(columns).value_or(0));
  if (terminal.width <= 0) terminal.width = 80;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  terminal.rewrites = term && *term && std::string_view(term) != "dumb";
  terminal.colour = terminal.rewrites && !(no_colour && *no_colour);
  return terminal;
}

StatusLine::StatusLine(Terminal terminal, Write write) : terminal_(terminal), write_(std::move(write)) {}

StatusLine::~StatusLine() { Clear(); }

void StatusLine::Update(std::string_view stage, std::string_view detail) {
  if (!terminal_.rewrites) {
    if (stage != stage_) write_(StrCat(OneLine(stage), "\n"));
    stage_ = stage;
    return;
  }
  stage_ = stage;
  std::string text = OneLine(detail.empty() ? std::string(stage) : StrCat(stage, " ", detail));
  // The last column stays free: a full line would wrap.
  if (terminal_.width > 0) text = Shorten(text, terminal_.width - 1);
  if (text == shown_) return;
  write_(StrCat(kErase, text));
  shown_ = text;
}

void StatusLine::Print(std::string_view line) {
  if (shown_.empty()) {
    write_(StrCat(line, "\n"));
  } else {
    write_(StrCat(kErase, line, "\n", shown_));
  }
}

void StatusLine::Clear() {
  if (shown_.empty()) return;
  write_(kErase);
  shown_.clear();
}

}  // namespace ferry::cli
