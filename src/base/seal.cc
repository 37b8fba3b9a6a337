#include "base/seal.h"

#include <openssl/evp.h>

#include <memory>

#include "base/hash.h"
#include "base/text.h"

namespace ferry {
namespace {

constexpr std::string_view kMark = "sealed:1:";
constexpr size_t kNonce = 12, kTag = 16;

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string KeyFrom(std::string_view secret) { return *FromHex(HmacHex(secret, "seal/key")); }
// Of the text, so that it never serves two.
std::string NonceFor(std::string_view secret, std::string_view text) { return FromHex(HmacHex(HmacHex(secret, "seal/nonce"), text))->substr(0, kNonce); }

Error Broken() {
  return MakeError(Code::kInternal, "seal.broken", "a secret in the store cannot be opened: it was kept by a server with another secret, or was damaged");
}

}  // namespace

std::string Seal(std::string_view secret, std::string_view text) {
  if (text.empty()) return {};
  const std::string key = KeyFrom(secret), nonce = NonceFor(secret, text);
  std::string body(text.size(), '\0'), tag(kTag, '\0');
  int size = 0;
  Context context(EVP_CIPHER_CTX_new());
  FERRY_CHECK(EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, Bytes(std::string_view(key)), Bytes(std::string_view(nonce))) == 1);
  FERRY_CHECK(EVP_EncryptUpdate(context.get(), Bytes(body), &size, Bytes(text), static_cast<int>(text.size())) == 1);
  FERRY_CHECK(EVP_EncryptFinal_ex(context.get(), Bytes(tag), &size) == 1);
  FERRY_CHECK(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTag, tag.data()) == 1);
  return StrCat(kMark, ToHex(nonce + body + tag));
}

Result<std::string> Unseal(std::string_view secret, std::string_view sealed) {
  if (sealed.empty()) return std::string();
  if (!sealed.starts_with(kMark)) return Broken();
  auto raw = FromHex(sealed.substr(kMark.size()));
  if (!raw || raw->size() < kNonce + kTag) return Broken();
  const std::string key = KeyFrom(secret);
  std::string tag = raw->substr(raw->size() - kTag), body = raw->substr(kNonce, raw->size() - kNonce - kTag), text(body.size(), '\0'), rest(kTag, '\0');
  int size = 0;
  Context context(EVP_CIPHER_CTX_new());
  bool right = EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, Bytes(std::string_view(key)), Bytes(std::string_view(*raw))) == 1 &&
               EVP_DecryptUpdate(context.get(), Bytes(text), &size, Bytes(std::string_view(body)), static_cast<int>(body.size())) == 1 &&
               EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) == 1 && EVP_DecryptFinal_ex(context.get(), Bytes(rest), &size) == 1;
  if (!right) return Broken();
  return text;
}

}  // namespace ferry
