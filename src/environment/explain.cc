#include <algorithm>
#include <optional>

#include "base/text.h"
#include "environment/builder.h"
#include "environment/conda_spec.h"
#include "environment/requirement.h"

namespace ferry::environment {
namespace {

constexpr size_t kLongestSentence = 600;

using Lines = std::vector<std::string>;

// What follows `key` in the first line that has it.
std::optional<std::string> After(const Lines& lines, std::string_view key, size_t* at = nullptr) {
  for (size_t i = 0; i < lines.size(); ++i)
    if (size_t found = lines[i].find(key); found != std::string::npos) {
      if (at) *at = i;
      return std::string(Trim(std::string_view(lines[i]).substr(found + key.size())));
    }
  return std::nullopt;
}

bool Has(const Lines& lines, std::string_view key) { return After(lines, key).has_value(); }

std::string_view Until(std::string_view text, std::string_view stops) { return text.substr(0, std::min(text.find_first_of(stops), text.size())); }

// Without the signs that draw trees and what some tools begin lines with.
std::string_view Plain(std::string_view text) {
  for (;;) {
    size_t before = text.size();
    text = Trim(text);
    for (std::string_view sign : {"×", "╰─▶", "╰─>", "│", "├─▶", "├─", "└─", "─", "cause: ", "error: ", "Caused by: "})
      if (text.starts_with(sign)) text.remove_prefix(sign.size());
    if (text.size() == before) return text;
  }
}

// The same without quotes, ticks and bullets.
std::string_view Bare(std::string_view text) {
  for (;;) {
    size_t before = text.size();
    text = Plain(text);
    for (std::string_view sign : {"`", "'", "\"", "*", "- "})
      if (text.starts_with(sign)) text.remove_prefix(sign.size());
    for (std::string_view sign : {"`", "'", "\"", "."})
      if (text.ends_with(sign)) text.remove_suffix(sign.size());
    if (text.size() == before) return text;
  }
}

// "numpy" of "numpy==99", "numpy 99.*" and "numpy[extra]>=1".
std::string NameIn(std::string_view text) {
  text = Bare(text);
  size_t end = 0;
  auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'; };
  while (end < text.size() && is_name(text[end])) ++end;
  return model::NormalPackageName(text.substr(0, end));
}

// "pip line 3 'numpy==99'" for a package of the specification.
struct Where {
  std::string text;   // " (pip line 3 'numpy==99')", or empty
  std::string field;  // "pip line 3"
};
Where Find(const model::Environment& definition, const std::string& name, bool conda_first) {
  Where where;
  if (name.empty()) return where;
  auto found = [&](std::string_view section, size_t line, std::string_view text) {
    where.text = StrCat(where.text.empty() ? " (" : " and ", NameLine(section, line, text));
    if (where.field.empty()) where.field = StrCat(section, " line ", line);
  };
  auto pip = [&] {
    if (auto requirements = ParseRequirements(definition.conda.pip); requirements.ok())
      for (const Requirement& requirement : *requirements)
        if (requirement.name == name && where.field.empty()) found("pip", requirement.line, requirement.text);
  };
  auto conda = [&] {
    for (size_t i = 0; i < definition.conda.dependencies.size(); ++i)
      if (auto spec = ParseCondaSpec(definition.conda.dependencies[i]); spec.ok() && model::NormalPackageName(spec->name) == name && where.field.empty())
        found("conda", i + 1, definition.conda.dependencies[i]);
  };
  if (conda_first) conda();
  pip();
  conda();
  if (!where.text.empty()) where.text += ")";
  return where;
}

// The lines from `at` on as one text, until an empty line or one that begins something else.
std::string Paragraph(const Lines& lines, size_t at, size_t most = 12) {
  std::string out;
  for (size_t i = at; i < lines.size() && i < at + most; ++i) {
    std::string_view line = Plain(lines[i]);
    if (line.empty() || line.starts_with("hint:") || line.starts_with("help:") || line.starts_with("ferry: ")) break;
    out += StrCat(out.empty() ? "" : " ", line);
  }
  if (out.ends_with(".")) out.pop_back();
  return out;
}

std::string Short(std::string_view text) { return text.size() <= kLongestSentence ? std::string(text) : StrCat(text.substr(0, kLongestSentence), "..."); }

class Reader {
 public:
  Reader(const model::Environment& definition, std::string_view tool, const Lines& lines) : definition_(definition), tool_(tool), lines_(lines) {}

