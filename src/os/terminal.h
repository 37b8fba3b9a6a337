// What a file descriptor says about the terminal behind it.
#pragma once

namespace ferry::os {

bool IsTerminal(int fd);
// Columns of the terminal, 0 when `fd` is none or does not tell.
int TerminalWidth(int fd);

}  // namespace ferry::os
