"""An S3 server for tests: moto from PyPI, in an environment of its own under build/test-tools, with a bucket "data". Prints its address and ends with its parent."""
import ctypes
import fcntl
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent / "build" / "test-tools"
PYTHON = TOOLS / "moto" / "bin" / "python"
REQUIREMENT = "moto[s3,server]==5.1.6"


def install() -> None:
    """Makes the environment once; others wait for it."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    with open(TOOLS / "moto.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = TOOLS / "moto" / "installed"
        if done.exists() and done.read_text() == REQUIREMENT:
            return
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", TOOLS / "moto"], check=True, stdout=sys.stderr)
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", REQUIREMENT], check=True, stdout=sys.stderr)
        done.write_text(REQUIREMENT)


def serve() -> None:
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    url = "http://127.0.0.1:%d" % port
    urllib.request.urlopen(urllib.request.Request(url + "/data", method="PUT"), timeout=30)
    print(url, flush=True)
    signal.pause()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        # The signal comes from the kernel when the parent ends, however it ends.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        serve()
    else:
        install()
        os.execv(PYTHON, [str(PYTHON), __file__, "serve"])
