#include "environment/requirement.h"

#include <gtest/gtest.h>

namespace ferry::environment {
namespace {

using Kind = Requirement::Kind;

Requirement One(const std::string& line) {
  auto all = ParseRequirements({line});
  EXPECT_TRUE(all.ok()) << line << ": " << (all.ok() ? "" : all.error().message);
  if (!all.ok() || all->size() != 1) return {};
  return (*all)[0];
}

TEST(Requirement, Packages) {
  EXPECT_EQ(One("numpy").name, "numpy");
  EXPECT_EQ(One(" Scikit_Learn >= 1.0, <2  # a comment").name, "scikit-learn");
  EXPECT_EQ(One(" Scikit_Learn >= 1.0, <2  # a comment").text, "Scikit_Learn >= 1.0, <2");
  EXPECT_EQ(One("ray[tune,rllib]==2.3; python_version < '3.12'").name, "ray");
  EXPECT_EQ(One("six (>=1.0)").name, "six");
  Requirement address = One("own @ https://host/own-1.0.whl#sha256=ab");
  EXPECT_EQ(address.kind, Kind::kAddress);
  EXPECT_EQ(address.name, "own");
  EXPECT_EQ(One("own[x] @ file:///srv/own.whl").kind, Kind::kAddress);
  Requirement git = One("git+https://host/own.git@v1#egg=Own_Name&subdirectory=a");
  EXPECT_EQ(git.kind, Kind::kAddress);
  EXPECT_EQ(git.name, "own-name");
}

TEST(Requirement, PathsAndOptions) {
  for (const char* path : {"./own", "../own.whl", "wheels/own-1.0-py3-none-any.whl", "/srv/own", "own-1.0.tar.gz", "."})
    EXPECT_EQ(One(path).kind, Kind::kPath) << path;
  EXPECT_EQ(One("-e ./own").kind, Kind::kEditable);
  EXPECT_EQ(One("-rother.txt").value, "other.txt");
  EXPECT_EQ(One("--requirement=other.txt").kind, Kind::kFile);
  EXPECT_EQ(One("-c constraints.txt").kind, Kind::kConstraints);
  Requirement index = One("-i https://user:secret@host/simple");
  EXPECT_EQ(index.option, "--index-url");
  EXPECT_EQ(index.value, "https://user:secret@host/simple");
  EXPECT_EQ(One("--pre").option, "--pre");
}

TEST(Requirement, LinesGoOnAndKeepTheirNumbers) {
  auto all = ParseRequirements({"# head", "", "six==1.16.0 \\", "    --hash=sha256:aa \\", "    --hash=sha256:bb", "numpy", "pip==1", "  --hash=sha256:cc"});
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].line, 3u);
  EXPECT_EQ((*all)[0].text, "six==1.16.0 --hash=sha256:aa --hash=sha256:bb");
  EXPECT_TRUE((*all)[0].hashed);
  EXPECT_EQ((*all)[1].line, 6u);
  EXPECT_FALSE((*all)[1].hashed);
  EXPECT_TRUE((*all)[2].hashed);
}

TEST(Requirement, WhatCannotBeRead) {
  auto message = [](const std::string& line) {
    auto all = ParseRequirements({"six", line});
    EXPECT_FALSE(all.ok()) << line;
    if (all.ok()) return std::string();
    EXPECT_EQ(all.error().field, "pip line 2");
    return all.error().message;
  };
  EXPECT_EQ(message("numpy=1.20"), "pip line 2 'numpy=1.20' cannot be read: pip pins a version with '==', as in 'numpy==1.20'");
  EXPECT_NE(message("--index-ulr https://host").find("did you mean --index-url?"), std::string::npos);
  EXPECT_NE(message("--index-url").find("needs a value"), std::string::npos);
  EXPECT_NE(message("numpy 1.20").find("expected a version"), std::string::npos);
  EXPECT_NE(message("==1.0").find("begins with the name"), std::string::npos);
  message("numpy[x");
  message("own @ ");
  message("numpy=");
  message(std::string("a\0b", 3));
  message("six\n--index-url https://evil");
  message(std::string(70000, 'a'));
  EXPECT_EQ(ParseRequirements(std::vector<std::string>(kMaxRequirements + 1, "six")).error().code, Code::kTooLarge);
}

TEST(Requirement, NoSecretIsShown) {
  EXPECT_EQ(WithoutCredentials("see https://user:secret@host/x and http://token@b/ end"), "see https://****@host/x and http://****@b/ end");
  EXPECT_EQ(WithoutCredentials("https://host/a@b"), "https://host/a@b");
  EXPECT_EQ(WithoutCredentials("a://"), "a://");
  EXPECT_EQ(NameLine("pip", 3, "--index-url https://u:p@host/simple"), "pip line 3 '--index-url https://****@host/simple'");
  EXPECT_EQ(PlainAddress("https://u:p@host/x"), "https://host/x");
  EXPECT_EQ(PlainAddress("git+ssh://git@host/x"), "git+ssh://git@host/x");
  EXPECT_EQ(PlainAddress("git+ssh://git:secret@host/x"), "git+ssh://host/x");
}

TEST(Requirement, TheFamilyOfAzureml) {
  EXPECT_TRUE(IsAzureml("azureml-core"));
  EXPECT_TRUE(IsAzureml("azureml-defaults"));
  EXPECT_FALSE(IsAzureml("azure-storage-blob"));
}

}  // namespace
}  // namespace ferry::environment
