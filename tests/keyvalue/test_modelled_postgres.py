"""What a store does where PostgreSQL fails at a moment that no proxy hits, by a model of it."""

from __future__ import annotations

import pytest
from simulation.postgres import Database, open_store

from anabranch.errors import OutcomeUnknown
from anabranch.keyvalue.contract import Write


def test_an_unknown_outcome_is_final_though_ending_the_backend_fails_at_first():
    database, fates = Database(), []
    store = open_store(database, lambda _statements: fates.pop(0) if fates else "made")
    fates += ["late", "unsent", "refused"]  # the write, and two attempts to end its backend
    with pytest.raises(OutcomeUnknown):
        store.apply([Write("p", b"a", b"1")])
    assert fates == []
    assert store.apply([Write("p", b"a", b"2")])
    database.finish()  # what still runs is made
    assert store.get("p", b"a") == b"2"
