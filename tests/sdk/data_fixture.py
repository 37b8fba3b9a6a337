"""A workspace of the test's own, on the shared server."""

import itertools

import pytest

_numbers = itertools.count(1)


@pytest.fixture
def workspace(client):
    from azureml.core import Workspace

    name = "data%d" % next(_numbers)
    client.post("/workspaces", {"name": name})
    return Workspace.get(name)
