// Reading a map of a YAML file field by field: keys in any case, everything wrong is collected, what nobody asked for is reported.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runconfig/config.h"
#include "yaml/parse.h"

namespace ferry::runconfig {

// Where problems of one file go.
struct Report {
  std::string file;
  std::vector<Problem>& errors;
  std::vector<Problem>& warnings;
  std::map<std::string, int>* lines = nullptr;

  void Wrong(int line, std::string field, std::string expected, std::string found, std::string suggestion = {});
  void Refuse(int line, std::string field, std::string message);
  void Warn(int line, std::string field, std::string message, std::string suggestion = {});
};

// Nothing, an empty text or `None`.
bool IsAbsent(const yaml::Node& node);
// A value as an error shows it: "'two'", "a list".
std::string Found(const yaml::Node& node);

class Section {
 public:
  // `node` may be null or absent: a section with nothing in it. Anything but a map is reported.
  Section(Report& report, const yaml::Node* node, std::string path, int line);
  Section(const Section&) = delete;
  // Reports the keys that nobody has asked for.
  ~Section();

  // Whether the file has the section at all.
  bool present() const { return present_; }
  int line() const { return line_; }
  const std::string& path() const { return path_; }
  Report& report() { return report_; }
  // Its keys as they are written.
  const std::vector<yaml::Node::Member>& members() const;
  // No warnings about keys: any name is good.
  void TakeAny() { any_ = true; }

  // The value; null when it is absent. Makes the name known.
  const yaml::Node* Take(std::string_view name);
  // The value even if it is `None`.
  const yaml::Node* TakeWord(std::string_view name);
  int LineOf(std::string_view name) const;
  std::string FieldOf(std::string_view name) const;

  // Each leaves `to` alone when the value is absent or wrong, and returns whether it was set.
  bool Text(std::string_view name, std::string& to);
  bool Bool(std::string_view name, bool& to);
  bool Int(std::string_view name, int64_t& to, int64_t low, int64_t high);
  bool Int(std::string_view name, std::optional<int64_t>& to, int64_t low, int64_t high);
  bool Positive(std::string_view name, double& to);
  // The word as `words` spells it.
  bool Word(std::string_view name, std::string& to, const std::vector<std::string>& words);
  bool Texts(std::string_view name, std::vector<std::string>& to);
  // Adds to what is there.
  bool TextMap(std::string_view name, std::map<std::string, std::string>& to);

 private:
  const yaml::Node::Member* Find(std::string_view name) const;

  Report& report_;
  const yaml::Node* node_ = nullptr;  // null or a map
  std::string path_;
  int line_;
  bool present_ = false;
  bool any_ = false;
  std::map<std::string, const yaml::Node::Member*, std::less<>> members_;  // by key in lower case
  std::vector<std::string> known_;                                         // names asked for
};

// A section within a section.
inline Section Inside(Section& parent, std::string_view name) { return Section(parent.report(), parent.Take(name), parent.FieldOf(name), parent.LineOf(name)); }

}  // namespace ferry::runconfig