  std::optional<Error> Read() {
    if (auto error = Common()) return error;
    if (tool_ == "uv") return Uv();
    if (tool_ == "pip" || tool_ == "venv") return Pip();
    if (tool_ == "rattler" || tool_ == "conda" || tool_ == "mamba" || tool_ == "micromamba") return Conda();
    return Image();
  }

 private:
  Error Named(Code code, std::string_view slug, std::string sentence, const std::string& package) {
    bool conda = tool_ != "uv" && tool_ != "pip";
    Where where = Find(definition_, package, conda);
    return MakeError(code, std::string(slug), StrCat(Short(sentence), where.text), where.field);
  }

  std::optional<Error> Common() {
    if (Has(lines_, "No space left on device") || Has(lines_, "os error 28"))
      return MakeError(Code::kExhausted, "environment.disk_full", StrCat("the disk is full: ", tool_, " could not write the environment"));
    return std::nullopt;
  }

  // Of pip's list of packages after "because these package versions have conflicting dependencies" and the like.
  std::string Causes(size_t at) {
    std::string out;
    for (size_t i = at; i < lines_.size() && i < at + 20; ++i) {
      std::string_view line = Trim(lines_[i]);
      if (line.starts_with("The user requested") || line.find(" depends on ") != std::string_view::npos) out += StrCat(out.empty() ? "" : "; ", line);
      if (line.starts_with("To fix this")) break;
    }
    return out;
  }

  std::optional<Error> Pip() {
    size_t at = 0;
    if (auto found = After(lines_, "THESE PACKAGES DO NOT MATCH THE HASHES", &at)) {
      std::string package, expected, got;
      for (size_t i = at + 1; i < lines_.size(); ++i) {
        std::string_view line = Trim(lines_[i]);
        if (size_t from = line.find(" from "); from != std::string_view::npos && package.empty()) package = line.substr(0, from);
        if (line.starts_with("Expected sha256")) expected = Trim(line.substr(15));
        if (line.starts_with("Got")) got = Trim(line.substr(3));
      }
      if (package.empty()) package = Until(*After(lines_, "THESE PACKAGES"), " ");
      return Named(Code::kInvalid, "environment.hash",
                   StrCat("the hash of '", package, "' is not the one asked for: expected sha256 ", expected, ", got ", got), NameIn(package));
    }
    if (auto found = After(lines_, "in --require-hashes mode, all requirements must have their versions pinned"))
      return MakeError(Code::kInvalid, "environment.hash", "some requirements have hashes, so all of them must be pinned with '==' and have one", "pip");
    if (auto found = After(lines_, "Hashes are required in --require-hashes mode, but they are missing", &at)) {
      std::string package;
      for (size_t i = at + 1; i < lines_.size() && package.empty(); ++i)
        if (size_t hash = lines_[i].find(" --hash="); hash != std::string::npos) package = Trim(std::string_view(lines_[i]).substr(0, hash));
      return Named(Code::kInvalid, "environment.hash", StrCat("some requirements have hashes, so all need one, and '", package, "' has none"), NameIn(package));
    }
    if (auto found = After(lines_, "Could not find a version that satisfies the requirement ", &at)) {
      std::string_view wanted = Trim(Until(*found, "("));
      if (auto error = Unreachable(std::string(wanted))) return error;
      size_t from = found->find("(from versions: ");
      std::string versions = from == std::string::npos ? "" : found->substr(from + 16);
      if (!versions.empty() && versions.back() == ')') versions.pop_back();
      if (versions.empty() || versions == "none")
        return Named(Code::kInvalid, "environment.package_not_found", StrCat("there is no package for '", wanted, "' that this Python and platform can use"),
                     NameIn(wanted));
      return Named(Code::kInvalid, "environment.package_not_found",
                   StrCat("there is no version that satisfies '", wanted, "'; the last of those there are: ", LastOf(versions)), NameIn(wanted));
    }
    if (auto found = After(lines_, "because these package versions have conflicting dependencies", &at)) {
      std::string causes = Causes(at);
      if (causes.empty()) causes = std::string(Until(After(lines_, "Cannot install ").value_or(""), ":"));
      return Named(Code::kInvalid, "environment.conflict", StrCat("the requirements cannot be met together: ", causes), PackageIn(causes));
    }
    if (auto found = After(lines_, "ERROR: Invalid requirement: "))
      return Named(Code::kInvalid, "environment.requirement", StrCat("pip cannot read ", *found), NameIn(*found));
    if (auto found = After(lines_, "requires a different Python: "))
      return Named(Code::kInvalid, "environment.package_python",
                   StrCat("package ", NameIn(After(lines_, "Package ").value_or("")), " does not support this Python: ", *found),
                   NameIn(After(lines_, "Package ").value_or("")));
    if (Has(lines_, "metadata-generation-failed") && After(lines_, "Encountered error while generating package metadata", &at) && at + 1 < lines_.size())
      return BuildFailed(lines_[at + 1]);
    for (std::string_view key : {"Failed building wheel for ", "Could not build wheels for ", "Failed to build "})
      if (auto found = After(lines_, key)) return BuildFailed(std::string(Until(*found, " ,)")));
    if (Has(lines_, "did not run successfully")) {
      std::string package;
      for (const std::string& line : lines_)
        if (line.starts_with("Collecting ")) package = Until(std::string_view(line).substr(11), " ");
      return BuildFailed(package);
    }
    if (Has(lines_, "ensurepip is not available") || Has(lines_, "No module named ensurepip") || Has(lines_, "No module named venv"))
      return MakeError(Code::kInvalid, "environment.no_venv",
                       "this Python cannot make virtual environments: install its venv package (on Debian python3-venv), or put uv on the node's PATH");
    return Unreachable("");
  }

