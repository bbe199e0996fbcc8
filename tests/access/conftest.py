"""Access control of an installation whose clock and randomness the tests control."""

from __future__ import annotations

import random
import time

import pytest

from anabranch.access.access import Access
from anabranch.access.sessions.authenticate import AuthCacheSettings
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.secret import Secret

START = 1_700_000_000
KEY = Secret("THIS_MUST_BE_CHANGED_IN_PRODUCTION")
DEFAULT_CACHE = AuthCacheSettings()


class Counted:
    """A store that counts reads, to see what is remembered."""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store
        self.reads = self.scans = 0
        self.seconds_of_scan = 0.0

    def get(self, partition, key):
        self.reads += 1
        return self._store.get(partition, key)

    def scan(self, *arguments, **options):
        self.scans += 1
        time.sleep(self.seconds_of_scan)
        return self._store.scan(*arguments, **options)

    def __getattr__(self, name):
        return getattr(self._store, name)

    def spoil(self, partition, key, value):
        """Sets or removes a record behind everyone's back."""
        assert self._store.apply([(partition, key, value)])


class AccessInstallation(Access):
    """Access over one store, at a time that only the test moves."""

    def __init__(self, store: KeyValueStore | None = None, cache_settings=DEFAULT_CACHE) -> None:
        self.now = float(START)
        self.store = Counted(store or MemoryStore())
        super().__init__(
            self.store,
            KEY,
            clock=lambda: self.now,
            ticks=lambda: self.now,
            random_bytes=random.randbytes,
            cache_settings=cache_settings,
        )


@pytest.fixture
def installation() -> AccessInstallation:
    return AccessInstallation()


@pytest.fixture(scope="session")
def installation_over() -> type[AccessInstallation]:
    """What makes a installation over a store that is there: a second server, as it were."""
    return AccessInstallation
