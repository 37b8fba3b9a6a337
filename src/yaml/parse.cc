#include "yaml/parse.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "base/text.h"
#include "base/utf8.h"

namespace ferry::yaml {
namespace {

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

Error Wrong(Code code, const char* slug, std::string_view file, int line, int column, std::string_view what) {
  return MakeError(code, slug, StrCat(file, ":", line, ":", column, ": ", what), StrCat(file, ":", line));
}

bool IsNullWord(std::string_view text) { return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL"; }

// Line and column of a byte.
std::pair<int, int> PlaceOf(std::string_view text, size_t at) {
  int line = 1;
  size_t start = 0;
  for (size_t i = 0; i < at; ++i)
    if (text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  return {line, static_cast<int>(at - start) + 1};
}

// The line without its end.
std::string_view LineOf(std::string_view text, int line) {
  for (int at = 1; at < line; ++at) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find_first_of("\r\n"));
}

// What yaml-cpp would take for the end of the text, or replace without a word.
Result<void> CheckCharacters(std::string_view text, std::string_view file) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c >= 0x20 && c != 0x7F) || c == '\t' || c == '\n' || c == '\r') continue;
    auto [line, column] = PlaceOf(text, i);
    return Wrong(Code::kInvalid, "yaml.invalid", file, line, column, StrCat("a control character (0x", ToHex(text.substr(i, 1)), "); expected text"));
  }
  if (IsUtf8(text)) return {};
  // The first line that is not UTF-8; a character never spans lines.
  int line = 1;
  for (std::string_view one : Split(text, '\n')) {
    if (!IsUtf8(one)) break;
    ++line;
  }
  return Wrong(Code::kInvalid, "yaml.invalid", file, line, 1, "bytes that are not UTF-8; expected text in UTF-8");
}

// JSON spells characters beyond U+FFFF as two escapes, which YAML does not know: they become the character.
std::string JoinSurrogates(std::string_view text) {
  auto unit = [&](size_t at) -> unsigned {
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
    unsigned value = 0;
    for (char c : text.substr(at + 2, 4)) {
      const size_t digit = std::string_view("0123456789abcdef").find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
      if (digit == std::string_view::npos) return 0;
      value = value * 16 + static_cast<unsigned>(digit);
    }
    return value;
  };
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      out += text[i++];
      continue;
    }
    const unsigned high = unit(i), low = unit(i + 6);
    if (high >= 0xD800 && high < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
      const unsigned c = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
      for (unsigned byte : {0xF0 | (c >> 18), 0x80 | ((c >> 12) & 0x3F), 0x80 | ((c >> 6) & 0x3F), 0x80 | (c & 0x3F)}) out += static_cast<char>(byte);
      i += 12;
    } else {
      out.append(text.substr(i, 2));
      i += 2;
    }
  }
  return out;
}

