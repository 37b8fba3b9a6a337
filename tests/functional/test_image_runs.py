"""Runs in images, with a real podman: what the script sees, how it ends, and that nothing of it is left."""

import os
import socket
import subprocess

import pytest
from ferry_fixture import ROOT, Ferry, wait_until

BUILD_LOG = "azureml-logs/20_image_build_log.txt"
PODMAN = os.path.join(ROOT, "build", "test-tools", "podman")
IMAGE = "mcr.microsoft.com/azureml/base:0.2.2"


def podman_environment():
    """A podman that shares nothing with another of this machine; runc and low limits for kernels that mount cgroups in hybrid mode."""
    os.makedirs(PODMAN, exist_ok=True)

    def layered(path):
        return subprocess.run(["stat", "-f", "-c", "%T", path], stdout=subprocess.PIPE, text=True, check=True).stdout.strip() == "overlayfs"

    # Layers cannot lie on layers: in a container the place that is kept for them is another file system.
    root, driver = PODMAN + "/root", "overlay"
    if layered(PODMAN):
        root = "/var/lib/containers/ferry-tests"
        os.makedirs(root, exist_ok=True)
        if layered(root):
            root, driver = PODMAN + "/root", "vfs"
    files = {
        "containers.conf": '[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]\n[engine]\nruntime = "runc"\n'
                           'cgroup_manager = "cgroupfs"\nevents_logger = "file"\nlock_type = "file"\ntmp_dir = "%s/tmp"\n' % PODMAN,
        "storage.conf": '[storage]\ndriver = "%s"\ngraphroot = "%s"\nrunroot = "%s/run"\n' % (driver, root, PODMAN),
        "registries.conf": "unqualified-search-registries = []\n",
    }
    for name, text in files.items():
        with open(os.path.join(PODMAN, name), "w") as file:
            file.write(text)
    return {"CONTAINERS_CONF": PODMAN + "/containers.conf", "CONTAINERS_STORAGE_CONF": PODMAN + "/storage.conf", "CONTAINERS_REGISTRIES_CONF": PODMAN + "/registries.conf"}


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    ferry = Ferry(tmp_path_factory.mktemp("boxes") / "home", ["--slots", "4"])
    ferry.environment.update(podman_environment())
    ferry.start()
    yield ferry
    ferry.clean_up()


def image(**docker):
    docker = {"enabled": True, **docker}
    if not {"baseImage", "baseDockerfile", "buildContext"} & set(docker):
        docker["baseImage"] = IMAGE
    return {"python": {"userManagedDependencies": True}, "docker": docker}


def containers(ferry):
    return subprocess.run(["podman", "ps", "--all", "--quiet"], env=ferry.environment, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def test_a_script_runs_in_its_image(boxes, tmp_path):
    source = tmp_path / "sö urce"
    source.mkdir()
    (source / "train.py").write_text(
        "import os, sys\nfrom azureml.core import Run\nrun = Run.get_context()\nrun.log('loss', 0.5)\nos.makedirs('outputs')\nopen('outputs/m', 'w').write('m')\n"
        "print('inside', os.path.exists('/run/.containerenv'), os.environ['GIVEN'], os.statvfs('/dev/shm').f_blocks * os.statvfs('/dev/shm').f_frsize)\n")
    (source / "aml_config").mkdir()
    (source / "aml_config" / "box.runconfig").write_text(
        "script: train.py\nenvironment:\n  environmentVariables: {GIVEN: a b}\n  python: {userManagedDependencies: true, interpreterPath: python3}\n"
        "  docker: {enabled: true, baseImage: '%s', shmSize: 64m}\n" % IMAGE)
    done = boxes.run("run", "submit-script", "-e", "boxes", "-c", "box", "--source-directory", source, timeout=580)
    assert done.returncode == 0, done
    assert "inside True a b 67108864" in done.stdout, done
    assert "debian-python" in done.stdout, "what stands for the image is said: %s" % done
    run = done.stderr.split("run ", 1)[1].split()[0]
    view = boxes.show(run)
    assert [clock["name"] for clock in view["clocks"]] == ["snapshot", "image", "start"]
    assert boxes.get("/runs/%s/metrics?values=1" % run)["values"]
    files = {artifact["path"] for artifact in boxes.get("/runs/%s/artifacts" % run)["artifacts"]}
    assert {"outputs/m", "environment/lock.json"} <= files
    assert boxes.get("/runs/%s/lock" % run)["kind"] == "image"


def test_exit_status_and_signals(boxes):
    failed = boxes.wait(boxes.submit("sh", "-c", "exit 7", environment_definition=image()), "Failed", timeout=300)
    assert failed["end"]["exit"]["code"] == 7
    text = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: (print('asked to end', flush=True), sys.exit(0)))\nprint('ready', flush=True)\nwhile True: time.sleep(0.1)\n"
    run = boxes.submit("python3", "-c", text, environment_definition=image())
    boxes.wait_output(run, "ready", timeout=60)
    boxes.post("/runs/%s/cancel" % run)
    boxes.wait(run, "Canceled")
    assert b"asked to end" in boxes.log(run)
    stubborn = boxes.submit("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done", environment_definition=image(), max_duration_seconds=2)
    view = boxes.wait(stubborn, "Failed", timeout=60)
    assert view["end"]["reason"] == "timed_out", view
    wait_until("no container is left", lambda: not containers(boxes), 30)


