// Secrets at rest: AES-256-GCM under a key derived from the server's own secret. The same text seals to the same bytes, so that a document whose
// secret did not change does not change either; that two secrets are equal is all a reader learns.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ferry {

// The text as it may be kept. "" stays "".
std::string Seal(std::string_view secret, std::string_view text);
// The text again. kInternal "seal.broken" when it was not sealed under this secret, or was changed since.
Result<std::string> Unseal(std::string_view secret, std::string_view sealed);

}  // namespace ferry
