"""A workspace of the test's own."""

import pytest
from fake_assets import FakeWorkspace


@pytest.fixture
def workspace():
    return FakeWorkspace()
