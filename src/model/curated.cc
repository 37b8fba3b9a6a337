#include "model/curated.h"

#include "base/text.h"

namespace ferry::model {
namespace {

// A change of pins is a new row with the next version; rows are never changed.
struct Row {
  const char* name;
  int64_t version;
  const char* description;
  const char* python;
  std::vector<const char*> pip;
};
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"AzureML-Minimal", 1, "Python with what a script needs to log", "python=3.11", {"azureml-defaults"}},
      {"AzureML-PyTorch-CPU",
       1,
       "PyTorch as PyPI has it; works without a GPU",
       "python=3.11",
       {"azureml-defaults", "torch==2.9.1", "torchvision==0.24.1", "numpy==2.3.5", "pillow==12.0.0"}},
      {"AzureML-Sklearn",
       1,
       "scikit-learn with NumPy, SciPy, pandas and Matplotlib",
       "python=3.11",
       {"azureml-defaults", "scikit-learn==1.7.2", "numpy==2.3.5", "scipy==1.16.3", "pandas==2.3.3", "joblib==1.5.2", "matplotlib==3.10.7"}},
      {"AzureML-TensorFlow-CPU", 1, "TensorFlow without GPU support", "python=3.11", {"azureml-defaults", "tensorflow-cpu==2.20.0", "numpy==2.3.5"}},
  };
  return rows;
}

// Names of Azure's and what they stand for. '*' at the end takes the rest of a name; the first row that fits counts.
struct Alias {
  const char* name;
  const char* real;
};
constexpr Alias kAliases[] = {
    {"AzureML-Tutorial", "AzureML-Sklearn"},
    {"AzureML-Scikit-learn-0.20.3", "AzureML-Sklearn"},
    {"AzureML-sklearn-0.24-ubuntu18.04-py37-cpu", "AzureML-Sklearn"},
    {"AzureML-sklearn-1.0-ubuntu20.04-py38-cpu", "AzureML-Sklearn"},
    {"AzureML-sklearn-1.5", "AzureML-Sklearn"},
    {"AzureML-PyTorch-1.4-GPU", "AzureML-PyTorch-CPU"},
    {"AzureML-PyTorch-1.6-CPU", "AzureML-PyTorch-CPU"},
    {"AzureML-PyTorch-1.6-GPU", "AzureML-PyTorch-CPU"},
    {"AzureML-pytorch-1.10-ubuntu18.04-py38-cuda11-gpu", "AzureML-PyTorch-CPU"},
    {"AzureML-acpt-pytorch-1.13-cuda11.7", "AzureML-PyTorch-CPU"},
    {"AzureML-TensorFlow-1.13-GPU", "AzureML-TensorFlow-CPU"},
    {"AzureML-TensorFlow-2.0-GPU", "AzureML-TensorFlow-CPU"},
    {"AzureML-TensorFlow-2.1-GPU", "AzureML-TensorFlow-CPU"},
    {"AzureML-TensorFlow-2.2-GPU", "AzureML-TensorFlow-CPU"},
    {"AzureML-TensorFlow-2.3-GPU", "AzureML-TensorFlow-CPU"},
    {"AzureML-tensorflow-2.6-ubuntu20.04-py38-cuda11-gpu", "AzureML-TensorFlow-CPU"},
    {"AzureML-tensorflow-2.12-cuda11", "AzureML-TensorFlow-CPU"},
    {"AzureML-tensorflow-2.16-cuda11", "AzureML-TensorFlow-CPU"},
    {"AzureML-Scikit-learn-*", "AzureML-Sklearn"},
    {"AzureML-sklearn-*", "AzureML-Sklearn"},
    {"AzureML-PyTorch-*", "AzureML-PyTorch-CPU"},
    {"AzureML-acpt-*", "AzureML-PyTorch-CPU"},
    {"AzureML-TensorFlow-*", "AzureML-TensorFlow-CPU"},
};

bool Fits(std::string_view pattern, std::string_view name) {
  std::string want = ToLower(pattern), have = ToLower(name);
  if (!want.ends_with('*')) return want == have;
  want.pop_back();
  return have.size() > want.size() && have.starts_with(want);
}

Curated Make(const Row& row) {
  Curated curated;
  EnvironmentRecord& record = curated.record;
  record.name = row.name;
  record.version = row.version;
  record.description = row.description;
  record.user = "ferry";
  record.definition.name = row.name;
  record.definition.version = std::to_string(row.version);
  record.definition.conda.channels = {"conda-forge"};
  record.definition.conda.dependencies = {row.python};
  record.definition.conda.pip.assign(row.pip.begin(), row.pip.end());
  record.hash = DefinitionHash(record.definition);
  record.key = BuildKey(record.definition);
  return curated;
}

const Row* RowOf(std::string_view name, int64_t version) {
  const Row* found = nullptr;
  for (const Row& row : Rows())
    if (ToLower(row.name) == ToLower(name) && (version ? row.version == version : !found || row.version > found->version)) found = &row;
  return found;
}

Curated MakeAlias(std::string_view alias, const Row& row) {
  Curated curated = Make(row);
  curated.alias = alias;
  curated.note = StrCat("environment '", alias, "' is not Azure's: here it is '", row.name, "' version ", row.version, " with ", row.python);
  for (const char* line : row.pip) curated.note += StrCat(", ", line);
  return curated;
}

}  // namespace

std::optional<Curated> FindCurated(std::string_view name, int64_t version) {
  if (const Row* row = RowOf(name, version)) return Make(*row);
  if (RowOf(name, 0)) return std::nullopt;
  for (const Alias& alias : kAliases)
    if (Fits(alias.name, name)) return MakeAlias(name, *RowOf(alias.real, 0));
  return std::nullopt;
}

std::vector<Curated> AllCurated() {
  std::vector<Curated> all;
  for (const Row& row : Rows())
    if (RowOf(row.name, 0) == &row) all.push_back(Make(row));
  for (const Alias& alias : kAliases)
    if (!std::string_view(alias.name).ends_with('*')) all.push_back(MakeAlias(alias.name, *RowOf(alias.real, 0)));
  return all;
}

}  // namespace ferry::model
