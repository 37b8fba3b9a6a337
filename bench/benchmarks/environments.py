"""Environments: what a built one costs a run, the first build beside uv and pip, and having it as it was built elsewhere."""

import json
import os
import re
import shutil
import time

from support import ferry, peers, report, submit
from support.bench import BUILD, PYTHON, output, run as run_command

TITLE = "environments: a run in one that is built, the first build, and one built elsewhere"
PACKAGE = "scikit-learn==1.5.2"


def definition(*lines):
    return {"python": {"condaDependencies": {"dependencies": [{"pip": list(lines)}]}}}


def wait_run(server, run):
    view = server.wait(run, timeout=600)
    if view["status"] != "Completed":
        raise RuntimeError(f"{run} is {view['status']}: {json.dumps(view.get('end'))}")
    return view


def write_source(folder):
    os.makedirs(os.path.join(folder, ".azureml"))
    with open(os.path.join(folder, "first.py"), "w") as file:
        file.write(submit.FIRST)
    for name, environment in (("here", f"    userManagedDependencies: true\n    interpreterPath: {PYTHON}\n"),
                              ("image", "    userManagedDependencies: true\n    interpreterPath: python3\n  docker:\n    enabled: true\n    baseImage: mcr.microsoft.com/azureml/base:0.2.2\n"),
                              ("built", "    condaDependencies:\n      dependencies:\n      - pip:\n        - six==1.16.0\n")):
        with open(os.path.join(folder, ".azureml", name + ".runconfig"), "w") as file:
            file.write("script: first.py\nenvironment:\n  python:\n" + environment)


def measure_image(bench, source):
    server = ferry.Server(os.path.join(bench.folder, "boxes"))
    server.env.update(peers.podman_environment())
    bench.versions["podman"] = output("podman", "--version").replace("podman version ", "")
    bench.keep(server)
    submitted = submit.first_line([ferry.BINARY, "run", "submit-script", "-c", "image"], env=server.env, cwd=source, timeout=600)
    del submitted
    run_id = server.call("GET", "/api/v1/runs?limit=1")["runs"][0]["id"]
    name = server.call("GET", f"/api/v1/runs/{run_id}/lock")["image"]
    plain = ["podman", "run", "--rm", "--network", "host", "--volume", f"{source}:{source}", "--workdir", source, name, "python3", "first.py"]
    samples = bench.alternate(bench.reps(12), {
        "ferry": lambda: submit.first_line([ferry.BINARY, "run", "submit-script", "-c", "image"], env=server.env, cwd=source)[0],
        "podman run": lambda: submit.first_line(plain, env=server.env)[0]})
    base = report.quantile(samples["podman run"], 0.5)
    bench.row("run in an image that is built, over `podman run` of it", "ms", [value - base for value in samples["ferry"]], bar="+100 ms", limit=100)
    bench.row("`podman run` itself, to the script's own clock", "ms", samples["podman run"])


def measure_known(bench):
    program = os.path.join(BUILD, "..", "registry_bench")
    if not os.path.exists(program):
        run_command(["cmake", "--build", os.path.join(BUILD, ".."), "--target", "registry_bench"], timeout=900)
    times = []
    for _ in range(bench.reps(7, 3)):
        found = re.search(r"([0-9.]+) ms", run_command([program, bench.folder], timeout=120))
        times.append(float(found.group(1)))
    bench.row("deciding that 1,000 known environments are unchanged", "ms", times, bar="50 ms", limit=50)


