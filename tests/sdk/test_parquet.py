"""Parquet files, with a pyarrow that the test fetches for itself."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from data_fixture import workspace  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build" / "test-tools"

SCRIPT = """
import sys, types
import pandas
from azureml.core import Dataset, Datastore
from ferry.client import Client

place = types.SimpleNamespace(name=sys.argv[1], _client=Client.find())
store = Datastore.get_default(place)
frame = pandas.DataFrame({"i": [1, 2], "s": ["a", None], "t": pandas.to_datetime(["2020-01-02", "2021-01-01"])})
kept = Dataset.Tabular.register_pandas_dataframe(frame, (store, "kept"), "kept", show_progress=False)
pandas.testing.assert_frame_equal(kept.to_pandas_dataframe(), frame)
again = Dataset.Tabular.from_parquet_files((store, "kept/**/*.parquet"), include_path=True)
assert again.to_pandas_dataframe()["Path"][0].endswith("/part-00000.parquet")
parts = kept.partition_by(["i"], (store, "parts"), show_progress=False)
assert parts.to_pandas_dataframe()["i"].tolist() == [1, 2] and parts._definition["read"]["format"] == "parquet"
assert kept.take(1).keep_columns("s").to_pandas_dataframe()["s"].tolist() == ["a"]
print("all of it")
"""


@pytest.fixture(scope="module")
def python():
    """A Python with pandas and pyarrow."""
    program = TOOLS / "pyarrow" / "bin" / "python"
    TOOLS.mkdir(parents=True, exist_ok=True)
    with open(TOOLS / "pyarrow.lock", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (TOOLS / "pyarrow" / "whole").exists():
            subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", "--system-site-packages", TOOLS / "pyarrow"], check=True)
            subprocess.run([program, "-m", "pip", "install", "-q", "pyarrow==14.0.2"], check=True)
            (TOOLS / "pyarrow" / "whole").touch()
    return program


def test_tables_are_kept_as_parquet_where_pyarrow_is_there(python, workspace):
    path = os.pathsep.join(entry for entry in sys.path if entry.endswith(os.path.join("sdk", "python")))
    done = subprocess.run([python, "-W", "ignore", "-c", SCRIPT, workspace.name], env=dict(os.environ, PYTHONPATH=path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("all of it\n"), done.stderr
