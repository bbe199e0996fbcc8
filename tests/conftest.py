"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

import anabranch
from anabranch.keyvalue.postgres_database import PostgresDatabase
from anabranch.testing.postgres import Cluster, postgres_programs, running_cluster
from anabranch.testing.server import Server, running_server

# On a machine at work a step may take any time, which says nothing about what is tested. What CI
# says of a commit must not depend on the day; new examples are found by everybody else.
hypothesis.settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("patient")


@pytest.fixture(autouse=True, scope="session")
def _programs_find_the_package() -> Iterator[None]:
    """Python programs that tests start import the package that is tested, installed or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(anabranch.__file__).parent.parent))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001  pytest names the arguments
    """Where CI is set, everything is installed: a test that is skipped there has failed."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {reason}"
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--database postgres` runs the tests of clients over PostgreSQL instead of SQLite."""
    parser.addoption("--database", choices=("local", "postgres"), default="local")


@pytest.fixture
def postgres_database(postgres_cluster: Cluster) -> str:
    """The connection string of a new, migrated PostgreSQL database."""
    return new_database(postgres_cluster)


@pytest.fixture(scope="session")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A real server over a folder of its own, shared by all tests that ask for it."""
    database = ""
    if request.config.getoption("--database") == "postgres":
        database = new_database(request.getfixturevalue("postgres_cluster"))
    with running_server(tmp_path_factory.mktemp("lake"), database=database) as running:
        yield running


def new_database(cluster: Cluster) -> str:
    """Makes a database with all tables and returns its connection string."""
    url = cluster.url(cluster.make_database())
    PostgresDatabase(url).migrate()
    return url


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    """A real PostgreSQL server, shared by all tests that ask for it; each makes a database."""
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed: `make components` does that")
    with running_cluster() as cluster:
        yield cluster
