"""TensorBoard: event files that it can read, and the program over the logs of runs."""

import math
import os
import stat
import struct

import pytest

from azureml.contrib.tensorboard import Tensorboard as OldHome
from azureml.contrib.tensorboard.export import export_to_tensorboard as old_export
from azureml.core import Experiment, ScriptRunConfig, Workspace
from azureml.exceptions import AzureMLException, UserErrorException
from azureml.tensorboard import Tensorboard
from azureml.tensorboard.export import export_to_tensorboard
from ferry import board, event_files
from ferry_fixture import read_tree, wait_until, write_tree
from stand_in import StandIn

SCRIPT = """
import os, time
from azureml.core import Run
run = Run.get_context()
os.makedirs("logs/train", exist_ok=True)
open("logs/train/events.out.tfevents.1", "w").write("one")
for i in range(3):
    run.log("loss", 1.5 ** i, step=i * 10)
run.log("word", "text")
run.log("nan", float("nan"))
run.log_row("rows", x=1, label="a")
run.log_row("rows", x=2, label="b")
run.log_table("table", {"a": [5, 6], "b": ["x", "y"]})
run.log_list("list", [7, 8])
"""

# As much of TensorBoard as is needed to be started and ended: it says where it serves, or why not.
PROGRAM = """#!/bin/sh
[ "$4" = 1 ] && { echo "TensorBoard could not bind to port 1"; exit 1; }
echo "$2" > "$0.logdir"
echo "a warning first" >&2
echo "TensorBoard 2.0.0 at http://localhost:$4/ (Press CTRL+C to quit)" >&2
exec sleep 600
"""


@pytest.fixture
def done(client, tmp_path):
    source = write_tree(tmp_path / "source", {"train.py": SCRIPT})
    run = Experiment(Workspace("sub", "rg", "default"), "sdk-board").submit(ScriptRunConfig(source, "train.py", run_config=StandIn()))
    run.wait_for_completion()
    return run


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "bin" / "tensorboard"
    write_tree(tmp_path / "bin", {"tensorboard": PROGRAM})
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return path


def fields(data):
    """The fields of a protocol buffer as (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        value, at = data[at:at + size], at + size
        yield key >> 3, struct.unpack("<d" if size == 8 else "<f", value)[0] if key & 7 != 2 else value


def scalars(path):
    """(step, tag, value) of an event file whose checksums are right."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        assert data[at:at + 16 + size] == event_files.record(data[at + 12:at + 12 + size])
        event = dict(fields(data[at + 12:at + 12 + size]))
        at += 16 + size
        if 5 in event:
            value = dict(fields(dict(fields(event[5]))[1]))
            found.append((event[2], value[1].decode(), value[2]))
        else:
            assert event[3] == b"brain.Event:2"
    return found


def test_the_checksum_is_the_published_one():
    # RFC 3720, B.4: 32 bytes of zeros have the CRC-32C 0x8a9136aa.
    crc = 0x8A9136AA
    assert event_files._masked(bytes(32)) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_export(done, tmp_path):
    export_to_tensorboard(done, tmp_path / "export")
    (name,) = os.listdir(tmp_path / "export")
    assert name.startswith("events.out.tfevents.") and name.endswith(done.id)
    found = scalars(tmp_path / "export" / name)
    assert [item for item in found if item[1] == "loss"] == [(0, "loss", 1.0), (10, "loss", 1.5), (20, "loss", 2.25)]
    rest = [item for item in found if item[1] != "loss"]
    assert math.isnan(next(value for _, tag, value in rest if tag == "nan"))
    assert sorted(item for item in rest if item[1] != "nan") == [(0, "list", 7), (0, "rows/x", 1), (0, "table/a", 5), (1, "list", 8), (1, "rows/x", 2),
                                                                 (1, "table/a", 6)]
    export_to_tensorboard([done, done], str(tmp_path / "both"), recursive=False)
    assert os.listdir(tmp_path / "both") == [done.id]
    for wrong in (None, "x", [1]):
        with pytest.raises(UserErrorException, match="run_data"):
            export_to_tensorboard(wrong, tmp_path)
    assert old_export is export_to_tensorboard and OldHome is Tensorboard


def test_the_program_is_started_over_the_logs(done, tmp_path, program):
    shown = Tensorboard([done], local_root=tmp_path / "root", port=7007)
    assert shown.start() == "http://localhost:7007/" == shown.start()
    assert read_tree(tmp_path / "root") == {os.path.join(done.id, "train", "events.out.tfevents.1"): b"one"}
    process = shown._board._process
    shown.stop()
    assert process.poll() is not None
    shown.stop()
    temporary = Tensorboard(done, port=7008)
    temporary.start()
    folder = program.with_name("tensorboard.logdir").read_text().strip()
    assert os.path.isdir(folder)
    temporary.stop()
    assert not os.path.exists(folder)


def test_logs_of_a_run_that_goes_on_are_brought_again(client, tmp_path, program, monkeypatch):
    monkeypatch.setattr(board, "_PAUSE", 0.05)
    (tmp_path / "hold").write_text("")
    source = write_tree(tmp_path / "source", {"train.py": "import os, time\nos.mkdir('logs')\nopen('logs/a', 'w').write('1')\nwhile os.path.exists(%r):\n"
                                              "    time.sleep(0.02)\nopen('logs/a', 'a').write('22')\n" % str(tmp_path / "hold")})
    run = Experiment(Workspace("sub", "rg", "default"), "sdk-board").submit(ScriptRunConfig(source, "train.py", run_config=StandIn()))
    wait_until("a log is there", lambda: "logs/a" in run.get_file_names())
    shown = Tensorboard([run], tmp_path / "root")
    shown.start()
    file = tmp_path / "root" / run.id / "a"
    assert file.read_text() == "1"
    (tmp_path / "hold").unlink()
    wait_until("the new content is there", lambda: file.read_text() == "122")
    shown.stop()


def test_what_is_wrong(done, tmp_path, program, monkeypatch):
    with pytest.raises(AzureMLException, match="ended before it served: TensorBoard could not bind to port 1"):
        Tensorboard([], local_root=tmp_path / "root", port=1).start()
    for arguments in (([],), ("x",), ([1],), ([done], None, "x"), ([done], None, 70000)):
        with pytest.raises(UserErrorException):
            Tensorboard(*arguments)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserErrorException, match="pip install tensorboard"):
        Tensorboard([done]).start()
