// Dockerfiles as text: their instructions with lines, the images they begin from, and what a failed build says about them. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ferry::environment {

struct Instruction {
  int line = 0;      // of its first word, from 1
  std::string text;  // one line: continuations joined, comments between them dropped, white space collapsed
};
std::vector<Instruction> ReadDockerfile(std::string_view text);

// Every image that a FROM takes from outside, once each: no earlier stage, not `scratch`, nothing with a variable in it.
std::vector<std::string> BaseImages(std::string_view text);
// The same text with those images of FROM instructions replaced. Lines keep their numbers.
std::string ReplaceBaseImages(std::string_view text, const std::map<std::string, std::string>& replacements);

// One sentence for a build that ended with `status`: the line and command at fault where the engine's last lines tell. `name` is the file's for the user.
Error ExplainBuild(std::string_view dockerfile, const std::string& name, const std::vector<std::string>& last_lines, int status);

}  // namespace ferry::environment