// Builds the tree from yaml-cpp's events. After the first error the rest is not looked at. yaml-cpp itself goes 500 levels down and no further.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::string_view file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) Fail(mark, "a second document begins; expected one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (error_) return;
    Add(mark, anchor, {At(mark, Kind::kNull), 1, 0, 0});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    if (error_) return;
    Node node = At(mark, Kind::kScalar);
    const bool plain = tag.empty() || tag == "?";
    if (tag == StrCat(kCoreTag, "null") || (plain && IsNullWord(value))) {
      node.kind = Kind::kNull;
    } else {
      node.text = value;
      node.quoted = tag == "!" || tag == StrCat(kCoreTag, "str");
    }
    const size_t text = node.text.size();
    Add(mark, anchor, {std::move(node), 1, text, 0});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (error_) return;
    auto found = anchored_.find(anchor);
    if (found == anchored_.end()) return Fail(mark, "an alias stands inside of what it stands for");
    if (!Spend(mark, found->second)) return;
    // Where it is used is where a message should point to.
    Tree tree = found->second;
    tree.node.line = mark.line + 1;
    tree.node.column = mark.column + 1;
    Put(mark, std::move(tree));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    Open(mark, anchor, Kind::kSequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override { Open(mark, anchor, Kind::kMap); }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

  int documents() const { return documents_; }
  const std::optional<Error>& error() const { return error_; }
  Node Take() { return std::move(root_); }

 private:
  // A node and what it costs to copy.
  struct Tree {
    Node node;
    size_t nodes = 0;
    size_t text = 0;
    int height = 0;  // 0: no children
  };
  struct Frame {
    Tree tree;
    YAML::anchor_t anchor = 0;
    std::optional<Node> key;                     // of a map: read, its value not yet
    std::unordered_map<std::string, int> lines;  // of a map: where each key stands
  };

  static Node At(const YAML::Mark& mark, Kind kind) {
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }
  void Fail(const YAML::Mark& mark, std::string_view what, Code code = Code::kInvalid) {
    if (!error_) error_ = Wrong(code, code == Code::kInvalid ? "yaml.invalid" : "yaml.too_large", file_, mark.line + 1, mark.column + 1, what);
  }

  bool Spend(const YAML::Mark& mark, const Tree& tree) {
    nodes_ += tree.nodes;
    text_ += tree.text;
    if (nodes_ <= kMaxNodes && text_ <= kMaxText) return true;
    Fail(mark, StrCat("more than ", kMaxNodes, " values or ", FormatBytes(kMaxText), " of text with every alias (*name) written out; expected less"),
         Code::kTooLarge);
    return false;
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind) {
    if (error_) return;
    if (frames_.size() >= static_cast<size_t>(kMaxDepth)) return Fail(mark, StrCat("nested deeper than ", kMaxDepth, " levels"), Code::kTooLarge);
    Frame frame;
    frame.tree = {At(mark, kind), 1, 0, 0};
    frame.anchor = anchor;
    if (!Spend(mark, frame.tree)) return;
    frames_.push_back(std::move(frame));
  }
  void Close() {
    if (error_) return;
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    YAML::Mark mark;
    mark.line = frame.tree.node.line - 1;
    mark.column = frame.tree.node.column - 1;
    Keep(mark, frame.anchor, frame.tree);
    if (!error_) Put(mark, std::move(frame.tree));
  }
  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, Tree tree) {
    if (!Spend(mark, tree)) return;
    Keep(mark, anchor, tree);
    if (!error_) Put(mark, std::move(tree));
  }
  // For aliases. The copy counts as well.
  void Keep(const YAML::Mark& mark, YAML::anchor_t anchor, const Tree& tree) {
    if (anchor != 0 && Spend(mark, tree)) anchored_[anchor] = tree;
  }

  // Hands a finished node to what it stands in.
  void Put(const YAML::Mark& mark, Tree tree) {
    if (frames_.size() + static_cast<size_t>(tree.height) > static_cast<size_t>(kMaxDepth))
      return Fail(mark, StrCat("nested deeper than ", kMaxDepth, " levels with every alias written out"), Code::kTooLarge);
    if (frames_.empty()) {
      root_ = std::move(tree.node);
      return;
    }
    Frame& frame = frames_.back();
    frame.tree.nodes += tree.nodes;
    frame.tree.text += tree.text;
    frame.tree.height = std::max(frame.tree.height, tree.height + 1);
    if (frame.tree.node.is_sequence()) {
      frame.tree.node.items.push_back(std::move(tree.node));
    } else if (!frame.key) {
      PutKey(mark, frame, std::move(tree.node));
    } else {
      frame.tree.node.members.push_back({std::move(frame.key->text), frame.key->line, frame.key->column, std::move(tree.node)});
      frame.key.reset();
    }
  }
  void PutKey(const YAML::Mark& mark, Frame& frame, Node key) {
    if (key.is_sequence() || key.is_map()) return Fail(mark, "a key is a list or a map; expected a word");
    if (key.is_null()) return Fail(mark, "a key is empty; expected a word");
    if (key.text == "<<" && !key.quoted) return Fail(mark, "merging with '<<' is not supported; write the values out");
    auto [at, fresh] = frame.lines.emplace(key.text, key.line);
    if (!fresh) return Fail(mark, StrCat("the key '", key.text.substr(0, 80), "' stands twice, first in line ", at->second));
    frame.key = std::move(key);
  }

  const std::string file_;
  int documents_ = 0;
  std::optional<Error> error_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Tree> anchored_;
  size_t nodes_ = 0;
  size_t text_ = 0;
  Node root_;
};

}  // namespace

const Node* Node::Find(std::string_view key) const {
  for (const Member& member : members)
    if (member.key == key) return &member.value;
  return nullptr;
}

Result<Node> Parse(std::string_view text, std::string_view file) {
  if (text.size() > kMaxBytes) return MakeError(Code::kTooLarge, "yaml.too_large", StrCat(file, " is larger than ", FormatBytes(kMaxBytes)), std::string(file));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  TRY_VOID(CheckCharacters(text, file));
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool flow = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  std::istringstream stream(flow ? JoinSurrogates(text) : std::string(text));
  Builder builder(file);
  try {
    YAML::Parser parser(stream);
    while (!builder.error() && builder.documents() < 2 && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    if (!builder.error()) {
      const int line = std::max(e.mark.line, 0) + 1;
      std::string_view at = LineOf(text, line);
      const size_t indentation = at.find_first_not_of(" \t");
      const bool tab = !flow && at.substr(0, indentation).find('\t') != std::string_view::npos;
      return Wrong(Code::kInvalid, "yaml.invalid", file, line, std::max(e.mark.column, 0) + 1,
                   StrCat("this is not YAML: ", tab ? "a tab indents the line; expected spaces" : e.msg));
    }
  }
  if (builder.error()) return *builder.error();
  return builder.Take();
}

Json ToJson(const Node& node) {
  if (node.is_null()) return Json();
  if (node.is_sequence()) {
    Json out = Json::MakeArray();
    for (const Node& item : node.items) out.Push(ToJson(item));
    return out;
  }
  if (node.is_map()) {
    Json out = Json::MakeObject();
    for (const Node::Member& member : node.members) out.Add(member.key, ToJson(member.value));
    return out;
  }
  if (!node.quoted) {
    const std::string& text = node.text;
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    if (text == ".nan" || text == ".NaN" || text == ".NAN") return std::numeric_limits<double>::quiet_NaN();
    const std::string lower = ToLower(text);
    if (lower == ".inf" || lower == "+.inf") return std::numeric_limits<double>::infinity();
    if (lower == "-.inf") return -std::numeric_limits<double>::infinity();
    if (text.find_first_not_of("0123456789+-.eE") == std::string::npos) {
      const std::string_view digits = text[0] == '+' ? std::string_view(text).substr(1) : std::string_view(text);
      if (auto number = ParseInt(digits)) return *number;
      if (auto number = ParseDouble(digits)) return *number;
    }
  }
  return node.text;
}

}  // namespace ferry::yaml
