"""The transport: finding a server, starting it, asking it, and what happens when it is away."""

import hashlib
import io
import os
import socket
import subprocess
import sys
import threading

import pytest

import ferry.client
from azureml.exceptions import AuthenticationException, ServiceException, UserErrorException
from ferry.address import Address
from ferry.client import Client, Conflict, NotFound, Refused, Unauthorized, Unreachable, quote, quote_path
from ferry_fixture import BINARY, PYTHON, Ferry

SDK = os.path.dirname(os.path.dirname(ferry.__file__))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


# Asking


def test_json_both_ways(client):
    name = "client-json"
    made = client.post("/experiments", {"name": name})
    assert made["name"] == name
    assert client.get("/experiments/" + quote(name), workspace="default")["id"] == made["id"]
    assert client.get("/version")["protocol"] == 1


def test_errors_have_their_class_and_parts(client, shared):
    with pytest.raises(NotFound) as caught:
        client.get("/runs/nothing")
    assert (caught.value.status, caught.value.slug) == (404, "run.not_found")
    assert caught.value.message and isinstance(caught.value, ServiceException)
    with pytest.raises(Refused) as caught:
        client.post("/runs", {"experiment": "x", "command": ["true"], "gpus": -1})
    assert caught.value.field == "gpus" and isinstance(caught.value, UserErrorException)
    with pytest.raises(Conflict):
        client.post("/workspaces", {"name": "default"})
    with pytest.raises(Unauthorized) as caught:
        Client(Address(shared.url, "wrong")).get("/runs")
    assert isinstance(caught.value, AuthenticationException) and "FERRY_TOKEN" in caught.value.message


def test_pages_are_asked_for_when_needed(client):
    for number in range(5):
        client.post("/experiments", {"name": "client-page-%d" % number})
    names = [item["name"] for item in client.pages("/experiments", "experiments", workspace="default", limit=2)]
    assert len(set(names)) == len(names) and {"client-page-%d" % number for number in range(5)} <= set(names)


def test_query_values(client):
    assert "archived=true&tag=a%2Cb" in client._target("/runs", {"archived": True, "tag": "a,b", "none": None})
    assert client._target("/m", {"tag": ["a", "b"]}).endswith("?tag=a&tag=b")
    assert quote("a/b c") == "a%2Fb%20c" and quote_path("a b/c") == "a%20b/c"


def test_one_connection_serves_many_requests(client):
    client.get("/version")
    (kept,) = client._idle
    for _ in range(5):
        client.get("/version")
    with pytest.raises(NotFound):
        client.get("/runs/nothing")
    assert client._idle == [kept]
    kept.sock.shutdown(socket.SHUT_RDWR)
    assert client.get("/version")["protocol"] == 1
    client.close()
    assert client._idle == []