def run(bench):
    uv = peers.venv("uv", "uv")
    if uv:
        bench.versions["uv"] = peers.venv_version("uv")
    else:
        bench.note("uv could not be measured: run bench/install")
    path = os.environ["PATH"]
    with_uv = (os.path.dirname(uv) + ":" if uv else "") + path

    # --- a run in a built environment, over the same script in the interpreter that is there
    source = os.path.join(bench.folder, "source")
    write_source(source)
    server = ferry.Server(os.path.join(bench.folder, "home"))
    server.env["PATH"] = with_uv
    bench.keep(server)
    subjects = {name: lambda name=name: submit.first_line([ferry.BINARY, "run", "submit-script", "-c", name], env=server.env, cwd=source, timeout=300)[0] for name in ("here", "built")}
    samples = bench.alternate(bench.reps(20), {"ferry": subjects["built"], "user-managed": subjects["here"]}, warm_up=2)
    base = report.quantile(samples["user-managed"], 0.5)
    bench.row("run in a virtual environment that is built, over a user-managed interpreter", "ms", [value - base for value in samples["ferry"]], bar="+20 ms", limit=20)

    # --- a run in an image that is built, over the engine's own run of it
    if shutil.which("podman"):
        measure_image(bench, source)
    else:
        bench.note("podman could not be measured: it is not installed")

    # --- known environments
    measure_known(bench)

    # --- the first build
    count = {"n": 0}

    def fresh(where):
        count["n"] += 1
        return os.path.join(bench.folder, f"{where}{count['n']}")

    def ferry_builds():
        own = ferry.Server(fresh("home"))
        own.env["PATH"] = with_uv
        with own:
            wait_run(own, own.submit(["true"]))
            return wait_run(own, own.submit(["true"], environment_definition=definition(PACKAGE)))["environment"]["seconds"]

    def timed(*commands):
        began = time.monotonic()
        for command in commands:
            run_command(command, timeout=600)
        return time.monotonic() - began

    def uv_alone():
        folder = fresh("uv")
        try:
            return timed([uv, "venv", "-q", "--python", PYTHON, folder], [uv, "pip", "install", "-q", "--python", os.path.join(folder, "bin", "python"), PACKAGE])
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def pip_in_venv():
        folder = fresh("pip")
        try:
            return timed([PYTHON, "-m", "venv", folder], [os.path.join(folder, "bin", "pip"), "install", "-q", "--disable-pip-version-check", PACKAGE])
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    subjects = {"ferry": ferry_builds, "pip in a fresh venv": pip_in_venv}
    if uv:
        subjects["uv alone"] = uv_alone
    samples = bench.alternate(bench.reps(5, 3), subjects)
    beat = {"pip in a fresh venv": 3}
    if uv:
        beat["uv alone"] = 1 / 1.1
    bench.row(f"first build of {PACKAGE}, downloads cached", "s", samples["ferry"], {name: samples[name] for name in subjects if name != "ferry"},
              bar="within 10 % of uv, 3 times faster than pip", beat=beat)

    # --- as built, on a node that has nothing, while no index answers
    home = os.path.join(bench.folder, "fetched")
    own = ferry.Server(home, keep_home=True)
    own.env["PATH"] = path
    cold = os.path.join(bench.folder, "cold")
    own.env.update(PIP_CACHE_DIR=cold, UV_CACHE_DIR=cold)
    builds, fetches = [], []
    with own:
        wait_run(own, own.submit(["true"]))
        view = wait_run(own, own.submit(["true"], environment_definition=definition(PACKAGE)))
        builds.append(view["environment"]["seconds"])
        key = view["environment"]["key"]
        deadline = time.monotonic() + 120
        while not any(build["key"] == key and build.get("archive") for build in own.call("GET", "/api/v1/builds")["builds"]):
            if time.monotonic() > deadline:
                raise RuntimeError("the environment did not reach the server")
            time.sleep(0.5)
    for _ in range(bench.reps(5, 3)):
        for part in ("environments", "cache", "snapshots"):
            shutil.rmtree(os.path.join(home, "agent", part), ignore_errors=True)
        shutil.rmtree(cold, ignore_errors=True)
        own.env.update(PIP_INDEX_URL="http://127.0.0.1:1/simple", UV_INDEX_URL="http://127.0.0.1:1/simple", PIP_FIND_LINKS="")
        with own:
            wait_run(own, own.submit(["true"]))
            used = wait_run(own, own.submit(["true"], environment_definition=definition(PACKAGE)))["environment"]
            if used["how"] != "fetched":
                raise RuntimeError(f"it was not fetched but {used['how']}")
            fetches.append(used["seconds"])
    shutil.rmtree(home, ignore_errors=True)
    bench.row("the same fetched as built, no index reachable", "s", fetches, {"built with a cold cache": builds}, bar="a third of the build", beat={"built with a cold cache": 3})
    bench.note("the build that is fetched was made with pip and an empty download cache, once: a node of its own starts as cold as that")
