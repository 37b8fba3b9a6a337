// What a path and a link of a snapshot may look like, so that writing it stays inside the folder.
#pragma once

#include <string_view>

namespace ferry::snapshot {

// Relative, of names that are neither empty nor "." nor "..", and not too long.
bool IsSafePath(std::string_view path);

// Whether a link at `path` may point to `target`: "..", at most as many as there are folders above, then names; or just
// ".". A ".." behind a name is refused, because the name may be a link itself and the ".." would then start elsewhere.
bool IsSafeTarget(std::string_view path, std::string_view target);

}  // namespace ferry::snapshot