def test_threads_and_forks_have_their_own_connections(client):
    client.get("/version")
    failed = []

    def work():
        try:
            for _ in range(20):
                assert client.get("/version")["protocol"] == 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed and len(client._idle) <= 8
    child = os.fork()
    if child == 0:
        os._exit(0 if client._idle == [] and client.get("/version")["protocol"] == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert client.get("/version")["protocol"] == 1


# Contents


def test_blobs_small_and_large(client, tmp_path):
    large = os.urandom(1 << 20) * 9
    (tmp_path / "large").write_bytes(large)
    (tmp_path / "small").write_bytes(b"small")
    sources = [str(tmp_path / "large"), tmp_path / "small", b"", b"bytes", tmp_path / "small"]
    told = []
    got = client.put_blobs(sources, lambda done, total: told.append((done, total)))
    assert got == [(hashlib.sha256(data).hexdigest(), len(data)) for data in (large, b"small", b"", b"bytes", b"small")]
    assert told[-1][0] == told[-1][1] > len(large)
    client.download("/blobs/" + got[0][0], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == large
    assert client.read("/blobs/" + got[3][0]) == b"bytes"
    told.clear()
    assert client.put_blobs(sources, lambda done, total: told.append(done)) == got
    assert told == []
    with pytest.raises(UserErrorException, match="nothing"):
        client.put_blobs([tmp_path / "nothing"])


def test_a_download_that_fails_leaves_nothing(client, tmp_path):
    (tmp_path / "there").write_text("before")
    with pytest.raises(NotFound):
        client.download("/blobs/" + "0" * 64, tmp_path / "there")
    assert os.listdir(tmp_path) == ["there"] and (tmp_path / "there").read_text() == "before"


class Scripted:
    """A server that answers each connection with the next of the given bytes, and keeps what it was sent."""

    def __init__(self, *answers):
        self.requests = []
        self._answers = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        for answer in self._answers:
            peer, _ = self._listener.accept()
            with peer:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += peer.recv(65536)
                self.requests.append(data.decode())
                peer.sendall(answer)
        self._listener.close()


def answer(body, headers="", status="200 OK", length=None):
    return ("HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n" % (status, len(body) if length is None else length, headers)).encode() + body


def test_a_download_goes_on_where_it_broke_off(tmp_path):
    server = Scripted(answer(b"0123", 'ETag: "a"\r\n', length=10),
                      answer(b"4567", 'ETag: "a"\r\nContent-Range: bytes 4-9/10\r\n', "206 Partial Content", length=6),
                      answer(b"XX", 'ETag: "b"\r\nContent-Range: bytes 8-9/10\r\n', "206 Partial Content"),
                      answer(b"abcdefghij", 'ETag: "b"\r\n'))
    Client(Address(server.url, "t")).download("/blobs/x", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"abcdefghij"
    assert "Range: bytes=4-" in server.requests[1] and "Range: bytes=8-" in server.requests[2] and "Range" not in server.requests[3]


def test_only_what_may_be_repeated_is(tmp_path):
    server = Scripted(answer(b"{}"), b"", b"")
    client = Client(Address(server.url, "t"))
    client.get("/x")
    with pytest.raises(ServiceException, match="whether it was done is not known"):
        client.post("/x", {"a": 1})
    client.patience = 0.1
    with pytest.raises(Unreachable):
        client.put("/x", {})
    assert [request.split()[0] for request in server.requests] == ["GET", "POST", "PUT"]


def test_a_server_that_is_not_ready_is_asked_again():
    busy = answer(b'{"error":{"code":"unavailable","slug":"server.draining","message":"not now"}}', status="503 Service Unavailable")
    server = Scripted(busy, busy, answer(b'{"a":1}'))
    assert Client(Address(server.url, "t")).get("/x") == {"a": 1}


def test_another_protocol_is_refused():
    server = Scripted(answer(b"{}", "Ferry-Protocol: 77\r\n"))
    with pytest.raises(Conflict, match="protocol 77"):
        Client(Address(server.url, "t")).get("/x")


# Events


def test_events_go_on_after_a_break(client, shared):
    parts = [b": hello\n\nid: 1\nevent: status\ndata: {\"n\":1}\n\n", b"id: 2\nevent: log\ndata: {\"n\":2}\n\nevent: end\ndata: {}\n\n"]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    server = Scripted(*(head + part for part in parts))
    got = list(Client(Address(server.url, "t")).events("/runs/x/events", logs=1))
    assert got == [("status", {"n": 1}, "1"), ("log", {"n": 2}, "2"), ("end", {}, "2")]
    assert "Last-Event-ID: 1" in server.requests[1]
    run = shared.submit(PYTHON, "-c", "print('hello')")
    events = list(client.events("/runs/%s/events" % run))
    assert events[-1][0] == "end"
    assert "hello" in "".join(data["data"] for event, data, _ in events if event == "log")
    with pytest.raises(NotFound):
        next(client.events("/runs/nothing/events"))


# Finding and starting


def test_where_the_server_is(outside, monkeypatch, tmp_path):
    monkeypatch.setenv("FERRY_HOME", str(tmp_path))
    assert Address.find() is None
    (tmp_path / "server.json").write_text('{"url":"http://a:1","local_url":"http://127.0.0.1:1","pid":7}')
    (tmp_path / "admin.token").write_text("admin\n")
    own = Address.find()
    assert (own.url, own.token, own.home, own.pid) == ("http://127.0.0.1:1", "admin", str(tmp_path), 7)
    (tmp_path / "token").write_text(" filed \n")
    monkeypatch.setenv("FERRY_TOKEN_FILE", str(tmp_path / "token"))
    assert Address.find().token == "filed"
    monkeypatch.setenv("FERRY_URL", "https://host:2")
    monkeypatch.setenv("AZUREML_RUN_TOKEN", "of-the-run")
    assert (Address.find().url, Address.find().token, Address.find().home) == ("https://host:2", "filed", "")
    monkeypatch.setenv("FERRY_TOKEN", "given")
    assert Address.find().token == "given"
    monkeypatch.delenv("FERRY_TOKEN")
    monkeypatch.delenv("FERRY_TOKEN_FILE")
    assert Address.find().token == "of-the-run"
    monkeypatch.setenv("FERRY_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(UserErrorException, match="FERRY_TOKEN_FILE"):
        Address.find()
    monkeypatch.setenv("FERRY_URL", "host:2")
    monkeypatch.setenv("FERRY_TOKEN", "given")
    with pytest.raises(UserErrorException, match="FERRY_URL must be like"):
        Address.find()
    monkeypatch.delenv("FERRY_URL")
    (tmp_path / "server.json").write_text("{")
    with pytest.raises(UserErrorException, match="names no server"):
        Address.find()


def test_no_server_at_the_address(outside, monkeypatch):
    monkeypatch.setenv("FERRY_URL", "http://127.0.0.1:%d" % free_port())
    with pytest.raises(Unreachable, match="no Ferry server answered at http.*check FERRY_URL"):
        Client.find().get("/version")


def test_no_program_to_start_a_server_with(outside, monkeypatch, tmp_path):
    monkeypatch.setenv("FERRY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FERRY_BINARY", str(tmp_path / "none"))
    with pytest.raises(Unreachable, match="starting one failed"):
        Client.find().get("/version")


def test_the_users_own_server_is_started_once_and_again_after_a_kill(outside, monkeypatch, tmp_path):
    server = Ferry(tmp_path / "home")
    monkeypatch.setenv("FERRY_HOME", server.home)
    monkeypatch.setenv("FERRY_BINARY", BINARY)
    code = "from ferry.client import Client; c = Client.find(); c.get('/version'); print(c.url)"
    try:
        tries = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=dict(os.environ, PYTHONPATH=SDK)) for _ in range(3)]
        said = [one.communicate(timeout=90) for one in tries]
        assert len({out for out, _ in said}) == 1 and said[0][0].startswith("http://")
        assert sum("started a Ferry server" in error for _, error in said) == 1
        server.attach().kill_server()
        assert Client.find().get("/version")["protocol"] == 1
    finally:
        server.clean_up()


def test_a_server_that_comes_back_is_waited_for(own, outside, monkeypatch):
    monkeypatch.setenv("FERRY_HOME", own.home)
    client = Client.find()
    client.get("/version")
    own.kill_server()
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(client.get("/version")))
    waiting.start()
    own.start()
    waiting.join(30)
    assert answers and answers[0]["protocol"] == 1


def test_a_server_that_stays_away_is_an_error(own, outside, monkeypatch):
    monkeypatch.setenv("FERRY_HOME", own.home)
    client = Client.find()
    client.get("/version")
    own.kill_server()
    client.patience = 0.3
    with pytest.raises(Unreachable, match="no Ferry server answered at .* for 0.3 s"):
        client.get("/version")
    with pytest.raises(Unreachable):
        list(client.events("/events"))


def test_a_stream_that_cannot_be_rewound_and_one_that_can():
    class Pipe(io.RawIOBase):
        def __init__(self, data):
            self._data = io.BytesIO(data)

        def read(self, size=-1):
            return self._data.read(size)

        def tell(self):
            raise OSError("not seekable")

    server = Scripted(answer(b'{"a":1}'), answer(b'{"a":2}'))
    client = Client(Address(server.url, "t"))
    assert client.upload("/x", Pipe(b"abc")) == {"a": 1}
    assert "Transfer-Encoding: chunked" in server.requests[0]
    stream = io.BytesIO(b"skipabc")
    stream.seek(4)
    assert client.upload("/x", stream, overwrite=True) == {"a": 2}
    assert "Content-Length: 3" in server.requests[1] and "PUT /api/v1/x?overwrite=true" in server.requests[1]
