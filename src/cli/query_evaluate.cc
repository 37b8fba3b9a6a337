#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/query_node.h"

namespace ferry::cli {
namespace {

using Kind = QueryNode::Kind;

// What counts as false: null, false, and empty strings, lists and objects. 0 is true.
bool IsFalse(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.as_bool();
  if (value.is_string()) return value.as_string().empty();
  if (value.is_array()) return value.as_array().empty();
  if (value.is_object()) return value.as_object().empty();
  return false;
}

Json At(const Json& value, int64_t index) {
  if (!value.is_array()) return {};
  const Json::Array& array = value.as_array();
  auto size = static_cast<int64_t>(array.size());
  if (index < 0) index += size;
  return index >= 0 && index < size ? array[static_cast<size_t>(index)] : Json();
}

Json Slice(const Json& value, const std::optional<int64_t> (&slice)[3]) {
  if (!value.is_array()) return {};
  const Json::Array& array = value.as_array();
  auto size = static_cast<int64_t>(array.size());
  int64_t step = slice[2].value_or(1);
  // The bounds as the specification caps them: within the list, or one before its start when walking backwards.
  int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  auto cap = [&](int64_t bound) { return std::clamp(bound < 0 ? bound + size : bound, lowest, highest); };
  int64_t start = slice[0] ? cap(*slice[0]) : (step < 0 ? highest : 0);
  int64_t end = slice[1] ? cap(*slice[1]) : (step < 0 ? lowest : highest);
  Json out = Json::MakeArray();
  if (step > 0) {
    for (int64_t i = start; i < end; i += std::min(step, size + 1)) out.Push(array[static_cast<size_t>(i)]);
  } else {
    for (int64_t i = start; i > end; i += std::max(step, -size - 1)) out.Push(array[static_cast<size_t>(i)]);
  }
  return out;
}

Json Flatten(const Json& value) {
  if (!value.is_array()) return {};
  Json out = Json::MakeArray();
  for (const Json& item : value.as_array()) {
    if (item.is_array()) {
      for (const Json& inner : item.as_array()) out.Push(inner);
    } else {
      out.Push(item);
    }
  }
  return out;
}

// Equality holds for all values; order only for two numbers or two strings, otherwise the answer is null.
Json Compare(const std::string& sign, const Json& a, const Json& b) {
  if (sign == "==") return QueryEqual(a, b);
  if (sign == "!=") return !QueryEqual(a, b);
  int order;
  if (a.is_number() && b.is_number()) {
    double x = a.as_double(), y = b.as_double();
    if (a.is_int() && b.is_int()) {
      order = a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
    } else if (std::isnan(x) || std::isnan(y)) {
      return false;
    } else {
      order = x < y ? -1 : x > y;
    }
  } else if (a.is_string() && b.is_string()) {
    order = a.as_string().compare(b.as_string());
  } else {
    return {};
  }
  if (sign == "<") return order < 0;
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0;
  return order >= 0;
}

Result<void> Project(const QueryNode& right, const Json& item, Json& out) {
  TRY(Json value, Evaluate(right, item));
  if (!value.is_null()) out.Push(std::move(value));
  return {};
}

Result<Json> Call(const QueryNode& node, const Json& current) {
  std::vector<QueryArgument> arguments;
  for (const QueryNode& child : node.children) {
    QueryArgument argument;
    if (child.kind == Kind::kReference) {
      argument.reference = &child.children[0];
    } else {
      TRY(argument.value, Evaluate(child, current));
    }
    arguments.push_back(std::move(argument));
  }
  return FindQueryFunction(node.text)->call(node, arguments);
}

}  // namespace

bool QueryEqual(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
    return a.as_double() == b.as_double();
  }
  if (a.is_array() && b.is_array()) return std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(), b.as_array().end(), QueryEqual);
  if (a.is_object() && b.is_object()) {
    if (a.as_object().size() != b.as_object().size()) return false;
    return std::all_of(a.as_object().begin(), a.as_object().end(), [&](const Json::Member& member) {
      const Json* other = b.Find(member.first);
      return other && QueryEqual(member.second, *other);
    });
  }
  return a == b;
}

Result<Json> Evaluate(const QueryNode& node, const Json& current) {
  switch (node.kind) {
    case Kind::kIdentity: return current;
    case Kind::kField: {
      const Json* found = current.Find(node.text);
      return found ? *found : Json();
    }
    case Kind::kLiteral: return node.literal;
    case Kind::kIndex: return At(current, node.index);
    case Kind::kSlice: return Slice(current, node.slice);
    case Kind::kSubexpression:
    case Kind::kPipe: {
      TRY(Json left, Evaluate(node.children[0], current));
      return Evaluate(node.children[1], left);
    }
    case Kind::kFlatten: {
      TRY(Json list, Evaluate(node.children[0], current));
      return Flatten(list);
    }
    case Kind::kProjection:
    case Kind::kFilterProjection: {
      TRY(Json list, Evaluate(node.children[0], current));
      if (!list.is_array()) return Json();
      Json out = Json::MakeArray();
      for (const Json& item : list.as_array()) {
        if (node.kind == Kind::kFilterProjection) {
          TRY(Json condition, Evaluate(node.children[2], item));
          if (IsFalse(condition)) continue;
        }
        TRY_VOID(Project(node.children[1], item, out));
      }
      return out;
    }
    case Kind::kValueProjection: {
      TRY(Json object, Evaluate(node.children[0], current));
      if (!object.is_object()) return Json();
      Json out = Json::MakeArray();
      for (const Json::Member& member : object.as_object()) TRY_VOID(Project(node.children[1], member.second, out));
      return out;
    }
    case Kind::kMultiselectList:
    case Kind::kMultiselectHash: {
      if (current.is_null()) return Json();
      bool list = node.kind == Kind::kMultiselectList;
      Json out = list ? Json::MakeArray() : Json::MakeObject();
      for (size_t i = 0; i < node.children.size(); ++i) {
        TRY(Json value, Evaluate(node.children[i], current));
        if (list)
          out.Push(std::move(value));
        else
          out.Set(node.keys[i], std::move(value));
      }
      return out;
    }
    case Kind::kOr:
    case Kind::kAnd: {
      TRY(Json left, Evaluate(node.children[0], current));
      if (IsFalse(left) == (node.kind == Kind::kAnd)) return left;
      return Evaluate(node.children[1], current);
    }
    case Kind::kNot: {
      TRY(Json value, Evaluate(node.children[0], current));
      return Json(IsFalse(value));
    }
    case Kind::kCompare: {
      TRY(Json left, Evaluate(node.children[0], current));
      TRY(Json right, Evaluate(node.children[1], current));
      return Compare(node.text, left, right);
    }
    case Kind::kFunction: return Call(node, current);
    case Kind::kReference: break;
  }
  return MakeError(Code::kInvalid, "query.type", StrCat("the query is wrong at column ", node.position + 1, ": '&' is only for the argument of a function"),
                   "--query");
}

}  // namespace ferry::cli
