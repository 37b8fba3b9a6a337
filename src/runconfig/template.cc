#include "runconfig/template.h"

#include "base/text.h"
#include "runconfig/config.h"

namespace ferry::runconfig {

std::string TemplateFor(std::string_view target, bool docker) {
  return StrCat(R"(# A run configuration: what to run, where, and with what. Use it with: ferry run submit-script -c NAME
# Check it with: ferry runconfig validate FILE. What the command line says wins over what stands here.

# The script, relative to the source folder.
script: train.py
# What the script is started with. $NAME is the value of a variable on the node.
arguments: []

# The compute target: "local", or a name of one in the workspace.
target: )",
                target, R"(
# What runs the script: Python.
framework: Python
# How the processes of a distributed run talk: None, Mpi, OpenMpi, IntelMpi, Gloo, Nccl, ParameterServer.
communicator: None
# How many nodes the run takes at once.
nodeCount: 1
# The run is ended after so many seconds; empty: never.
maxRunDurationSeconds:
# false: fail at once when the environment has not been built yet.
autoPrepareEnvironment: true

environment:
  # With a name, and nothing else here: a registered environment, in this version or the latest.
  name:
  version:
  python:
    # true: the Python below is used as it is. false: an environment is built from the packages.
    userManagedDependencies: false
    # The Python of userManagedDependencies: a path, or a name on the PATH.
    interpreterPath: python
    # The packages, as a conda file relative to the source folder. condaDependencies may hold them here instead.
    condaDependenciesFile: )",
                kDefaultCondaFile, R"(
  # Variables that the script finds set.
  environmentVariables:
    EXAMPLE_ENV_VAR: EXAMPLE_VALUE
  docker:
    # true: run in a container of the image.
    enabled: )",
                docker, R"(
    # The image that the packages are put on. baseDockerfile, a Dockerfile's text or path, may stand here instead.
    baseImage: )",
                kDefaultImage, R"(
    # Whether the container sees the run's folders directly.
    sharedVolumes: true
    # Shared memory of the container.
    shmSize: )",
                kDefaultShmSize, R"(
    # More arguments for the container's start.
    arguments: []
    # Where the image comes from, when it is not public.
    baseImageRegistry:
      address:
      username:
      password:

history:
  # Whether outputs/ is kept with the run.
  outputCollection: true
  # Whether the source folder is kept with the run.
  snapshotProject: true
  # Folders, relative to the source folder, whose files are sent while the run goes on.
  directoriesToWatch:
  - logs
)");
}

std::string CondaTemplate() {
  return R"(# The packages of the environment, as conda takes them. Named by condaDependenciesFile of a run configuration.
channels:
- conda-forge
dependencies:
# Pin a version when it matters (python=3.11); one that cannot be had fails the build.
- python>=3.8
- pip:
  # The Azure ML package, so that the script can log; Ferry brings its own.
  - azureml-defaults
)";
}

}  // namespace ferry::runconfig
