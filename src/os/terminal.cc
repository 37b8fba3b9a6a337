#include "os/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace ferry::os {

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

int TerminalWidth(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace ferry::os