def test_a_dockerfile_and_its_python_layer(boxes):
    definition = image(baseDockerfile="FROM %s\nRUN echo made > /made\n" % IMAGE)
    definition["python"] = {"condaDependencies": {"dependencies": ["python>=3.8", {"pip": ["six==1.16.0"]}]}}
    run = boxes.submit("python", "-c", "import six; print(six.__version__, open('/made').read())", environment_definition=definition)
    view = boxes.wait(run, "Completed", timeout=300)
    assert b"1.16.0 made" in boxes.log(run), boxes.log(run)
    lock = boxes.get("/runs/%s/lock" % run)
    assert {"six"} <= {package["name"] for package in lock["packages"]} and lock["image"], lock
    assert view["environment"]["how"] == "built"


def test_a_broken_dockerfile_is_one_sentence(boxes):
    run = boxes.submit("true", environment_definition=image(baseDockerfile="FROM %s\nRUN true\nRUN false here\n" % IMAGE))
    text = boxes.wait(run, "Failed", timeout=300)["end"]["text"]
    assert "baseDockerfile:3" in text and "false here" in text, text
    assert b"false here" in boxes.log(run, BUILD_LOG)


def test_volumes_that_are_not_shared(boxes):
    text = "open('outputs/kept', 'w').write('kept'); open('dropped', 'w').write('dropped'); print('written')"
    run = boxes.submit("python3", "-c", text, environment_definition=image(sharedVolumes=False))
    boxes.wait(run, "Completed", timeout=300)
    assert b"written" in boxes.log(run)
    assert "outputs/kept" in {artifact["path"] for artifact in boxes.get("/runs/%s/artifacts" % run)["artifacts"]}


def test_data_in_an_image(boxes, tmp_path):
    """Linked and downloaded inputs, places that the script wants, and outputs."""
    store = tmp_path / "store"
    (store / "in").mkdir(parents=True)
    (store / "in" / "x").write_text("x")
    assert boxes.api("PUT", "/api/v1/datastores/boxed", {"kind": "folder", "folder": str(store)}).status == 201
    place = "/tmp/ferry_boxed_%d" % os.getpid()
    paths = [{"datastore": "boxed", "path": "in"}]
    script = "cat DatasetConsumptionConfig:linked/x DatasetConsumptionConfig:copied/x DatasetConsumptionConfig:placed/x %s/x here/x; echo o > DatasetOutputConfig:out/f; echo p > there/f" % place
    for shared in (True, False):
        run = boxes.submit("sh", "-c", script, environment_definition=image(sharedVolumes=shared),
                           data={"linked": {"paths": paths}, "copied": {"paths": paths, "mode": "download"}, "placed": {"paths": paths, "path_on_compute": place},
                                 "local": {"paths": paths, "path_on_compute": "here"}},
                           outputs={"out": {"datastore": "boxed", "path": "o/{run-id}"}, "work": {"datastore": "boxed", "path": "w/{run-id}", "path_on_compute": "there"}})
        boxes.wait(run, "Completed", timeout=300)
        assert boxes.output(run).endswith(b"xxxxx"), boxes.log(run)
        assert (store / "o" / run / "f").read_text() == "o\n" and (store / "w" / run / "f").read_text() == "p\n"
    assert (store / "in" / "x").read_text() == "x"


@pytest.fixture
def registry(boxes, tmp_path):
    """A real registry that wants a login: its address, a user and a password."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    password = "s3cret-" + os.urandom(8).hex()
    hashed = subprocess.run(["/usr/bin/python3", "-W", "ignore", "-c", "import crypt, sys; print(crypt.crypt(sys.argv[1], crypt.mksalt(crypt.METHOD_BLOWFISH)))", password],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    (tmp_path / "users").write_text("me:" + hashed)
    (tmp_path / "registry.yml").write_text(
        "version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: '%s'}}\nhttp: {addr: '%s'}\nauth: {htpasswd: {realm: test, path: '%s'}}\n" % (
            tmp_path / "images", address, tmp_path / "users"))
    with open(os.path.join(PODMAN, "registries.conf"), "a") as file:
        file.write('[[registry]]\nlocation = "%s"\ninsecure = true\n' % address)
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(["docker-registry", "serve", str(tmp_path / "registry.yml")], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    wait_until("the registry answers", lambda: not socket.socket().connect_ex(("127.0.0.1", int(address.split(":")[1]))))
    yield address, "me", password
    server.kill()
    server.wait()
    podman_environment()


def test_an_image_is_pulled_with_a_login(boxes, registry, tmp_path):
    address, user, password = registry
    base = boxes.wait(boxes.submit("true", environment_definition=image()), "Completed", timeout=580)
    assert base

    def podman(*words, **options):
        done = subprocess.run(["podman", *words], env=boxes.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **options)
        assert done.returncode == 0, done
        return done.stdout

    newest = podman("images", "--quiet").split()[0]
    name = address + "/team/base:1"
    podman("build", "--quiet", "--tag", name, "--file", "-", input="FROM %s\nRUN echo from the registry > /marker\n" % newest)
    podman("push", "--quiet", "--creds", "%s:%s" % (user, password), name)
    podman("rmi", "--force", name)
    wrong = image(baseImage="team/base:1", baseImageRegistry={"address": address, "username": user, "password": "another"})
    run = boxes.submit("cat", "/marker", environment_definition=wrong)
    end = boxes.wait(run, "Failed", timeout=300)["end"]
    assert end["reason"] == "preparation_failed" and name in end["text"] and password not in str(end), end
    right = image(baseImage="team/base:1", baseImageRegistry={"address": address, "username": user, "password": password})
    run = boxes.submit("cat", "/marker", environment_definition=right)
    boxes.wait(run, "Completed", timeout=300)
    assert boxes.output(run).endswith(b"\nfrom the registry\n")
    assert password.encode() not in boxes.log(run, BUILD_LOG)
