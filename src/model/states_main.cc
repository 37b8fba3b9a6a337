// Prints docs/internals/run-states.md from the table.
#include <cstdio>

#include "model/attempt.h"

int main() {
  std::fputs(ferry::model::StateDiagram().c_str(), stdout);
  return 0;
}
