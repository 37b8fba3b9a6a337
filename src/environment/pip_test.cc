#include "environment/pip.h"

#include <gtest/gtest.h>

namespace ferry::environment {
namespace {

Result<void> Check(std::vector<std::string> lines) {
  model::Environment definition;
  definition.conda.pip = std::move(lines);
  return CheckPip(Job{definition, "", "", nullptr, nullptr, ""});
}

TEST(Pip, WhatCanBeInstalledIsKnownBeforeAnythingIsMade) {
  EXPECT_TRUE(Check({"six", "-e git+https://host/own.git#egg=own", "--find-links /srv/wheels", "/srv/own.whl", "own @ https://host/own.whl"}).ok());
  EXPECT_TRUE(Check({}).ok());
  EXPECT_EQ(Check({"six", "-e ."}).error().field, "pip line 2");
  EXPECT_EQ(Check({"own @ ./own.whl"}).error().field, "pip line 1");
  EXPECT_EQ(Check({"six", "numpy=1"}).error().field, "pip line 2");
}

}  // namespace
}  // namespace ferry::environment