  // "1.26.3, 1.26.4" of a long list.
  static std::string LastOf(std::string_view versions) {
    auto all = Split(versions, ',');
    std::string out;
    for (size_t i = all.size() > 5 ? all.size() - 5 : 0; i < all.size(); ++i) out += StrCat(out.empty() ? "" : ", ", Trim(all[i]));
    return out;
  }

  // "ModuleNotFoundError: No module named 'x'", or what the compiler said first.
  std::string WhyNotBuilt() {
    std::string why;
    for (const std::string& line : lines_) {
      std::string_view text = Plain(line);
      if (text.find("fatal error: ") != std::string_view::npos || (text.find(": error: ") != std::string_view::npos && text.find(':') < text.find(": error: ")))
        return std::string(text);
      size_t word = 0;
      while (word < text.size() && text[word] != ':' && text[word] != ' ') ++word;
      std::string_view kind = text.substr(0, word);
      if (text.substr(word).starts_with(": ") && (kind.ends_with("Error") || kind.ends_with("Exception"))) why = text;
    }
    return why;
  }

  Error BuildFailed(std::string package) {
    package = std::string(Until(Bare(package), " "));
    std::string why = WhyNotBuilt();
    return Named(Code::kInvalid, "environment.build_failed",
                 StrCat("there is no ready-made package of '", package, "' for this Python, and it could not be built", why.empty() ? "" : ": ", why),
                 NameIn(package));
  }

  std::optional<Error> Unreachable(const std::string& wanted) {
    for (std::string_view key : {"NewConnectionError", "ConnectTimeoutError", "Max retries exceeded", "Connection refused",
                                 "Temporary failure in name resolution", "ReadTimeoutError", "dns error", "tcp connect error", "Could not connect",
                                 "error sending request", "Name or service not known", "Failed to fetch", "operation timed out", "Request failed after",
                                 "CondaHTTPError", "HTTP 000 CONNECTION FAILED", "Could not resolve host", "Could not resolve hostname", "Timeout was reached"})
      if (Has(lines_, key)) {
        std::string address;
        for (const std::string& line : lines_)
          for (std::string_view scheme : {"https://", "http://", "host='", "file://"})
            if (size_t at = line.find(scheme); at != std::string::npos && address.empty()) {
              std::string_view from = std::string_view(line).substr(scheme == "host='" ? at + 6 : at);
              address = Until(from, " \t'\"`<>)");
            }
        return MakeError(Code::kUnavailable, "environment.unreachable",
                         Short(StrCat(address.empty() ? "the package index" : address, " cannot be reached",
                                      wanted.empty() ? "" : StrCat(", so '", wanted, "' could not be looked up"))));
      }
    return std::nullopt;
  }

