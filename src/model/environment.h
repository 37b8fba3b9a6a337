// What a script needs: an interpreter that is there already, a conda or pip specification, or an image. Pure values; the JSON forms have Azure's names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ferry::model {

// A conda specification: what `conda_dependencies.yml` holds.
struct CondaSpecification {
  std::vector<std::string> channels;      // the first has the highest priority
  std::vector<std::string> dependencies;  // "python=3.8", "numpy>=1.20"; without the pip section
  std::vector<std::string> pip;           // lines of a requirements file, options such as "--index-url ..." and "--hash=..." included

  bool operator==(const CondaSpecification&) const = default;
  bool empty() const { return channels.empty() && dependencies.empty() && pip.empty(); }
};

struct DockerSection {
  bool enabled = false;
  std::string base_image;                                              // one of these two, or a build context
  std::string dockerfile;                                              // its text
  std::string context;                                                 // a snapshot's id
  std::string context_dockerfile;                                      // the Dockerfile's path in the context; empty: "Dockerfile"
  std::string registry_address, registry_username, registry_password;  // the password never enters a key and is never shown
  // How the container is run; not part of what is built.
  std::vector<std::string> arguments;
  std::string shm_size;  // "2g"; empty: the engine's default
  bool shared_volumes = true;
  bool gpu = false;

  bool operator==(const DockerSection&) const = default;
};

struct Environment {
  std::string name;     // empty: not registered
  std::string version;  // "1", "2", ...; empty: none yet
  bool user_managed = false;
  std::string interpreter;  // user-managed: a path or a name on the PATH; empty: "python"
  CondaSpecification conda;
  DockerSection docker;
  std::map<std::string, std::string> variables;  // set for the script
  // Exact versions to build instead of solving the specification: an earlier build's lock. Null: none.
  Json lock;

  bool operator==(const Environment&) const = default;
};

// Azure's form: {name, version, python: {userManagedDependencies, interpreterPath, condaDependencies: {channels, dependencies: [..., {pip: [...]}]}},
// docker: {...}, environmentVariables: {...}}. Unknown keys are ignored here (the run configuration's reader warns of them); a wrong type is kInvalid
// with its field ("python.condaDependencies.dependencies[3]"). `pip` may also stand as requirement lines under python.pipRequirements.
Json ToJson(const Environment& environment, bool with_password = false);
Result<Environment> EnvironmentFromJson(const Json& json);

// The definition with everything that does not matter taken away: order of packages, white space, comments, doubles, spelling of package names.
// Name and version are not in it.
Json Canonical(const Environment& environment);
// Of the whole canonical definition (64 hex digits): a registered environment gets a new version when this changes.
std::string DefinitionHash(const Environment& environment);
// Of what has to be built (64 hex digits); "" when nothing has to be: a user-managed interpreter without an image.
std::string BuildKey(const Environment& environment);

// "scikit_learn" and "Scikit.Learn" are "scikit-learn".
std::string NormalPackageName(std::string_view name);
// Without comment and needless white space; "" for a line that says nothing.
std::string NormalRequirement(std::string_view line);

// The exact content of a built environment, as kept with it and on each run that used it.
struct LockedPackage {
  std::string name, version;
  std::string source;             // "pypi", "conda" or "given" (it came with the interpreter or image)
  std::string build, channel;     // conda
  std::string url, sha256;        // where they are known
  bool operator==(const LockedPackage&) const = default;
};
struct Lock {
  std::string kind;    // "existing", "venv", "conda" or "image"
  std::string python;  // "3.11.2"
  std::string platform = "linux-64";
  std::string image;  // id of the image, where there is one
  std::vector<LockedPackage> packages;  // by name
  std::vector<std::string> notes;       // what the user should know: "conda package 'pytorch' was taken from PyPI as 'torch'"
  bool operator==(const Lock&) const = default;
};
Json ToJson(const Lock& lock);
Result<Lock> LockFromJson(const Json& json);

// One line per difference: "numpy 1.24.1 -> 1.26.0", "+ scipy 1.10", "- six 1.16". Empty: the same.
std::vector<std::string> Difference(const Lock& before, const Lock& after);
std::vector<std::string> Difference(const Environment& before, const Environment& after);

}  // namespace ferry::model
