"""The channel from a script to its run's supervisor on the same node.

One TCP connection per process. A request is one line of JSON and is answered by one line, ``ok`` or ``error <message>``; after ``ok``
the record is on the supervisor's disk. Safe to use from several threads, from a signal handler that interrupts a request, and after
a fork, which makes a new connection.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING

from azureml.exceptions import RunEnvironmentException, ServiceException

if TYPE_CHECKING:
    import socket as _socket

# For how long a broken connection is repaired before the call fails, and how long one answer may take before it counts as broken.
PATIENCE = 60.0
_FIRST_DELAY, _LONGEST_DELAY = 0.02, 2.0
_CONNECT_TIMEOUT = 5.0
_LONGEST_REPLY = 65536
# How often an answer is looked for before the thread sleeps (some 50 us), and how often that is tried again once answers are slow.
_MSG_DONTWAIT = 0x40 if sys.platform.startswith("linux") else 0
_SPINS = 32 if _MSG_DONTWAIT else 0
_PROBE_EVERY = 64


class _Broken(Exception):
    """The connection ended or the answer did not come; trying again may work."""


class Channel:
    """Sends records to the supervisor at ``address`` ("127.0.0.1:PORT"). Connects with the first request."""

    def __init__(self, address: str, token: str, patience: float | None = None) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise RunEnvironmentException(f"FERRY_RUN_SOCKET must be host:port, not '{address}'")
        self._address = (host, int(port))
        self._token = token
        self._patience = PATIENCE if patience is None else patience
        self._socket: _socket.socket | None = None
        self._reset()
        _channels.add(self)

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._busy = False
        self._fast = False
        self._inner: Channel | None = None
        self._prefix = os.urandom(6).hex()
        self._count = 0

    def request(self, members: str) -> None:
        """Sends one record, given as the JSON text of its members without the braces; returns once it is acknowledged.

        Raises ServiceException when the supervisor refuses it, RunEnvironmentException when it cannot be reached.
        """
        with self._lock:
            if self._busy:  # This thread's own request, interrupted by a signal handler.
                if self._inner is None:
                    self._inner = Channel("%s:%d" % self._address, self._token, self._patience)
                inner = self._inner
            else:
                inner = None
                self._busy = True
                try:
                    self._count += 1
                    line = ('{"id":"%s:%d",%s}\n' % (self._prefix, self._count, members)).encode("utf-8", "replace")
                    if self._socket is not None:
                        try:
                            self._socket.sendall(line)
                            reply = self._first()
                            if reply == b"ok\n":
                                return
                            reply = self._rest(reply)
                        except (OSError, _Broken):
                            reply = self._resend(line)
                    else:
                        reply = self._resend(line)
                except BaseException:
                    # An unanswered request would answer the next one: the connection is of no use any more.
                    self._drop()
                    raise
                finally:
                    self._busy = False
        if inner is not None:
            inner.request(members)
            return
        if reply != b"ok\n":
            text = reply.decode("utf-8", "replace").strip()
            raise ServiceException(text[6:] if text.startswith("error ") else f"the supervisor gave an unknown answer: {text}")

    def close(self) -> None:
        """Ends the connection; a later request makes a new one."""
        with self._lock:
            self._drop()
            if self._inner is not None:
                self._inner.close()

    def _resend(self, line: bytes) -> bytes:
        """Connects, sends and reads the answer, again and again until the patience ends."""
        deadline = time.monotonic() + self._patience
        delay = _FIRST_DELAY
        while True:
            self._drop()
            try:
                self._connect(deadline)
                assert self._socket is not None
                self._socket.sendall(line)
                reply = self._rest(b"")
                self._reply_timeout(self._patience)
                return reply
            except (OSError, _Broken) as error:
                if time.monotonic() + delay > deadline:
                    raise RunEnvironmentException(
                        "the run's supervisor at %s:%d could not be reached for %g s: %s" % (*self._address, self._patience, error),
                        inner_exception=error) from None
            time.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY)

    def _connect(self, deadline: float) -> None:
        import socket

        left = max(0.05, deadline - time.monotonic())
        self._socket = socket.create_connection(self._address, timeout=min(left, _CONNECT_TIMEOUT))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(True)
        self._reply_timeout(left)
        self._socket.sendall(b"FERRY1 " + self._token.encode("utf-8") + b"\n")
        reply = self._rest(b"")
        if reply != b"ok\n":
            text = reply.decode("utf-8", "replace").strip()
            raise RunEnvironmentException(
                f"the run's supervisor does not accept this process: {text[6:] if text.startswith('error ') else text}")

    def _reply_timeout(self, seconds: float) -> None:
        # The kernel's own timeout: settimeout() would cost a poll() before each recv().
        import socket
        import struct

        assert self._socket is not None
        if os.name == "posix":
            limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6) or 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        else:
            self._socket.settimeout(seconds)

    def _first(self) -> bytes:
        """The first bytes of the answer. Looks for them without sleeping while answers come fast: waking up costs more than that."""
        assert self._socket is not None
        recv = self._socket.recv
        if self._fast or self._count % _PROBE_EVERY == 0:
            for _ in range(_SPINS):
                try:
                    reply = recv(4096, _MSG_DONTWAIT)
                except BlockingIOError:
                    continue
                self._fast = True
                return reply
            self._fast = False
        return recv(4096)

    def _rest(self, reply: bytes) -> bytes:
        """The whole answer that begins with ``reply``."""
        assert self._socket is not None
        while not reply.endswith(b"\n"):
            try:
                part = self._socket.recv(4096)
            except BlockingIOError:
                raise _Broken("no answer came") from None
            if not part:
                raise _Broken("the connection was closed")
            reply += part
            if len(reply) > _LONGEST_REPLY:
                raise _Broken("the answer is too long")
        if reply.count(b"\n") != 1:
            raise _Broken("more answers than requests")
        return reply

    def _drop(self) -> None:
        if self._socket is not None:
            try:
                self._socket.close()
            finally:
                self._socket = None


_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


def _after_fork() -> None:
    for channel in list(_channels):
        channel._drop()
        channel._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
