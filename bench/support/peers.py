"""The peers: private instances that are stopped afterwards, and their versions."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from .bench import BUILD, output, run, wait_until


def venv(name, program=None):
    """A program of the peer's virtual environment; nothing when bench/install has not made it."""
    path = os.path.join(BUILD, "venvs", name, "bin", program or name)
    return path if os.path.exists(os.path.join(BUILD, "venvs", name, "installed")) and os.path.exists(path) else None


def venv_version(name):
    try:
        with open(os.path.join(BUILD, "venvs", name, "installed")) as file:
            return file.read().strip().split("==")[1]
    except (OSError, IndexError):
        return "missing"


def clean_environment(**more):
    return {**{name: value for name, value in os.environ.items() if not name.startswith(("FERRY_", "AZUREML_", "MLFLOW_", "PYTHON"))}, **more}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def process_tree(pid):
    """A process and its descendants."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    children.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
            except OSError:
                pass
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += children.get(one, [])
    return found


def pss_mb(pids):
    """Proportional set size of these processes together, in MB."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1))
        except (OSError, AttributeError):
            pass
    return total * 1024 / 1e6


def end_processes(pids, grace=10):
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        until = time.monotonic() + grace
        while time.monotonic() < until and any(running(pid) for pid in pids):
            time.sleep(0.05)


def running(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except OSError:
        pass
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Slurm:
    """A private Slurm on this machine: munged, slurmctld and one slurmd."""

    def __init__(self, folder):
        self.folder = folder
        self.pids = []

    def __enter__(self):
        if not shutil.which("slurmctld") or not shutil.which("munged"):
            raise RuntimeError("Slurm is not installed; run bench/install")
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("", "state", "spool", "munge"):
            os.makedirs(os.path.join(self.folder, name))
        munge = os.path.join(self.folder, "munge")
        os.chmod(munge, 0o755)
        key = os.path.join(munge, "key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o400)
        # A socket's path has at most 107 characters.
        self.socket = os.path.join("/tmp", f"ferry-bench-munge-{os.getpid()}.socket")
        host, user = socket.gethostname(), output("id", "-un")
        with open("/proc/meminfo") as file:
            memory = int(re.search(r"MemTotal:\s+(\d+)", file.read()).group(1)) // 1024 * 3 // 4
        control, node = free_port(), free_port()
        self.conf = os.path.join(self.folder, "slurm.conf")
        with open(self.conf, "w") as file:
            file.write(f"""ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
AuthType=auth/munge
AuthInfo=socket={self.socket}
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool/%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd-%n.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=batch_sched_delay=0
MpiDefault=none
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node} CPUs={os.cpu_count()} RealMemory={memory}
PartitionName=bench Nodes=n1 Default=YES MaxTime=INFINITE State=UP
""")
        os.makedirs(os.path.join(self.folder, "spool", "n1"))
        self.env = {**os.environ, "SLURM_CONF": self.conf}
        self._spawn("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.socket}", f"--pid-file={munge}/pid",
                    f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        wait_until(lambda: os.path.exists(self.socket), 10, "munged's socket")
        self._spawn("slurmctld", "-D")
        self._spawn("slurmd", "-D", "-N", "n1")
        wait_until(lambda: "idle" in output("sinfo", "-h", "-o", "%T", env=self.env), 60, "an idle Slurm node", 0.3)
        return self

    def _spawn(self, *command):
        with open(os.path.join(self.folder, command[0] + ".out"), "w") as log:
            self.pids.append(subprocess.Popen(command, env=self.env if hasattr(self, "env") else None, stdout=log, stderr=log, start_new_session=True).pid)

    def __exit__(self, *_):
        end_processes(list(reversed(self.pids)))
        for path in (self.socket, self.socket + ".lock"):
            if os.path.exists(path):
                os.remove(path)
        shutil.rmtree(self.folder, ignore_errors=True)


def slurm_version():
    return output("slurmd", "-V").replace("slurm-wlm ", "").replace("slurm ", "") or "missing"


class MlflowServer:
    """`mlflow server` with SQLite on a port of its own, as its documentation starts it."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        program = venv("mlflow")
        if not program:
            raise RuntimeError("MLflow is not installed; run bench/install")
        os.makedirs(self.folder, exist_ok=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        with open(os.path.join(self.folder, "server.log"), "w") as log:
            self.process = subprocess.Popen([program, "server", "--host", "127.0.0.1", "--port", str(self.port), "--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db",
                                             "--artifacts-destination", os.path.join(self.folder, "artifacts")],
                                            cwd=self.folder, env=clean_environment(), stdout=log, stderr=log, start_new_session=True)

        def healthy():
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=2) as reply:
                    return reply.status == 200
            except OSError:
                return False
        wait_until(healthy, 180, "MLflow's health", 0.01)
        return self

    def __exit__(self, *_):
        end_processes(process_tree(self.process.pid))


class RayHead:
    """`ray start --head` with its dashboard, which takes jobs."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.program = venv("ray")
        if not self.program:
            raise RuntimeError("Ray is not installed; run bench/install")
        # Ray's sockets need a short path.
        self.temporary = f"/tmp/ferry-bench-ray-{os.getpid()}"
        self.port, self.dashboard = free_port(), free_port()
        self.before = set(process_tree(1))
        self.env = clean_environment(RAY_USAGE_STATS_ENABLED="0")
        run([self.program, "start", "--head", "--node-ip-address=127.0.0.1", f"--port={self.port}", "--include-dashboard=true", "--dashboard-host=127.0.0.1",
             f"--dashboard-port={self.dashboard}", f"--temp-dir={self.temporary}", "--disable-usage-stats"], env=self.env, timeout=180)
        self.url = f"http://127.0.0.1:{self.dashboard}"
        return self

    def pids(self):
        """Every process of this head: they carry its folder or port in their arguments or environment."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read()
            except OSError:
                continue
            if self.temporary.encode() in words or f":{self.port}".encode() in words or f"--port={self.port}".encode() in words:
                found.append(int(name))
        everything = set()
        for pid in found:
            everything.update(process_tree(pid))
        everything.discard(os.getpid())
        return sorted(everything)

    def __exit__(self, *_):
        end_processes(self.pids())
        shutil.rmtree(self.temporary, ignore_errors=True)


def podman_environment():
    """A podman with storage of its own; runc and low limits for kernels that mount cgroups in hybrid mode."""
    home = os.path.join(BUILD, "podman")
    os.makedirs(home, exist_ok=True)
    files = {
        "containers.conf": '[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]\n[engine]\nruntime = "runc"\n'
                           f'cgroup_manager = "cgroupfs"\nevents_logger = "file"\nlock_type = "file"\ntmp_dir = "{home}/tmp"\n',
        "storage.conf": f'[storage]\ndriver = "overlay"\ngraphroot = "{home}/root"\nrunroot = "{home}/run"\n',
        "registries.conf": "unqualified-search-registries = []\n",
    }
    for name, text in files.items():
        with open(os.path.join(home, name), "w") as file:
            file.write(text)
    return {"CONTAINERS_CONF": home + "/containers.conf", "CONTAINERS_STORAGE_CONF": home + "/storage.conf", "CONTAINERS_REGISTRIES_CONF": home + "/registries.conf"}
