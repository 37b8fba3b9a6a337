// The one way a Ferry function fails: a small closed set of codes, a stable slug for programs and a sentence for people.
// Nothing here throws. A broken invariant aborts (FERRY_CHECK); user input never can.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace ferry {

// What kind of failure it is. HTTP status, exit code and retry class are tables over this (base/result.cc).
enum class Code {
  kInvalid,       // the request is wrong and will stay wrong
  kUnauthorized,  // no token, or one that is not known
  kForbidden,     // a known token without the right
  kNotFound,      // the thing named does not exist
  kConflict,      // the thing exists already, or its state forbids the step
  kTooLarge,      // over a stated bound
  kUnavailable,   // cannot be reached or served now; trying again may work
  kTimeout,       // a deadline passed
  kExhausted,     // disk, quota or memory is used up
  kCanceled,      // it was stopped because somebody asked for that
  kInternal,      // a fault of Ferry's own, or of the system under it
};

// A failure: `slug` is stable and for programs ("run.not_found"), `message` is one sentence for people,
// `field` names the flag, JSON field or file:line at fault when there is one.
struct Error {
  Code code = Code::kInternal;
  std::string slug;
  std::string message;
  std::string field;

  bool operator==(const Error&) const = default;
};

// The HTTP status an error is answered with.
int HttpStatus(Code code);
// The exit status of a command that ends with an error. 1 is left to "the run failed".
int ExitStatus(Code code);
// "invalid", "not_found", ...: the code's name on the wire, and back (kInternal when unknown).
const char* CodeName(Code code);
Code CodeFromName(const std::string& name);

inline Error MakeError(Code code, std::string slug, std::string message, std::string field = {}) {
  return Error{code, std::move(slug), std::move(message), std::move(field)};
}

[[noreturn]] inline void CheckFailed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "ferry: broken invariant: %s (%s:%d)\n", what, file, line);
  std::abort();
}

// A value or an Error. Result<void> is success or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // REQUIRES: ok().
  T& value() & { return Checked(); }
  T value() && { return std::move(Checked()); }
  const T& value() const& { return const_cast<Result*>(this)->Checked(); }
  T& operator*() & { return Checked(); }
  T operator*() && { return std::move(Checked()); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &Checked(); }
  const T* operator->() const { return &value(); }
  T ValueOr(T other) const { return ok() ? std::get<0>(state_) : std::move(other); }
  // REQUIRES: !ok().
  const Error& error() const {
    if (ok()) CheckFailed("error() of a success", __FILE__, __LINE__);
    return std::get<1>(state_);
  }

 private:
  T& Checked() {
    if (!ok()) CheckFailed(std::get<1>(state_).message.c_str(), __FILE__, __LINE__);
    return std::get<0>(state_);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    if (ok()) CheckFailed("error() of a success", __FILE__, __LINE__);
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace ferry

#define FERRY_CHECK(condition)                                              \
  do {                                                                      \
    if (!(condition)) ::ferry::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (0)

#define FERRY_CONCAT_INNER(a, b) a##b
#define FERRY_CONCAT(a, b) FERRY_CONCAT_INNER(a, b)
// TRY(auto x, F()) binds x to F()'s value or returns its error. TRY_VOID(F()) returns F()'s error.
#define TRY(declaration, expression)                                                                 \
  auto FERRY_CONCAT(try_result_, __LINE__) = (expression);                                           \
  if (!FERRY_CONCAT(try_result_, __LINE__).ok()) return FERRY_CONCAT(try_result_, __LINE__).error(); \
  declaration = std::move(FERRY_CONCAT(try_result_, __LINE__)).value()
#define TRY_VOID(expression)                                                         \
  do {                                                                               \
    if (auto try_result = (expression); !try_result.ok()) return try_result.error(); \
  } while (0)
