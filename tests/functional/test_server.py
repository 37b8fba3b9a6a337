"""The server as a program: starting by itself, settings, TLS, versions; and the static agent."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request

import pytest
from ferry_fixture import Ferry, is_alive, processes_of, wait_until


def servers_of(home):
    found = []
    for pid in processes_of(home):
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            words = file.read().split(b"\0")
        if len(words) > 1 and words[1] == b"server" and b"start" not in words:
            found.append(pid)
    return found


def test_a_command_starts_the_server(home):
    done = home.run("run", "submit-command", "-e", "e", "--", "echo", "hi")
    assert done.returncode == 0 and done.stdout.startswith("hi\n"), done
    assert done.stderr.count("started a Ferry server") == 1
    again = home.run("run", "list", "-o", "json")
    assert "started" not in again.stderr and len(json.loads(again.stdout)) == 1
    home.attach()
    home.kill_server()
    # One that was killed is started again.
    assert len(home.json("run", "list")) == 1
    home.attach()
    assert home.url.startswith("http://127.0.0.1:")


def test_eight_commands_start_one_server(home):
    racers = [home.popen("run", "submit-command", "-e", "race", "--run-id", "race-%d" % n, "--", "echo", n) for n in range(8)]
    done = [racer.communicate(timeout=60) + (racer.returncode,) for racer in racers]
    assert [code for _, _, code in done] == [0] * 8, done
    assert [out.startswith("%d\n" % n) for n, (out, _, _) in enumerate(done)] == [True] * 8, done
    assert sum(error.count("started a Ferry server") for _, error, _ in done) == 1
    assert len(servers_of(home.home)) == 1
    assert len(home.json("run", "list")) == 8


def test_two_servers_on_one_home(ferry):
    done = ferry.run("server", timeout=20)
    assert done.returncode == 6 and "already runs" in done.stderr
    started = ferry.run("server", "start")
    assert started.returncode == 0 and "already runs" in started.stdout
    assert servers_of(ferry.home) == [ferry.pid]
    ferry.serves()


def test_status_and_stop(home):
    stopped = home.run("server", "status", "-o", "json")
    assert stopped.returncode == 8 and json.loads(stopped.stdout)["status"] == "stopped"
    home.start()
    status = home.json("server", "status")
    assert status["home"] == home.home and status["pid"] == home.pid and status["url"] and status["version"]
    with open(os.path.join(home.home, "server.pid")) as file:
        assert int(file.read()) == home.pid
    assert home.run("server", "stop").returncode == 0
    assert not is_alive(home.pid) and not os.path.exists(os.path.join(home.home, "server.pid"))
    wait_until("the agent has ended, too", lambda: not processes_of(home.home))
    assert home.run("server", "stop").returncode == 0


def test_signals_end_it_cleanly(home):
    for number in (signal.SIGTERM, signal.SIGINT):
        server = home.popen("server")
        wait_until("it serves", lambda: home.run("server", "status").returncode == 0)
        server.send_signal(number)
        assert server.wait(timeout=15) == 0
        server.communicate()


def test_settings_by_flag_variable_and_file(home):
    os.makedirs(home.home)
    file = os.path.join(home.home, "ferry.conf")
    ports = []
    for _ in range(3):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    with open(file, "w") as out:
        out.write("# a comment\nport = %d\nslots = 3\n" % ports[0])
    for environment, flags, port in (({}, [], ports[0]), ({"FERRY_PORT": str(ports[1])}, [], ports[1]), ({"FERRY_PORT": str(ports[1])}, ["--port", str(ports[2])], ports[2])):
        assert home.run("server", "start", *flags, env=environment).returncode == 0
        home.attach()
        assert home.url.endswith(":%d" % port)
        assert wait_until("the agent is there", lambda: home.get("/nodes")["nodes"])[0]["slots"] == 3
        home.stop()


@pytest.mark.parametrize("text,line,says", [("port = 99999\n", 1, "99999"), ("slots = 2\n\nprot = 1\n", 3, "port"), ("just words\n", 1, "name = value"), ("agent = maybe\n", 1, "true or false"), ("log-level = loud\n", 1, "loud")])
def test_errors_in_the_file_name_the_line(home, text, line, says):
    os.makedirs(home.home)
    file = os.path.join(home.home, "ferry.conf")
    with open(file, "w") as out:
        out.write(text)
    for words in (("server",), ("server", "start")):
        done = home.run(*words)
        assert done.returncode == 2 and "%s:%d: " % (file, line) in done.stderr and says in done.stderr, done


def test_wrong_flags(home):
    for words, says in ((["--port", "x"], "--port"), (["--prot", "1"], "--port"), (["--port"], "value"), (["strat"], "start"), (["--tls-key", "x"], "tls-certificate")):
        done = home.run("server", *words)
        assert done.returncode == 2 and says in done.stderr or "did you mean 'port'" in done.stderr, done
    done = home.run("server", env={"FERRY_SLOTS": "many"})
    assert done.returncode == 2 and "FERRY_SLOTS" in done.stderr


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1"])
def test_no_open_address_without_tls(home, address):
    done = home.run("server", "start", "--address", address)
    assert done.returncode == 2 and "TLS" in done.stderr
    assert home.run("server", "status").returncode == 8


def test_port_that_is_taken(home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = home.run("server", "start", "--port", port)
        assert done.returncode != 0 and str(port) in done.stderr, done


@pytest.fixture
def certificate(tmp_path):
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", str(files[0]), "-keyout", str(files[1])], check=True, stderr=subprocess.DEVNULL)
    return files


def test_tls(home, certificate):
    home.environment["FERRY_CA_FILE"] = str(certificate[0])
    home.start("--tls-certificate", certificate[0], "--tls-key", certificate[1], "--address", "0.0.0.0")
    assert home.url.startswith("https://127.0.0.1:")
    context = ssl.create_default_context(cafile=str(certificate[0]))
    with urllib.request.urlopen(home.url + "/healthz", context=context) as reply:
        assert reply.status == 200
    done = home.run("run", "submit-command", "-e", "e", "--", "echo", "sealed")
    assert done.returncode == 0 and done.stdout.startswith("sealed\n"), done
    through = home.run("run", "list", "-o", "json", env={"FERRY_URL": home.url, "FERRY_TOKEN": home.token})
    assert through.returncode == 0 and len(json.loads(through.stdout)) == 1, through
    stranger = home.run("run", "list", env={"FERRY_CA_FILE": "", "FERRY_URL": home.url, "FERRY_TOKEN": home.token})
    assert stranger.returncode == 8 and "certificate" in stranger.stderr, stranger
    with pytest.raises(OSError):
        urllib.request.urlopen(home.url.replace("https", "http") + "/healthz", timeout=5)


def test_tls_files_that_are_none(home, tmp_path):
    (tmp_path / "no.pem").write_text("nothing")
    done = home.run("server", "start", "--tls-certificate", tmp_path / "no.pem", "--tls-key", tmp_path / "no.pem")
    assert done.returncode != 0 and "no.pem" in done.stderr, done


def test_versions(shared):
    version = json.loads(shared.ok("version", "-o", "json"))
    assert shared.get("/version")["version"] in json.dumps(version)
    shared.agent_pid()
    with open(os.path.join(shared.home, "agent", "token")) as file:
        token = file.read()
    answer = shared.api("GET", "/api/v1/agent/commands?node=local&protocol=999", token=token)
    assert answer.status == 409 and answer.error["slug"] == "agent.protocol" and "999" in answer.error["message"]
    assert shared.api("GET", "/api/v1/agent/commands?node=other&protocol=999", token=token).status == 403


def test_a_client_of_another_protocol_is_told(tmp_path):
    """A server that speaks another protocol is one clear sentence."""
    ready = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = ready.accept()
        connection.recv(65536)
        connection.sendall(b'HTTP/1.1 200 OK\r\nferry-protocol: 999\r\ncontent-length: 25\r\n\r\n{"runs": [], "next":null}')
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    client = Ferry(tmp_path / "home")
    done = client.run("run", "list", env={"FERRY_URL": "http://127.0.0.1:%d" % ready.getsockname()[1], "FERRY_TOKEN": "x"})
    thread.join()
    ready.close()
    assert done.returncode == 6 and "999" in done.stderr and len(done.stderr.splitlines()) == 1, done


def test_server_tells_its_protocol(shared):
    answer = shared.api("GET", "/api/v1/version")
    assert answer.headers["ferry-protocol"] == str(answer.json["protocol"])


def test_agent_is_static(shared, tmp_path):
    program = shared.agent_program()
    said = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    assert "not a dynamic executable" in said or "statically linked" in said, said
    with open(program, "rb") as file:
        assert b"/lib64/ld-linux" not in file.read(65536)


def test_agent_starts_in_an_empty_folder(shared, tmp_path):
    shutil.copy(shared.agent_program(), tmp_path / "ferry-agent")
    agent = [*([] if os.geteuid() == 0 else ["unshare", "--map-root-user"]), "chroot", str(tmp_path), "/ferry-agent"]
    done = subprocess.run([*agent, "version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0 and done.stdout.startswith("ferry-agent "), done
    assert json.loads(subprocess.run([*agent, "probe"], stdout=subprocess.PIPE, text=True, check=True).stdout)["gpus"] == []


def test_graceful_stop_answers_what_is_under_way(ferry):
    follower = ferry.popen("run", "submit-command", "-e", "e", "--run-id", "long", "--", "sh", "-c", "echo begun; sleep 3; echo ended")
    assert follower.stdout.readline() == "begun\n"
    ferry.stop()
    ferry.start()
    # The follower finds the server again and misses nothing.
    rest, error = follower.communicate(timeout=30)
    assert rest.startswith("ended\n") and follower.returncode == 0, (rest, error)
