#include "base/json.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace ferry {

Json::Json(const std::vector<std::string>& v) {
  Array array;
  array.reserve(v.size());
  for (const std::string& s : v) array.emplace_back(s);
  value_ = std::move(array);
}

Json::Json(const std::map<std::string, std::string>& v) {
  Object object;
  object.reserve(v.size());
  for (const auto& [key, value] : v) object.emplace_back(key, Json(value));
  value_ = std::move(object);
}

const char* Json::TypeName() const {
  static constexpr const char* kNames[] = {"null", "a boolean", "a number", "a number", "a string", "a list", "an object"};
  return kNames[value_.index()];
}

int64_t Json::as_int() const {
  if (is_int()) return std::get<int64_t>(value_);
  double v = std::get<double>(value_);
  if (!(v > -9.2e18 && v < 9.2e18)) return v > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

double Json::as_double() const {
  if (is_int()) return static_cast<double>(std::get<int64_t>(value_));
  if (is_double()) return std::get<double>(value_);
  const std::string& s = as_string();
  if (s == "Infinity") return std::numeric_limits<double>::infinity();
  if (s == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

const Json* Json::Find(std::string_view key) const { return const_cast<Json*>(this)->Find(key); }

Json* Json::Find(std::string_view key) {
  if (!is_object()) return nullptr;
  for (Member& member : as_object())
    if (member.first == key) return &member.second;
  return nullptr;
}

std::string Json::GetString(std::string_view key, std::string_view other) const {
  const Json* v = Find(key);
  return v && v->is_string() ? v->as_string() : std::string(other);
}
int64_t Json::GetInt(std::string_view key, int64_t other) const {
  const Json* v = Find(key);
  return v && v->is_number() ? v->as_int() : other;
}
double Json::GetDouble(std::string_view key, double other) const {
  const Json* v = Find(key);
  if (!v) return other;
  if (v->is_number()) return v->as_double();
  if (v->is_string() && (v->as_string() == "NaN" || v->as_string() == "Infinity" || v->as_string() == "-Infinity")) return v->as_double();
  return other;
}
bool Json::GetBool(std::string_view key, bool other) const {
  const Json* v = Find(key);
  return v && v->is_bool() ? v->as_bool() : other;
}
std::vector<std::string> Json::GetStrings(std::string_view key) const {
  std::vector<std::string> out;
  if (const Json* v = Find(key); v && v->is_array())
    for (const Json& item : v->as_array())
      if (item.is_string()) out.push_back(item.as_string());
  return out;
}
std::map<std::string, std::string> Json::GetStringMap(std::string_view key) const {
  std::map<std::string, std::string> out;
  if (const Json* v = Find(key); v && v->is_object())
    for (const Member& member : v->as_object())
      if (member.second.is_string()) out[member.first] = member.second.as_string();
  return out;
}

Json& Json::Set(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  if (Json* found = Find(key))
    *found = std::move(value);
  else
    as_object().emplace_back(std::string(key), std::move(value));
  return *this;
}
Json& Json::Add(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  as_object().emplace_back(std::string(key), std::move(value));
  return *this;
}
Json& Json::SetIf(std::string_view key, const std::string& value) {
  if (!value.empty()) Set(key, value);
  return *this;
}
void Json::Erase(std::string_view key) {
  if (!is_object()) return;
  std::erase_if(as_object(), [&](const Member& member) { return member.first == key; });
}
void Json::Push(Json value) {
  if (is_null()) value_ = Array{};
  as_array().push_back(std::move(value));
}

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) continue;
    out.append(text, start, i - start);
    start = i + 1;
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: {
        static constexpr char kHex[] = "0123456789abcdef";
        out += "\\u00";
        out += kHex[c >> 4];
        out += kHex[c & 15];
      }
    }
  }
  out.append(text, start, text.size() - start);
  out += '"';
}

namespace {
void AppendNumber(std::string& out, double v) {
  if (std::isnan(v)) {
    out += "\"NaN\"";
  } else if (std::isinf(v)) {
    out += v > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    size_t start = out.size();
    text_internal::AppendDouble(out, v);
    if (out.find_first_of(".eE", start) == std::string::npos) out += ".0";
  }
}
}  // namespace

