#include "environment/choose.h"

#include <gtest/gtest.h>

namespace ferry::environment {
namespace {

Choice::Kind Chosen(std::vector<std::string> dependencies, std::vector<std::string> pythons = {"3.8.18", "3.11.2"}) {
  model::Environment definition;
  definition.conda.dependencies = std::move(dependencies);
  definition.conda.pip = {"numpy"};
  return Choose(definition, pythons).kind;
}

TEST(Choose, OnlyPipsPackagesAndAnInterpreter) {
  EXPECT_EQ(Chosen({}), Choice::Kind::kVenv);
  EXPECT_EQ(Chosen({"python=3.8", "pip"}), Choice::Kind::kVenv);
  EXPECT_EQ(Chosen({"python=3.8", "pip=20.1.1"}), Choice::Kind::kVenv);
  EXPECT_EQ(Chosen({"python=3.9"}), Choice::Kind::kConda);
  EXPECT_EQ(Chosen({"python=3.8=abc_0"}), Choice::Kind::kConda);
  EXPECT_EQ(Chosen({"python=3.8", "numpy"}), Choice::Kind::kConda);
  EXPECT_EQ(Chosen({"conda-forge::python=3.8"}), Choice::Kind::kConda);
  EXPECT_EQ(Chosen({"python"}, {}), Choice::Kind::kConda);
  EXPECT_EQ(Chosen({"numpy["}), Choice::Kind::kConda);
}

TEST(Choose, ALockIsBuiltByWhatMadeIt) {
  model::Environment definition;
  definition.conda.dependencies = {"numpy"};
  definition.lock = Json::MakeObject({{"kind", "venv"}});
  EXPECT_EQ(Choose(definition, {}).kind, Choice::Kind::kVenv);
  definition.lock = Json::MakeObject({{"kind", "conda"}});
  EXPECT_EQ(Choose(definition, {"3.11.2"}).kind, Choice::Kind::kConda);
}

TEST(PythonPin, IsFoundWithItsLine) {
  model::Environment definition;
  definition.conda.dependencies = {"# head", "python>=3.8", "pip=20.1", "python<3.12", "pandas=2"};
  auto pin = FindPythonPin(definition);
  ASSERT_TRUE(pin.ok());
  EXPECT_EQ(pin->clauses, ">=3.8,<3.12");
  EXPECT_EQ(pin->line, 4u);
  EXPECT_EQ(pin->pip, "pip==20.1.*");
  EXPECT_EQ(pin->conda_only, std::vector<std::string>{"pandas=2"});
  definition.conda.dependencies = {"python", "numpy="};
  EXPECT_EQ(FindPythonPin(definition).error().field, "conda line 2");
}

}  // namespace
}  // namespace ferry::environment
