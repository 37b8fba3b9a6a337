"""A supervisor for tests: the wire protocol of ferry.channel, with the faults a test asks for."""

import json
import socket
import threading
import time


class FakeSupervisor:
    """Keeps the records it acknowledges, once per id. ``faults`` holds one entry per request to come: "drop" closes the connection
    before the record is kept, "forget" keeps it and closes without an answer, "half" closes within the answer, ("slow", seconds)
    waits first, ("error", message) refuses, None serves."""

    def __init__(self, token="secret"):
        self.token = token
        self.records = []
        self.connections = 0
        self.repeats = 0
        self.faults = []
        self._ids = set()
        self._lock = threading.Lock()
        self._clients = []
        self.port = 0
        self.start()

    @property
    def address(self):
        return "127.0.0.1:%d" % self.port

    def start(self):
        """Listens, again on the same port after stop()."""
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self):
        """Closes everything at once, as a killed process would."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            clients, self._clients = self._clients, []
        for client in clients:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def of(self, member):
        """The kept records that have this member, without id and time."""
        return [{k: v for k, v in r.items() if k not in ("id", "time")} for r in self.records if member in r]

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._clients.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, client.makefile("rb") as lines:
            try:
                hello = lines.readline().decode()
                if hello != "FERRY1 %s\n" % self.token:
                    client.sendall(b"error the token is not known\n")
                    return
                client.sendall(b"ok\n")
                for line in lines:
                    with self._lock:
                        fault = self.faults.pop(0) if self.faults else None
                    if not self._answer(client, line, fault):
                        return
            except OSError:
                pass

    def _answer(self, client, line, fault):
        if isinstance(fault, tuple) and fault[0] == "slow":
            time.sleep(fault[1])
        if isinstance(fault, tuple) and fault[0] == "error":
            client.sendall(("error %s\n" % fault[1]).encode())
            return True
        if fault == "drop":
            return False
        record = json.loads(line.decode("utf-8"), parse_constant=lambda word: 1 / 0)
        with self._lock:
            if record["id"] in self._ids:
                self.repeats += 1
            else:
                self._ids.add(record["id"])
                self.records.append(record)
        if fault == "forget":
            return False
        if fault == "half":
            client.sendall(b"o")
            return False
        client.sendall(b"ok\n")
        return True
