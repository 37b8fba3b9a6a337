"""The code of docs/how-to/python.md, run block by block as a user would."""

import os
import re
import shutil
import sys

from conftest import ROOT


def test_the_page_runs(client, tmp_path, monkeypatch, capsys):
    with open(os.path.join(ROOT, "docs", "how-to", "python.md")) as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.S | re.M)
    assert len(blocks) == 4
    shutil.copytree(os.path.join(ROOT, "examples"), tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    names = {}
    for block in blocks:
        exec(compile(block, "python.md", "exec"), names)
    out = capsys.readouterr().out
    assert "Execution Summary" in out and "Completed" in out and names["run"].get_status() == "Completed"
    assert os.path.isfile("here/notes/why.txt") and os.path.isfile(".azureml/config.json")
