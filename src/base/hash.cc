#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/result.h"
#include "base/text.h"

namespace ferry {

std::string Digest::Hex() const { return ToHex(Raw()); }

std::optional<Digest> Digest::FromHex(std::string_view hex) {
  if (hex.size() != 64) return std::nullopt;
  for (char c : hex)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return std::nullopt;
  auto raw = ferry::FromHex(hex);
  Digest digest;
  std::memcpy(digest.bytes.data(), raw->data(), digest.bytes.size());
  return digest;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

namespace {
// Fetched once: EVP_sha256() looks the implementation up at every use.
const EVP_MD* Algorithm() {
  static const EVP_MD* md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return md;
}
}  // namespace

Sha256::Sha256() : state_(std::make_unique<State>()) { EVP_DigestInit_ex(state_->context, Algorithm(), nullptr); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::string_view bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

Digest Sha256::Finish() {
  Digest digest;
  EVP_DigestFinal_ex(state_->context, digest.bytes.data(), nullptr);
  EVP_DigestInit_ex(state_->context, Algorithm(), nullptr);
  return digest;
}

Digest HashBytes(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

std::string HmacHex(std::string_view key, std::string_view text) {
  Digest digest;
  HMAC(Algorithm(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.bytes.data(), nullptr);
  return digest.Hex();
}

std::string RandomHex(size_t count) {
  std::string bytes(count, '\0');
  FERRY_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1);
  return ToHex(bytes);
}

bool EqualConstantTime(std::string_view a, std::string_view b) { return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace ferry
