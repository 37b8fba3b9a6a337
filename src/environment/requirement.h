// The lines of a requirements file: what each asks for and where it stands. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ferry::environment {

struct Requirement {
  enum class Kind {
    kPackage,      // "numpy>=1.20"
    kAddress,      // "name @ https://...", "git+https://...#egg=name"
    kPath,         // "./wheels/own.whl"
    kEditable,     // "-e PATH"
    kFile,         // "-r FILE"
    kConstraints,  // "-c FILE"
    kOption,       // "--index-url ..."
  };
  Kind kind = Kind::kPackage;
  size_t line = 0;     // where it begins, counted from 1
  std::string text;    // as written, on one line and without its comment
  std::string name;    // the package's normal name; "" where only the package itself knows it
  std::string option;  // kOption: its long name, "--index-url"
  std::string value;   // the path, or the option's value
  bool hashed = false;
};

constexpr size_t kMaxRequirements = 100'000;
// Lines that say nothing are left out. kInvalid "environment.requirement" names the line that cannot be read.
Result<std::vector<Requirement>> ParseRequirements(const std::vector<std::string>& lines);

// azureml-core and its like, which Ferry's own package stands for.
bool IsAzureml(std::string_view normal_name);

// "pip line 3 'numpy==99'": how messages name a line.
std::string NameLine(std::string_view section, size_t line, std::string_view text);
// "https://user:secret@host" becomes "https://****@host", wherever it stands in the text.
std::string WithoutCredentials(std::string_view text);
// An address to keep: without user and password, but for the user of an SSH address, who is no secret.
std::string PlainAddress(std::string_view address);

}  // namespace ferry::environment
