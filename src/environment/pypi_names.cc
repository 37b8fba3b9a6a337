#include "environment/pypi_names.h"

#include <algorithm>
#include <array>

namespace ferry::environment {
namespace {

struct Mapped {
  std::string_view conda, pypi;
};
// By conda's name. Those with the same name stand here too when they are common: it is known that they mean the same.
constexpr std::array kMapped = {
    Mapped{"absl-py", "absl-py"},
    Mapped{"arviz", "arviz"},
    Mapped{"beautifulsoup4", "beautifulsoup4"},
    Mapped{"black", "black"},
    Mapped{"bokeh", "bokeh"},
    Mapped{"brotlipy", "brotlipy"},
    Mapped{"catboost", "catboost"},
    Mapped{"cython", "cython"},
    Mapped{"dask", "dask[complete]"},
    Mapped{"dask-core", "dask"},
    Mapped{"dataclasses", "dataclasses"},
    Mapped{"faiss-cpu", "faiss-cpu"},
    Mapped{"fastparquet", "fastparquet"},
    Mapped{"gensim", "gensim"},
    Mapped{"gitpython", "gitpython"},
    Mapped{"graphviz-python", "graphviz"},
    Mapped{"grpcio", "grpcio"},
    Mapped{"h5py", "h5py"},
    Mapped{"huggingface_hub", "huggingface-hub"},
    Mapped{"ipykernel", "ipykernel"},
    Mapped{"ipython", "ipython"},
    Mapped{"jaxlib", "jaxlib"},
    Mapped{"joblib", "joblib"},
    Mapped{"keras", "keras"},
    Mapped{"lightgbm", "lightgbm"},
    Mapped{"matplotlib", "matplotlib"},
    Mapped{"matplotlib-base", "matplotlib"},
    Mapped{"mlflow", "mlflow"},
    Mapped{"mlflow-skinny", "mlflow-skinny"},
    Mapped{"mpi4py", "mpi4py"},
    Mapped{"msgpack-python", "msgpack"},
    Mapped{"ninja", "ninja"},
    Mapped{"numba", "numba"},
    Mapped{"numpy", "numpy"},
    Mapped{"numpy-base", "numpy"},
    Mapped{"opencv", "opencv-python-headless"},
    Mapped{"pandas", "pandas"},
    Mapped{"pillow", "pillow"},
    Mapped{"pip", "pip"},
    Mapped{"plotly", "plotly"},
    Mapped{"protobuf", "protobuf"},
    Mapped{"psycopg2", "psycopg2-binary"},
    Mapped{"py-lightgbm", "lightgbm"},
    Mapped{"py-opencv", "opencv-python-headless"},
    Mapped{"py-spy", "py-spy"},
    Mapped{"py-xgboost", "xgboost"},
    Mapped{"py-xgboost-cpu", "xgboost"},
    Mapped{"pyarrow", "pyarrow"},
    Mapped{"pyqt", "pyqt5"},
    Mapped{"pytables", "tables"},
    Mapped{"python-dateutil", "python-dateutil"},
    Mapped{"python-graphviz", "graphviz"},
    Mapped{"python-snappy", "python-snappy"},
    Mapped{"pytorch", "torch"},
    Mapped{"pytorch-cpu", "torch"},
    Mapped{"pytorch-lightning", "pytorch-lightning"},
    Mapped{"pyyaml", "pyyaml"},
    Mapped{"requests", "requests"},
    Mapped{"ruamel_yaml", "ruamel.yaml"},
    Mapped{"scikit-image", "scikit-image"},
    Mapped{"scikit-learn", "scikit-learn"},
    Mapped{"scipy", "scipy"},
    Mapped{"seaborn", "seaborn"},
    Mapped{"setuptools", "setuptools"},
    Mapped{"shap", "shap"},
    Mapped{"snappy-python", "python-snappy"},
    Mapped{"spacy", "spacy"},
    Mapped{"sqlalchemy", "sqlalchemy"},
    Mapped{"statsmodels", "statsmodels"},
    Mapped{"tensorboard", "tensorboard"},
    Mapped{"tensorflow", "tensorflow"},
    Mapped{"tensorflow-base", "tensorflow"},
    Mapped{"tensorflow-cpu", "tensorflow-cpu"},
    Mapped{"tensorflow-gpu", "tensorflow"},
    Mapped{"tokenizers", "tokenizers"},
    Mapped{"torchaudio", "torchaudio"},
    Mapped{"torchvision", "torchvision"},
    Mapped{"torchvision-cpu", "torchvision"},
    Mapped{"tqdm", "tqdm"},
    Mapped{"transformers", "transformers"},
    Mapped{"typing_extensions", "typing-extensions"},
    Mapped{"uwsgi", "uwsgi"},
    Mapped{"wheel", "wheel"},
    Mapped{"xgboost", "xgboost"},
};

// PyPI may have something under these names, but not this.
constexpr std::array<std::string_view, 52> kNone = {
    "binutils", "blas",      "bzip2",        "c-compiler",   "cairo",
    "cmake",    "compilers", "cuda",         "cuda-toolkit", "cudatoolkit",
    "cudnn",    "curl",      "cxx-compiler", "ffmpeg",       "fortran-compiler",
    "freetype", "gcc",       "gdal",         "geos",         "git",
    "glib",     "graphviz",  "gsl",          "gxx",          "hdf5",
    "icu",      "jpeg",      "libblas",      "libffi",       "libgcc",
    "libpng",   "libxml2",   "make",         "mpich",        "nccl",
    "nodejs",   "openblas",  "openjdk",      "openmpi",      "openssl",
    "ncurses",  "pandoc",    "perl",         "pkg-config",   "postgresql",
    "r-base",   "readline",  "sqlite",       "tk",           "xz",
    "zlib",     "zstd",
};
// Python packages, whatever their names look like.
constexpr std::array<std::string_view, 6> kLibraries = {"libclang", "libcst", "librosa", "libsass", "libtmux", "libusb1"};

struct Needless {
  std::string_view conda, why;
};
constexpr std::array kNeedless = {
    Needless{"_libgcc_mutex", "it only chooses among conda's builds"},
    Needless{"_openmp_mutex", "it only chooses among conda's builds"},
    Needless{"ca-certificates", "the node's own certificates are used"},
    Needless{"cpuonly", "it only chooses PyTorch's build without CUDA; the one from PyPI runs without a GPU too"},
    Needless{"nomkl", "it only keeps MKL away, which PyPI's builds do not use"},
};

}  // namespace

PypiName NameOnPypi(std::string_view conda_name) {
  for (const Mapped& mapped : kMapped)
    if (mapped.conda == conda_name) return {PypiName::Kind::kMapped, std::string(mapped.pypi), {}};
  for (const Needless& needless : kNeedless)
    if (needless.conda == conda_name) return {PypiName::Kind::kNeedless, {}, std::string(needless.why)};
  bool library = conda_name.starts_with("lib") && std::find(kLibraries.begin(), kLibraries.end(), conda_name) == kLibraries.end();
  bool none = library || std::find(kNone.begin(), kNone.end(), conda_name) != kNone.end() || conda_name.starts_with("r-") || conda_name.starts_with("cuda-") ||
              conda_name.starts_with("gcc_") || conda_name.starts_with("gxx_");
  if (none) return {PypiName::Kind::kNone, {}, {}};
  return {PypiName::Kind::kSame, std::string(conda_name), {}};
}

}  // namespace ferry::environment
