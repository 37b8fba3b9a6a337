"""Experiments and what is submitted to them."""

import os

import pytest

from azureml.core import Experiment, Run, ScriptRunConfig, Workspace
from azureml.exceptions import ComputeTargetException, ExperimentNotFoundException, ServiceException, UserErrorException
from ferry import snapshot
from ferry.client import Conflict
from ferry_fixture import write_tree
from stand_in import StandIn


@pytest.fixture
def ws(client):
    return Workspace("sub", "rg", "default")


@pytest.fixture
def source(tmp_path):
    return write_tree(tmp_path / "source", {"train.py": "import sys\nprint('args', sys.argv[1:])\n", "sub/other.py": "print('other')\n"})


def count(ws, experiment):
    return len(list(ws._client.pages("/runs", "runs", experiment=experiment, archived="any")))


def test_submit_a_script(ws, source):
    experiment = Experiment(ws, "sdk-submit")
    run = experiment.submit(ScriptRunConfig(source, "train.py", arguments=["--lr", 0.5, 7, True], run_config=StandIn()), tags={"a": 1, "b": None})
    assert isinstance(run, Run) and run.experiment is experiment and run.id.startswith("sdk-submit_")
    details = run.wait_for_completion()
    assert details["status"] == "Completed"
    assert "args ['--lr', '0.5', '7', 'True']" in run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    assert run.get_tags() == {"a": "1", "b": ""}
    assert run.get_snapshot_id() == snapshot.scan(source).id
    assert ws.get_run(run.id) == run and [one.id for one in experiment.get_runs()] == [run.id]
    view = ws._client.get("/runs/" + run.id)
    assert view["spec"]["max_duration_seconds"] == 2592000


def test_what_is_given_wins_and_a_shared_configuration_stays(ws, source):
    shared = StandIn()
    shared.script = "sub/other.py"
    one = ScriptRunConfig(source, "train.py", arguments=["1"], run_config=shared, max_run_duration_seconds=60)
    two = ScriptRunConfig(source, run_config=shared)
    three = ScriptRunConfig(source_directory=source, command="echo $HOME; echo three", run_config=shared)
    outputs = []
    for config in (one, two, three):
        assert config.run_config is shared
        run = Experiment(ws, "sdk-shared").submit(config=config)
        run.wait_for_completion()
        outputs.append(run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"])
    assert "args ['1']" in outputs[0] and "other" in outputs[1] and "three" in outputs[2]
    assert (shared.script, shared.command, shared.arguments) == ("sub/other.py", None, [])


def test_the_run_id_can_be_chosen(ws, source):
    config = ScriptRunConfig(source, "train.py", run_config=StandIn())
    run = Experiment(ws, "sdk-id").submit(config, run_id="chosen-by-the-test")
    assert run.id == "chosen-by-the-test"
    assert Experiment(ws, "sdk-id").submit(config, run_id="chosen-by-the-test").id == run.id
    with pytest.raises(Conflict):
        Experiment(ws, "sdk-id").submit(config, run_id="chosen-by-the-test", tags={"other": "content"})
    assert count(ws, "sdk-id") == 1


# What is wrong


def test_wrong_configurations_raise_at_once(ws, source, tmp_path):
    for said, arguments in (("script and command cannot both", dict(script="train.py", command=["a"])),
                            ("arguments go with a script", dict(command=["a"], arguments=["b"])),
                            ("arguments must be a list", dict(script="train.py", arguments="--a")),
                            ("script must be a path", dict(script=7)), ("command must be", dict(command=7)), ("command must be", dict(command=[])),
                            ("compute_target must be", dict(script="train.py", compute_target=7)),
                            ("max_run_duration_seconds", dict(script="train.py", max_run_duration_seconds="1h")),
                            ("run_config must be", dict(script="train.py", run_config="local")),
                            ("distributed_job_config must be", dict(script="train.py", run_config=StandIn(), distributed_job_config=7))):
        with pytest.raises(UserErrorException, match=said):
            ScriptRunConfig(source, **{"run_config": StandIn(), **arguments})
    with pytest.raises(UserErrorException, match="source_directory must be a path"):
        ScriptRunConfig(7, "train.py", run_config=StandIn())


def test_nothing_is_half_submitted(ws, source, tmp_path):
    experiment = Experiment(ws, "sdk-wrong")
    write_tree(source, {".amlignore": "hidden.py\n", "hidden.py": ""})
    outside = write_tree(tmp_path, {"outside.py": ""}) + "/outside.py"
    for said, kind, folder, script, fields in (
            ("there is no folder", UserErrorException, source + "/none", "train.py", {}), ("is not a folder", UserErrorException, source + "/train.py", "x", {}),
            ("there is no 'none.py'", UserErrorException, source, "none.py", {}), ("is not a file", UserErrorException, source, "sub", {}),
            ("outside of the source directory", UserErrorException, source, "../outside.py", {}),
            ("outside of the source directory", UserErrorException, source, outside, {}),
            ("left out of the snapshot by .amlignore", UserErrorException, source, "hidden.py", {}),
            ("no compute target 'not-there'", ComputeTargetException, source, "train.py", {"target": "not-there"}),
            ("'wrong' is not a field", UserErrorException, source, "train.py", {"wrong": 1})):
        with pytest.raises(kind, match=said):
            experiment.submit(ScriptRunConfig(folder, script, run_config=StandIn(**fields)))
    good = ScriptRunConfig(source, "train.py", run_config=StandIn())
    for said, call in (("config must be", lambda: experiment.submit("train.py")), ("config must be", lambda: experiment.submit(ScriptRunConfig)),
                       ("no argument 'tag'", lambda: experiment.submit(good, tag={})), ("tags must be a dict", lambda: experiment.submit(good, tags="x")),
                       ("run_id", lambda: experiment.submit(good, run_id=7))):
        with pytest.raises(UserErrorException, match=said):
            call()
    assert count(ws, "sdk-wrong") == 0


def test_a_script_named_from_here_gets_a_hint(ws, source, monkeypatch):
    monkeypatch.chdir(os.path.dirname(source))
    with pytest.raises(UserErrorException, match="a script is named from there: 'train.py'"):
        Experiment(ws, "sdk-wrong").submit(ScriptRunConfig(source, "source/train.py", run_config=StandIn()))
    run = Experiment(ws, "sdk-absolute").submit(ScriptRunConfig(source, source + "/train.py", run_config=StandIn()))
    assert ws._client.get("/runs/" + run.id)["spec"]["script"] == "train.py"


def test_a_server_that_goes_away_in_the_middle(own, outside, monkeypatch, source):
    monkeypatch.setenv("FERRY_HOME", own.home)
    ws = Workspace("s", "g", "default")
    ws._client.patience = 0.2
    experiment = Experiment(ws, "lost")
    own.kill_server()
    with pytest.raises(ServiceException, match="no Ferry server answered"):
        experiment.submit(ScriptRunConfig(source, "train.py", run_config=StandIn()))
    own.start()
    assert count(Workspace("s", "g", "default"), "lost") == 0


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "x" * 256, 7, None, "a..b"])
def test_names_that_are_none(ws, name):
    with pytest.raises(UserErrorException, match="name"):
        Experiment(ws, name)


