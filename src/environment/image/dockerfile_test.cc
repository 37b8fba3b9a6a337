#include "environment/image/dockerfile.h"

#include <gtest/gtest.h>

namespace ferry::environment {
namespace {

constexpr const char* kText = R"(# syntax
ARG BASE=x
FROM --platform=linux/amd64 python:3.11 AS build
RUN apt-get update && \
    # a comment between
    apt-get install   -y git

RUN <<END
FROM not:this
END
FROM ${BASE}
FROM scratch
FROM build
from debian:12
COPY --from=build /a /b
)";

TEST(Dockerfile, InstructionsHaveLines) {
  auto instructions = ReadDockerfile(kText);
  ASSERT_EQ(instructions.size(), 9u);
  EXPECT_EQ(instructions[1].line, 3);
  EXPECT_EQ(instructions[2].line, 4);
  EXPECT_EQ(instructions[2].text, "RUN apt-get update && apt-get install -y git");
  EXPECT_EQ(instructions[3].text, "RUN <<END");
  EXPECT_EQ(instructions[8].line, 15);
  EXPECT_TRUE(ReadDockerfile("# nothing\n\n").empty());
  EXPECT_EQ(ReadDockerfile("RUN a \\").size(), 1u);
}

TEST(Dockerfile, BaseImages) { EXPECT_EQ(BaseImages(kText), (std::vector<std::string>{"python:3.11", "debian:12"})); }

TEST(Dockerfile, BaseImagesAreReplaced) {
  EXPECT_EQ(ReplaceBaseImages("FROM  a:1 AS a\n# FROM a:1\nRUN echo a:1\nFROM a\nFROM \\\n  a:1\n", {{"a:1", "localhost/x"}, {"a", "wrong"}}),
            "FROM  localhost/x AS a\n# FROM a:1\nRUN echo a:1\nFROM a\nFROM \\\n  localhost/x\n");
}

TEST(ExplainBuild, FailingCommandOfPodman) {
  Error error = ExplainBuild("FROM a\nRUN true\n\nRUN echo \"x\" && \\\n  false\n", "Dockerfile",
                             {"STEP 1/3: FROM a", "STEP 2/3: RUN true", "STEP 3/3: RUN echo \"x\" &&   false", "x",
                              "Error: building at STEP \"RUN echo \"x\" &&   false\": while running runtime: exit status 1"},
                             1);
  EXPECT_EQ(error.message, "Dockerfile:4: 'RUN echo \"x\" && false' ended with status 1");
  EXPECT_EQ(error.field, "Dockerfile:4");
}

TEST(ExplainBuild, FailingCommandOfDocker) {
  Error error = ExplainBuild("FROM a\nRUN exit 3\n", "Dockerfile",
                             {"#5 [2/2] RUN exit 3", "#5 ERROR: process \"/bin/sh -c exit 3\" did not complete successfully: exit code: 3", "------",
                              " > [2/2] RUN exit 3:", "------", "Dockerfile:2", "--------------------", "   2 | >>> RUN exit 3", "--------------------",
                              "ERROR: failed to solve: process \"/bin/sh -c exit 3\" did not complete successfully: exit code: 3"},
                             1);
  EXPECT_EQ(error.message, "Dockerfile:2: 'RUN exit 3' ended with status 3");
}

TEST(ExplainBuild, SyntaxAndNothingKnown) {
  EXPECT_EQ(ExplainBuild("FROM a\nRUUN x\n", "Dockerfile", {"Error: building: dockerfile parse error line 2: unknown instruction: RUUN"}, 125).message,
            "Dockerfile:2: 'RUUN x' failed: unknown instruction");
  EXPECT_EQ(ExplainBuild("FROM a\n", "Dockerfile", {}, 9).message, "Dockerfile: the build failed; the build ended with status 9");
}

}  // namespace
}  // namespace ferry::environment
