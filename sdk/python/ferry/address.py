"""Where the server is, and the token for it: what environment and data folder say, as the command line reads them."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from azureml.exceptions import RunEnvironmentException, UserErrorException
from ferry.context import RunContext

_LARGEST = 1 << 20
_START_LIMIT = 60.0


class NoServer(Exception):
    """No server of this user's own runs, and none could be started. The text says why."""


def home() -> str:
    """The data folder of this user's own server: FERRY_HOME, else ``~/.ferry``."""
    return os.environ.get("FERRY_HOME") or os.path.join(os.path.expanduser("~"), ".ferry")


class Address:
    """A server's address. ``home`` is the data folder of this user's own server, "" when FERRY_URL names another."""

    def __init__(self, url: str, token: str, home: str = "", pid: int = 0) -> None:
        self.url = url
        self.token = token
        self.home = home
        self.pid = pid

    @classmethod
    def find(cls, auth: Any = None) -> Address | None:
        """What environment and data folder say; None when there is no server of this user's own. ``auth`` gives the token that neither
        of them has."""
        token = _token_of_environment()
        url = os.environ.get("FERRY_URL", "")
        if url:
            _check_url(url)
            return cls(url, token or os.environ.get("AZUREML_RUN_TOKEN", "") or _token_of(auth))
        if RunContext().submitted:
            raise RunEnvironmentException("FERRY_URL is not set: this process is inside a run whose node does not say where the server is")
        folder = home()
        found = _read_json(os.path.join(folder, "server.json"))
        if found is None:
            return None
        if not token:
            token = (_read_text(os.path.join(folder, "admin.token")) or "").strip()
        return cls(found.get("local_url") or found["url"], token or _token_of(auth), folder, int(found.get("pid") or 0))

    def is_gone(self) -> bool:
        """Whether the process of this user's own server has ended, or never was."""
        if self.pid <= 0:
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        # A number may belong to another process by now; the lock goes with the server.
        with _Lock(os.path.join(self.home, "server.lock"), wait=False) as taken:
            return taken


def start(auth: Any = None) -> Address:
    """Starts this user's own server, once, whoever else does the same now. Raises NoServer."""
    folder = home()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with _Lock(os.path.join(folder, "start.lock"), wait=True):
        # Another process may have started it while this one waited.
        address = Address.find(auth)
        if address is not None and not address.is_gone():
            return address
        _run_server_start(folder)
        address = Address.find(auth)
    if address is None:
        raise NoServer(f"the server that was started has not written its address to {os.path.join(folder, 'server.json')}")
    print(f"started a Ferry server at {address.url} (data in {folder})", file=sys.stderr)
    return address


def binary() -> str | None:
    """The ``ferry`` program: FERRY_BINARY, on the PATH, or in the build folder of the tree that this package lies in."""
    import shutil

    given = os.environ.get("FERRY_BINARY")
    if given:
        return given
    found = shutil.which("ferry")
    if found:
        return found
    beside = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "build", "ferry"))
    return beside if os.access(beside, os.X_OK) else None


def _run_server_start(folder: str) -> None:
    import subprocess

    program = binary()
    if program is None:
        raise NoServer("no Ferry server runs here, and there is no program 'ferry' to start one: set FERRY_URL to a server's address, or "
                       "FERRY_BINARY to the program, or put it on the PATH")
    try:
        done = subprocess.run([program, "server", "start", "--quiet"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=_START_LIMIT, start_new_session=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoServer(f"no Ferry server runs here, and starting one failed: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise NoServer(f"no Ferry server runs here, and starting one failed: {said or 'exit status %d' % done.returncode}; see "
                       f"{os.path.join(folder, 'server.log')}, or try: ferry server start")


class _Lock:
    """A lock between processes, held until the end of the block. Gives whether it was taken."""

    def __init__(self, path: str, wait: bool) -> None:
        self._path = path
        self._wait = wait
        self._file: Any = None

    def __enter__(self) -> bool:
        try:
            import fcntl
        except ImportError:  # No locks here: two processes may both try, and one server finds its port taken.
            return True
        try:
            self._file = open(self._path, "a+b")
            os.chmod(self._path, 0o600)
        except OSError:
            return True
        deadline = time.monotonic() + _START_LIMIT
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError:
                if not self._wait or time.monotonic() > deadline:
                    return False
            time.sleep(0.02)

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


def _token_of_environment() -> str:
    token = os.environ.get("FERRY_TOKEN", "").strip()
    path = os.environ.get("FERRY_TOKEN_FILE", "")
    if token or not path:
        return token
    text = _read_text(path)
    if text is None:
        raise UserErrorException(f"FERRY_TOKEN_FILE: cannot read the token from '{path}'")
    return text.strip()


def _token_of(auth: Any) -> str:
    give = getattr(auth, "_ferry_token", None)
    return (give() or "") if give is not None else ""


def _check_url(url: str) -> None:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise UserErrorException(f"FERRY_URL must be like http://host:port or https://host:port, not '{url}'")


def _read_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_LARGEST)
    except (OSError, UnicodeDecodeError):
        return None


def _read_json(path: str) -> dict[str, Any] | None:
    import json

    text = _read_text(path)
    if text is None:
        return None
    try:
        found = json.loads(text)
        if isinstance(found, dict) and (found.get("url") or found.get("local_url")):
            return found
    except ValueError:
        pass
    raise UserErrorException(f"{path} names no server; remove it when no server runs, or set FERRY_URL")
