"""The repository against a plain model: dictionaries of paths, a list of commits.

Hypothesis makes up a history of use cases and checks after each that every branch, tag and commit
holds exactly what the model says, that a merge does what the ten rows say, and that pull requests
have the states and the approvals of the model.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from support.services.postgres import clear
from support.session.hypothesis_profiles import examples

from anabranch.keyvalue.caching.prefetch import PrefetchedReads
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.postgres.store import PostgresStore

from .repository_machine import RepositoryMachine


class TestRepository(RepositoryMachine.TestCase):
    settings = settings(
        max_examples=examples(40),
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class PostgresRepositoryMachine(RepositoryMachine):
    """The same, with references in PostgreSQL."""

    url = ""

    def keyvalue(self) -> KeyValueStore:
        clear(self.url)
        return PrefetchedReads(PostgresStore(self.url, max_open_connections=2))


class TestRepositoryOnPostgres(PostgresRepositoryMachine.TestCase):
    settings = settings(TestRepository.settings, max_examples=5, stateful_step_count=20)

    @pytest.fixture(autouse=True)
    def _database(self, postgres_database):
        PostgresRepositoryMachine.url = postgres_database


@pytest.mark.slow
@pytest.mark.timeout(1200)
class TestRepositoryLong(RepositoryMachine.TestCase):
    settings = settings(
        max_examples=examples(300),
        stateful_step_count=60,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
