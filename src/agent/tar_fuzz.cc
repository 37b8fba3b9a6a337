// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "agent/sdk.h"
#include "os/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::string folder = "/tmp/ferry-fuzz-tar-" + std::to_string(os::StatPath("/proc/self")->inode);
  if (!os::MakeFolders(folder + "/in").ok()) return 0;
  (void)agent::UnpackTar(text, folder + "/in");
  // Nothing may leave the folder.
  FERRY_CHECK(os::ListFolder(folder)->size() == 1);
  (void)os::RemoveAll(folder);
  return 0;
}
