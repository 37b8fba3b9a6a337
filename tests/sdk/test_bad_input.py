"""What users get wrong: the right exception with what was expected and found, and nothing on the server that was not there before."""

import os

import pytest

from azureml.core import Environment, Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.compute import ComputeTarget
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import RunConfiguration
from azureml.exceptions import AzureMLException, ComputeTargetException, UserErrorException
from ferry.client import Conflict, Unreachable
from ferry_fixture import write_tree

NAME = "bad-input"


def local():
    configuration = RunConfiguration()
    configuration.environment.python.user_managed_dependencies = True
    return configuration


@pytest.fixture
def exp(shared, outside, monkeypatch):
    monkeypatch.setenv("FERRY_HOME", shared.home)
    return Experiment(Workspace.get("default"), NAME)


@pytest.fixture
def source(tmp_path):
    return write_tree(tmp_path / "source", {"train.py": "print('hello')\n"})


@pytest.fixture
def nothing_new(exp, shared):
    """Whatever the test does, no run is there after it that was not there before, and no experiment."""
    def there():
        return {run["id"] for run in shared.get("/runs?limit=1000")["runs"]}, {one["name"] for one in shared.get("/experiments?limit=1000")["experiments"]}

    before = there()
    yield
    assert there() == before


def refused(call, kind=UserErrorException):
    with pytest.raises(kind) as error:
        call()
    assert isinstance(error.value, AzureMLException) and error.value.message == str(error.value)
    return error.value.message


def changed(**attributes):
    """A configuration with attributes set, by their paths with '__' for '.'."""
    configuration = local()
    for path, value in attributes.items():
        *parents, name = path.split("__")
        part = configuration
        for parent in parents:
            part = getattr(part, parent)
        setattr(part, name, value)
    return configuration


# Wrong types


@pytest.mark.parametrize("arguments, message", [
    (dict(source_directory=7, script="train.py"), "source_directory"),
    (dict(script=["train.py"]), "script"),
    (dict(script="train.py", arguments="--alpha 1"), "arguments"),
    (dict(script="train.py", arguments={"--alpha": 1}), "arguments"),
    (dict(script="train.py", run_config="local"), "run_config must be a RunConfiguration, not a value of type str"),
    (dict(script="train.py", compute_target=7), "compute_target must be a name or a ComputeTarget, not a value of type int"),
    (dict(script="train.py", max_run_duration_seconds="1h"), "max_run_duration_seconds must be a whole number of seconds, not '1h'"),
    (dict(script="train.py", max_run_duration_seconds=-1), "max_run_duration_seconds must be a whole number of seconds, not -1"),
    (dict(script="train.py", distributed_job_config={"node_count": 2}), "distributed_job_config must be an MpiConfiguration"),
    (dict(command=7), "command"),
], ids=lambda value: next(iter(set(value) - {"script"}), "script") if isinstance(value, dict) else "")
def test_wrong_types_of_a_script_run_config(exp, source, nothing_new, arguments, message):
    arguments = {"source_directory": source, **arguments}
    assert message in refused(lambda: exp.submit(ScriptRunConfig(**arguments)))