  std::optional<Error> Uv() {
    size_t at = 0;
    if (After(lines_, "Hash mismatch for ", &at)) {
      std::string package(Bare(Until(*After(lines_, "Hash mismatch for "), " ")));
      std::string expected, got;
      std::string* into = nullptr;
      for (size_t i = at; i < lines_.size(); ++i) {
        std::string_view line = Bare(lines_[i]);
        if (line.starts_with("Expected:")) into = &expected;
        if (line.starts_with("Computed:")) into = &got;
        if (line.starts_with("sha256:") && into) *into += StrCat(into->empty() ? "" : " or ", line.substr(7));
      }
      return Named(Code::kInvalid, "environment.hash",
                   StrCat("the hash of '", package, "' is not the one asked for: expected sha256 ", expected, ", got ", got), NameIn(package));
    }
    if (auto found = After(lines_, "In `--require-hashes` mode, "))
      return Named(Code::kInvalid, "environment.hash", StrCat("some requirements have hashes: ", *found), NameIn(AfterLast(*found, ": ")));
    if (After(lines_, "No solution found when resolving", &at)) {
      std::string why = Paragraph(lines_, at + 1, 40);
      if (size_t end = why.find(", we can conclude that your requirements are unsatisfiable"); end != std::string::npos) why.resize(end);
      std::string package = PackageIn(why);
      if (why.find("network was disabled") != std::string::npos)
        return MakeError(Code::kUnavailable, "environment.unreachable", Short(StrCat("the package index cannot be reached: ", why)));
      // Where one package alone is the reason, the rest of the sentence says nothing.
      for (std::string_view key : {"there is no version of ", " was not found in the package registry", " has no wheels with a matching "})
        if (why.find(key) != std::string::npos && why.find("depends on") == std::string::npos) {
          std::string alone = why.substr(why.starts_with("Because ") ? 8 : 0);
          alone = alone.substr(0, alone.find(" and you require"));
          return Named(Code::kInvalid, "environment.package_not_found", alone, PackageIn(alone));
        }
      return Named(Code::kInvalid, "environment.conflict", StrCat("the requirements cannot be met together: ", why), package);
    }
    for (std::string_view key : {"Failed to build ", "Failed to build: "})
      if (auto found = After(lines_, key)) return BuildFailed(*found);
    if (auto found = After(lines_, "Couldn't parse requirement in ", &at)) {
      std::string why = Paragraph(lines_, at + 1, 3);
      return Named(Code::kInvalid, "environment.requirement", StrCat("uv cannot read a requirement: ", why), "");
    }
    if (auto error = Unreachable("")) return error;
    if (auto found = After(lines_, "error: ", &at))
      return MakeError(Code::kInvalid, "environment.uv", Short(StrCat("uv could not install the packages: ", Paragraph(lines_, at))));
    return std::nullopt;
  }

  static std::string AfterLast(const std::string& text, std::string_view key) {
    size_t at = text.rfind(key);
    return at == std::string::npos ? text : text.substr(at + key.size());
  }

  // The package of the specification that the sentence speaks of; the first it names where none is.
  std::string PackageIn(std::string_view why) {
    std::string first;
    for (std::string_view word : Split(why, ' ')) {
      std::string name = NameIn(word);
      if (name.empty()) continue;
      bool versioned = Bare(word).find_first_of("=<>") != std::string_view::npos;
      if (first.empty() && versioned) first = name;
      if (!Find(definition_, name, false).field.empty()) return name;
    }
    return first;
  }

