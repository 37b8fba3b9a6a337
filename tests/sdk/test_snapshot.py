"""Snapshots: the same ids as the program's, whatever lies in the folder, and back as a zip."""

import os
import random
import subprocess
import zipfile

import pytest

from azureml.exceptions import SnapshotException
from ferry import git, snapshot
from ferry.ignore import IgnoreRules
from ferry.blobs import Changed
from ferry_fixture import write_tree


def id_of_program(shared, folder):
    run = shared.submit_script(folder, "train.py")
    return shared.show(run)["spec"]["snapshot"]


def test_an_odd_folder_has_the_program_s_id(shared, client, tmp_path):
    folder = tmp_path / "source"
    write_tree(folder, {"train.py": "print(1)\n", "a b/c\td": "x", "a\\b": "y", "line\nbreak": "", "ümlaut.txt": "z", ".hidden": "h",
                        "sub/keep.py": "", "sub/deep/er.txt": "1", ".git/config": "no", "sub/.git/x": "no", "logs/a.log": "no",
                        "logs/keep.log": "yes", "build/x": "no", ".amlignore": "*.log\n!keep.log\n/build/\n", ".gitignore": "*.txt\n",
                        "z-after": "1", "z.b": "2", "z/c": "3"})
    os.chmod(folder / "train.py", 0o755)
    os.makedirs(folder / "empty" / "below")
    os.makedirs(folder / "only-ignored")
    (folder / "only-ignored" / "x.log").write_text("")
    (tmp_path / "outside.txt").write_text("from outside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("")
    for name, target in {"inside": "sub/keep.py", "up": "sub/../a b", "sub/back": "../train.py", "absolute": str(folder / "z" / "c"),
                         "out": "../outside.txt", "out-folder": "../outside", "nowhere": "none", "self": ".", "sub/folder": "./deep/",
                         "to-ignored": "build", "file-ignored": "build/x"}.items():
        os.symlink(target, folder / name)
    os.mkfifo(folder / "pipe")
    taken = snapshot.scan(folder)
    assert taken.id == id_of_program(shared, folder)
    assert taken.ignore_file == ".amlignore" and taken.has("train.py") and taken.has("sub/folder/er.txt") and not taken.has("logs/a.log")
    said = "\n".join(taken.notes)
    for piece in ("nowhere is a link that leads nowhere", "out-folder is a link to a folder outside", "pipe is neither a file nor a folder"):
        assert piece in said
    back = snapshot.parse(taken.text)
    assert [(e.kind, e.path, e.digest, e.size, e.target) for e in back] == [(e.kind, e.path, e.digest, e.size, e.target) for e in taken.entries]


def test_names_that_are_no_text(shared, client, tmp_path):
    folder = write_tree(tmp_path / "source", {"train.py": ""})
    with open(os.path.join(os.fsencode(folder), b"\xff\xfe"), "wb"):
        pass
    assert snapshot.scan(folder).id == id_of_program(shared, folder)


PATTERNS = ["*.py", "!a.py", "/a", "b/", "a/**", "**/b", "a/**/b", "[ab]*", "[!a]", "?", "*/c", "a?b", "\\#x", "#c", "", " ", "a\\ ", "[[:alpha:]]1",
            "[[:nope:]]", "[", "[]a]", "[a-c]", "**", "*", "!b", "/", "a/b/c", "**/", "/**/c", "x[/]y", "*a*b*", "***", "a**", "[\\]]"]
NAMES = ["a", "b", "c", "a.py", "ab", "a1", "#x", "x", "aXb", "a ", "]", "abab"]


@pytest.mark.parametrize("seed", range(12))
def test_ignore_rules_agree_with_the_program(shared, client, tmp_path, seed):
    chance = random.Random(seed)
    folder = tmp_path / "source"
    for _ in range(60):
        parts = [chance.choice(NAMES) for _ in range(chance.randint(1, 4))]
        path = os.path.join(folder, *parts)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "x"):
                pass
        except OSError:
            pass
    write_tree(folder, {"train.py": "", ".amlignore": "\n".join(chance.choice(PATTERNS) for _ in range(8)) + "\n!/train.py\n"})
    assert snapshot.scan(folder).id == id_of_program(shared, folder)


