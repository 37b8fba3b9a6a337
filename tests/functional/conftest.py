import pytest
from ferry_fixture import Ferry


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """One server for every test that does not harm it."""
    ferry = Ferry(tmp_path_factory.mktemp("shared") / "home", ["--slots", "4"])
    ferry.start()
    yield ferry
    ferry.clean_up()


@pytest.fixture
def ferry(tmp_path):
    """A server of the test's own, to be killed at will."""
    own = Ferry(tmp_path / "home", ["--slots", "4"])
    own.start()
    yield own
    own.clean_up()


@pytest.fixture
def home(tmp_path):
    """A folder without a server; what gets started there ends with the test."""
    own = Ferry(tmp_path / "home")
    yield own
    own.clean_up()