  std::optional<Error> Conda() {
    size_t at = 0;
    if (auto found = After(lines_, "ferry: hash mismatch: ")) return Named(Code::kInvalid, "environment.hash", *found, HashedPackage(*found));
    if (auto found = After(lines_, "ferry: no channel answers: "))
      return MakeError(Code::kUnavailable, "environment.no_channel", Short(StrCat("no conda channel answers: ", *found)));
    if (auto found = After(lines_, "ferry: unreachable: ")) return MakeError(Code::kUnavailable, "environment.unreachable", Short(*found));
    if (auto found = After(lines_, "Cannot solve the request because of: ", &at)) {
      std::string why = *found, rest = Paragraph(lines_, at + 1, 20);
      if (!rest.empty()) why += " " + rest;
      if (why.ends_with(".")) why.pop_back();
      std::string package = PackageIn(why);
      bool missing = why.find("No candidates were found for") != std::string::npos;
      return Named(Code::kInvalid, missing ? "environment.package_not_found" : "environment.conflict", StrCat("the conda dependencies cannot be met: ", why),
                   package);
    }
    if (After(lines_, "PackagesNotFoundError", &at)) {
      std::string packages;
      for (size_t i = at + 1; i < lines_.size(); ++i)
        if (std::string_view line = Trim(lines_[i]); line.starts_with("- ")) {
          if (!packages.empty() && line.find("://") != std::string_view::npos) break;
          packages += StrCat(packages.empty() ? "" : ", ", Trim(line.substr(2)));
        } else if (!packages.empty()) {
          break;
        }
      return Named(Code::kInvalid, "environment.package_not_found", StrCat("no channel has '", packages, "'"), NameIn(packages));
    }
    for (std::string_view key :
         {"LibMambaUnsatisfiableError", "UnsatisfiableError", "Could not solve for environment specs", "Encountered problems while solving"})
      if (After(lines_, key, &at)) {
        std::string why = Paragraph(lines_, at + 1, 12);
        return Named(Code::kInvalid, "environment.conflict", StrCat("the conda dependencies cannot be met: ", why), PackageIn(why));
      }
    if (auto error = Unreachable("")) return error;
    if (auto found = After(lines_, "ferry: failed: "))
      return Named(Code::kInvalid, "environment.build_failed", StrCat("the conda environment could not be made: ", *found), PackageIn(*found));
    return std::nullopt;
  }

  // "liar" of "the hash of 'liar-1.0-0.tar.bz2' is ...": the file's name ends in version and build.
  static std::string HashedPackage(std::string_view text) {
    text = Until(text.substr(std::min(text.find('\'') + 1, text.size())), "'");
    if (text.ends_with(".tar.bz2") || text.ends_with(".conda"))
      for (int i = 0; i < 2; ++i) text = text.substr(0, std::min(text.rfind('-'), text.size()));
    return model::NormalPackageName(text);
  }

  std::optional<Error> Image() {
    if (auto found = After(lines_, "building at STEP ")) {
      std::string step(Bare(found->substr(0, found->rfind("\": "))));
      std::string why = found->rfind("\": ") == std::string::npos ? "" : found->substr(found->rfind("\": ") + 3);
      return MakeError(Code::kInvalid, "environment.dockerfile", Short(StrCat("the Dockerfile's step '", step, "' failed", why.empty() ? "" : ": ", why)),
                       "docker");
    }
    for (size_t i = lines_.size(); i-- > 0;)
      if (size_t at = lines_[i].find("Error: "); at != std::string::npos)
        return MakeError(Code::kInvalid, "environment.image", Short(StrCat(tool_, " could not build the image: ", lines_[i].substr(at + 7))), "docker");
    return std::nullopt;
  }

  const model::Environment& definition_;
  std::string_view tool_;
  const Lines& lines_;
};

}  // namespace

Error Explain(const model::Environment& definition, std::string_view tool, const std::vector<std::string>& last_lines, int status) {
  if (auto error = Reader(definition, tool, last_lines).Read(); error && !error->message.empty()) return *error;
  std::string last;
  for (size_t i = last_lines.size(); i-- > 0 && last.empty();) last = std::string(Plain(last_lines[i]));
  std::string how = status > 128 ? StrCat("was ended by signal ", status - 128, status == 137 ? ", as the kernel does when memory is short" : "")
                                 : StrCat("ended with status ", status);
  return MakeError(Code::kInvalid, "environment.failed", Short(StrCat(tool, " ", how, last.empty() ? "" : ": ", last)));
}

}  // namespace ferry::environment