void Json::DumpTo(std::string& out) const {
  switch (value_.index()) {
    case 0: out += "null"; break;
    case 1: out += as_bool() ? "true" : "false"; break;
    case 2: {
      char buffer[24];
      auto end = std::to_chars(buffer, buffer + sizeof buffer, std::get<int64_t>(value_)).ptr;
      out.append(buffer, end);
      break;
    }
    case 3: AppendNumber(out, std::get<double>(value_)); break;
    case 4: AppendJsonString(out, as_string()); break;
    case 5: {
      out += '[';
      bool first = true;
      for (const Json& item : as_array()) {
        if (!first) out += ',';
        first = false;
        item.DumpTo(out);
      }
      out += ']';
      break;
    }
    default: {
      out += '{';
      bool first = true;
      for (const auto& [key, value] : as_object()) {
        if (!first) out += ',';
        first = false;
        AppendJsonString(out, key);
        out += ':';
        value.DumpTo(out);
      }
      out += '}';
    }
  }
}

std::string Json::Dump() const {
  std::string out;
  DumpTo(out);
  return out;
}

void Json::PrettyTo(std::string& out, int depth) const {
  auto indent = [&](int d) { out.append(static_cast<size_t>(d) * 2, ' '); };
  if (is_array() && !as_array().empty()) {
    out += "[\n";
    for (size_t i = 0; i < as_array().size(); ++i) {
      indent(depth + 1);
      as_array()[i].PrettyTo(out, depth + 1);
      out += i + 1 < as_array().size() ? ",\n" : "\n";
    }
    indent(depth);
    out += ']';
  } else if (is_object() && !as_object().empty()) {
    out += "{\n";
    for (size_t i = 0; i < as_object().size(); ++i) {
      indent(depth + 1);
      AppendJsonString(out, as_object()[i].first);
      out += ": ";
      as_object()[i].second.PrettyTo(out, depth + 1);
      out += i + 1 < as_object().size() ? ",\n" : "\n";
    }
    indent(depth);
    out += '}';
  } else {
    DumpTo(out);
  }
}

std::string Json::DumpPretty() const {
  std::string out;
  PrettyTo(out, 0);
  out += '\n';
  return out;
}

namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view what, int max_depth) : text_(text), what_(what), max_depth_(max_depth) {}

  Result<Json> Document() {
    Json value;
    if (!Value(value, 0) || !End()) return Fail();
    return value;
  }

 private:
  bool End() {
    Skip();
    return at_ == text_.size() || Expect("the end of the document");
  }

  bool Expect(const char* expected) {
    if (!expected_) {
      expected_ = expected;
      failed_at_ = at_;
    }
    return false;
  }

  Error Fail() const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < failed_at_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    std::string found = failed_at_ >= text_.size() ? std::string("its end") : StrCat("'", Printable(text_[failed_at_]), "'");
    return MakeError(Code::kInvalid, "json.malformed",
                     StrCat(what_, " is not valid JSON: line ", line, ", column ", column, ": expected ", expected_, ", found ", found),
                     StrCat(line, ":", column));
  }

  static std::string Printable(char c) {
    if (c >= 0x20 && c < 0x7F) return std::string(1, c);
    return StrCat("\\x", ToHex(std::string_view(&c, 1)));
  }

  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }

  bool Take(char c) {
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }

  bool Word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Value(Json& out, int depth) {
    Skip();
    if (at_ >= text_.size()) return Expect("a value");
    switch (text_[at_]) {
      case '{': return depth < max_depth_ ? ObjectBody(out, depth) : Expect("less deep nesting");
      case '[': return depth < max_depth_ ? ArrayBody(out, depth) : Expect("less deep nesting");
      case '"': {
        std::string s;
        if (!String(s)) return false;
        out = Json(std::move(s));
        return true;
      }
      case 't':
        if (Word("true")) return out = Json(true), true;
        return Expect("a value");
      case 'f':
        if (Word("false")) return out = Json(false), true;
        return Expect("a value");
      case 'n':
        if (Word("null")) return out = Json(), true;
        return Expect("a value");
      case 'N':
        if (Word("NaN")) return out = Json(std::numeric_limits<double>::quiet_NaN()), true;
        return Expect("a value");
      case 'I':
        if (Word("Infinity")) return out = Json(std::numeric_limits<double>::infinity()), true;
        return Expect("a value");
      default: return Number(out);
    }
  }

  bool ObjectBody(Json& out, int depth) {
    ++at_;
    Json::Object object;
    Skip();
    if (!Take('}')) {
      for (;;) {
        Skip();
        if (at_ >= text_.size() || text_[at_] != '"') return Expect("a quoted key");
        std::string key;
        if (!String(key)) return false;
        Skip();
        if (!Take(':')) return Expect("':'");
        object.emplace_back(std::move(key), Json());
        if (!Value(object.back().second, depth + 1)) return false;
        Skip();
        if (Take(',')) continue;
        if (Take('}')) break;
        return Expect("',' or '}'");
      }
    }
    out = Json(std::move(object));
    return true;
  }

  bool ArrayBody(Json& out, int depth) {
    ++at_;
    Json::Array array;
    Skip();
    if (!Take(']')) {
      for (;;) {
        array.emplace_back();
        if (!Value(array.back(), depth + 1)) return false;
        Skip();
        if (Take(',')) continue;
        if (Take(']')) break;
        return Expect("',' or ']'");
      }
    }
    out = Json(std::move(array));
    return true;
  }

  bool Hex4(uint32_t& out) {
    if (at_ + 4 > text_.size()) return Expect("four hex digits");
    out = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, out, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4) return Expect("four hex digits");
    at_ += 4;
    return true;
  }

  static void AppendUtf8(std::string& out, uint32_t c) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xC0 | (c >> 6));
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xE0 | (c >> 12));
      out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
      out += static_cast<char>(0xF0 | (c >> 18));
      out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
      out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    }
  }

  bool String(std::string& out) {
    ++at_;
    for (;;) {
      size_t start = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && static_cast<unsigned char>(text_[at_]) >= 0x20) ++at_;
      out.append(text_, start, at_ - start);
      if (at_ >= text_.size()) return Expect("the closing '\"' of a string");
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] != '\\') return Expect("no raw control character inside a string");
      ++at_;
      if (at_ >= text_.size()) return Expect("an escape");
      char c = text_[at_++];
      switch (c) {
        case '"':
        case '\\':
        case '/': out += c; break;
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case 'n': out += '\n'; break;
        case 'r': out += '\r'; break;
        case 't': out += '\t'; break;
        case 'u': {
          uint32_t unit;
          if (!Hex4(unit)) return false;
          if (unit >= 0xD800 && unit < 0xDC00 && text_.substr(at_, 2) == "\\u") {
            size_t back = at_;
            at_ += 2;
            uint32_t low;
            if (!Hex4(low)) return false;
            if (low >= 0xDC00 && low < 0xE000)
              unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            else
              at_ = back;
          }
          if (unit >= 0xD800 && unit < 0xE000) unit = 0xFFFD;
          AppendUtf8(out, unit);
          break;
        }
        default: --at_; return Expect("an escape of JSON's");
      }
    }
  }

  bool Number(Json& out) {
    size_t start = at_;
    size_t i = at_;
    auto digit = [&] { return i < text_.size() && text_[i] >= '0' && text_[i] <= '9'; };
    if (i < text_.size() && text_[i] == '-') ++i;
    if (text_.substr(i, 8) == "Infinity") {
      at_ = i + 8;
      out = Json(-std::numeric_limits<double>::infinity());
      return true;
    }
    if (!digit()) return Expect("a value");
    if (text_[i] == '0') {
      ++i;
    } else {
      while (digit()) ++i;
    }
    bool whole = true;
    if (i < text_.size() && text_[i] == '.') {
      whole = false;
      ++i;
      if (!digit()) return at_ = i, Expect("a digit");
      while (digit()) ++i;
    }
    if (i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
      whole = false;
      ++i;
      if (i < text_.size() && (text_[i] == '+' || text_[i] == '-')) ++i;
      if (!digit()) return at_ = i, Expect("a digit");
      while (digit()) ++i;
    }
    std::string_view number = text_.substr(start, i - start);
    at_ = i;
    if (whole) {
      int64_t v = 0;
      if (std::from_chars(number.data(), number.data() + number.size(), v).ec == std::errc()) return out = Json(v), true;
    }
    double v = 0;
    auto error = std::from_chars(number.data(), number.data() + number.size(), v).ec;
    if (error == std::errc::result_out_of_range) v = std::strtod(std::string(number).c_str(), nullptr);
    out = Json(v);
    return true;
  }

  std::string_view text_;
  std::string_view what_;
  int max_depth_;
  size_t at_ = 0;
  const char* expected_ = nullptr;
  size_t failed_at_ = 0;
};

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view what, int max_depth) { return Parser(text, what, max_depth).Document(); }

}  // namespace ferry
