// What a file descriptor says about the terminal behind it.
#pragma once

namespace ferry::os {

bool IsTerminal(int fd);
// Columns of the terminal, 0 when `fd` is none or does not tell.
int TerminalWidth(int fd);

// What is typed at the terminal is not shown while this lives. Nothing where `fd` is no terminal.
class EchoOff {
 public:
  explicit EchoOff(int fd);
  ~EchoOff();
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;

 private:
  const int fd_;
  bool off_ = false;
};

}  // namespace ferry::os
