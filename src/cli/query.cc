#include "cli/query.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/query_node.h"

namespace ferry::cli {
namespace {

using Kind = QueryNode::Kind;

constexpr int kMaxDepth = 200;

enum class TokenKind {
  kEnd,
  kName,
  kQuotedName,
  kLiteral,
  kNumber,
  kDot,
  kStar,
  kComma,
  kColon,
  kPipe,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kReference,
  kCurrent,
  kLeftParen,
  kRightParen,
  kLeftBrace,
  kRightBrace,
  kLeftBracket,
  kRightBracket,
  kFilter,
  kFlatten,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // a name, an operator; for errors what stood there
  Json literal;
  int64_t number = 0;
  size_t position = 0;
};

// How tightly a token binds to what stands left of it. Below kProjectionStop a projection ends.
constexpr int kProjectionStop = 10;
int Binding(TokenKind kind) {
  switch (kind) {
    case TokenKind::kPipe: return 1;
    case TokenKind::kOr: return 2;
    case TokenKind::kAnd: return 3;
    case TokenKind::kCompare: return 5;
    case TokenKind::kFlatten: return 9;
    case TokenKind::kStar: return 20;
    case TokenKind::kFilter: return 21;
    case TokenKind::kDot: return 40;
    case TokenKind::kLeftBrace: return 50;
    case TokenKind::kLeftBracket: return 55;
    case TokenKind::kLeftParen: return 60;
    default: return 0;
  }
}

Error SyntaxError(size_t position, std::string_view what) {
  return MakeError(Code::kInvalid, "query.syntax", StrCat("the query is wrong at column ", position + 1, ": ", what), "--query");
}

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> Tokens() {
    std::vector<Token> tokens;
    for (;;) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
      Token token;
      token.position = at_;
      if (at_ >= text_.size()) {
        token.text = "its end";
        tokens.push_back(std::move(token));
        return tokens;
      }
      TRY_VOID(Next(token));
      tokens.push_back(std::move(token));
    }
  }

