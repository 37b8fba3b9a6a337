"""Conda specifications: what is in a new one, what adding and removing does, and files that are wrong."""

import sys

import pytest

from azureml.core.conda_dependencies import CondaDependencies
from azureml.exceptions import UserErrorException

PYTHON = "python=%d.%d" % sys.version_info[:2]


def test_a_new_one():
    new = CondaDependencies()
    assert new.as_dict() == {"name": "project_environment", "channels": ["conda-forge"],
                             "dependencies": [PYTHON, {"pip": ["azureml-defaults"]}]}
    assert new.python_version == PYTHON.partition("=")[2]
    assert new.get_default_number_of_packages() == 2
    assert (new.conda_packages, new.pip_packages, new.pip_options, new.conda_channels) == ([], ["azureml-defaults"], [], ["conda-forge"])


def test_create():
    made = CondaDependencies.create(conda_packages=["scikit-learn", "numpy=1.26"], pip_packages=["pandas", "azureml-defaults"],
                                    python_version="3.8.13", pip_indexurl="https://packages.example/simple", pin_sdk_version=False)
    assert made.as_dict()["dependencies"] == ["python=3.8.13", "scikit-learn", "numpy=1.26", {
        "pip": ["--index-url https://packages.example/simple", "azureml-defaults", "pandas"]}]


def test_a_package_again_replaces_it():
    some = CondaDependencies()
    for package in ("scikit_learn==1.0", "Scikit-Learn>=1.2", "foo[bar]==1", "foo==2"):
        some.add_pip_package(pip_package=package)
    some.add_conda_package(conda_package="numpy=1.20")
    some.add_conda_package("numpy=1.26")
    assert some.pip_packages == ["azureml-defaults", "Scikit-Learn>=1.2", "foo==2"]
    assert some.conda_packages == ["numpy=1.26"]


def test_removing():
    some = CondaDependencies.create(conda_packages=["pytorch=0.4.0", "numpy"], pip_packages=["six==1.16", "torch"])
    some.remove_conda_package("pytorch=0.4.0")
    some.remove_conda_package("numpy=9")
    some.remove_pip_package("six")
    some.remove_pip_package("not-there")
    some.remove_channel("not-there")
    assert (some.conda_packages, some.pip_packages) == (["numpy"], ["azureml-defaults", "torch"])
    some.set_pip_option("--pre")
    some.set_pip_index_url(index_url="--extra-index-url https://a.example")
    some.set_pip_index_url("--extra-index-url https://b.example")
    assert some.pip_options == ["--pre", "--extra-index-url https://b.example"]
    some.remove_pip_option(pip_option="--pre")
    some.remove_pip_option("--extra-index-url")
    assert some.pip_options == []


def test_frameworks():
    some = CondaDependencies()
    some.add_tensorflow_conda_package()
    some.add_tensorflow_pip_package(core_type="gpu", version="2.9")
    some.add_cntk_package()
    assert (some.conda_packages, some.pip_packages) == (["tensorflow"], ["azureml-defaults", "tensorflow-gpu==2.9", "cntk"])
    with pytest.raises(UserErrorException, match="core_type: expected cpu or gpu, found 'tpu'"):
        some.add_tensorflow_conda_package("tpu")


def test_round_trip(tmp_path):
    some = CondaDependencies.create(conda_packages=["scikit-learn"], pip_packages=["a==1.0", "git+https://host.example/r.git@main"])
    some.add_channel("pytorch")
    path = some.save(tmp_path)
    assert path == str(tmp_path / "conda_dependencies.yml")
    assert CondaDependencies(path) == some
    assert CondaDependencies(some.save_to_file(tmp_path, "sub/other.yml")) == some
    assert CondaDependencies(conda_dependencies_file_path=some.save(str(tmp_path / "third.yml"))).serialize_to_string() == some.serialize_to_string()


def test_versions_stay_as_they_are_written(tmp_path):
    (tmp_path / "c.yml").write_text("channels:\ndependencies:\n- python=3.10\n- numpy\n- pip:\n  - torch\nname: 1e3\n")
    some = CondaDependencies(tmp_path / "c.yml")
    assert some.python_version == "3.10"
    assert some.as_dict() == {"name": "1e3", "channels": [], "dependencies": ["python=3.10", "numpy", {"pip": ["torch"]}]}


def test_merge_requirements():
    assert CondaDependencies.merge_requirements(["numpy>=1.20", "six", "numpy<2"]) == ["numpy>=1.20,<2", "six"]


@pytest.mark.parametrize("text, message", [
    ("dependencies: numpy", "c.yml: dependencies: expected a list, found a value of type str"),
    ("- a", "c.yml: expected channels and dependencies, found a value of type list"),
    ("dependencies:\n- numpy: 1.2", r"c.yml: dependencies\[0\]: expected a package such as numpy=1.26, or a pip section"),
    ("dependencies:\n- pip:\n  - {a: b}", r"c.yml: dependencies\[0\].pip\[0\]: expected a text"),
    ("channels: [a\ndependencies: []", r"c.yml:2:\d+: "),
    ("a: &x 1\nb: *x", "c.yml:2: aliases"),
    ("[" * 100 + "]" * 100, "c.yml:1: more than 64 levels"),
])
def test_wrong_files(tmp_path, text, message):
    (tmp_path / "c.yml").write_text(text)
    with pytest.raises(UserErrorException, match=message):
        CondaDependencies(str(tmp_path / "c.yml"))


def test_wrong_arguments(tmp_path):
    with pytest.raises(UserErrorException, match="'.*nothing.yml' cannot be read: No such file or directory"):
        CondaDependencies(tmp_path / "nothing.yml")
    with pytest.raises(UserErrorException, match="conda_packages: expected a list of texts, found a value of type str"):
        CondaDependencies.create(conda_packages="numpy")
    with pytest.raises(UserErrorException, match=r"pip_packages\[1\]: expected a text, found a value of type NoneType"):
        CondaDependencies.create(pip_packages=["a", None])
    with pytest.raises(UserErrorException, match="pip_option: expected an option such as --pre, found 'pre'"):
        CondaDependencies().set_pip_option("pre")
