"""Runs in environments that Ferry makes: built once, shown while they are built, found again, fetched, refused in one sentence."""

import concurrent.futures
import json
import os
import shutil
import subprocess
import textwrap

import pytest
from ferry_fixture import PYTHON, ROOT, Ferry, wait_until

BUILD_LOG = "azureml-logs/20_image_build_log.txt"


def pip(*lines, **more):
    return {"python": {"condaDependencies": {"dependencies": [{"pip": list(lines)}]}}, **more}


def environments_of(ferry):
    folder = os.path.join(ferry.home, "agent", "environments")
    return sorted(name for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name, "ready.json"))) if os.path.isdir(folder) else []


def left_over(ferry):
    folder = os.path.join(ferry.home, "agent", "environments")
    return sorted(set(os.listdir(folder)) - set(environments_of(ferry))) if os.path.isdir(folder) else []


def used(view):
    return view["environment"]


class Slow:
    """A package whose build waits until it is let go."""

    def __init__(self, folder):
        self.folder = folder
        self.begun, self.go = folder / "begun", folder / "go"
        source = folder / "slow package"
        source.mkdir(parents=True)
        (source / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')
        (source / "backend.py").write_text(textwrap.dedent(f"""
            import os, time, zipfile
            def build_wheel(folder, config_settings=None, metadata_directory=None):
                open({str(self.begun)!r}, "a").write("x")
                while not os.path.exists({str(self.go)!r}):
                    time.sleep(0.05)
                name = "slowpackage-1.0-py3-none-any.whl"
                with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
                    wheel.writestr("slowpackage.py", "VALUE = 42\\n")
                    wheel.writestr("slowpackage-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: slowpackage\\nVersion: 1.0\\n")
                    wheel.writestr("slowpackage-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
                    wheel.writestr("slowpackage-1.0.dist-info/RECORD", "slowpackage.py,,\\nslowpackage-1.0.dist-info/METADATA,,\\nslowpackage-1.0.dist-info/WHEEL,,\\nslowpackage-1.0.dist-info/RECORD,,\\n")
                return name
        """))
        self.definition = pip("slowpackage @ file://" + str(source).replace(" ", "%20"))

    def wait_begun(self, times=1):
        wait_until("the build has begun", lambda: self.begun.exists() and len(self.begun.read_text()) >= times, 120)


@pytest.fixture
def slow(tmp_path):
    return Slow(tmp_path / "slow")


@pytest.fixture
def wide(tmp_path):
    """A server with room for ten runs at once."""
    own = Ferry(tmp_path / "home", ["--slots", "10"])
    own.start()
    yield own
    own.clean_up()


def test_a_pip_specification_is_built_once_and_found_again(ferry):
    command = ["python", "-c", "import six, sys; print('six', six.__version__, sys.prefix)"]
    first = ferry.wait(ferry.submit(*command, environment_definition=pip("six==1.16.0")), "Completed", timeout=180)
    assert b"six 1.16.0" in ferry.log(first["id"]), ferry.log(first["id"])
    assert used(first)["how"] == "built"
    assert b"six" in ferry.log(first["id"], BUILD_LOG)
    second = ferry.wait(ferry.submit(*command, environment_definition=pip("# the same", "Six == 1.16.0")), "Completed", timeout=60)
    assert used(second)["how"] == "found" and used(second)["key"] == used(first)["key"]
    assert ferry.log(second["id"], BUILD_LOG) == b""
    assert environments_of(ferry) == [used(first)["key"]]
    # The clocks, and the lock.
    assert [clock["name"] for clock in first["clocks"]] == ["snapshot", "environment", "start"], first
    assert all(clock["end"] >= clock["start"] for clock in first["clocks"])
    lock = ferry.get("/runs/%s/lock" % first["id"])
    assert {"six": "1.16.0"}.items() <= {package["name"]: package["version"] for package in lock["packages"]}.items(), lock


def test_a_script_runs_in_its_environment(ferry, tmp_path):
    source = tmp_path / "söurce folder"
    source.mkdir()
    (source / "train.py").write_text("import six, azureml.core\nfrom azureml.core import Run\nRun.get_context().log('six', 1)\nprint(six.__file__)\n")
    (source / ".azureml").mkdir()
    (source / ".azureml" / "conda_dependencies.yml").write_text("dependencies:\n- pip:\n  - six==1.16.0\n  - azureml-defaults\n")
    (source / ".azureml" / "mine.runconfig").write_text("script: train.py\nenvironment:\n  python:\n    condaDependenciesFile: .azureml/conda_dependencies.yml\n")
    done = ferry.run("run", "submit-script", "-e", "test", "-c", "mine", "--source-directory", source, timeout=180)
    assert done.returncode == 0, done
    assert "/environments/" in done.stdout, done


def test_ten_runs_at_once_build_it_once_and_show_the_same_log(wide, slow):
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        runs = list(pool.map(lambda _: wide.submit("python", "-c", "import slowpackage; print(slowpackage.VALUE)", environment_definition=slow.definition), range(10)))
    slow.wait_begun()
    # Live: every one of them shows the log before the build has ended.
    for run in runs:
        wait_until("the build log of %s is shown" % run, lambda run=run: wide.log(run, BUILD_LOG), 60)
        assert wide.status(run) == "Preparing"
    slow.go.touch()
    views = [wide.wait(run, "Completed", timeout=120) for run in runs]
    assert sorted(used(view)["how"] for view in views) == ["built"] + ["waited"] * 9
    assert len({wide.log(run, BUILD_LOG) for run in runs}) == 1
    assert slow.begun.read_text() == "x"
    assert len(environments_of(wide)) == 1 and left_over(wide) == []


def test_a_canceled_run_does_not_end_a_build_that_others_wait_for(ferry, slow):
    first = ferry.submit("python", "-c", "import slowpackage", environment_definition=slow.definition)
    slow.wait_begun()
    second = ferry.submit("python", "-c", "import slowpackage", environment_definition=slow.definition)
    wait_until("the second waits", lambda: ferry.log(second, BUILD_LOG), 60)
    ferry.post("/runs/%s/cancel" % first)
    ferry.wait(first, "Canceled")
    slow.go.touch()
    assert used(ferry.wait(second, "Completed", timeout=120))["how"] == "waited"
    assert slow.begun.read_text() == "x"


def test_a_build_that_nobody_waits_for_ends(ferry, slow):
    run = ferry.submit("true", environment_definition=slow.definition)
    slow.wait_begun()
    wait_until("it says what it waits for", lambda: "builds its environment 'Experiment test Environment:1'" in ferry.ok("run", "explain", "-r", run))
    ferry.post("/runs/%s/cancel" % run)
    ferry.wait(run, "Canceled")
    wait_until("nothing is left of the build", lambda: environments_of(ferry) == [] and left_over(ferry) == [])


def test_kill_of_the_agent_in_the_middle_leaves_no_half_environment(ferry, slow):
    run = ferry.submit("python", "-c", "import slowpackage; print('value', slowpackage.VALUE)", environment_definition=slow.definition)
    slow.wait_begun()
    ferry.kill_agent()
    assert environments_of(ferry) == []
    # The next agent ends what was left of it and builds it anew.
    slow.wait_begun(2)
    slow.go.touch()
    view = ferry.wait(run, "Completed", timeout=120)
    assert b"value 42" in ferry.log(run)
    assert used(view)["how"] == "built" and len(environments_of(ferry)) == 1 and left_over(ferry) == []


def test_an_impossible_pin_fails_with_one_sentence(ferry):
    run = ferry.submit("true", environment_definition=pip("iniconfig", "six==99.0"))
    view = ferry.wait(run, "Failed", timeout=120)
    assert "six==99.0" in view["end"]["text"], view
    assert b"six" in ferry.log(run, BUILD_LOG)
    assert environments_of(ferry) == [] and left_over(ferry) == []


def test_a_python_pin_that_cannot_be_met_is_not_relaxed(ferry):
    definition = {"python": {"condaDependencies": {"channels": ["http://127.0.0.1:1/nowhere"], "dependencies": ["python=2.6"]}}}
    view = ferry.wait(ferry.submit("true", environment_definition=definition), "Failed", timeout=180)
    assert "2.6" in view["end"]["text"], view


def test_without_preparation_it_fails_at_once(ferry):
    definition = pip("six==1.15.0")
    view = ferry.wait(ferry.submit("true", environment_definition=definition, auto_prepare=False), "Failed")
    assert "autoPrepareEnvironment" in view["end"]["text"], view
    ferry.wait(ferry.submit("true", environment_definition=definition), "Completed", timeout=120)
    ferry.wait(ferry.submit("true", environment_definition=definition, auto_prepare=False), "Completed")


def test_a_user_managed_interpreter_is_recorded(ferry, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text("print('here')\n")
    view = ferry.wait(ferry.submit_script(source, "train.py"), "Completed")
    assert used(view)["how"] == "existing"
    lock = ferry.get("/runs/%s/lock" % view["id"])
    assert lock["kind"] == "existing" and lock["python"].startswith("3.")
    assert "pytest" in {package["name"].lower() for package in lock["packages"]}
    definition = {"python": {"userManagedDependencies": True, "interpreterPath": "/nowhere/python"}}
    snapshot = view["spec"]["snapshot"]
    run = ferry.post("/runs", {"experiment": "test", "script": "train.py", "snapshot": snapshot, "environment_definition": definition})["id"]
    assert "/nowhere/python" in ferry.wait(run, "Failed")["end"]["text"]


def test_it_is_fetched_as_it_was_built_where_no_index_answers(ferry):
    command = ["python", "-c", "import six, sys; print(six.__version__, sys.prefix)"]
    first = ferry.wait(ferry.submit(*command, environment_definition=pip("six==1.16.0")), "Completed", timeout=180)
    key = used(first)["key"]
    wait_until("the server has it as it was built", lambda: b'"archive"' in ferry.api("GET", "/api/v1/builds/" + key).raw, 60)
    ferry.stop()
    # As on a node that never had it, at another path.
    agent = os.path.join(ferry.home, "agent")
    wait_until("the agent is gone", lambda: not os.path.exists(os.path.join(ferry.home, "server.pid")))
    shutil.move(os.path.join(agent, "environments"), os.path.join(agent, "gone"))
    shutil.rmtree(os.path.join(agent, "cache"), ignore_errors=True)
    ferry.environment.update(PIP_INDEX_URL="http://127.0.0.1:1/simple", UV_INDEX_URL="http://127.0.0.1:1/simple", PIP_FIND_LINKS="", UV_OFFLINE="1", PIP_NO_CACHE_DIR="1")
    ferry.start()
    shutil.rmtree(os.path.join(agent, "gone"))
    second = ferry.wait(ferry.submit(*command, environment_definition=pip("six==1.16.0")), "Completed", timeout=60)
    assert used(second)["how"] == "fetched", second
    assert b"1.16.0" in ferry.log(second["id"])


def test_what_is_watched_and_what_is_not_collected(ferry):
    text = "import os; os.makedirs('outputs'); os.makedirs('traces/deep'); os.makedirs('logs'); open('outputs/o', 'w').write('o'); open('traces/deep/t.txt', 'w').write('seen'); open('logs/l.txt', 'w').write('not watched')"
    run = ferry.submit_python(text, watch=["traces"], collect_outputs=False)
    ferry.wait(run, "Completed")
    assert ferry.log(run, "traces/deep/t.txt") == b"seen"
    assert ferry.log(run, "logs/l.txt") == b""
    assert [artifact["path"] for artifact in ferry.get("/runs/%s/artifacts" % run)["artifacts"] if artifact["path"].startswith("outputs/")] == []
    answer = ferry.api("POST", "/api/v1/runs", {"experiment": "test", "command": ["true"], "watch": ["../up"]})
    assert answer.status == 400 and answer.error["field"].startswith("watch"), answer


def test_variables_of_the_environment_reach_the_script(ferry):
    definition = {"python": {"userManagedDependencies": True, "interpreterPath": PYTHON}, "environmentVariables": {"FROM_ENVIRONMENT": "a b", "BOTH": "environment"}}
    run = ferry.submit_python("import os; print(os.environ['FROM_ENVIRONMENT'], os.environ['BOTH'])", environment_definition=definition, environment={"BOTH": "run"})
    ferry.wait(run, "Completed")
    assert ferry.output(run).strip().endswith(b"a b run"), ferry.log(run)
    assert json.dumps(ferry.show(run))


def test_conda_where_no_channel_answers_and_where_one_does(ferry, tmp_path):
    def conda(channel, *dependencies):
        return {"python": {"condaDependencies": {"channels": [channel], "dependencies": ["python=3.11", *dependencies]}}}

    # No channel: the names that PyPI has are taken from there, and the run says so.
    run = ferry.submit("python", "-c", "import six; print(six.__version__)", environment_definition=conda("http://127.0.0.1:1/nowhere", "six=1.16"))
    ferry.wait(run, "Completed", timeout=300)
    assert b"1.16" in ferry.output(run)
    assert b"PyPI" in ferry.log(run) and b"PyPI" in ferry.log(run, BUILD_LOG)
    # What solved for it makes a channel of the test's own.
    tools = [os.path.join(folder, "bin", "python") for folder, _, files in os.walk(os.path.join(ferry.home, "agent", "tools")) if "pyvenv.cfg" in files]
    channel = tmp_path / "channel"
    channel.mkdir()
    subprocess.run([tools[0], os.path.join(ROOT, "src", "environment", "conda", "testdata", "make_channel.py"), str(channel)], check=True, timeout=120)
    run = ferry.submit("python", "-c", "import six_noarch, sys; print('conda', sys.prefix)", environment_definition=conda("file://%s" % channel, "six-noarch=1.0"))
    view = ferry.wait(run, "Completed", timeout=180)
    lock = ferry.get("/runs/%s/lock" % run)
    assert lock["kind"] == "conda"
    assert ("six-noarch", "1.0", "conda") in {(package["name"], package["version"], package["source"]) for package in lock["packages"]}
    assert used(view)["how"] == "built"
    failed = ferry.wait(ferry.submit("true", environment_definition=conda("file://%s" % channel, "six-noarch>=99")), "Failed", timeout=120)
    assert "six-noarch" in failed["end"]["text"], failed


def test_a_rerun_has_the_versions_of_the_first(ferry, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text("import six\nprint('six', six.__version__)\n")
    (source / "conda.yml").write_text("dependencies:\n- pip:\n  - six<1.16\n")
    first = ferry.ok("run", "submit-script", "--async", "-e", "test", "-d", "conda.yml", "--source-directory", source, "train.py").strip()
    ferry.wait(first, "Completed", timeout=180)
    second = ferry.ok("run", "rerun", "-r", first, "--async").strip()
    view = ferry.wait(second, "Completed", timeout=180)
    assert view["environment"]["locked"] is True
    assert ferry.output(second) == ferry.output(first) == b"six 1.15.0\n"
    versions = [{(package["name"], package["version"]) for package in ferry.get("/runs/%s/lock" % run)["packages"]} for run in (first, second)]
    assert versions[0] == versions[1]
    assert ferry.ok("environment", "diff", first, second).strip()
