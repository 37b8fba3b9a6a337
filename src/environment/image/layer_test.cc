#include "environment/image/layer.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "environment/image/recipe.h"

namespace ferry::environment {
namespace {

using Texts = std::vector<std::string>;

TEST(PlanLayer, WhatGoesWhere) {
  model::Environment definition;
  definition.conda.channels = {"conda-forge"};
  definition.conda.dependencies = {"python=3.8", "pip=20.2.4", "conda-forge::numpy>=1.20", "azureml-core"};
  definition.conda.pip = {"--extra-index-url https://example.com/simple", "six==1.16", "azureml_defaults>=1.0", "# nothing"};
  auto plan = PlanLayer(definition);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->pins, Texts{"=3.8"});
  EXPECT_EQ(plan->tools, Texts{"pip==20.2.4.*"});
  EXPECT_EQ(plan->only_conda, Texts{"conda-forge::numpy>=1.20"});
  EXPECT_EQ(plan->requirements, (Texts{"--extra-index-url https://example.com/simple", "six==1.16"}));
  EXPECT_EQ(plan->notes.size(), 2u);
  EXPECT_EQ(
      plan->conda.Dump(),
      R"({"channels":["conda-forge"],"dependencies":["python=3.8","conda-forge::numpy>=1.20","pip==20.2.4.*",{"pip":["--extra-index-url https://example.com/simple","six==1.16"]}]})");
}

TEST(PlanLayer, PathsAreNotInAnImage) {
  model::Environment definition;
  definition.conda.pip = {"six", "-r more.txt"};
  auto plan = PlanLayer(definition);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().field, "pip line 2");
}

TEST(PlanLayer, NothingToDo) {
  model::Environment definition;
  EXPECT_TRUE(PlanLayer(definition)->empty());
  definition.conda.dependencies = {"python", "pip"};
  definition.conda.pip = {"azureml-sdk", "--no-binary :none:"};
  EXPECT_TRUE(PlanLayer(definition)->empty());
  definition.conda.pip = {"six"};
  definition.user_managed = true;
  EXPECT_TRUE(PlanLayer(definition)->empty());
}

TEST(PlanLayer, ALockIsExact) {
  model::Environment definition;
  definition.conda.pip = {"--index-url https://example.com/simple", "six"};
  model::Lock lock;
  lock.kind = "image";
  lock.python = "3.11.2";
  lock.packages = {{"pip", "23.0.1", "given", "", "", "", ""}, {"six", "1.16.0", "pypi", "", "", "", ""}};
  definition.lock = ToJson(lock);
  auto plan = PlanLayer(definition);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->exact);
  EXPECT_EQ(plan->pins, Texts{"==3.11.2"});
  EXPECT_EQ(plan->requirements, (Texts{"--index-url https://example.com/simple", "six==1.16.0"}));
}

TEST(PipVariables, FilesThenVariables) {
  auto variables = PipVariables(
      {"[global]\nindex-url = https://a\ncert=/ca.pem\ntarget = /x\n", "[install]\nextra-index-url =\n  https://b\n  https://c\n# x\nindex-url: https://d\n"},
      {{"PIP_FIND_LINKS", "/x/wheels https://e"}, {"PIP_TARGET", "/y"}, {"HTTPS_PROXY", "http://p"}, {"OTHER", "z"}});
  EXPECT_EQ(variables, (std::map<std::string, std::string>{{"HTTPS_PROXY", "http://p"},
                                                           {"PIP_CERT", "/ca.pem"},
                                                           {"PIP_EXTRA_INDEX_URL", "https://b https://c"},
                                                           {"PIP_FIND_LINKS", "https://e"},
                                                           {"PIP_INDEX_URL", "https://d"}}));
}

TEST(Alias, TheLongestPatternWins) {
  std::map<std::string, std::string> aliases = {{"a/*", "recipe:x"}, {"a/b*", "y"}, {"a/bc", "z"}, {"*", "any"}};
  EXPECT_EQ(Alias(aliases, "a/q"), "recipe:x");
  EXPECT_EQ(Alias(aliases, "a/bd"), "y");
  EXPECT_EQ(Alias(aliases, "a/bc"), "z");
  EXPECT_EQ(Alias(aliases, "q"), "any");
  EXPECT_FALSE(Alias({}, "q"));
  EXPECT_EQ(Alias(DefaultAliases(), "mcr.microsoft.com/azureml/base:intelmpi2018.3-ubuntu16.04"), "recipe:debian-python");
}

TEST(Recipes, AreCarriedInTheProgram) {
  ASSERT_TRUE(Recipes().count("debian-python"));
  EXPECT_TRUE(Recipes().at("debian-python").starts_with("#!/bin/sh\n"));
}

}  // namespace
}  // namespace ferry::environment
