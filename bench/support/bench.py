"""What every benchmark gets: places, repetitions, alternation, rows, and the facts about this machine."""

import contextlib
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time

from . import report

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build", "bench")
PYTHON = "/usr/bin/python3"


def output(*command, **options):
    """The output of a command, or '' when it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, **options).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def machine():
    cpu = "unknown CPU"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as file:
        memory = int(re.search(r"MemTotal:\s+(\d+)", file.read()).group(1)) / 1e6
    system = "Linux"
    with open("/etc/os-release") as file:
        found = re.search(r'PRETTY_NAME="(.*)"', file.read())
        system = found.group(1) if found else system
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_gb": memory, "system": f"{system}, Linux {platform.release()}"}


def run(command, timeout=600, **options):
    """Runs a command that must succeed; what it says is kept for the error."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.STDOUT)
    done = subprocess.run(command, timeout=timeout, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))[:200]} ended with status {done.returncode}: {(done.stdout or '')[-1500:]}")
    return done.stdout


class Bench:
    def __init__(self, name, title, quick):
        self.name, self.title, self.quick = name, title, quick
        self.rows, self.notes, self.versions = [], [], {}
        self.folder = os.path.join(BUILD, "work", name)
        self.load_before = os.getloadavg()[0]
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self._open = []

    # --- repetitions
    def reps(self, full, quick=5):
        return quick if self.quick else full

    def alternate(self, rounds, subjects, warm_up=1, every=None):
        """Calls each subject in turn, `rounds` times after the warm-up; samples by name.

        `every` says of slow subjects how many rounds they take part in. A subject that fails is left out from then on, with a note.
        """
        every = every or {}
        samples = {name: [] for name in subjects}
        broken = set()
        for number in range(-warm_up, rounds):
            for name, subject in subjects.items():
                share = min(every.get(name, rounds), rounds)
                if name in broken or (number >= 0 and (number * share) // rounds == ((number - 1) * share) // rounds and number > 0):
                    continue
                if number < -1 and name in every:
                    continue
                try:
                    value = subject()
                except (RuntimeError, OSError, subprocess.TimeoutExpired, ValueError) as error:
                    if name == "ferry":
                        raise
                    broken.add(name)
                    self.note(f"{name} could not be measured: {str(error)[-300:]}")
                    continue
                if number >= 0:
                    samples[name].append(value)
            self.say(f"round {number + 1} of {rounds}")
        self.say("")
        return samples

    def say(self, text):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{self.name}: {text}" if text else "\r\033[K")
            sys.stderr.flush()

    # --- results
    def row(self, *args, **kwargs):
        self.rows.append(report.Row(*args, **kwargs).data)

    def note(self, text):
        text = " ".join(text.replace(ROOT + os.sep, "").split())
        if text not in self.notes:
            self.notes.append(text)

    def result(self):
        facts = machine()
        facts["load_before"], facts["load_after"] = self.load_before, os.getloadavg()[0]
        commit = output("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD") or "unknown"
        if output("git", "-C", ROOT, "status", "--porcelain", "--", "src", "sdk"):
            commit += " with changes"
        if os.environ.get("FERRY_BINARY"):
            commit = "unknown (FERRY_BINARY is set)"
        return {"name": self.name, "title": self.title, "quick": self.quick, "rows": self.rows, "notes": self.notes, "versions": self.versions,
                "machine": facts, "commit": commit, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}

    # --- what is undone at the end
    def keep(self, thing):
        """Enters a context that is left when the benchmark ends."""
        value = thing.__enter__()
        self._open.append(thing)
        return value

    def close(self):
        for thing in reversed(self._open):
            try:
                thing.__exit__(None, None, None)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                print(f"{self.name}: {error}", file=sys.stderr)
        self._open.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_until(check, timeout, what, pause=0.02):
    """Waits for a true answer and returns it."""
    end = time.monotonic() + timeout
    while True:
        found = check()
        if found:
            return found
        if time.monotonic() > end:
            raise RuntimeError(f"{what} did not come within {timeout} s")
        time.sleep(pause)


def save(result):
    folder = os.path.join(BUILD, "results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, result["name"] + ".json"), "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


@contextlib.contextmanager
def quiet_kill(process, timeout):
    """Kills the process when the block takes longer."""
    timer = threading.Timer(timeout, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