def test_ignored_by_a_folder_above():
    rules = IgnoreRules(b"\xef\xbb\xbfbuild\r\n!build/keep\n")
    assert rules.ignored(b"build/keep", False) and rules.ignored(b"x/build", True) and not rules.ignored(b"x/builds", False)


def test_only_what_is_missing_is_sent_and_comes_back_as_a_zip(client, tmp_path):
    folder = write_tree(tmp_path / "source", {"a.py": os.urandom(8).hex(), "big.bin": os.urandom(5 << 20), "same": "x", "sub/same": "x", "nothing": ""})
    os.chmod(os.path.join(folder, "a.py"), 0o755)
    os.symlink("a.py", os.path.join(folder, "link"))
    os.mkdir(os.path.join(folder, "empty"))
    taken = snapshot.scan(folder)
    sent = []
    assert taken.upload(client, lambda done, total: sent.append(total)) == taken.id
    assert sent
    sent.clear()
    taken.upload(client, lambda done, total: sent.append(total))
    assert not sent
    path = snapshot.restore_zip(client, taken.id, tmp_path / "back")
    assert path == str(tmp_path / "back" / (taken.id + ".zip")) and os.listdir(tmp_path / "back") == [taken.id + ".zip"]
    with zipfile.ZipFile(path) as archive:
        assert set(archive.namelist()) == {"a.py", "big.bin", "same", "sub/same", "nothing", "link", "empty/"}
        for name in ("a.py", "big.bin", "sub/same", "nothing"):
            with open(os.path.join(folder, name), "rb") as file:
                assert archive.read(name) == file.read()
        assert archive.getinfo("a.py").external_attr >> 16 & 0o777 == 0o755
        assert archive.read("link") == b"a.py"


def test_a_file_that_changes_in_the_middle(client, tmp_path):
    folder = write_tree(tmp_path / "source", {"a.py": os.urandom(8).hex()})
    taken = snapshot.scan(folder)
    write_tree(folder, {"a.py": "other"})
    with pytest.raises(Changed, match="a.py' changed while it was sent"):
        taken.upload(client)


def test_one_file_is_a_folder_that_holds_it(tmp_path):
    write_tree(tmp_path, {"one.py": "x", "two.py": "y"})
    assert [entry.path for entry in snapshot.scan(tmp_path / "one.py").entries] == [b"one.py"]


def test_what_cannot_be_taken(tmp_path):
    with pytest.raises(SnapshotException, match="no folder"):
        snapshot.scan(tmp_path / "none")
    for text in (b"", b"ferry-snapshot 1\nf x 1 a\n", b"ferry-snapshot 1\nd ../a\n", b"ferry-snapshot 1\nl a\t../b\n",
                 b"ferry-snapshot 1\nd b\nd a\n", b"ferry-snapshot 1\nd a\\q\n"):
        with pytest.raises(SnapshotException, match="manifest is not valid"):
            snapshot.parse(text)


def test_a_large_snapshot_is_worth_a_word(tmp_path):
    write_tree(tmp_path, {"data/%d" % number: "" for number in range(2001)})
    (note,) = snapshot.scan(tmp_path).notes
    assert note == "the snapshot is large: 2001 files, 0 B; largest folders: data/ (2001 files, 0 B); list what runs do not need in .amlignore"


def test_git_facts(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("GIT_", "AZUREML_GIT_")):
            monkeypatch.delenv(name)
    assert git.git_facts(tmp_path) == {}
    folder = write_tree(tmp_path / "repo", {"a": "1"})

    def run(*words):
        subprocess.run(["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@y", *words], check=True, stdout=subprocess.DEVNULL)

    run("init", "-q", "-b", "topic")
    run("remote", "add", "origin", "https://user:secret@host/repo.git")
    run("add", "a")
    run("commit", "-qm", "x")
    facts = git.git_facts(folder)
    assert facts["azureml.git.branch"] == facts["mlflow.source.git.branch"] == "topic"
    assert facts["azureml.git.repository_uri"] == "https://host/repo.git"
    assert len(facts["azureml.git.commit"]) == 40 and facts["azureml.git.dirty"] == "False"
    write_tree(folder, {"b": "new"})
    assert git.git_facts(folder)["azureml.git.dirty"] == "True"
    monkeypatch.setenv("AZUREML_GIT_BRANCH", "given")
    assert git.git_facts(folder)["azureml.git.branch"] == "given"
