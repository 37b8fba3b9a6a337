// A podman with storage of its own below build/test-tools, which outlives the test so that its base image is made once. Needs root.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "environment/image/builder.h"
#include "environment/image/recipe.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::environment {

// A folder with a name that shells, engines and Python stumble over, gone afterwards.
class OddFolder {
 public:
  OddFolder() : path_(os::JoinPath(testing::TempDir(), StrCat("mit Leerzeichen und Ümläuten 漢.", RandomHex(6)))) { EXPECT_TRUE(os::MakeFolders(path_).ok()); }
  ~OddFolder() { EXPECT_TRUE(os::RemoveAll(path_).ok()); }
  OddFolder(const OddFolder&) = delete;
  OddFolder& operator=(const OddFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string At(std::string_view name) const { return os::JoinPath(path_, name); }

 private:
  std::string path_;
};

class EngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string home = FERRY_SOURCE_DIR "/build/test-tools/podman";
    ASSERT_TRUE(os::MakeFolders(home).ok());
    // runc and low limits for kernels that mount cgroups in hybrid mode. Nothing is shared with another podman of this machine.
    ASSERT_TRUE(os::WriteFile(home + "/containers.conf",
                              StrCat("[containers]\ndefault_ulimits = [\"nofile=20000:20000\", \"nproc=32768:32768\"]\n[engine]\nruntime = \"runc\"\n",
                                     "cgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nlock_type = \"file\"\ntmp_dir = \"", home, "/tmp\"\n"))
                    .ok());
    // Layers cannot lie on layers: in a container the place that is kept for them is another file system.
    const std::string layered = "overlay", kept = "/var/lib/containers";
    std::string root = home + "/root", driver = "overlay";
    if (os::FileSystemOf(home) == layered) {
      root = kept + "/ferry-tests";
      if (!os::MakeFolders(root).ok() || os::FileSystemOf(root) == layered) root = home + "/root", driver = "vfs";
    }
    ASSERT_TRUE(os::WriteFile(home + "/storage.conf",
                              StrCat("[storage]\ndriver = \"", driver, "\"\ngraphroot = \"", root, "\"\nrunroot = \"", home, "/run\"\n"))
                    .ok());
    ASSERT_TRUE(os::WriteFile(home + "/registries.conf", "unqualified-search-registries = []\n").ok());
    ::setenv("CONTAINERS_CONF", (home + "/containers.conf").c_str(), 1);
    ::setenv("CONTAINERS_STORAGE_CONF", (home + "/storage.conf").c_str(), 1);
    ::setenv("CONTAINERS_REGISTRIES_CONF", (home + "/registries.conf").c_str(), 1);
    settings_.path = os::GetEnv("PATH").value_or("/usr/bin:/bin");
    settings_.container_engine = "podman";
    settings_.cache = home + "/cache";
    settings_.sdk = FERRY_SOURCE_DIR "/sdk/python";
    auto engine = FindEngine(settings_);
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    engine_ = *engine;
    // What a test that was killed left here.
    (void)os::OutputOf({engine_.program, "rm", "--all", "--force", "--time", "0"}, std::chrono::minutes(2));
    ASSERT_TRUE(os::RemoveAll(settings_.cache).ok());
    (void)os::OutputOf({engine_.program, "image", "prune", "--force"}, std::chrono::minutes(2));
    model::Environment nothing;
    OddFolder scratch;
    std::string said;
    Job job{nothing, scratch.At("job"), "test", [&](std::string_view line) { said += StrCat(line, "\n"); }, [] { return false; }, ""};
    ASSERT_TRUE(os::MakeFolders(job.folder).ok());
    auto base = MakeRecipe(engine_, settings_, job, "debian-python");
    ASSERT_TRUE(base.ok()) << base.error().message << "\n" << said;
    base_ = *base;
  }

  static inline Settings settings_;
  static inline Engine engine_;
  static inline std::string base_;
};

}  // namespace ferry::environment
