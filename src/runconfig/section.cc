#include "runconfig/section.h"

#include <algorithm>

#include "base/text.h"

namespace ferry::runconfig {
namespace {

const std::vector<yaml::Node::Member> kNoMembers;

std::string Listed(const std::vector<std::string>& words) { return Join(words, ", "); }

}  // namespace

void Report::Wrong(int line, std::string field, std::string expected, std::string found, std::string suggestion) {
  errors.push_back({file, line, std::move(field), std::move(expected), std::move(found), std::move(suggestion), {}, 0});
}
void Report::Refuse(int line, std::string field, std::string message) { errors.push_back({file, line, std::move(field), {}, {}, {}, std::move(message), 0}); }
void Report::Warn(int line, std::string field, std::string message, std::string suggestion) {
  warnings.push_back({file, line, std::move(field), {}, {}, std::move(suggestion), std::move(message), 0});
}

bool IsAbsent(const yaml::Node& node) { return node.is_null() || (node.is_scalar() && (node.text.empty() || ToLower(node.text) == "none")); }

std::string Found(const yaml::Node& node) {
  switch (node.kind) {
    case yaml::Kind::kNull: return "nothing";
    case yaml::Kind::kSequence: return "a list";
    case yaml::Kind::kMap: return "a section";
    case yaml::Kind::kScalar: break;
  }
  std::string text = node.text.substr(0, node.text.find('\n'));
  return text.size() > 80 || text.size() < node.text.size() ? StrCat("'", text.substr(0, 80), "...'") : StrCat("'", text, "'");
}

Section::Section(Report& report, const yaml::Node* node, std::string path, int line) : report_(report), path_(std::move(path)), line_(line) {
  if (!node || IsAbsent(*node)) return;
  present_ = true;
  if (!node->is_map()) {
    report_.Wrong(node->line, path_, "a section with keys of its own", Found(*node));
    return;
  }
  node_ = node;
  for (const auto& member : node->members) {
    auto [at, fresh] = members_.emplace(ToLower(member.key), &member);
    if (!fresh) report_.Refuse(member.line, FieldOf(member.key), StrCat("stands twice, first as '", at->second->key, "' in line ", at->second->line));
  }
}

Section::~Section() {
  if (any_) return;
  std::vector<std::string> lower;
  for (const std::string& name : known_) lower.push_back(ToLower(name));
  for (const auto& member : members()) {
    const std::string key = ToLower(member.key);
    if (std::find(lower.begin(), lower.end(), key) != lower.end()) continue;
    std::string suggestion;
    if (auto close = ClosestWord(key, lower)) suggestion = known_[static_cast<size_t>(std::find(lower.begin(), lower.end(), *close) - lower.begin())];
    report_.Warn(member.line, FieldOf(member.key.substr(0, 80)), "is not a key that Ferry knows", std::move(suggestion));
  }
}

const std::vector<yaml::Node::Member>& Section::members() const { return node_ ? node_->members : kNoMembers; }

const yaml::Node::Member* Section::Find(std::string_view name) const {
  auto found = members_.find(ToLower(name));
  return found == members_.end() ? nullptr : found->second;
}

const yaml::Node* Section::TakeWord(std::string_view name) {
  known_.emplace_back(name);
  const auto* member = Find(name);
  if (!member) return nullptr;
  if (report_.lines) (*report_.lines)[FieldOf(name)] = member->line;
  return &member->value;
}

const yaml::Node* Section::Take(std::string_view name) {
  const yaml::Node* value = TakeWord(name);
  return value && !IsAbsent(*value) ? value : nullptr;
}

int Section::LineOf(std::string_view name) const {
  const auto* member = Find(name);
  return member ? member->line : line_;
}

std::string Section::FieldOf(std::string_view name) const { return path_.empty() ? std::string(name) : StrCat(path_, ".", name); }

bool Section::Text(std::string_view name, std::string& to) {
  const yaml::Node* node = Take(name);
  if (!node) return false;
  if (!node->is_scalar()) {
    report_.Wrong(node->line, FieldOf(name), "a text", Found(*node));
    return false;
  }
  to = node->text;
  return true;
}

bool Section::Bool(std::string_view name, bool& to) {
  const yaml::Node* node = Take(name);
  if (!node) return false;
  const std::string word = node->is_scalar() ? ToLower(node->text) : std::string();
  for (const auto& [yes, no] : {std::pair("true", "false"), std::pair("yes", "no"), std::pair("on", "off")}) {
    if (word != yes && word != no) continue;
    to = word == yes;
    return true;
  }
  report_.Wrong(node->line, FieldOf(name), "true or false", Found(*node));
  return false;
}

bool Section::Int(std::string_view name, std::optional<int64_t>& to, int64_t low, int64_t high) {
  int64_t value = 0;
  if (!Int(name, value, low, high)) return false;
  to = value;
  return true;
}

bool Section::Int(std::string_view name, int64_t& to, int64_t low, int64_t high) {
  const yaml::Node* node = Take(name);
  if (!node) return false;
  auto value = node->is_scalar() ? ParseInt(node->text) : std::nullopt;
  if (value && *value >= low && *value <= high) {
    to = *value;
    return true;
  }
  report_.Wrong(node->line, FieldOf(name), StrCat("a whole number from ", low, " to ", high), Found(*node));
  return false;
}

bool Section::Positive(std::string_view name, double& to) {
  const yaml::Node* node = Take(name);
  if (!node) return false;
  auto value = node->is_scalar() ? ParseDouble(node->text) : std::nullopt;
  if (value && *value > 0 && *value < 1e9) {
    to = *value;
    return true;
  }
  report_.Wrong(node->line, FieldOf(name), "a number over 0", Found(*node));
  return false;
}

bool Section::Word(std::string_view name, std::string& to, const std::vector<std::string>& words) {
  const yaml::Node* node = TakeWord(name);
  if (!node || node->is_null() || (node->is_scalar() && node->text.empty())) return false;
  std::vector<std::string> lower;
  for (const std::string& word : words) {
    lower.push_back(ToLower(word));
    if (!node->is_scalar() || ToLower(node->text) != lower.back()) continue;
    to = word;
    return true;
  }
  if (IsAbsent(*node)) return false;
  std::string suggestion;
  if (node->is_scalar())
    if (auto close = ClosestWord(ToLower(node->text), lower))
      suggestion = words[static_cast<size_t>(std::find(lower.begin(), lower.end(), *close) - lower.begin())];
  report_.Wrong(node->line, FieldOf(name), StrCat("one of ", Listed(words)), Found(*node), std::move(suggestion));
  return false;
}

bool Section::Texts(std::string_view name, std::vector<std::string>& to) {
  const yaml::Node* node = Take(name);
  if (!node) return false;
  if (!node->is_sequence()) {
    report_.Wrong(node->line, FieldOf(name), "a list of texts", Found(*node));
    return false;
  }
  std::vector<std::string> texts;
  for (size_t i = 0; i < node->items.size(); ++i) {
    const yaml::Node& item = node->items[i];
    if (item.is_scalar() || item.is_null())
      texts.push_back(item.text);
    else
      report_.Wrong(item.line, StrCat(FieldOf(name), "[", i, "]"), "a text", Found(item));
  }
  to = std::move(texts);
  return true;
}

bool Section::TextMap(std::string_view name, std::map<std::string, std::string>& to) {
  const yaml::Node* node = Take(name);
  if (!node) return false;
  if (!node->is_map()) {
    report_.Wrong(node->line, FieldOf(name), "names with a text each", Found(*node));
    return false;
  }
  for (const auto& member : node->members) {
    if (member.value.is_scalar() || member.value.is_null())
      to[member.key] = member.value.text;
    else
      report_.Wrong(member.value.line, StrCat(FieldOf(name), ".", member.key.substr(0, 80)), "a text", Found(member.value));
  }
  return true;
}

}  // namespace ferry::runconfig
