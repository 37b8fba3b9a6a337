#include "rest/filter.h"

#include <array>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "model/reason.h"

namespace ferry::rest {
namespace {

using store::Condition;
using store::Field;
using store::Op;
using store::Value;

constexpr std::array kColumns = {"id",     "key",    "created", "started", "ended", "status", "experiment", "workspace",
                                 "target", "parent", "user",    "number",  "name",  "type",   "archived"};
constexpr std::array kTimes = {"created", "started", "ended"};

bool IsTime(const Field& field) {
  if (!field.kind.empty()) return false;
  for (const char* name : kTimes)
    if (field.name == name) return true;
  return false;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<Condition>> Filter() {
    std::vector<Condition> conditions;
    for (;;) {
      TRY(Condition condition, One());
      conditions.push_back(std::move(condition));
      if (conditions.size() > 50) return Fail("at most 50 comparisons");
      Skip();
      if (at_ >= text_.size()) return conditions;
      if (!Keyword("and")) return Fail("'and' or the end (only 'and' is supported between comparisons)");
    }
  }

  Result<Field> Name() {
    Skip();
    size_t start = at_;
    std::string head = Word();
    if (head.empty()) return Fail("a field");
    std::string kind = head;
    if (kind == "param" || kind == "parameter" || kind == "parameters") kind = "params";
    if (kind == "metric") kind = "metrics";
    if (kind == "tag") kind = "tags";
    if (kind == "property") kind = "properties";
    if (at_ < text_.size() && text_[at_] == '.' && (kind == "tags" || kind == "properties" || kind == "params" || kind == "metrics" || kind == "attributes")) {
      ++at_;
      TRY(std::string name, AttributeName());
      if (kind == "attributes") return Column(name, start);
      if (kind == "tags") return Field{"tag", name};
      if (kind == "properties") return Field{"property", name};
      if (kind == "params") return Field{"parameter", name};
      std::string which = "latest";
      for (const char* suffix : {".min", ".max", ".latest"})
        if (name.size() > std::string_view(suffix).size() && name.ends_with(suffix)) {
          which = suffix + 1;
          name.resize(name.size() - std::string_view(suffix).size());
          break;
        }
      return Field{"metric." + which, name};
    }
    return Column(head, start);
  }

  bool AtEnd() {
    Skip();
    return at_ >= text_.size();
  }
  bool Keyword(std::string_view word) {
    Skip();
    if (ToLower(text_.substr(at_, word.size())) != word) return false;
    size_t end = at_ + word.size();
    if (end < text_.size() && (isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) return false;
    at_ = end;
    return true;
  }
  Error Fail(std::string_view expected) const {
    std::string found = at_ < text_.size() ? StrCat("'", text_.substr(at_, 12), "'") : std::string("the end");
    return MakeError(Code::kInvalid, "filter.invalid", StrCat("the filter is wrong at character ", at_ + 1, ": expected ", expected, ", found ", found),
                     "filter");
  }

 private:
  Result<Field> Column(const std::string& name, size_t start) {
    for (const char* column : kColumns)
      if (name == column) return Field{"", name == "id" ? "key" : name};
    at_ = start;
    std::vector<std::string> known(kColumns.begin(), kColumns.end());
    auto close = ClosestWord(name, known);
    return Fail(StrCat("a field (", Join(known, ", "), ", tags.NAME, properties.NAME, params.NAME or metrics.NAME",
                       close ? StrCat("; did you mean '", *close, "'?") : std::string(), ")"));
  }

  Result<std::string> AttributeName() {
    if (at_ < text_.size() && (text_[at_] == '`' || text_[at_] == '"')) {
      char quote = text_[at_++];
      size_t end = text_.find(quote, at_);
      if (end == std::string_view::npos) return Fail("a closing quote");
      std::string name(text_.substr(at_, end - at_));
      at_ = end + 1;
      return name;
    }
    std::string name;
    while (at_ < text_.size() &&
           (isalnum(static_cast<unsigned char>(text_[at_])) || std::string_view("_-./").find(text_[at_]) != std::string_view::npos || text_[at_] & 0x80))
      name += text_[at_++];
    if (name.empty()) return Fail("a name");
    return name;
  }

  std::string Word() {
    std::string word;
    while (at_ < text_.size() && (isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) word += text_[at_++];
    return word;
  }

  void Skip() {
    while (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  Result<Value> Literal(const Field& field) {
    Skip();
    if (at_ >= text_.size()) return Fail("a value");
    char c = text_[at_];
    if (c == '\'' || c == '"') {
      std::string value;
      size_t start = at_++;
      for (;;) {
        if (at_ >= text_.size()) {
          at_ = start;
          return Fail("a closing quote");
        }
        if (text_[at_] == c) {
          if (at_ + 1 < text_.size() && text_[at_ + 1] == c) {
            value += c;
            at_ += 2;
            continue;
          }
          ++at_;
          break;
        }
        value += text_[at_++];
      }
      if (IsTime(field)) {
        std::string full = value.size() == 10 ? value + "T00:00:00Z" : value;
        auto time = ParseTime(full);
        if (!time) {
          at_ = start;
          return Fail("a time such as '2026-11-15' or '2026-11-15T10:00:00Z'");
        }
        return Value(time->micros);
      }
      // Parameters that look like numbers are kept as numbers.
      if (field.kind == "parameter")
        if (auto number = ParseDouble(value)) return Value(*number);
      return Value(value);
    }
    size_t start = at_;
    while (at_ < text_.size() && (isalnum(static_cast<unsigned char>(text_[at_])) || std::string_view("+-.").find(text_[at_]) != std::string_view::npos)) ++at_;
    std::string_view word = text_.substr(start, at_ - start);
    if (word == "true") return Value(int64_t{1});
    if (word == "false") return Value(int64_t{0});
    if (!word.empty() && word[0] == '+') word.remove_prefix(1);
    if (auto whole = ParseInt(word)) return Value(*whole);
    if (auto number = ParseDouble(word)) return Value(*number);
    at_ = start;
    return Fail("a number or a quoted text");
  }

  Result<Condition> One() {
    TRY(Field field, Name());
    Condition condition{field, Op::kEq, {}};
    Skip();
    if (Keyword("exists")) {
      condition.op = Op::kExists;
      return condition;
    }
    if (Keyword("absent")) {
      condition.op = Op::kAbsent;
      return condition;
    }
    if (Keyword("like")) {
      TRY(Value value, Literal(field));
      auto* pattern = std::get_if<std::string>(&value);
      if (!pattern || pattern->size() < 2 || pattern->back() != '%') return Fail("'prefix%' or '%part%' after like");
      if (pattern->front() == '%') {
        condition.op = Op::kContains;
        condition.values = {pattern->substr(1, pattern->size() - 2)};
      } else {
        condition.op = Op::kPrefix;
        condition.values = {pattern->substr(0, pattern->size() - 1)};
      }
      return condition;
    }
    if (Keyword("in")) {
      Skip();
      if (at_ >= text_.size() || text_[at_] != '(') return Fail("'('");
      ++at_;
      condition.op = Op::kIn;
      for (;;) {
        TRY(Value value, Literal(field));
        condition.values.push_back(std::move(value));
        if (condition.values.size() > 1000) return Fail("at most 1,000 values");
        Skip();
        if (at_ < text_.size() && text_[at_] == ',') {
          ++at_;
          continue;
        }
        if (at_ < text_.size() && text_[at_] == ')') {
          ++at_;
          return condition;
        }
        return Fail("',' or ')'");
      }
    }
    static constexpr std::pair<const char*, Op> kOps[] = {{"==", Op::kEq}, {"!=", Op::kNe}, {"<=", Op::kLe}, {">=", Op::kGe},
                                                          {"=", Op::kEq},  {"<", Op::kLt},  {">", Op::kGt}};
    bool found = false;
    for (const auto& [sign, op] : kOps)
      if (text_.substr(at_, std::string_view(sign).size()) == sign) {
        at_ += std::string_view(sign).size();
        condition.op = op;
        found = true;
        break;
      }
    if (!found) return Fail("an operator (=, !=, <, <=, >, >=, like, in, exists, absent)");
    TRY(Value value, Literal(field));
    condition.values = {std::move(value)};
    return condition;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<Condition>> ParseFilter(std::string_view text) {
  if (text.size() > 10000) return MakeError(Code::kTooLarge, "filter.too_long", "the filter is longer than 10,000 characters", "filter");
  return Parser(text).Filter();
}

Result<store::Order> ParseOrder(std::string_view text) {
  bool descending = !text.empty() && text[0] == '-';
  if (descending) text.remove_prefix(1);
  Parser parser(text);
  auto field = parser.Name();
  if (!field.ok())
    return MakeError(Code::kInvalid, "order.invalid", StrCat("order '", text.substr(0, 100), "' is not a field: ", field.error().message), "order");
  if (parser.Keyword("desc"))
    descending = true;
  else
    (void)parser.Keyword("asc");
  if (!parser.AtEnd())
    return MakeError(Code::kInvalid, "order.invalid",
                     StrCat("order '", text.substr(0, 100), "': expected one field, with '-' before or 'desc' behind it for descending"), "order");
  return store::Order{*field, descending};
}

}  // namespace ferry::rest
