"""docs/reference/azureml-parity.md says what the package has: written anew it is the same, and what the list gets wrong is found."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools" / "parity"
LIST = ROOT / "sdk" / "python" / "parity.txt"
PAGE = ROOT / "docs" / "reference" / "azureml-parity.md"


def parity(*arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=60)


def test_the_page_is_true():
    done = parity()
    assert done.returncode == 0, done.stderr
    assert done.stdout == PAGE.read_text(), "run tools/bless and read the difference"


def test_every_name_has_a_word():
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `"):
            assert line.split(" | ")[1].strip(" |") in ("supported", "recorded", "not yet", "absent"), line


@pytest.mark.parametrize("wrong, fault", [
    ("Workspace\n.nothing\n", "azureml.core.Workspace.nothing is called supported and is not there"),
    ("~Nothing\n", "azureml.core.Nothing is called recorded and is not there"),
    ("Webservice\n", "azureml.core.Webservice is called supported and is not there"),
    ("-Workspace\n", "azureml.core.Workspace is called absent and is there"),
    ("Workspace\n-.get\n", "azureml.core.Workspace.get is called absent and is there"),
    ("Workspace\n.get(name, colour)\n", "argument 'colour' of azureml.core.Workspace.get is called supported and is not there"),
    ("Workspace\n.get(name, colour*)\n", "argument 'colour' of azureml.core.Workspace.get is called supported and is not there"),
    ("Workspace\n.get(-name)\n", "argument 'name' of azureml.core.Workspace.get is called absent and is there"),
    ("VERSION(a)\n", "azureml.core.VERSION cannot be called"),
])
def test_what_is_wrong_is_found(tmp_path, wrong, fault):
    (tmp_path / "list").write_text("[azureml.core]\n" + wrong)
    done = parity(tmp_path / "list")
    assert done.returncode == 1 and fault in done.stderr, done


@pytest.mark.parametrize("line", ["Workspace(", "a b", ".member", "Workspace(a b)", "Workspace(a) remark"])
def test_lines_that_cannot_be_read(tmp_path, line):
    (tmp_path / "list").write_text("[azureml.core]\n" + line + "\n")
    done = parity(tmp_path / "list")
    assert done.returncode == 1 and "parity.txt:2: " in done.stderr and "Traceback" not in done.stderr, done


def test_the_list_is_not_shortened():
    """What users write most is on it."""
    text = LIST.read_text()
    for name in ("[azureml.core.runconfig]", "RunConfiguration(script", ".wait_for_completion(show_output", "Estimator(source_directory", "VERSION", "-HyperDriveConfig(",
                 ".drop_columns(columns)", "DataReferenceConfiguration("):
        assert name in text, name
