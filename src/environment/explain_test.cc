#include <gtest/gtest.h>

#include "base/text.h"
#include "environment/builder.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

std::vector<std::string> Output(const std::string& name) {
  auto text = os::ReadFile(StrCat(FERRY_SOURCE_DIR, "/src/environment/testdata/explain/", name, ".txt"));
  EXPECT_TRUE(text.ok()) << name;
  std::vector<std::string> lines;
  for (std::string_view line : Split(*text, '\n')) lines.emplace_back(line);
  return lines;
}

struct Case {
  const char* output;
  std::vector<std::string> pip;
  const char* slug;
  const char* message;
};

const std::vector<std::string> kNotFound = {"# c", "six", "numpy==99"};
const std::vector<std::string> kConflict = {"# web", "botocore==1.29.0", "urllib3==2.0.0"};
const std::vector<std::string> kHash = {"six==1.16.0 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000"};
const std::vector<std::string> kHashMissing = {"six==1.16.0 --hash=sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254", "idna==3.4"};
const std::vector<std::string> kBroken = {"broken-thing @ file:///srv/build/broken"};

// What pip, uv and py-rattler really said; pip23 and uv04 are the releases 23.0.1 and 0.4.30.
const Case kCases[] = {
    {"pip-notfound", kNotFound, "environment.package_not_found",
     "there is no version that satisfies 'numpy==99'; the last of those there are: 2.4.2, 2.4.3, 2.4.4, 2.4.5, 2.4.6 (pip line 3 'numpy==99')"},
    {"uv-notfound", kNotFound, "environment.package_not_found", "there is no version of numpy==99 (pip line 3 'numpy==99')"},
    {"uv04-notfound", kNotFound, "environment.package_not_found", "there is no version of numpy==99 (pip line 3 'numpy==99')"},
    {"pip-nopackage",
     {"six", "no-such-package-ferry-test"},
     "environment.package_not_found",
     "there is no package for 'no-such-package-ferry-test' that this Python and platform can use (pip line 2 'no-such-package-ferry-test')"},
    {"uv-nopackage",
     {"six", "no-such-package-ferry-test"},
     "environment.package_not_found",
     "no-such-package-ferry-test was not found in the package registry (pip line 2 'no-such-package-ferry-test')"},
    {"uv-oldpy",
     {"tensorflow==1.15"},
     "environment.package_not_found",
     "tensorflow==1.15.0 has no wheels with a matching Python ABI tag (e.g., `cp311`) (pip line 1 'tensorflow==1.15')"},
    {"pip-conflict", kConflict, "environment.conflict",
     "the requirements cannot be met together: The user requested urllib3==2.0.0; botocore 1.29.0 depends on urllib3<1.27 and >=1.25.4 (pip line 3 "
     "'urllib3==2.0.0')"},
    {"uv-conflict", kConflict, "environment.conflict",
     "the requirements cannot be met together: Because botocore==1.29.0 depends on urllib3>=1.25.4,<1.27 and you require botocore==1.29.0, we can conclude "
     "that "
     "you require urllib3>=1.25.4,<1.27. And because you require urllib3==2.0.0 (pip line 2 'botocore==1.29.0')"},
    {"uv04-conflict", kConflict, "environment.conflict",
     "the requirements cannot be met together: Because botocore==1.29.0 depends on urllib3>=1.25.4,<1.27 and you require botocore==1.29.0, we can conclude "
     "that "
     "you require urllib3>=1.25.4,<1.27. And because you require urllib3==2.0.0 (pip line 2 'botocore==1.29.0')"},
    {"pip-hash", kHash, "environment.hash",
     "the hash of 'six==1.16.0' is not the one asked for: expected sha256 0000000000000000000000000000000000000000000000000000000000000000, got "
     "8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254 (pip line 1 'six==1.16.0')"},
    {"pip23-hash", kHash, "environment.hash",
     "the hash of 'six==1.16.0' is not the one asked for: expected sha256 0000000000000000000000000000000000000000000000000000000000000000, got "
     "8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254 (pip line 1 'six==1.16.0')"},
    {"uv-hash", kHash, "environment.hash",
     "the hash of 'six==1.16.0' is not the one asked for: expected sha256 0000000000000000000000000000000000000000000000000000000000000000, got "
     "8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254 (pip line 1 'six==1.16.0')"},
    {"uv04-hash", kHash, "environment.hash",
     "the hash of 'six==1.16.0' is not the one asked for: expected sha256 0000000000000000000000000000000000000000000000000000000000000000, got "
     "8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254 (pip line 1 'six==1.16.0')"},
    {"pip-hashmissing", kHashMissing, "environment.hash", "some requirements have hashes, so all need one, and 'idna==3.4' has none (pip line 2 'idna==3.4')"},
    {"uv-hashmissing", kHashMissing, "environment.hash",
     "some requirements have hashes: all requirements must have a hash, but none were provided for: idna==3.4 (pip line 2 'idna==3.4')"},
    {"uv04-hashmissing", kHashMissing, "environment.hash",
     "some requirements have hashes: all requirements must have a hash, but none were provided for: idna==3.4 (pip line 2 'idna==3.4')"},
    {"pip-build", kBroken, "environment.build_failed",
     "there is no ready-made package of 'broken-thing' for this Python, and it could not be built: ModuleNotFoundError: No module named "
     "'module_that_is_missing' "
     "(pip line 1 'broken-thing @ file:///srv/build/broken')"},
    {"uv-build", kBroken, "environment.build_failed",
     "there is no ready-made package of 'broken-thing' for this Python, and it could not be built: ModuleNotFoundError: No module named "
     "'module_that_is_missing' "
     "(pip line 1 'broken-thing @ file:///srv/build/broken')"},
    {"uv04-build", kBroken, "environment.build_failed",
     "there is no ready-made package of 'broken-thing' for this Python, and it could not be built: ModuleNotFoundError: No module named "
     "'module_that_is_missing' "
     "(pip line 1 'broken-thing @ file:///srv/build/broken')"},
    {"pip-compile",
     {"psycopg2==2.7"},
     "environment.build_failed",
     "there is no ready-made package of 'psycopg2' for this Python, and it could not be built: psycopg/psycopgmodule.c:909:27: error: lvalue required as left "
     "operand of assignment (pip line 1 'psycopg2==2.7')"},
    {"uv-compile",
     {"psycopg2==2.7"},
     "environment.build_failed",
     "there is no ready-made package of 'psycopg2==2.7' for this Python, and it could not be built: psycopg/psycopgmodule.c:921:24: error: lvalue required as "
     "left "
     "operand of assignment (pip line 1 'psycopg2==2.7')"},
    {"pip-metadata",
     {"numpy==1.16"},
     "environment.build_failed",
     "there is no ready-made package of 'numpy' for this Python, and it could not be built: NameError: name 'CCompiler' is not defined. Did you mean: "
     "'ccompiler'? (pip line 1 'numpy==1.16')"},
    {"pip-silent", {"six"}, "environment.unreachable", "http://127.0.0.1:9/simple cannot be reached, so 'six' could not be looked up"},
    {"uv-silent", {"six"}, "environment.unreachable", "http://127.0.0.1:9/simple/six/ cannot be reached"},
    {"uv04-silent", {"six"}, "environment.unreachable", "http://127.0.0.1:9/simple/six/ cannot be reached"},
};

