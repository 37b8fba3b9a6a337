#include "environment/conda_spec.h"

#include <gtest/gtest.h>

#include "environment/pypi_names.h"

namespace ferry::environment {
namespace {

TEST(CondaSpec, Forms) {
  struct Case {
    const char *line, *channel, *name, *version, *build;
  };
  for (const Case& c : {Case{"numpy", "", "numpy", "", ""}, Case{"Python=3.8", "", "python", "=3.8", ""}, Case{"numpy==1.19.2", "", "numpy", "==1.19.2", ""},
                        Case{"numpy 1.19.*", "", "numpy", "1.19.*", ""}, Case{"numpy >= 1.19, < 2  # why", "", "numpy", ">=1.19,<2", ""},
                        Case{"pytorch=1.6=py3.8_cuda10.2_0", "", "pytorch", "=1.6", "py3.8_cuda10.2_0"}, Case{"numpy 1.8 py27_0", "", "numpy", "1.8", "py27_0"},
                        Case{"conda-forge::numpy>1", "conda-forge", "numpy", ">1", ""}, Case{"numpy==1.19.2=py38_0", "", "numpy", "==1.19.2", "py38_0"},
                        Case{"numpy[version='>=1.2,<2', build=\"*mkl\"]", "", "numpy", ">=1.2,<2", "*mkl"},
                        Case{"_libgcc_mutex=0.1=main", "", "_libgcc_mutex", "=0.1", "main"}, Case{"numpy=1.11.1|1.11.3", "", "numpy", "=1.11.1|1.11.3", ""}}) {
    auto spec = ParseCondaSpec(c.line);
    ASSERT_TRUE(spec.ok()) << c.line << ": " << spec.error().message;
    EXPECT_EQ(spec->channel, c.channel) << c.line;
    EXPECT_EQ(spec->name, c.name) << c.line;
    EXPECT_EQ(spec->version, c.version) << c.line;
    EXPECT_EQ(spec->build, c.build) << c.line;
  }
  EXPECT_EQ(ParseCondaSpec("https://host/linux-64/x-1-0.tar.bz2")->other, "https://host/linux-64/x-1-0.tar.bz2");
  for (const char* line : {"=1", "numpy=", "numpy[version", "numpy[version='1]", "numpy(1)", "numpy 1 2 3"}) EXPECT_FALSE(ParseCondaSpec(line).ok()) << line;
}

TEST(CondaSpec, Versions) {
  struct Case {
    const char *version, *clauses;
    bool satisfied;
  };
  for (const Case& c : {Case{"3.8.18", "=3.8", true},
                        Case{"3.8.18", "=3.8.*", true},
                        Case{"3.8.18", "3.8.*", true},
                        Case{"3.8.18", "==3.8", false},
                        Case{"3.8.18", "3.8", false},
                        Case{"3.8.0", "==3.8", true},
                        Case{"3.10.2", "=3.1", false},
                        Case{"3.10.2", ">=3.9,<3.11", true},
                        Case{"3.11.0", ">=3.9,<3.11", false},
                        Case{"3.9.1", "3.8.*|3.9.*", true},
                        Case{"3.9.1", "!=3.9.1", false},
                        Case{"3.9.1", "!=3.9.*", false},
                        Case{"3.9.1", "~=3.8", true},
                        Case{"3.9.1", "~=3.8.2", false},
                        Case{"3.13.0rc1", ">=3.13", false},
                        Case{"3.9.1", "", true},
                        Case{"3.9.1", "*", true},
                        Case{"3.9.1", "=3", true},
                        Case{"3.9.1", "garbage(", false},
                        Case{"3.9.1", ">=3.9.*", true}})
    EXPECT_EQ(Satisfies(c.version, c.clauses), c.satisfied) << c.version << " " << c.clauses;
  EXPECT_LT(CompareVersions("3.9", "3.10"), 0);
  EXPECT_EQ(CompareVersions("3.9", "3.9.0"), 0);
  EXPECT_LT(CompareVersions("3.13.0rc1", "3.13.0"), 0);
}

TEST(CondaSpec, InPipsWords) {
  auto pip = [](const char* clauses) { return PipClauses(clauses).ValueOr("none"); };
  EXPECT_EQ(pip(""), "");
  EXPECT_EQ(pip("=1.19"), "==1.19.*");
  EXPECT_EQ(pip("=1.19.*"), "==1.19.*");
  EXPECT_EQ(pip("1.19*"), "==1.19.*");
  EXPECT_EQ(pip("==1.19.2"), "==1.19.2");
  EXPECT_EQ(pip("1.19.2"), "==1.19.2");
  EXPECT_EQ(pip(">=1.19,<2"), ">=1.19,<2");
  EXPECT_EQ(pip(">=1.19.*"), ">=1.19");
  EXPECT_EQ(pip("~=1.4"), "~=1.4");
  EXPECT_EQ(pip("*"), "");
  EXPECT_EQ(pip("=1|=2"), "none");
}

TEST(PypiNames, MappedSameNeedlessAndNone) {
  EXPECT_EQ(NameOnPypi("pytorch").name, "torch");
  EXPECT_EQ(NameOnPypi("py-xgboost").name, "xgboost");
  EXPECT_EQ(NameOnPypi("opencv").name, "opencv-python-headless");
  EXPECT_EQ(NameOnPypi("scikit-learn").kind, PypiName::Kind::kMapped);
  EXPECT_EQ(NameOnPypi("some-package").kind, PypiName::Kind::kSame);
  EXPECT_EQ(NameOnPypi("librosa").kind, PypiName::Kind::kSame);
  EXPECT_EQ(NameOnPypi("libgcc-ng").kind, PypiName::Kind::kNone);
  EXPECT_EQ(NameOnPypi("cudatoolkit").kind, PypiName::Kind::kNone);
  EXPECT_EQ(NameOnPypi("cpuonly").kind, PypiName::Kind::kNeedless);
}

}  // namespace
}  // namespace ferry::environment
