// The terminal a command writes to, and the line that tells how far it is.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ferry::cli {

struct Terminal {
  // Whether a person watches; false in a pipe or a file.
  bool is_tty = false;
  // Whether a line can be written over: a terminal whose TERM is neither "dumb" nor unset.
  bool rewrites = false;
  // Columns; 0 when nothing is to be cut. COLUMNS stands in for a terminal that does not tell.
  int width = 0;
  // Whether to colour: where lines can be written over, unless NO_COLOR is set.
  bool colour = false;

  // What the file descriptor and the environment say (1: standard output, 2: standard error).
  static Terminal Of(int fd);
};

// One line that says what a command waits for. On a terminal it rewrites itself; elsewhere each new stage is a plain line of its own
// and details are left out, so that a log stays short. For one thread.
class StatusLine {
 public:
  using Write = std::function<void(std::string_view)>;

  // `write` takes the bytes to print, at once.
  StatusLine(Terminal terminal, Write write);
  // Removes the line from the terminal.
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Shows "stage detail". The stage is the part that a log keeps ("Running"), the detail what changes often ("3 of 10, 12 s").
  void Update(std::string_view stage, std::string_view detail = {});
  // Prints a whole line that stays, above the status line.
  void Print(std::string_view line);
  // Removes the line from the terminal until the next Update.
  void Clear();

 private:
  Terminal terminal_;
  Write write_;
  std::string stage_;  // the stage last shown
  std::string shown_;  // what stands on the terminal now; empty when nothing does
};

}  // namespace ferry::cli
