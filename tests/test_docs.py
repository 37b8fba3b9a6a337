"""What the documentation says can be done, done: every ```sh and ```python run block of a page in order, in a scratch folder with a server of its own.

Each block of Python is a program. Blocks marked ```sh norun are for reading. Every relative link leads to a file, and to a heading of it where it names one.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """(first line, text for the shell) of every block to run."""
    found, start, lines = [], None, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if start is None and line.strip() in ("```sh", "```python run"):
            start, lines, python = number + 1, [], line.strip() != "```sh"
        elif start is not None and line.strip() == "```":
            found.append((start, "\n".join(["python3 - <<'END OF BLOCK'", *lines, "END OF BLOCK"] if python else lines)))
            start = None
        elif start is not None:
            lines.append(line)
    return found


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{name_of(page)} links to {target}"
        if heading:
            headings = [slug(line.lstrip("#")) for line in file.read_text().splitlines() if line.startswith("#")]
            assert heading in headings, f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_fences_are_known(page):
    """A misspelt mark must not silently take a block out of the test."""
    fences = re.findall(r"^```(.+)$", page.read_text(), re.M)
    assert set(fences) <= {"sh", "sh norun", "mermaid", "python", "python run", "cpp", "yaml", "json", "text"}, name_of(page)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=name_of)
def test_commands(page, tmp_path):
    work = tmp_path / "work"
    (work / "build").mkdir(parents=True)
    (work / "build" / "ferry").symlink_to(ROOT / "build" / "ferry")
    shutil.copytree(ROOT / "examples", work / "examples")
    shutil.copytree(ROOT / "sdk", work / "sdk", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    home = tmp_path / "home"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("FERRY_", "AZUREML_"))}
    environment |= {"FERRY_HOME": str(home), "PATH": f"{work}/build:{environment['PATH']}"}
    script = "set -euo pipefail\n" + "\n".join(f"echo '--- {name_of(page)}:{line}' >&2\n{text}" for line, text in blocks(page))
    try:
        done = subprocess.run(["bash", "-c", script], cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-3000:]
    finally:
        subprocess.run([ROOT / "build" / "ferry", "server", "stop"], env=environment, capture_output=True, timeout=60)
