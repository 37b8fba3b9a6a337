// YAML text, and JSON text as a part of it, as a tree that knows its lines. The only folder that includes yaml-cpp. Pure; safe from several threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ferry::yaml {

// The bounds of one document.
inline constexpr size_t kMaxBytes = 4u << 20;
inline constexpr int kMaxDepth = 64;
inline constexpr size_t kMaxNodes = 200'000;   // aliases expanded
inline constexpr size_t kMaxText = 16u << 20;  // bytes of all scalars, aliases expanded

enum class Kind { kNull, kScalar, kSequence, kMap };

struct Node {
  struct Member;

  Kind kind = Kind::kNull;
  std::string text;             // of a scalar
  bool quoted = false;          // a scalar that can only be text: in quotes, after '|' or '>', or tagged !!str
  std::vector<Node> items;      // of a sequence
  std::vector<Member> members;  // of a map, as they stand
  int line = 0;                 // from 1
  int column = 0;               // from 1, in bytes

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_map() const { return kind == Kind::kMap; }
  // The member, or null when this is no map or has no such key.
  const Node* Find(std::string_view key) const;
};

struct Node::Member {
  std::string key;
  int line = 0;  // of the key
  int column = 0;
  Node value;
};

// Reads one document; an empty text is null. kInvalid "yaml.invalid" for what is no YAML, a key that stands twice, a key that is no word, several documents;
// kTooLarge "yaml.too_large" over one of the bounds. The message begins with file:line:column and the field is file:line.
Result<Node> Parse(std::string_view text, std::string_view file);

// Plain scalars as YAML's core schema reads them: true, 12, 0.5, .inf; all else is text.
Json ToJson(const Node& node);

}  // namespace ferry::yaml
