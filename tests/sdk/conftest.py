"""The SDK under test comes from the tree, not from an installation. Where a server is needed it is a real one."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "functional"), os.path.join(ROOT, "sdk", "python")]


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: left out by ./test --fast")


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """One server for every test that does not harm it."""
    from ferry_fixture import Ferry

    ferry = Ferry(tmp_path_factory.mktemp("shared") / "home", ["--slots", "4"])
    ferry.start()
    yield ferry
    ferry.clean_up()


@pytest.fixture
def own(tmp_path):
    """A server of the test's own, to be killed at will."""
    from ferry_fixture import Ferry

    ferry = Ferry(tmp_path / "home", ["--slots", "2"])
    ferry.start()
    yield ferry
    ferry.clean_up()


@pytest.fixture
def outside(monkeypatch):
    """A process that no variable says anything about."""
    for name in list(os.environ):
        if name.startswith(("FERRY_", "AZUREML_")) and name != "FERRY_BINARY":
            monkeypatch.delenv(name)


@pytest.fixture
def client(shared, outside, monkeypatch):
    """The shared server's client, found by the environment as users have it."""
    from ferry.client import Client

    monkeypatch.setenv("FERRY_URL", shared.url)
    monkeypatch.setenv("FERRY_TOKEN", shared.token)
    return Client.find()
