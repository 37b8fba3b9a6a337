// What file.cc and folder.cc share: calls relative to a descriptor of a folder.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "os/file.h"

namespace ferry::os {

Stat FromStat(const struct stat& s);
FileType TypeOfMode(mode_t mode);
// Whether something else is mounted on the open folder. False where the kernel does not say.
bool IsMountPoint(int folder);
// A file, link or special file, or a folder and all below it, however deep. Links are not followed, and what is mounted below is not entered:
// that is a failure. Success when it is not there. `path` is for the error.
Result<void> RemoveAt(int parent, const char* name, const std::string& path);

}  // namespace ferry::os
