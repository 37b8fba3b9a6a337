#include "data/file_store.h"

#include "base/text.h"
#include "base/utf8.h"

namespace ferry::data {

Result<void> CheckFilePath(std::string_view path, std::string_view field) {
  auto fail = [&](std::string_view why) {
    return MakeError(Code::kInvalid, "file.path",
                     StrCat(field, " is '", path.substr(0, 200), "', which ", why, "; expected a relative path with '/', without '..', at most 1,024 bytes"),
                     std::string(field));
  };
  if (path.empty()) return fail("is empty");
  if (path.size() > 1024) return fail("is too long");
  if (!IsUtf8(path)) return fail("is not UTF-8");
  for (unsigned char c : path)
    if (c < 0x20 || c == 0x7F) return fail("has a control character");
  if (path.front() == '/') return fail("is absolute");
  for (std::string_view part : Split(path, '/')) {
    if (part.empty()) return fail("has an empty part");
    if (part == "." || part == "..") return fail(StrCat("has '", part, "' in it"));
    if (part.size() > 255) return fail("has a part of more than 255 bytes");
  }
  return {};
}

Error NoSuchFile(std::string_view path) {
  return MakeError(Code::kNotFound, "file.not_found", StrCat("there is no file '", path.substr(0, 300), "' in the datastore"), "path");
}

Error FileExists(std::string_view path) {
  return MakeError(Code::kConflict, "file.exists", StrCat("there is a file '", path.substr(0, 300), "' already; it is replaced only with overwrite"), "path");
}

}  // namespace ferry::data
