// SHA-256 and unguessable bytes. Hashes are values of 32 bytes; hex only at the rim.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ferry {

// A SHA-256 digest: the name of a blob.
struct Digest {
  std::array<unsigned char, 32> bytes{};

  auto operator<=>(const Digest&) const = default;
  std::string Hex() const;
  // Exactly 64 lower-case hex digits.
  static std::optional<Digest> FromHex(std::string_view hex);
  std::string_view Raw() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// Streaming SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void Update(std::string_view bytes);
  // Ends the stream and starts a new one.
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest HashBytes(std::string_view bytes);
// HMAC-SHA-256, hex.
std::string HmacHex(std::string_view key, std::string_view text);
// `count` bytes from the system's random source, as hex: tokens and ids.
std::string RandomHex(size_t count);
// Compares without telling by its timing where the first difference is.
bool EqualConstantTime(std::string_view a, std::string_view b);

}  // namespace ferry

template <>
struct std::hash<ferry::Digest> {
  size_t operator()(const ferry::Digest& d) const noexcept {
    size_t v;
    static_assert(sizeof v <= sizeof d.bytes);
    std::memcpy(&v, d.bytes.data(), sizeof v);
    return v;
  }
};
