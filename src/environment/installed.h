// What is installed in a folder of Python packages, read from the records that installers leave there, without starting an interpreter.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/environment.h"

namespace ferry::environment {

// From *.dist-info and *.egg-info, by name. The source is "pypi", the address is set where a package was installed from one. A record that cannot be read
// is told by its folder's name.
Result<std::vector<model::LockedPackage>> ReadInstalled(const std::string& site_packages);

// lib/pythonX.Y/site-packages below a prefix.
Result<std::string> SitePackages(const std::string& prefix);

// The name that the conda channels give this kind of machine.
constexpr const char* kPlatform =
#if defined(__aarch64__)
    "linux-aarch64";
#else
    "linux-64";
#endif

}  // namespace ferry::environment