 private:
  Result<void> Next(Token& token) {
    char c = text_[at_];
    if (IsNameStart(c)) {
      size_t end = at_;
      while (end < text_.size() && (IsNameStart(text_[end]) || IsDigit(text_[end]))) ++end;
      return Take(token, TokenKind::kName, end - at_);
    }
    if (IsDigit(c) || (c == '-' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
      size_t end = at_ + 1;
      while (end < text_.size() && IsDigit(text_[end])) ++end;
      auto number = ParseInt(text_.substr(at_, end - at_));
      if (!number) return SyntaxError(at_, "the number is too large");
      token.number = *number;
      return Take(token, TokenKind::kNumber, end - at_);
    }
    switch (c) {
      case '"': return QuotedName(token);
      case '\'': return RawString(token);
      case '`': return Literal(token);
      case '.': return Take(token, TokenKind::kDot, 1);
      case '*': return Take(token, TokenKind::kStar, 1);
      case ',': return Take(token, TokenKind::kComma, 1);
      case ':': return Take(token, TokenKind::kColon, 1);
      case '@': return Take(token, TokenKind::kCurrent, 1);
      case '(': return Take(token, TokenKind::kLeftParen, 1);
      case ')': return Take(token, TokenKind::kRightParen, 1);
      case '{': return Take(token, TokenKind::kLeftBrace, 1);
      case '}': return Take(token, TokenKind::kRightBrace, 1);
      case ']': return Take(token, TokenKind::kRightBracket, 1);
      case '[':
        if (Ahead("[?")) return Take(token, TokenKind::kFilter, 2);
        if (Ahead("[]")) return Take(token, TokenKind::kFlatten, 2);
        return Take(token, TokenKind::kLeftBracket, 1);
      case '|': return Ahead("||") ? Take(token, TokenKind::kOr, 2) : Take(token, TokenKind::kPipe, 1);
      case '&': return Ahead("&&") ? Take(token, TokenKind::kAnd, 2) : Take(token, TokenKind::kReference, 1);
      case '!': return Ahead("!=") ? Take(token, TokenKind::kCompare, 2) : Take(token, TokenKind::kNot, 1);
      case '<': return Take(token, TokenKind::kCompare, Ahead("<=") ? 2 : 1);
      case '>': return Take(token, TokenKind::kCompare, Ahead(">=") ? 2 : 1);
      case '=':
        if (Ahead("==")) return Take(token, TokenKind::kCompare, 2);
        return SyntaxError(at_, "'=' compares nothing; use '=='");
      case '-': return SyntaxError(at_, "'-' is not part of a plain name; write names with it in double quotes: \"a-b\"");
      default: return SyntaxError(at_, StrCat("'", c, "' has no meaning here"));
    }
  }

  bool Ahead(std::string_view word) const { return text_.substr(at_, word.size()) == word; }

  Result<void> Take(Token& token, TokenKind kind, size_t length) {
    token.kind = kind;
    token.text = text_.substr(at_, length);
    at_ += length;
    return {};
  }

  // The bytes between the delimiter at at_ and its unescaped twin, which is consumed.
  Result<std::string_view> Delimited(char delimiter, const char* what) {
    size_t start = at_ + 1;
    size_t end = start;
    while (end < text_.size() && text_[end] != delimiter) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return SyntaxError(at_, StrCat(what, " that begins here does not end"));
    at_ = end + 1;
    return text_.substr(start, end - start);
  }

  static std::string Unescape(std::string_view text, char delimiter) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == delimiter) ++i;
      out += text[i];
    }
    return out;
  }

  Result<void> QuotedName(Token& token) {
    size_t start = at_;
    TRY(std::string_view body, Delimited('"', "the quoted name"));
    auto name = ParseJson(StrCat("\"", body, "\""));
    if (!name.ok()) return SyntaxError(start, "the quoted name is not a JSON string");
    token.kind = TokenKind::kQuotedName;
    token.text = name->as_string();
    return {};
  }

  Result<void> RawString(Token& token) {
    TRY(std::string_view body, Delimited('\'', "the string"));
    token.kind = TokenKind::kLiteral;
    token.literal = Json(Unescape(body, '\''));
    token.text = StrCat("'", body, "'");
    return {};
  }

  Result<void> Literal(Token& token) {
    size_t start = at_;
    TRY(std::string_view body, Delimited('`', "the literal"));
    std::string text = Unescape(body, '`');
    auto value = ParseJson(Trim(text));
    // A bare word is taken as the string it spells: older expressions rely on it.
    if (!value.ok()) value = ParseJson(StrCat("\"", Trim(text), "\""));
    if (!value.ok() || Trim(text).empty()) return SyntaxError(start, "the literal between backticks is not JSON");
    token.kind = TokenKind::kLiteral;
    token.literal = std::move(*value);
    token.text = StrCat("`", body, "`");
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<QueryNode> Whole() {
    if (Is(TokenKind::kEnd)) return SyntaxError(0, "it is empty");
    TRY(QueryNode node, Expression(0));
    if (!Is(TokenKind::kEnd)) return Unexpected();
    return node;
  }

 private:
  const Token& Current() const { return tokens_[at_]; }
  const Token& Following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool Is(TokenKind kind) const { return Current().kind == kind; }
  Token Advance() { return tokens_[std::min(at_++, tokens_.size() - 1)]; }

  Error Unexpected(std::string_view wanted = {}) const {
    std::string found = Is(TokenKind::kEnd) ? Current().text : StrCat("'", Current().text, "'");
    if (wanted.empty()) return SyntaxError(Current().position, StrCat("did not expect ", found));
    return SyntaxError(Current().position, StrCat("expected ", wanted, ", found ", found));
  }

  Result<void> Match(TokenKind kind, std::string_view wanted) {
    if (!Is(kind)) return Unexpected(wanted);
    ++at_;
    return {};
  }

  static QueryNode Make(Kind kind, size_t position, std::vector<QueryNode> children = {}) {
    QueryNode node;
    node.kind = kind;
    node.position = position;
    node.children = std::move(children);
    return node;
  }
  template <typename... Nodes>
  static QueryNode Make(Kind kind, size_t position, QueryNode first, Nodes... rest) {
    std::vector<QueryNode> children;
    children.push_back(std::move(first));
    (children.push_back(std::move(rest)), ...);
    return Make(kind, position, std::move(children));
  }

  // Every operator deepens the tree by at most one level, so a bound on open levels and operators keeps evaluation shallow.
  Result<QueryNode> Expression(int binding) {
    int before = depth_;
    if (++depth_ > kMaxDepth) return SyntaxError(Current().position, "it is nested too deeply");
    TRY(QueryNode left, Prefix());
    while (binding < Binding(Current().kind)) {
      if (++depth_ > kMaxDepth) return SyntaxError(Current().position, "it is nested too deeply");
      TRY(left, Infix(std::move(left)));
    }
    depth_ = before;
    return left;
  }

  Result<QueryNode> Prefix() {
    Token token = Current();
    switch (token.kind) {
      case TokenKind::kName:
      case TokenKind::kQuotedName: {
        ++at_;
        if (token.kind == TokenKind::kQuotedName && Is(TokenKind::kLeftParen)) return SyntaxError(token.position, "a function's name is not quoted");
        QueryNode node = Make(Kind::kField, token.position);
        node.text = token.text;
        return node;
      }
      case TokenKind::kLiteral: {
        ++at_;
        QueryNode node = Make(Kind::kLiteral, token.position);
        node.literal = token.literal;
        return node;
      }
      case TokenKind::kCurrent: ++at_; return Make(Kind::kIdentity, token.position);
      case TokenKind::kStar: {
        ++at_;
        QueryNode right = Make(Kind::kIdentity, token.position);
        if (!Is(TokenKind::kRightBracket)) {
          TRY(right, ProjectionRight(Binding(TokenKind::kStar)));
        }
        return Make(Kind::kValueProjection, token.position, Make(Kind::kIdentity, token.position), std::move(right));
      }
      case TokenKind::kFilter: ++at_; return Filter(Make(Kind::kIdentity, token.position), token.position);
      case TokenKind::kFlatten: ++at_; return Flatten(Make(Kind::kIdentity, token.position), token.position);
      case TokenKind::kLeftBrace: ++at_; return MultiselectHash(token.position);
      case TokenKind::kLeftParen: {
        ++at_;
        TRY(QueryNode inner, Expression(0));
        TRY_VOID(Match(TokenKind::kRightParen, "')'"));
        return inner;
      }
      case TokenKind::kNot: {
        ++at_;
        TRY(QueryNode inner, Expression(Binding(TokenKind::kCompare)));
        return Make(Kind::kNot, token.position, std::move(inner));
      }
      case TokenKind::kReference: {
        ++at_;
        TRY(QueryNode inner, Expression(0));
        return Make(Kind::kReference, token.position, std::move(inner));
      }
      case TokenKind::kLeftBracket:
        ++at_;
        if (Is(TokenKind::kNumber) || Is(TokenKind::kColon)) return IndexOrSlice(Make(Kind::kIdentity, token.position));
        if (Is(TokenKind::kStar) && Following().kind == TokenKind::kRightBracket) {
          at_ += 2;
          TRY(QueryNode right, ProjectionRight(Binding(TokenKind::kStar)));
          return Make(Kind::kProjection, token.position, Make(Kind::kIdentity, token.position), std::move(right));
        }
        return MultiselectList(token.position);
      default: return Unexpected("an expression");
    }
  }

  Result<QueryNode> Infix(QueryNode left) {
    Token token = Advance();
    size_t position = token.position;
    auto binary = [&](Kind kind) -> Result<QueryNode> {
      TRY(QueryNode right, Expression(Binding(token.kind)));
      return Make(kind, position, std::move(left), std::move(right));
    };
    switch (token.kind) {
      case TokenKind::kDot: {
        if (!Is(TokenKind::kStar)) {
          TRY(QueryNode right, DotRight(Binding(TokenKind::kDot)));
          return Make(Kind::kSubexpression, position, std::move(left), std::move(right));
        }
        ++at_;
        TRY(QueryNode right, ProjectionRight(Binding(TokenKind::kStar)));
        return Make(Kind::kValueProjection, position, std::move(left), std::move(right));
      }
      case TokenKind::kPipe: return binary(Kind::kPipe);
      case TokenKind::kOr: return binary(Kind::kOr);
      case TokenKind::kAnd: return binary(Kind::kAnd);
      case TokenKind::kCompare: {
        TRY(QueryNode node, binary(Kind::kCompare));
        node.text = token.text;
        return node;
      }
      case TokenKind::kFilter: return Filter(std::move(left), position);
      case TokenKind::kFlatten: return Flatten(std::move(left), position);
      case TokenKind::kLeftParen: return Call(std::move(left));
      case TokenKind::kLeftBracket: {
        if (Is(TokenKind::kNumber) || Is(TokenKind::kColon)) return IndexOrSlice(std::move(left));
        TRY_VOID(Match(TokenKind::kStar, "a number, ':' or '*'"));
        TRY_VOID(Match(TokenKind::kRightBracket, "']'"));
        TRY(QueryNode right, ProjectionRight(Binding(TokenKind::kStar)));
        return Make(Kind::kProjection, position, std::move(left), std::move(right));
      }
      default: --at_; return Unexpected();
    }
  }

  // What a projection takes of each element: everything that binds tighter than the projection ends.
  Result<QueryNode> ProjectionRight(int binding) {
    if (Binding(Current().kind) < kProjectionStop) return Make(Kind::kIdentity, Current().position);
    if (Is(TokenKind::kLeftBracket) || Is(TokenKind::kFilter)) return Expression(binding);
    if (Is(TokenKind::kDot)) {
      ++at_;
      return DotRight(binding);
    }
    return Unexpected();
  }

  Result<QueryNode> DotRight(int binding) {
    Token token = Current();
    if (token.kind == TokenKind::kName || token.kind == TokenKind::kQuotedName || token.kind == TokenKind::kStar) return Expression(binding);
    if (token.kind == TokenKind::kLeftBracket) {
      ++at_;
      return MultiselectList(token.position);
    }
    if (token.kind == TokenKind::kLeftBrace) {
      ++at_;
      return MultiselectHash(token.position);
    }
    return Unexpected("a name, '*', '[' or '{' after '.'");
  }

  Result<QueryNode> Filter(QueryNode left, size_t position) {
    TRY(QueryNode condition, Expression(0));
    TRY_VOID(Match(TokenKind::kRightBracket, "']' at the end of the filter"));
    QueryNode right = Make(Kind::kIdentity, position);
    if (!Is(TokenKind::kFlatten)) {
      TRY(right, ProjectionRight(Binding(TokenKind::kFilter)));
    }
    return Make(Kind::kFilterProjection, position, std::move(left), std::move(right), std::move(condition));
  }

  Result<QueryNode> Flatten(QueryNode left, size_t position) {
    QueryNode flat = Make(Kind::kFlatten, position, std::move(left));
    TRY(QueryNode right, ProjectionRight(Binding(TokenKind::kFlatten)));
    return Make(Kind::kProjection, position, std::move(flat), std::move(right));
  }

  Result<QueryNode> IndexOrSlice(QueryNode left) {
    size_t position = Current().position;
    if (Is(TokenKind::kNumber) && Following().kind != TokenKind::kColon) {
      QueryNode index = Make(Kind::kIndex, position);
      index.index = Advance().number;
      TRY_VOID(Match(TokenKind::kRightBracket, "']'"));
      return Make(Kind::kSubexpression, position, std::move(left), std::move(index));
    }
    QueryNode slice = Make(Kind::kSlice, position);
    int part = 0;
    while (!Is(TokenKind::kRightBracket)) {
      if (Is(TokenKind::kColon)) {
        if (++part == 3) return Unexpected("']'");
        ++at_;
      } else if (Is(TokenKind::kNumber) && !slice.slice[part]) {
        slice.slice[part] = Advance().number;
      } else {
        return Unexpected("':', a number or ']'");
      }
    }
    if (slice.slice[2] == 0) return SyntaxError(position, "the step of a slice cannot be 0");
    ++at_;
    TRY(QueryNode right, ProjectionRight(Binding(TokenKind::kStar)));
    QueryNode sliced = Make(Kind::kSubexpression, position, std::move(left), std::move(slice));
    return Make(Kind::kProjection, position, std::move(sliced), std::move(right));
  }

  Result<QueryNode> MultiselectList(size_t position) {
    QueryNode node = Make(Kind::kMultiselectList, position);
    for (;;) {
      TRY(QueryNode element, Expression(0));
      node.children.push_back(std::move(element));
      if (Is(TokenKind::kRightBracket)) break;
      TRY_VOID(Match(TokenKind::kComma, "',' or ']'"));
    }
    ++at_;
    return node;
  }

  Result<QueryNode> MultiselectHash(size_t position) {
    QueryNode node = Make(Kind::kMultiselectHash, position);
    for (;;) {
      if (!Is(TokenKind::kName) && !Is(TokenKind::kQuotedName)) return Unexpected("a name and ':'");
      node.keys.push_back(Advance().text);
      TRY_VOID(Match(TokenKind::kColon, "':'"));
      TRY(QueryNode value, Expression(0));
      node.children.push_back(std::move(value));
      if (Is(TokenKind::kRightBrace)) break;
      TRY_VOID(Match(TokenKind::kComma, "',' or '}'"));
    }
    ++at_;
    return node;
  }

  Result<QueryNode> Call(QueryNode name) {
    if (name.kind != Kind::kField) return SyntaxError(name.position, "only a plain name can be called as a function");
    QueryNode node = Make(Kind::kFunction, name.position);
    node.text = name.text;
    while (!Is(TokenKind::kRightParen)) {
      TRY(QueryNode argument, Expression(0));
      node.children.push_back(std::move(argument));
      if (Is(TokenKind::kRightParen)) break;
      TRY_VOID(Match(TokenKind::kComma, "',' or ')'"));
      if (Is(TokenKind::kRightParen)) return Unexpected("an argument");
    }
    ++at_;
    const QueryFunction* function = FindQueryFunction(node.text);
    if (!function) {
      auto close = ClosestWord(node.text, QueryFunctionNames());
      return MakeError(Code::kInvalid, "query.unknown_function",
                       StrCat("the query calls an unknown function at column ", node.position + 1, ": '", node.text, "'",
                              close ? StrCat("; did you mean '", *close, "'?") : std::string()),
                       "--query");
    }
    int count = static_cast<int>(node.children.size());
    if (count < function->least || (function->most >= 0 && count > function->most))
      return MakeError(Code::kInvalid, "query.arguments",
                       StrCat("the query is wrong at column ", node.position + 1, ": ", node.text, "() takes ", function->least,
                              function->most < 0 ? " or more" : "", function->most == 1 ? " argument" : " arguments", ", not ", count),
                       "--query");
    for (int i = 0; i < count; ++i) {
      const QueryNode& argument = node.children[static_cast<size_t>(i)];
      if ((argument.kind == Kind::kReference) != (i == function->reference))
        return SyntaxError(argument.position, StrCat("argument ", i + 1, " of ", node.text, "() is ",
                                                     i == function->reference ? "an expression: write '&' before it" : "no expression: leave out '&'"));
    }
    return node;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Query> Query::Parse(std::string_view expression) {
  TRY(std::vector<Token> tokens, Lexer(expression).Tokens());
  TRY(QueryNode root, Parser(std::move(tokens)).Whole());
  return Query(std::make_shared<const QueryNode>(std::move(root)));
}

Result<Json> Query::Apply(const Json& input) const { return Evaluate(*root_, input); }

}  // namespace ferry::cli