def test_a_workspace_is_needed():
    with pytest.raises(UserErrorException, match="workspace must be a Workspace"):
        Experiment("default", "x")


# The experiment itself


def test_tags_archive_and_delete(ws):
    experiment = Experiment(workspace=ws, name="sdk-kept")
    assert experiment.id and experiment.tags == {} and experiment.archived_time is None
    experiment.tag("team", "a")
    experiment.set_tags({"x": 1, "y": None})
    assert experiment.tags == {"team": "a", "x": "1", "y": ""}
    assert experiment.remove_tags(["x", "y"]) == {"team": "a"}
    assert [one.name for one in Experiment.list(ws, tags={"team": "a"})] == ["sdk-kept"] and Experiment.list(ws, tags="none") == []
    experiment.archive()
    assert experiment.archived_time
    assert "sdk-kept" not in ws.experiments and [one.name for one in Experiment.list(ws, "sdk-kept", "ArchivedOnly")] == ["sdk-kept"]
    experiment.reactivate(new_name="sdk-renamed")
    assert experiment.name == "sdk-renamed" and experiment.archived_time is None and "sdk-renamed" in ws.experiments
    experiment.refresh()
    assert experiment.tags == {"team": "a"}
    Experiment.delete(ws, experiment.id)
    assert "sdk-renamed" not in ws.experiments
    with pytest.raises(ExperimentNotFoundException):
        Experiment.delete(ws, "none")
    with pytest.raises(UserErrorException, match="view_type"):
        Experiment.list(ws, view_type="x")


def test_it_renders(ws):
    experiment = Experiment(ws, "sdk-kept")
    assert repr(experiment) == "Experiment(Name: sdk-kept, Workspace: default)"
    assert "sdk-kept" in experiment._repr_html_() and "<a href" in experiment._repr_html_()


# Runs of it


def test_get_runs_with_filters(ws, source):
    experiment = Experiment(ws, "sdk-filters")
    config = ScriptRunConfig(source, "train.py", run_config=StandIn())
    for number in range(3):
        run = experiment.submit(config, tags={"n": number, "it's": "odd, really", **({"last": ""} if number == 2 else {})})
        run.add_properties({"parity": number % 2})
    ids = [run.id for run in experiment.get_runs()]
    assert ids[0] == run.id and len(ids) == 3
    assert [run.id for run in experiment.get_runs(tags={"n": 1})] == [ids[1]]
    assert [run.id for run in experiment.get_runs(tags="last")] == [ids[0]]
    assert [run.id for run in experiment.get_runs(tags={"it's": "odd, really"}, properties={"parity": "0"})] == [ids[0], ids[2]]
    assert list(experiment.get_runs(tags="none")) == [] and list(experiment.get_runs(type="azureml.none")) == []
    assert len(list(experiment.get_runs(type="azureml.scriptrun"))) == 3
    child = run.submit_child(config)
    assert child.id not in [one.id for one in experiment.get_runs()]
    assert child.id in [one.id for one in experiment.get_runs(include_children=True)]
    assert child.parent == run and [one.id for one in run.get_children()] == [child.id]
    with pytest.raises(UserErrorException, match="tags must be"):
        experiment.get_runs(tags=7)
    with pytest.raises(UserErrorException, match="status"):
        Run.list(experiment, status="Done")