TEST(Explain, PipAndUv) {
  for (const Case& c : kCases) {
    model::Environment definition;
    definition.conda.pip = c.pip;
    Error error = Explain(definition, std::string(c.output).substr(0, std::string(c.output).find_first_of("-0123456789")), Output(c.output), 1);
    EXPECT_EQ(error.message, c.message) << c.output;
    EXPECT_EQ(error.slug, c.slug) << c.output;
    EXPECT_EQ(error.code, error.slug == "environment.unreachable" ? Code::kUnavailable : Code::kInvalid) << c.output;
  }
}

TEST(Explain, Rattler) {
  model::Environment definition;
  definition.conda.dependencies = {"python=3.11", "needs-old", "six-noarch=2.0", "numpy==99", "liar"};
  auto said = [&](const std::string& output) { return Explain(definition, "rattler", Output(output), 1); };
  EXPECT_EQ(said("rattler-notfound").message, "the conda dependencies cannot be met: No candidates were found for numpy ==99 (conda line 4 'numpy==99')");
  EXPECT_EQ(said("rattler-notfound").field, "conda line 4");
  EXPECT_EQ(said("rattler-conflict").message,
            "the conda dependencies cannot be met: needs-old * cannot be installed because there are no viable options: needs-old 1.0 would require six-noarch "
            "<1.5, for which no candidates were found (conda line 2 'needs-old')");
  EXPECT_EQ(Explain(definition, "rattler", {"ferry: failed: SolverError: Cannot solve the request because of: numpy."}, 1).message,
            "the conda dependencies cannot be met: numpy (conda line 4 'numpy==99')");
  EXPECT_EQ(said("rattler-liar").slug, "environment.hash");
  EXPECT_EQ(said("rattler-liar").field, "conda line 5");
  EXPECT_EQ(said("rattler-silent").slug, "environment.no_channel");
}

// As these programs word it; they cannot be run where the tests are.
TEST(Explain, CondaAndImages) {
  model::Environment definition;
  definition.conda.dependencies = {"python=3.8", "numpy==99"};
  EXPECT_EQ(Explain(definition, "conda", {"PackagesNotFoundError: The following packages are not available from current channels:", "", "  - numpy==99", ""}, 1)
                .message,
            "no channel has 'numpy==99' (conda line 2 'numpy==99')");
  EXPECT_EQ(Explain(definition, "micromamba",
                    {"error    libmamba Could not solve for environment specs", "    The following package could not be installed",
                     "    └─ numpy ==99 does not exist (perhaps a typo or a missing channel)."},
                    1)
                .field,
            "conda line 2");
  EXPECT_EQ(Explain(definition, "conda", {"CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://channels.example/noarch/repodata.json>"}, 1).slug,
            "environment.unreachable");
  Error step = Explain(definition, "podman", {"STEP 2/3: RUN false", "Error: building at STEP \"RUN false\": while running runtime: exit status 1"}, 1);
  EXPECT_EQ(step.message, "the Dockerfile's step 'RUN false' failed: while running runtime: exit status 1");
}

TEST(Explain, WhatNobodyKnows) {
  model::Environment definition;
  EXPECT_EQ(Explain(definition, "uv", {"something", "else", ""}, 3).message, "uv ended with status 3: else");
  EXPECT_EQ(Explain(definition, "pip", {}, 137).message, "pip was ended by signal 9, as the kernel does when memory is short");
  EXPECT_EQ(Explain(definition, "uv", {"error: failed to write", "  Caused by: No space left on device (os error 28)"}, 2).code, Code::kExhausted);
}

}  // namespace
}  // namespace ferry::environment
