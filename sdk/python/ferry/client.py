"""The server as the SDK asks it: JSON and files over kept connections, with patience for a server that is away for a moment.

Paths are given below ``/api/v1``; what is put into one goes through :func:`quote`. Safe to use from several threads and after a fork.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any, Callable, Iterable, Iterator

from azureml.exceptions import AuthenticationException, ServiceException, UserErrorException
from ferry.address import Address, NoServer, start

__all__ = ["Client", "Conflict", "NotFound", "Refused", "ServerError", "Unauthorized", "Unreachable", "quote", "quote_path"]

# For how many seconds a server that went away is waited for, and how many times as long by who follows events.
PATIENCE = 30.0
_EVENTS_PATIENCE = 4
_FIRST_DELAY, _LONGEST_DELAY = 0.05, 2.0
_CONNECT_TIMEOUT = 10.0
_ANSWER_TIMEOUT = 120.0
# The server says something every 15 s.
_EVENTS_TIMEOUT = 60.0
_MOST_IDLE = 8
_LONGEST_ANSWER = 1 << 30
_LONGEST_LINE = 64 << 20
_BLOCK = 1 << 18
_PROTOCOL = "1"


class ServerError(ServiceException):
    """What the server answered instead of what was asked for. ``status`` is the HTTP status (0: there was no answer), ``slug`` the
    stable name of the error, ``field`` the wrong field where there is one."""

    def __init__(self, message: str, status: int = 0, slug: str = "", field: str = "",
                 inner_exception: BaseException | None = None) -> None:
        super().__init__(message, inner_exception)
        self.status = status
        self.slug = slug
        self.field = field


class NotFound(ServerError):
    """What was named is not there."""


class Conflict(ServerError):
    """It contradicts what is there."""


class Refused(ServerError, UserErrorException):
    """The request is wrong; ``field`` names what."""


class Unauthorized(ServerError, AuthenticationException):
    """The token is missing, not known, or not enough."""


class Unreachable(ServerError):
    """No server answered for as long as was waited."""


_CLASSES = {400: Refused, 401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict, 413: Refused, 416: Refused, 503: Unreachable}


def quote(segment: Any) -> str:
    """One name as a part of a path."""
    from urllib.parse import quote as percent

    return percent(str(segment), safe="")


def quote_path(path: str) -> str:
    """A path of several names: each is quoted, the slashes stay."""
    from urllib.parse import quote as percent

    return percent(path, safe="/")


class _Dropped(Exception):
    """The exchange broke off. ``sent`` says whether the server may have seen the request."""

    def __init__(self, why: BaseException, sent: bool) -> None:
        super().__init__(str(why) or type(why).__name__)
        self.why = why
        self.sent = sent


class Client:
    """Asks the server at ``address``. :meth:`find` gives the client of the server that the environment names."""

    def __init__(self, address: Address | None, auth: Any = None, patience: float = PATIENCE) -> None:
        self._address = address
        self._auth = auth
        self.patience = patience
        self._reached = False
        self._tls: Any = None
        self._reset()
        _clients.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Any] = []

    @classmethod
    def find(cls, auth: Any = None) -> Client:
        """The client of FERRY_URL (inside a run with the run's own token), else of this user's own server, which the first request
        starts when it does not run."""
        return cls(Address.find(auth), auth)

    @property
    def url(self) -> str:
        """The server's address. Starts this user's own server when none runs."""
        return self._located().url

    @property
    def token(self) -> str:
        """The token that requests carry."""
        return self._located().token

    # JSON

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The answer to a GET."""
        return self._ask("GET", path, query)

    def post(self, path: str, body: Any = None, *, repeat: bool = False, **query: Any) -> dict[str, Any]:
        """The answer to a POST. ``repeat`` says that sending it twice does no harm, so that a lost connection need not fail it."""
        return self._ask("POST", path, query, {} if body is None else body, repeat)

    def put(self, path: str, body: Any, **query: Any) -> dict[str, Any]:
        """The answer to a PUT."""
        return self._ask("PUT", path, query, body)

    def patch(self, path: str, body: Any, **query: Any) -> dict[str, Any]:
        """The answer to a PATCH. What it sets is the same when it is set twice."""
        return self._ask("PATCH", path, query, body)

    def delete(self, path: str, **query: Any) -> dict[str, Any]:
        """The answer to a DELETE."""
        return self._ask("DELETE", path, query)

    def pages(self, path: str, key: str, **query: Any) -> Iterator[dict[str, Any]]:
        """The members of the list ``key`` of every page; a page is asked for when it is needed."""
        while True:
            page = self.get(path, **query)
            yield from page.get(key) or ()
            cursor = page.get("next")
            if not cursor:
                return
            query["cursor"] = cursor

    # Bytes

    def read(self, path: str, **query: Any) -> bytes:
        """The bytes of the answer. For what fits into memory."""
        return self._exchange("GET", path, query, read=_whole)

    def download(self, path: str, file_path: Any, **query: Any) -> None:
        """Writes the bytes of the answer to a file: beside it first, then renamed, so that the name never has a part of them. A
        connection that breaks is resumed."""
        target = os.path.abspath(os.fsdecode(os.fspath(file_path)))
        parent = os.path.dirname(target)
        os.makedirs(parent, exist_ok=True)
        part = os.path.join(parent, ".ferry-" + os.urandom(8).hex() + ".part")
        try:
            with open(part, "wb") as file:
                arrived = _Arrived(file)
                self._exchange("GET", path, query, read=arrived.read, headers=arrived.headers)
            os.replace(part, target)
        except BaseException:
            try:
                os.unlink(part)
            except FileNotFoundError:
                pass
            raise

    def upload(self, path: str, source: Any, **query: Any) -> dict[str, Any]:
        """PUTs bytes or an open binary stream as they are. A stream that cannot be rewound is sent once."""
        if isinstance(source, (bytes, bytearray, memoryview)):
            return self._ask_raw("PUT", path, query, lambda: source, len(source))
        try:
            begin = source.tell()
            size = source.seek(0, os.SEEK_END) - begin
            source.seek(begin)
        except (AttributeError, OSError, ValueError):
            return self._ask_raw("PUT", path, query, lambda: _blocks(source, None), None, repeat=False)

        def again() -> Iterator[bytes]:
            source.seek(begin)
            return _blocks(source, size)

        return self._ask_raw("PUT", path, query, again, size)

    def put_blobs(self, sources: Iterable[Any], progress: Callable[[int, int], None] | None = None) -> list[tuple[str, int]]:
        """Brings the server what it lacks of these contents (paths of files, or bytes) and gives the digest and size of each.
        ``progress(done, all)`` is told the bytes."""
        from ferry import blobs

        return blobs.put(self, sources, progress)

    # Events

    def events(self, path: str, **query: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Follows a stream of events as (event, data, id). A connection that breaks is made again and goes on behind the last id.
        Ends behind the event "end"."""
        import json

        last = ""
        deadline, delay = None, _FIRST_DELAY
        while True:
            connection = None
            try:
                connection = self._connect(_EVENTS_TIMEOUT)
                headers = {"Accept": "text/event-stream"}
                if last:
                    headers["Last-Event-ID"] = last
                response = self._send(connection, "GET", self._target(path, query), None, headers)
                if response.status > 299:
                    raise _error(response.status, response.read(_LONGEST_LINE))
                for event, data, number in _events(response):
                    deadline, delay = None, _FIRST_DELAY
                    last = number or last
                    yield event, json.loads(data) if data else {}, last
                    if event == "end":
                        return
                error: BaseException = ConnectionError("the stream ended")
            except _Dropped as dropped:
                error = dropped.why
            except Unreachable as unready:
                if unready.status != 503:
                    raise
                error = unready
            except (OSError, _http_exception()) as broken:
                error = broken
            finally:
                if connection is not None:
                    connection.close()
            now = time.monotonic()
            if deadline is None:
                deadline = now + _EVENTS_PATIENCE * self.patience
            if now + delay > deadline:
                raise self._lost(error)
            time.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY)
            self._relocate()

    # The exchange

    def _ask(self, method: str, path: str, query: dict[str, Any], body: Any = None, repeat: bool | None = None) -> dict[str, Any]:
        import json

        raw = None if body is None else json.dumps(body, separators=(",", ":"), allow_nan=False).encode("utf-8")
        headers = {} if raw is None else {"Content-Type": "application/json"}
        answer = self._exchange(method, path, query, (lambda: raw) if raw is not None else None, headers=lambda: headers, read=_whole,
                                repeat=repeat)
        return _parse(answer)

    def _ask_raw(self, method: str, path: str, query: dict[str, Any], body: Callable[[], Any], size: int | None,
                 repeat: bool | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/octet-stream"}
        headers.update({"Transfer-Encoding": "chunked"} if size is None else {"Content-Length": str(size)})
        return _parse(self._exchange(method, path, query, body, headers=lambda: headers, read=_whole, repeat=repeat))

    def _exchange(self, method: str, path: str, query: dict[str, Any], body: Callable[[], Any] | None = None, *,
                  read: Callable[[Any], Any], headers: Callable[[], dict[str, str]] | None = None, repeat: bool | None = None) -> Any:
        """One request and ``read(response)``. ``repeat`` None: as the method allows. Raises the error that the server sent, and
        Unreachable when none answered."""
        if repeat is None:
            repeat = method != "POST"
        deadline, delay, revivals = None, _FIRST_DELAY, 0
        while True:
            try:
                return self._once(method, self._target(path, query), body, headers() if headers else {}, read)
            except _Dropped as dropped:
                error: BaseException = dropped.why
                if dropped.sent and not repeat:
                    raise ServerError(f"the connection to the server at {self.url} broke off in the middle of {method} {path}; whether it "
                                      f"was done is not known: {error}", inner_exception=error) from None
            except Unreachable as unready:  # The server answers, and is not ready.
                error = unready
                if unready.status != 503 or not repeat:
                    raise
            if not self._reached and revivals < 3:
                revivals += 1
                self._revive(error)
                continue
            now = time.monotonic()
            if deadline is None:
                deadline = now + self.patience
            if now + delay > deadline:
                raise self._lost(error) from None
            time.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY)
            self._relocate()

    def _once(self, method: str, target: str, body: Callable[[], Any] | None, headers: dict[str, str],
              read: Callable[[Any], Any]) -> Any:
        connection = self._take()
        kept = False
        try:
            response = self._send(connection, method, target, body, headers)
            self._reached = True
            try:
                result = read(response) if response.status <= 299 else response.read(_LONGEST_LINE)
            except (OSError, _http_exception()) as error:
                raise _Dropped(error, sent=True) from None
            kept = response.isclosed() and not response.will_close
            if response.status > 299:
                raise _error(response.status, result)
            return result
        finally:
            if kept:
                self._give(connection)
            else:
                connection.close()

    def _send(self, connection: Any, method: str, target: str, body: Callable[[], Any] | None, headers: dict[str, str]) -> Any:
        """The response to a request on the connection. Raises _Dropped."""
        import http.client

        sent = False
        try:
            if connection.sock is None:
                connection.connect()
                _no_delay(connection)
            connection.sock.settimeout(connection.answer_timeout)
            everything = {"Authorization": "Bearer " + self.token, "User-Agent": "ferry-sdk", **headers}
            sent = True
            try:
                connection.request(method, target, body() if body else None, everything,
                                   encode_chunked="Transfer-Encoding" in everything)
            except (BrokenPipeError, ConnectionResetError) as error:
                # A server that refuses a long request answers before it has read all of it.
                try:
                    response = connection.getresponse()
                except (OSError, http.client.HTTPException):
                    raise error from None
            else:
                response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise _Dropped(error, sent) from None
        protocol = response.getheader("Ferry-Protocol")
        if protocol is not None and protocol != _PROTOCOL:
            raise Conflict(f"the server at {self.url} speaks protocol {protocol} and this SDK speaks {_PROTOCOL}; use the SDK of the "
                           "server's version", response.status, "server.protocol")
        return response

    def _target(self, path: str, query: dict[str, Any]) -> str:
        from urllib.parse import urlencode, urlsplit

        pairs = []
        for name, value in query.items():
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if item is not None:
                    pairs.append((name, ("true" if item else "false") if isinstance(item, bool) else str(item)))
        prefix = urlsplit(self.url).path.rstrip("/")
        return prefix + "/api/v1" + path + ("?" + urlencode(pairs) if pairs else "")

    # Connections

    def _take(self) -> Any:
        """A connection that nobody else uses."""
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection = self._idle.pop()
            if not _is_stale(connection):
                return connection
            connection.close()
        return self._connect(_ANSWER_TIMEOUT)

    def _give(self, connection: Any) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE and connection.url == self.url:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, answer_timeout: float) -> Any:
        """A connection that is not open yet."""
        import http.client
        from urllib.parse import urlsplit

        url = self.url
        parts = urlsplit(url)
        if parts.scheme == "https":
            connection: Any = http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=_CONNECT_TIMEOUT, context=self._context())
        else:
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_CONNECT_TIMEOUT)
        connection.url = url
        connection.answer_timeout = answer_timeout
        return connection

    def _context(self) -> Any:
        if self._tls is None:
            import ssl

            self._tls = ssl.create_default_context()
            authority = os.environ.get("FERRY_CA_FILE")
            if authority:
                try:
                    self._tls.load_verify_locations(authority)
                except OSError as error:
                    raise UserErrorException(f"FERRY_CA_FILE: cannot read certificates from '{authority}': {error}", error) from None
        return self._tls

    def close(self) -> None:
        """Ends the kept connections; a later request makes new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # Where the server is

    def _located(self) -> Address:
        if self._address is None:
            self._address = self._start(None)
        return self._address

    def _start(self, error: BaseException | None) -> Address:
        try:
            return start(self._auth)
        except NoServer as none:
            raise Unreachable(str(none), inner_exception=error) from None

    def _revive(self, error: BaseException) -> None:
        """Nobody answered the first request: starts this user's own server when it is gone. Raises Unreachable."""
        address = self._located()
        if not address.home:
            raise self._lost(error) from None
        # One that is just ending or beginning gets a moment.
        until = time.monotonic() + 2
        while not address.is_gone():
            if time.monotonic() > until:
                raise self._lost(error) from None
            time.sleep(0.05)
            if self._relocate():
                return
            if _answers(address.url):
                return
        self._address = self._start(error)

    def _relocate(self) -> bool:
        """Looks again where the server is: one that was started anew has another port. Whether it is elsewhere now."""
        old = self._located()
        if not old.home:
            return False
        found = Address.find(self._auth)
        if found is None or (found.url, found.token) == (old.url, old.token):
            return False
        self._address = found
        self.close()
        return True

    def _lost(self, error: BaseException) -> Unreachable:
        address = self._located()
        after = f" for {self.patience:g} s" if self._reached else ""
        hint = "start it with: ferry server start" if address.home else "check FERRY_URL and that the server runs"
        return Unreachable(f"no Ferry server answered at {address.url}{after}: {error or type(error).__name__}; {hint}",
                           slug="server.unreachable", inner_exception=error)


class _Arrived:
    """A download as far as it has come. What arrives after a break is appended when it is of the same content."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._tag = ""

    def headers(self) -> dict[str, str]:
        at = self._file.tell()
        return {"Range": f"bytes={at}-"} if at and self._tag else {}

    def read(self, response: Any) -> None:
        import http.client

        tag = response.getheader("ETag") or ""
        resumed = response.status == 206
        if not resumed or tag != self._tag:
            self._file.seek(0)
            self._file.truncate()
        if resumed and tag != self._tag:
            raise ConnectionError("the content changed in the middle")
        self._tag = tag
        length = response.getheader("Content-Length")
        left = int(length) if length is not None else None
        while True:
            block = response.read(_BLOCK)
            if not block:
                break
            self._file.write(block)
            left = left - len(block) if left is not None else None
        if left:
            raise http.client.IncompleteRead(b"", left)


def _whole(response: Any) -> bytes:
    length = response.getheader("Content-Length")
    if length is not None and int(length) > _LONGEST_ANSWER:
        raise ServerError(f"the answer has {length} bytes, more than the {_LONGEST_ANSWER} that are read into memory; download it to a file")
    return response.read()


def _parse(raw: bytes) -> dict[str, Any]:
    import json

    if not raw.strip():
        return {}
    try:
        return json.loads(raw)
    except ValueError as error:
        raise ServerError(f"the server's answer is no JSON: {error}", inner_exception=error) from None


def _error(status: int, raw: bytes) -> ServerError:
    """The error that an answer carries."""
    import json

    try:
        told = json.loads(raw)["error"]
        message, slug, field = str(told["message"]), str(told.get("slug", "")), str(told.get("field", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        message, slug, field = f"the server answered {status}: {raw[:200].decode('utf-8', 'replace')}", "", ""
    if status == 401 and "FERRY_TOKEN" not in message:
        message += "; set FERRY_TOKEN (or FERRY_TOKEN_FILE) to a token made by: ferry token create"
    return _CLASSES.get(status, ServerError)(message, status, slug, field)


def _blocks(source: Any, size: int | None) -> Iterator[bytes]:
    while size is None or size > 0:
        block = source.read(_BLOCK if size is None else min(_BLOCK, size))
        if not block:
            return
        if isinstance(block, str):
            raise UserErrorException("the stream must be opened for bytes ('rb')")
        size = size - len(block) if size is not None else None
        yield block


def _events(response: Any) -> Iterator[tuple[str, str, str]]:
    event, data, number = "", [], ""
    while True:
        line = response.readline(_LONGEST_LINE)
        if not line:
            return
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if data or event:
                yield event or "message", "\n".join(data), number
            event, data, number = "", [], ""
            continue
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
        elif name == "id":
            number = value


def _is_stale(connection: Any) -> bool:
    """Whether the other side has closed the connection, or says what nobody asked for."""
    import select

    if connection.sock is None:
        return True
    try:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(connection.sock, select.POLLIN | select.POLLHUP | select.POLLERR)
            return bool(poll.poll(0))
        return bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _no_delay(connection: Any) -> None:
    import socket

    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _answers(url: str) -> bool:
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=2)
    try:
        connection.connect()
        return True
    except OSError:
        return False
    finally:
        connection.close()


def _http_exception() -> type[Exception]:
    import http.client

    return http.client.HTTPException


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
