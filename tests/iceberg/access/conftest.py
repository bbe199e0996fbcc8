"""A server that a team shares, and a lake on it."""

from __future__ import annotations

import pytest

from tests.iceberg.conftest import Lake
from tests.server.access.conftest import team  # noqa: F401  a fixture


@pytest.fixture
def lake_of_team(team):  # noqa: F811  the fixture
    """A lake on the team's server."""
    return Lake(team.server)
