#include "os/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace ferry::os {

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

int TerminalWidth(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

EchoOff::EchoOff(int fd) : fd_(fd) {
  termios settings{};
  if (::tcgetattr(fd_, &settings) != 0 || !(settings.c_lflag & ECHO)) return;
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  off_ = ::tcsetattr(fd_, TCSAFLUSH, &settings) == 0;
}

EchoOff::~EchoOff() {
  termios settings{};
  if (!off_ || ::tcgetattr(fd_, &settings) != 0) return;
  settings.c_lflag |= ECHO;
  ::tcsetattr(fd_, TCSAFLUSH, &settings);
}

}  // namespace ferry::os
