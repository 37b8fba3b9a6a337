#include "agent/sdk.h"

#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"

extern "C" {
extern const char ferry_sdk_begin[];
extern const char ferry_sdk_end[];
}

namespace ferry::agent {

Result<void> UnpackTar(std::string_view archive, const std::string& folder) {
  auto malformed = [] { return MakeError(Code::kInvalid, "tar.malformed", "the archive is malformed"); };
  auto text = [](std::string_view field) { return std::string(field.substr(0, field.find('\0'))); };
  for (size_t at = 0; at + 512 <= archive.size();) {
    std::string_view head = archive.substr(at, 512);
    if (head[0] == '\0') return {};
    std::string name = text(head.substr(0, 100));
    if (head.substr(257, 5) == "ustar")
      if (std::string prefix = text(head.substr(345, 155)); head.substr(257, 8) != "ustar  " && !prefix.empty()) name = StrCat(prefix, "/", name);
    uint64_t size = 0;
    for (char c : head.substr(124, 11)) {
      if (c < '0' || c > '7') return malformed();
      size = size * 8 + static_cast<uint64_t>(c - '0');
    }
    at += 512;
    if (name.empty() || name[0] == '/' || StrCat("/", name, "/").find("/../") != std::string::npos || size > archive.size() - at) return malformed();
    std::string path = os::JoinPath(folder, name);
    char type = head[156];
    if (type == '5') {
      TRY_VOID(os::MakeFolders(path));
    } else if (type == '0' || type == '\0') {
      TRY_VOID(os::MakeFolders(path.substr(0, path.rfind('/'))));
      TRY(os::Fd fd, os::Open(path, os::OpenMode::kWrite));
      TRY_VOID(os::WriteAll(fd, archive.substr(at, size), path));
    }
    at += (size + 511) / 512 * 512;
  }
  return {};
}

Result<std::string> UnpackSdk(const std::string& home) {
  std::string_view archive(ferry_sdk_begin, static_cast<size_t>(ferry_sdk_end - ferry_sdk_begin));
  std::string folder = StrCat(home, "/sdk/", HashBytes(archive).Hex().substr(0, 16));
  if (os::Exists(folder)) return folder;
  std::string partial = folder + ".partial";
  TRY_VOID(os::RemoveAll(partial));
  TRY_VOID(os::MakeFolders(partial));
  TRY_VOID(UnpackTar(archive, partial));
  if (auto renamed = os::Rename(partial, folder); !renamed.ok() && !os::Exists(folder)) return renamed.error();
  return folder;
}

}  // namespace ferry::agent