@pytest.mark.parametrize("attributes, message", [
    (dict(node_count="four"), "node_count"),
    (dict(node_count=0), "node_count"),
    (dict(framework="Fortran"), "framework"),
    (dict(environment="mine"), "environment"),
    (dict(environment__python__conda_dependencies=["numpy"]), "environment.python.conda_dependencies"),
    (dict(environment__environment_variables=["A=1"]), "environment_variables"),
    (dict(environment_variables={"A": object()}), "environment_variables"),
    (dict(history__directories_to_watch=["../up"]), "history.directories_to_watch[0]"),
    (dict(data_references=["x"]), "data_references"),
    (dict(data={"x": 7}), "data.x"),
    (dict(output_data={"x": 7}), "output_data.x"),
    (dict(target=7), "target"),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_wrong_types_in_a_run_configuration(exp, source, nothing_new, attributes, message):
    configuration = []

    def submit():
        configuration.append(changed(**attributes))
        exp.submit(ScriptRunConfig(source, "train.py", run_config=configuration[0]))

    said = refused(submit)
    assert message in said and "expected" in said, said


def test_an_attribute_that_is_none(nothing_new):
    with pytest.raises(AttributeError, match="did you mean 'node_count'"):
        RunConfiguration().node_cuont = 4


def test_wrong_things_to_submit(exp, source, nothing_new):
    for config in (None, "train.py", {"script": "train.py"}, RunConfiguration(), ScriptRunConfig):
        assert "config must be a ScriptRunConfig" in refused(lambda config=config: exp.submit(config))
    assert "tags must be a dict" in refused(lambda: exp.submit(ScriptRunConfig(source, "train.py", run_config=local()), tags=["a"]))
    assert "submit has no argument 'run_ide'" in refused(lambda: exp.submit(ScriptRunConfig(source, "train.py", run_config=local()), run_ide="x"))
    assert "workspace must be a Workspace" in refused(lambda: Experiment("default", NAME))
    assert "name must be a string" in refused(lambda: Experiment(exp.workspace, 7))


def test_wrong_packages(nothing_new):
    for call in (lambda: CondaDependencies.create(conda_packages="numpy"), lambda: CondaDependencies.create(pip_packages=[None]),
                 lambda: CondaDependencies().add_pip_package(None)):
        refused(call)


# Both, or nothing


def test_both_script_and_command(exp, source, nothing_new):
    assert "script" in refused(lambda: ScriptRunConfig(source, script="train.py", command=["python", "train.py"]))
    assert "arguments" in refused(lambda: ScriptRunConfig(source, command=["python"], arguments=["train.py"]))
    assert "script" in refused(lambda: exp.submit(ScriptRunConfig(source, run_config=local())))
    both = local()
    both.script, both.command = "train.py", "python train.py"
    assert "script and command exclude each other" in refused(lambda: exp.submit(ScriptRunConfig(source, run_config=both)))


# Folders and files


def test_a_missing_folder(exp, source, nothing_new, tmp_path):
    said = refused(lambda: exp.submit(ScriptRunConfig(str(tmp_path / "gone"), "train.py", run_config=local())), AzureMLException)
    assert "gone" in said and "source_directory" in said
    assert "train.py" in refused(lambda: exp.submit(ScriptRunConfig(os.path.join(source, "train.py"), "train.py", run_config=local())), AzureMLException)
    assert "there is no 'gone.py'" in refused(lambda: exp.submit(ScriptRunConfig(source, "gone.py", run_config=local())))
    assert "is outside of the source directory" in refused(lambda: exp.submit(ScriptRunConfig(source, "../train.py", run_config=local())))
    (tmp_path / "source" / ".amlignore").write_text("*.py\n")
    assert "is left out of the snapshot by .amlignore" in refused(lambda: exp.submit(ScriptRunConfig(source, "train.py", run_config=local())))
    assert "nowhere" in refused(lambda: Workspace.from_config(path=str(tmp_path / "nowhere")))


def test_a_missing_file_of_packages(exp, source, nothing_new):
    for call in (lambda: Environment.from_conda_specification("e", "gone.yml"), lambda: Environment.from_pip_requirements("e", "gone.txt"),
                 lambda: CondaDependencies("gone.yml")):
        assert "gone." in refused(call)
    named = local()
    named.environment.python.user_managed_dependencies = False
    named.environment.python.conda_dependencies = None
    named.environment.python.conda_dependencies_file = "gone.yml"
    assert "gone.yml" in refused(lambda: exp.submit(ScriptRunConfig(source, "train.py", run_config=named)))


# Names


def test_an_unknown_compute_name(exp, source, nothing_new):
    said = refused(lambda: exp.submit(ScriptRunConfig(source, "train.py", run_config=local(), compute_target="gpu-cluster")), ComputeTargetException)
    assert said == "there is no compute target 'gpu-cluster' in workspace 'default'; there are 'local'"
    assert "gpu-cluster" in refused(lambda: ComputeTarget(exp.workspace, "gpu-cluster"), ComputeTargetException)


@pytest.mark.parametrize("name", ["AzureML-mine", "azureml-mine", "Microsoft-mine"])
def test_a_reserved_environment_name(exp, source, nothing_new, name):
    mine = Environment(name)
    mine.python.conda_dependencies.add_pip_package("six")
    assert "reserved" in refused(lambda: mine.register(exp.workspace)) and name.lower() not in {one.lower() for one in Environment.list(exp.workspace)}
    assert "reserved" in refused(lambda: exp.submit(ScriptRunConfig(source, "train.py", environment=mine)))
    assert "reserved" in refused(lambda: Environment("fine").clone(name).register(exp.workspace))


def test_unknown_names(exp, nothing_new):
    assert "gone" in refused(lambda: Environment.get(exp.workspace, "gone"), AzureMLException)
    assert "gone" in refused(lambda: Run.get(exp.workspace, "gone"), AzureMLException)
    assert "gone" in refused(lambda: Workspace.get("gone"), AzureMLException)


def test_a_workspace_is_not_half_made(exp):
    from azureml.exceptions import ScenarioNotSupportedException

    said = refused(lambda: Workspace.create("half", default_cpu_compute_target=Workspace.DEFAULT_CPU_CLUSTER_CONFIGURATION), ScenarioNotSupportedException)
    assert said == "A cluster that is made with its workspace (default_cpu_compute_target) is not part of this version of Ferry yet. Leave it out, and use the target 'local'."
    assert "half" not in Workspace.list("")


# A run that is there


@pytest.fixture
def run(exp, source):
    run = exp.submit(ScriptRunConfig(source, "train.py", run_config=local()))
    run.wait_for_completion()
    return run


def test_a_property_set_twice(run):
    run.add_properties({"author": "me"})
    assert "author" in refused(lambda: run.add_properties({"author": "you", "other": "x"}), AzureMLException)
    assert run.get_properties()["author"] == "me" and "other" not in run.get_properties(), "all or nothing"


def test_a_download_of_a_file_that_is_not_there(run, tmp_path):
    target = tmp_path / "model.pkl"
    said = refused(lambda: run.download_file("outputs/model.pkl", str(target)), AzureMLException)
    assert "outputs/model.pkl" in said and "user_logs/std_log.txt" in said and not target.exists() and os.listdir(tmp_path) == ["source"]
    assert "outputs/model.pkl" in refused(lambda: run.register_model("m", "outputs/model.pkl"), AzureMLException)


def test_a_run_that_has_ended(run):
    run.complete()
    run.cancel()
    assert refused(lambda: run.fail("late"), Conflict) == f"run '{run.id}' has already ended: Completed"
    assert run.get_status() == "Completed"


def test_an_id_twice(exp, source, run):
    other = write_tree(os.path.join(source, os.pardir, "other"), {"train.py": "print('other')\n"})
    with pytest.raises(Conflict) as error:
        exp.submit(ScriptRunConfig(other, "train.py", run_config=local()), run_id=run.id)
    assert run.id in error.value.message


# The server


def test_a_server_that_went_away_in_the_middle(own, outside, monkeypatch, source):
    """Between two calls, while a run is waited for, and for good."""
    monkeypatch.setenv("FERRY_URL", own.url)
    monkeypatch.setenv("FERRY_TOKEN", own.token)
    write_tree(source, {"wait.py": "import os, time\nprint('started', flush=True)\nwhile not os.path.exists(%r): time.sleep(0.05)\nprint('ended')\n" % os.path.join(source, "go")})
    exp = Experiment(Workspace.get("default"), NAME)
    src = ScriptRunConfig(source, "wait.py", run_config=local())
    run = exp.submit(src)
    own.wait_output(run.id, "started")
    own.kill_server()
    write_tree(source, {"go": ""})
    own.start("--port", own.url.rpartition(":")[2])
    run.wait_for_completion(show_output=True)
    assert run.get_status() == "Completed" and len(list(exp.get_runs())) == 1, "a restart loses nothing and adds nothing"
    own.stop()
    exp.workspace._client.patience = 0.2
    said = refused(lambda: exp.submit(src), Unreachable)
    assert own.url.split("//")[1] in said
    own.start("--port", own.url.rpartition(":")[2])
    assert [one.id for one in exp.get_runs()] == [run.id]
