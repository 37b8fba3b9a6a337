// The files that `ferry folder attach` and attaching a compute target write. Pure text.
#pragma once

#include <string>
#include <string_view>

namespace ferry::runconfig {

// `local.runconfig`, `docker.runconfig` and `NAME.runconfig`: a Python script on `target`, every field explained. With `docker` in a container.
std::string TemplateFor(std::string_view target, bool docker);
// `conda_dependencies.yml`.
std::string CondaTemplate();

}  // namespace ferry::runconfig
