// Files of the web, fetched by the node itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ferry::agent {

// The name that a file of this address gets: the last part of its path, or "download".
std::string NameOfUrl(std::string_view url);

// Gives the bytes to `write`, following up to ten redirections. An error names the address: kNotFound, kForbidden or kInvalid for what the server there
// answers, kUnavailable "url.unreachable" for what may work later.
Result<void> FetchUrl(const std::string& url, const std::function<Result<void>(std::string_view)>& write);

}  // namespace ferry::agent
