"""`ferry az-alias` in real shells: `az ml ...` is Ferry's, and everything else is the real az's."""

import json
import os
import shutil
import stat
import subprocess

import pytest
from ferry_fixture import BINARY, PYTHON, write_tree

SHELLS = ("bash", "dash", "sh", "zsh")



@pytest.fixture(params=SHELLS)
def az(request, shared, tmp_path):
    """Runs a line in a shell that has sourced the function, without any other az on the PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    environment = dict(shared.environment, PATH=str(tools))

    def run(line, strict="set -eu", **more):
        script = '%s\neval "$(%s az-alias)"\n%s' % (strict, BINARY, line)
        return subprocess.run([shutil.which(request.param), "-c", script], cwd=str(tmp_path), env=dict(environment, **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)

    run.tools, run.server, run.folder = tools, shared, tmp_path
    return run


def test_login_and_account(az):
    for line in ("az login", "az login --service-principal -u me -p secret --tenant t", "az account list"):
        done = az(line)
        assert done.returncode == 0 and json.loads(done.stdout)[0]["user"]["name"] == "admin", done
        assert az.server.url in done.stderr and "user 'admin'" in done.stderr and "secret" not in done.stderr, done
    done = az("az account set --subscription 00000000-0000-0000-0000-000000000000; az account set -s x; az account show --query name -o tsv")
    assert done.returncode == 0 and done.stdout == az.server.url + "\n", done
    assert done.stderr.count("accepted and not used") == 2, done


def test_what_the_seeds_type(az):
    write_tree(az.folder, {"my_train.py": "print('trained')\n"})
    done = az('az ml folder attach -w default -e seeds\naz ml experiment create -n seeds\naz ml run submit-script -e seeds -c local --interpreter "$PYTHON" -t run.json my_train.py', PYTHON=PYTHON)
    assert done.returncode == 0 and "trained" in done.stderr, done
    run = json.loads((az.folder / "run.json").read_text())
    assert run["status"] == "Completed" and run["experimentName"] == "seeds"
    done = az("az ml run show -r %s --query runId -o tsv; az batchai cluster list -o table; az batchai job list --query '[].name' -o tsv" % run["runId"])
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == run["runId"] == lines[-1 - lines[::-1].index(run["runId"])], done
    assert any(line.split()[:3] == ["local", "steady", "1"] for line in lines), done
    done = az("az ml run submit-hyperdrive -e seeds -c local --hyperdrive-configuration-name hd.yml my_train.py")
    assert done.returncode == 1 and done.stderr == "ERROR: 'az ml run submit-hyperdrive' is not part of this version of Ferry yet.\n", done


def test_exit_statuses(az):
    assert az("az ml run show -r none-of-this-name").returncode == 3
    assert az("az ml run show").returncode == 2
    assert az("az ml nonsense").returncode == 2
    assert az("az ml computetarget delete -n local").returncode == 1
    assert az("az ml run list -o none").returncode == 0
    # The function's own status is that of what it called.
    assert az("az ml run show -r none || echo failed", strict="").stdout == "failed\n"


def test_words_stay_words(az):
    done = az("az ml experiment create -n 'no good name'; echo $?", strict="")
    assert "'no good name'" in done.stderr and done.stdout.endswith("1\n"), done
    done = az("az ml run list --query \"[?status=='x y'] | length(@)\"")
    assert done.returncode == 0 and done.stdout == "0\n", done


def test_everything_else_is_the_real_az(az):
    done = az("az storage account list")
    assert done.returncode == 127 and "'storage' is not one of Ferry's" in done.stderr, done
    real = az.tools / "az"
    real.write_text("#!%s\necho real \"$@\"\nexit 5\n" % shutil.which("sh"))
    real.chmod(real.stat().st_mode | stat.S_IXUSR)
    done = az("az storage account list --query 'a b'", strict="")
    assert done.returncode == 5 and done.stdout == "real storage account list --query a b\n", done
    assert az("az", strict="").stdout == "real\n"
    assert az("az account get-access-token", strict="").stdout == "real account get-access-token\n"
    assert json.loads(az("az ml run list").stdout) is not None


def test_a_path_with_quotes(tmp_path, shared):
    odd = tmp_path / "it's a \"path\""
    odd.mkdir()
    os.symlink(BINARY, odd / "ferry")
    text = subprocess.run([str(odd / "ferry"), "az-alias"], stdout=subprocess.PIPE, text=True, check=True).stdout
    copied = tmp_path / "copied 'it'"
    copied.mkdir()
    shutil.copy(BINARY, copied / "ferry")
    text = subprocess.run([str(copied / "ferry"), "az-alias"], stdout=subprocess.PIPE, text=True, check=True).stdout
    done = subprocess.run(["sh", "-c", text + "az account show -o none"], env=shared.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done
